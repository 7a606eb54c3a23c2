//! Servers and agents over HTTP: what files mean, and what is wrong with them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::ExposeSecret;

use super::{check, parse, valid, valid_with};
use crate::config::{
    Anonymous, Bearer, Config, HttpListen, HttpUpstream, Jwks, Jwt, JwtAlgorithm, Listen,
    ListenAuth, PlainHttp, ServerAuth,
};
use crate::outward::PrivateAddresses;
use crate::upstream::http::{ClientAuth, ClientCredentials, ClientSecret, TokenServer};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[track_caller]
fn server(text: &str) -> HttpUpstream {
    let upstream = valid(text).upstream;
    assert!(upstream.command.is_empty() && upstream.env.is_empty() && upstream.cwd.is_none());
    upstream.http.expect("over HTTP")
}

/// What a valid `[listen]` over HTTP means, written behind its first two keys.
#[track_caller]
fn agents(text: &str) -> HttpListen {
    match valid_with(&format!(
        "listen.transport = 'http'\nlisten.port = 3000\n{text}"
    ))
    .listen
    {
        Listen::Http(http) => http,
        Listen::Stdio | Listen::Local => panic!("not over HTTP: {text}"),
    }
}

#[track_caller]
fn jwt(text: &str) -> Jwt {
    let text = format!("listen.auth = {{ type = 'jwt', issuer = 'https://i', {text} }}");
    match agents(&text).auth {
        ListenAuth::Jwt(jwt) => jwt,
        other @ (ListenAuth::None | ListenAuth::Bearer { .. }) => panic!("{other:?}"),
    }
}

/// Problems of `[listen]` over HTTP; what is checked begins on line 4.
#[track_caller]
fn check_agents(text: &str, expected: &[&str]) {
    let text = format!("upstream.command = ['a']\n[listen]\ntransport = 'http'\n{text}");
    check(&text, expected);
}

/// Warnings about networks, not about policies that permit nothing.
#[track_caller]
fn check_warnings(config: &Config, expected: &[&str]) {
    let warnings = config.warnings.iter().map(ToString::to_string);
    let warnings: Vec<_> = warnings.filter(|it| !it.starts_with("policy: ")).collect();
    assert_eq!(warnings, expected);
}

#[test]
fn a_server_over_http_is_not_started() {
    let http = server("upstream.url = 'https://mcp.example.com:8443/a?b=c'");
    assert_eq!(http.url.as_str(), "https://mcp.example.com:8443/a?b=c");
    assert_eq!(http.place(), "https://mcp.example.com:8443");
    assert_eq!(http.plain_http, PlainHttp::LoopbackOnly);
    assert!(http.auth.is_none() && http.ca_file.is_none());
    let name = valid("upstream = { url = 'https://a', name = 'files' }")
        .upstream
        .name;
    assert_eq!(name, "files");
}

#[test]
fn a_server_over_http_is_shown_a_token_and_trusted_by_an_authority() {
    let http = server(
        "[upstream]\nurl = 'http://10.0.0.1/mcp'\nallow_http = true\n\
         auth = { type = 'bearer', token = 'Bare-${TOKEN}' }",
    );
    assert_eq!(http.plain_http, PlainHttp::Allowed);
    match http.auth {
        Some(ServerAuth::Bearer(Bearer::Value(token))) => {
            assert_eq!(token.expose_secret(), "Bare-a-token-of-20-bytes!");
        }
        other => panic!("{other:?}"),
    }
    let http = server(
        "[upstream]\nurl = 'https://a'\nca_file = 'corp.pem'\n\
         auth = { type = 'bearer', token_file = '/run/token' }",
    );
    assert_eq!(http.ca_file, Some(PathBuf::from("/etc/gate/corp.pem")));
    assert!(
        matches!(&http.auth, Some(ServerAuth::Bearer(Bearer::File(file))) if file == Path::new("/run/token")),
        "{http:?}"
    );
}

#[test]
fn agents_over_http_come_from_this_machine_by_default() {
    let http = agents("");
    assert_eq!((http.host, http.port), (LOCALHOST, 3000));
    assert_eq!(http.path, "/mcp");
    assert!(http.allowed_hosts.is_empty() && http.allowed_origins.is_empty());
    assert!(matches!(http.auth, ListenAuth::None));
    assert_eq!(http.anonymous, Anonymous::LoopbackOnly);
}

#[test]
fn what_is_said_of_agents_over_http_arrives() {
    let config = valid(
        r#"
        [upstream]
        url = "http://localhost:1/mcp"
        [listen]
        transport = "http"
        host = "::"
        port = 0
        path = "/v1/mcp/"
        allowed_hosts = ["Gate.Example.com", "10.0.0.1:80", "[::1]:3000"]
        allowed_origins = ["HTTPS://App.example.com:443", "http://a:443", "http://[::1]:80", "vscode-webview://ab"]
        allow_anonymous = true
        [limits]
        max_sessions = 7
        session_idle_timeout = "90s"
        max_connections = 9
        [admin]
        host = "::1"
        port = 9090
        allowed_hosts = ["Metrics.example.com"]
        token_file = "/run/secrets/metrics"
        "#,
    );
    check_warnings(&config, &[]);
    let Listen::Http(http) = config.listen else {
        panic!("{:?}", config.listen)
    };
    assert_eq!(http.host, IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    assert_eq!((http.port, http.path.as_str()), (0, "/v1/mcp/"));
    assert_eq!(
        http.allowed_hosts,
        ["gate.example.com", "10.0.0.1:80", "[::1]:3000"]
    );
    // As browsers write them: without the scheme's own port.
    assert_eq!(
        http.allowed_origins,
        [
            "https://app.example.com",
            "http://a:443",
            "http://[::1]",
            "vscode-webview://ab"
        ]
    );
    assert_eq!(http.anonymous, Anonymous::Allowed);
    let limits = config.limits;
    assert_eq!((limits.max_sessions, limits.max_connections), (Some(7), 9));
    assert_eq!(limits.session_idle_timeout, Duration::from_secs(90));
    let admin = config.admin;
    assert_eq!(admin.host, IpAddr::V6(Ipv6Addr::LOCALHOST));
    assert_eq!(admin.port, Some(9090));
    assert_eq!(admin.allowed_hosts, ["metrics.example.com"]);
    assert!(matches!(admin.token, Some(Bearer::File(file)) if file.ends_with("metrics")));
}

#[test]
fn each_agent_has_a_token_of_its_own() {
    let http = agents(
        "listen.auth = { type = 'bearer', tokens = { alice = '${TOKEN}', 'b@x' = '0123456789abcdef' } }",
    );
    let ListenAuth::Bearer { tokens } = http.auth else {
        panic!("{:?}", http.auth)
    };
    let tokens: Vec<_> = tokens
        .iter()
        .map(|(subject, token)| (subject.as_str(), token.expose_secret()))
        .collect();
    assert_eq!(
        tokens,
        [
            ("alice", "a-token-of-20-bytes!"),
            ("b@x", "0123456789abcdef")
        ]
    );
}

#[test]
fn tokens_of_an_authorization_server_have_defaults_that_are_safe() {
    let jwt = jwt("audience = 'gate', jwks_file = 'keys.json'");
    assert_eq!(
        (jwt.issuer.as_str(), jwt.audience.as_str()),
        ("https://i", "gate")
    );
    assert_eq!(jwt.jwks, Jwks::File(PathBuf::from("/etc/gate/keys.json")));
    let all = [
        JwtAlgorithm::Es256,
        JwtAlgorithm::Rs256,
        JwtAlgorithm::EdDsa,
    ];
    assert_eq!(jwt.algorithms, all);
    assert_eq!(
        (jwt.session_claim.as_str(), jwt.groups_claim.as_str()),
        ("session_id", "groups")
    );
    assert!(jwt.scopes.is_empty());
    assert_eq!(jwt.resource, None);
}

#[test]
fn what_is_said_of_an_authorization_server_arrives() {
    let found = jwt(
        "audience = 'https://gate/mcp', jwks_url = 'https://i/keys?a=b', algorithms = ['EdDSA'], \
         session_claim = 'sid', groups_claim = 'https://i/groups', scopes = ['a:b', 'c']",
    );
    let url = "https://i/keys?a=b".parse().expect("a URL");
    assert_eq!(found.jwks, Jwks::Url(url));
    assert_eq!(found.algorithms, [JwtAlgorithm::EdDsa]);
    assert_eq!(
        (found.session_claim.as_str(), found.groups_claim.as_str()),
        ("sid", "https://i/groups")
    );
    assert_eq!(found.scopes, ["a:b", "c"]);
    let resource = |jwt: &Jwt| jwt.resource.as_ref().map(|url| url.as_str().to_owned());
    assert_eq!(resource(&found).as_deref(), Some("https://gate/mcp"));
    let other = jwt("audience = 'https://a', jwks_file = 'k', resource = 'https://gate'");
    assert_eq!(resource(&other).as_deref(), Some("https://gate/"));
}

#[test]
fn a_url_is_one_that_all_readers_read_alike() {
    let url = "expected an `https` URL";
    let cases = [
        ("stdoi", "unknown value"),
        ("", "unknown value"),
        (
            "https:a",
            "expected a URL that begins with `https://`, or `http://`",
        ),
        (
            "localhost:3000/mcp",
            "expected a URL that begins with `https://`, or `http://`",
        ),
        (
            "mcp.example.com",
            "expected a URL that begins with `https://`, or `http://`",
        ),
        ("ws://a", url),
        ("file:///a", url),
        (" https://a", url),
        ("https://a\\t", url),
        ("https://a\\\\@b", url),
        ("https://", "is not a valid URL"),
        ("https://a:99999", "is not a valid URL"),
        ("https://a b", url),
        ("https://u@a", "holds a user name or a password"),
        ("https://u:p@a", "holds a user name or a password"),
        ("https://:p@a", "holds a user name or a password"),
        ("https://a#", "has a fragment"),
        ("http://a", "is not `https`"),
        ("http://localhost.example.com", "is not `https`"),
        ("http://128.0.0.1", "is not `https`"),
        ("http://[::ffff:127.0.0.1]", "is not `https`"),
    ];
    for (written, reason) in cases {
        let told = format!("1 upstream.url: {reason}");
        check(&format!("upstream.url = \"{written}\""), &[&told]);
    }
    for written in [
        "http://localhost",
        "http://LOCALHOST:3000",
        "http://127.1.2.3",
        "http://[::1]/mcp",
    ] {
        check(&format!("upstream.url = \"{written}\""), &[]);
    }
}

#[test]
fn a_server_is_started_or_reached_and_not_both() {
    check(
        "[upstream]\nurl = 'https://a'\ncommand = ['a']\nenv = { A = 'b' }\ncwd = 'c'",
        &[
            "3 upstream.command: only applies when url is 'stdio'",
            "4 upstream.env: only applies when url is 'stdio'",
            "5 upstream.cwd: only applies when url is 'stdio'",
        ],
    );
    check(
        "[upstream]\ncommand = ['a']\nauth = { type = 'bearer', token = '12345678' }\nca_file = 'a'\nallow_http = false",
        &[
            "3 upstream.auth: only applies when url is an HTTP URL",
            "4 upstream.ca_file: only applies when url is an HTTP URL",
            "5 upstream.allow_http: only applies when url is an HTTP URL",
        ],
    );
    // What is meant is not known, so nothing is said of the rest.
    check(
        "[upstream]\nurl = '${NOPE}'\ncommand = ['a']\nca_file = 'a'",
        &["2 upstream.url: environment variable `NOPE` is not set"],
    );
}

#[track_caller]
fn client(text: &str) -> ClientCredentials {
    let text = format!(
        "upstream.url = 'https://a'\nupstream.auth = {{ type = 'client_credentials', \
         client_id = 'gate', {text} }}"
    );
    match server(&text).auth {
        Some(ServerAuth::Client(client)) => *client,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_gate_is_a_client_of_whom_it_is_told() {
    let found = client("client_secret = '${TOKEN}'");
    assert!(
        matches!(&found.secret, ClientSecret::Value(secret)
            if secret.expose_secret() == "a-token-of-20-bytes!"),
        "{found:?}"
    );
    assert_eq!(
        (&*found.client_id, &found.server),
        ("gate", &TokenServer::Named)
    );
    assert_eq!(
        (found.client_auth, found.private),
        (None, PrivateAddresses::Refused)
    );
    assert_eq!((found.resource, found.audience), (None, None));
    assert!(found.scopes.is_empty());
    let found = client(
        "client_secret_file = 's', client_auth = 'post', issuer = 'https://i/t/', \
         scopes = ['a', 'b:c'], resource = 'urn:x', audience = 'y', allow_private = true",
    );
    assert!(
        matches!(&found.secret, ClientSecret::File(file) if file == Path::new("/etc/gate/s")),
        "{found:?}"
    );
    assert_eq!(found.server, TokenServer::Of("https://i/t/".to_owned()));
    assert_eq!(found.client_auth, Some(ClientAuth::Post));
    assert_eq!(found.scopes, ["a", "b:c"]);
    assert_eq!(found.resource.as_deref(), Some("urn:x"));
    assert_eq!(found.audience.as_deref(), Some("y"));
    assert_eq!(found.private, PrivateAddresses::Allowed);
    let found = client("client_secret = '12345678', token_url = 'https://i/t?a=b', resource = ''");
    let url = "https://i/t?a=b".parse().expect("a URL");
    assert_eq!(found.server, TokenServer::At(url));
    assert_eq!(found.resource.as_deref(), Some(""));
}

#[test]
fn a_client_has_an_id_a_secret_and_a_server_of_its_own() {
    let secret = "client_id = 'a', client_secret = '12345678'";
    let only_client = "only applies when type is 'client_credentials'";
    let cases = [
        (
            "client_secret = '12345678', issuer = 'https://i'".to_owned(),
            "client_id: required when type is 'client_credentials'".to_owned(),
        ),
        (
            "client_id = 'a', issuer = 'https://i'".to_owned(),
            "client_secret: required".to_owned(),
        ),
        (
            format!("{secret}, client_secret_file = 'a', issuer = 'https://i'"),
            "client_secret_file: does not apply beside `client_secret`".to_owned(),
        ),
        (
            format!("{secret}, token_url = 'https://i', issuer = 'https://i'"),
            "issuer: does not apply beside `token_url`".to_owned(),
        ),
        (
            format!("{secret}, token_url = 'http://i'"),
            "token_url: is not `https`".to_owned(),
        ),
        (
            format!("{secret}, issuer = 'http://i'"),
            "issuer: is not `https`".to_owned(),
        ),
        (
            format!("{secret}, issuer = 'https://i?a'"),
            "issuer: has a query".to_owned(),
        ),
        (
            format!("{secret}, issuer = 'login'"),
            "issuer: expected an `https` URL".to_owned(),
        ),
        (
            format!("{secret}, issuer = 'https://i', client_auth = 'jwt'"),
            "client_auth: unknown value 'jwt'".to_owned(),
        ),
        (
            format!("{secret}, issuer = 'https://i', resource = 'a'"),
            "resource: expected an absolute URI without a fragment".to_owned(),
        ),
        (
            format!("{secret}, issuer = 'https://i', token = '12345678'"),
            "token: only applies when type is 'bearer'".to_owned(),
        ),
        (
            "client_id = 'a', client_secret = 'abc', issuer = 'https://i'".to_owned(),
            "client_secret: below minimum".to_owned(),
        ),
        (
            "client_id = 'a b', client_secret = '12345678', issuer = 'https://i'".to_owned(),
            "client_id: expected a text without spaces".to_owned(),
        ),
    ];
    for (written, told) in cases {
        let text = format!(
            "upstream.url = 'https://a'\nupstream.auth = {{ type = 'client_credentials', {written} }}"
        );
        check(&text, &[&format!("2 upstream.auth.{told}")]);
    }
    check(
        "upstream.url = 'https://a'\nupstream.auth = { type = 'bearer', token = '12345678', issuer = 'https://i' }",
        &[&format!("2 upstream.auth.issuer: {only_client}")],
    );
}

#[test]
fn who_lets_the_server_choose_the_authorization_server_is_warned() {
    let config = |rest: &str| {
        valid_with_url(&format!(
            "auth = {{ type = 'client_credentials', client_id = 'a', client_secret = '12345678'{rest} }}"
        ))
    };
    check_warnings(
        &config(""),
        &["upstream.auth.type: the server itself says who is shown the client's secret"],
    );
    check_warnings(&config(", issuer = 'https://i'"), &[]);
    check_warnings(
        &config(", token_url = 'https://i', allow_private = true"),
        &["upstream.auth.allow_private: has no effect beside `token_url`: nothing is looked for"],
    );
}

#[track_caller]
fn valid_with_url(text: &str) -> Config {
    valid(&format!("[upstream]\nurl = 'https://a'\n{text}"))
}

#[test]
fn a_token_for_the_server_is_one_and_can_be_a_header() {
    let cases = [
        ("type = 'bearer'", "upstream.auth.token: required"),
        ("token = '12345678'", "upstream.auth.type: required"),
        (
            "type = 'bearer', token = '12345678', token_file = 'a'",
            "upstream.auth.token_file: does not apply beside `token`",
        ),
        (
            "type = 'bearer', token = 'abc'",
            "upstream.auth.token: below minimum",
        ),
        (
            "type = 'bearer', token = 'Bearer 12345678'",
            "upstream.auth.token: holds what no token holds",
        ),
        (
            "type = 'bearer', token = \"12345678\\n\"",
            "upstream.auth.token: holds what no token holds",
        ),
        (
            "type = 'bearer', token = 'tökentöken'",
            "upstream.auth.token: holds what no token holds",
        ),
        (
            "type = 'bearer', token = 12345678",
            "upstream.auth.token: expected a string, found an integer",
        ),
        (
            "type = 'bearer', token_file = ''",
            "upstream.auth.token_file: expected a path",
        ),
        (
            "type = 'basic', token = '12345678'",
            "upstream.auth.type: unknown value 'basic'",
        ),
    ];
    for (written, told) in cases {
        let text = format!("upstream.url = 'https://a'\nupstream.auth = {{ {written} }}");
        check(&text, &[&format!("2 {told}")]);
    }
    let long = "a".repeat(4097);
    check(
        &format!(
            "upstream.url = 'https://a'\nupstream.auth = {{ type = 'bearer', token = '{long}' }}"
        ),
        &["2 upstream.auth.token: exceeds maximum"],
    );
}

#[test]
fn what_is_for_http_alone_is_refused_over_stdio() {
    for listen in ["", "transport = 'stdio'"] {
        let text = format!(
            "upstream.command = ['a']\n[listen] # {listen}\n{listen}\nhost = '::1'\nport = 1\npath = '/a'\n\
             allowed_hosts = []\nallowed_origins = []\nallow_anonymous = true\n\
             auth = {{ type = 'bearer', tokens = {{ a = '0123456789abcdef' }} }}\n\
             tls = {{ cert_file = 'a', key_file = 'b' }}\n\
             [limits]\nmax_sessions = 1\nsession_idle_timeout = '1s'\nmax_connections = 1\n\
             max_sessions_per_agent = 1"
        );
        let keys = [
            "4 listen.host",
            "5 listen.port",
            "6 listen.path",
            "7 listen.allowed_hosts",
            "8 listen.allowed_origins",
            "9 listen.allow_anonymous",
            "10 listen.auth",
            "11 listen.tls",
            "13 limits.max_sessions",
            "14 limits.session_idle_timeout",
            "15 limits.max_connections",
            "16 limits.max_sessions_per_agent",
        ];
        let told = keys.map(|key| format!("{key}: only applies when transport is 'http'"));
        check(&text, &told.each_ref().map(String::as_str));
    }
    check(
        "upstream.command = ['a']\nlisten = { transport = 'tcp', port = 1 }\nlimits.max_sessions = 1",
        &["2 listen.transport: unknown value 'tcp'"],
    );
}

#[test]
fn a_listener_needs_an_address() {
    check_agents("", &["2 listen.port: required when transport is 'http'"]);
    check_agents("port = 70000", &["4 listen.port: exceeds maximum"]);
    check_agents("port = -1", &["4 listen.port: below minimum"]);
    check_agents(
        "port = '80'",
        &["4 listen.port: expected a whole number, found a string"],
    );
    for host in ["example.com", "", "127.1", "[::1]", "::1%lo", "LOCALHOST"] {
        check_agents(
            &format!("port = 1\nhost = '{host}'"),
            &["5 listen.host: expected an IP address, or `localhost`"],
        );
    }
    check_agents("port = 1\nhost = 'localhost'", &[]);
}

#[test]
fn a_path_is_plain_and_not_taken() {
    let odd = "4 listen.path: expected a path of letters, digits, `-`, `.`, `_` and `~`";
    for path in [
        "", "mcp", "//", "/a//b", "/./a", "/a/..", "/a?b", "/a#b", "/%61", "/é", "/a b",
    ] {
        check_agents(&format!("path = '{path}'\nport = 1"), &[odd]);
    }
    let taken = "4 listen.path: is taken: the gate answers there itself";
    for path in ["/health", "/health/", "/metrics", "/.well-known/a"] {
        check_agents(&format!("path = '{path}'\nport = 1"), &[taken]);
    }
    for path in [
        "/",
        "/mcp",
        "/mcp/",
        "/healthy",
        "/a/health",
        "/.a/...",
        "/~a_b-c.d",
    ] {
        check_agents(&format!("path = '{path}'\nport = 1"), &[]);
    }
}

#[test]
fn hosts_and_origins_are_names_and_not_patterns() {
    let host = "expected `host` or `host:port`";
    let cases = [
        ("*", "holds a wildcard"),
        ("*.example.com", "holds a wildcard"),
        ("", host),
        ("a:", host),
        ("a:0", host),
        ("a:080", host),
        ("a:65536", host),
        ("a/b", host),
        ("u@a", host),
        ("http://a", host),
        ("ä.example", host),
        ("0x7f.1", host),
        ("127.1", host),
        ("::1", host),
        ("[::1", host),
        ("[0:0::1]", host),
        ("a b", host),
    ];
    for (written, reason) in cases {
        let told = format!("5 listen.allowed_hosts[1]: {reason}");
        check_agents(
            &format!("port = 1\nallowed_hosts = ['a', '{written}']"),
            &[&told],
        );
    }
    let origin = "expected `scheme://host` or `scheme://host:port`";
    let cases = [
        (
            "null",
            "is what pages without an origin of their own say, any of them",
        ),
        ("*", "holds a wildcard"),
        ("https://*.a", "holds a wildcard"),
        ("", origin),
        ("a", origin),
        ("://a", origin),
        ("1a://a", origin),
        ("a b://a", origin),
        ("https://", origin),
        ("https://a/", origin),
        ("https://a?b", origin),
        ("https://u:p@a", origin),
        ("https://a:0", origin),
        ("https:a", origin),
    ];
    for (written, reason) in cases {
        let told = format!("5 listen.allowed_origins[0]: {reason}");
        check_agents(
            &format!("port = 1\nallowed_origins = ['{written}']"),
            &[&told],
        );
    }
    check_agents(
        "port = 1\nallowed_hosts = 'a'\nallowed_origins = [1]",
        &[
            "5 listen.allowed_hosts: expected an array of strings, found a string",
            "6 listen.allowed_origins[0]: expected a string, found an integer",
        ],
    );
}

#[test]
fn beyond_loopback_it_must_be_said_who_may_come_and_to_whom() {
    let hosts = "2 listen.allowed_hosts: required when the gate listens beyond loopback";
    let auth = "2 listen.auth: required when the gate listens beyond loopback";
    for host in ["0.0.0.0", "::", "10.0.0.1", "::ffff:127.0.0.1", "fe80::1"] {
        check_agents(&format!("port = 1\nhost = '{host}'"), &[hosts, auth]);
    }
    check_agents(
        "port = 1\nhost = '::'\nallowed_hosts = []\nallow_anonymous = false",
        &[
            auth,
            "6 listen.allowed_hosts: expected at least one host where the gate listens beyond loopback",
        ],
    );
    check_agents(
        "port = 1\nhost = '::'\nallowed_hosts = ['a']\nallow_anonymous = true",
        &[],
    );
    // What is wrong is not missing.
    check_agents(
        "port = 1\nhost = '::'\nallowed_hosts = ['*']\nauth = { type = 'basic' }",
        &[
            "6 listen.allowed_hosts[0]: holds a wildcard",
            "7 listen.auth.type: unknown value 'basic'",
        ],
    );
    for host in ["127.0.0.1", "127.8.8.8", "::1", "localhost"] {
        check_agents(&format!("port = 1\nhost = '{host}'"), &[]);
    }
}

#[test]
fn tokens_of_agents_are_long_different_and_named() {
    let check = |tokens: &str, expected: &[&str]| {
        check_agents(
            &format!("port = 1\n[listen.auth]\ntype = 'bearer'\n{tokens}"),
            expected,
        );
    };
    check(
        "",
        &["5 listen.auth.tokens: required when type is 'bearer'"],
    );
    check(
        "tokens = {}",
        &["7 listen.auth.tokens: expected at least one token"],
    );
    check(
        "tokens = '0123456789abcdef'",
        &["7 listen.auth.tokens: expected a table, found a string"],
    );
    check(
        "tokens = { 0123456789abcdef = 'alice', 'bob@example.com.' = 'short' }",
        &["7 listen.auth.tokens: expected names in front of tokens of at least 16 bytes"],
    );
    let name = "expected a name of 1 to 128 bytes in front of the token";
    check(
        &format!(
            "[listen.auth.tokens]\na = 'abc'\nb = '0123456789abcdef'\n\
             c = '0123456789abcdef'\nd = '0123456789abcde '\n'' = '0123456789abcdeF'\n\
             \"a\\u0007\" = '0123456789abcdeG'\n{} = '0123456789abcdeH'\ne = ['0123456789abcdef']",
            "f".repeat(129)
        ),
        &[
            "8 listen.auth.tokens.a: below minimum",
            "10 listen.auth.tokens.c: is the token of another agent too",
            "11 listen.auth.tokens.d: holds what no token holds",
            &format!("12 listen.auth.tokens.\"\": {name}"),
            &format!("13 listen.auth.tokens.\"a\\u{{7}}\": {name}"),
            &format!("14 listen.auth.tokens.{}: {name}", "f".repeat(129)),
            "15 listen.auth.tokens.e: expected a string, found an array",
        ],
    );
}

#[test]
fn a_short_token_is_taken_with_a_warning_that_hides_it() {
    let check = |text: &str, field: &str, advised: usize| {
        let config = super::valid(text);
        let warnings = &config.warnings;
        let short = warnings.iter().find(|warning| warning.field() == field);
        let short = short.unwrap_or_else(|| panic!("{text}\n{warnings:?}"));
        assert_eq!(
            short.to_string(),
            format!("{field}: is short: it can be guessed")
        );
        let advice = short.advice().unwrap();
        assert!(
            advice.starts_with(&format!("use at least {advised} bytes; ")),
            "{advice}"
        );
        assert!(advice.contains("`[redacted]`"), "{advice}");
        assert!(!super::render(short).contains("s3cr3t"));
    };
    let listen = "upstream.command = 'server'\n[listen]\ntransport = 'http'\nport = 1\n";
    check(
        &format!("{listen}auth = {{ type = 'bearer', tokens = {{ alice = 's3cr3t' }} }}"),
        "listen.auth.tokens.alice",
        16,
    );
    let server = "[upstream]\nurl = 'https://a'\n[upstream.auth]\n";
    check(
        &format!("{server}type = 'bearer'\ntoken = 's3cr3t'"),
        "upstream.auth.token",
        8,
    );
    check(
        &format!(
            "{server}type = 'client_credentials'\nissuer = 'https://b'\nclient_id = 'a'\n\
             client_secret = 's3cr3t'"
        ),
        "upstream.auth.client_secret",
        8,
    );
    let long =
        format!("{listen}auth = {{ type = 'bearer', tokens = {{ alice = '0123456789abcdef' }} }}");
    let warnings = super::valid(&long).warnings;
    assert!(!warnings.iter().any(|it| it.field().contains("tokens")));
}

#[test]
fn the_type_of_a_server_agrees_with_how_it_is_reached() {
    for text in [
        "type = 'stdio'\ncommand = ['server']",
        "type = 'stdio'\nurl = 'stdio'\ncommand = ['server']",
    ] {
        let upstream = super::valid(&format!("[upstream]\n{text}")).upstream;
        assert_eq!(upstream.command, ["server"], "{text}");
        assert!(upstream.http.is_none(), "{text}");
    }
    let upstream = super::valid("[upstream]\ntype = 'http'\nurl = 'https://a'").upstream;
    assert!(upstream.http.is_some());
    let isolated =
        "upstream.command = ['open']\n[upstream.isolated]\ntype = 'http'\nurl = 'https://a'";
    let isolated = super::valid(isolated).upstream.isolated.remove(0);
    assert!(isolated.server.http.is_some());
    let check = |text: &str, expected: &[&str]| check(&format!("[upstream]\n{text}"), expected);
    check(
        "type = 'http'",
        &["1 upstream.url: required when type is 'http'"],
    );
    check(
        "type = 'http'\ncommand = ['server']",
        &["1 upstream.url: required when type is 'http'"],
    );
    check(
        "type = 'http'\nurl = 'stdio'\ncommand = ['server']",
        &["3 upstream.url: expected a URL when type is 'http'"],
    );
    check(
        "type = 'stdio'\nurl = 'https://a'",
        &["3 upstream.url: only applies when type is 'http'"],
    );
    check(
        "type = 'sse'\nurl = 'https://a'",
        &["2 upstream.type: unknown value 'sse'"],
    );
}

#[test]
fn an_authorization_server_has_a_name_and_keys() {
    let check = |auth: &str, expected: &[&str]| {
        check_agents(
            &format!("port = 1\n[listen.auth]\ntype = 'jwt'\n{auth}"),
            expected,
        );
    };
    check(
        "",
        &[
            "5 listen.auth.issuer: required when type is 'jwt'",
            "5 listen.auth.audience: required when type is 'jwt'",
            "5 listen.auth.jwks_url: required when type is 'jwt'",
        ],
    );
    check(
        "issuer = ''\naudience = 'a b'\njwks_url = 'http://i'\njwks_file = 'a'\nsession_claim = ''\ngroups_claim = 1",
        &[
            "7 listen.auth.issuer: expected a text without spaces",
            "8 listen.auth.audience: expected a text without spaces",
            "9 listen.auth.jwks_url: is not `https`",
            "10 listen.auth.jwks_file: does not apply beside `jwks_url`",
            "11 listen.auth.session_claim: expected a text without spaces",
            "12 listen.auth.groups_claim: expected a string, found an integer",
        ],
    );
    check(
        "issuer = 'i'\naudience = 'a'\njwks_file = 'k'\nalgorithms = ['none', 'HS256', 'es256']\nscopes = ['', 'a b', '\"']\nresource = 'https://a#b'",
        &[
            "10 listen.auth.algorithms[0]: unknown value 'none'",
            "10 listen.auth.algorithms[1]: unknown value 'HS256'",
            "10 listen.auth.algorithms[2]: unknown value 'es256'",
            "11 listen.auth.scopes[0]: expected a scope without spaces and quotes",
            "11 listen.auth.scopes[1]: expected a scope without spaces and quotes",
            "11 listen.auth.scopes[2]: expected a scope without spaces and quotes",
            "12 listen.auth.resource: has a fragment",
        ],
    );
    check(
        "issuer = 'i'\naudience = 'a'\njwks_file = 'k'\nalgorithms = []",
        &["10 listen.auth.algorithms: expected at least one algorithm"],
    );
}

#[test]
fn what_belongs_to_the_other_kind_of_token_is_refused() {
    check_agents(
        "port = 1\n[listen.auth]\ntype = 'bearer'\ntokens = { a = '0123456789abcdef' }\nissuer = 'i'\nscopes = []",
        &[
            "8 listen.auth.issuer: only applies when type is 'jwt'",
            "9 listen.auth.scopes: only applies when type is 'jwt'",
        ],
    );
    check_agents(
        "port = 1\n[listen.auth]\ntype = 'jwt'\nissuer = 'i'\naudience = 'a'\njwks_file = 'k'\ntokens = { a = '0123456789abcdef' }",
        &["10 listen.auth.tokens: only applies when type is 'bearer'"],
    );
    check_agents(
        "port = 1\n[listen.auth]\ntokens = { a = '0123456789abcdef' }",
        &["5 listen.auth.type: required"],
    );
}

#[test]
fn health_and_metrics_have_a_port_of_their_own() {
    let check = |admin: &str, expected: &[&str]| {
        check_agents(&format!("port = 3000\n[admin]\n{admin}"), expected);
    };
    check("", &["5 admin.port: required"]);
    check(
        "host = 'a'\nport = 65536",
        &[
            "6 admin.host: expected an IP address, or `localhost`",
            "7 admin.port: exceeds maximum",
        ],
    );
    check(
        "port = 3000",
        &["6 admin.port: is the port of `listen` too"],
    );
    check(
        "port = 3000\nhost = '0.0.0.0'\nallow_anonymous = true",
        &["6 admin.port: is the port of `listen` too"],
    );
    check(
        "port = 1\nhost = '0.0.0.0'",
        &["5 admin.token: required when the gate listens beyond loopback"],
    );
    check(
        "port = 1\ntoken = '0123456789abcdef'\ntoken_file = 'a'",
        &["8 admin.token_file: does not apply beside `token`"],
    );
    check("port = 1\ntoken = '012'", &["7 admin.token: below minimum"]);
    check("port = 3000\nhost = '127.0.0.2'", &[]);
    check("port = 0", &[]);
    assert_eq!(valid_with("admin.port = 1").admin.host, LOCALHOST);
}

#[test]
fn operators_have_names_and_tokens_of_their_own() {
    let check = |admin: &str, expected: &[&str]| {
        let text = format!(
            "port = 3000\nauth = {{ type = 'bearer', tokens = {{ a = '0123456789abcdef' }} }}\n[admin]\nport = 1\n{admin}"
        );
        check_agents(&text, expected);
    };
    check("operators = { olga = '0123456789abcdeF' }", &[]);
    check(
        "operators = { olga = '0123456789abcdeF' }\ncommand_operators = ['olga']",
        &[],
    );
    check(
        "operators = { olga = '0123456789abcdeF' }\ncommand_operators = ['omar']",
        &["9 admin.command_operators[0]: is no name in `operators`"],
    );
    check(
        "operators = { olga = '0123456789' }",
        &["8 admin.operators.olga: below minimum"],
    );
    check(
        "operators = { olga = '0123456789abcdef' }",
        &["8 admin.operators: has a token that agents, the metrics or approvers have too"],
    );
    check(
        "token = '0123456789abcdeF'\noperators = { olga = '0123456789abcdeF' }",
        &["9 admin.operators: has a token that agents, the metrics or approvers have too"],
    );
    check(
        "operators = { olga = '0123456789abcdeF', omar = '0123456789abcdeF' }",
        &["8 admin.operators.omar: is the token of another operator too"],
    );
}

#[test]
fn headers_for_a_server_have_names_in_lower_case_and_secret_values() {
    let read = server(
        "upstream.url = 'https://a'\nupstream.headers = { X-Api-Key = '${TOKEN}', x-tenant = '7' }",
    );
    let headers = read.headers.iter();
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(
        headers,
        [("x-api-key", "a-token-of-20-bytes!"), ("x-tenant", "7")]
    );
    let secrets = read.header_secrets.iter().map(ExposeSecret::expose_secret);
    assert_eq!(secrets.collect::<Vec<_>>(), ["a-token-of-20-bytes!"]);
    assert!(!format!("{read:?}").contains("a-token-of"));
}

#[test]
fn headers_that_the_gate_writes_itself_cannot_be_configured() {
    let check = |more: &str, headers: &str, expected: &[&str]| {
        let text = format!("[upstream]\nurl = 'https://a'\n{more}\nheaders = {{ {headers} }}");
        check(&text, expected);
    };
    let connection = "belongs to the connection, which the gate makes itself";
    let gate = "is a header that the gate writes itself";
    for (name, why) in [
        ("Host", connection),
        ("connection", connection),
        ("expect", connection),
        ("keep-alive", connection),
        ("proxy-authorization", connection),
        ("te", connection),
        ("trailer", connection),
        ("transfer-encoding", connection),
        ("upgrade", connection),
        ("accept", gate),
        ("Accept-Encoding", gate),
        ("content-length", gate),
        ("Content-Type", gate),
        ("last-event-id", gate),
        ("Mcp-Session-Id", gate),
        ("mcp-protector-identity", gate),
        ("traceparent", gate),
        ("tracestate", gate),
    ] {
        let expected = format!("4 upstream.headers.{name}: {why}");
        check("", &format!("{name} = 'b'"), &[&expected]);
    }
    let written = "has `authorization`, which the gate writes because of `auth` or `identity`";
    let authorization = "Authorization = 'Basic YTpi'";
    check("", authorization, &[]);
    check(
        "auth = { type = 'bearer', token = '0123456789' }",
        authorization,
        &[&format!("4 upstream.headers.Authorization: {written}")],
    );
    check(
        "",
        "'a b' = 'c'",
        &["4 upstream.headers: expected names of headers in front of their values"],
    );
    check(
        "",
        "A = 'b', a = 'c', d = '', e = 1",
        &[
            "4 upstream.headers.a: is the same header in another spelling",
            "4 upstream.headers.d: holds what no header holds",
            "4 upstream.headers.e: expected a string, found an integer",
        ],
    );
    super::check(
        "[upstream]\ncommand = ['a']\nheaders = { a = 'b' }",
        &["3 upstream.headers: only applies when url is an HTTP URL"],
    );
}

const TLS: &str = "tls = { cert_file = 'a', key_file = 'b' }";

#[test]
fn tls_for_agents_has_a_certificate_with_its_key_and_perhaps_authorities() {
    let files = |text: &str| agents(&format!("listen.tls = {{ {text} }}")).tls.unwrap();
    let told = files("cert_file = 'a', key_file = '/b'");
    assert_eq!(told.certificate, Path::new("/etc/gate/a"));
    assert_eq!(
        (told.key.as_path(), told.client_ca),
        (Path::new("/b"), None)
    );
    let told = files("cert_file = 'a', key_file = 'b', client_ca_file = 'c'");
    assert_eq!(told.client_ca.as_deref(), Some(Path::new("/etc/gate/c")));
    assert_eq!(agents("").tls, None);
    let check = |text: &str, expected: &[&str]| {
        check_agents(&format!("port = 1\n[listen.tls]\n{text}"), expected);
    };
    let (certificate, key) = (
        "listen.tls.cert_file: required",
        "listen.tls.key_file: required",
    );
    check("", &[&format!("5 {certificate}"), &format!("5 {key}")]);
    check("cert_file = 'a'", &[&format!("5 {key}")]);
    check("key_file = 'a'", &[&format!("5 {certificate}")]);
    check(
        "cert_file = 'a'\nkey_file = ''\nclient_ca_file = 1",
        &[
            "7 listen.tls.key_file: expected a path",
            "8 listen.tls.client_ca_file: expected a string, found an integer",
        ],
    );
    check(
        "cert_file = 'a'\nkey_file = 'b'\nca_file = 'c'",
        &["8 listen.tls.ca_file: unknown key"],
    );
}

#[test]
fn what_is_valid_over_http_but_odd_is_a_warning() {
    let token = "auth = { type = 'bearer', token = '0123456789abcdef' }";
    let tokens = "auth = { type = 'bearer', tokens = { a = '0123456789abcdef' } }";
    let server = |rest: &str| format!("[upstream]\nurl = {rest}");
    let listen = |rest: &str| {
        format!("upstream.command = ['a']\n[listen]\ntransport = 'http'\nport = 1\n{rest}")
    };
    let cases = [
        (server("'https://a'"), None),
        (
            server("'https://a'\nallow_http = true"),
            Some("upstream.allow_http: has no effect beside an `https` URL"),
        ),
        (
            server("'http://localhost'\nca_file = 'a'"),
            Some("upstream.ca_file: has no effect without TLS"),
        ),
        (server(&format!("'http://localhost'\n{token}")), None),
        (
            server(&format!("'http://a'\nallow_http = true\n{token}")),
            Some(
                "upstream.url: there is no TLS: others on the network can use the token or assertion",
            ),
        ),
        (
            server("'http://a'\nallow_http = true\nheaders = { x-a = '0123456789' }"),
            Some("upstream.url: there is no TLS, and the headers cross the network"),
        ),
        (
            server("'https://a'\nheaders = { x-a = '${TIMEOUT}' }"),
            Some("upstream.headers.x-a: is short: it can be guessed"),
        ),
        (server("'https://a'\nheaders = { x-a = 'short' }"), None),
        (listen(tokens), None),
        (
            listen(&format!("host = '::'\nallowed_hosts = ['a']\n{tokens}")),
            Some("listen.host: the gate has no TLS, and tokens cross the network"),
        ),
        (
            listen(&format!(
                "host = '::'\nallowed_hosts = ['a']\n{tokens}\n{TLS}"
            )),
            None,
        ),
        (
            listen(&format!(
                "auth = {{ type = 'jwt', issuer = 'https://i', audience = 'http://g/mcp', jwks_file = 'k' }}\n{TLS}"
            )),
            Some("listen.auth: `auth.resource` is an `http` URL, by which agents get no further"),
        ),
        (
            listen(&format!("allow_anonymous = true\n{tokens}")),
            Some(
                "listen.allow_anonymous: has no effect beside `auth`: every agent must show a token",
            ),
        ),
        (
            listen("allow_anonymous = true"),
            Some(
                "listen.allow_anonymous: has no effect on loopback, where agents need no token anyway",
            ),
        ),
        (
            listen("allowed_hosts = ['a', 'A']"),
            Some("listen.allowed_hosts[1]: listed twice"),
        ),
        (
            listen("[admin]\nport = 2\nhost = '0.0.0.0'\ntoken = '0123456789abcdef'"),
            Some("admin.host: the gate has no TLS, and the token crosses the network"),
        ),
        (
            listen("[admin]\nport = 2\nhost = '0.0.0.0'\nallow_anonymous = true"),
            None,
        ),
        (
            listen("[admin]\nport = 2\nallow_anonymous = true"),
            Some(
                "admin.allow_anonymous: has no effect on loopback, where no token is needed anyway",
            ),
        ),
        (
            listen("[admin]\nport = 2\nallow_anonymous = true\ntoken = '0123456789abcdef'"),
            Some("admin.allow_anonymous: has no effect beside a token, which must be shown"),
        ),
        (
            format!(
                "[upstream]\nurl = 'https://a'\n{token}\n[listen]\ntransport = 'http'\nport = 1\n{tokens}"
            ),
            Some("upstream.auth.token: is the token of an agent too, who could go round the gate"),
        ),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> = expected.into_iter().collect();
        check_warnings(&valid(&text), &expected);
    }
}

#[test]
fn one_file_tells_everything_that_is_wrong_with_it() {
    let errors = parse(
        "upstream = { url = 'http://a', command = ['b'] }\nlisten = { transport = 'http', host = '::', path = 'a' }\nadmin = {}",
    )
    .expect_err("invalid");
    let told: Vec<_> = errors.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "upstream.url: is not `https`",
            "upstream.command: only applies when url is 'stdio'",
            "listen.port: required when transport is 'http'",
            "listen.allowed_hosts: required when the gate listens beyond loopback",
            "listen.auth: required when the gate listens beyond loopback",
            "listen.path: expected a path of letters, digits, `-`, `.`, `_` and `~`",
            "admin.port: required",
        ]
    );
}
