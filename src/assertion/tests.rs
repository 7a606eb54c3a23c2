use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use proptest::prelude::*;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::{Value, json};
use std::sync::Arc;

use super::*;
use crate::clock::Clock;

const NOON: i64 = 1_700_000_000;

/// A time of day that jumps.
#[derive(Debug)]
struct JumpingClock(AtomicI64);

impl Clock for JumpingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

fn issuer() -> (Arc<Issuer>, Arc<JumpingClock>) {
    let clock = Arc::new(JumpingClock(AtomicI64::new(NOON)));
    let issuer = Issuer::new(Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
    (Arc::new(issuer), clock)
}

fn user(principal: &str, roles: &[&str]) -> User {
    User {
        principal: principal.to_owned(),
        roles: roles.iter().map(ToString::to_string).collect(),
        session: "5e55".into(),
    }
}

fn voucher(issuer: &Arc<Issuer>, user: User) -> Voucher {
    Voucher::new(Arc::clone(issuer), "tickets".into(), user)
}

fn decoded(part: &str) -> Value {
    let text = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    String::from_utf8(text).unwrap().parse().unwrap()
}

/// The header and the claims of an assertion, if the one key of the set has signed it.
fn verified(assertion: &str, key_set: &str) -> Option<(Value, Value)> {
    let key_set: Value = key_set.parse().unwrap();
    let key = &key_set["keys"][0];
    let x = BASE64_URL_SAFE_NO_PAD.decode(key["x"].as_str()?).unwrap();
    let (signed, signature) = assertion.rsplit_once('.')?;
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    let public = UnparsedPublicKey::new(&ED25519, x);
    public.verify(signed.as_bytes(), &signature).ok()?;
    let (header, claims) = signed.split_once('.')?;
    let header = decoded(header);
    assert_eq!(header["kid"], key["kid"]);
    Some((header, decoded(claims)))
}

#[test]
fn an_assertion_says_the_principal_its_roles_and_its_session_and_nothing_else() {
    let (issuer, _) = issuer();
    let voucher = voucher(&issuer, user("alice", &["admin", "dev"]));
    let assertion = voucher.assertion().unwrap();
    let (header, mut claims) = verified(&assertion, &issuer.key_set()).unwrap();
    assert_eq!(header["alg"], "EdDSA");
    assert_eq!(header["typ"], "mcp-protector-identity+jwt");
    let jti = claims.as_object_mut().unwrap().remove("jti").unwrap();
    assert_eq!(jti.as_str().unwrap().len(), 22);
    let expected = json!({
        "iss": "mcp-protector", "aud": "tickets", "sub": "alice", "roles": ["admin", "dev"],
        "sid": "5e55", "iat": NOON, "exp": NOON + 120,
    });
    assert_eq!(claims, expected);
}

#[test]
fn the_published_key_is_public_and_no_other_gate_has_it() {
    let ((one, _), (other, _)) = (issuer(), issuer());
    let assertion = voucher(&one, user("alice", &[])).assertion().unwrap();
    assert!(verified(&assertion, &one.key_set()).is_some());
    assert!(verified(&assertion, &other.key_set()).is_none());
    let keys: Value = one.key_set().parse().unwrap();
    let members: Vec<_> = keys["keys"][0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["crv", "kty", "x", "kid", "alg", "use"]);
}

#[test]
fn an_assertion_serves_for_half_of_its_life_by_the_time_of_day() {
    for (passed, is_same) in [
        (0, true),
        (59, true),
        (60, false),
        (86_400, false),
        (-1, false),
    ] {
        let (issuer, clock) = issuer();
        let voucher = voucher(&issuer, user("alice", &[]));
        let first = voucher.assertion().unwrap();
        clock.0.store(NOON + passed, Ordering::Relaxed);
        let second = voucher.assertion().unwrap();
        assert_eq!(first == second, is_same, "{passed}");
        let (_, claims) = verified(&second, &issuer.key_set()).unwrap();
        let left = claims["exp"].as_i64().unwrap() - (NOON + passed);
        assert!((60..=120).contains(&left), "{passed}: {left}");
    }
}

#[test]
fn a_voucher_is_for_one_user_and_one_server() {
    let (issuer, _) = issuer();
    let voucher = voucher(&issuer, user("alice", &["dev"]));
    for (audience, user, is_it) in [
        ("tickets", user("alice", &["dev"]), true),
        ("other", user("alice", &["dev"]), false),
        ("tickets", user("bob", &["dev"]), false),
        ("tickets", user("alice", &[]), false),
        ("tickets", user("alice", &["dev", "ops"]), false),
    ] {
        assert_eq!(
            voucher.is_for(audience, &user.principal, &user.roles),
            is_it,
            "{audience} {user:?}"
        );
    }
}

proptest! {
    #[test]
    fn whatever_a_principal_is_called_the_server_reads_that_name(
        principal in ".{0,40}",
        roles in prop::collection::vec(".{0,20}", 0..4),
        audience in ".{1,20}",
    ) {
        let (issuer, _) = issuer();
        let user = User { principal: principal.clone(), roles: roles.clone(), session: "s".into() };
        let voucher = Voucher::new(Arc::clone(&issuer), audience.as_str().into(), user);
        let (_, claims) = verified(&voucher.assertion().unwrap(), &issuer.key_set()).unwrap();
        prop_assert_eq!(&claims["sub"], &json!(principal));
        prop_assert_eq!(&claims["roles"], &json!(roles));
        prop_assert_eq!(&claims["aud"], &json!(audience));
    }
}
