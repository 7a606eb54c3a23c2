//! What holds for every text that names a place. Also what the fuzz target `uris` asks for.

use crate::policy::location::Location;
use crate::policy::uris::{canonical_template, canonical_uri, with_plain_slashes};

/// A text that has a place has one spelling, which is the same place and its own spelling.
pub(super) fn laws(text: &str) {
    if let Some(canonical) = canonical_uri(text) {
        assert_eq!(
            canonical_uri(&canonical).as_ref(),
            Some(&canonical),
            "{text:?}"
        );
        assert_eq!(
            Location::of_uri(&canonical),
            Location::of_uri(text),
            "{text:?}"
        );
        assert!(canonical.is_ascii(), "{canonical:?}");
        assert!(!canonical.contains(['\\', '#', ' ']), "{canonical:?}");
    }
    if let Some(parted) = with_plain_slashes(text) {
        assert_eq!(canonical_uri(&parted).as_ref(), Some(&parted), "{text:?}");
        assert_eq!(with_plain_slashes(&parted), None, "{text:?}");
        if let Some(canonical) = canonical_uri(text) {
            let path = canonical.split('?').next().unwrap_or_default();
            let again = with_plain_slashes(&canonical);
            assert_eq!(
                again.is_some(),
                path.contains("%2F"),
                "{text:?} {canonical:?}"
            );
        }
    }
    if let Some(canonical) = canonical_template(text) {
        let again = canonical_template(&canonical);
        assert_eq!(again.as_ref(), Some(&canonical), "{text:?}");
        assert_eq!(
            expressions(&canonical),
            expressions(text),
            "{text:?} {canonical:?}"
        );
    }
    let Some(place) = Location::of(text) else {
        return;
    };
    if let Some(path) = place.path() {
        assert_eq!(Location::of_path(&path).as_ref(), Some(&place), "{text:?}");
        let names: Vec<&str> = path.split(['/', '\\']).collect();
        assert!(!names.contains(&"..") && !names.contains(&"."), "{path:?}");
    }
    if let Some(spelled) = place.spelled_like(text) {
        assert_eq!(Location::of(&spelled).as_ref(), Some(&place), "{text:?}");
        assert_eq!(place.spelled_like(&spelled), Some(spelled), "{text:?}");
    }
}

/// What stands between braces, in its order.
fn expressions(template: &str) -> Vec<&str> {
    let inside = template.split('{').skip(1);
    inside.filter_map(|rest| rest.split('}').next()).collect()
}
