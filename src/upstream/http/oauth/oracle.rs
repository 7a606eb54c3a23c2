//! What holds for every answer of an authorization server. Also what the fuzz target `oauth` asks for.

#![expect(
    clippy::disallowed_methods,
    reason = "serde_json is the oracle that this reader is compared with"
)]

use std::time::Duration;

use serde_json::Value as Theirs;
use url::Url;

use super::places::{appended, pointer, resource_of, well_known};
use super::read;

const SERVER: &str = "https://mcp.example/a/b?key=1";
const ISSUER: &str = "https://issuer.example/t";

/// Whatever an answer says, a token is the one that any reader sees in it, a secret goes to nobody but the
/// issuer that was asked, and a document counts only if it is about whom it was asked for.
#[track_caller]
pub(super) fn laws(text: &str) {
    challenge(text);
    places(text);
    let Some(document) = read::object(text.as_bytes()) else {
        return;
    };
    let root = document.root();
    // Numbers that are no doubles of theirs.
    let Ok(theirs) = serde_json::from_str::<Theirs>(text) else {
        return;
    };
    let said = |name: &str| theirs.get(name).and_then(Theirs::as_str);
    if let Ok((token, lifetime)) = read::token(root) {
        assert_eq!(said("access_token"), Some(&*token));
        assert!(said("token_type").is_some_and(|it| it.eq_ignore_ascii_case("bearer")));
        let year = Duration::from_hours(24 * 365);
        assert!(lifetime.is_none_or(|it| it < year), "{lifetime:?}");
        assert!(lifetime.is_none() || theirs.get("expires_in").is_some());
    }
    if let Some(error) = read::error(root) {
        assert_eq!(said("error"), Some(error));
    }
    let server = Url::parse(SERVER).expect("a URL");
    if let Ok((resource, issuer)) = read::of_server(root, &server) {
        assert_eq!(said("resource"), Some(&*resource));
        let named = Url::parse(&resource).expect("a URL");
        assert_eq!(named.origin(), server.origin());
        assert!(
            server
                .path()
                .starts_with(named.path().trim_end_matches('/'))
        );
        let first = theirs.get("authorization_servers").and_then(|it| it.get(0));
        assert_eq!(first.and_then(Theirs::as_str), issuer.as_deref());
    }
    if let Ok((endpoint, _)) = read::of_issuer(root, ISSUER) {
        assert_eq!(said("issuer"), Some(ISSUER));
        let written = said("token_endpoint").map(Url::parse);
        assert_eq!(written, Some(Ok(endpoint)));
    }
}

/// What a challenge points to is what stands there between quotes, under that name.
#[track_caller]
fn challenge(text: &str) {
    if let Some(found) = pointer(text) {
        let quoted: Vec<&str> = text.split('"').collect();
        let names = quoted.windows(2).any(|pair| match pair {
            [before, url] => {
                before.ends_with("resource_metadata=") && Url::parse(url).as_ref() == Ok(&found)
            }
            _ => false,
        });
        assert!(names, "{text:?} {found}");
    }
}

/// Metadata is looked for where whoever it is about answers, and a key among the parameters of a URL is never
/// part of what is told.
#[track_caller]
fn places(text: &str) {
    let Ok(url) = Url::parse(text) else {
        return;
    };
    let about = ["oauth-protected-resource", "oauth-authorization-server"];
    let found = about.into_iter().flat_map(|name| well_known(&url, name));
    for place in found.chain(appended(&url)) {
        assert_eq!(
            place.origin().ascii_serialization(),
            url.origin().ascii_serialization()
        );
        assert_eq!(place.query(), None, "{place}");
    }
    assert!(
        !resource_of(&url).contains('?') || url.cannot_be_a_base(),
        "{text:?}"
    );
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_seed_of_oauth_holds() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/oauth");
        let mut seeds = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            laws(&String::from_utf8_lossy(
                &fs::read(entry.unwrap().path()).unwrap(),
            ));
            seeds += 1;
        }
        assert!(seeds >= 10, "seeds in {}", folder.display());
    }
}
