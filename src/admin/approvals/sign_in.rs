//! Who is signed in at the page. A token opens it once; from then on the browser shows a cookie.
//!
//! Browsers show a cookie to every port of a host (RFC 6265 §8.5), and an agent may well serve something
//! on this machine. So each sign-in has a place of its own, with an unguessable name, and its
//! cookie goes nowhere else.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::HeaderMap;
use hyper::header::COOKIE;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The cookie's name.
const COOKIE_NAME: &str = "mcp-protector-approvals";

/// What all places begin with.
pub(super) const PLACES: &str = "/approvals/at/";

/// How long a browser stays signed in.
const STAYS: Duration = Duration::from_hours(8);

/// Browsers that are signed in at once; the one that has been longest is signed out for one more.
const MOST: usize = 64;

type Fingerprint = [u8; 32];

/// The browsers that are signed in, by the digests of their cookies.
#[derive(Debug, Default)]
pub(super) struct SignIns(Mutex<HashMap<Fingerprint, SignIn>>);

/// One browser.
#[derive(Debug, Clone)]
pub(super) struct SignIn {
    /// Who showed a token.
    pub(super) name: String,
    /// What each form of the page must bring: a page elsewhere cannot know it.
    pub(super) form_key: String,
    /// Where its page is.
    pub(super) place: String,
    until: Duration,
}

/// The operating system gives no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRandomness;

impl SignIns {
    /// Signs an approver in; returns the place of their page and the `Set-Cookie` value.
    ///
    /// # Errors
    /// [`NoRandomness`]: then the sign-in fails.
    pub(super) fn admit(
        &self,
        name: &str,
        now: Duration,
    ) -> Result<(String, String), NoRandomness> {
        let (cookie, form_key) = (random()?, random()?);
        let place = format!("{PLACES}{}", random()?);
        let mut all = self.all();
        all.retain(|_, sign_in| sign_in.until > now);
        while all.len() >= MOST {
            let oldest = all.iter().min_by_key(|(_, sign_in)| sign_in.until);
            let Some(oldest) = oldest.map(|(key, _)| *key) else {
                break;
            };
            all.remove(&oldest);
        }
        let sign_in = SignIn {
            name: name.to_owned(),
            form_key,
            place: place.clone(),
            until: now.saturating_add(STAYS),
        };
        all.insert(fingerprint(&cookie), sign_in);
        let set = format!(
            "{COOKIE_NAME}={cookie}; Path={place}; Max-Age={}; HttpOnly; SameSite=Strict",
            STAYS.as_secs()
        );
        Ok((place, set))
    }

    /// Who sends a request, if they are signed in at this place.
    pub(super) fn of(&self, headers: &HeaderMap, place: &str, now: Duration) -> Option<SignIn> {
        let shown = fingerprint(cookie(headers)?);
        let found = self.all().get(&shown).cloned();
        found.filter(|sign_in| sign_in.until > now && is_same(&sign_in.place, place))
    }

    /// Signs a browser out, and tells what `Set-Cookie` says.
    pub(super) fn dismiss(&self, headers: &HeaderMap, place: &str) -> String {
        if let Some(cookie) = cookie(headers) {
            self.all().remove(&fingerprint(cookie));
        }
        format!("{COOKIE_NAME}=; Path={place}; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<Fingerprint, SignIn>> {
        // Every change is one insertion or removal.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SignIn {
    /// Whether a form is of a page that this browser was given.
    pub(super) fn gave(&self, form_key: &str) -> bool {
        is_same(&self.form_key, form_key)
    }
}

/// The one cookie of ours; two of them are none (RFC 6265 §4.1.1 lets a domain above set another).
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter();
    let pairs = all
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let mut ours = pairs.filter(|(name, _)| *name == COOKIE_NAME);
    match (ours.next(), ours.next()) {
        (Some((_, value)), None) => Some(value),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

/// In the same time, whatever they have in common.
fn is_same(one: &str, other: &str) -> bool {
    fingerprint(one).ct_eq(&fingerprint(other)).into()
}

fn random() -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn fingerprint(text: &str) -> Fingerprint {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1);

    fn headers(set: &str) -> HeaderMap {
        let pair = set.split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, format!("other=1; {pair}").parse().unwrap());
        headers
    }

    #[test]
    fn a_browser_is_known_by_its_cookie_until_its_time_is_up_or_it_signs_out() {
        let all = SignIns::default();
        let (place, set) = all.admit("anna", START).unwrap();
        let shown = headers(&set);
        assert_eq!(all.of(&shown, &place, START).unwrap().name, "anna");
        assert!(all.of(&shown, &place, START + STAYS).is_none());
        assert!(all.of(&HeaderMap::new(), &place, START).is_none());
        assert!(all.dismiss(&shown, &place).contains("Max-Age=0"));
        assert!(all.of(&shown, &place, START).is_none());
    }

    #[test]
    fn a_cookie_is_shown_and_good_at_its_own_place_alone() {
        let all = SignIns::default();
        let (place, set) = all.admit("anna", START).unwrap();
        let (other, _) = all.admit("anna", START).unwrap();
        assert!(set.contains(&format!("; Path={place};")) && place.len() > PLACES.len() + 40);
        assert!(all.of(&headers(&set), &other, START).is_none());
        assert!(all.of(&headers(&set), "/approvals", START).is_none());
    }

    #[test]
    fn two_cookies_of_the_name_are_none() {
        let all = SignIns::default();
        let (place, set) = all.admit("anna", START).unwrap();
        let mut shown = headers(&set);
        let other = headers(&all.admit("ben", START).unwrap().1);
        shown.append(COOKIE, other.get(COOKIE).unwrap().clone());
        assert!(all.of(&shown, &place, START).is_none());
    }

    #[test]
    fn a_form_of_another_sign_in_is_not_taken() {
        let all = SignIns::default();
        let sign_in = |name: &str| {
            let (place, set) = all.admit(name, START).unwrap();
            all.of(&headers(&set), &place, START).unwrap()
        };
        let (anna, ben) = (sign_in("anna"), sign_in("ben"));
        assert!(anna.gave(&anna.form_key));
        assert!(!anna.gave(&ben.form_key));
        assert!(!anna.gave(""));
    }

    #[test]
    fn there_are_never_more_sign_ins_than_the_limit() {
        let all = SignIns::default();
        let (place, set) = all.admit("first", START).unwrap();
        for number in 0..MOST {
            let now = START + Duration::from_secs(1 + u64::try_from(number).unwrap());
            all.admit("more", now).unwrap();
        }
        assert_eq!(all.all().len(), MOST);
        assert!(all.of(&headers(&set), &place, START).is_none());
    }
}
