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

impl Mirrors {
    /// Takes in a page of a list of tools. What it says of a tool replaces what an earlier one said.
    ///
    /// A tool with an annotation that breaks the rules has no mirrors: no agent may call it over
    /// HTTP, and what a server makes of such a call is its own affair.
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
            let mirrors = tool.get("inputSchema").and_then(of_schema);
            match mirrors.filter(|mirrors| !mirrors.is_empty()) {
                Some(mirrors) if tools.len() < MAX_TOOLS => {
                    tools.insert(name.into(), mirrors.into());
                }
                Some(_) | None => {
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

    /// Those of one item of a list of tools; none if it has none, or an annotation of it breaks the
    /// rules.
    pub fn of_definition(definition: Value<'_>) -> Arc<[Self]> {
        let schema = definition.get("inputSchema");
        schema.and_then(of_schema).unwrap_or_default().into()
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

/// None if an annotation breaks the rules.
fn of_schema(schema: Value<'_>) -> Option<Vec<Mirror>> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    Some(found)
}

/// Annotations are reached through `properties` alone; what stands elsewhere is not ours to read.
fn collect<'s>(
    schema: Value<'s>,
    path: &mut Vec<Cow<'s, str>>,
    found: &mut Vec<Mirror>,
) -> Option<()> {
    let properties = schema.get("properties").filter(|it| it.is_object());
    for (name, property) in properties.into_iter().flat_map(Value::entries) {
        path.push(name);
        if let Some(annotation) = property.get(ANNOTATION) {
            let name = annotation.as_str()?;
            let scalar = property.get("type").and_then(Value::as_str)?;
            let fits = matches!(&*scalar, "string" | "integer" | "boolean");
            let header = format!("{}{}", Mirror::PREFIX, name.to_ascii_lowercase());
            let twice = found.iter().any(|mirror| *mirror.header == *header);
            if name.is_empty() || !name.bytes().all(is_token) || !fits || twice {
                return None;
            }
            found.push(Mirror {
                header: header.into(),
                path: path.iter().map(|step| Box::from(&**step)).collect(),
            });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Some(())
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
