//! Roots under names of the agent's: what lies at `/srv/project` for the server is `/workspace` for the
//! agent. Paths go in as the server knows them, before anything is judged, and come back as the agent does.

use super::super::location::{Containment, Location};
use super::roots::{Root, Roots, VirtualPath};

/// Why a root cannot have another path for agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VirtualPathError {
    #[error("is no absolute path that all readers take for the same place")]
    NoPath,
    #[error("stands for a root of files, and this one is none")]
    NoFiles,
    #[error("is a path with the letter of a drive, or stands for one")]
    Drive,
    #[error("is the top of all paths, or stands for it")]
    Top,
}

impl Root {
    /// The same root, which agents know by this path.
    ///
    /// # Errors
    /// [`VirtualPathError`] when one of the two is no path of POSIX below the top.
    pub fn seen_as(&mut self, text: &str) -> Result<(), VirtualPathError> {
        let place = Location::of_path(text).ok_or(VirtualPathError::NoPath)?;
        let own = self.location().path().ok_or(VirtualPathError::NoFiles)?;
        let shown = place.path().ok_or(VirtualPathError::NoPath)?;
        if !own.starts_with('/') || !shown.starts_with('/') {
            return Err(VirtualPathError::Drive);
        }
        if own == "/" || shown == "/" {
            return Err(VirtualPathError::Top);
        }
        let mut spellings = vec![(own.clone(), shown.clone())];
        if let (Some(own), Some(shown)) = (in_uri(self.location()), in_uri(&place))
            && own != self.location().path().unwrap_or_default()
        {
            spellings.push((own, shown));
        }
        self.guise = Some(VirtualPath { place, spellings });
        Ok(())
    }
}

impl Roots {
    /// Whether agents know any root by a path of its own.
    pub fn have_guises(&self) -> bool {
        self.iter()
            .chain(self.of_each())
            .any(|root| root.guise.is_some())
    }

    /// A root whose path for agents could be taken for another place: it lies above, in, or at another
    /// root or another such path.
    pub fn mistakable(&self) -> Option<(&str, &str)> {
        let meet = |one: &Location, other: &Location| {
            one.below(other) != Containment::No || other.below(one) != Containment::No
        };
        let all = || self.iter().chain(self.of_each());
        all().find_map(|root| {
            let guise = root.guise.as_ref()?;
            let other = all().find(|other| {
                let other_guise = other.guise.as_ref().filter(|_| other.name != root.name);
                meet(&guise.place, other.location())
                    || other_guise.is_some_and(|it| meet(&guise.place, &it.place))
            })?;
            Some((root.name.as_str(), other.name.as_str()))
        })
    }

    /// Whether a message may name one of them in the server's words: as they are, or behind escapes, which
    /// some names need.
    pub fn may_be_named_in(&self, json: &str) -> bool {
        let mut guises = self.iter().filter_map(|root| root.guise.as_ref());
        // A root's path has no control characters.
        let is_escaped = |c: char| matches!(c, '"' | '\\');
        let names = |guise: &VirtualPath| {
            let mut all = guise.spellings.iter();
            all.any(|(own, _)| json.contains(own) || own.contains(is_escaped))
        };
        json.contains("\\u") || json.contains("\\/") || guises.any(names)
    }

    /// A path or the URI of a file as the server knows it; `None` where agents call it the same.
    ///
    /// A path without one location stays unchanged, and lies outside of everything.
    pub fn inward(&self, text: &str) -> Option<String> {
        let place = Location::of_file(text)?;
        let (root, guise) = self.iter().find_map(|root| {
            let guise = root.guise.as_ref()?;
            (place.below(&guise.place) == Containment::Yes).then_some((root, guise))
        })?;
        place
            .moved(&guise.place, root.location())?
            .spelled_like(text)
    }

    /// A text in which roots stand as the agent knows them; `None` where none is named.
    pub fn outward(&self, text: &str) -> Option<String> {
        let mut spellings: Vec<&(String, String)> = self
            .iter()
            .filter_map(|root| root.guise.as_ref())
            .flat_map(|guise| &guise.spellings)
            .filter(|(own, _)| text.contains(own.as_str()))
            .collect();
        if spellings.is_empty() {
            return None;
        }
        // Of roots in each other, the inner one is meant.
        spellings.sort_by_key(|(own, _)| std::cmp::Reverse(own.len()));
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut changed = false;
        loop {
            let found = spellings.iter().find_map(|(own, shown)| {
                let after = rest.strip_prefix(own.as_str())?;
                (begins(before(text, rest)) && ends(after)).then_some((shown, after))
            });
            if let Some((shown, after)) = found {
                out.push_str(shown);
                rest = after;
                changed = true;
                continue;
            }
            let mut chars = rest.chars();
            let Some(next) = chars.next() else {
                break;
            };
            out.push(next);
            rest = chars.as_str();
        }
        changed.then_some(out)
    }
}

/// What of a text stands before its rest.
fn before<'t>(text: &'t str, rest: &str) -> &'t str {
    text.get(..text.len().saturating_sub(rest.len()))
        .unwrap_or_default()
}

/// Whether a path can begin after what stands before it: `/srv` in `/mnt/srv` is another place, and in
/// `file:///srv` it is the same.
fn begins(before: &str) -> bool {
    if before.ends_with("file://") || before.ends_with("file://localhost") {
        return true;
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '%' | '/');
    !before.ends_with(is_name)
}

/// Whether a path can end before what follows: `/srv` in `/srv2` or `/srv.old` is another place.
fn ends(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        Some('.') => !chars
            .next()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')),
        Some(c) => !(c.is_alphanumeric() || matches!(c, '_' | '-' | '~' | '%')),
        None => true,
    }
}

/// The path of a place as it stands in the URI of a file.
fn in_uri(place: &Location) -> Option<String> {
    let uri = place.spelled_like("file:///")?;
    uri.strip_prefix("file://").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn roots(all: &[(&str, Option<&str>)]) -> Roots {
        let root = |(index, (path, guise)): (usize, &(&str, Option<&str>))| {
            let mut root = Root::at(&format!("root-{index}"), path).unwrap();
            if let Some(guise) = guise {
                root.seen_as(guise).unwrap();
            }
            root
        };
        Roots::new(all.iter().enumerate().map(root).collect())
    }

    fn two() -> Roots {
        roots(&[
            ("/srv/project", Some("/workspace")),
            ("/srv/project/secret", None),
            ("/home/me/my notes", Some("/notes")),
        ])
    }

    #[test]
    fn paths_go_in_as_the_server_knows_them() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(two().inward(text).as_deref(), expected, "{text}");
        };
        check("/workspace", Some("/srv/project"));
        check("/workspace/a/../b.txt", Some("/srv/project/b.txt"));
        check("/notes/x", Some("/home/me/my notes/x"));
        check(
            "file:///notes/x%20y",
            Some("file:///home/me/my%20notes/x%20y"),
        );
        check("file:///workspace/a", Some("file:///srv/project/a"));
        // Elsewhere, or nowhere.
        check("/workspace/../etc/passwd", None);
        check("/workspaces/a", None);
        check("/Workspace/a", None);
        check("/srv/project/a", None);
        check("workspace/a", None);
        check("/workspace/%2e%2e/a", None);
        check("notes://workspace/a", None);
    }

    #[test]
    fn a_name_that_json_escapes_is_looked_for_in_every_message() {
        for (path, text) in [
            ("/srv/project", r#"{"a":"/srv/project/a"}"#),
            ("/srv/project", r#"{"a":"\u002fsrv/project/a"}"#),
            ("/srv/a\"b", r#"{"a":"/srv/a\"b/a"}"#),
        ] {
            assert!(
                roots(&[(path, Some("/workspace"))]).may_be_named_in(text),
                "{text}"
            );
        }
        assert!(!two().may_be_named_in(r#"{"a":"/srv/other"}"#));
    }

    #[test]
    fn texts_come_back_as_the_agent_knows_the_places() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(two().outward(text).as_deref(), expected, "{text}");
        };
        check("/srv/project", Some("/workspace"));
        check("wrote /srv/project/a.txt.", Some("wrote /workspace/a.txt."));
        check(
            "in `/srv/project`, and /srv/project/b",
            Some("in `/workspace`, and /workspace/b"),
        );
        check("(/srv/project).", Some("(/workspace)."));
        check("file:///srv/project/a", Some("file:///workspace/a"));
        check("file:///home/me/my%20notes/a", Some("file:///notes/a"));
        check("/home/me/my notes/a", Some("/notes/a"));
        check("\"/srv/project/secret/a\"", Some("\"/workspace/secret/a\""));
        // Other places.
        check("/srv/project2/a", None);
        check("/srv/project.old", None);
        check("/mnt/srv/project/a", None);
        check("./srv/project", None);
        check("/srv/projec", None);
        check("", None);
    }

    #[test]
    fn a_path_for_agents_that_could_be_another_place_is_told() {
        let check = |all: &[(&str, Option<&str>)], expected: bool| {
            assert_eq!(roots(all).mistakable().is_some(), expected, "{all:?}");
        };
        check(&[("/srv/a", Some("/a")), ("/srv/b", Some("/b"))], false);
        check(&[("/srv/a", Some("/w")), ("/srv/b", Some("/w/b"))], true);
        check(&[("/srv/a", Some("/srv"))], true);
        check(&[("/srv/a", Some("/srv/b")), ("/srv/b", None)], true);
        check(&[("/srv/a", Some("/srv/b/c")), ("/srv/b", None)], true);
        check(&[("/srv/a", Some("/W")), ("/w", None)], true);
    }

    #[test]
    fn what_is_no_path_of_files_stands_for_nothing() {
        let check = |path: &str, guise: &str, problem: VirtualPathError| {
            let mut root = Root::at("r", path).unwrap();
            assert_eq!(root.seen_as(guise), Err(problem), "{path} {guise}");
        };
        check("/srv/a", "workspace", VirtualPathError::NoPath);
        check("/srv/a", "/%2e%2e", VirtualPathError::NoPath);
        check("/srv/a", "/", VirtualPathError::Top);
        check("/", "/workspace", VirtualPathError::Top);
        check("notes://team", "/workspace", VirtualPathError::NoFiles);
        check("C:\\data", "/workspace", VirtualPathError::Drive);
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_back(parts in prop::collection::vec("[a-z][a-z é-]{0,4}[a-z]", 0..5)) {
            let text = format!("/workspace/{}", parts.join("/"));
            let text = text.trim_end_matches('/');
            let inward = two().inward(text).unwrap();
            let outward = two().outward(&inward);
            prop_assert_eq!(outward.as_deref(), Some(text));
        }

        #[test]
        fn nothing_but_the_places_is_changed(text in "(/srv/project|/workspace|[ -~é/.]){0,8}") {
            if let Some(out) = two().outward(&text) {
                prop_assert_eq!(
                    out.replace("/workspace", "/srv/project"),
                    text.replace("/workspace", "/srv/project")
                );
            }
        }
    }
}
