//! What was written: bytes, text, and a tree that knows where everything stands.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::errors::{ConfigError, ConfigErrors, ConfigReason};
use super::syntax;

/// Configurations are written by hand; a larger file is a mistake (`/dev/zero`, a log).
const MAX_BYTES: usize = 1 << 20;

/// A parsed file: the tree as far as it could be read, and what could not.
#[derive(Debug)]
pub(super) struct ParsedFile<'t> {
    pub(super) table: DeTable<'t>,
    pub(super) outline: TomlOutline,
    /// The lines on which text could not be read.
    pub(super) broken: Vec<Range<usize>>,
    pub(super) problems: Vec<ConfigError>,
}

/// Where everything in a tree stands.
#[derive(Debug, Default)]
pub(super) struct TomlOutline {
    pub(super) entries: Vec<KeyEntry>,
    /// The insides of quoted strings.
    pub(super) strings: Vec<Range<usize>>,
}

/// One key of the tree, with its dotted path.
#[derive(Debug, Clone)]
pub(super) struct KeyEntry {
    pub(super) path: String,
    pub(super) key: Range<usize>,
    /// For a table that has one, the `[header]`.
    pub(super) value: Range<usize>,
    pub(super) form: TableForm,
}

/// How the value of an entry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableForm {
    /// Under a `[header]`.
    Headed,
    /// After the key.
    Inline,
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
            refuse(ConfigReason::Unreadable(error.to_string()), help)
        })?;
    if bytes.len() > MAX_BYTES {
        return Err(refuse(
            ConfigReason::FileTooLarge,
            "is this the right file?",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(ConfigReason::NotUtf8(at), "save the file as UTF-8")
    })
}

impl<'t> ParsedFile<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let table = table.into_inner();
        let outline = TomlOutline::of(text, &table);
        let (problems, broken) = syntax::tell(text, &outline, &errors);
        Self {
            table,
            outline,
            broken,
            problems,
        }
    }

    /// Whether a place is on a line that could not be read. What stands there means nothing: a
    /// key may even be a piece of a secret that lost its quote.
    pub(super) fn is_broken(&self, place: &Range<usize>) -> bool {
        self.broken.iter().any(|line| touches(line, place))
    }

    /// Keys and headers that reports may show.
    pub(super) fn keys(&self) -> impl Iterator<Item = Range<usize>> {
        let place = |entry: &KeyEntry| match entry.form {
            TableForm::Headed => entry.value.clone(),
            TableForm::Inline => entry.key.clone(),
        };
        self.outline
            .entries
            .iter()
            .map(place)
            .filter(|place| !self.is_broken(place))
    }
}

impl TomlOutline {
    pub(super) fn of(text: &str, table: &DeTable<'_>) -> Self {
        let mut outline = Self::default();
        outline.add_table(text, table, "");
        outline
    }

    fn add_table(&mut self, text: &str, table: &DeTable<'_>, parent: &str) {
        for (key, value) in table {
            let path = join(parent, key.get_ref());
            let place = value.span();
            let bracket = text.as_bytes().get(place.start) == Some(&b'[');
            let headed = bracket && value.get_ref().is_table();
            self.entries.push(KeyEntry {
                path: path.clone(),
                key: key.span(),
                value: place,
                form: if headed {
                    TableForm::Headed
                } else {
                    TableForm::Inline
                },
            });
            self.add_value(text, value, &path);
        }
    }

    fn add_value(&mut self, text: &str, value: &toml::Spanned<DeValue<'_>>, path: &str) {
        let place = value.span();
        if let DeValue::Table(table) = value.get_ref() {
            self.add_table(text, table, path);
        } else if let DeValue::Array(items) = value.get_ref() {
            for (index, item) in items.iter().enumerate() {
                self.add_value(text, item, &format!("{path}[{index}]"));
            }
        } else if text
            .get(place.clone())
            .is_some_and(|it| it.starts_with(['"', '\'']))
        {
            self.strings
                .push(place.start.saturating_add(1)..place.end.saturating_sub(1));
        }
    }
}

/// Two ranges share a byte or meet end to end.
pub(super) fn touches(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start <= right.end && right.start <= left.end
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
