//! SARIF 2.1.0, the format in which code hosts and editors take the results of analyses.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Finding, FindingLevel, printable, relative};

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

/// One log with one run.
pub fn sarif(tool: &Tool, findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let mut ids: Vec<&str> = tool.rules.iter().map(|rule| rule.code.as_str()).collect();
    let mut rules: Vec<Value> = tool.rules.iter().map(described).collect();
    for code in findings.iter().filter_map(|it| it.code.as_deref()) {
        if !ids.contains(&code) {
            ids.push(code);
            rules.push(json!({ "id": code }));
        }
    }
    let results: Vec<Value> = findings.iter().map(|it| result(it, &ids)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": env!("CARGO_PKG_NAME"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn described(rule: &Rule) -> Value {
    let mut described = json!({ "id": rule.code, "shortDescription": message(&rule.about) });
    if let Some(uri) = &rule.help_uri {
        insert(&mut described, "helpUri", uri.as_str().into());
    }
    described
}

fn result(finding: &Finding, ids: &[&str]) -> Value {
    let mut result = json!({});
    if let Some(code) = finding.code.as_deref() {
        insert(&mut result, "ruleId", code.into());
        let index = ids.iter().position(|id| *id == code);
        insert(&mut result, "ruleIndex", index.into());
    }
    let level = match finding.severity {
        FindingLevel::Error => "error",
        FindingLevel::Warning => "warning",
        FindingLevel::Advice => "note",
    };
    insert(&mut result, "level", level.into());
    insert(&mut result, "message", message(&finding.told()));
    if let Some(place) = &finding.place {
        let location = json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(&relative(&place.file)) },
            "region": {
                "startLine": place.line,
                "startColumn": place.column,
                "endLine": place.end_line,
                "endColumn": place.end_column,
            },
        }});
        insert(&mut result, "locations", json!([location]));
    }
    result
}

fn message(text: &str) -> Value {
    let lines: Vec<String> = text.lines().map(printable).collect();
    json!({ "text": lines.join("\n") })
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
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
