//! Reports of Code Quality in GitLab, which lists them on a merge request.
//!
//! <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Finding, FindingLevel, printable, relative};

/// An array of all findings.
pub fn gitlab(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let mut repetitions = HashMap::new();
    let issues: Vec<Value> = findings
        .iter()
        .map(|finding| issue(finding, &mut repetitions))
        .collect();
    serde_json::to_writer_pretty(&mut *out, &issues)?;
    writeln!(out)
}

fn issue(finding: &Finding, repetitions: &mut HashMap<String, usize>) -> Value {
    // Each must name a file and a line.
    let place = finding.place.as_ref();
    let path = place.map_or(Cow::Borrowed("."), |place| relative(&place.file));
    let line = place.map_or(1, |place| place.line);
    let name = finding.code.as_deref().unwrap_or(env!("CARGO_PKG_NAME"));
    let lines = finding.told();
    let lines: Vec<String> = lines.lines().map(printable).collect();
    let severity = match finding.severity {
        FindingLevel::Error => "major",
        FindingLevel::Warning => "minor",
        FindingLevel::Advice => "info",
    };
    // Not by its line: a finding that moves is the same one.
    let same = json!([name, path, finding.message]).to_string();
    let repetition = repetitions.entry(same.clone()).or_default();
    *repetition += 1;
    json!({
        "check_name": name,
        "description": lines.join("\n"),
        "severity": severity,
        "fingerprint": fingerprint(&same, *repetition),
        "location": { "path": path, "lines": { "begin": line } },
    })
}

/// What GitLab tells findings apart by, and knows them again by in the next report.
fn fingerprint(same: &str, repetition: usize) -> String {
    let digest = Sha256::digest(format!("{repetition} {same}"));
    let mut text = String::with_capacity(64);
    for byte in digest {
        // A `String` takes whatever is written.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::FileSpan;
    use super::*;

    fn finding(code: &str, message: &str, line: usize) -> Finding {
        Finding {
            severity: FindingLevel::Warning,
            code: Some(code.to_owned()),
            message: message.to_owned(),
            help: Some("z\u{202e}".to_owned()),
            place: Some(FileSpan {
                file: "p/a.cedar".to_owned(),
                line,
                column: 5,
                end_line: line,
                end_column: 9,
            }),
        }
    }

    fn report(findings: &[Finding]) -> Vec<Value> {
        let mut out = Vec::new();
        gitlab(findings, &mut out).unwrap();
        let report: Value = String::from_utf8(out).unwrap().parse().unwrap();
        report.as_array().unwrap().clone()
    }

    #[test]
    fn an_issue_has_all_that_gitlab_requires() {
        let mut report = report(&[finding("lint::a", "x", 3)]);
        let fingerprint = report[0]["fingerprint"].take();
        assert_eq!(fingerprint.as_str().unwrap().len(), 64);
        let expected = json!({
            "check_name": "lint::a",
            "description": "x\nhelp: z\\u{202e}",
            "severity": "minor",
            "fingerprint": null,
            "location": { "path": "p/a.cedar", "lines": { "begin": 3 } },
        });
        assert_eq!(report, [expected]);
    }

    #[test]
    fn a_finding_without_a_place_is_an_issue_too() {
        let bare = Finding {
            severity: FindingLevel::Error,
            code: None,
            place: None,
            ..finding("", "x", 1)
        };
        let report = report(&[bare]);
        assert_eq!(report[0]["check_name"], "mcp-protector");
        assert_eq!(report[0]["severity"], "major");
        assert_eq!(
            report[0]["location"],
            json!({ "path": ".", "lines": { "begin": 1 } })
        );
    }

    #[test]
    fn a_fingerprint_stays_where_a_finding_moves_and_differs_between_findings() {
        let fingerprints = |findings: &[Finding]| -> Vec<String> {
            let report = report(findings);
            let each = report.iter().map(|issue| issue["fingerprint"].to_string());
            each.collect()
        };
        let all = [
            finding("lint::a", "x", 3),
            finding("lint::a", "x", 9),
            finding("lint::a", "y", 3),
            finding("lint::b", "x", 3),
        ];
        let before = fingerprints(&all);
        let different: HashSet<&String> = before.iter().collect();
        assert_eq!(different.len(), all.len(), "{before:?}");
        let moved = all.map(|it| finding(it.code.as_deref().unwrap(), &it.message, 20));
        assert_eq!(fingerprints(&moved), before);
    }
}
