//! JSON with comments.

use std::ops::Range;

use jsonc_parser::ast::{self, Value as AstValue};
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::document::{Field, Node, Source, Value};
use super::entry::{Attachment, LAUNCH_KEYS};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};

/// Comments and trailing commas, and nothing else that JSON lacks.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The parser's own limit of depth (512) bounds all recursion here.
pub(super) fn parse(source: Source<'_>) -> Result<Option<Node>, ClientErrors> {
    let parsed = parse_to_ast(source.text, &CollectOptions::default(), &OPTIONS);
    let parsed = parsed.map_err(|error| syntax(source, &error))?;
    Ok(parsed.value.map(node))
}

fn syntax(source: Source<'_>, error: &jsonc_parser::errors::ParseError) -> ClientProblem {
    source.problem(
        error.range().start,
        ProblemKind::Syntax,
        &format!("not JSON: {}", error.kind()),
        "correct the file, or let the client write it again",
    )
}

fn node(value: AstValue<'_>) -> Node {
    let range = value.range();
    let at = range.start..range.end;
    let value = match value {
        AstValue::NullKeyword(_) => Value::Null,
        AstValue::BooleanLit(literal) => Value::Bool(literal.value),
        AstValue::NumberLit(literal) => Value::Other(literal.value.to_owned()),
        AstValue::StringLit(literal) => Value::Text(literal.value.into_owned()),
        AstValue::Array(array) => Value::List(array.elements.into_iter().map(node).collect()),
        AstValue::Object(object) => {
            Value::Table(object.properties.into_iter().map(field).collect())
        }
    };
    Node { at, value }
}

fn field(property: ast::ObjectProp<'_>) -> Field {
    let range = property.name.range();
    Field {
        key: property.name.into_string(),
        key_at: range.start..range.end,
        node: node(property.value),
    }
}

/// Only the values of the named entries change.
pub(super) fn wrap(source: Source<'_>, attachments: &[Attachment]) -> Result<String, ClientErrors> {
    let root = CstRootNode::parse(source.text, &OPTIONS);
    let root = root.map_err(|error| syntax(source, &error))?;
    for attachment in attachments {
        let entry = root
            .object_value()
            .and_then(|top| object(top, &attachment.path));
        let entry = entry.ok_or_else(|| source.has_no(&attachment.path))?;
        attach(&entry, attachment);
    }
    Ok(root.to_string())
}

fn object(top: CstObject, path: &[String]) -> Option<CstObject> {
    path.iter()
        .try_fold(top, |object, key| property(&object, key)?.object_value())
}

fn property(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    let mut properties = object.properties().into_iter();
    properties.find(|property| property.decoded_name().as_deref() == Some(key))
}

/// The program takes the place of the command or the address; other keys, such as timeouts, stay.
fn attach(entry: &CstObject, attachment: &Attachment) {
    let program = || CstInputValue::String(attachment.program.clone());
    let args = attachment.args.iter().cloned();
    let args = CstInputValue::Array(args.map(CstInputValue::String).collect());
    if let Some(command) = property(entry, "command") {
        command.set_value(program());
    } else if let Some(url) = ["url", "serverUrl"]
        .iter()
        .find_map(|key| property(entry, key))
    {
        url.replace_with("command", program());
    }
    if let Some(found) = property(entry, "args") {
        found.set_value(args);
    } else if let Some(command) = property(entry, "command") {
        entry.insert(command.property_index() + 1, "args", args);
    }
    if let Some(kind) = property(entry, "type") {
        kind.set_value(CstInputValue::String("stdio".to_owned()));
    }
    let gone = LAUNCH_KEYS
        .iter()
        .filter(|key| !["command", "args", "type"].contains(*key));
    gone.filter_map(|key| property(entry, key))
        .for_each(CstObjectProp::remove);
}

/// The text with each of these pieces replaced.
pub(super) fn splice(text: &str, mut pieces: Vec<(Range<usize>, &str)>) -> String {
    pieces.sort_by_key(|(at, _)| at.start);
    let mut spliced = String::with_capacity(text.len());
    let mut end = 0;
    for (at, piece) in pieces {
        spliced.push_str(text.get(end..at.start).unwrap_or_default());
        spliced.push_str(piece);
        end = at.end;
    }
    spliced.push_str(text.get(end..).unwrap_or_default());
    spliced
}
