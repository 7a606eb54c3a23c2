//! SARIF 2.1.0, the format in which code hosts and editors take the results of analyses.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::{Finding, Level, Place, printable, relative};

/// What is known of a rule beside its findings.
#[derive(Debug, Clone)]
pub struct Rule {
    pub code: String,
    /// One sentence.
    pub about: String,
    /// Where more is said of it.
    pub help_uri: Option<String>,
}

/// Who found it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Every rule that the tool has; findings of others are told as well.
    pub rules: Vec<Rule>,
}

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
struct Log<'f> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'f>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'f> {
    tool: Driver<'f>,
    column_kind: &'static str,
    results: Vec<Outcome<'f>>,
}

#[derive(Serialize)]
struct Driver<'f> {
    driver: Component<'f>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Component<'f> {
    name: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Descriptor<'f>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'f> {
    id: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    short_description: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help_uri: Option<&'f str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'f> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_id: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locations: Vec<Location>,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Physical,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    region: Region,
}

#[derive(Serialize)]
struct Artifact {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

/// One log with one run.
pub fn sarif(tool: &Tool, findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let mut rules: Vec<Descriptor<'_>> = tool.rules.iter().map(Descriptor::of).collect();
    for code in findings
        .iter()
        .filter_map(|finding| finding.code.as_deref())
    {
        if rules.iter().all(|rule| rule.id != code) {
            rules.push(Descriptor {
                id: code,
                short_description: None,
                help_uri: None,
            });
        }
    }
    let results = findings.iter().map(|finding| Outcome::of(finding, &rules));
    let results = results.collect();
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Driver {
                driver: Component {
                    name: env!("CARGO_PKG_NAME"),
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    information_uri: env!("CARGO_PKG_REPOSITORY"),
                    rules,
                },
            },
            column_kind: "unicodeCodePoints",
            results,
        }],
    };
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

impl<'f> Descriptor<'f> {
    fn of(rule: &'f Rule) -> Self {
        Self {
            id: &rule.code,
            short_description: Some(Message::of(&rule.about)),
            help_uri: rule.help_uri.as_deref(),
        }
    }
}

impl<'f> Outcome<'f> {
    fn of(finding: &'f Finding, rules: &[Descriptor<'_>]) -> Self {
        let rule_id = finding.code.as_deref();
        Self {
            rule_id,
            rule_index: rule_id.and_then(|id| rules.iter().position(|rule| rule.id == id)),
            level: match finding.severity {
                Level::Error => "error",
                Level::Warning => "warning",
                Level::Advice => "note",
            },
            message: Message::of(&finding.told()),
            locations: finding.place.iter().map(Location::of).collect(),
        }
    }
}

impl Message {
    fn of(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(printable).collect();
        Self {
            text: lines.join("\n"),
        }
    }
}

impl Location {
    fn of(place: &Place) -> Self {
        Self {
            physical_location: Physical {
                artifact_location: Artifact {
                    uri: uri(&relative(&place.file)),
                },
                region: Region {
                    start_line: place.line,
                    start_column: place.column,
                    end_line: place.end_line,
                    end_column: place.end_column,
                },
            },
        }
    }
}

/// A path as a reference (RFC 3986 §4.2): relative if the path is.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // A `String` takes whatever is written.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
