//! What the values of one argument have in common.

use std::collections::{BTreeMap, BTreeSet};

use super::observation::{ArgumentUse, MOST_VALUES, ToolUse};
use crate::policy::host_in;

/// The most values that a policy lists.
const MOST_LISTED: usize = 8;

/// For each value that a policy lists, so many calls must have been seen. With fewer, it is chance that they
/// are so few.
const CALLS_FOR_EACH: u64 = 4;

/// The longest value that a policy lists, in bytes.
const LONGEST: usize = 64;

/// The most directories of one tool; of more, those above them are taken.
const MOST_DIRECTORIES: usize = 32;

/// What an argument may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Narrowing {
    /// Absolute paths. In a call without the argument, the gate takes it for a path outside.
    Paths(BTreeSet<String>),
    /// URLs of these hosts.
    Hosts(BTreeSet<String>),
    /// One of these strings, in every call.
    Values(BTreeSet<String>),
    Open,
}

impl Narrowing {
    pub(super) fn of(argument: &ArgumentUse, used: &ToolUse) -> Self {
        let values = &argument.values;
        if argument.is_open || values.is_empty() || used.whole < used.calls || used.is_overfull {
            return Self::Open;
        }
        if values.iter().all(|value| is_plain_path(value)) {
            return Self::Paths(values.clone());
        }
        let hosts: Option<BTreeSet<String>> = values.iter().map(|value| host_in(value)).collect();
        if let Some(hosts) = hosts.filter(|hosts| hosts.len() <= MOST_LISTED) {
            return Self::Hosts(hosts);
        }
        let number = u64::try_from(values.len()).unwrap_or(u64::MAX);
        let are_few = values.len() <= MOST_LISTED
            && values.len() < MOST_VALUES
            && number.saturating_mul(CALLS_FOR_EACH) <= argument.calls;
        let are_short = values.iter().all(|value| value.len() <= LONGEST);
        if argument.calls == used.calls && are_few && are_short {
            Self::Values(values.clone())
        } else {
            Self::Open
        }
    }
}

/// Absolute, and in the one spelling that has no second reading.
fn is_plain_path(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else {
        return false;
    };
    let plain = |character: char| {
        character.is_alphanumeric() && character.is_ascii() || "-_.+@ ,=".contains(character)
    };
    let is_plain_name = |name: &str| {
        !name.is_empty()
            && name != "."
            && name != ".."
            && !name.starts_with(' ')
            && !name.ends_with([' ', '.'])
            && name.chars().all(plain)
    };
    rest.split('/').all(is_plain_name)
}

/// Directories that none lies below another of, with all these paths in or below them. `None` if there are too
/// many with nothing in common.
///
/// Several paths beside each other stand for their directory, and a single one for itself.
pub(super) fn directories(paths: &BTreeSet<&String>) -> Option<BTreeSet<String>> {
    let mut children: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        *children.entry(above(path)).or_default() += 1;
    }
    let own = |path: &String| match above(path) {
        parent if !parent.is_empty() && children.get(parent).is_some_and(|count| *count > 1) => {
            parent.to_owned()
        }
        _ => path.clone(),
    };
    let mut found = outermost(&paths.iter().map(|path| own(path)).collect());
    while found.len() > MOST_DIRECTORIES {
        let depth = |path: &String| path.matches('/').count();
        let deepest = found.iter().map(depth).max().unwrap_or(0);
        if deepest < 2 {
            return None;
        }
        let shorter = found.into_iter().map(|path| match depth(&path) {
            depth if depth == deepest => above(&path).to_owned(),
            _ => path,
        });
        found = outermost(&shorter.collect());
    }
    Some(found)
}

/// The path of the directory that a path lies in.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Whether a path is this directory, or lies below it.
pub(super) fn lies_in(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn outermost(paths: &BTreeSet<String>) -> BTreeSet<String> {
    let has_above = |path: &&String| {
        let mut ancestors = std::iter::successors(Some(above(path)), |path| match above(path) {
            "" => None,
            above => Some(above),
        });
        ancestors.any(|above| paths.contains(above))
    };
    let kept = paths.iter().filter(|path| !has_above(path));
    kept.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: &[&str]) -> BTreeSet<String> {
        values.iter().map(|&value| value.to_owned()).collect()
    }

    #[test]
    fn an_argument_is_narrowed_to_what_its_values_have_in_common() {
        let check = |values: &[&str], calls: u64, expected: Narrowing| {
            let argument = ArgumentUse {
                calls,
                values: set(values),
                is_open: false,
            };
            let used = ToolUse {
                calls,
                whole: calls,
                ..ToolUse::default()
            };
            assert_eq!(Narrowing::of(&argument, &used), expected, "{values:?}");
            let cut = ToolUse {
                whole: calls - 1,
                ..used
            };
            assert_eq!(Narrowing::of(&argument, &cut), Narrowing::Open);
        };
        let paths = ["/srv/a.txt", "/srv/b"];
        check(&paths, 1, Narrowing::Paths(set(&paths)));
        for odd in [
            "/",
            "/srv/../etc",
            "/srv//a",
            "srv/a",
            "/srv/a%2f",
            "/srv/",
            "/a\\b",
        ] {
            check(&["/srv/a", odd], 2, Narrowing::Open);
        }
        let urls = ["https://A.example/x", "http://b.example:81/?y"];
        check(&urls, 2, Narrowing::Hosts(set(&["a.example", "b.example"])));
        check(&["https://a.example", "none"], 2, Narrowing::Open);
        check(
            &["json", "xml"],
            8,
            Narrowing::Values(set(&["json", "xml"])),
        );
        check(&["json", "xml"], 7, Narrowing::Open);
        check(&["x".repeat(65).as_str()], 99, Narrowing::Open);
    }

    #[test]
    fn directories_hold_all_paths_and_none_lies_in_another() {
        let check = |paths: &[&str], expected: Option<&[&str]>| {
            let paths = set(paths);
            let found = directories(&paths.iter().collect());
            assert_eq!(found, expected.map(set), "{paths:?}");
        };
        check(&["/srv/a.txt", "/srv/b.txt"], Some(&["/srv"]));
        check(
            &["/srv/a/x.txt", "/srv/a", "/srv/ab/y.txt"],
            Some(&["/srv/a", "/srv/ab/y.txt"]),
        );
        check(&["/a.txt", "/b.txt"], Some(&["/a.txt", "/b.txt"]));
        check(&["/home/me/.config"], Some(&["/home/me/.config"]));
        let many = |path: &dyn Fn(usize) -> String| (0..20_000).map(path).collect::<Vec<String>>();
        let spread = many(&|n| format!("/data/d{n}/x.csv"));
        let spread: Vec<&str> = spread.iter().map(String::as_str).collect();
        check(&spread, Some(&["/data"]));
        let apart = many(&|n| format!("/d{n}/e"));
        let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
        check(&apart, None);
    }
}
