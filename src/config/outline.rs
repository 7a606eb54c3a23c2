//! Where everything in a tree stands.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

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

impl TomlOutline {
    pub(super) fn of(text: &str, table: &DeTable<'_>) -> Self {
        let mut outline = Self::default();
        outline.add_table(text, table, "");
        outline
    }

    /// The entry of a field, or of the nearest table around it.
    pub(super) fn nearest(&self, field: &str) -> Option<&KeyEntry> {
        let ends = field.match_indices(['.', '[']).map(|(end, _)| end);
        let mut ends: Vec<usize> = ends.chain([field.len()]).collect();
        ends.reverse();
        let mut paths = ends.into_iter().filter_map(|end| field.get(..end));
        paths.find_map(|path| self.entries.iter().find(|entry| entry.path == path))
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
