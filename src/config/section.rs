//! A cursor over one table of the file: asks for keys by name and remembers what it asked for, so
//! that reading a section documents it, and whatever was not asked for is an unknown key.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::errors::ConfigReason;
use super::outline::join;
use super::reader::{ConfigReader, KeyAvailability, UnknownKey};
use crate::policy::table::kind;

/// One table, present or not; an absent one has no values.
pub(super) struct ConfigSection<'r, 't> {
    pub(super) reading: &'r mut ConfigReader<'t>,
    path: String,
    table: Option<&'t DeTable<'t>>,
    /// The key of the table itself.
    place: Option<Range<usize>>,
    asked: Vec<&'static str>,
    availability: KeyAvailability,
    presence: FieldPresence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldPresence {
    Absent,
    Present,
    /// It is there, but not as a table: nothing is known of its keys.
    Unreadable,
}

/// One value with its path and place.
pub(super) struct ConfigField<'t> {
    /// Dotted, as reports name it.
    pub(super) path: String,
    /// The last part of the path, as written.
    pub(super) key: &'t str,
    pub(super) place: Range<usize>,
    pub(super) value: &'t DeValue<'t>,
}

impl<'r, 't> ConfigSection<'r, 't> {
    /// The file itself.
    pub(super) fn root(reading: &'r mut ConfigReader<'t>) -> Self {
        let table = Some(&reading.written.table);
        Self {
            reading,
            path: String::new(),
            table,
            place: None,
            asked: Vec::new(),
            availability: KeyAvailability::Now,
            presence: FieldPresence::Present,
        }
    }

    /// A table inside this one. A wrong type is reported once.
    pub(super) fn section<'s>(&'s mut self, key: &'static str) -> ConfigSection<'s, 't> {
        let field = self.take(key);
        let table = field.and_then(|field| {
            let DeValue::Table(table) = field.value else {
                if !self.reading.has_told_of_type(&field.path) {
                    self.wrong_type(&field, "a table", None);
                }
                return None;
            };
            Some(table)
        });
        let written = self.table.and_then(|it| it.get_key_value(key));
        ConfigSection {
            path: join(&self.path, key),
            table,
            place: written.map(|(key, _)| key.span()),
            asked: Vec::new(),
            availability: self.availability,
            presence: match (written, table) {
                (None, _) => FieldPresence::Absent,
                (Some(_), Some(_)) => FieldPresence::Present,
                (Some(_), None) => FieldPresence::Unreadable,
            },
            reading: &mut *self.reading,
        }
    }

    /// The table that an entry is.
    pub(super) fn table_in<'s>(
        &'s mut self,
        field: &ConfigField<'t>,
    ) -> Option<ConfigSection<'s, 't>> {
        let DeValue::Table(table) = field.value else {
            self.wrong_type(field, "a table", None);
            return None;
        };
        Some(ConfigSection {
            path: field.path.clone(),
            table: Some(table),
            place: Some(field.place.clone()),
            asked: Vec::new(),
            availability: self.availability,
            presence: FieldPresence::Present,
            reading: &mut *self.reading,
        })
    }

    /// From here on, keys of later versions are asked for: their values are checked, but they are
    /// no part of the published schema.
    pub(super) fn not_yet(&mut self) -> &mut Self {
        self.availability = KeyAvailability::Later;
        self
    }

    /// Whether the key was written at all, with a value of any kind.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// The items of an array of tables, each to be read with [`ConfigSection::table_in`]. None if the key
    /// has no array: then [`ConfigSection::section`] reads it.
    pub(super) fn tables(&mut self, key: &'static str) -> Option<Vec<ConfigField<'t>>> {
        let field = self.take(key)?;
        let items = field.value.as_array()?;
        Some(numbered(&field, items))
    }

    /// The item of such an array with this path.
    pub(super) fn item(&mut self, key: &'static str, path: &str) -> Option<ConfigField<'t>> {
        let items = self.tables(key)?;
        items.into_iter().find(|item| item.path == path)
    }

    /// Where it stands, as reports name it.
    pub(super) fn name(&self) -> &str {
        &self.path
    }

    /// Whether the table itself was written.
    pub(super) fn is_present(&self) -> bool {
        self.presence == FieldPresence::Present
    }

    /// The items of an array of strings that are no secrets, each to be read with [`ConfigSection::text`].
    pub(super) fn items(&mut self, key: &'static str, help: &str) -> Option<Vec<ConfigField<'t>>> {
        let field = self.take_shown(key)?;
        let items = self.items_of(&field, help)?;
        for item in &items {
            self.show(item);
        }
        Some(items)
    }

    /// The same of strings that may hold secrets.
    pub(super) fn secret_items(
        &mut self,
        key: &'static str,
        help: &str,
    ) -> Option<Vec<ConfigField<'t>>> {
        let field = self.take(key)?;
        self.items_of(&field, help)
    }

    fn items_of(&mut self, field: &ConfigField<'t>, help: &str) -> Option<Vec<ConfigField<'t>>> {
        let DeValue::Array(items) = field.value else {
            self.wrong_type(field, "an array of strings", Some(help));
            return None;
        };
        Some(numbered(field, items))
    }

    /// All values of a table whose keys the author chooses, in their order in the file.
    pub(super) fn entries(&mut self) -> Vec<ConfigField<'t>> {
        self.reading
            .known
            .insert((without_numbers(&self.path), "*"), self.availability);
        let written = self.reading.written;
        let mut fields = Vec::new();
        for (key, value) in self.table.into_iter().flatten() {
            if !written.is_broken(&key.span()) && !written.is_broken(&value.span()) {
                fields.push(ConfigField {
                    path: join(&self.path, key.get_ref()),
                    key: key.get_ref(),
                    place: value.span(),
                    value: value.get_ref(),
                });
            }
        }
        fields.sort_by_key(|field| field.place.start);
        fields
    }

    /// Keys that stand elsewhere, why they do and where: refused, but not as unknown.
    pub(super) fn elsewhere(&mut self, keys: &[&'static str], reason: &ConfigReason, help: &str) {
        self.not_yet();
        for key in keys {
            if self.take(key).is_some() {
                self.refuse(key, reason.clone(), Some(help));
            }
        }
    }

    /// Says that a key is missing.
    pub(super) fn require(&mut self, key: &'static str, reason: ConfigReason, help: &str) {
        if self.presence != FieldPresence::Unreadable {
            let path = join(&self.path, key);
            self.reading
                .tell(&path, self.place.clone(), reason, Some(help.to_owned()));
        }
    }

    /// Says that the value of a key is wrong, or doubtful: the reason tells which. Points at the
    /// section when the key is not there.
    pub(super) fn refuse(&mut self, key: &str, reason: ConfigReason, help: Option<&str>) {
        let value = self
            .table
            .and_then(|table| table.get(key))
            .map(toml::Spanned::span);
        let place = value.or_else(|| self.place.clone());
        self.reading.tell(
            &join(&self.path, key),
            place,
            reason,
            help.map(str::to_owned),
        );
    }

    /// Refuses those of the keys that were written, because of another setting.
    pub(super) fn only_when(&mut self, keys: &[&str], reason: &'static str, help: &str) {
        for key in keys {
            if self.has(key) {
                self.refuse(key, ConfigReason::Invalid(reason), Some(help));
            }
        }
    }

    /// Says of those of the keys that were written that another setting leaves them without effect.
    pub(super) fn without_effect(&mut self, keys: &[&str], reason: &'static str, help: &str) {
        for key in keys {
            if self.has(key) {
                self.refuse(key, ConfigReason::NoEffect(reason), Some(help));
            }
        }
    }

    /// Refuses an array that was written without items. One whose items are all wrong is not empty.
    pub(super) fn refuse_empty(&mut self, key: &str, reason: &'static str, help: &str) {
        let value = self.table.and_then(|table| table.get(key));
        let items = value.and_then(|value| value.get_ref().as_array());
        if items.is_some_and(|items| items.is_empty()) {
            self.refuse(key, ConfigReason::Invalid(reason), Some(help));
        }
    }

    /// Says that the whole section is wrong, or doubtful.
    pub(super) fn refuse_section(&mut self, reason: ConfigReason, help: &str) {
        self.reading.tell(
            &self.path,
            self.place.clone(),
            reason,
            Some(help.to_owned()),
        );
    }

    /// Says that one value is wrong, or doubtful.
    pub(super) fn tell(
        &mut self,
        field: &ConfigField<'t>,
        reason: ConfigReason,
        help: Option<&str>,
    ) {
        let place = Some(field.place.clone());
        self.reading
            .tell(&field.path, place, reason, help.map(str::to_owned));
    }

    pub(super) fn wrong_type(
        &mut self,
        field: &ConfigField<'t>,
        expected: &'static str,
        help: Option<&str>,
    ) {
        let found = kind(field.value);
        let help = help.or_else(|| quoted_in_vain(field.value));
        self.tell(field, ConfigReason::WrongType { expected, found }, help);
    }

    /// Lets reports show the value of a field; what it contains, if anything, stays hidden.
    pub(super) fn show(&mut self, field: &ConfigField<'t>) {
        if !field.value.is_table() && !field.value.is_array() {
            self.reading.shown.push(field.place.clone());
        }
    }

    /// Keeps reports from showing the keys of this table, which they do otherwise.
    pub(super) fn hide_keys(&mut self) {
        let keys = self.table.into_iter().flatten().map(|(key, _)| key.span());
        self.reading.hidden.extend(keys);
    }

    /// The field of a key, unless it is absent or unreadable.
    pub(super) fn take(&mut self, key: &'static str) -> Option<ConfigField<'t>> {
        self.reading
            .known
            .insert((without_numbers(&self.path), key), self.availability);
        self.reading.words.insert(key);
        self.asked.push(key);
        let (written, value) = self.table?.get_key_value(key)?;
        let field = ConfigField {
            path: join(&self.path, key),
            key: written.get_ref(),
            place: value.span(),
            value: value.get_ref(),
        };
        let is_broken = |place| self.reading.written.is_broken(place);
        (!is_broken(&field.place) && !is_broken(&written.span())).then_some(field)
    }

    /// Reports every key that nothing asked for.
    pub(super) fn finish(self) {
        for (key, _) in self.table.into_iter().flatten() {
            let asked = self.asked.contains(&key.get_ref().as_ref());
            if !asked && !self.reading.written.is_broken(&key.span()) {
                self.reading.unknown.push(UnknownKey {
                    section: self.path.clone(),
                    key: key.get_ref().to_string(),
                    place: key.span(),
                });
            }
        }
    }
}

/// The items of an array.
fn numbered<'t>(
    field: &ConfigField<'t>,
    items: &'t [Spanned<DeValue<'t>>],
) -> Vec<ConfigField<'t>> {
    let item = |(index, item): (usize, &'t Spanned<DeValue<'t>>)| ConfigField {
        path: format!("{}[{index}]", field.path),
        key: field.key,
        place: item.span(),
        value: item.get_ref(),
    };
    items.iter().enumerate().map(item).collect()
}

/// The path of a table of an array is that of the array.
pub(super) fn without_numbers(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default();
    let behind = parts.filter_map(|part| Some(part.split_once(']')?.1));
    std::iter::once(first).chain(behind).collect()
}

/// What to do about a text where none is expected.
fn quoted_in_vain(value: &DeValue<'_>) -> Option<&'static str> {
    let text = value.as_str()?;
    if text.contains("${") {
        Some("variables stand in texts alone: write the value itself")
    } else if text.parse::<i64>().is_ok() || text.parse::<bool>().is_ok() {
        Some("write it without quotes")
    } else {
        None
    }
}
