//! The suite as the client of a server.

use std::process::Command;

use crate::checks::Checks;
use crate::fixtures::fixture;
use crate::peers::Listening;
use crate::relay::relay;
use crate::suite::{Selection, VERSIONS, judge_server};

/// How often a scenario is run again before a difference counts: the suite waits less than a second
/// for some answers, and other programs may be using the machine.
const RETRIES: usize = 2;

fn server() -> Listening {
    let mut command = Command::new(fixture("everything-server"));
    command.args(["--suite", "--http", "0"]);
    Listening::start(command)
}

/// Compares what the suite finds at two addresses. The server behind them is another one for each,
/// since a run leaves traces.
#[track_caller]
fn check(direct: &str, through: &str, version: &str) {
    let mut found = [direct, through].map(|url| judge_server(url, version, Selection::Everything));
    for _ in 0..RETRIES {
        let [direct_found, through_found] = &found;
        let mut again: Vec<String> = direct_found
            .differences(through_found)
            .iter()
            .map(|it| it.key.0.clone())
            .collect();
        again.dedup();
        for scenario in again {
            for (url, found) in [direct, through].into_iter().zip(&mut found) {
                let later = judge_server(url, version, Selection::Scenario(&scenario));
                found.replace(&scenario, later);
            }
        }
    }
    let [direct, through] = found;
    println!("{version}, direct:  {direct}");
    println!("{version}, through: {through}");
    blemishes(&direct);
    let differences = direct.differences(&through);
    let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn blemishes(checks: &Checks) {
    for ((scenario, check), (status, said)) in checks.blemishes() {
        println!("  {scenario} {check}: {status:?} {said}");
    }
}

#[test]
#[ignore = "needs the suite: see fixtures/real/README.md"]
fn a_relay_of_bytes_makes_no_difference() {
    for version in VERSIONS {
        let (direct, behind) = (server(), server());
        check(&direct.url, &relay(&behind.url), version);
    }
}
