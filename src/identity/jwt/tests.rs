//! Tokens good and bad, signed here.

mod by_url;

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use hyper::HeaderMap;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

use super::*;
use crate::identity::{ClaimPath, Identity, NamedClaim};
use crate::policy::{ClaimType, ClaimValue, Claims};

/// Made for this file, and good for nothing else.
const RSA: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCmgRSO1gnd5WUgPnmCb1+889B11uHAvlNaPXZM\
    9a2Ab3+VnEgELBLf/WF5Q0hVPjOjSTMNSuEkj91h7APMf5lHSh7Jq3o93gfOpQqzTyG2LkBoHSinu+cz6eh/xva5\
    KQuI1mqjXjyhmEiyvPCXn/L/1ejsbnpMDnL7UEbmZhUM6sZ43Yw0SMScZnaTPN6+fhF6DV18vtLhdo/OZxi7Iozy\
    6icQVxV1fUSynrmX2bcekMq+FU4Siwnoczca7beCi1nMpDLpH8aSnvQtHTEVUAUDFzk0+1PIj5hRgSVASk/h078g\
    w/Lu2E2fhf5opXKF0WURto4c51nbbxhGhXc65vOtAgMBAAECggEAEfUrfrFCfKpkQvtB9ymkaXhhVAhCLlvImRu2\
    YdwAY7EC0WO616paOcq149J4H2t3PcXkCeu4xwz2GzzNdxWO9kOd+PGz3C7RaD3gHtEqyV+JJkF41EhdifmREBDp\
    JLSy0AYSF78O6n3GX3KlvzCq0GFlfvR2X7QSPh0dHHXHkO4nw10TjqaTXz8s8gVdP+8Gujoup9hsKQgeeTTOwz8e\
    HZBqYwkaXIlBUpwM7Klb+Q8INJXvZh6k6PFla9tVk4BiA+/DUO7PpdmELG8WTabnxhF5VC109PsEDPC54aJpCqu+\
    AdpNT+5luFcnKniXMCK0S7Y//H4tMEgOy1tqpYvEAQKBgQDPRGSYd8UczhSIX+Iygkcg/R/MyJ8FVrAXeIjTuUoK\
    i9NPlNEJGPUcyrzBOT5112qWadsa4Wlu26P3rPCjznNeu3Ps2/Vq8eBW5o46xDbYsKX0J0pmdox82IuNwjLf28qO\
    uHyTGcK4m3REcrLdFdd8yXh4VMfglJEwrKhcJPQMAQKBgQDNpyCXY70IlB/jT1Sml6yGfGf1zlWa39U4QzSkbB+l\
    qebdAfBs14sIAuybq5Gykl2Lo1UC2PlwQUUNflmZWt8Sdi6pbWbk1coV7fx3+owRv3EHbCygMh0lq2bDJlL0u8mC\
    yEzo5rAXyqQDC3YF807CoJPJ3AA6l/ENaC7Cg+bXrQKBgQCQ95cchPja8tCtqdK93Rz+18w8IT4IL9+uKuIYpApD\
    YhUEHmQuZsRZxPtMcktbhLXKSnOzU2G45erDOrR8/dL3uUiVrCr1CAQPA+cK914dJUCNikWhcN1GHPdOyTtoE4ST\
    WjnXcTceg6xIi6jKtZIod4nJMBM04vTCBKElAbuoAQKBgBv8zbOssDI1rm1KA5Q0ehdHYQKT1RSht6vTgZuK13e9\
    Op0DQYwefV5Wv4qj+80YnEB/tvcPPksnptUiR+FV+5vQl6MZL3KfIcSAQea2I0/bBO/kqeIXT94riG2wjoOd9tuk\
    lMrxci+atV1wttwyc5qLLfG/zgwrV3PipNJ2Dvl1AoGABCcuvVF3NMP/vTf9KPoX7MD9fAzZTS0h/KgSP5purUbO\
    hFDvihw6+ZVU8y+6IKOshfqz1R0gjm/xeUSl9fvf+GjwdPraphAu5djRu2l3tiQb0D/lIkThAVkgFsgCHyaENYkB\
    0wZ7p5+J34UjVswivQX+i6oFOAjP7hmchYVfaBQ=";

const NOW: i64 = 1_790_000_000;
const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "https://gate.example/mcp";

/// A clock that a test moves.
#[derive(Debug, Default)]
struct MovedMonotonicClock(Mutex<Duration>);

impl MovedMonotonicClock {
    fn by(&self, seconds: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += Duration::from_secs(seconds);
    }
}

impl Clock for MovedMonotonicClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    fn elapsed(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the issuer publishes, and how often it was asked.
#[derive(Debug)]
struct PublishedKeys {
    text: Mutex<Result<String, KeyFault>>,
    asked: AtomicUsize,
}

impl PublishedKeys {
    fn keys(keys: &[Value]) -> Arc<Self> {
        Arc::new(Self {
            text: Mutex::new(Ok(json!({ "keys": keys }).to_string())),
            asked: AtomicUsize::new(0),
        })
    }

    fn publish(&self, text: Result<String, KeyFault>) {
        *self.text.lock().unwrap() = text;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl KeySource for PublishedKeys {
    fn fetch(&self) -> KeyFetch<'_> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let text = self.text.lock().unwrap().clone();
        Box::pin(async move { text.map(String::into_bytes) })
    }
}

enum Signer {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    fn rsa() -> Self {
        let key = BASE64_STANDARD.decode(RSA).unwrap();
        Self::Rsa(RsaKeyPair::from_pkcs8(&key).unwrap())
    }

    fn p256() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    fn ed25519() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn public(&self, id: &str) -> Value {
        let mut key = match self {
            Self::Rsa(key) => {
                let public: ring::rsa::PublicKeyComponents<Vec<u8>> = key.public().into();
                json!({ "kty": "RSA", "n": base64(public.n), "e": base64(public.e) })
            }
            Self::P256(key) => {
                let point = key.public_key().as_ref();
                json!({
                    "kty": "EC", "crv": "P-256",
                    "x": base64(&point[1..33]), "y": base64(&point[33..]),
                })
            }
            Self::Ed25519(key) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": base64(key.public_key()) })
            }
        };
        key["kid"] = id.into();
        key
    }

    fn sign(&self, header: &Value, claims: &str) -> String {
        let signed = format!("{}.{}", base64(header.to_string()), base64(claims));
        let random = SystemRandom::new();
        let signature = match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(
                    &RSA_PKCS1_SHA256,
                    &random,
                    signed.as_bytes(),
                    &mut signature,
                )
                .unwrap();
                signature
            }
            Self::P256(key) => key
                .sign(&random, signed.as_bytes())
                .unwrap()
                .as_ref()
                .to_vec(),
            Self::Ed25519(key) => key.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", base64(signature))
    }

    fn token(&self, claims: &Value) -> String {
        let header = json!({ "alg": self.name(), "kid": "k" });
        self.sign(&header, &claims.to_string())
    }
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 300, "nbf": NOW - 10, "sub": "agent-7",
        "session_id": "s-1", "groups": ["ops", "dev"], "preferred_username": "ada",
        "scope": "mcp:use other",
    })
}

fn settings() -> JwtSettings {
    JwtSettings {
        servers: Vec::new(),
        kept: KeptTokens::ForServers,
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        algorithms: Algorithm::ALL.to_vec(),
        skew: Duration::from_mins(1),
        session_claim: "session_id".to_owned(),
        groups_claim: "groups".to_owned(),
        capabilities_claim: None,
        claims: Vec::new(),
        scopes: vec!["mcp:use".to_owned()],
    }
}

fn jwt(settings: JwtSettings, source: &Arc<PublishedKeys>) -> Jwt {
    let source: Arc<dyn KeySource> = Arc::clone(source) as _;
    Jwt::new(
        settings,
        source,
        Arc::new(MovedMonotonicClock::default()),
        None,
    )
    .unwrap()
}

async fn identify(jwt: &Jwt, token: &str) -> Result<Identity, Challenge> {
    let mut headers = HeaderMap::new();
    let value = format!("Bearer {token}").parse().unwrap();
    headers.insert("Authorization", value);
    let shown = jwt.identify(&headers, [127, 0, 0, 1].into()).await;
    shown.map(|proof| proof.identity)
}

#[tokio::test]
async fn a_token_of_each_kind_says_who_sends_it() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let jwt = jwt(settings(), &PublishedKeys::keys(&[signer.public("k")]));
        let identity = identify(&jwt, &signer.token(&claims())).await.unwrap();
        assert_eq!(
            identity,
            Identity {
                subject: "agent-7".to_owned(),
                user: Some("ada".to_owned()),
                actors: Vec::new(),
                roles: Vec::new(),
                groups: vec!["dev".to_owned(), "ops".to_owned()],
                capabilities: Vec::new(),
                claims: Claims::default(),
                session: Some("s-1".to_owned()),
            }
        );
    }
}

#[tokio::test]
async fn a_token_goes_with_its_request_if_it_was_issued_for_a_server_that_may_have_it() {
    const SERVER: &str = "https://server.example/mcp";
    let signer = Signer::p256();
    for (servers, audience, goes) in [
        (&[][..], json!([AUDIENCE, SERVER]), false),
        (&[SERVER], json!([AUDIENCE, SERVER]), true),
        (&[SERVER], json!(AUDIENCE), false),
        (
            &[SERVER],
            json!([AUDIENCE, "https://server.example/mcp/"]),
            false,
        ),
        (&["other", SERVER], json!([SERVER, AUDIENCE]), true),
    ] {
        let settings = JwtSettings {
            servers: servers.iter().map(|server| Arc::from(*server)).collect(),
            ..settings()
        };
        let jwt = jwt(settings, &PublishedKeys::keys(&[signer.public("k")]));
        let token = signer.token(&json!({
            "iss": ISSUER, "aud": audience, "exp": NOW + 300, "sub": "a", "scope": "mcp:use",
        }));
        let mut headers = HeaderMap::new();
        headers.insert("Authorization", format!("Bearer {token}").parse().unwrap());
        let shown = jwt.identify(&headers, [127, 0, 0, 1].into()).await.unwrap();
        assert!(!format!("{shown:?}").contains(&token), "{shown:?}");
        let carried = shown.token.as_ref();
        assert_eq!(carried.is_some(), goes, "{servers:?} {audience}");
        if let Some(carried) = carried {
            assert!(
                carried.is_for(SERVER) && !carried.is_for("other") && !carried.is_for(AUDIENCE)
            );
            assert!(carried.is_valid_at(NOW + 359) && !carried.is_valid_at(NOW + 360));
            let header = crate::secret::header("Bearer ", carried.text()).unwrap();
            assert_eq!(header.to_str().unwrap(), format!("Bearer {token}"));
        }
    }
}

#[tokio::test]
async fn a_token_names_the_work_that_it_is_for_and_its_agent_is_the_same_for_all_of_it() {
    let signer = Signer::p256();
    let jwt = jwt(settings(), &PublishedKeys::keys(&[signer.public("k")]));
    let work = async |claims: &Value| {
        let mut headers = HeaderMap::new();
        let value = format!("Bearer {}", signer.token(claims)).parse().unwrap();
        headers.insert("Authorization", value);
        let shown = jwt.identify(&headers, [127, 0, 0, 1].into()).await.unwrap();
        (shown.identity, shown.work.unwrap())
    };
    let (agent, plain) = work(&claims()).await;
    assert_eq!(plain.session_id.as_deref(), Some("s-1"));
    assert_eq!((&plain.job_id, &plain.task_id), (&None, &None));
    let mut more = claims();
    more["job_id"] = json!("j-1");
    more["workflow_run_id"] = json!("w-1");
    more["task_id"] = json!("t-1");
    more["trace_id"] = json!("0af76519-16cd-43dd-8448-eb211c80319c");
    let (same, named) = work(&more).await;
    assert_eq!(same, agent);
    assert_eq!(named.job_id.as_deref(), Some("j-1"));
    assert_eq!(named.workflow_run_id.as_deref(), Some("w-1"));
    assert_eq!(named.task_id.as_deref(), Some("t-1"));
    assert!(named.trace_id.is_some());
    // What is no name says nothing, and is no reason to refuse the token.
    for wrong in [
        json!(7),
        json!(""),
        json!("a\nb"),
        json!("x".repeat(257)),
        json!(["j"]),
        Value::Null,
    ] {
        more["job_id"] = wrong;
        let (same, named) = work(&more).await;
        assert_eq!((same, named.job_id.as_deref()), (agent.clone(), None));
    }
}

#[tokio::test]
async fn claims_mean_the_same_in_whatever_form_issuers_write_them() {
    let signer = Signer::p256();
    let jwt = jwt(settings(), &PublishedKeys::keys(&[signer.public("k")]));
    for words in [json!("a mcp:use"), json!(["a", "mcp:use"])] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove("scope");
        claims["scp"] = words;
        identify(&jwt, &signer.token(&claims)).await.unwrap();
    }
    // Who comes with the same names is the same, and null is no name.
    let mut others = claims();
    others["groups"] = json!(["dev", "ops", "dev"]);
    others["roles"] = Value::Null;
    let one = identify(&jwt, &signer.token(&claims())).await.unwrap();
    let other = identify(&jwt, &signer.token(&others)).await.unwrap();
    assert_eq!(one, other);
    for key in ["session_id", "preferred_username"] {
        others[key] = Value::Null;
    }
    let other = identify(&jwt, &signer.token(&others)).await.unwrap();
    assert_eq!((other.session, other.user), (None, None));
}

#[tokio::test]
async fn a_token_that_is_exchanged_goes_with_its_request_and_is_for_no_server() {
    let signer = Signer::p256();
    let settings = JwtSettings {
        kept: KeptTokens::All,
        ..settings()
    };
    let jwt = jwt(settings, &PublishedKeys::keys(&[signer.public("k")]));
    let token = signer.token(&json!({
        "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 300, "sub": "a", "scope": "mcp:use",
    }));
    let mut headers = HeaderMap::new();
    headers.insert("Authorization", format!("Bearer {token}").parse().unwrap());
    let shown = jwt.identify(&headers, [127, 0, 0, 1].into()).await.unwrap();
    assert!(!format!("{shown:?}").contains(&token), "{shown:?}");
    let carried = shown.token.unwrap();
    assert!(!carried.is_for(AUDIENCE));
    assert_eq!(carried.until(), NOW + 360);
}

#[tokio::test]
async fn a_token_for_whom_too_many_act_or_nobody_known_is_refused_for_that() {
    let signer = Signer::p256();
    let jwt = jwt(settings(), &PublishedKeys::keys(&[signer.public("k")]));
    let nested = |depth: usize| {
        (1..depth).fold(
            json!({"sub": "first"}),
            |act, _| json!({"sub": "next", "act": act}),
        )
    };
    for (act, expected) in [
        (nested(1), None),
        (nested(4), None),
        (nested(5), Some("token_actors_invalid")),
        (nested(6), Some("token_actors_invalid")),
        // Deeper than claims may be at all.
        (nested(40), Some("token_invalid")),
        (json!({"name": "x"}), Some("token_actors_invalid")),
        (json!([]), Some("token_actors_invalid")),
        (json!("x"), Some("token_actors_invalid")),
        (json!(null), None),
    ] {
        let token = signer.token(&json!({
            "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 300, "sub": "a", "scope": "mcp:use",
            "act": act,
        }));
        let mut headers = HeaderMap::new();
        headers.insert("Authorization", format!("Bearer {token}").parse().unwrap());
        let shown = jwt.identify(&headers, [127, 0, 0, 1].into()).await;
        assert_eq!(shown.err().map(|it| it.code()), expected, "{act}");
    }
}

/// Reads the claims that policies look at, each from where it is in the token.
fn with_claims(named: &[(&str, &str, ClaimType)]) -> JwtSettings {
    let named = named.iter().map(|(name, path, claim_type)| NamedClaim {
        name: (*name).to_owned(),
        path: ClaimPath::read(path).unwrap(),
        claim_type: *claim_type,
    });
    JwtSettings {
        servers: Vec::new(),
        claims: named.collect(),
        capabilities_claim: ClaimPath::read("/mcp/capabilities"),
        ..settings()
    }
}

#[tokio::test]
async fn claims_that_are_configured_arrive_with_their_types_and_others_do_not() {
    let signer = Signer::p256();
    let named = [
        ("tools", "/mcp/tools", ClaimType::Strings),
        ("tier", "https://issuer.example/tier", ClaimType::String),
        ("quota", "quota", ClaimType::Long),
        ("admin", "/a~1b/~0", ClaimType::Bool),
        ("absent", "/mcp/absent/deeper", ClaimType::Bool),
        ("nothing", "nothing", ClaimType::Bool),
    ];
    let jwt = jwt(
        with_claims(&named),
        &PublishedKeys::keys(&[signer.public("k")]),
    );
    let mut token = claims();
    token["mcp"] =
        json!({ "tools": ["b", "a", "b"], "capabilities": ["net", "fs.read"], "other": 1 });
    token["https://issuer.example/tier"] = json!("");
    token["quota"] = json!(-7);
    token["a/b"] = json!({ "~": true });
    token["nothing"] = Value::Null;
    token["unnamed"] = json!("x");
    let identity = identify(&jwt, &signer.token(&token)).await.unwrap();
    let set = vec!["a".to_owned(), "b".to_owned()];
    let expected = [
        ("tools", ClaimValue::Strings(set)),
        ("tier", ClaimValue::String(String::new())),
        ("quota", ClaimValue::Long(-7)),
        ("admin", ClaimValue::Bool(true)),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(identity.claims, expected.into_iter().collect());
    assert_eq!(identity.capabilities, ["fs.read", "net"]);
    // Agents whose tokens claim something else share nothing.
    let plain = identify(&jwt, &signer.token(&claims())).await.unwrap();
    assert_eq!(plain.claims, Claims::default());
    assert_ne!(plain, identity);
}

#[tokio::test]
async fn a_claim_of_another_type_than_configured_refuses_the_token_and_says_which_claim() {
    let signer = Signer::p256();
    let check = async |claim_type, value: Value| {
        let settings = with_claims(&[("mine", "it", claim_type)]);
        let jwt = jwt(settings, &PublishedKeys::keys(&[signer.public("k")]));
        let mut token = claims();
        token["it"] = value.clone();
        let refused = identify(&jwt, &signer.token(&token)).await.unwrap_err();
        assert_eq!(
            refused,
            Challenge::Claim {
                name: "mine".to_owned(),
                expected: claim_type
            },
            "{value}"
        );
        assert_eq!((refused.status(), refused.code()), (401, "token_invalid"));
        refused.to_string()
    };
    let told = check(ClaimType::Strings, json!("CANARY")).await;
    assert_eq!(
        told,
        "the token is not valid: its claim `mine` is not a list of strings"
    );
    check(ClaimType::Strings, json!(["a", 1])).await;
    check(ClaimType::Strings, json!(vec!["a"; 257])).await;
    check(ClaimType::Strings, json!(["a\u{7}"])).await;
    check(ClaimType::String, json!(1)).await;
    check(ClaimType::String, json!("x".repeat(1025))).await;
    check(ClaimType::String, json!(["a"])).await;
    check(ClaimType::Bool, json!("true")).await;
    check(ClaimType::Bool, json!(1)).await;
    check(ClaimType::Long, json!("1")).await;
    check(ClaimType::Long, json!(1.5)).await;
    check(ClaimType::Long, json!(u64::MAX)).await;
    check(ClaimType::Long, json!({ "it": 1 })).await;
    // What names capabilities names nothing else.
    let jwt = jwt(
        with_claims(&[]),
        &PublishedKeys::keys(&[signer.public("k")]),
    );
    for wrong in [json!("fs"), json!([1]), json!([""])] {
        let mut token = claims();
        token["mcp"] = json!({ "capabilities": wrong });
        identify(&jwt, &signer.token(&token)).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_path_through_something_else_than_an_object_refuses_the_token() {
    let signer = Signer::p256();
    let check = async |container: Value, is_absent: bool| {
        let settings = with_claims(&[("mine", "/mcp/job", ClaimType::String)]);
        let jwt = jwt(settings, &PublishedKeys::keys(&[signer.public("k")]));
        let mut token = claims();
        token["mcp"] = container.clone();
        let found = identify(&jwt, &signer.token(&token)).await;
        assert_eq!(found.is_ok(), is_absent, "{container}");
    };
    check(json!({ "other": 1 }), true).await;
    check(json!({ "job": null }), true).await;
    check(Value::Null, true).await;
    for container in [
        json!("{\"job\":\"nightly\"}"),
        json!([{ "job": "a" }]),
        json!(1),
    ] {
        check(container, false).await;
    }
}

#[test]
fn a_claim_is_named_or_pointed_at() {
    for (text, names) in [
        ("tools", Some(vec!["tools"])),
        ("https://a/b", Some(vec!["https://a/b"])),
        ("/a", Some(vec!["a"])),
        ("/a/b~1c/~01", Some(vec!["a", "b/c", "~1"])),
        ("", None),
        ("/", None),
        ("/a//b", None),
        ("/a~2", None),
        ("/a~", None),
    ] {
        let read = ClaimPath::read(text);
        let read = read.as_ref().map(|path| path.names().collect::<Vec<_>>());
        assert_eq!(read, names, "{text}");
    }
}

#[tokio::test]
async fn a_token_that_is_not_for_us_or_not_now_is_refused_and_nothing_of_it_is_repeated() {
    let signer = Signer::p256();
    let jwt = jwt(settings(), &PublishedKeys::keys(&[signer.public("k")]));
    let with = |key: &str, value: Value| {
        let mut claims = claims();
        claims["canary"] = "CANARY".into();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(key);
        } else {
            claims[key] = value;
        }
        signer.token(&claims)
    };
    for good in [
        with("aud", json!(["https://other.example", AUDIENCE])),
        with("exp", json!(NOW - 59)),
        with("exp", json!(1_790_000_300.5)),
        with("nbf", json!(NOW + 60)),
        with("nbf", Value::Null),
        with("groups", Value::Null),
        with("session_id", Value::Null),
        with("scope", json!("a mcp:use")),
        with("scope", json!(["a", "mcp:use"])),
    ] {
        identify(&jwt, &good).await.unwrap();
    }
    let cases = [
        ("no issuer", with("iss", Value::Null)),
        (
            "another issuer",
            with("iss", json!("https://issuer.example/")),
        ),
        ("issuers", with("iss", json!([ISSUER]))),
        ("no audience", with("aud", Value::Null)),
        (
            "another audience",
            with("aud", json!("https://gate.example")),
        ),
        ("other audiences", with("aud", json!(["a", "b"]))),
        ("an audience deeper", with("aud", json!([[AUDIENCE]]))),
        ("no end", with("exp", Value::Null)),
        ("an end in words", with("exp", json!("never"))),
        (
            "an end in text",
            with("exp", json!((NOW + 300).to_string())),
        ),
        ("an end too large to count", with("exp", json!(1e300))),
        ("it ended", with("exp", json!(NOW - 60))),
        ("it has not begun", with("nbf", json!(NOW + 61))),
        ("a beginning in words", with("nbf", json!("now"))),
        ("no subject", with("sub", Value::Null)),
        ("an empty subject", with("sub", json!(""))),
        ("a number for a subject", with("sub", json!(7))),
        ("a line end in the subject", with("sub", json!("a\nb"))),
        ("a long subject", with("sub", json!("a".repeat(257)))),
        ("groups in text", with("groups", json!("ops"))),
        ("a group that is none", with("groups", json!(["ops", 1]))),
        ("many groups", with("groups", json!(vec!["g"; 257]))),
        ("a session that is none", with("session_id", json!({}))),
    ];
    for (what, token) in cases {
        let challenge = identify(&jwt, &token).await.unwrap_err();
        assert!(
            matches!(challenge, Challenge::Invalid(_)),
            "{what}: {challenge}"
        );
        assert_eq!(challenge.status(), 401, "{what}");
        let shown = format!("{challenge:?} {challenge} {:?}", challenge.header(None));
        assert!(
            !shown.contains("CANARY") && !shown.contains("agent-7"),
            "{shown}"
        );
    }
    for scope in [
        Value::Null,
        json!(""),
        json!("mcp:used"),
        json!(["mcp:used", "a mcp:use"]),
        json!(7),
    ] {
        let challenge = identify(&jwt, &with("scope", scope)).await.unwrap_err();
        assert_eq!(
            challenge,
            Challenge::Insufficient(vec!["mcp:use".to_owned()])
        );
        assert_eq!(challenge.status(), 403);
    }
}

#[tokio::test]
async fn a_token_that_was_not_signed_by_the_issuer_in_an_allowed_way_is_refused() {
    let (rsa, p256) = (Signer::rsa(), Signer::p256());
    let mut strict = settings();
    strict.algorithms = vec![Algorithm::Es256];
    let published = PublishedKeys::keys(&[rsa.public("r"), p256.public("k")]);
    let (strict, all) = (jwt(strict, &published), jwt(settings(), &published));
    let text = claims().to_string();
    let good = p256.token(&claims());
    identify(&strict, &good).await.unwrap();

    // Signed with the public key as if it were a secret.
    let secret = published.text.lock().unwrap().clone().unwrap();
    let forged = format!(
        "{}.{}",
        base64(r#"{"alg":"HS256","kid":"r"}"#),
        base64(&text)
    );
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
    let tag = ring::hmac::sign(&key, forged.as_bytes());
    let forged = format!("{forged}.{}", base64(tag));

    let unsigned = |alg: &str| {
        let header = json!({ "alg": alg, "kid": "k" }).to_string();
        format!("{}.{}.", base64(header), base64(&text))
    };
    let (head, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = head.split_once('.').unwrap();
    let other = base64(text.replace("agent-7", "agent-8"));
    let header_of = |header: Value| p256.sign(&header, &text);
    let twice = text.replacen('{', r#"{"sub":"root","#, 1);
    let stranger = Signer::p256();
    let cases = [
        ("none", unsigned("none")),
        ("None", unsigned("None")),
        ("no signature", unsigned("ES256")),
        ("a public key as a secret", forged),
        ("another subject", format!("{header}.{other}.{signature}")),
        (
            "a signature cut short",
            good.split_at(good.len() - 4).0.to_owned(),
        ),
        (
            "a signature of zeros",
            format!("{head}.{}", base64([0; 64])),
        ),
        ("somebody else", stranger.token(&claims())),
        (
            "another case",
            header_of(json!({ "alg": "es256", "kid": "k" })),
        ),
        (
            "the key of another algorithm",
            header_of(json!({ "alg": "RS256", "kid": "k" })),
        ),
        (
            "another key's name",
            header_of(json!({ "alg": "ES256", "kid": "r" })),
        ),
        (
            "a path for a name",
            header_of(json!({ "alg": "ES256", "kid": "../../etc/passwd" })),
        ),
        (
            "a long name",
            header_of(json!({ "alg": "ES256", "kid": "k".repeat(257) })),
        ),
        ("no algorithm", header_of(json!({ "kid": "k" }))),
        (
            "an extension",
            header_of(json!({ "alg": "ES256", "kid": "k", "crit": ["exp"] })),
        ),
        (
            "another type",
            header_of(json!({ "alg": "ES256", "kid": "k", "typ": "dpop+jwt" })),
        ),
        (
            "a key that it brings along",
            stranger.sign(
                &json!({ "alg": "ES256", "jwk": stranger.public("k"), "jku": "file:///k" }),
                &text,
            ),
        ),
        (
            "a claim twice",
            p256.sign(&json!({ "alg": "ES256", "kid": "k" }), &twice),
        ),
        (
            "claims that are none",
            p256.sign(&json!({ "alg": "ES256", "kid": "k" }), "[]"),
        ),
        ("two parts", head.to_owned()),
        ("four parts", format!("{good}.{signature}")),
        ("padding", format!("{good}=")),
        ("nothing", "..".to_owned()),
    ];
    for (what, token) in cases {
        for jwt in [&strict, &all] {
            let challenge = identify(jwt, &token).await.unwrap_err();
            assert!(
                matches!(challenge, Challenge::Invalid(_)),
                "{what}: {challenge}"
            );
        }
    }
}

#[tokio::test]
async fn an_algorithm_that_is_known_must_be_allowed_too() {
    let rsa = Signer::rsa();
    let mut strict = settings();
    strict.algorithms = vec![Algorithm::Es256];
    let published = PublishedKeys::keys(&[rsa.public("k")]);
    let token = rsa.token(&claims());
    identify(&jwt(settings(), &published), &token)
        .await
        .unwrap();
    let refused = identify(&jwt(strict, &published), &token).await;
    assert_eq!(
        refused,
        Err(Challenge::Invalid("its algorithm is not allowed"))
    );
}

#[tokio::test]
async fn a_key_that_is_not_for_this_is_not_used() {
    let signer = Signer::p256();
    let with = |name: &str, value: Value| {
        let mut key = signer.public("k");
        key[name] = value;
        key
    };
    let cases = [
        with("use", json!("enc")),
        with("key_ops", json!(["sign"])),
        with("alg", json!("ES384")),
        with("crv", json!("P-384")),
        with("kty", json!("oct")),
        with("x", json!("AA")),
        with("x", json!("not base64")),
        with("y", Value::Null),
        json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "k" }),
        json!({ "kty": "RSA", "n": base64([255; 128]), "e": "AQAB", "kid": "k" }),
        json!(7),
    ];
    // Beside a good key, so that the set itself is good.
    let other = Signer::ed25519().public("other");
    for key in cases {
        let jwt = jwt(
            settings(),
            &PublishedKeys::keys(&[key.clone(), other.clone()]),
        );
        let challenge = identify(&jwt, &signer.token(&claims())).await.unwrap_err();
        assert!(
            matches!(challenge, Challenge::Invalid(_)),
            "{key}: {challenge}"
        );
    }
}

#[tokio::test]
async fn keys_are_fetched_when_a_new_one_is_named_and_not_more_often_than_is_good() {
    let (old, new) = (Signer::p256(), Signer::p256());
    let published = PublishedKeys::keys(&[old.public("k")]);
    let clock = Arc::new(MovedMonotonicClock::default());
    let source: Arc<dyn KeySource> = Arc::clone(&published) as _;
    let jwt = Jwt::new(settings(), source, Arc::clone(&clock) as _, None).unwrap();
    let renewed = new.sign(
        &json!({ "alg": "ES256", "kid": "k2" }),
        &claims().to_string(),
    );
    let invented = |n: u32| {
        let header = json!({ "alg": "ES256", "kid": format!("invented-{n}") });
        new.sign(&header, &claims().to_string())
    };

    identify(&jwt, &old.token(&claims())).await.unwrap();
    for n in 0..20 {
        identify(&jwt, &invented(n)).await.unwrap_err();
    }
    assert_eq!(published.asked(), 1, "however many names are invented");

    published.publish(Ok(json!({ "keys": [new.public("k2")] }).to_string()));
    identify(&jwt, &renewed).await.unwrap_err();
    clock.by(30);
    identify(&jwt, &renewed).await.unwrap();
    identify(&jwt, &old.token(&claims())).await.unwrap_err();
    assert_eq!(published.asked(), 2);

    // What cannot be fetched leaves what is known in force, for a while.
    for broken in ["", "{}", "[]", r#"{"keys":[]}"#, r#"{"keys":[],"keys":[]}"#] {
        published.publish(Ok(broken.to_owned()));
        clock.by(600);
        identify(&jwt, &renewed).await.unwrap();
    }
    published.publish(Err(KeyFault("down".to_owned())));
    clock.by(3600);
    let challenge = identify(&jwt, &renewed).await.unwrap_err();
    assert!(
        matches!(challenge, Challenge::Unavailable(_)),
        "{challenge}"
    );
    assert_eq!((challenge.status(), challenge.header(None)), (503, None));
}

/// A clock that goes with the time of the test.
#[derive(Debug)]
struct PausedClock(tokio::time::Instant);

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn keys_that_could_not_be_fetched_are_fetched_again_sooner_than_others() {
    let signer = Signer::p256();
    let published = PublishedKeys::keys(&[signer.public("k")]);
    let good = published.text.lock().unwrap().clone();
    let away = Err(KeyFault("away".to_owned()));
    published.publish(away.clone());
    let source: Arc<dyn KeySource> = Arc::clone(&published) as _;
    #[expect(clippy::disallowed_methods, reason = "the clock of the test")]
    let clock = Arc::new(PausedClock(tokio::time::Instant::now()));
    let jwt = Jwt::new(settings(), source, clock, None).unwrap();
    let keeping = async { match jwt.keep_ready().await {} };
    // At these seconds it was asked so often, and keys are at hand or not. No request has a token.
    let watching = async {
        // Between two attempts.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut at = 0;
        for (second, answer, asked, is_able) in [
            (0, None, 1, false),
            (1, None, 2, false),
            (2, None, 2, false),
            (3, None, 3, false),
            (7, None, 4, false),
            (15, None, 5, false),
            (31, None, 6, false),
            (60, None, 6, false),
            (61, None, 7, false),
            (91, Some(good.clone()), 8, false),
            (121, None, 9, true),
            (121 + 479, None, 9, true),
            (121 + 480, Some(away.clone()), 10, true),
            (121 + 960, None, 11, true),
            (121 + 961, None, 12, true),
            (121 + 480 + 3601, Some(good.clone()), 0, false),
        ] {
            tokio::time::sleep(Duration::from_secs(second - at)).await;
            at = second;
            assert_eq!(jwt.is_able(), is_able, "{second}");
            assert!(
                asked == 0 || published.asked() == asked,
                "{second}: {}",
                published.asked()
            );
            if let Some(answer) = answer {
                published.publish(answer);
            }
        }
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert!(jwt.is_able());
    };
    tokio::select! {
        () = keeping => {}
        () = watching => {}
    }
}

#[tokio::test]
async fn keys_come_from_a_file() {
    let signer = Signer::ed25519();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.json");
    let source = Arc::new(KeyFile(path.clone()));
    let jwt = |source: &Arc<KeyFile>| {
        let source: Arc<dyn KeySource> = Arc::clone(source) as _;
        Jwt::new(
            settings(),
            source,
            Arc::new(MovedMonotonicClock::default()),
            None,
        )
        .unwrap()
    };
    let token = signer.token(&claims());
    let challenge = identify(&jwt(&source), &token).await.unwrap_err();
    assert!(
        matches!(challenge, Challenge::Unavailable(_)),
        "{challenge}"
    );
    std::fs::write(&path, json!({ "keys": [signer.public("k")] }).to_string()).unwrap();
    identify(&jwt(&source), &token).await.unwrap();
}

/// A time of day that a test moves.
#[derive(Debug)]
struct MovedDay(AtomicI64);

impl Clock for MovedDay {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_token_opens_is_open_until_the_token_is_refused() {
    let signer = Signer::ed25519();
    let day = Arc::new(MovedDay(AtomicI64::new(NOW)));
    let source: Arc<dyn KeySource> = PublishedKeys::keys(&[signer.public("k")]);
    let clock = Arc::clone(&day) as Arc<dyn Clock>;
    let jwt = Jwt::new(settings(), source, clock, None).unwrap();
    let token = signer.token(&claims());
    let mut headers = HeaderMap::new();
    headers.insert("Authorization", format!("Bearer {token}").parse().unwrap());
    let proof = jwt.identify(&headers, [127, 0, 0, 1].into()).await.unwrap();
    for after in [0, 300, 359, 360, 10_000] {
        day.0.store(NOW + after, Ordering::Relaxed);
        let is_over = tokio::time::timeout(Duration::from_hours(1), proof.term.over()).await;
        let is_refused = identify(&jwt, &token).await.is_err();
        assert_eq!((is_over.is_ok(), is_refused), (after >= 360, after >= 360));
    }
}

#[test]
fn settings_that_would_let_in_too_many_or_nobody_are_refused() {
    let published = PublishedKeys::keys(&[]);
    let check = |change: fn(&mut JwtSettings), expected: JwtError| {
        let mut settings = settings();
        change(&mut settings);
        let source: Arc<dyn KeySource> = Arc::clone(&published) as _;
        let made = Jwt::new(
            settings,
            source,
            Arc::new(MovedMonotonicClock::default()),
            None,
        );
        assert_eq!(made.err(), Some(expected));
    };
    check(|it| it.algorithms.clear(), JwtError::NoAlgorithm);
    check(|it| it.issuer.clear(), JwtError::NoIssuer);
    check(|it| it.audience.clear(), JwtError::NoAudience);
    check(|it| it.skew = Duration::from_secs(61), JwtError::Skew);
}

#[test]
fn the_laws_hold_for_every_seed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/token");
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        oracle::laws(&bytes);
        seeds += 1;
    }
    assert!(seeds >= 6, "seeds in {}", folder.display());
}
