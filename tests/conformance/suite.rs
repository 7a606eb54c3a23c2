//! Runs of the suite.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::conformance::checks::Checks;

/// The revisions that the suite knows, and at which a gate must make no difference.
pub(crate) const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// What the suite is asked to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Selection<'a> {
    Everything,
    Scenario(&'a str),
}

/// Lets the suite be the client of a server.
pub(crate) fn judge_server(url: &str, version: &str, selection: Selection<'_>) -> Checks {
    let mut suite = Command::new(program());
    suite.args(["server", "--url", url, "--spec-version", version]);
    match selection {
        Selection::Everything => suite.args(["--suite", "all"]),
        Selection::Scenario(name) => suite.args(["--scenario", name]),
    };
    judge(suite, "server-")
}

/// The same with what belongs to an extension, and so to no revision.
pub(crate) fn judge_extension(url: &str, scenario: &str) -> Checks {
    let mut suite = Command::new(program());
    suite.args(["server", "--url", url, "--scenario", scenario]);
    judge(suite, "server-")
}

/// The scenarios for servers that belong to extensions, and so to no revision.
pub(crate) fn extension_scenarios() -> Vec<String> {
    let listed = listed();
    let (listed, _) = listed.split_once("Client scenarios").unwrap();
    let scenarios: Vec<String> = of_extensions(listed).collect();
    for begins in ["tasks-", "sep-2640-skills-"] {
        let found = scenarios.iter().any(|name| name.starts_with(begins));
        assert!(found, "no scenarios of `{begins}`: {listed}");
    }
    scenarios
}

/// The same for clients.
pub(crate) fn client_extension_scenarios() -> Vec<String> {
    let listed = listed();
    let (_, listed) = listed.split_once("Client scenarios").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap();
    let scenarios = of_extensions(listed).filter(|name| !name.starts_with("auth/"));
    let scenarios: Vec<String> = scenarios.collect();
    assert!(
        !scenarios.is_empty(),
        "no scenarios of extensions: {listed}"
    );
    scenarios
}

fn of_extensions(listed: &str) -> impl Iterator<Item = String> {
    listed.lines().filter_map(|line| {
        let (name, source) = line.trim().strip_prefix("- ")?.split_once(" [")?;
        (source == "extension]").then(|| name.to_owned())
    })
}

/// Lets the suite be the server of a client, which it starts.
///
/// Its servers listen on all interfaces, so they get a network of their own where the system permits.
pub(crate) fn judge_client(command: &str, version: Option<&str>, scenario: &str) -> Checks {
    const ALONE: [&str; 5] = ["unshare", "--map-root-user", "--net", "sh", "-c"];
    let enter = |script: &str| {
        let mut shell = Command::new(ALONE[0]);
        shell.args(&ALONE[1..]).arg(script);
        shell
    };
    let probe = enter("ip link set lo up").output();
    let mut suite = if probe.is_ok_and(|it| it.status.success()) {
        let mut shell = enter(r#"ip link set lo up && exec "$0" "$@""#);
        shell.arg(program());
        shell
    } else {
        Command::new(program())
    };
    suite.args(["client", "--command", command, "--scenario", scenario]);
    if let Some(version) = version {
        suite.args(["--spec-version", version]);
    }
    judge(suite, "")
}

/// The scenarios for clients that are part of a revision. Those about authorization are between a
/// client and the one it authorizes with: a gate never passes a token on.
pub(crate) fn client_scenarios(version: &str) -> Vec<String> {
    let listed = listed();
    let (_, listed) = listed.split_once("Client scenarios").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap();
    let scenarios = listed.lines().filter_map(|line| {
        let (name, versions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
        (versions.contains(version) && !name.starts_with("auth/")).then(|| name.to_owned())
    });
    let scenarios: Vec<String> = scenarios.collect();
    assert!(!scenarios.is_empty(), "no scenarios at {version}: {listed}");
    scenarios
}

fn listed() -> String {
    let Output { stdout, .. } = Command::new(program()).arg("list").output().unwrap();
    String::from_utf8(stdout).unwrap()
}

fn judge(mut suite: Command, prefix: &str) -> Checks {
    let output = tempfile::tempdir().unwrap();
    suite.arg("--output-dir").arg(output.path());
    let ended = suite.output().unwrap();
    // The exit code says whether everything passed, which is not the question.
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code().is_some_and(|code| code < 2), "{said}");
    Checks::read(output.path(), prefix)
}

fn program() -> PathBuf {
    let real = env::var_os("MCP_PROTECTOR_REAL_SERVERS")
        .expect("MCP_PROTECTOR_REAL_SERVERS names no directory: see fixtures/real/README.md");
    PathBuf::from(real).join("bin/conformance")
}
