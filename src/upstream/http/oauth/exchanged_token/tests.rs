use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proptest::prelude::*;

use super::*;

const NOW: i64 = 1_000_000;
const SENT: &str = "the-token-of-the-agent";
const TARGETS: [&str; 2] = ["tickets", "https://mcp.example/mcp"];

/// The answer was unfit for this reason.
const NO_TYPE: &str = "has no `issued_token_type` of an access token";
const WIDER: &str = "grants a scope that the gate did not ask for";
const NOT_ALONE: &str = "holds a token whose `aud` is not the server alone";
const NO_AUDIENCE: &str = "holds a token without an `aud`";
const NO_END: &str = "holds a token without an `exp`";
const EXPIRED: &str = "holds a token that has expired";
const BAD_ACTORS: &str = "holds a token whose `act` is malformed or too long";
const OTHER_ACTOR: &str = "holds a token whose `act` is not the gate's actor";

type Given = Result<Option<u64>, &'static str>;

fn given(body: &str, actor: Option<&str>) -> Given {
    let scopes = ["mcp:tools", "mcp:read"].map(str::to_owned);
    let sent = SecretString::from(SENT);
    let asked = RequestedToken {
        scopes: &scopes,
        targets: &TARGETS,
        actor,
        sent: &[&sent],
        now: NOW,
    };
    let document = read::object(body.as_bytes()).ok_or("is no JSON")?;
    let (_, lifetime) = super::read(document.root(), &asked)?;
    Ok(lifetime.map(|it| it.as_secs()))
}

fn jwt(claims: &str) -> String {
    let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.c2ln", encoded(r#"{"alg":"ES256"}"#), encoded(claims))
}

/// An answer with this token, and more members.
fn body(token: &str, more: &str) -> String {
    format!(
        r#"{{"access_token":"{token}","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"{more}}}"#
    )
}

#[test]
fn an_answer_has_the_token_that_was_asked_for_and_no_wider_scope() {
    let urn = "urn:ietf:params:oauth:token-type";
    let typed = |issued: &str, kind: &str| {
        format!(
            r#"{{"access_token":"opaque-token-0123","issued_token_type":{issued},"token_type":{kind}}}"#
        )
    };
    let opaque = |more: &str| body("opaque-token-0123", more);
    let cases: Vec<(String, Given)> = vec![
        (opaque(""), Ok(None)),
        (opaque(r#","expires_in":60"#), Ok(Some(60))),
        (
            opaque(r#","expires_in":0"#),
            Err("has an `expires_in` that is no time to come"),
        ),
        (
            opaque(r#","expires_in":-5"#),
            Err("has an `expires_in` that is no time to come"),
        ),
        (opaque(r#","scope":"mcp:tools mcp:read""#), Ok(None)),
        (opaque(r#","scope":"mcp:read""#), Ok(None)),
        (opaque(r#","scope":"""#), Ok(None)),
        (opaque(r#","scope":"mcp:read admin""#), Err(WIDER)),
        (opaque(r#","scope":"MCP:READ""#), Err(WIDER)),
        (opaque(r#","scope":["mcp:read","admin"]"#), Err(WIDER)),
        (opaque(r#","scope":null"#), Err(WIDER)),
        (opaque(r#","scope":7"#), Err(WIDER)),
        (
            typed(&format!("\"{urn}:access_token\""), "\"bearer\""),
            Ok(None),
        ),
        // It says that it is a JWT, and is none.
        (
            typed(&format!("\"{urn}:jwt\""), "\"bearer\""),
            Err(UNREADABLE),
        ),
        (
            typed(&format!("\"{urn}:refresh_token\""), "\"bearer\""),
            Err(NO_TYPE),
        ),
        (
            typed(&format!("\"{urn}:id_token\""), "\"bearer\""),
            Err(NO_TYPE),
        ),
        (typed("null", "\"bearer\""), Err(NO_TYPE)),
        (typed("[]", "\"bearer\""), Err(NO_TYPE)),
        (
            typed(&format!("\"{urn}:access_token\""), "\"N_A\""),
            Err("is no bearer token"),
        ),
        (
            typed(&format!("\"{urn}:access_token\""), "\"DPoP\""),
            Err("is no bearer token"),
        ),
        (
            r#"{"access_token":"opaque-token-0123","token_type":"Bearer"}"#.to_owned(),
            Err(NO_TYPE),
        ),
        (
            body(SENT, ""),
            Err("holds the very token that was to be exchanged"),
        ),
        (
            r#"{"token_type":"Bearer"}"#.to_owned(),
            Err("holds no `access_token`"),
        ),
        ("[]".to_owned(), Err("is no JSON")),
    ];
    for (body, expected) in cases {
        assert_eq!(given(&body, None), expected, "{body}");
    }
}

#[test]
fn a_token_that_can_be_read_is_for_the_server_alone_and_for_as_long_as_it_says() {
    let cases: Vec<(&str, Given)> = vec![
        (r#"{"aud":"tickets","exp":1000060}"#, Ok(Some(60))),
        (r#"{"aud":"tickets","exp":1000060.5}"#, Ok(Some(60))),
        (r#"{"aud":["tickets"],"exp":1000060}"#, Ok(Some(60))),
        (
            r#"{"aud":["tickets","https://mcp.example/mcp"],"exp":1000060}"#,
            Ok(Some(60)),
        ),
        (
            r#"{"aud":["tickets","mail"],"exp":1000060}"#,
            Err(NOT_ALONE),
        ),
        (r#"{"aud":"mail","exp":1000060}"#, Err(NOT_ALONE)),
        (r#"{"aud":"TICKETS","exp":1000060}"#, Err(NOT_ALONE)),
        (r#"{"aud":[],"exp":1000060}"#, Err(NOT_ALONE)),
        (r#"{"aud":{"tickets":1},"exp":1000060}"#, Err(NOT_ALONE)),
        (r#"{"aud":null,"exp":1000060}"#, Err(NOT_ALONE)),
        (r#"{"exp":1000060}"#, Err(NO_AUDIENCE)),
        (r#"{"aud":"tickets"}"#, Err(NO_END)),
        (r#"{"aud":"tickets","exp":"1000060"}"#, Err(NO_END)),
        (r#"{"aud":"tickets","exp":1000000}"#, Err(EXPIRED)),
        (r#"{"aud":"tickets","exp":-1000060}"#, Err(EXPIRED)),
        (
            r#"{"aud":"tickets","exp":1000060,"scope":"mcp:read"}"#,
            Ok(Some(60)),
        ),
        (
            r#"{"aud":"tickets","exp":1000060,"scope":"mcp:read admin"}"#,
            Err(WIDER),
        ),
        (
            r#"{"aud":"tickets","exp":1000060,"scp":["admin"]}"#,
            Err(WIDER),
        ),
        (
            r#"{"aud":"tickets","exp":1000060,"scp":{"admin":1}}"#,
            Err(WIDER),
        ),
        (
            r#"{"aud":"tickets","exp":1000060,"act":{"sub":"gate"}}"#,
            Ok(Some(60)),
        ),
        (
            r#"{"aud":"tickets","exp":1000060,"act":{}}"#,
            Err(BAD_ACTORS),
        ),
        (
            r#"{"aud":"tickets","exp":1000060,"act":"gate"}"#,
            Err(BAD_ACTORS),
        ),
        (
            r#"{"aud":"tickets","exp":1000060,"act":{"sub":"1","act":{"sub":"2","act":{"sub":"3","act":{"sub":"4","act":{"sub":"5"}}}}}}"#,
            Err(BAD_ACTORS),
        ),
        (r#"["aud"]"#, Err(UNREADABLE)),
        (
            r#"{"aud":"tickets","aud":"tickets","exp":1000060}"#,
            Err(UNREADABLE),
        ),
        ("", Err(UNREADABLE)),
    ];
    for (claims, expected) in cases {
        assert_eq!(given(&body(&jwt(claims), ""), None), expected, "{claims}");
    }
    // The shorter of both lifetimes counts.
    let token = jwt(r#"{"aud":"tickets","exp":1000060}"#);
    for (expires_in, expected) in [(10, 10), (60, 60), (600, 60)] {
        let body = body(&token, &format!(r#","expires_in":{expires_in}"#));
        assert_eq!(given(&body, None), Ok(Some(expected)));
    }
    // Its claims are no base64. A header that is none hides nothing.
    let broken = token.replacen('.', ".!", 1);
    assert_eq!(given(&body(&broken, ""), None), Err(UNREADABLE));
    let claims = r#"{"aud":"mail","exp":1000060}"#;
    for (token, expected) in [(token, Ok(Some(60))), (jwt(claims), Err(NOT_ALONE))] {
        let odd = token.replacen('.', "=.", 1);
        assert_eq!(given(&body(&odd, ""), None), expected, "{odd}");
    }
    // A token of three parts need not be one that can be read.
    assert_eq!(
        given(&body("opaque.token.of-three-parts", ""), None),
        Ok(None)
    );
}

#[test]
fn the_claims_of_a_token_count_however_its_header_is_encoded() {
    let token = jwt(r#"{"aud":"mail","exp":1000060}"#);
    let (_, rest) = token.split_once('.').unwrap();
    for header in [
        "eyAiYWxnIjogIkVTMjU2IiB9",
        "eyAiYWxnIjogIkVTMjU2In0=",
        "ewogICJhbGciOiAiRVMyNTYifQ==",
        "ICAgeyJhbGciOiJFUzI1NiJ9",
        "CnsiYWxnIjoiRVMyNTYifQ==",
        "CnsiYWxnIjoiRVMyNTYifR",
        "eyAia2lkIjoiPz8/In0",
        "eyAia2lkIjoiPz8_In0",
    ] {
        let other = format!("{header}.{rest}");
        assert_eq!(given(&body(&other, ""), None), Err(NOT_ALONE), "{other}");
    }
    // An encrypted one shows no claims.
    let encrypted = format!("{token}.c2ln.c2ln");
    assert_eq!(given(&body(&encrypted, ""), None), Ok(None));
}

#[test]
fn the_actor_that_was_sent_is_the_one_that_acts() {
    let cases: Vec<(&str, Given)> = vec![
        (r#","act":{"sub":"gate"}"#, Ok(Some(60))),
        (
            r#","act":{"sub":"gate","act":{"sub":"earlier"}}"#,
            Ok(Some(60)),
        ),
        (
            r#","act":{"sub":"earlier","act":{"sub":"gate"}}"#,
            Err(OTHER_ACTOR),
        ),
        (r#","act":{"sub":"other"}"#, Err(OTHER_ACTOR)),
        ("", Err(OTHER_ACTOR)),
    ];
    for (act, expected) in cases {
        let token = jwt(&format!(r#"{{"aud":"tickets","exp":1000060{act}}}"#));
        assert_eq!(given(&body(&token, ""), Some("gate")), expected, "{act}");
    }
    // Of a token that cannot be read there is nothing to compare.
    assert_eq!(
        given(&body("opaque-token-0123", ""), Some("gate")),
        Ok(None)
    );
    let subject = |token: &str| subject_of(&SecretString::from(token));
    assert_eq!(subject(&jwt(r#"{"sub":"gate"}"#)).as_deref(), Some("gate"));
    assert_eq!(subject(&jwt(r#"{"sub":7}"#)), None);
    assert_eq!(subject("opaque-token-0123"), None);
}

proptest! {
    /// Whatever scopes and audiences a token has, one is accepted only if they are among those that were asked for.
    #[test]
    fn no_token_opens_more_than_was_asked_for(
        scopes in prop::collection::vec("mcp:tools|mcp:read|admin|mcp|", 0..4),
        audiences in prop::collection::vec("tickets|https://mcp\\.example/mcp|mail|ticket", 0..4),
        left in -100_i64..1000,
    ) {
        let names = audiences.iter().map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(",");
        let claims = format!(
            r#"{{"aud":[{names}],"exp":{},"scope":"{}"}}"#,
            NOW + left,
            scopes.join(" "),
        );
        let is_scope = |it: &String| it.is_empty() || ["mcp:tools", "mcp:read"].contains(&&**it);
        let is_target = |it: &String| TARGETS.contains(&&**it);
        let fits = scopes.iter().all(is_scope)
            && !audiences.is_empty()
            && audiences.iter().all(is_target)
            && left > 0;
        prop_assert_eq!(given(&body(&jwt(&claims), ""), None).is_ok(), fits, "{}", claims);
    }
}
