//! A program that is built without it.

use std::fs;
use std::process::Command;

use crate::support::fixtures::fixture;
use crate::support::peer::Peer;
use crate::support::setup::{GATE, Setup};

#[test]
fn a_program_without_a_flight_recorder_says_so_and_does_not_start() {
    let mut setup = Setup::of([&*fixture("hostile-server"), "proper"]);
    "[flight_recorder]\nfile = \"flight.duckdb\"".clone_into(&mut setup.more);
    let ended = Peer::start(setup.gate()).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let told = "`flight_recorder`: this program is built without the flight recorder";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(!setup.path("flight.duckdb").exists());
}

#[test]
fn a_database_is_recognised_by_a_program_that_cannot_read_it() {
    let setup = Setup::of([""]);
    let database = setup.path("flight.duckdb");
    fs::write(&database, b"12345678DUCK, and more").unwrap();
    let check = |arguments: &[&str]| {
        let output = Command::new(GATE)
            .args(["audit", "query", database.to_str().unwrap()])
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.contains("built without the flight recorder"),
            "{stderr}"
        );
    };
    check(&[]);
    check(&["--sql", "SELECT 1"]);
}
