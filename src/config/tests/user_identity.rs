//! How the server knows the user.

use super::{check, valid};
use crate::config::UserIdentity;

const ADMIN: &str = "[admin]\nport = 0\n";
const STDIO: &str = "[upstream]\nname = \"tickets\"\ncommand = [\"server\"]\n";
const HTTP: &str = "[upstream]\nname = \"tickets\"\nurl = \"https://mcp.example.com/mcp\"\n";
const AGENTS: &str = "[listen]\ntransport = \"http\"\nport = 0\n[listen.auth]\ntype = \"jwt\"\n\
    issuer = \"https://login.example.com\"\naudience = \"gate\"\njwks_file = \"keys.json\"\n";

fn identity(text: &str) -> UserIdentity {
    valid(text).upstream.identity
}

#[test]
fn the_server_does_not_know_users_unless_that_is_asked_for() {
    assert_eq!(identity(STDIO), UserIdentity::None);
    assert_eq!(identity(HTTP), UserIdentity::None);
    let none = format!("{STDIO}identity = \"none\"\n");
    assert_eq!(identity(&none), UserIdentity::None);
}

#[test]
fn assertions_are_for_the_server_of_this_name_or_for_the_audience_that_is_written() {
    for server in [STDIO, HTTP] {
        let text = format!("{server}identity = \"meta\"\n{ADMIN}");
        let audience = "tickets".to_owned();
        assert_eq!(identity(&text), UserIdentity::Meta { audience });
    }
    let text =
        format!("{HTTP}identity = \"header\"\nidentity_audience = \"https://a.example\"\n{ADMIN}");
    let audience = "https://a.example".to_owned();
    assert_eq!(identity(&text), UserIdentity::Header { audience });
    let text = format!("{HTTP}identity = \"forward\"\nidentity_audience = \"server\"\n{AGENTS}");
    let audience = "server".to_owned();
    assert_eq!(identity(&text), UserIdentity::Forward { audience });
}

#[test]
fn an_isolated_server_knows_users_in_a_way_of_its_own() {
    let text = format!(
        "{HTTP}identity = \"header\"\n[upstream.isolated]\ncommand = [\"isolated\"]\n\
         identity = \"meta\"\n{ADMIN}"
    );
    let isolated = valid(&text).upstream.isolated.remove(0).server.identity;
    let audience = "tickets (isolated)".to_owned();
    assert_eq!(isolated, UserIdentity::Meta { audience });
    let none = text.replace("identity = \"meta\"\n", "");
    let isolated = valid(&none).upstream.isolated.remove(0).server.identity;
    assert_eq!(isolated, UserIdentity::None);
}

#[test]
fn an_identity_that_the_server_cannot_get_is_told_with_its_place() {
    for (text, expected) in [
        (
            format!("{STDIO}identity = \"jwt\"\n{ADMIN}"),
            &["4 upstream.identity: unknown value 'jwt'"][..],
        ),
        (
            format!("{STDIO}identity = \"header\"\n{ADMIN}"),
            &["4 upstream.identity: needs a server over HTTP: a process gets no headers"],
        ),
        (
            format!("{STDIO}identity = \"forward\"\nidentity_audience = \"a\"\n{AGENTS}"),
            &["4 upstream.identity: needs a server over HTTP: a process gets no headers"],
        ),
        (
            format!("{STDIO}identity = \"meta\"\n"),
            &["admin.port: required when upstream.identity is 'meta' or 'header'"],
        ),
        (
            format!("{HTTP}[upstream.isolated]\ncommand = [\"a\"]\nidentity = \"meta\"\n"),
            &["admin.port: required when upstream.identity is 'meta' or 'header'"],
        ),
        (
            format!("{HTTP}identity_audience = \"a\"\n"),
            &[
                "4 upstream.identity_audience: has no effect unless the server learns who the user is",
            ],
        ),
        (
            format!("{HTTP}identity = \"none\"\nidentity_audience = \"a\"\n"),
            &[
                "5 upstream.identity_audience: has no effect unless the server learns who the user is",
            ],
        ),
        (
            format!("{HTTP}identity = \"header\"\nidentity_audience = \"a b\"\n{ADMIN}"),
            &["5 upstream.identity_audience: expected a text without spaces"],
        ),
        (
            format!("{HTTP}identity = \"forward\"\n{AGENTS}"),
            &["1 upstream.identity_audience: required when identity is 'forward'"],
        ),
        (
            format!("{HTTP}identity = \"forward\"\nidentity_audience = \"server\"\n"),
            &["4 upstream.identity: needs agents with JSON Web Tokens"],
        ),
        (
            format!("{HTTP}identity = \"forward\"\nidentity_audience = \"gate\"\n{AGENTS}"),
            &["5 upstream.identity_audience: is the audience of the gate (`listen.auth.audience`)"],
        ),
        (
            format!(
                "{HTTP}identity = \"forward\"\nidentity_audience = \"server\"\n\
                 auth = {{ type = \"bearer\", token = \"0123456789\" }}\n{AGENTS}"
            ),
            &["6 upstream.auth: does not apply when identity is 'forward'"],
        ),
        (
            format!(
                "[upstream]\nurl = \"http://mcp.internal/mcp\"\nallow_http = true\n\
                 identity = \"header\"\n{ADMIN}"
            ),
            &[
                "2 upstream.url: there is no TLS: others on the network can use the token or assertion",
            ],
        ),
    ] {
        check_all(&text, expected);
    }
}

/// Warnings are told like errors.
#[track_caller]
fn check_all(text: &str, expected: &[&str]) {
    match super::parse(text) {
        Err(_) => check(text, expected),
        Ok(config) => {
            let told = config.warnings.iter().filter_map(|problem| {
                let (line, _) = problem.position()?;
                Some(format!("{line} {problem}"))
            });
            assert_eq!(told.collect::<Vec<_>>(), expected, "\n{text}");
        }
    }
}
