//! The suite as the server of a client.

use crate::conformance::checks::Checks;
use crate::conformance::compare::{Comparison, compare};
use crate::conformance::gate::{Configuration, GATE, Servers};
use crate::conformance::suite::{client_extension_scenarios, client_scenarios, judge_client};
use crate::support::fixtures::fixture;

/// The client is told the address when the suite starts it, so it is the client that starts the gate.
#[track_caller]
fn check(servers: Servers, version: &str) {
    compare_scenarios(servers, version, Some(version), &client_scenarios(version));
}

#[track_caller]
fn compare_scenarios(servers: Servers, name: &str, version: Option<&str>, scenarios: &[String]) {
    let configuration = Configuration::new(servers, "url = \"@URL@\"");
    let client = fixture("suite-client");
    let file = configuration.file();
    let through = format!("{client} --through {GATE} {}", file.display());
    let judge = |command: &str, again: Option<&[String]>| {
        let mut found = Checks::default();
        for scenario in again.unwrap_or(scenarios) {
            found.extend(judge_client(command, version, scenario));
        }
        found
    };
    compare(&Comparison {
        version: name,
        direct: &|again| judge(&client, again),
        through: &|again| judge(&through, again),
    });
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_behind_a_client_makes_no_difference_at_2025_06_18() {
    check(Servers::One, "2025-06-18");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_behind_a_client_makes_no_difference_at_2025_11_25() {
    check(Servers::One, "2025-11-25");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_behind_a_client_makes_no_difference_at_2026_07_28() {
    check(Servers::One, "2026-07-28");
}

/// What belongs to no revision: hosts of skills. Those about authorization are left out as above.
#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_gate_behind_a_client_makes_no_difference_to_extensions() {
    compare_scenarios(
        Servers::One,
        "extensions",
        None,
        &client_extension_scenarios(),
    );
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn an_endpoint_of_several_servers_makes_no_difference_to_a_client_at_2025_06_18() {
    check(Servers::Two, "2025-06-18");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn an_endpoint_of_several_servers_makes_no_difference_to_a_client_at_2025_11_25() {
    check(Servers::Two, "2025-11-25");
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn an_endpoint_of_several_servers_makes_no_difference_to_a_client_at_2026_07_28() {
    check(Servers::Two, "2026-07-28");
}
