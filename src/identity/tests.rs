//! Who is known by what, and what is answered to the others.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn known(name: &str, token: &str) -> StaticToken {
    StaticToken {
        token: token.to_owned().into(),
        identity: Identity::named(name),
    }
}

async fn identify(who: &dyn Authenticate, value: Option<&str>) -> Result<Identity, Challenge> {
    let mut headers = HeaderMap::new();
    if let Some(value) = value {
        headers.insert(
            AUTHORIZATION,
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    let shown = who.identify(&headers, [127, 0, 0, 1].into()).await;
    shown.map(|proof| proof.identity)
}

#[tokio::test]
async fn a_token_is_known_only_when_it_is_exact() {
    let other = TOKEN.replace('0', "x");
    let tokens = StaticTokens::new(vec![known("a", TOKEN), known("b", &other)]).unwrap();
    for (value, expected) in [
        (format!("Bearer {TOKEN}"), Ok("a")),
        (format!("bearer   {TOKEN}"), Ok("a")),
        (format!("BEARER {other}"), Ok("b")),
        (format!("Bearer {TOKEN}x"), Err("token_invalid")),
        (
            format!("Bearer {}", TOKEN.split_at(1).1),
            Err("token_invalid"),
        ),
        (
            format!("Bearer {}", TOKEN.to_uppercase()),
            Err("token_invalid"),
        ),
        (format!("Bearer {TOKEN},{other}"), Err("token_invalid")),
        (format!("Bearer {TOKEN} {other}"), Err("token_malformed")),
        (format!("Bearer \u{e9}{TOKEN}"), Err("token_malformed")),
        (
            format!("Bearer {}", "a".repeat(20_000)),
            Err("token_malformed"),
        ),
        ("Bearer".to_owned(), Err("token_malformed")),
        (format!("Basic {TOKEN}"), Err("token_missing")),
        (format!("Bearer{TOKEN}"), Err("token_missing")),
        (TOKEN.to_owned(), Err("token_missing")),
    ] {
        let identified = identify(&tokens, Some(&value)).await;
        let got = identified
            .as_ref()
            .map(|it| &*it.subject)
            .map_err(Challenge::code);
        assert_eq!(got, expected, "{value}");
    }
    assert_eq!(identify(&tokens, None).await, Err(Challenge::Missing));
    assert!(!format!("{tokens:?}").contains("0123"));
}

#[test]
fn tokens_that_could_be_guessed_or_mistaken_are_refused() {
    let check = |tokens: Vec<StaticToken>, expected: &str| {
        let error = StaticTokens::new(tokens).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("0123"), "{error}");
    };
    check(vec![], "no agent could authenticate");
    check(vec![known("a", "012")], "fewer than");
    check(
        vec![known("a", "0123 56789abcdef0123456789abcdef")],
        "characters",
    );
    check(vec![known("a", TOKEN), known("b", TOKEN)], "same token");
}

#[tokio::test]
async fn anonymous_agents_come_from_this_machine_unless_others_are_let_in() {
    let headers = HeaderMap::new();
    for (address, loopback) in [
        ("127.0.0.1", true),
        ("127.9.9.9", true),
        ("::1", true),
        ("::ffff:127.0.0.1", true),
        ("10.0.0.1", false),
        ("::ffff:10.0.0.1", false),
    ] {
        let peer = address.parse().unwrap();
        let near = Anonymous(AnonymousReach::ThisMachine)
            .identify(&headers, peer)
            .await;
        assert_eq!(near.is_ok(), loopback, "{address}");
        Anonymous(AnonymousReach::Anywhere)
            .identify(&headers, peer)
            .await
            .unwrap();
    }
}

#[test]
fn a_challenge_says_where_a_token_can_be_had_and_what_it_needs() {
    let servers = ["https://issuer.example".to_owned()];
    let scopes = ["mcp:use".to_owned(), "mcp:more".to_owned()];
    let resource = ProtectedResource::new("https://gate.example/mcp", &servers, &scopes).unwrap();
    let metadata =
        r#"resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp""#;
    let scope = r#"scope="mcp:use mcp:more""#;
    let check = |challenge: Challenge, expected: Option<String>, bare: Option<&str>| {
        assert_eq!(challenge.header(Some(&resource)), expected);
        assert_eq!(challenge.header(None).as_deref(), bare);
    };
    check(
        Challenge::Missing,
        Some(format!("Bearer {scope}, {metadata}")),
        Some("Bearer"),
    );
    check(
        Challenge::Invalid("it has expired"),
        Some(format!(r#"Bearer error="invalid_token", {metadata}"#)),
        Some(r#"Bearer error="invalid_token""#),
    );
    check(
        Challenge::Malformed("it is no bearer token"),
        Some(format!(r#"Bearer error="invalid_request", {metadata}"#)),
        Some(r#"Bearer error="invalid_request""#),
    );
    check(
        Challenge::Insufficient(scopes.to_vec()),
        Some(format!(
            r#"Bearer error="insufficient_scope", {scope}, {metadata}"#
        )),
        Some(r#"Bearer error="insufficient_scope", scope="mcp:use mcp:more""#),
    );
    check(Challenge::Unavailable("x"), None, None);
}

#[test]
fn the_metadata_of_a_resource_stands_before_its_path_and_at_the_root() {
    let servers = ["https://issuer.example".to_owned()];
    let base = "/.well-known/oauth-protected-resource";
    for (resource, path) in [
        ("https://gate.example/mcp", "/mcp"),
        ("https://gate.example", ""),
        ("https://gate.example/", ""),
        ("https://gate.example:8443/a/b", "/a/b"),
    ] {
        let made = ProtectedResource::new(resource, &servers, &[]).unwrap();
        assert!(made.metadata_url().ends_with(&format!("{base}{path}")));
        assert!(made.serves(base) && made.serves(&format!("{base}{path}")));
        for other in ["/", "/mcp/", "/.well-known/", &format!("{base}/other")] {
            assert!(!made.serves(other), "{resource} {other}");
        }
        let document: serde_json::Value = made.document().parse().unwrap();
        assert_eq!(document["resource"], resource);
        assert_eq!(document["authorization_servers"][0], servers[0]);
    }
    let error = |resource: &str, servers: &[String], scopes: &[String]| {
        ProtectedResource::new(resource, servers, scopes).unwrap_err()
    };
    for bad in [
        "gate.example",
        "ftp://gate.example/",
        "https://u:p@gate.example",
        "https://g/#f",
    ] {
        assert_eq!(
            error(bad, &servers, &[]),
            ResourceError::Url(bad.to_owned())
        );
    }
    assert_eq!(error("https://g/", &[], &[]), ResourceError::NoServer);
    let scope = "a\"b".to_owned();
    assert_eq!(
        error("https://g/", &servers, std::slice::from_ref(&scope)),
        ResourceError::Scope(scope)
    );
}
