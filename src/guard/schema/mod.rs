//! Whether arguments and results are what a tool's definition says they are.
//!
//! JSON Schema 2020-12 unless the definition names another draft (MCP 2025-11-25, basic, JSON Schema
//! usage). Nothing is fetched, patterns match in linear time, and a schema that would make a check
//! expensive is not followed.

mod cost;
#[cfg(test)]
mod oracle;
mod plain;
mod problem;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::OnceLock;

use jsonschema::{PatternOptions, Validator};

use super::argument_names::ArgumentNames;
use crate::wire::{Document, Limits, Value};

pub use problem::{SchemaProblem, Violation};

use cost::CostEstimate;
use problem::{MAX_BYTES, MAX_PATTERNS, shortened};

/// A schema that values can be checked against.
pub struct Schema {
    validator: Validator,
    effort: CostEstimate,
}

/// What a tool's definition says of its arguments and its structured results. Each is compiled when
/// it is first asked for: most tools of a list are never called.
pub struct ToolSchemas {
    input: LazySchema,
    names: OnceLock<ArgumentNames>,
    output: Option<LazySchema>,
}

struct LazySchema {
    text: Box<str>,
    compiled: OnceLock<Result<Schema, SchemaProblem>>,
}

/// What a compiled pattern takes as a rule, in bytes.
const PATTERN: usize = 32 * 1024;

/// What keeping a tool's schemas takes beside their text, near enough, in bytes.
const KEPT: usize = 1024;

/// The most that one pattern may take when it is compiled, in bytes, and its cache as much again.
const MAX_COMPILED: usize = 128 * 1024;

impl Schema {
    /// # Errors
    /// When it is no schema, or one that could make a check do more than look at the value.
    pub fn compile(schema: Value<'_>) -> Result<Self, SchemaProblem> {
        if schema.text().len() > MAX_BYTES {
            return Err(SchemaProblem::TooLong);
        }
        let tree = plain::plain(schema);
        let effort = CostEstimate::of(&tree)?;
        let patterns = PatternOptions::regex()
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED);
        let validator = jsonschema::options()
            .offline()
            // MCP leaves `format` to hints for people; servers disagree on what they mean.
            .should_validate_formats(false)
            .with_pattern_options(patterns)
            .build(&tree)
            .map_err(|error| SchemaProblem::Invalid {
                at: shortened(error.instance_path().as_str()),
                problem: shortened(&error.masked_with("it").to_string()),
            })?;
        Ok(Self { validator, effort })
    }

    /// # Errors
    /// The first way in which the value is not what the schema says.
    pub fn check(&self, value: Value<'_>) -> Result<(), Violation> {
        let instance = plain::plain(value);
        self.effort.fits(&instance)?;
        self.validator
            .validate(&instance)
            .map_err(|error| Violation::Broken {
                at: shortened(error.instance_path().as_str()),
                rule: shortened(error.schema_path().as_str()),
                problem: shortened(&error.masked_with("it").to_string()),
            })
    }

    /// The same for a call that says nothing: an empty object (MCP 2025-11-25, server/tools).
    ///
    /// # Errors
    /// As above.
    pub fn check_arguments(&self, arguments: Option<Value<'_>>) -> Result<(), Violation> {
        if let Some(arguments) = arguments {
            return self.check(arguments);
        }
        let Ok(empty) = Document::decode(b"{}", &Limits::default()) else {
            return Err(Violation::TooMuch);
        };
        self.check(empty.root())
    }
}

impl ToolSchemas {
    /// Those of one item of a `tools/list`.
    pub fn of(definition: Value<'_>) -> Self {
        let lazy = |value: Value<'_>| LazySchema {
            text: value.text().into(),
            compiled: OnceLock::new(),
        };
        Self {
            input: definition
                .get("inputSchema")
                .map_or_else(LazySchema::missing, lazy),
            names: OnceLock::new(),
            output: definition.get("outputSchema").map(lazy),
        }
    }

    /// # Errors
    /// Why arguments cannot be checked.
    pub fn input(&self) -> Result<&Schema, &SchemaProblem> {
        self.input.schema()
    }

    /// The names that the arguments' schema declares; none of a schema that cannot be read.
    pub fn argument_names(&self) -> &ArgumentNames {
        self.names.get_or_init(|| match self.input.document() {
            Ok(document) => ArgumentNames::of_schema(document.root()),
            Err(_) => ArgumentNames::default(),
        })
    }

    /// That of `structuredContent`, if the tool has one.
    ///
    /// # Errors
    /// Why results cannot be checked.
    pub fn output(&self) -> Option<Result<&Schema, &SchemaProblem>> {
        self.output.as_ref().map(LazySchema::schema)
    }

    /// Bytes of their text.
    pub fn length(&self) -> usize {
        let output = self.output.as_ref().map_or(0, |output| output.text.len());
        self.input.text.len().saturating_add(output)
    }

    /// What it takes to keep them, in bytes, with what they may come to when they are compiled.
    pub fn weight(&self) -> usize {
        let texts = [Some(&self.input), self.output.as_ref()];
        let weights = texts.into_iter().flatten().map(|lazy| {
            let patterns = memchr::memmem::find_iter(lazy.text.as_bytes(), "\"pattern").count();
            let compiled = patterns.min(MAX_PATTERNS).saturating_mul(PATTERN);
            lazy.text.len().saturating_mul(4).saturating_add(compiled)
        });
        weights.sum::<usize>().saturating_add(KEPT)
    }
}

impl LazySchema {
    fn missing() -> Self {
        Self {
            text: "".into(),
            compiled: OnceLock::new(),
        }
    }

    fn schema(&self) -> Result<&Schema, &SchemaProblem> {
        let compiled = self
            .compiled
            .get_or_init(|| Schema::compile(self.document()?.root()));
        compiled.as_ref()
    }

    /// It was a part of a message that was decoded.
    fn document(&self) -> Result<Document, SchemaProblem> {
        let limits = Limits {
            max_bytes: MAX_BYTES,
            ..Limits::default()
        };
        Document::decode(self.text.as_bytes(), &limits).map_err(|error| {
            if self.text.len() <= MAX_BYTES {
                SchemaProblem::Invalid {
                    at: String::new(),
                    problem: error.to_string(),
                }
            } else {
                SchemaProblem::TooLong
            }
        })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolSchemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSchemas")
            .field("input", &self.input.text)
            .finish_non_exhaustive()
    }
}

/// Equal if they say the same.
impl PartialEq for ToolSchemas {
    fn eq(&self, other: &Self) -> bool {
        let output = |it: &Self| it.output.as_ref().map(|it| it.text.clone());
        self.input.text == other.input.text && output(self) == output(other)
    }
}

impl Eq for ToolSchemas {}
