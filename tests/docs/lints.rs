//! The table of lints, from the rules of a SARIF report.

use std::process::Command;

use serde_json::Value;

use crate::docs::generated::rows;
use crate::docs::pages::root;

const PREFIX: &str = "lint::";

/// Each lint with what it finds.
pub(crate) fn table() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-protector"))
        .args(["check", "policies/starter", "--format", "sarif"])
        .current_dir(root())
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    let report: Value = report.parse().unwrap();
    let rules = report["runs"][0]["tool"]["driver"]["rules"].as_array();
    let lints = rules.into_iter().flatten().filter_map(|rule| {
        let name = rule["id"].as_str()?.strip_prefix(PREFIX)?;
        let about = rule["shortDescription"]["text"].as_str()?;
        Some(vec![format!("[`{name}`](#{name})"), about.to_owned()])
    });
    let lints: Vec<Vec<String>> = lints.collect();
    assert!(lints.len() > 20, "{lints:?}");
    rows(&["lint", "finds"], &lints)
}
