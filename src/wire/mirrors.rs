//! Arguments that HTTP repeats in headers: `x-mcp-header` in a tool's schema names the header (MCP
//! 2026-07-28, server/tools). The body is the truth.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Message, Value};

const ANNOTATION: &str = "x-mcp-header";

/// Bytes of all that is kept of tools: a list is the server's, and memory is ours. Tools beyond it have no
/// mirrors.
const MOST_KEPT: usize = 16 << 20;

/// Headers of one tool. Servers take about a hundred fields in a request, its others included.
const MOST_HEADERS: usize = 64;

/// Bytes of the names of one tool's headers, and of the paths to what they repeat. Servers take about as
/// much of a whole head.
const MOST_BYTES: usize = 8 << 10;

/// Which arguments of which tools are repeated, as the lists of tools told it so far.
#[derive(Debug, Default)]
pub struct Mirrors {
    kept: Mutex<ToolMirrors>,
}

#[derive(Debug, Default)]
struct ToolMirrors {
    tools: HashMap<Box<str>, Arc<[Mirror]>>,
    bytes: usize,
}

/// One argument that is repeated.
#[derive(Debug, PartialEq, Eq)]
pub struct Mirror {
    header: Box<str>,
    path: Arc<ArgumentPath>,
}

/// Where an argument stands in a call. Arguments of one object share the way to it.
#[derive(Debug, PartialEq, Eq)]
struct ArgumentPath {
    above: Option<Arc<ArgumentPath>>,
    step: Box<str>,
}

/// How an annotation breaks the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnnotationError {
    #[error("its `x-mcp-header` is no name of a header")]
    Name,
    #[error("two of its `x-mcp-header` name the same header")]
    Twice,
    #[error("its `x-mcp-header` stands on what is no string, integer or boolean")]
    Kind,
    #[error("its `x-mcp-header` stands where not only `properties` lead")]
    Place,
    /// This breaks no rule of the protocol. But such headers can be neither made nor compared.
    #[error(
        "its `x-mcp-header` are more than {MOST_HEADERS}, or longer than {MOST_BYTES} bytes in all, with the \
         names that lead to them"
    )]
    TooMuch,
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
        let mut kept = self.kept();
        for tool in listed.items() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                continue;
            };
            kept.forget(&name);
            if let Ok(mirrors) = Mirror::of_definition(tool) {
                kept.keep(&name, mirrors);
            }
        }
    }

    /// Those of a tool, if it was listed and has any.
    pub fn of_tool(&self, name: &str) -> Option<Arc<[Mirror]>> {
        self.kept().tools.get(name).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, ToolMirrors> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolMirrors {
    fn forget(&mut self, name: &str) {
        if let Some(mirrors) = self.tools.remove(name) {
            self.bytes = self.bytes.saturating_sub(weight(name, &mirrors));
        }
    }

    fn keep(&mut self, name: &str, mirrors: Arc<[Mirror]>) {
        let bytes = self.bytes.saturating_add(weight(name, &mirrors));
        if !mirrors.is_empty() && bytes <= MOST_KEPT {
            self.bytes = bytes;
            self.tools.insert(name.into(), mirrors);
        }
    }
}

/// Bytes that a tool takes of what is kept.
fn weight(name: &str, mirrors: &[Mirror]) -> usize {
    let entry = size_of::<(Box<str>, Arc<[Mirror]>)>().saturating_add(name.len());
    let mirrors = mirrors.iter().map(Mirror::weight);
    mirrors.fold(entry, usize::saturating_add)
}

impl Mirror {
    /// How the names of such headers begin, in lower case.
    pub const PREFIX: &str = "mcp-param-";

    /// Those of one item of a list of tools.
    ///
    /// # Errors
    /// How an annotation of it breaks the rules: then the tool cannot be called over HTTP.
    pub fn of_definition(definition: Value<'_>) -> Result<Arc<[Self]>, AnnotationError> {
        let mut found = MirrorCollection::default();
        if let Some(schema) = definition.get("inputSchema") {
            collect(schema, &SchemaPath::Arguments, &mut found)?;
        }
        Ok(found.mirrors.into())
    }

    /// Bytes that it takes at most: what it shares with others counts for each.
    pub fn weight(&self) -> usize {
        let steps = self.path.steps();
        let steps = steps.map(|path| size_of::<ArgumentPath>().saturating_add(path.step.len()));
        let own = size_of::<Self>().saturating_add(self.header.len());
        steps.fold(own, usize::saturating_add)
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
        // Not as doubles, of which many numbers share one: a reader of whole numbers distinguishes them.
        let same_number = number
            .and_then(Decimal::of)
            .zip(Decimal::of(header))
            .is_some_and(|(one, other)| one == other);
        same_number || self.value(call).is_some_and(|value| value == header)
    }

    fn argument<'c>(&self, call: &'c Message) -> Option<Value<'c>> {
        self.path.within(call.params()?.get("arguments")?)
    }
}

impl ArgumentPath {
    fn steps(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |path| path.above.as_deref())
    }

    /// The wire's depth limit bounded what the path was made of, and so the recursion.
    fn within<'c>(&self, arguments: Value<'c>) -> Option<Value<'c>> {
        let object = match &self.above {
            Some(above) => above.within(arguments)?,
            None => arguments,
        };
        object.get(&self.step)
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

/// What leads from the arguments to what a schema is about.
enum SchemaPath<'w> {
    Arguments,
    Property(Property<'w>),
    /// Something else than `properties`: an annotation there breaks the rules.
    Astray,
}

struct Property<'w> {
    above: Option<&'w Property<'w>>,
    name: &'w str,
    /// Made for the first annotation that it leads to: most lead to none.
    path: OnceCell<Arc<ArgumentPath>>,
}

impl<'w> SchemaPath<'w> {
    fn to(&'w self, name: &'w str) -> Self {
        let above = match self {
            Self::Arguments => None,
            Self::Property(property) => Some(property),
            Self::Astray => return Self::Astray,
        };
        Self::Property(Property {
            above,
            name,
            path: OnceCell::new(),
        })
    }
}

impl Property<'_> {
    /// Bytes of all names on the way.
    fn bytes(&self) -> usize {
        let names = std::iter::successors(Some(self), |property| property.above);
        let bytes = names.map(|property| property.name.len());
        bytes.fold(0, usize::saturating_add)
    }

    fn path(&self) -> Arc<ArgumentPath> {
        let made = || {
            let above = self.above.map(Property::path);
            let step = self.name.into();
            Arc::new(ArgumentPath { above, step })
        };
        Arc::clone(self.path.get_or_init(made))
    }
}

#[derive(Default)]
struct MirrorCollection {
    mirrors: Vec<Mirror>,
    bytes: usize,
}

impl MirrorCollection {
    fn annotation(
        &mut self,
        annotation: Value<'_>,
        schema: Value<'_>,
        way: &SchemaPath<'_>,
    ) -> Result<(), AnnotationError> {
        let SchemaPath::Property(property) = way else {
            return Err(AnnotationError::Place);
        };
        let name = annotation.as_str().ok_or(AnnotationError::Name)?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(AnnotationError::Name);
        }
        let scalar = schema.get("type").and_then(Value::as_str);
        if !scalar.is_some_and(|it| matches!(&*it, "string" | "integer" | "boolean")) {
            return Err(AnnotationError::Kind);
        }
        let bytes = name.len().saturating_add(property.bytes());
        self.bytes = self.bytes.saturating_add(bytes);
        if self.mirrors.len() >= MOST_HEADERS || self.bytes > MOST_BYTES {
            return Err(AnnotationError::TooMuch);
        }
        let header = format!("{}{}", Mirror::PREFIX, name.to_ascii_lowercase());
        if self.mirrors.iter().any(|other| *other.header == *header) {
            return Err(AnnotationError::Twice);
        }
        self.mirrors.push(Mirror {
            header: header.into(),
            path: property.path(),
        });
        Ok(())
    }
}

/// Takes in the annotations of a schema and of all that are in it. The wire's depth limit bounds the
/// recursion.
fn collect(
    schema: Value<'_>,
    way: &SchemaPath<'_>,
    found: &mut MirrorCollection,
) -> Result<(), AnnotationError> {
    if let Some(annotation) = schema.get(ANNOTATION) {
        found.annotation(annotation, schema, way)?;
    }
    for (keyword, value) in schema.entries() {
        let keyword = &*keyword;
        if keyword == ANNOTATION || PLAIN_DATA.contains(&keyword) {
            continue;
        }
        if keyword == "properties" {
            for (name, property) in value.entries() {
                collect(property, &way.to(&name), found)?;
            }
        } else if NAMED_SCHEMAS.contains(&keyword) {
            for (_, schema) in value.entries() {
                collect(schema, &SchemaPath::Astray, found)?;
            }
        } else if value.is_array() {
            for schema in value.items() {
                collect(schema, &SchemaPath::Astray, found)?;
            }
        } else {
            collect(value, &SchemaPath::Astray, found)?;
        }
    }
    Ok(())
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
