//! What a text says, key by key, however it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::outline::join;

/// Keys that are named with their values, and items of a list that are named; of others the list has the
/// number.
pub(super) const FEW: usize = 8;

/// The section that has an effect without a key.
const ALONE: &str = "truncation";

/// Letters of a value that are shown.
const SHOWN: usize = 60;

/// The keys down to a value.
pub(super) type ConfigPath = Vec<String>;

/// What a text says: its values, and its tables that have none.
pub(super) struct ConfigValues(BTreeMap<ConfigPath, ConfigValue>);

#[derive(PartialEq, Eq)]
pub(super) enum ConfigValue {
    Table,
    List(Vec<String>),
    Other {
        text: String,
        /// Where it stands, if it is a number: nothing tells that it ends where the file does.
        number: Option<Range<usize>>,
    },
}

impl ConfigValues {
    pub(super) fn of(text: &str) -> Self {
        let mut said = BTreeMap::new();
        if let Ok(root) = DeTable::parse(text) {
            walk(root.get_ref(), &ConfigPath::new(), &mut said);
        }
        Self(said)
    }

    /// Each path at which two texts differ.
    pub(super) fn differing<'s>(&'s self, other: &'s Self) -> BTreeSet<&'s ConfigPath> {
        let paths = self.0.keys().chain(other.0.keys());
        let same = |path: &ConfigPath| match (self.0.get(path), other.0.get(path)) {
            (Some(one), Some(other)) => one.is(other),
            // An empty table is the same as one that has something in it.
            (Some(ConfigValue::Table), None) => other.has(path),
            (None, Some(ConfigValue::Table)) => self.has(path),
            (_, _) => false,
        };
        paths.filter(|path| !same(path)).collect()
    }

    pub(super) fn value(&self, path: &ConfigPath) -> Option<&ConfigValue> {
        self.0.get(path)
    }

    /// The paths that the other text lacks, each up to its first part that is not there: a table that is
    /// gone is one path.
    pub(super) fn lacking_in<'s>(&'s self, other: &Self) -> BTreeSet<&'s [String]> {
        let lacking = self.0.keys().filter(|path| !other.has(path));
        let first = lacking.map(|path| {
            let parts = |parts: usize| path.get(..parts).unwrap_or(path);
            let mut all = (1..=path.len()).map(parts);
            all.find(|part| !other.has(part)).unwrap_or(path)
        });
        first.collect()
    }

    /// Numbers that another text does not have, and that nothing follows.
    pub(super) fn cut_after<'s>(
        &'s self,
        other: &'s Self,
        ends: impl Fn(&Range<usize>) -> bool + 's,
    ) -> impl Iterator<Item = &'s ConfigPath> {
        let is_cut = move |(path, value): &(&ConfigPath, &ConfigValue)| {
            let is_new = !other.value(path).is_some_and(|was| was.is(value));
            matches!(value, ConfigValue::Other { number: Some(place), .. } if is_new && ends(place))
        };
        self.0.iter().filter(is_cut).map(|(path, _)| path)
    }

    /// Whether anything stands there, or below.
    pub(super) fn has(&self, path: &[String]) -> bool {
        let first = self.0.range(path.to_vec()..).next();
        first.is_some_and(|(found, _)| found.starts_with(path))
    }
}

impl ConfigValue {
    /// Wherever it stands.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Other { text: one, .. }, Self::Other { text: other, .. }) => one == other,
            (one, other) => one == other,
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Table => "{}".to_owned(),
            Self::List(items) => format!("[{}]", some(items)),
            Self::Other { text, .. } => short(text),
        }
    }
}

fn walk(table: &DeTable<'_>, above: &ConfigPath, said: &mut BTreeMap<ConfigPath, ConfigValue>) {
    for (key, value) in table {
        let mut path = above.clone();
        path.push(key.get_ref().to_string());
        let place = value.span();
        let value = match value.get_ref() {
            // An empty section has no effect, with one exception.
            DeValue::Table(inside)
                if !inside.is_empty() || (above.is_empty() && key.get_ref() != ALONE) =>
            {
                walk(inside, &path, said);
                continue;
            }
            DeValue::Table(_) => ConfigValue::Table,
            DeValue::Array(items) => {
                ConfigValue::List(items.iter().map(|item| plain(item.get_ref())).collect())
            }
            number @ (DeValue::Integer(_) | DeValue::Float(_)) => ConfigValue::Other {
                text: plain(number),
                number: Some(place),
            },
            other @ (DeValue::String(_) | DeValue::Boolean(_) | DeValue::Datetime(_)) => {
                ConfigValue::Other {
                    text: plain(other),
                    number: None,
                }
            }
        };
        said.insert(path, value);
    }
}

/// The value as it is compared, and as it is shown.
fn plain(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", text.escape_debug()),
        DeValue::Integer(number) => {
            let read = i128::from_str_radix(number.as_str(), number.radix());
            read.map_or_else(|_| number.to_string(), |number| number.to_string())
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse::<f64>();
            read.map_or_else(|_| number.to_string(), |number| number.to_string())
        }
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Datetime(when) => when.to_string(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| plain(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) => {
            let entries = table.iter().map(|(key, value)| {
                let (key, value) = (key.get_ref(), plain(value.get_ref()));
                format!("\"{}\" = {value}", key.escape_debug())
            });
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn some(items: &[String]) -> String {
    let some: Vec<String> = items.iter().take(FEW).map(|item| short(item)).collect();
    match items.len().saturating_sub(FEW) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// As reports name it.
pub(super) fn dotted(path: &[String]) -> String {
    path.iter()
        .fold(String::new(), |above, key| join(&above, key))
}
