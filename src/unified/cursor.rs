//! The cursor of a list of several servers: where the list of each goes on. What is in it needs no seal: each
//! server's gate takes only cursors that its own session was given.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::name_map::NameMap;
use crate::wire::{Document, Fragment, Limits};

/// Servers whose lists go on, by their numbers, and how.
pub(super) type Continued = Vec<(usize, String)>;

pub(super) fn cursor(continued: &Continued, names: &NameMap) -> String {
    let pairs = continued.iter().map(|(server, cursor)| {
        Fragment::array([
            Fragment::string(names.key(*server)),
            Fragment::string(cursor),
        ])
    });
    BASE64_URL_SAFE_NO_PAD.encode(Fragment::array(pairs).as_str())
}

/// `None` for what is no cursor of these servers.
pub(super) fn read(cursor: &str, names: &NameMap) -> Option<Continued> {
    let text = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let document = Document::decode(&text, &Limits::default()).ok()?;
    let pairs = document.root().items().map(|pair| {
        let mut pair = pair.items();
        let (key, cursor) = (pair.next()?.as_str()?, pair.next()?.as_str()?);
        Some((names.number(&key)?, cursor.into_owned()))
    });
    let mut continued: Continued = pairs.collect::<Option<_>>()?;
    continued.sort_unstable();
    continued.dedup_by_key(|(server, _)| *server);
    (!continued.is_empty()).then_some(continued)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::ServerKey;

    fn names() -> NameMap {
        let keys = ["crm", "web"].map(|key| ServerKey::of(key).unwrap());
        keys.into_iter()
            .fold(NameMap::default(), |names, key| names.with(key))
    }

    #[test]
    fn what_is_no_cursor_of_these_servers_is_none() {
        let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        for cursor in [
            "",
            "2",
            "%",
            &encoded("[]"),
            &encoded("{}"),
            &encoded("[[\"crm\"]]"),
            &encoded("[[\"crm\",2]]"),
            &encoded("[[\"mail\",\"2\"]]"),
            &encoded("[[\"crm\",\"2\"]"),
        ] {
            assert_eq!(read(cursor, &names()), None, "{cursor}");
        }
        // Each server's list goes on in one place.
        let twice = encoded("[[\"web\",\"1\"],[\"crm\",\"2\"],[\"web\",\"3\"]]");
        let read = read(&twice, &names()).unwrap();
        assert_eq!(read, [(0, "2".to_owned()), (1, "1".to_owned())]);
    }

    proptest! {
        #[test]
        fn a_cursor_says_where_each_list_goes_on(one in "\\PC{0,20}", other in "\\PC{0,20}") {
            let continued = vec![(0, one), (1, other)];
            prop_assert_eq!(read(&cursor(&continued, &names()), &names()), Some(continued));
        }
    }
}
