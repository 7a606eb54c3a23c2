//! Arguments that HTTP repeats in headers: `x-mcp-header` in a tool's schema names the header (MCP
//! 2026-07-28, server/tools). The body is the truth.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Message, Value};

const ANNOTATION: &str = "x-mcp-header";

/// Tools beyond these have no mirrors: a list is the server's, and memory is ours.
const MAX_TOOLS: usize = 10_000;

/// Which arguments of which tools are repeated, as the lists of tools told it so far.
#[derive(Debug, Default)]
pub struct Mirrors {
    tools: Mutex<HashMap<Box<str>, Arc<[Mirror]>>>,
}

/// One argument that is repeated.
#[derive(Debug, PartialEq, Eq)]
pub struct Mirror {
    header: Box<str>,
    path: Vec<Box<str>>,
}

/// How an annotation breaks the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misannotated {
    #[error("its `x-mcp-header` is no name of a header")]
    Name,
    #[error("two of its `x-mcp-header` name the same header")]
    Twice,
    #[error("its `x-mcp-header` stands on what is no string, integer or boolean")]
    Kind,
    #[error("its `x-mcp-header` stands where not only `properties` lead")]
    Place,
}

impl Mirrors {
    /// Takes in a page of a list of tools. What it says of a tool replaces what an earlier one said.
    ///
    /// A tool with an annotation that breaks the rules has no mirrors: no agent may call it over
    /// HTTP, and what a server makes of such a call is its own affair. Where the gate alone speaks HTTP,
    /// it is not called at all.
    pub fn learn(&self, list: &Message) {
        let listed = list.result().and_then(|result| result.get("tools"));
        let Some(listed) = listed.filter(|tools| tools.is_array()) else {
            return;
        };
        let mut tools = self.tools();
        for tool in listed.items() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                continue;
            };
            match Mirror::of_definition(tool) {
                Ok(mirrors) if !mirrors.is_empty() && tools.len() < MAX_TOOLS => {
                    tools.insert(name.into(), mirrors);
                }
                Ok(_) | Err(_) => {
                    tools.remove(&*name);
                }
            }
        }
    }

    /// Those of a tool, if it was listed and has any.
    pub fn of_tool(&self, name: &str) -> Option<Arc<[Mirror]>> {
        self.tools().get(name).cloned()
    }

    fn tools(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<[Mirror]>>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mirror {
    /// How the names of such headers begin, in lower case.
    pub const PREFIX: &str = "mcp-param-";

    /// Those of one item of a list of tools.
    ///
    /// # Errors
    /// How an annotation of it breaks the rules: then nobody may call the tool over HTTP.
    pub fn of_definition(definition: Value<'_>) -> Result<Arc<[Self]>, Misannotated> {
        let mut found = Vec::new();
        if let Some(schema) = definition.get("inputSchema") {
            collect(schema, Some(&mut Vec::new()), &mut found)?;
        }
        Ok(found.into())
    }

    fn of_property(
        property: Value<'_>,
        annotation: Value<'_>,
        path: &[Cow<'_, str>],
    ) -> Result<Self, Misannotated> {
        let name = annotation.as_str().ok_or(Misannotated::Name)?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(Misannotated::Name);
        }
        let scalar = property.get("type").and_then(Value::as_str);
        if !scalar.is_some_and(|it| matches!(&*it, "string" | "integer" | "boolean")) {
            return Err(Misannotated::Kind);
        }
        Ok(Self {
            header: format!("{}{}", Self::PREFIX, name.to_ascii_lowercase()).into(),
            path: path.iter().map(|step| Box::from(&**step)).collect(),
        })
    }

    /// The header's name, in lower case.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// What the header says of a call: nothing if the argument is absent, null or no scalar.
    pub fn value<'c>(&self, call: &'c Message) -> Option<Cow<'c, str>> {
        let value = self.argument(call)?;
        let plain = value.as_number().is_some() || value.as_bool().is_some();
        let plain = plain.then(|| Cow::Borrowed(value.text()));
        value.as_str().or(plain)
    }

    /// Whether a header, decoded, says what a call does. Numbers are compared as such.
    pub fn is_said_by(&self, call: &Message, header: &str) -> bool {
        let number = self.argument(call).and_then(Value::as_number);
        // Not as doubles, of which many numbers share one: whoever reads whole numbers tells them apart.
        let same_number = number
            .and_then(Decimal::of)
            .zip(Decimal::of(header))
            .is_some_and(|(one, other)| one == other);
        same_number || self.value(call).is_some_and(|value| value == header)
    }

    fn argument<'c>(&self, call: &'c Message) -> Option<Value<'c>> {
        let arguments = call.params()?.get("arguments")?;
        let mut steps = self.path.iter();
        steps.try_fold(arguments, |value, step| value.get(step))
    }
}

/// A number as JSON writes it, to the last digit: without zeros at either end, times a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        let digits = [whole, fraction].concat();
        let is_long = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || is_long || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let exponent: i64 = exponent.parse().ok()?;
        let kept = digits.trim_end_matches('0');
        let length = |text: &str| i64::try_from(text.len()).ok();
        let zeros = length(&digits)?.checked_sub(length(kept)?)?;
        let exponent = exponent
            .checked_sub(length(fraction)?)?
            .checked_add(zeros)?;
        let digits = kept.trim_start_matches('0').to_owned();
        let is_zero = digits.is_empty();
        Some(Self {
            is_negative: is_negative && !is_zero,
            digits,
            exponent: if is_zero { 0 } else { exponent },
        })
    }
}

/// What of a schema holds schemas by names of the author's choice, and what holds no schema at all
/// (JSON Schema 2020-12; `definitions` and `dependencies` of older drafts).
const NAMED_SCHEMAS: [&str; 5] = [
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];
const PLAIN_DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Takes in the annotations of a schema's properties. `path` leads from the arguments to what the schema
/// is about; there is none where anything else than `properties` leads to the schema, and an annotation
/// there breaks the rules.
fn collect<'s>(
    schema: Value<'s>,
    mut path: Option<&mut Vec<Cow<'s, str>>>,
    found: &mut Vec<Mirror>,
) -> Result<(), Misannotated> {
    if let Some(annotation) = schema.get(ANNOTATION) {
        let path = path.as_deref().filter(|path| !path.is_empty());
        let mirror = Mirror::of_property(schema, annotation, path.ok_or(Misannotated::Place)?)?;
        if found.iter().any(|other| other.header == mirror.header) {
            return Err(Misannotated::Twice);
        }
        found.push(mirror);
    }
    for (keyword, value) in schema.entries() {
        let keyword = &*keyword;
        if keyword == ANNOTATION || PLAIN_DATA.contains(&keyword) {
            continue;
        }
        if keyword == "properties" {
            for (name, property) in value.entries() {
                match path.as_deref_mut() {
                    Some(path) => {
                        path.push(name);
                        collect(property, Some(path), found)?;
                        path.pop();
                    }
                    None => collect(property, None, found)?,
                }
            }
        } else if NAMED_SCHEMAS.contains(&keyword) {
            for (_, schema) in value.entries() {
                collect(schema, None, found)?;
            }
        } else if value.is_array() {
            for schema in value.items() {
                collect(schema, None, found)?;
            }
        } else {
            collect(value, None, found)?;
        }
    }
    Ok(())
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
