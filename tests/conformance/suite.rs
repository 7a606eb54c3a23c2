//! Runs of the suite.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::checks::Checks;

/// The revisions that the suite knows, and of which we promise that nothing is lost.
pub(crate) const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// What the suite is asked to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Selection<'a> {
    Everything,
    Scenario(&'a str),
}

/// Lets the suite be the client of a server.
pub(crate) fn judge_server(url: &str, version: &str, selection: Selection<'_>) -> Checks {
    let output = tempfile::tempdir().unwrap();
    let mut suite = Command::new(program());
    suite.args([
        "server",
        "--url",
        url,
        "--spec-version",
        version,
        "--output-dir",
    ]);
    suite.arg(output.path());
    match selection {
        Selection::Everything => suite.args(["--suite", "all"]),
        Selection::Scenario(name) => suite.args(["--scenario", name]),
    };
    // The exit code says whether everything passed, which is not the question.
    let ended = suite.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.code().is_some_and(|code| code < 2), "{said}");
    Checks::read(output.path(), "server-")
}

fn program() -> PathBuf {
    let real = env::var_os("MCP_PROTECTOR_REAL_SERVERS")
        .expect("MCP_PROTECTOR_REAL_SERVERS names no directory: see fixtures/real/README.md");
    PathBuf::from(real).join("bin/conformance")
}
