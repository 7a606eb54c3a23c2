//! Definitions to a lock, and a lock to its text.

use sha2::{Digest, Sha256};

use crate::wire::{Document, Value};

use super::text::{break_line, pretty, push_quoted};
use super::{Entry, LIMITS, LockFile, VERSION};

/// A definition that no lock can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("a tool has no `name` that is a string with something in it, and no controls")]
    Name,
    #[error("`{0}` is defined more than once, in different ways")]
    Twice(String),
    #[error("`{name}`: its `{member}` is not {wanted}")]
    Member {
        name: String,
        member: &'static str,
        wanted: &'static str,
    },
}

impl LockFile {
    /// Adds one item of a list of tools.
    ///
    /// # Errors
    /// [`Unfit`] for what the gate would not show to anybody.
    pub fn add(&mut self, tool: Value<'_>) -> Result<(), Unfit> {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(Unfit::Name);
        }
        let member = |member, wanted| Unfit::Member {
            name: name.to_string(),
            member,
            wanted,
        };
        if !tool.get("inputSchema").is_some_and(Value::is_object) {
            return Err(member("inputSchema", "an object"));
        }
        let description = tool.get("description");
        if description.is_some_and(|it| it.as_str().is_none()) {
            return Err(member("description", "a string"));
        }
        let entry = Entry {
            definition: tool.canonical(),
            line: 0,
        };
        match self.tools.get(&*name) {
            Some(earlier) if earlier.definition != entry.definition => {
                Err(Unfit::Twice(name.into_owned()))
            }
            Some(_) => Ok(()),
            None => {
                self.tools.insert(name.into_owned(), entry);
                Ok(())
            }
        }
    }

    /// The text of the file: the same for the same definitions, however a server writes them.
    pub fn text(&self) -> String {
        let mut out = format!("{{\n  \"version\": {VERSION},\n  \"tools\": [");
        for (index, (name, entry)) in self.tools.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            break_line(2, &mut out);
            out.push('{');
            for (key, value) in [
                ("name", name.as_str()),
                ("sha256", &digest(&entry.definition)),
            ] {
                break_line(3, &mut out);
                out.push_str(&format!("\"{key}\": {},", quoted(value)));
            }
            break_line(3, &mut out);
            out.push_str("\"definition\": ");
            definition(&entry.definition, 3, &mut out);
            break_line(2, &mut out);
            out.push('}');
        }
        if !self.tools.is_empty() {
            break_line(1, &mut out);
        }
        out.push_str("]\n}\n");
        out
    }
}

impl LockFile {
    /// The definition of a tool as people compare it.
    pub fn shown(&self, name: &str) -> Option<String> {
        let mut out = String::new();
        definition(self.definition(name)?, 0, &mut out);
        Some(out)
    }
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::new();
    push_quoted(text, &mut out);
    out
}

/// Lower-case hexadecimal.
pub(super) fn digest(definition: &str) -> String {
    let digest = Sha256::digest(definition);
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .filter_map(|nibble| char::from_digit(u32::from(nibble), 16))
        .collect()
}

/// What people look at first comes first.
const ORDER: [&str; 5] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
];

/// The definition without its name; a description of many lines as an array of them.
fn definition(text: &str, indent: usize, out: &mut String) {
    // It is canonical JSON of our own making.
    let Ok(document) = Document::decode(text.as_bytes(), &LIMITS) else {
        return out.push_str("{}");
    };
    let place = |key: &str| ORDER.iter().position(|known| *known == key);
    let rank = |key: &str| place(key).unwrap_or(ORDER.len());
    let mut members: Vec<_> = document
        .root()
        .entries()
        .filter(|(key, _)| key != "name")
        .collect();
    members.sort_by_key(|(key, _)| rank(key));
    out.push('{');
    for (index, (key, member)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        break_line(indent + 1, out);
        push_quoted(&key, out);
        out.push_str(": ");
        match member
            .as_str()
            .filter(|text| key == "description" && text.contains('\n'))
        {
            Some(text) => lines(&text, indent + 1, out),
            None => pretty(member, indent + 1, out),
        }
    }
    break_line(indent, out);
    out.push('}');
}

fn lines(text: &str, indent: usize, out: &mut String) {
    out.push('[');
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push(',');
        }
        break_line(indent + 1, out);
        push_quoted(line, out);
    }
    break_line(indent, out);
    out.push(']');
}
