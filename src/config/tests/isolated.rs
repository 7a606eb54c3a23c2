//! `[upstream.isolated]`.

use super::{check, check_rest, valid, valid_with};
use crate::config::{ConfigError, ConfinedFiles, Isolated, Keep};
use crate::upstream::sandbox::Network;

#[track_caller]
fn isolated(text: &str) -> Isolated {
    let config = valid_with(text);
    // That nothing is allowed is told of all of them.
    assert_eq!(config.warnings.len(), 1, "{text}: {:?}", config.warnings);
    config
        .upstream
        .isolated
        .into_iter()
        .next()
        .expect("an isolated server")
}

#[test]
fn an_isolated_server_is_what_is_written_of_it_and_nothing_of_the_open_one() {
    assert!(valid_with("").upstream.isolated.is_empty());
    let found = isolated(
        "upstream.name = 'files'
         upstream.cwd = '/srv'
         upstream.sandbox.write = ['/srv']
         upstream.env.A = 'a'
         [upstream.isolated]
         command = ['bin/isolated', '--quiet']
         [upstream.isolated.sandbox]
         read = ['docs']
         [upstream.isolated.env]
         B = 'b'",
    );
    let server = &found.server;
    assert_eq!(found.min_sensitivity, 2);
    assert_eq!(server.name, "files (isolated)");
    assert_eq!(server.command, ["/etc/gate/bin/isolated", "--quiet"]);
    assert_eq!(server.cwd, None);
    assert!(!server.env.contains_key("A") && server.env.contains_key("B"));
    let sandbox = &server.sandbox.as_ref().expect("a sandbox").sandbox;
    assert_eq!(
        sandbox.places[0].setting,
        "upstream.isolated.sandbox.read[0]"
    );
    assert!(server.isolated.is_empty());
}

#[test]
fn a_server_is_kept_warm_where_that_is_written() {
    let text = |keep: &str| format!("upstream.isolated = {{ {keep}command = ['other'] }}");
    for (keep, expected) in [
        ("", Keep::Cold),
        ("keep = 'cold', ", Keep::Cold),
        ("keep = 'warm', ", Keep::Warm),
    ] {
        assert_eq!(isolated(&text(keep)).keep, expected, "{keep}");
    }
    check_rest(
        &text("keep = 'hot', "),
        &["2 upstream.isolated.keep: unknown value 'hot'"],
    );
}

#[test]
fn the_level_is_a_word_of_tools_toml() {
    for (word, level) in [("internal", 1), ("confidential", 2), ("secret", 3)] {
        let text =
            format!("upstream.isolated = {{ min_sensitivity = '{word}', command = ['other'] }}");
        assert_eq!(isolated(&text).min_sensitivity, level);
    }
    // Every session is public: there would be no open server.
    check_rest(
        "upstream.isolated = { min_sensitivity = 'public', command = ['other'] }",
        &["2 upstream.isolated.min_sensitivity: unknown value 'public'"],
    );
}

#[test]
fn the_level_says_how_far_its_network_reaches_where_nothing_is_said() {
    let check = |rest: &str, expected: Option<Network>| {
        let text = format!("[upstream.isolated]\ncommand = ['other']\n{rest}");
        let sandbox = isolated(&text).server.sandbox;
        assert_eq!(sandbox.map(|it| it.sandbox.network), expected, "{rest}");
    };
    check("min_sensitivity = 'internal'", None);
    check(
        "min_sensitivity = 'internal'\nsandbox = {}",
        Some(Network::Full),
    );
    for sandbox in ["", "\nsandbox = {}"] {
        let level = |level: &str| format!("min_sensitivity = '{level}'{sandbox}");
        check(&level("confidential"), Some(Network::Proxied));
        check(&level("secret"), Some(Network::Absent));
    }
    check(
        "min_sensitivity = 'secret'\nsandbox.network = 'full'",
        Some(Network::Full),
    );
    // Without a section for it, nothing else of the machine is withheld.
    let found = isolated("upstream.isolated.command = ['other']");
    let confinement = found.server.sandbox.expect("its network is confined");
    assert_eq!(confinement.files, ConfinedFiles::All);
    // What is listed belongs to the default.
    let found =
        isolated("upstream.isolated = { command = ['other'], sandbox.egress = ['a.example:1'] }");
    let listed = found.server.sandbox.expect("a sandbox").egress;
    assert_eq!(listed.iter().count(), 1);
}

#[test]
fn places_in_turn_rise_and_are_numbered() {
    let config = valid_with(
        "upstream.name = 'files'
         [[upstream.isolated]]
         command = ['other']
         [[upstream.isolated]]
         min_sensitivity = 'secret'
         command = ['other']
         [upstream.isolated.sandbox]
         read = ['docs']",
    );
    let found = config.upstream.isolated.iter();
    let found = found.map(|it| {
        (
            it.section.as_str(),
            it.min_sensitivity,
            it.server.name.as_str(),
        )
    });
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            ("upstream.isolated[0]", 2, "files (isolated)"),
            ("upstream.isolated[1]", 3, "files (isolated 2)"),
        ]
    );
    let network = |at: usize| {
        let sandbox = config.upstream.isolated[at].server.sandbox.as_ref();
        sandbox.expect("a sandbox").sandbox.network.clone()
    };
    assert_eq!(
        (network(0), network(1)),
        (Network::Proxied, Network::Absent)
    );
    let second = config.upstream.isolated[1].server.sandbox.as_ref();
    let place = &second.expect("a sandbox").sandbox.places[0];
    assert_eq!(place.setting, "upstream.isolated[1].sandbox.read[0]");
    check_rest(
        "[[upstream.isolated]]
         min_sensitivity = 'secret'
         command = ['other']
         [[upstream.isolated]]
         min_sensitivity = 'confidential'
         command = ['other']
         readonly = true
         [[upstream.isolated]]
         min_sensitivity = 'confidential'",
        &[
            "6 upstream.isolated[1].min_sensitivity: is not higher than that of the table before",
            "8 upstream.isolated[1].readonly: unknown key",
            "9 upstream.isolated[2].command: required",
            "10 upstream.isolated[2].min_sensitivity: is not higher than that of the table before",
        ],
    );
    check_rest(
        "upstream.isolated = []",
        &["2 upstream.isolated: expected at least one table"],
    );
    check_rest(
        "upstream.isolated = [1]",
        &["2 upstream.isolated[0]: expected a table, found an integer"],
    );
}

#[test]
fn either_server_may_be_reached_over_http() {
    let over_http = isolated("upstream.isolated.url = 'https://isolated.example/mcp'");
    assert!(over_http.server.http.is_some() && over_http.server.command.is_empty());
    let config = valid(
        "upstream.url = 'https://open.example/mcp'
         upstream.isolated.command = ['isolated']",
    );
    assert!(config.upstream.http.is_some());
    let isolated = &config.upstream.isolated[0];
    assert_eq!(isolated.server.command, ["isolated"]);
}

#[test]
fn what_is_wrong_with_either_is_told_of_each() {
    check_rest(
        "[upstream.isolated]",
        &["2 upstream.isolated.command: required"],
    );
    check(
        "[upstream]\ncommand = ['a']\nauth = { type = 'bearer', token = '0123456789' }\n\
         [upstream.isolated]\nurl = 'https://x.example'\ncwd = '/'\n\
         isolated = { command = ['b'] }",
        &[
            "3 upstream.auth: only applies when url is an HTTP URL",
            "6 upstream.isolated.cwd: only applies when url is 'stdio'",
            "7 upstream.isolated.isolated: unknown key",
        ],
    );
}

#[test]
fn two_servers_that_are_reached_alike_get_a_warning() {
    let warned = |text: &str| {
        let warnings = valid_with(text).warnings;
        warnings
            .iter()
            .any(|it| it.to_string().contains("isolates nothing"))
    };
    let internal = "upstream.isolated.min_sensitivity = 'internal'";
    let warned_at_internal = |text: &str| warned(&format!("{internal}\n{text}"));
    assert!(warned_at_internal("upstream.isolated.command = ['server']"));
    assert!(!warned_at_internal(
        "upstream.isolated.command = ['server', '--offline']"
    ));
    assert!(!warned_at_internal(
        "upstream.isolated.command = ['server']\nupstream.isolated.env.OFFLINE = '1'"
    ));
    // Its network is another one.
    assert!(!warned("upstream.isolated.command = ['server']"));
    assert!(!warned(
        "upstream.isolated = { command = ['server'], sandbox = {} }"
    ));
    // Not even behind another one.
    let back = "upstream.url = 'https://open.example/mcp'
        upstream.isolated = [
            { url = 'https://other.example/mcp' },
            { min_sensitivity = 'secret', url = 'https://open.example/mcp' },
        ]";
    let warnings = valid(back).warnings;
    let told = |it: &ConfigError| it.to_string().contains("isolates nothing");
    let told: Vec<_> = warnings.iter().filter(|it| told(it)).collect();
    assert_eq!(told.len(), 1, "{warnings:?}");
    assert_eq!(told[0].field(), "upstream.isolated[1]");
    // The narrower place is the wrong one.
    assert!(!warned(
        "upstream.sandbox = {}\nupstream.isolated.command = ['server']"
    ));
}
