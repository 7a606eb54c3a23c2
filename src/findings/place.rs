//! Where something stands.

use std::borrow::Cow;

use miette::{Diagnostic, SourceSpan};
use serde::Serialize;

/// A piece of a file. Lines and columns count from 1, columns in characters (Unicode code points);
/// the end is the first character that is no longer part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSpan {
    /// As the user would write it.
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

impl FileSpan {
    /// Of a whole line, where no more is known.
    pub fn of_line(file: &str, line: usize) -> Self {
        Self {
            file: file.to_owned(),
            line,
            column: 1,
            end_line: line,
            end_column: 1,
        }
    }

    /// The first place that a diagnostic points at.
    pub(super) fn of(diagnostic: &dyn Diagnostic) -> Option<Self> {
        let source = diagnostic.source_code()?;
        let span = *diagnostic.labels()?.next()?.inner();
        let end = span.offset().saturating_add(span.len());
        let contents = source
            .read_span(&SourceSpan::from((0, end)), 0, 0)
            .or_else(|_| source.read_span(&SourceSpan::from((0, span.offset())), 0, 0))
            .ok()?;
        let text = String::from_utf8_lossy(contents.data().get(..end).unwrap_or(contents.data()));
        let before = text.get(..span.offset()).unwrap_or(&text);
        let (mut line, column) = position(before);
        let (mut end_line, end_column) = position(&text);
        let mut file = contents.name()?.to_owned();
        // One text may be several files, each a piece of it with lines of its own.
        let here = source.read_span(&SourceSpan::from((span.offset(), 0)), 0, 0);
        let here = here.ok();
        let here = here.and_then(|it| Some((it.name()?.to_owned(), it.line().saturating_add(1))));
        if let Some((name, own_line)) = here.filter(|(name, _)| *name != file) {
            end_line = end_line.saturating_sub(line).saturating_add(own_line);
            (file, line) = (name, own_line);
        }
        Some(Self {
            file,
            line,
            column,
            end_line,
            end_column,
        })
    }
}

/// A path as code hosts want it: from the current directory, with slashes. What is elsewhere stays
/// as it is.
pub fn relative(file: &str) -> Cow<'_, str> {
    let here = std::env::current_dir().unwrap_or_default();
    let path = std::path::Path::new(file);
    let below = path
        .strip_prefix(&here)
        .or_else(|_| path.strip_prefix("."))
        .unwrap_or(path);
    let text = below.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '\\' {
        Cow::Owned(text.replace('\\', "/"))
    } else {
        text
    }
}

/// The line and column after a text.
fn position(text: &str) -> (usize, usize) {
    let lines = text.matches('\n').count();
    let last = text.rsplit('\n').next().unwrap_or_default();
    (lines + 1, last.chars().count() + 1)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::policy::{PolicyProblem, PolicySource};

    #[test]
    fn places_count_characters_from_one() {
        let check = |text: &str, span: std::ops::Range<usize>, expected: [usize; 4]| {
            let source = PolicySource::new("p/a.cedar", text);
            let problem = PolicyProblem::error("policy::x", "x")
                .in_source(&source)
                .at(span, "here");
            let place = FileSpan::of(&problem).unwrap();
            let found = [place.line, place.column, place.end_line, place.end_column];
            assert_eq!(
                (place.file.as_str(), found),
                ("p/a.cedar", expected),
                "{text:?}"
            );
        };
        check("abc", 0..1, [1, 1, 1, 2]);
        check("a\nbcd\n", 3..5, [2, 2, 2, 4]);
        check("é\u{1F600}x", 6..7, [1, 3, 1, 4]);
        check("a\r\nb", 3..4, [2, 1, 2, 2]);
        check("a\nb\nc", 0..5, [1, 1, 3, 2]);
        check("abc", 3..3, [1, 4, 1, 4]);
        check("", 0..0, [1, 1, 1, 1]);
    }

    #[test]
    fn paths_are_told_from_here_with_slashes() {
        let here = std::env::current_dir().unwrap();
        let below = here.join("p").join("a.cedar");
        assert_eq!(relative(&below.to_string_lossy()), "p/a.cedar");
        assert_eq!(relative("./p/a.cedar"), "p/a.cedar");
        assert_eq!(relative("../p/a.cedar"), "../p/a.cedar");
        assert_eq!(relative("<allowlist>"), "<allowlist>");
    }
}
