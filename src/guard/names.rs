//! What names look like (UTS 39).

use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use unicode_security::confusable_detection::skeleton;

use crate::unseen::is_unseen;

/// The appearance of a name to a reader that does not compare bytes: as written, and in any case.
/// A digest, since a server can choose names of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NameSkeletons([NameSkeleton; 2]);

/// One way in which names can look the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct NameSkeleton([u8; 16]);

impl NameSkeletons {
    pub fn of(name: &str) -> Self {
        // Lower case before as well as after: `I` looks like `l`, and is `i` in lower case.
        let folded = seen(&seen(&name.to_lowercase()).to_lowercase());
        Self([
            NameSkeleton::of(b'=', &seen(name)),
            NameSkeleton::of(b'~', &folded),
        ])
    }

    pub fn each(self) -> impl Iterator<Item = NameSkeleton> {
        self.0.into_iter()
    }
}

impl NameSkeleton {
    fn of(way: u8, text: &str) -> Self {
        let digest = Sha256::new().chain_update([way]).chain_update(text);
        let mut look = Self::default();
        for (to, from) in look.0.iter_mut().zip(digest.finalize()) {
            *to = from;
        }
        look
    }
}

fn seen(name: &str) -> String {
    if !name.is_ascii() {
        return seen_in_full(name);
    }
    // Nothing of ASCII combines with anything, so each letter looks as it does alone: a fifth of what a
    // list of tools costs went into normalising names that need none.
    let alone = |byte: u8| ALONE.get(usize::from(byte)).map_or("", String::as_str);
    name.bytes().map(alone).collect()
}

/// Without what is not seen, and blanks, which are hardly seen.
fn seen_in_full(name: &str) -> String {
    let seen = skeleton(name).filter(|c| !c.is_whitespace() && !is_unseen(*c));
    seen.collect()
}

/// What each character of ASCII looks like.
static ALONE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let all = (0..128_u8).map(char::from);
    all.map(|c| seen_in_full(c.encode_utf8(&mut [0; 4])))
        .collect()
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alike(one: &str, other: &str) -> bool {
        let other = NameSkeletons::of(other);
        NameSkeletons::of(one)
            .each()
            .any(|look| other.each().any(|it| it == look))
    }

    #[test]
    fn names_look_alike_by_letters_width_case_and_what_is_not_seen() {
        for (one, other) in [
            ("safe", "s\u{430}fe"),
            ("safe", "\u{ff53}\u{ff41}\u{ff46}\u{ff45}"),
            ("safe", "sa\u{200b}fe"),
            ("safe", "safe\u{202e}"),
            ("safe", "safe\u{e0041}"),
            ("safe", "safe\u{fe0f}"),
            ("safe", "Safe"),
            ("safe", "\u{405}\u{410}fe"),
            ("safe", "safe "),
            ("caf\u{e9}", "cafe\u{301}"),
            ("list_1", "list_l"),
            ("list_I", "list_l"),
            ("get_0", "get_O"),
            ("item", "itern"),
            ("read_file", "READ_FILE"),
        ] {
            assert!(alike(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn names_that_differ_to_the_eye_do_not_look_alike() {
        for (one, other) in [
            ("read_file", "read_files"),
            ("read_file", "read-file"),
            ("get", "set"),
            ("a1", "a2"),
            ("tool_10", "tool_11"),
            ("caf\u{e9}", "cafe"),
            ("", "a"),
        ] {
            assert!(!alike(one, other), "{one:?} {other:?}");
        }
    }

    proptest! {
        #[test]
        fn names_of_ascii_look_as_they_do_to_whoever_normalises_them(name in "[\\x00-\\x7f]{0,40}") {
            prop_assert_eq!(seen(&name), seen_in_full(&name));
        }

        #[test]
        fn a_name_looks_like_itself_in_any_case(name in "\\PC{0,20}") {
            prop_assert!(alike(&name, &name));
            prop_assert!(alike(&name, &name.to_lowercase()));
        }
    }
}
