//! Whose directories are meant: what a principal and a session are called in paths.

use sha2::{Digest, Sha256};

/// A principal in one of its sessions, each as the one name of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub(super) principal: String,
    pub(super) session: String,
}

/// The longest name; file systems have 255 bytes, and some keep a part of them for themselves.
const MAX_BYTES: usize = 128;

/// How the name of something long begins. No escape does: `s` is no digit of one.
const LONG: &str = "=sha256-";

/// What Windows opens in every directory.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

impl Holder {
    pub fn of(principal: &str, session: &str) -> Self {
        Self {
            principal: directory_name(principal),
            session: directory_name(session),
        }
    }
}

/// One name of a directory, of lower-case letters, digits, `-`, `_` and `=` alone: a file system that
/// does not tell upper from lower case, or forms of Unicode apart, tells these apart. Every other byte is
/// `=` with two hexadecimal digits. Different texts have different names: this can be undone, and a digest
/// stands for what is too long.
fn directory_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for (place, byte) in text.bytes().enumerate() {
        let is_plain = match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' => place > 0 || !is_device(text),
            // Programs take it for an option.
            b'-' => place > 0,
            _ => false,
        };
        if is_plain {
            name.push(char::from(byte));
        } else {
            name.push('=');
            name.extend(hexadecimal(byte));
        }
    }
    if name.is_empty() || name.len() > MAX_BYTES {
        LONG.clone_into(&mut name);
        let digest = Sha256::digest(text);
        name.extend(digest.into_iter().flat_map(hexadecimal));
    }
    name
}

fn is_device(text: &str) -> bool {
    let mut end = text.chars();
    let is_numbered = end.next_back().is_some_and(|last| last.is_ascii_digit())
        && matches!(end.as_str(), "com" | "lpt");
    is_numbered || DEVICES.contains(&text)
}

fn hexadecimal(byte: u8) -> impl Iterator<Item = char> {
    let digits = [byte >> 4, byte & 15];
    let digits = digits.map(|digit| char::from_digit(u32::from(digit), 16));
    digits.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::super::super::location::Location;
    use super::*;

    #[test]
    fn a_principal_is_called_by_one_plain_name() {
        let check = |text: &str, expected: &str| {
            assert_eq!(directory_name(text), expected, "{text:?}");
        };
        check("alice", "alice");
        check("svc-build_7", "svc-build_7");
        check("Alice", "=41lice");
        check("alice@example.com", "alice=40example=2ecom");
        check(".", "=2e");
        check("..", "=2e=2e");
        check("../bob", "=2e=2e=2fbob");
        check("a/b", "a=2fb");
        check("a\0b\n", "a=00b=0a");
        check("=41lice", "=3d41lice");
        check("%2e", "=252e");
        check("~", "=7e");
        check("-rf", "=2drf");
        check("é", "=c3=a9");
        check("e\u{301}", "e=cc=81");
        check("nul", "=6eul");
        check("com1", "=63om1");
        check("com1x", "com1x");
        let empty = "=sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        check("", empty);
        check(empty, &empty.replacen('=', "=3d", 1));
        assert_eq!(directory_name(&"a".repeat(128)), "a".repeat(128));
        assert!(directory_name(&"a".repeat(129)).starts_with(LONG));
        assert!(directory_name(&"é".repeat(128)).starts_with(LONG));
    }

    /// What principals could be called to be taken for each other.
    fn names() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[aA=2e./%~-]{0,6}",
            "(nul|NUL|com1|=6eul|=sha256-[0-9a-f]{0,64})",
            "[aé]{120,140}",
        ]
    }

    /// What a directory's name stands for, if it stands for what it says itself.
    fn undone(name: &str) -> Option<Vec<u8>> {
        if name.starts_with(LONG) {
            return None;
        }
        let mut bytes = Vec::new();
        let mut chars = name.chars();
        while let Some(c) = chars.next() {
            bytes.push(if c == '=' {
                let digits: String = chars.by_ref().take(2).collect();
                u8::from_str_radix(&digits, 16).unwrap()
            } else {
                u8::try_from(c).unwrap()
            });
        }
        Some(bytes)
    }

    proptest! {
        #[test]
        fn every_name_is_one_directory_wherever_it_lies(text in names()) {
            let name = directory_name(&text);
            prop_assert!((1..=MAX_BYTES).contains(&name.len()));
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_=".contains(c);
            prop_assert!(name.chars().all(is_plain));
            prop_assert!(!name.starts_with('-'));
            prop_assert!(!is_device(&name));
            for above in ["/srv", "C:\\srv"] {
                let path = format!("{above}/{name}");
                let place = Location::of_path(&path);
                prop_assert_eq!(place.unwrap().depth(), 2);
            }
        }

        #[test]
        fn different_principals_have_different_directories(one in names(), other in names()) {
            let (name, another) = (directory_name(&one), directory_name(&other));
            prop_assert_eq!(one == other, name == another);
            // On any file system.
            let folded = |name: &str| name.to_lowercase().nfkc().collect::<String>();
            prop_assert_eq!(folded(&name), name.clone());
            if let Some(bytes) = undone(&name) {
                prop_assert_eq!(bytes, one.into_bytes());
            }
        }
    }
}
