//! The suite as the client of a server.

use std::process::Command;

use crate::conformance::checks::Checks;
use crate::conformance::compare::{Comparison, compare};
use crate::conformance::gate::{Gate, Servers};
use crate::conformance::peers::Listening;
use crate::conformance::relay::relay;
use crate::conformance::suite::{
    Selection, VERSIONS, extension_scenarios, judge_extension, judge_server,
};
use crate::support::fixtures::fixture;

fn server() -> Listening {
    let mut command = Command::new(fixture("everything-server"));
    command.args(["--suite", "--http", "0"]);
    Listening::start(command)
}

/// Compares what the suite finds at two addresses. The servers behind them are not the same, since a
/// run leaves traces.
#[track_caller]
fn check(direct: &str, through: &str, version: &str, only_of_streams: &[(&str, &str)]) {
    let judge = |url: &str, again: Option<&[String]>| {
        let Some(again) = again else {
            return judge_server(url, version, Selection::Everything);
        };
        let mut found = Checks::default();
        for scenario in again {
            let scenario = judge_server(url, version, Selection::Scenario(scenario));
            found.extend(scenario);
        }
        found
    };
    compare(&Comparison {
        version,
        direct: &|again| judge(direct, again).without(only_of_streams),
        through: &|again| judge(through, again),
    });
}

/// What the suite checks only if replies are streams of events. A server that the gate starts has none,
/// and the gate answers with JSON: through it these checks are not made, and so not passed or failed.
const OF_STREAMS: &[(&str, &str)] = &[(
    "server-sse-multiple-streams",
    "server-sse-streams-functional",
)];

fn check_before_http(servers: Servers, version: &str) {
    let (direct, behind) = (server(), server());
    let gate = Gate::before(servers, &behind.url);
    check(&direct.url, gate.url(), version, &[]);
}

fn check_before_stdio(servers: Servers, version: &str) {
    let direct = server();
    let gate = Gate::starting(servers, &[&fixture("everything-server"), "--suite"]);
    check(&direct.url, gate.url(), version, OF_STREAMS);
}

/// A server that has sessions against one that has none, behind a bridge.
fn check_bridged(version: &str) {
    let direct = server();
    let gate = Gate::starting(
        Servers::One,
        &[&fixture("everything-server"), "--suite", "--stateless"],
    );
    check(&direct.url, gate.url(), version, OF_STREAMS);
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_bridge_makes_a_server_without_sessions_the_same_as_one_with_them_at_2025_06_18() {
    check_bridged("2025-06-18");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_bridge_makes_a_server_without_sessions_the_same_as_one_with_them_at_2025_11_25() {
    check_bridged("2025-11-25");
}

/// The same for extensions, with a gate that lists their methods.
#[track_caller]
fn check_extensions(direct: &str, through: &str) {
    let all = extension_scenarios();
    let judge = |url: &str, again: Option<&[String]>| {
        let mut found = Checks::default();
        for scenario in again.unwrap_or(&all) {
            found.extend(judge_extension(url, scenario));
        }
        found
    };
    compare(&Comparison {
        version: "extensions",
        direct: &|again| judge(direct, again),
        through: &|again| judge(through, again),
    });
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_before_a_server_over_http_makes_no_difference_to_extensions() {
    for servers in [Servers::One, Servers::Two] {
        let (direct, behind) = (server(), server());
        let gate = Gate::before(servers, &behind.url);
        check_extensions(&direct.url, gate.url());
    }
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_that_starts_its_server_makes_no_difference_to_extensions() {
    let direct = server();
    let gate = Gate::starting(Servers::One, &[&fixture("everything-server"), "--suite"]);
    check_extensions(&direct.url, gate.url());
}

/// If a difference is found here, it is the comparison that is wrong.
#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_relay_of_bytes_makes_no_difference() {
    for version in VERSIONS {
        let (direct, behind) = (server(), server());
        check(&direct.url, &relay(&behind.url), version, &[]);
    }
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_before_a_server_over_http_makes_no_difference_at_2025_06_18() {
    check_before_http(Servers::One, "2025-06-18");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_before_a_server_over_http_makes_no_difference_at_2025_11_25() {
    check_before_http(Servers::One, "2025-11-25");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_before_a_server_over_http_makes_no_difference_at_2026_07_28() {
    check_before_http(Servers::One, "2026-07-28");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_that_starts_its_server_makes_no_difference_at_2025_06_18() {
    check_before_stdio(Servers::One, "2025-06-18");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_that_starts_its_server_makes_no_difference_at_2025_11_25() {
    check_before_stdio(Servers::One, "2025-11-25");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_that_starts_its_server_makes_no_difference_at_2026_07_28() {
    check_before_stdio(Servers::One, "2026-07-28");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn an_endpoint_of_several_servers_makes_no_difference_at_2025_06_18() {
    check_before_http(Servers::Two, "2025-06-18");
    check_before_stdio(Servers::Two, "2025-06-18");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn an_endpoint_of_several_servers_makes_no_difference_at_2025_11_25() {
    check_before_http(Servers::Two, "2025-11-25");
    check_before_stdio(Servers::Two, "2025-11-25");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn an_endpoint_of_several_servers_makes_no_difference_at_2026_07_28() {
    check_before_http(Servers::Two, "2026-07-28");
    check_before_stdio(Servers::Two, "2026-07-28");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn the_endpoint_of_one_server_differs_in_names_alone() {
    for version in VERSIONS {
        check_before_http(Servers::OneUnified, version);
    }
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn the_endpoint_of_two_servers_differs_in_names_alone() {
    for version in VERSIONS {
        check_before_http(Servers::TwoUnified, version);
    }
}
