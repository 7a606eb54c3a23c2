//! Definitions to a lock, and a lock to its text.

use sha2::{Digest, Sha256};

use crate::policy::ServerKey;
use crate::wire::{Document, Value};

use super::text::{break_line, pretty, push_quoted};
use super::{LIMITS, LockEntry, LockFile, LockedItem, ServerTexts, TOOLS_ALONE, WITH_WORDS};
use std::collections::BTreeMap;

/// A definition that no lock can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnlockableDefinition {
    #[error("a tool has no `name` that is a string with something in it")]
    Name,
    #[error("a prompt has no `name` that is a string with something in it")]
    PromptName,
    #[error("`{0}`: its `name` has control characters")]
    Controls(String),
    #[error("its `instructions` are no string")]
    Instructions,
    #[error("`{0}` is defined more than once, in different ways")]
    Twice(String),
    #[error("`{name}`: its `{member}` is not {wanted}")]
    Member {
        name: String,
        member: &'static str,
        wanted: &'static str,
    },
}

impl UnlockableDefinition {
    /// What it would be called in a lock.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name | Self::PromptName | Self::Instructions => None,
            Self::Controls(name) | Self::Twice(name) | Self::Member { name, .. } => Some(name),
        }
    }
}

impl LockFile {
    /// Adds one item of a list of tools.
    ///
    /// # Errors
    /// [`UnlockableDefinition`] for what the gate would not show to anybody.
    pub fn add(&mut self, tool: Value<'_>) -> Result<(), UnlockableDefinition> {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err(UnlockableDefinition::Name);
        }
        plain(&name)?;
        let member = |member, wanted| UnlockableDefinition::Member {
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
        meet(&mut self.tools, &name, tool)
    }

    /// Adds one item of a list of prompts.
    ///
    /// # Errors
    /// [`UnlockableDefinition`] for what the gate would not show to anybody.
    pub fn add_prompt(&mut self, prompt: Value<'_>) -> Result<(), UnlockableDefinition> {
        let name = prompt
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if name.is_empty() {
            return Err(UnlockableDefinition::PromptName);
        }
        plain(&name)?;
        let description = prompt.get("description");
        if description.is_some_and(|it| it.as_str().is_none()) {
            return Err(UnlockableDefinition::Member {
                name: name.into_owned(),
                member: "description",
                wanted: "a string",
            });
        }
        let words = self.words.get_or_insert_default();
        meet(&mut words.prompts, &name, prompt)
    }

    /// Says what instructions there are, and that prompts are known as far as they were added.
    ///
    /// # Errors
    /// [`UnlockableDefinition::Instructions`] for what is no string.
    pub fn set_instructions(
        &mut self,
        given: Option<Value<'_>>,
    ) -> Result<(), UnlockableDefinition> {
        let words = self.words.get_or_insert_default();
        words.instructions.clear();
        if let Some(given) = given {
            let text = given.as_str().ok_or(UnlockableDefinition::Instructions)?;
            words.instructions.insert(None, text.into_owned());
        }
        Ok(())
    }

    /// The text of the file: the same for the same definitions, however a server writes them.
    pub fn text(&self) -> String {
        let version = match &self.words {
            None => TOOLS_ALONE,
            Some(_) => WITH_WORDS,
        };
        let mut out = format!("{{\n  \"version\": {version},\n");
        if let Some(words) = &self.words {
            words.instructions_into(&mut out);
        }
        entries("tools", &self.tools, &mut out);
        if let Some(words) = &self.words {
            out.push_str(",\n");
            entries("prompts", &words.prompts, &mut out);
        }
        out.push_str("\n}\n");
        out
    }
}

impl ServerTexts {
    fn instructions_into(&self, out: &mut String) {
        out.push_str("  \"instructions\": ");
        match self.instructions.get(&None) {
            Some(text) => approved_text(None, text, 1, out),
            None if self.instructions.is_empty() => out.push_str("null"),
            None => {
                out.push('[');
                for (index, (server, text)) in self.instructions.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    break_line(2, out);
                    approved_text(server.as_ref(), text, 2, out);
                }
                break_line(1, out);
                out.push(']');
            }
        }
        out.push_str(",\n");
    }
}

/// The instructions of a server.
fn approved_text(server: Option<&ServerKey>, text: &str, indent: usize, out: &mut String) {
    out.push('{');
    if let Some(server) = server {
        break_line(indent + 1, out);
        out.push_str("\"server\": ");
        push_quoted(server.as_str(), out);
        out.push(',');
    }
    break_line(indent + 1, out);
    out.push_str("\"sha256\": ");
    push_quoted(&digest(text), out);
    out.push(',');
    break_line(indent + 1, out);
    out.push_str("\"text\": ");
    lines(text, indent + 1, out);
    break_line(indent, out);
    out.push('}');
}

/// What the gate hides.
fn plain(name: &str) -> Result<(), UnlockableDefinition> {
    if name.chars().any(char::is_control) {
        return Err(UnlockableDefinition::Controls(name.to_owned()));
    }
    Ok(())
}

fn meet(
    entries: &mut BTreeMap<String, LockEntry>,
    name: &str,
    definition: Value<'_>,
) -> Result<(), UnlockableDefinition> {
    let entry = LockEntry {
        definition: definition.canonical(),
        line: 0,
    };
    let earlier = entries
        .entry(name.to_owned())
        .or_insert_with(|| entry.clone());
    if earlier.definition == entry.definition {
        Ok(())
    } else {
        Err(UnlockableDefinition::Twice(name.to_owned()))
    }
}

/// One member of the file: definitions by name.
fn entries(key: &str, entries: &BTreeMap<String, LockEntry>, out: &mut String) {
    out.push_str("  ");
    push_quoted(key, out);
    out.push_str(": [");
    for (index, (name, entry)) in entries.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        break_line(2, out);
        out.push('{');
        let digest = digest(&entry.definition);
        for (key, value) in [("name", name), ("sha256", &digest)] {
            break_line(3, out);
            push_quoted(key, out);
            out.push_str(": ");
            push_quoted(value, out);
            out.push(',');
        }
        break_line(3, out);
        out.push_str("\"definition\": ");
        definition(&entry.definition, 3, out);
        break_line(2, out);
        out.push('}');
    }
    if !entries.is_empty() {
        break_line(1, out);
    }
    out.push(']');
}

impl LockFile {
    /// What it says of one thing, as people compare it.
    pub fn shown(&self, what: LockedItem<'_>) -> Option<String> {
        let said = self.said(what)?;
        let mut out = String::new();
        match what {
            LockedItem::Tool(_) | LockedItem::Prompt(_) => definition(said, 0, &mut out),
            LockedItem::Instructions(_) => lines(said, 0, &mut out),
        }
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
