//! Arguments that a program would take for its options.
//!
//! Many servers hand what they are called with to a program's command line, where a revision named
//! `--output=/etc/cron.d/x` is no revision.

use super::message_facts::{Arguments, Leaf};
use crate::unseen::is_unseen;

/// The most that are told one by one; of more, one is [`MORE`].
const MOST: usize = 64;

/// Stands for those that are not told: no pointer, so that no list that a policy permits contains it.
const MORE: &str = "?";

/// Where strings begin with a hyphen, as sorted JSON pointers.
///
/// Blanks, quotes and invisible characters before it do not count: servers remove them. Keys are not
/// looked at, and a negative number is a number.
pub fn options(arguments: &Arguments<'_>) -> Vec<String> {
    let found = arguments.0.iter().filter_map(|(pointer, leaf)| match leaf {
        Leaf::String(text) => begins_one(text).then_some(pointer),
        Leaf::Number(_)
        | Leaf::Bool(_)
        | Leaf::Null
        // Its items are leaves of their own.
        | Leaf::Strings(_)
        | Leaf::EmptyObject
        | Leaf::EmptyArray
        | Leaf::Array => None,
    });
    let mut found: Vec<&str> = found.map(String::as_str).take(MOST + 1).collect();
    if found.len() > MOST {
        found.truncate(MOST);
        found.push(MORE);
    }
    found.sort_unstable();
    found.into_iter().map(str::to_owned).collect()
}

fn begins_one(text: &str) -> bool {
    let falls_off = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '`') || is_unseen(c)
    };
    text.trim_start_matches(falls_off).starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(leaves: &[(&str, Leaf<'static>)], expected: &[&str]) {
        let leaves = leaves
            .iter()
            .map(|(pointer, leaf)| ((*pointer).to_owned(), leaf.clone()));
        assert_eq!(options(&Arguments(leaves.collect())), expected);
    }

    fn text(text: &'static str) -> Leaf<'static> {
        Leaf::String(text.into())
    }

    #[test]
    fn whatever_begins_with_a_hyphen_is_told_by_its_place() {
        for option in [
            "--output=/x",
            "-",
            "-x",
            " \t--x",
            "\0-x",
            "\u{a0}-x",
            "\r\n-x",
            "\u{feff}--x",
            "\u{200b}\u{2060}-x",
            "\"--x\"",
            "' -x'",
            "\u{e0061}-x",
            "\u{3164}--output=/x",
            "\u{fff0}\u{fff9}\u{1d173}\u{115f}-x",
        ] {
            check(
                &[("/a", text("HEAD")), ("/revision", text(option))],
                &["/revision"],
            );
        }
        check(
            &[
                ("/b", text("-b")),
                ("/a", Leaf::Strings(vec!["x".into(), "-y".into()])),
                ("/a/0", text("x")),
                ("/a/1", text("-y")),
            ],
            &["/a/1", "/b"],
        );
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for leaf in [
            text("x -y"),
            text("\u{2013}x"),
            text(""),
            Leaf::Number("-1"),
            Leaf::Null,
        ] {
            check(&[("/-a", leaf)], &[]);
        }
    }

    #[test]
    fn beyond_the_most_one_is_told_that_no_list_contains() {
        let check = |count: usize, more: bool| {
            let leaves = (0..count).map(|n| (format!("/a/{n}"), text("-x")));
            let told = options(&Arguments(leaves.collect()));
            assert_eq!(told.len(), count.min(MOST) + usize::from(more));
            assert_eq!(told.iter().any(|one| one == MORE), more, "{count}");
        };
        check(MOST, false);
        check(MOST + 1, true);
        check(1000, true);
    }
}
