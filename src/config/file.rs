//! What was written: bytes, text, and a tree that knows where everything stands.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::errors::{ConfigError, ConfigErrors, Reason};

/// Configurations are written by hand; a larger file is a mistake (`/dev/zero`, a log).
const MAX_BYTES: usize = 1 << 20;

/// One key of the tree, with its dotted path.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) key: Range<usize>,
    /// For a table that has one, the `[header]`.
    pub(super) value: Range<usize>,
    kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Headed,
    Other,
}

/// A syntax error, as the parser tells it.
#[derive(Debug)]
struct ParserError {
    message: String,
    span: Option<Range<usize>>,
}

/// A parsed file: the tree as far as it could be read, and what could not.
#[derive(Debug)]
pub(super) struct Written<'t> {
    pub(super) table: DeTable<'t>,
    pub(super) entries: Vec<Entry>,
    /// Where text could not be read; what touches these places says nothing.
    pub(super) broken: Vec<Range<usize>>,
    pub(super) problems: Vec<ConfigError>,
}

/// Reads the whole text of a configuration file.
pub(super) fn read(path: &Path) -> Result<String, ConfigErrors> {
    let refuse = |reason, help: &str| ConfigErrors::about_file(path, reason, help);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| {
            let limit = u64::try_from(MAX_BYTES)
                .unwrap_or(u64::MAX)
                .saturating_add(1);
            file.take(limit).read_to_end(&mut bytes)
        })
        .map_err(|error| {
            let help = "the gate never starts without its configuration: name an existing, \
                        readable file with `--config`";
            refuse(Reason::Unreadable(error.to_string()), help)
        })?;
    if bytes.len() > MAX_BYTES {
        return Err(refuse(Reason::FileTooLarge, "is this the right file?"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(Reason::NotUtf8(at), "save the file as UTF-8")
    })
}

impl<'t> Written<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let table = table.into_inner();
        let mut entries = Vec::new();
        flatten(text, &table, "", &mut entries);
        let mut written = Self {
            table,
            entries,
            broken: Vec::new(),
            problems: Vec::new(),
        };
        for error in errors {
            let error = ParserError {
                message: error.message().to_owned(),
                span: error.span(),
            };
            written.tell(text, error);
        }
        written
    }

    /// Whether a place was hit by a syntax error, so that what stands there means nothing.
    pub(super) fn is_broken(&self, place: &Range<usize>) -> bool {
        self.broken.iter().any(|broken| touches(broken, place))
    }

    /// Keys and headers that reports may show: not on lines that the parser could not read, where
    /// what looks like a key may be part of a string that lost its quote.
    pub(super) fn keys(&self, text: &str) -> Vec<Range<usize>> {
        let line = |place: &Range<usize>| {
            let before = text.get(..place.start).unwrap_or_default();
            let after = text.get(place.end..).unwrap_or_default();
            let start = before.rfind('\n').unwrap_or(0);
            start
                ..place
                    .end
                    .saturating_add(after.find('\n').unwrap_or(after.len()))
        };
        let broken: Vec<_> = self.broken.iter().map(line).collect();
        self.entries
            .iter()
            .map(|entry| match entry.kind {
                EntryKind::Headed => entry.value.clone(),
                EntryKind::Other => entry.key.clone(),
            })
            .filter(|place| !broken.iter().any(|line| touches(line, place)))
            .collect()
    }

    fn tell(&mut self, text: &str, error: ParserError) {
        let span = error.span.unwrap_or(0..0);
        if error.message == "duplicate key" {
            let problem = self.duplicate(text, span);
            self.problems.push(problem);
            return;
        }
        let field = self
            .field_at(&span)
            .map(|entry| entry.path.clone())
            .unwrap_or_default();
        let written = text.get(span.clone()).unwrap_or_default();
        let unquoted = written.starts_with(|c: char| c.is_ascii_alphabetic());
        let help = unquoted.then(|| "text is written in quotes, as in `\"text\"`".to_owned());
        self.problems.push(ConfigError {
            field,
            reason: Reason::Syntax(error.message),
            help,
            labels: vec![(span.clone(), "here")],
            snippets: None,
        });
        self.broken.push(span);
    }

    fn duplicate(&self, text: &str, span: Range<usize>) -> ConfigError {
        let mut labels = vec![(span.clone(), "defined again")];
        let (field, first) = match self.entries.iter().find(|entry| entry.key == span) {
            // A second `[header]`: the tree kept its key, not the first one's.
            Some(entry) => (entry.path.clone(), first_header(text, &span, &entry.path)),
            None => match self.original(text, &span) {
                Some(entry) => (entry.path.clone(), Some(entry.key.clone())),
                None => (text.get(span).unwrap_or_default().to_owned(), None),
            },
        };
        labels.extend(first.map(|first| (first, "first defined here")));
        let help = Some("keep one of the two".to_owned());
        ConfigError {
            field,
            reason: Reason::DuplicateKey,
            help,
            labels,
            snippets: None,
        }
    }

    /// The key that a repeated key repeats: the closest one of the same name before it, in a table
    /// that can hold both.
    fn original(&self, text: &str, repeated: &Range<usize>) -> Option<&Entry> {
        let name = text.get(repeated.clone())?;
        self.entries
            .iter()
            .filter(|entry| entry.key.start < repeated.start)
            .filter(|entry| text.get(entry.key.clone()) == Some(name))
            .filter(|entry| {
                let inside = |outer: &Range<usize>, inner: &Range<usize>| {
                    outer.start < inner.start && inner.end < outer.end
                };
                let inline = self
                    .entries
                    .iter()
                    .find(|outer| inside(&outer.value, &entry.key));
                inline.is_none_or(|outer| inside(&outer.value, repeated))
            })
            .max_by_key(|entry| entry.key.start)
    }

    /// The innermost key whose value an error touches.
    fn field_at(&self, span: &Range<usize>) -> Option<&Entry> {
        self.entries
            .iter()
            .filter(|entry| touches(&entry.value, span) || touches(&entry.key, span))
            .max_by_key(|entry| entry.path.len())
    }
}

/// Two ranges share a byte or meet end to end.
fn touches(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start <= right.end && right.start <= left.end
}

/// Where `[path]` stood for the first time: the text before the second one has it in its tree.
fn first_header(text: &str, second: &Range<usize>, path: &str) -> Option<Range<usize>> {
    let before = text.get(..second.start)?;
    let before = before.get(..before.rfind('\n')?)?;
    let (table, _) = DeTable::parse_recoverable(before);
    let mut entries = Vec::new();
    flatten(before, table.get_ref(), "", &mut entries);
    entries
        .into_iter()
        .find(|entry| entry.path == path)
        .map(|entry| entry.key)
}

fn flatten(text: &str, table: &DeTable<'_>, parent: &str, entries: &mut Vec<Entry>) {
    for (key, value) in table {
        let path = join(parent, key.get_ref());
        let place = value.span();
        let headed = value.get_ref().is_table() && text.as_bytes().get(place.start) == Some(&b'[');
        let kind = if headed {
            EntryKind::Headed
        } else {
            EntryKind::Other
        };
        entries.push(Entry {
            path: path.clone(),
            key: key.span(),
            value: place,
            kind,
        });
        flatten_value(text, value.get_ref(), &path, entries);
    }
}

fn flatten_value(text: &str, value: &DeValue<'_>, path: &str, entries: &mut Vec<Entry>) {
    if let DeValue::Table(table) = value {
        flatten(text, table, path, entries);
    } else if let DeValue::Array(items) = value {
        for (index, item) in items.iter().enumerate() {
            flatten_value(text, item.get_ref(), &format!("{path}[{index}]"), entries);
        }
    }
}

/// A dotted path, its last part quoted where TOML would quote it.
pub(super) fn join(parent: &str, key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let key = if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        format!("\"{}\"", key.escape_debug())
    };
    if parent.is_empty() {
        key
    } else {
        format!("{parent}.{key}")
    }
}
