//! What a check would cost, before it is made.
//!
//! The validator follows a schema wherever it leads: one of a few lines can visit a small value 2^60
//! times, or for ever. So a walk that costs as much as the validator's own, but counts, comes first.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::problem::{
    MAX_EFFORT, MAX_PATTERN_BYTES, MAX_PATTERNS, SchemaProblem, Violation, shortened,
};

/// A schema as far as it tells where checks go.
#[derive(Debug)]
pub(super) struct CostEstimate {
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

impl CostEstimate {
    /// # Errors
    /// When it cannot be told where a reference leads, or there are too many patterns.
    pub(super) fn of(schema: &Json) -> Result<Self, SchemaProblem> {
        let draft = schema
            .get("$schema")
            .and_then(Json::as_str)
            .unwrap_or_default();
        let mut survey = SchemaSurvey {
            names_by_id: ["draft-03", "draft-04"]
                .iter()
                .any(|old| draft.contains(old)),
            ..SchemaSurvey::default()
        };
        survey.look(schema, &mut Vec::new());
        if survey.patterns > MAX_PATTERNS || survey.pattern_bytes > MAX_PATTERN_BYTES {
            return Err(SchemaProblem::Patterns);
        }
        let effort = Self {
            root: schema.clone(),
            anchors: survey.anchors,
        };
        if let Some(elsewhere) = survey.elsewhere {
            return Err(SchemaProblem::Reference(shortened(&elsewhere)));
        }
        let lost = survey.references.into_iter();
        match lost.into_iter().find(|it| effort.resolve(it).is_none()) {
            Some(reference) => Err(SchemaProblem::Reference(shortened(&reference))),
            None => Ok(effort),
        }
    }

    /// # Errors
    /// [`Violation::TooMuch`] when the validator might take more than [`MAX_EFFORT`] steps.
    pub(super) fn fits(&self, instance: &Json) -> Result<(), Violation> {
        let mut walk = CostWalk {
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
            // Whether others undo escapes once or twice is not worth knowing.
            return self
                .root
                .pointer(fragment)
                .filter(|_| !fragment.contains('%'));
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
struct SchemaSurvey {
    patterns: usize,
    pattern_bytes: usize,
    references: Vec<String>,
    anchors: HashMap<String, Vec<String>>,
    /// Drafts 3 and 4 say `id`.
    names_by_id: bool,
    /// What makes references mean something else than places in the whole: an `$id` or `$schema`
    /// below the top, `id` of Draft 4, or an anchor that two places have.
    elsewhere: Option<String>,
}

impl SchemaSurvey {
    /// Looks at everything as if it were a schema: which places are schemas depends on the draft, and
    /// a name such as `default` may be that of a member. What is none is refused for nothing, at worst.
    fn look(&mut self, schema: &Json, path: &mut Vec<String>) {
        match schema {
            Json::Object(members) => {
                self.note(members, path);
                for (key, member) in members {
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
            if let Some(name) = text(anchor)
                && let Some(other) = self.anchors.insert(name.to_owned(), path.to_vec())
                && other != path
            {
                self.elsewhere = Some(name.to_owned());
            }
        }
        let inner = ["$id", "$schema"]
            .into_iter()
            .chain(self.names_by_id.then_some("id"));
        let mut inner = inner.filter_map(text).filter(|_| !path.is_empty());
        self.elsewhere = inner.next().map(str::to_owned).or(self.elsewhere.take());
        let inner = members.get("patternProperties").and_then(Json::as_object);
        let keys = inner.into_iter().flat_map(Map::keys).map(String::as_str);
        for pattern in text("pattern").into_iter().chain(keys) {
            self.patterns = self.patterns.saturating_add(1);
            self.pattern_bytes = self.pattern_bytes.saturating_add(pattern.len());
        }
    }
}

struct CostWalk<'e> {
    effort: &'e CostEstimate,
    left: u32,
}

impl CostWalk<'_> {
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
        // No comparison looks at more than there is on this side.
        for choices in ["enum", "const"].iter().filter_map(|key| schema.get(*key)) {
            self.step(weight(choices))?;
        }
        if let (Json::String(text), Some(Json::String(pattern))) = (value, schema.get("pattern")) {
            self.step(matching(pattern, text))?;
        }
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
            if let Some(reference) = reference {
                self.visit(effort.resolve(reference)?, value, depth)?;
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
            for (pattern, one) in patterns.into_iter().flatten() {
                self.step(matching(pattern, key))?;
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

/// What it takes to match a pattern, in steps. One that repeats a counted number of times may have
/// thousands of states, each of which may be looked at for every byte.
fn matching(pattern: &str, text: &str) -> usize {
    if pattern.contains('{') {
        return text.len();
    }
    let states = pattern.len() / 64 + 1;
    (text.len() / 16).saturating_mul(states)
}

/// What it takes to compare with a value, in steps.
fn weight(value: &Json) -> usize {
    let within = match value {
        Json::Object(members) => members.values().map(weight).sum(),
        Json::Array(items) => items.iter().map(weight).sum(),
        Json::String(text) => text.len() / 64,
        Json::Null | Json::Bool(_) | Json::Number(_) => 0usize,
    };
    within.saturating_add(1)
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
