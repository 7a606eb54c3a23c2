//! What a check would cost, before it is made.
//!
//! The validator follows a schema wherever it leads: one of a few lines can visit a small value 2^60
//! times, or for ever. So a walk that costs as much as the validator's own, but counts, comes first.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::{MAX_EFFORT, MAX_PATTERN_BYTES, MAX_PATTERNS, SchemaProblem, Violation};

/// A schema as far as it tells where checks go.
#[derive(Debug)]
pub(super) struct Effort {
    root: Json,
    anchors: HashMap<String, Vec<String>>,
}

/// How deep schemas may lie in each other, as they are followed. Values have the wire's limit; more
/// is a circle that leads to no other value.
const MAX_DEPTH: u32 = 192;

/// In each of these is one more schema for the same value, or several in an array.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Schemas for the same value by the names of members that it must have.
const BY_MEMBER: [&str; 2] = ["dependentSchemas", "dependencies"];

impl Effort {
    /// # Errors
    /// When it cannot be told where a reference leads, or there are too many patterns.
    pub(super) fn of(schema: &Json) -> Result<Self, SchemaProblem> {
        let mut survey = Survey::default();
        survey.look(schema, &mut Vec::new());
        if survey.patterns > MAX_PATTERNS || survey.pattern_bytes > MAX_PATTERN_BYTES {
            return Err(SchemaProblem::Patterns);
        }
        let effort = Self {
            root: schema.clone(),
            anchors: survey.anchors,
        };
        if let Some(id) = survey.inner_id {
            return Err(SchemaProblem::Reference(super::shortened(id)));
        }
        let lost = survey.references.into_iter();
        match lost.into_iter().find(|it| effort.resolve(it).is_none()) {
            Some(reference) => Err(SchemaProblem::Reference(super::shortened(reference))),
            None => Ok(effort),
        }
    }

    /// # Errors
    /// [`Violation::TooMuch`] when the validator might take more than [`MAX_EFFORT`] steps.
    pub(super) fn fits(&self, instance: &Json) -> Result<(), Violation> {
        let mut walk = Walk {
            effort: self,
            left: MAX_EFFORT,
        };
        walk.visit(&self.root, instance, 0)
            .ok_or(Violation::TooMuch)
    }

    /// Where a reference leads; only places in the schema itself do.
    fn resolve(&self, reference: &str) -> Option<&Json> {
        let fragment = reference.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = percent_decoded(fragment)?;
            return self.root.pointer(&pointer);
        }
        let path = self.anchors.get(fragment)?;
        path.iter().try_fold(&self.root, |at, step| match at {
            Json::Object(members) => members.get(step),
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        })
    }
}

/// What a schema holds that its compiling depends on.
#[derive(Default)]
struct Survey {
    patterns: usize,
    pattern_bytes: usize,
    references: Vec<String>,
    anchors: HashMap<String, Vec<String>>,
    /// An `$id` below the top: from there on references mean something else.
    inner_id: Option<String>,
}

impl Survey {
    /// Looks at everything as if it were a schema: what is none costs nothing to know.
    fn look(&mut self, schema: &Json, path: &mut Vec<String>) {
        match schema {
            Json::Object(members) => {
                self.note(members, path);
                for (key, member) in members {
                    // What is compared with is no schema.
                    if key == "enum" || key == "const" || key == "default" || key == "examples" {
                        continue;
                    }
                    path.push(key.clone());
                    self.look(member, path);
                    path.pop();
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(index.to_string());
                    self.look(item, path);
                    path.pop();
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }

    fn note(&mut self, members: &Map<String, Json>, path: &[String]) {
        let text = |key| members.get(key).and_then(Json::as_str);
        for reference in ["$ref", "$dynamicRef", "$recursiveRef"] {
            self.references.extend(text(reference).map(str::to_owned));
        }
        for anchor in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = text(anchor) {
                self.anchors.insert(name.to_owned(), path.to_vec());
            }
        }
        if let Some(id) = text("$id").filter(|_| !path.is_empty()) {
            self.inner_id = Some(id.to_owned());
        }
        let inner = members.get("patternProperties").and_then(Json::as_object);
        let keys = inner.into_iter().flat_map(Map::keys).map(String::as_str);
        for pattern in text("pattern").into_iter().chain(keys) {
            self.patterns = self.patterns.saturating_add(1);
            self.pattern_bytes = self.pattern_bytes.saturating_add(pattern.len());
        }
    }
}

struct Walk<'e> {
    effort: &'e Effort,
    left: u32,
}

impl Walk<'_> {
    /// Counts the steps of one schema against one value; `None` when there are too many.
    fn visit(&mut self, schema: &Json, value: &Json, depth: u32) -> Option<()> {
        let depth = Some(depth + 1).filter(|depth| *depth <= MAX_DEPTH)?;
        self.step(1)?;
        let Json::Object(schema) = schema else {
            return Some(());
        };
        self.step(size(value))?;
        self.compared(schema, value)?;
        self.in_place(schema, value, depth)?;
        let unevaluated = ["unevaluatedProperties", "unevaluatedItems"];
        // What is left over is found by following all of it once more.
        if unevaluated.iter().any(|key| schema.contains_key(*key)) {
            self.in_place(schema, value, depth)?;
        }
        match value {
            Json::Object(members) => self.members(schema, members, depth),
            Json::Array(items) => self.items(schema, items, depth),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Some(()),
        }
    }

    fn compared(&mut self, schema: &Map<String, Json>, value: &Json) -> Option<()> {
        let choices = schema.get("enum").and_then(Json::as_array);
        self.step(choices.map_or(0, Vec::len) / 8)?;
        if let (Json::Array(items), Some(Json::Bool(true))) = (value, schema.get("uniqueItems")) {
            // Each pair of the first few, and hashes of all.
            self.step(nodes(value).saturating_mul(items.len().min(16)))?;
        }
        Some(())
    }

    fn in_place(&mut self, schema: &Map<String, Json>, value: &Json, depth: u32) -> Option<()> {
        for key in IN_PLACE {
            match schema.get(key) {
                Some(Json::Array(several)) => {
                    for one in several {
                        self.visit(one, value, depth)?;
                    }
                }
                Some(one) => self.visit(one, value, depth)?,
                None => {}
            }
        }
        for key in BY_MEMBER {
            let by_member = schema.get(key).and_then(Json::as_object);
            for one in by_member.into_iter().flat_map(Map::values) {
                self.visit(one, value, depth)?;
            }
        }
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let reference = schema.get(key).and_then(Json::as_str);
            let effort = self.effort;
            if let Some(one) = reference.and_then(|it| effort.resolve(it)) {
                self.visit(one, value, depth)?;
            }
        }
        Some(())
    }

    fn members(
        &mut self,
        schema: &Map<String, Json>,
        members: &Map<String, Json>,
        depth: u32,
    ) -> Option<()> {
        let named = schema.get("properties").and_then(Json::as_object);
        let patterns = schema.get("patternProperties").and_then(Json::as_object);
        for (key, value) in members {
            if let Some(one) = named.and_then(|named| named.get(key)) {
                self.visit(one, value, depth)?;
            }
            // Whether the pattern matches or not.
            for one in patterns.into_iter().flat_map(Map::values) {
                self.step(key.len() / 64)?;
                self.visit(one, value, depth)?;
            }
            for rest in ["additionalProperties", "unevaluatedProperties"] {
                if let Some(one) = schema.get(rest) {
                    self.visit(one, value, depth)?;
                }
            }
            if let Some(one) = schema.get("propertyNames") {
                self.visit(one, &Json::String(key.clone()), depth)?;
            }
        }
        Some(())
    }

    fn items(&mut self, schema: &Map<String, Json>, items: &[Json], depth: u32) -> Option<()> {
        let placed = |key| schema.get(key).and_then(Json::as_array);
        let first = placed("prefixItems").or_else(|| placed("items"));
        for (index, value) in items.iter().enumerate() {
            if let Some(one) = first.and_then(|first| first.get(index)) {
                self.visit(one, value, depth)?;
            }
            for rest in ["items", "additionalItems", "contains", "unevaluatedItems"] {
                if let Some(one) = schema.get(rest).filter(|one| !one.is_array()) {
                    self.visit(one, value, depth)?;
                }
            }
        }
        Some(())
    }

    fn step(&mut self, steps: usize) -> Option<()> {
        self.left = self.left.checked_sub(u32::try_from(steps).ok()?)?;
        Some(())
    }
}

/// What a value costs by itself, in steps.
fn size(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len() / 64,
        Json::Object(members) => members.len() / 8,
        Json::Array(items) => items.len() / 8,
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

/// Values within a value, itself included.
fn nodes(value: &Json) -> usize {
    let within = match value {
        Json::Object(members) => members.values().map(nodes).sum(),
        Json::Array(items) => items.iter().map(nodes).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0usize,
    };
    within.saturating_add(1)
}

/// A fragment of a URI as text (RFC 6901, section 6).
fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
