//! The parser's complaints, as reports that an author can use.

use std::ops::Range;

use toml::de::{DeTable, Error};

use super::errors::{ConfigError, ConfigReason};
use super::outline::{KeyEntry, TableForm, TomlOutline, touches};

/// After so many complaints, the file is something else (a log, an image), and each takes a look
/// at the whole of it.
const MAX_COMPLAINTS: usize = 50;

/// One report per complaint that is not a mere consequence of another, and the lines that could
/// not be read.
pub(super) fn tell(
    text: &str,
    outline: &TomlOutline,
    errors: &[Error],
) -> (Vec<ConfigError>, Vec<Range<usize>>) {
    let place = |error: &Error| error.span().unwrap_or(0..0);
    let is_duplicate = |error: &&Error| error.message() == "duplicate key";
    let (errors, more) = errors
        .split_at_checked(MAX_COMPLAINTS)
        .unwrap_or((errors, &[]));
    let broken = errors
        .iter()
        .filter(|error| !is_duplicate(error))
        .map(place);
    let mut broken: Vec<_> = broken.map(|place| lines(text, &place)).collect();
    let unclosed: Vec<_> = errors
        .iter()
        .filter_map(|error| unclosed(text, outline, error.message(), &place(error)))
        .collect();
    let mut problems: Vec<_> = unclosed
        .iter()
        .map(|(_, problem)| problem.clone())
        .collect();
    for error in errors {
        let place = place(error);
        if unclosed
            .iter()
            .any(|(swallowed, _)| touches(swallowed, &place))
        {
            continue;
        }
        if !is_duplicate(&error) {
            problems.push(syntax(text, outline, error.message(), &place));
        } else if !broken.iter().any(|line| touches(line, &place)) {
            problems.push(duplicate(text, outline, &place));
        }
    }
    if let Some(error) = more.first() {
        problems.push(syntax(
            text,
            outline,
            "and more that is not TOML",
            &place(error),
        ));
        broken.push(0..text.len());
    }
    // INVARIANT: a file that the parser complains of is refused, whatever was left out above.
    if let (Some(error), true) = (errors.first(), problems.is_empty()) {
        problems.push(syntax(text, outline, error.message(), &place(error)));
    }
    (problems, broken)
}

fn syntax(text: &str, outline: &TomlOutline, message: &str, place: &Range<usize>) -> ConfigError {
    let written = text.get(place.clone()).unwrap_or_default();
    // The parser takes a bare word for whatever its first letter could begin: `npx` for `nan`.
    let bare = written.starts_with(|c: char| c.is_ascii_alphabetic());
    let misread = bare && message.starts_with("invalid ");
    let reason = if misread {
        "text must be quoted"
    } else {
        message
    };
    ConfigError {
        field: field_at(outline, place)
            .map(|entry| entry.path.clone())
            .unwrap_or_default(),
        reason: ConfigReason::Syntax(reason.to_owned()),
        help: bare.then(|| "as in `\"text\"`; only `true` and `false` are bare words".to_owned()),
        labels: vec![(visible(text, place), "here")],
        snippets: None,
    }
}

/// An array or inline table that is never closed swallows what follows, and the parser complains
/// of each thing in it that does not belong there. What helps is where it was opened.
fn unclosed(
    text: &str,
    outline: &TomlOutline,
    message: &str,
    place: &Range<usize>,
) -> Option<(Range<usize>, ConfigError)> {
    let (open, close) = if message.starts_with("unclosed array,") {
        ('[', ']')
    } else if message.starts_with("unclosed inline table,") {
        ('{', '}')
    } else {
        return None;
    };
    let is_open = |entry: &&KeyEntry| {
        let written = text.get(entry.value.clone()).unwrap_or_default();
        let ends_well = written.ends_with(close) && entry.value.end != place.end;
        entry.form == TableForm::Inline && written.starts_with(open) && !ends_well
    };
    let opened = outline
        .entries
        .iter()
        .filter(is_open)
        .max_by_key(|entry| entry.value.start)?;
    let start = opened.value.start;
    let problem = ConfigError {
        field: opened.path.clone(),
        reason: ConfigReason::Syntax(message.to_owned()),
        help: None,
        labels: vec![(start..start.saturating_add(1), "opened here")],
        snippets: None,
    };
    Some((start..place.end, problem))
}

fn duplicate(text: &str, outline: &TomlOutline, place: &Range<usize>) -> ConfigError {
    let mut labels = vec![(place.clone(), "defined again")];
    let (field, first) = match outline.entries.iter().find(|entry| entry.key == *place) {
        // A second `[header]`: the tree kept its key, not the first one's.
        Some(entry) => (entry.path.clone(), first_header(text, place, &entry.path)),
        None => match original(text, outline, place) {
            Some(entry) => (entry.path.clone(), Some(entry.key.clone())),
            None => (text.get(place.clone()).unwrap_or_default().to_owned(), None),
        },
    };
    labels.extend(first.map(|first| (first, "first defined here")));
    let help = Some("keep one of the two".to_owned());
    ConfigError {
        field,
        reason: ConfigReason::DuplicateKey,
        help,
        labels,
        snippets: None,
    }
}

/// The key that a repeated key repeats: the closest one of the same name before it, in a table
/// that can hold both.
fn original<'o>(
    text: &str,
    outline: &'o TomlOutline,
    repeated: &Range<usize>,
) -> Option<&'o KeyEntry> {
    let name = text.get(repeated.clone())?;
    let inside = |outer: &Range<usize>, inner: &Range<usize>| {
        outer.start < inner.start && inner.end < outer.end
    };
    outline
        .entries
        .iter()
        .filter(|entry| entry.key.start < repeated.start)
        .filter(|entry| text.get(entry.key.clone()) == Some(name))
        .filter(|entry| {
            let mut tables = outline
                .entries
                .iter()
                .filter(|outer| inside(&outer.value, &entry.key));
            tables.all(|outer| inside(&outer.value, repeated))
        })
        .max_by_key(|entry| entry.key.start)
}

/// Where `[path]` stood for the first time: the text before the second one has it in its tree.
fn first_header(text: &str, second: &Range<usize>, path: &str) -> Option<Range<usize>> {
    let before = text.get(..second.start)?;
    let before = before.get(..before.rfind('\n')?)?;
    let (table, _) = DeTable::parse_recoverable(before);
    let outline = TomlOutline::of(before, table.get_ref());
    outline
        .entries
        .into_iter()
        .find(|entry| entry.path == path)
        .map(|entry| entry.key)
}

/// The innermost key whose value an error touches. A header that is broken says nothing of the
/// section it opens.
fn field_at<'o>(outline: &'o TomlOutline, place: &Range<usize>) -> Option<&'o KeyEntry> {
    outline
        .entries
        .iter()
        .filter(|entry| entry.form == TableForm::Inline)
        .filter(|entry| touches(&entry.value, place) || touches(&entry.key, place))
        .max_by_key(|entry| entry.path.len())
}

/// The whole lines of a place, without the end of the last one.
fn lines(text: &str, place: &Range<usize>) -> Range<usize> {
    let before = text.get(..place.start).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    let start = before
        .rfind('\n')
        .map_or(0, |newline| newline.saturating_add(1));
    start
        ..place
            .end
            .saturating_add(after.find('\n').unwrap_or(after.len()))
}

/// A place that a label can be drawn under: something missing at the end of a line is shown at
/// the last character before it.
fn visible(text: &str, place: &Range<usize>) -> Range<usize> {
    let ends_line = text
        .get(place.end..)
        .is_none_or(|after| after.is_empty() || after.starts_with(['\n', '\r']));
    let last = text
        .get(..place.start)
        .and_then(|before| before.char_indices().next_back());
    match last {
        Some((at, c)) if place.is_empty() && ends_line && c != '\n' => at..place.start,
        _ => place.clone(),
    }
}
