//! TOML.

use std::ops::Range;

use toml_edit::{
    Array, Document, DocumentMut, Item, Key, TableLike, TomlError, Value as TomlValue,
};

use super::document::{Field, Node, Source, Value};
use super::entry::{Attachment, LAUNCH_KEYS};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};

/// The parser's own limit of depth (80) bounds all recursion here.
pub(super) fn parse(source: Source<'_>) -> Result<Option<Node>, ClientErrors> {
    let document = Document::parse(source.text).map_err(|error| syntax(source, &error))?;
    Ok(Some(table(0..source.text.len(), document.as_table())))
}

fn syntax(source: Source<'_>, error: &TomlError) -> ClientProblem {
    let at = error.span().unwrap_or_default().start;
    if error.message() == "duplicate key" {
        let what = "the key is there twice";
        let help = "remove or rename one of the two";
        return source.problem(at, ProblemKind::DuplicateKey, what, help);
    }
    let what = format!("not TOML: {}", error.message().replace('\n', ", "));
    source.problem(at, ProblemKind::Syntax, &what, "correct the file")
}

fn table(at: Range<usize>, table: &dyn TableLike) -> Node {
    let field = |(key, item): (&str, &Item)| {
        let place = table.key(key).and_then(Key::span);
        let key_at = place.or_else(|| item.span()).unwrap_or_default();
        Field {
            key: key.to_owned(),
            node: item_node(item, &key_at),
            key_at,
        }
    };
    Node {
        at,
        value: Value::Table(table.iter().map(field).collect()),
    }
}

/// Tables that only their subtables name have no place of their own but that of their key.
fn item_node(item: &Item, key_at: &Range<usize>) -> Node {
    let at = item.span().unwrap_or_else(|| key_at.clone());
    match item {
        Item::None => Node {
            at,
            value: Value::Null,
        },
        Item::Value(value) => value_node(value, at),
        Item::Table(inner) => table(at, inner),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter();
            let tables = tables.map(|inner| table(inner.span().unwrap_or(at.clone()), inner));
            Node {
                value: Value::List(tables.collect()),
                at,
            }
        }
    }
}

fn value_node(value: &TomlValue, at: Range<usize>) -> Node {
    let value = match value {
        TomlValue::String(text) => Value::Text(text.value().clone()),
        TomlValue::Boolean(switch) => Value::Bool(*switch.value()),
        TomlValue::Integer(number) => Value::Other(number.value().to_string()),
        TomlValue::Float(number) => Value::Other(number.value().to_string()),
        TomlValue::Datetime(time) => Value::Other(time.value().to_string()),
        TomlValue::Array(array) => {
            let item = |item| value_node(item, item.span().unwrap_or(at.clone()));
            Value::List(array.iter().map(item).collect())
        }
        TomlValue::InlineTable(inner) => return table(at, inner),
    };
    Node { at, value }
}

/// Only the values of the named entries change.
pub(super) fn wrap(source: Source<'_>, attachments: &[Attachment]) -> Result<String, ClientErrors> {
    let document: Result<DocumentMut, TomlError> = source.text.parse();
    let mut document = document.map_err(|error| syntax(source, &error))?;
    for attachment in attachments {
        let mut path = attachment.path.iter();
        let entry = path.try_fold(document.as_item_mut(), |item, key| {
            item.as_table_like_mut()?.get_mut(key)
        });
        let entry = entry.and_then(Item::as_table_like_mut);
        let entry = entry.ok_or_else(|| source.has_no(&attachment.path))?;
        attach(entry, attachment);
    }
    Ok(with_line_ends_of(source.text, document.to_string()))
}

/// The library writes `\n` behind each line, the last one too.
fn with_line_ends_of(text: &str, mut wrapped: String) -> String {
    if !text.ends_with('\n') && wrapped.ends_with('\n') {
        wrapped.pop();
    }
    if text.matches('\n').count() == text.matches("\r\n").count() {
        wrapped = wrapped.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    wrapped
}

/// The program takes the place of the command or the address; other keys, such as timeouts, stay.
fn attach(entry: &mut dyn TableLike, attachment: &Attachment) {
    let gone = LAUNCH_KEYS
        .iter()
        .filter(|key| !["command", "args"].contains(*key));
    gone.for_each(|key| drop(entry.remove(key)));
    let args: Array = attachment.args.iter().collect();
    set(entry, "command", attachment.program.as_str().into());
    set(entry, "args", args.into());
}

/// A comment behind the former value stays.
fn set(entry: &mut dyn TableLike, key: &str, mut value: TomlValue) {
    if let Some(found) = entry.get_mut(key).and_then(Item::as_value_mut) {
        *value.decor_mut() = found.decor().clone();
        *found = value;
    } else {
        entry.insert(key, Item::Value(value));
    }
}
