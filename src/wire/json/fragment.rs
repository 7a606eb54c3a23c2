//! JSON of our own making.

use std::collections::HashMap;

use super::document::Document;
use super::error::JsonError;
use super::limits::Limits;
use super::strings::push_quoted;
use super::value::Value;

/// A piece of valid, compact JSON, to be put in place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment(String);

impl Fragment {
    pub fn truth() -> Self {
        Self("true".to_owned())
    }

    pub fn falsehood() -> Self {
        Self("false".to_owned())
    }

    pub fn null() -> Self {
        Self("null".to_owned())
    }

    pub fn string(text: &str) -> Self {
        let mut out = String::with_capacity(text.len() + 2);
        push_quoted(&mut out, text);
        Self(out)
    }

    pub fn integer(value: i64) -> Self {
        Self(value.to_string())
    }

    pub fn unsigned(value: u64) -> Self {
        Self(value.to_string())
    }

    pub fn copy_of(value: Value<'_>) -> Self {
        Self(value.text().to_owned())
    }

    /// Any JSON text, checked as strictly as a message, under the default limits.
    pub fn decode(text: &str) -> Result<Self, JsonError> {
        Document::decode(text.as_bytes(), &Limits::default()).map(|read| Self(read.into_text()))
    }

    /// An object. A key given twice keeps its first place and its last value.
    pub fn object<'k>(members: impl IntoIterator<Item = (&'k str, Fragment)>) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut kept: Vec<(&str, Fragment)> = Vec::new();
        for (key, value) in members {
            let place = *places.entry(key).or_insert(kept.len());
            match kept.get_mut(place) {
                Some(member) => member.1 = value,
                None => kept.push((key, value)),
            }
        }
        let mut out = String::from("{");
        for (key, value) in kept {
            push_comma(&mut out);
            push_member(&mut out, key, &value);
        }
        out.push('}');
        Self(out)
    }

    pub fn array(items: impl IntoIterator<Item = Fragment>) -> Self {
        let mut out = String::from("[");
        for item in items {
            push_comma(&mut out);
            out.push_str(item.as_str());
        }
        out.push(']');
        Self(out)
    }

    /// INVARIANT: the caller holds the compact text of a decoded value.
    pub(in crate::wire) fn trusted(json: String) -> Self {
        Self(json)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

pub(super) fn push_member(out: &mut String, key: &str, value: &Fragment) {
    push_quoted(out, key);
    out.push(':');
    out.push_str(value.as_str());
}

fn push_comma(out: &mut String) {
    if out.len() > 1 {
        out.push(',');
    }
}
