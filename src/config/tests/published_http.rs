//! The published schema and the code agree about everything that is for HTTP.

use serde_json::Value;

use super::published::schema;
use super::{parse, render};

const URL: &str = r#"upstream.url = "https://example.com""#;
const BEARER: &str = r#"auth = { type = "bearer", tokens = { a = "0123456789abcdef" } }"#;
const JWT: &str = r#"type = "jwt", issuer = "i", audience = "a""#;

/// Both accept all of the one and none of the other.
#[track_caller]
fn check(accepted: &[String], refused: &[String]) {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is a schema");
    let accepted = accepted.iter().map(|text| (text, true));
    let refused = refused.iter().map(|text| (text, false));
    for (text, expected) in accepted.chain(refused) {
        let instance: Value = toml::from_str(text).expect("TOML");
        let told = parse(text).err().map(|errors| render(&errors));
        assert_eq!(told.is_none(), expected, "the code:\n{text}\n{told:?}");
        assert_eq!(
            validator.is_valid(&instance),
            expected,
            "the schema:\n{text}"
        );
    }
}

fn server(rest: &str) -> String {
    format!("[upstream]\nurl = {rest}")
}

fn listen(rest: &str) -> String {
    format!("{URL}\n[listen]\ntransport = \"http\"\nport = 0\n{rest}")
}

fn auth(rest: &str) -> String {
    listen(&format!("auth = {{ {rest} }}"))
}

fn jwt(rest: &str) -> String {
    auth(&format!("{JWT}, {rest}"))
}

#[test]
fn about_servers() {
    let accepted = [
        r#""https://example.com""#,
        r#""http://localhost""#,
        r#""http://127.0.0.1:80/a?b=c""#,
        r#""http://[::1]:3000/mcp""#,
        "\"http://a\"\nallow_http = true",
        "\"https://a\"\nca_file = \"a.pem\"",
        "\"https://a\"\nauth = { type = \"bearer\", token = \"${TOKEN}\" }",
        "\"https://a\"\nauth = { type = \"bearer\", token_file = \"a\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret = \"${TOKEN}\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret_file = \"s\", token_url = \"https://i\", client_auth = \"post\", scopes = [\"a\"], resource = \"\", audience = \"b\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret_file = \"s\", issuer = \"http://127.0.0.1:1/a\", resource = \"urn:a\", allow_private = true }",
    ];
    let refused = [
        r#""http://a""#,
        r#""http://localhost.a""#,
        "\"http://a\"\nallow_http = false",
        r#""https://u:p@a""#,
        r#""https://a#b""#,
        r#""https://""#,
        r#""https://a\\b""#,
        r#"" https://a""#,
        r#""ftp://a""#,
        "\"https://a\"\ncommand = [\"a\"]",
        "\"https://a\"\nenv = {}",
        "\"https://a\"\ncwd = \"a\"",
        "\"https://a\"\nauth = { type = \"bearer\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_secret = \"0123456789\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", token = \"0123456789\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret = \"0123456789\", client_secret_file = \"a\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret = \"0123456789\", token_url = \"https://i\", issuer = \"https://i\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret = \"0123456789\", token_url = \"http://i\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret = \"0123456789\", issuer = \"https://i?a\" }",
        "\"https://a\"\nauth = { type = \"client_credentials\", client_id = \"a\", client_secret = \"0123456789\", resource = \"a#b\" }",
        "\"https://a\"\nauth = { type = \"bearer\", token = \"0123456789\", scopes = [\"a\"] }",
        "\"https://a\"\nauth = { type = \"basic\", token = \"0123456789\" }",
        "\"https://a\"\nauth = { token = \"0123456789\" }",
        "\"https://a\"\nauth = { type = \"bearer\", token = \"abc\" }",
        "\"https://a\"\nauth = { type = \"bearer\", token = \"0123456789\", token_file = \"a\" }",
    ];
    check(&accepted.map(server), &refused.map(server));
}

#[test]
fn about_token_exchange() {
    let gate = |rest: &str| {
        format!(
            "[upstream]\nurl = 'https://a'\nstartup_probe = false\n{rest}\n[listen]\n\
             transport = 'http'\nport = 0\nauth = {{ {JWT}, jwks_file = 'a' }}"
        )
    };
    let auth = |rest: &str| {
        gate(&format!(
            "auth = {{ type = 'token_exchange', token_url = 'https://i'{rest} }}"
        ))
    };
    let accepted = [
        auth(""),
        auth(", audience = 'b', resource = ''"),
        auth(", resource = 'urn:b', scopes = ['a'], max_lifetime = '10s'"),
        auth(", client_id = 'a'"),
        auth(", client_id = 'a', client_secret = '0123456789', client_auth = 'post'"),
        auth(", client_id = 'a', client_secret_file = 's'"),
        auth(", actor_token = '0123456789', actor_token_type = 'jwt'"),
        auth(", actor_token_file = 'a', subject_token_type = 'jwt', requested_token_type = 'jwt'"),
        gate("auth = { type = 'token_exchange', token_url = 'http://localhost:1/token' }"),
    ];
    let refused = [
        gate("auth = { type = 'token_exchange' }"),
        gate("auth = { type = 'token_exchange', issuer = 'https://i' }"),
        gate("auth = { type = 'token_exchange', token_url = 'http://i' }"),
        auth(", issuer = 'https://i'"),
        auth(", allow_private = true"),
        auth(", token = '0123456789'"),
        auth(", client_secret = '0123456789'"),
        auth(", client_id = 'a', client_secret = '0123456789', client_secret_file = 's'"),
        auth(", actor_token = '0123456789', actor_token_file = 'a'"),
        auth(", resource = ''"),
        auth(", subject_token_type = 'id_token'"),
        auth(", max_lifetime = 5"),
        gate("auth = { type = 'token_exchange', token_url = 'https://i' }\nidentity = 'meta'"),
        gate(
            "auth = { type = 'token_exchange', token_url = 'https://i' }\nidentity_audience = 'a'",
        ),
        auth("").replace("startup_probe = false", "startup_probe = true"),
        server(
            "\"https://a\"\nauth = { type = \"bearer\", token = \"0123456789\", max_lifetime = \"5m\" }",
        ),
    ];
    check(&accepted, &refused);
}

#[test]
fn about_listeners() {
    let with_tokens = |rest: &str| listen(&format!("{rest}\n{BEARER}"));
    let accepted = [
        listen(""),
        listen("host = 'localhost'"),
        listen("host = '0:0:0:0:0:0:0:1'"),
        listen("path = '/'"),
        listen("path = '/healthy/'"),
        listen("allowed_origins = ['https://a:1', 'chrome-extension://abc']"),
        with_tokens(""),
        with_tokens("host = '::'\nallowed_hosts = ['a:1']"),
        listen("host = '10.0.0.1'\nallowed_hosts = ['a']\nallow_anonymous = true"),
    ];
    let refused = [
        format!("{URL}\nlisten.transport = 'http'"),
        listen("host = 'example.com'"),
        with_tokens("host = '0.0.0.0'"),
        with_tokens("host = '0.0.0.0'\nallowed_hosts = []"),
        listen("host = '0.0.0.0'\nallowed_hosts = ['a']"),
        listen("host = '::'\nallowed_hosts = ['a']\nallow_anonymous = false"),
        listen("path = 'mcp'"),
        listen("path = '/a//b'"),
        listen("path = '/a/../b'"),
        listen("path = '/health'"),
        listen("path = '/.well-known/a'"),
        listen("allowed_hosts = ['*']"),
        listen("allowed_hosts = ['a/b']"),
        listen("allowed_origins = ['null']"),
        listen("allowed_origins = ['https://a/']"),
        listen("allowed_origins = ['https://*.a']"),
    ];
    check(&accepted, &refused);
}

#[test]
fn about_tokens() {
    let accepted = [
        jwt("jwks_file = 'a'"),
        jwt("jwks_url = 'https://a', algorithms = ['EdDSA'], scopes = ['a']"),
        jwt("jwks_url = 'http://127.0.0.1:1/a'"),
        jwt("jwks_file = 'a', resource = 'https://gate', session_claim = 's', groups_claim = 'g'"),
    ];
    let claims = "capabilities_claim = '/a/b~1c', claims = { a = 'strings', b-c = { claim = '/x', type = 'long' } }";
    let accepted = [&accepted[..], &[jwt(&format!("jwks_file = 'a', {claims}"))]].concat();
    let token = "tokens = { a = '0123456789abcdef' }";
    let refused = [
        auth("type = 'bearer'"),
        auth("type = 'bearer', tokens = {}"),
        auth("type = 'bearer', tokens = { a = 'abc' }"),
        auth("type = 'bearer', tokens = { '' = '0123456789abcdef' }"),
        auth(token),
        auth(&format!("type = 'bearer', {token}, issuer = 'i'")),
        auth(JWT),
        auth("type = 'jwt', issuer = 'i', jwks_file = 'a'"),
        auth("type = 'jwt', audience = 'a', jwks_file = 'a'"),
        jwt("jwks_url = 'http://a'"),
        jwt("jwks_url = 'https://a', jwks_file = 'a'"),
        jwt("jwks_file = 'a', algorithms = []"),
        jwt("jwks_file = 'a', algorithms = ['HS256']"),
        jwt("jwks_file = 'a', scopes = ['a b']"),
        jwt("jwks_file = 'a', groups_claim = ''"),
        jwt("jwks_file = 'a', capabilities_claim = ''"),
        jwt("jwks_file = 'a', capabilities_claim = '/a~'"),
        jwt("jwks_file = 'a', claims = ['a']"),
        jwt("jwks_file = 'a', claims = { a = 'set' }"),
        jwt("jwks_file = 'a', claims = { a = { claim = 'a' } }"),
        jwt("jwks_file = 'a', claims = { a = { type = 'bool', claim = '/' } }"),
        jwt("jwks_file = 'a', claims = { a = { type = 'bool', x = 1 } }"),
        jwt("jwks_file = 'a', claims = { 'a b' = 'bool' }"),
        auth(&format!("type = 'bearer', {token}, claims = {{}}")),
        jwt("jwks_file = 'a', resource = 'https://a#b'"),
        jwt(&format!("jwks_file = 'a', {token}")),
    ];
    check(&accepted, &refused);
}

#[test]
fn about_limits_and_the_listener_of_operators() {
    let accepted = [
        listen("[limits]\nmax_sessions = 1\nsession_idle_timeout = '1s'\nmax_connections = 1"),
        format!("{URL}\nadmin.port = 0"),
        format!("{URL}\nadmin = {{ port = 1, host = '::1' }}"),
        format!("{URL}\nadmin = {{ port = 1, host = '::', token_file = 'a' }}"),
        format!("{URL}\nadmin = {{ port = 1, host = '::', allow_anonymous = true }}"),
        format!(
            "{URL}\nadmin = {{ port = 1, allowed_hosts = ['a:1'], token = '0123456789abcdef' }}"
        ),
        format!(
            "{URL}\nadmin = {{ port = 1, operators = {{ o = '0123456789abcdef' }}, command_operators = ['o'] }}"
        ),
    ];
    let refused = [
        listen("[limits]\nmax_connections = 65537"),
        listen("[limits]\nmax_sessions = 0"),
        listen("[limits]\nsession_idle_timeout = 5"),
        format!("{URL}\nadmin = {{}}"),
        format!("{URL}\nadmin = {{ port = 1, host = 'a' }}"),
        format!("{URL}\nadmin = {{ port = 1, host = '::' }}"),
        format!("{URL}\nadmin = {{ port = 1, host = '::', allow_anonymous = false }}"),
        format!("{URL}\nadmin = {{ port = 1, token = 'abc' }}"),
        format!("{URL}\nadmin = {{ port = 1, command_operators = ['o'] }}"),
        format!("{URL}\nadmin = {{ port = 1, operators = {{ o = 'short' }} }}"),
        format!("{URL}\nadmin = {{ port = 1, token = '0123456789abcdef', token_file = 'a' }}"),
    ];
    check(&accepted, &refused);
}
