//! The directory from which a server resolves relative paths.

use std::borrow::Cow;

use super::super::location::Location;
use super::{Labels, Roots};

/// The directory from which a server resolves relative paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// By its absolute path, of POSIX or with the letter of a drive.
    At(String),
    /// The directory of its session in which it was started, if there is one.
    Own,
}

/// Why a text is no such directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no absolute path that all readers take for the same place")]
pub struct BaseProblem;

impl Base {
    /// # Errors
    /// [`BaseProblem`] when `path` is relative, or one that readers disagree on.
    pub fn at(path: &str) -> Result<Self, BaseProblem> {
        let place = Location::of_path(path).and_then(|place| place.path());
        place.map(Self::At).ok_or(BaseProblem)
    }

    /// A relative path as it lies in the directory; other texts stay as they are.
    pub(super) fn resolve<'a>(&self, roots: &Roots, text: Cow<'a, str>) -> Cow<'a, str> {
        let directory = match self {
            Self::At(path) => Some(path.as_str()),
            Self::Own => roots.started_in(),
        };
        match directory {
            Some(directory) if is_relative(&text) => {
                format!("{}/{text}", directory.trim_end_matches(['/', '\\'])).into()
            }
            Some(_) | None => text,
        }
    }
}

impl Labels {
    /// For the tools whose labels name paths and no directory.
    pub fn resolve_by_default_from(&mut self, base: &Base) {
        let tools = self.tools.values_mut();
        let tools = tools.chain([&mut self.unlabelled]);
        let tools = tools.chain(self.unlabelled_at.values_mut());
        for tool in tools.filter(|tool| tool.paths.is_some()) {
            tool.base.get_or_insert_with(|| base.clone());
        }
    }
}

/// Whether all readers take a text for a path from a directory on. A text that begins with a blank, a quote,
/// `~` or `-` (an option), and one with a backslash or a colon, is something else to some.
fn is_relative(text: &str) -> bool {
    let begins = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_');
    text.starts_with(begins) && !text.contains(['\\', ':'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_all_readers_take_for_a_relative_path_lies_in_the_directory() {
        let check = |base: &str, text: &str, expected: &str| {
            let resolved = Base::at(base)
                .unwrap()
                .resolve(&Roots::default(), text.into())
                .into_owned();
            assert_eq!(resolved, expected, "{base} {text}");
        };
        check("/srv/work", "a.txt", "/srv/work/a.txt");
        check("/srv/work/", "./a/../b", "/srv/work/./a/../b");
        check("/srv//x/../work", "..", "/srv/work/..");
        check("/", "x", "/x");
        check("C:\\work", "a/b", "C:\\work/a/b");
        check("c:/", "a", "C:/a");
        for text in [
            "",
            "-x",
            "--output=/etc/a",
            " a",
            "~",
            "~/a",
            "~me/a",
            "'a'",
            "\"a\"",
            "@a",
            "/a",
            "\\a",
            "a\\b",
            "C:a",
            "a:b",
            "file:a",
            "%2e%2e/a",
            "*",
            "$HOME/a",
            "\u{202e}a",
        ] {
            check("/srv/work", text, text);
        }
    }

    #[test]
    fn a_directory_has_an_absolute_path() {
        let check = |text: &str, is_one: bool| assert_eq!(Base::at(text).is_ok(), is_one, "{text}");
        check("/srv/work", true);
        check("/", true);
        check("C:\\work", true);
        for text in [
            "",
            "work",
            "./work",
            "~/work",
            "/srv/%2e",
            "/../a",
            "notes://a",
            "//host/a",
        ] {
            check(text, false);
        }
    }

    proptest! {
        #[test]
        fn a_relative_path_never_leaves_the_top_and_names_below_stay_below(
            parts in prop::collection::vec("[a-c.]{1,3}", 1..6),
        ) {
            let text = parts.join("/");
            let base = Base::at("/srv/work").unwrap();
            let resolved = base.resolve(&Roots::default(), text.as_str().into());
            prop_assert!(resolved.starts_with("/srv/work/"));
            if let Some(place) = Location::of_path(&resolved)
                && !parts.iter().any(|part| part == "..")
            {
                let base = Location::of_path("/srv/work").unwrap();
                prop_assert_eq!(place.below(&base), super::super::super::location::Containment::Yes);
            }
        }
    }
}
