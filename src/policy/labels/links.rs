//! The files that a server could open for a path, for code that can read its disk. Nothing here does.

use std::borrow::Cow;

use super::super::location::Location;
use super::super::message_facts::Arguments;
use super::Labels;

impl Labels {
    /// The arguments of a tool that its labels call paths, with their pointers, a relative one as it lies
    /// in the directory that its label names. `None` stands for one that is no text.
    pub fn paths_among(
        &self,
        tool: &str,
        arguments: &Arguments<'_>,
    ) -> Vec<(String, Option<String>)> {
        let found = self.of_tool(tool).paths_among(&self.roots, arguments);
        found
            .map(|(pointer, text)| (pointer.to_string(), text.map(Cow::into_owned)))
            .collect()
    }
}

/// The paths of POSIX that a server could open for a path or the URI of a file: with `..` undone before
/// links are followed, and, where that is another, as it is written. None for a text without a single location.
pub fn opened_as(text: &str) -> Vec<String> {
    let path = Location::of_file(text).and_then(|place| place.path());
    let Some(path) = path.filter(|path| path.starts_with('/')) else {
        return Vec::new();
    };
    let written = Location::opened(text);
    let climbs = |written: &String| written.split('/').any(|name| name == "..");
    let written = written.filter(climbs);
    [path].into_iter().chain(written).collect()
}

/// A path as a path or as the URI of a file, whichever the text is; `None` if it has no canonical spelling.
pub fn spelled_like(path: &str, text: &str) -> Option<String> {
    Location::of_path(path)?.spelled_like(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_opened_with_dots_undone_before_links_are_followed_or_after() {
        let check = |text: &str, expected: &[&str]| assert_eq!(opened_as(text), expected, "{text}");
        check("/srv/a", &["/srv/a"]);
        check("/srv//a/", &["/srv/a"]);
        check("/srv/l/../a", &["/srv/a", "/srv/l/../a"]);
        check("file:///srv/l/../my%20a", &["/srv/my a", "/srv/l/../my a"]);
        check("file://localhost/srv/%2e%2e/a", &["/a", "/srv/../a"]);
        check("C:\\srv\\a", &[]);
        check("srv/a", &[]);
        check("notes://team/a", &[]);
        check("/srv/%2e%2e/a", &[]);
    }

    #[test]
    fn where_a_path_leads_is_written_as_the_path_was() {
        let check = |path: &str, text: &str, expected: Option<&str>| {
            assert_eq!(spelled_like(path, text).as_deref(), expected, "{path}");
        };
        check("/srv/my a", "/x", Some("/srv/my a"));
        check("/srv/my a", "file:///x", Some("file:///srv/my%20a"));
        check("/srv/*", "/x", None);
    }
}
