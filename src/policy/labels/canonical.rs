//! Paths among arguments, in the one spelling in which they were judged.

use std::collections::BTreeMap;

use super::super::location::{Location, MAX_PATH_BYTES, MAX_URI_BYTES, has_scheme};
use super::super::message_facts::{Arguments, Leaf};
use super::super::uris::NonCanonicalUri;
use super::targets::{MAX_PATHS, MAX_PATHS_BYTES};
use super::{Labels, targets};

/// What is to stand in place of each path, by its JSON pointer among the arguments (RFC 6901). Only
/// those that are written otherwise.
pub type CanonicalPaths = BTreeMap<String, String>;

/// Why paths of a call cannot be written in one way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalPathError {
    #[error("the gate was not told which arguments of this tool are paths")]
    Undeclared,
    /// By its pointer among the arguments.
    #[error("what stands at `{}` is no path that all readers take for the same place", .0.escape_debug())]
    Unclear(String),
    /// More paths, or bytes of paths, than are looked at.
    #[error(
        "the call names more than {MAX_PATHS} paths, or paths of more than {MAX_PATHS_BYTES} bytes in all"
    )]
    TooManyPaths,
    #[error("what stands at `{}` is a path of more than {MAX_PATH_BYTES} bytes", .0.escape_debug())]
    LongPath(String),
    #[error("what stands at `{}` leads over links that cannot be followed", .0.escape_debug())]
    Astray(String),
    #[error("the path at `{}` leads elsewhere by a symbolic link, or cannot be followed", .0.escape_debug())]
    Link(String),
    #[error(
        "no URI of a resource stands at `{}` that all readers take for the same one: {odd}",
        .pointer.escape_debug()
    )]
    NoUri {
        pointer: String,
        odd: NonCanonicalUri,
    },
    /// Of a method of an extension.
    #[error(
        "the name of a member is a URI that is not written as all readers take it, or one of a file: \
         names are sent as they are"
    )]
    Name,
}

impl Labels {
    /// Whether the gate can look at the paths of a call of this tool. What is beyond the bounds counts as
    /// outside of every root where policies are asked, and is refused where they permit that.
    ///
    /// # Errors
    /// [`CanonicalPathError::TooManyPaths`] and [`CanonicalPathError::LongPath`].
    pub fn bound_paths(
        &self,
        tool: &str,
        arguments: &Arguments<'_>,
    ) -> Result<(), CanonicalPathError> {
        let paths: Vec<_> = self
            .of_tool(tool)
            .paths_among(&self.roots, arguments)
            .collect();
        if !targets::are_few(paths.iter().map(|(_, text)| text.as_deref())) {
            return Err(CanonicalPathError::TooManyPaths);
        }
        let is_long = |text: &str| {
            let most = if has_scheme(text) {
                MAX_URI_BYTES
            } else {
                MAX_PATH_BYTES
            };
            text.len() > most
        };
        let long = paths
            .into_iter()
            .find(|(_, text)| text.as_deref().is_some_and(is_long));
        long.map_or(Ok(()), |(pointer, _)| {
            Err(CanonicalPathError::LongPath(pointer.to_string()))
        })
    }

    /// The paths of a call of this tool, as far as they are not written in the one spelling already:
    /// absolute, without `.`, `..` and what is empty; the URI of a file stays one.
    ///
    /// # Errors
    /// [`CanonicalPathError`] where some path has no such spelling, or no label names the paths.
    pub fn canonical_paths(
        &self,
        tool: &str,
        arguments: &Arguments<'_>,
    ) -> Result<CanonicalPaths, CanonicalPathError> {
        let labels = self.of_tool(tool);
        let pointers = labels.paths.as_deref();
        let pointers = pointers.ok_or(CanonicalPathError::Undeclared)?;
        let mut paths = CanonicalPaths::new();
        let written = targets::found_at(arguments, pointers);
        for ((pointer, text), (_, written)) in
            labels.paths_among(&self.roots, arguments).zip(written)
        {
            let text = text.as_deref();
            let canonical = text.and_then(|text| Location::of_file(text)?.spelled_like(text));
            let Some(canonical) = canonical else {
                return Err(CanonicalPathError::Unclear(pointer.to_string()));
            };
            if written.as_deref() != Some(&canonical) {
                paths.insert(pointer.to_string(), canonical);
            }
        }
        Ok(paths)
    }
}

impl Arguments<'_> {
    /// The same with these strings in place of those at their pointers.
    #[must_use]
    pub fn with(&self, strings: &CanonicalPaths) -> Self {
        let mut arguments = self.clone();
        for (pointer, leaf) in &mut arguments.0 {
            match leaf {
                Leaf::String(text) => {
                    if let Some(other) = strings.get(pointer) {
                        *text = other.clone().into();
                    }
                }
                Leaf::Strings(items) => {
                    for (index, item) in items.iter_mut().enumerate() {
                        if let Some(other) = strings.get(&format!("{pointer}/{index}")) {
                            *item = other.clone().into();
                        }
                    }
                }
                Leaf::Number(_)
                | Leaf::Bool(_)
                | Leaf::Null
                | Leaf::EmptyObject
                | Leaf::EmptyArray
                | Leaf::Array => {}
            }
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::fixture::World;
    use super::super::{Base, ToolLabels};
    use super::*;

    fn labels(paths: Option<&[&str]>) -> Labels {
        let paths = paths.map(|paths| paths.iter().map(ToString::to_string).collect());
        Labels {
            unlabelled: ToolLabels {
                paths,
                ..ToolLabels::default()
            },
            ..Labels::default()
        }
    }

    fn one(text: &str) -> Result<String, CanonicalPathError> {
        let world = World::new().with(&[("/path", text)]);
        let paths = labels(Some(&["/path"])).canonical_paths("t", &world.arguments)?;
        let path = paths.get("/path").cloned();
        Ok(path.unwrap_or_else(|| text.to_owned()))
    }

    #[test]
    fn a_path_has_one_spelling_and_the_uri_of_a_file_stays_one() {
        let check = |text: &str, expected: &str| {
            assert_eq!(one(text).as_deref(), Ok(expected), "{text}");
        };
        check("/srv/data", "/srv/data");
        check("/srv//x/.././data/", "/srv/data");
        check("/..x/", "/..x");
        check("/srv/..", "/");
        check("/srv/my notes/é", "/srv/my notes/é");
        check("c:/srv\\x/../data", "C:\\srv\\data");
        check("c:\\", "C:\\");
        check("file:///srv/a/../data", "file:///srv/data");
        check("FILE://localhost/srv/my%20notes", "file:///srv/my%20notes");
        check("file:///srv/%c3%a9/", "file:///srv/%C3%A9");
    }

    #[test]
    fn a_relative_path_has_the_one_spelling_of_its_place() {
        let check = |text: &str, expected: &str| {
            let mut labels = labels(Some(&["/path"]));
            labels.resolve_by_default_from(&Base::at("/srv/work").unwrap());
            let world = World::new().with(&[("/path", text)]);
            let paths = labels.canonical_paths("t", &world.arguments).unwrap();
            let path = paths.get("/path").map_or(text, String::as_str);
            assert_eq!(path, expected, "{text}");
        };
        check("a.txt", "/srv/work/a.txt");
        check("./x/../a.txt", "/srv/work/a.txt");
        check("../b", "/srv/b");
        check("/a", "/a");
    }

    #[test]
    fn what_has_no_one_spelling_is_told_by_its_pointer() {
        for text in [
            "a",
            "../a",
            "/srv/../../a",
            "/srv/%2e%2e/a",
            "~/a",
            "notes://team/a",
            "",
        ] {
            let expected = CanonicalPathError::Unclear("/path".to_owned());
            assert_eq!(one(text), Err(expected), "{text}");
        }
        let world = World::new().with(&[("/path", "/a")]);
        let undeclared = labels(None).canonical_paths("t", &world.arguments);
        assert_eq!(undeclared, Err(CanonicalPathError::Undeclared));
        let none = labels(Some(&[])).canonical_paths("t", &world.arguments);
        assert_eq!(none, Ok(CanonicalPaths::new()));
    }

    #[test]
    fn each_item_of_an_array_has_its_spelling_and_other_arguments_stay() {
        let items = ["/a/../b", "/c", "/d/"];
        let mut world = World::new().with(&[("/other", "/x/../y")]);
        let strings = items.iter().map(|it| (*it).into()).collect();
        world
            .arguments
            .0
            .push(("/paths".to_owned(), Leaf::Strings(strings)));
        for (index, item) in items.iter().enumerate() {
            let leaf = Leaf::String((*item).into());
            world.arguments.0.push((format!("/paths/{index}"), leaf));
        }
        let labels = labels(Some(&["/paths", "/paths/0", "/absent"]));
        let paths = labels.canonical_paths("t", &world.arguments).unwrap();
        let expected = [("/paths/0", "/b"), ("/paths/2", "/d")];
        let expected = expected.map(|(at, text)| (at.to_owned(), text.to_owned()));
        assert_eq!(paths, CanonicalPaths::from(expected));
        let again = world.arguments.with(&paths);
        let all = ["/b", "/c", "/d"].map(Into::into).to_vec();
        assert!(again.0.contains(&("/paths".to_owned(), Leaf::Strings(all))));
        assert!(
            again
                .0
                .contains(&("/paths/2".to_owned(), Leaf::String("/d".into())))
        );
        assert!(
            again
                .0
                .contains(&("/other".to_owned(), Leaf::String("/x/../y".into())))
        );
    }

    proptest! {
        #[test]
        fn the_one_spelling_is_the_same_place_and_its_own_spelling(
            start in prop::sample::select(vec!["/", "c:\\", "file:///", "file:///c:/"]),
            parts in prop::collection::vec("[a-c%é .]{0,3}|\\.\\.|\\.", 0..6),
        ) {
            let text = format!("{start}{}", parts.join("/"));
            if let Ok(canonical) = one(&text) {
                prop_assert_eq!(Location::of_file(&canonical), Location::of_file(&text));
                prop_assert_eq!(one(&canonical).unwrap(), canonical);
            }
        }
    }
}
