//! `[ratchet]`.

use super::{parse, render, valid};
use crate::loading::EgressReach;

const BASE: &str = "upstream.command = ['server']\n";

#[test]
fn how_far_tools_reach_is_said_for_each_level() {
    use EgressReach::{Full, None, Proxied};
    let check = |text: &str, reach: [EgressReach; 4], hosts: &[&str]| {
        let config = valid(&format!("{BASE}[ratchet.network]\n{text}"));
        assert_eq!(config.policy.network.reach, reach, "{text}");
        assert_eq!(config.policy.network.hosts, hosts, "{text}");
    };
    check("", [Full, Full, None, None], &[]);
    check("confidential = 'full'\nsecret = 'full'", [Full; 4], &[]);
    check("public = 'none'", [None; 4], &[]);
    check(
        "internal = 'proxied'\nhosts = ['Docs.Example.com.', '10.0.0.1']",
        [Full, Proxied, None, None],
        &["docs.example.com", "10.0.0.1"],
    );
    check(
        "confidential = 'proxied'\nsecret = 'proxied'\nhosts = ['a.example']",
        [Full, Full, Proxied, Proxied],
        &["a.example"],
    );
}

#[test]
fn what_reaches_further_by_having_read_more_is_refused() {
    let check = |text: &str, problem: &str| {
        let told: String = match parse(&format!("{BASE}{text}")) {
            Ok(config) => config.warnings.iter().map(|it| render(it)).collect(),
            Err(errors) => render(&errors),
        };
        assert!(told.contains(problem), "{text}: {told}");
    };
    check(
        "[ratchet.network]\npublic = 'none'\ninternal = 'full'",
        "is wider than the level below",
    );
    check(
        "[ratchet.network]\ninternal = 'proxied'",
        "a level is 'proxied'",
    );
    check(
        "[ratchet.network]\nhosts = ['a.example']",
        "where no level is \"proxied\"",
    );
    check(
        "[ratchet.network]\ninternal = 'proxied'\nhosts = ['a b']",
        "is no name of a host",
    );
    check(
        "[ratchet]\nsession_header = 'x'",
        "only applies when transport is 'http'",
    );
    check("[ratchet]\nkey_file = 'key'", "only applies with `file`");
    check(
        "[ratchet]\nsession = ''",
        "expected a name of 1 to 256 bytes",
    );
    check(
        "[ratchet]\nsession_header = 'Authorization'",
        "says something else",
    );
}
