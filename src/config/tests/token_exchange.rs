//! How the gate gets tokens in exchange for those of agents.

use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret;

use super::{check, valid};
use crate::config::{ServerAuth, StartupProbe, UserIdentity};
use crate::upstream::http::{ClientAuth, ClientSecret, TokenExchange, TokenType};

const AGENTS: &str = "[listen]\ntransport = 'http'\nport = 0\n[listen.auth]\ntype = 'jwt'\n\
    issuer = 'https://login.example.com'\naudience = 'gate'\njwks_file = 'keys.json'\n";

const TO: &str = "type = 'token_exchange', token_url = 'https://login.example.com/token'";

/// A server whose `auth` has this, on line 3.
fn text(rest: &str) -> String {
    format!("[upstream]\nurl = 'https://mcp.example.com/mcp'\nauth = {{ {rest} }}\n{AGENTS}")
}

#[track_caller]
fn exchange(rest: &str) -> TokenExchange {
    let config = valid(&text(&format!("{TO}{rest}")));
    assert_eq!(config.upstream.identity, UserIdentity::Exchange);
    // Without an agent there is no token to shake hands with.
    assert_eq!(config.upstream.startup_probe, StartupProbe::Off);
    match config.upstream.http.and_then(|http| http.auth) {
        Some(ServerAuth::Exchange(exchange)) => *exchange,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_is_exchanged_for_the_server_alone_and_for_a_short_time_unless_something_else_is_written()
{
    let found = exchange("");
    assert_eq!(found.token_url.as_str(), "https://login.example.com/token");
    assert_eq!((&found.resource, &found.audience), (&None, &None));
    assert!(found.scopes.is_empty() && found.client.is_none() && found.actor.is_none());
    assert_eq!(found.subject_type, TokenType::AccessToken);
    assert_eq!(found.requested_type, TokenType::AccessToken);
    assert_eq!(found.max_lifetime, Duration::from_mins(15));
    let found = exchange(
        ", client_id = 'gate', client_secret = '${TOKEN}', client_auth = 'post', audience = 'tickets', \
         resource = 'urn:x', scopes = ['mcp:tools'], subject_token_type = 'jwt', \
         requested_token_type = 'jwt', actor_token_file = 'actor', actor_token_type = 'jwt', \
         max_lifetime = '60s'",
    );
    let client = found.client.unwrap();
    assert_eq!((&*client.id, client.auth), ("gate", ClientAuth::Post));
    assert!(matches!(&client.secret, Some(ClientSecret::Value(secret))
            if secret.expose_secret() == "a-token-of-20-bytes!"));
    let actor = found.actor.unwrap();
    assert!(
        matches!(&actor.token, ClientSecret::File(file) if file == Path::new("/etc/gate/actor"))
    );
    assert_eq!(actor.token_type, TokenType::Jwt);
    assert_eq!(
        (found.subject_type, found.requested_type),
        (TokenType::Jwt, TokenType::Jwt)
    );
    assert_eq!(found.audience.as_deref(), Some("tickets"));
    assert_eq!(found.resource.as_deref(), Some("urn:x"));
    assert_eq!(
        (found.scopes, found.max_lifetime),
        (vec!["mcp:tools".to_owned()], Duration::from_mins(1))
    );
    // A client without a secret says its name alone.
    assert!(
        exchange(", client_id = 'gate'")
            .client
            .unwrap()
            .secret
            .is_none()
    );
}

#[test]
fn an_exchange_that_cannot_be_is_told_with_its_key() {
    for (rest, told) in [
        (
            "type = 'token_exchange'",
            "token_url: required when type is 'token_exchange'",
        ),
        (
            "type = 'token_exchange', token_url = 'http://login.example.com'",
            "token_url: is not `https`",
        ),
        (
            &format!("{TO}, issuer = 'https://i'"),
            "issuer: only applies when type is 'client_credentials'",
        ),
        (
            &format!("{TO}, allow_private = true"),
            "allow_private: only applies when type is 'client_credentials'",
        ),
        (
            &format!("{TO}, token = '0123456789'"),
            "token: only applies when type is 'bearer'",
        ),
        (
            &format!("{TO}, client_secret = '0123456789'"),
            "client_id: required when there is a client secret",
        ),
        (
            &format!(
                "{TO}, client_id = 'a', client_secret = '0123456789', client_secret_file = 'a'"
            ),
            "client_secret_file: does not apply beside `client_secret`",
        ),
        (
            &format!("{TO}, actor_token = '0123456789', actor_token_file = 'a'"),
            "actor_token_file: does not apply beside `actor_token`",
        ),
        (
            &format!("{TO}, resource = ''"),
            "resource: names no server, and there is no `audience`",
        ),
        (
            &format!("{TO}, audience = 'gate'"),
            "audience: is the audience of the gate (`listen.auth.audience`)",
        ),
        (
            "type = 'token_exchange', token_url = 'https://MCP.example.com:443/mcp/?x=1'",
            "token_url: is the server's own URL",
        ),
        (
            &format!("{TO}, max_lifetime = '9s'"),
            "max_lifetime: below minimum",
        ),
        (
            &format!("{TO}, max_lifetime = '25h'"),
            "max_lifetime: exceeds maximum",
        ),
        (
            &format!("{TO}, subject_token_type = 'saml2'"),
            "subject_token_type: unknown value 'saml2'",
        ),
        (
            "type = 'bearer', token = '0123456789', actor_token = '0123456789'",
            "actor_token: only applies when type is 'token_exchange'",
        ),
    ] {
        check(&text(rest), &[&format!("3 upstream.auth.{told}")]);
    }
    for (key, without) in [
        ("client_auth = 'post'", "a client secret"),
        ("actor_token_type = 'jwt'", "an actor token"),
    ] {
        let config = valid(&text(&format!("{TO}, {key}")));
        let told: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
        assert!(
            told.iter()
                .any(|it| it.contains(&format!("without {without}"))),
            "{told:?}"
        );
    }
}

#[test]
fn no_server_gets_a_token_for_the_gate_however_its_name_is_written() {
    let gate = "https://gate.example.com/mcp";
    for (audience, url, rest, key) in [
        (gate, gate, "", "resource"),
        (
            gate,
            "https://GATE.example.com:443/mcp/?key=1",
            "",
            "resource",
        ),
        ("https://gate.example.com/mcp/", gate, "", "resource"),
        ("https://Gate.Example.com/mcp", gate, "", "resource"),
        (
            "https://gate.example.com",
            "https://gate.example.com/",
            "",
            "resource",
        ),
        (
            gate,
            "https://mcp.example.com/mcp",
            ", resource = 'HTTPS://Gate.example.com/mcp/'",
            "resource",
        ),
        (
            gate,
            "https://mcp.example.com/mcp",
            ", audience = 'https://gate.example.com/mcp/'",
            "audience",
        ),
        (
            "gate/",
            "https://mcp.example.com/mcp",
            ", audience = 'gate'",
            "audience",
        ),
        (
            "urn:gate",
            "https://mcp.example.com/mcp",
            ", resource = 'urn:gate'",
            "resource",
        ),
        // The server's URL is not sent then.
        (gate, gate, ", audience = 'tickets'", ""),
        (gate, "https://gate.example.com/other", "", ""),
        (
            gate,
            "https://mcp.example.com/mcp",
            ", audience = 'GATE'",
            "",
        ),
    ] {
        let agents = AGENTS.replace("'gate'", &format!("'{audience}'"));
        let text = format!("[upstream]\nurl = '{url}'\nauth = {{ {TO}{rest} }}\n{agents}");
        let problems = super::parse(&text).map_or_else(
            |errors| errors.problems().iter().map(ToString::to_string).collect(),
            |_| Vec::new(),
        );
        let told = format!("upstream.auth.{key}: is the audience of the gate");
        let is_told = problems.iter().any(|it| it.starts_with(&told));
        assert_eq!(is_told, !key.is_empty(), "{text}: {problems:?}");
        assert_eq!(problems.is_empty(), key.is_empty(), "{text}: {problems:?}");
    }
}

#[test]
fn only_a_server_over_http_of_agents_with_json_web_tokens_gets_exchanged_tokens() {
    let auth = format!("auth = {{ {TO} }}\n");
    let http = format!("[upstream]\nurl = 'https://mcp.example.com/mcp'\n{auth}");
    let tokens = "[listen]\ntransport = 'http'\nport = 0\n\
        auth = { type = 'bearer', tokens = { ada = '0123456789abcdef' } }\n";
    let not_known = "3 upstream.auth.type: needs agents with JSON Web Tokens";
    let beside = "does not apply when auth.type is 'token_exchange'";
    for (text, told) in [
        (http.clone(), not_known.to_owned()),
        (format!("{http}{tokens}"), not_known.to_owned()),
        (
            format!("[upstream]\ncommand = ['server']\n{auth}{AGENTS}"),
            "3 upstream.auth: only applies when url is an HTTP URL".to_owned(),
        ),
        (
            format!("{http}identity = 'forward'\n{AGENTS}"),
            format!("4 upstream.identity: {beside}"),
        ),
        (
            format!("{http}identity = 'meta'\n{AGENTS}"),
            format!("4 upstream.identity: {beside}"),
        ),
        (
            format!("{http}startup_probe = true\n{AGENTS}"),
            format!("4 upstream.startup_probe: {beside}"),
        ),
        (
            format!("{http}headers = {{ authorization = 'Bearer 0123456789' }}\n{AGENTS}"),
            "4 upstream.headers.authorization: ".to_owned(),
        ),
        (
            format!("[servers.tickets]\nurl = 'https://mcp.example.com/mcp'\n{auth}"),
            "3 servers.tickets.auth.type: needs agents with JSON Web Tokens".to_owned(),
        ),
        (
            format!(
                "[upstream]\ncommand = ['server']\n[upstream.isolated]\n\
                 url = 'https://isolated.example.com/mcp'\n{auth}"
            ),
            "5 upstream.isolated.auth.type: needs agents with JSON Web Tokens".to_owned(),
        ),
    ] {
        let errors = super::parse(&text).expect_err(&text);
        let rendered = errors.problems().iter().filter_map(|problem| {
            let (line, _) = problem.position()?;
            Some(format!("{line} {problem}"))
        });
        let rendered: Vec<_> = rendered.collect();
        assert!(
            rendered.iter().any(|it| it.starts_with(&told)),
            "{told}: {rendered:?}"
        );
    }
    let isolated = format!(
        "[upstream]\ncommand = ['server']\n[upstream.isolated]\n\
         url = 'https://isolated.example.com/mcp'\n{auth}{AGENTS}"
    );
    let upstream = valid(&isolated).upstream;
    assert_eq!(upstream.identity, UserIdentity::None);
    assert_eq!(upstream.isolated[0].server.identity, UserIdentity::Exchange);
    assert_eq!(upstream.startup_probe, StartupProbe::Off);
}
