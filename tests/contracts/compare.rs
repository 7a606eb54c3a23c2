//! Compares two versions of a JSON Schema.
//!
//! Both directions are one question: whether every value of one version fits the other. A keyword that nothing
//! here knows is a change, because its effect is unknown. `jsoncompat` proves the inclusion of schemas, but compares
//! no defaults, names no place, and has no readers that ignore unknown fields.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::schema::{alternatives, disjoint, flat, is_among, split, types, values, words};

/// Who writes the values of a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// A user: the program still reads what it read.
    ByUsers,
    /// The program: readers, which ignore unknown fields, still understand what it writes.
    ByProgram,
}

/// Of these the keyword of the schema that must accept is at most, or at least, the other's.
const MINIMA: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
const MAXIMA: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];
/// Equal, or gone from the schema that must accept.
const EXACT: [&str; 3] = ["pattern", "format", "uniqueItems"];
const ELSEWHERE: [&str; 18] = [
    "type",
    "enum",
    "const",
    "properties",
    "additionalProperties",
    "propertyNames",
    "items",
    "required",
    "allOf",
    "default",
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "examples",
];

/// Two documents, of which schemas are compared.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<'d> {
    pub(crate) old: &'d Value,
    pub(crate) new: &'d Value,
    pub(crate) written: Written,
}

/// A place in the values, and the references that lead there: in a circle, the second round adds nothing.
#[derive(Clone, Default)]
pub(crate) struct At {
    pointer: String,
    references: Vec<[Value; 2]>,
}

impl At {
    pub(crate) fn new(pointer: &str) -> Self {
        Self {
            pointer: pointer.to_owned(),
            references: Vec::new(),
        }
    }

    fn inside(&self, key: &str) -> Self {
        Self {
            pointer: format!("{}/{key}", self.pointer),
            references: self.references.clone(),
        }
    }

    fn says(&self, what: impl AsRef<str>) -> String {
        format!("{}: {}", self.pointer, what.as_ref())
    }
}

/// What changed incompatibly between two versions of a schema, each with its place.
pub(crate) fn changes(old: &Value, new: &Value, written: Written) -> Vec<String> {
    Comparison { old, new, written }.schemas(&At::default(), old, new)
}

impl Comparison<'_> {
    pub(crate) fn schemas(&self, at: &At, old: &Value, new: &Value) -> Vec<String> {
        let mut at = at.clone();
        if let (Some(one), Some(other)) = (old.get("$ref"), new.get("$ref")) {
            let pair = [one.clone(), other.clone()];
            if at.references.contains(&pair) {
                return Vec::new();
            }
            at.references.push(pair);
        }
        let (old, new) = (flat(self.old, old), flat(self.new, new));
        let mut found = self.default(&at, &old, &new);
        let [inner, outer] = self.ordered(&old, &new);
        if inner == &json!(false) || outer == &json!({}) {
            return found;
        }
        if outer == &json!(false) {
            return vec![at.says("no value fits any more")];
        }
        // What stands beside the alternatives is compared once, if that is enough.
        if let Some(((rest, branches), (others, into))) = split(inner).zip(split(outer)) {
            let fits = |it: &Value| {
                into.iter()
                    .any(|outer| self.fits(&at, it, outer).is_empty())
            };
            if branches.iter().all(fits) {
                return self.fits(&at, &rest, &others);
            }
        }
        let (olds, news) = (alternatives(self.old, &old), alternatives(self.new, &new));
        let [inners, outers] = self.ordered(&olds, &news);
        let best = |inner| best(outers.iter().map(|outer| self.keywords(&at, inner, outer)));
        found.extend(inners.iter().flat_map(best));
        // Alternatives have the keywords in common that stand beside them.
        let found: BTreeSet<String> = found.into_iter().collect();
        found.into_iter().collect()
    }

    fn default(&self, at: &At, old: &Value, new: &Value) -> Vec<String> {
        let [was, is] = [old, new].map(|it| it.get("default"));
        let changed = self.written == Written::ByUsers && was.is_some() && was != is;
        let text = |it: Option<&Value>| it.map_or("none".to_owned(), Value::to_string);
        let report = || at.says(format!("the default was {} and is {}", text(was), text(is)));
        changed.then(report).into_iter().collect()
    }

    /// What must fit, and what it must fit into.
    fn ordered<'v, T>(&self, old: &'v T, new: &'v T) -> [&'v T; 2] {
        match self.written {
            Written::ByUsers => [old, new],
            Written::ByProgram => [new, old],
        }
    }

    fn fits(&self, at: &At, inner: &Value, outer: &Value) -> Vec<String> {
        let [old, new] = self.ordered(inner, outer);
        self.schemas(at, old, new)
    }

    fn keywords(&self, at: &At, inner: &Value, outer: &Value) -> Vec<String> {
        let [old, new] = self.ordered(inner, outer);
        let mut found = Vec::new();
        for schema in [old, new] {
            let keywords = schema.as_object().into_iter().flat_map(|it| it.keys());
            let known = |word: &str| {
                [&ELSEWHERE[..], &MINIMA, &MAXIMA, &EXACT]
                    .iter()
                    .any(|all| all.contains(&word))
            };
            let unknown = keywords.filter(|word| !known(word));
            found.extend(unknown.map(|word| at.says(format!("this test does not know `{word}`"))));
        }
        let changed = |keyword: &str| {
            let [old, new] =
                [old, new].map(|it| it.get(keyword).map_or("any".to_owned(), Value::to_string));
            at.says(format!("`{keyword}` was {old} and is {new}"))
        };
        let number = |schema: &Value, keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let below = |one: Option<f64>, limit: Option<f64>| {
            limit.is_some_and(|it| one.is_none_or(|one| one < it))
        };
        let minima = MINIMA
            .iter()
            .filter(|it| below(number(inner, it), number(outer, it)));
        let negative = |schema, keyword| number(schema, keyword).map(|it| -it);
        let maxima = MAXIMA
            .iter()
            .filter(|it| below(negative(inner, it), negative(outer, it)));
        let exact = EXACT
            .iter()
            .filter(|it| outer.get(it).is_some() && inner.get(it) != outer.get(it));
        found.extend(
            minima
                .chain(maxima)
                .chain(exact)
                .map(|keyword| changed(keyword)),
        );
        if !types_fit(inner, outer) {
            found.push(changed("type"));
        }
        found.extend(self.values(at, old, new));
        let (has, needs) = (words(inner, "required"), words(outer, "required"));
        let missing = needs.iter().filter(|key| !has.contains(key));
        let word = match self.written {
            Written::ByUsers => "is now required",
            Written::ByProgram => "is no longer always there",
        };
        found.extend(missing.map(|key| at.inside(key).says(word)));
        found.extend(self.members(at, old, new));
        found.extend(self.conditions(at, inner, outer));
        found
    }

    /// Enumerations. The program's own only change with the format: a value that is gone has another name now.
    fn values(&self, at: &At, old: &Value, new: &Value) -> Vec<String> {
        let both = [json!(false), json!(true)];
        let all = |schema| {
            values(schema)
                .or_else(|| (types(schema)? == ["boolean"]).then(|| both.iter().collect()))
        };
        match (all(old), all(new)) {
            (Some(old), Some(new)) => {
                let gone = old.iter().filter(|it| !new.contains(it));
                let mut found: Vec<String> = gone
                    .map(|it| at.says(format!("the value {it} is gone")))
                    .collect();
                if self.written == Written::ByProgram {
                    let more = new.iter().filter(|it| !old.contains(it));
                    found.extend(
                        more.map(|it| at.says(format!("readers do not know the value {it}"))),
                    );
                }
                found
            }
            (None, Some(_)) if self.written == Written::ByUsers => {
                vec![at.says("only listed values fit now")]
            }
            (Some(_), None) if self.written == Written::ByProgram => {
                vec![at.says("has other values than the listed")]
            }
            _ => Vec::new(),
        }
    }

    /// Keys and items.
    fn members(&self, at: &At, old: &Value, new: &Value) -> Vec<String> {
        let member =
            |schema: &Value, keyword: &str| schema.get(keyword).cloned().unwrap_or(json!(true));
        let key = |schema: &Value, key: &str| {
            schema
                .get("properties")
                .and_then(|all| all.get(key))
                .cloned()
        };
        let keys = |schema: &Value| -> Vec<String> {
            let all = schema.get("properties").and_then(Value::as_object);
            all.into_iter().flat_map(|it| it.keys().cloned()).collect()
        };
        let (closed, more) = (json!(false), "additionalProperties");
        let mut found = Vec::new();
        for name in keys(old) {
            let (before, at) = (key(old, &name).unwrap(), at.inside(&name));
            // What was one of the known keys is not one of any others now.
            let others = [old, new].map(|it| member(it, more));
            let is_other =
                self.written == Written::ByUsers && others != [closed.clone(), json!(true)];
            let rest = if is_other { &others[1] } else { &closed };
            let after = key(new, &name).unwrap_or_else(|| rest.clone());
            if before != closed && after == closed {
                found.push(at.says("is gone"));
            } else if before != closed {
                found.extend(self.schemas(&at, &before, &after));
            }
        }
        if self.written == Written::ByUsers {
            let added = keys(new)
                .into_iter()
                .filter(|name| key(old, name).is_none());
            for name in added {
                let after = key(new, &name).unwrap();
                found.extend(self.schemas(&at.inside(&name), &member(old, more), &after));
            }
        }
        // Readers ignore fields that no schema of theirs has.
        if self.written == Written::ByUsers || member(old, more) != closed {
            found.extend(self.schemas(&at.inside("*"), &member(old, more), &member(new, more)));
        }
        for keyword in ["propertyNames", "items"] {
            found.extend(self.schemas(
                &at.inside("*"),
                &member(old, keyword),
                &member(new, keyword),
            ));
        }
        found
    }

    /// `allOf`, after [`flat`] every condition.
    fn conditions(&self, at: &At, inner: &Value, outer: &Value) -> Vec<String> {
        let needed = all_of(outer).into_iter();
        needed
            .flat_map(|needed| self.condition(at, inner, needed))
            .collect()
    }

    fn condition(&self, at: &At, inner: &Value, needed: &Value) -> Vec<String> {
        let [inside, outside] = self.ordered(&self.old, &self.new);
        let never = |schema: &Value| disjoint([inside, outside], [inner, schema]);
        let has = all_of(inner);
        let equal = |keyword: &'static str| -> Vec<&Value> {
            let same = has
                .iter()
                .copied()
                .filter(|it| it.get(keyword).map(bare) == Some(bare(&needed[keyword])));
            same.collect()
        };
        let changed = || {
            let word = if self.written == Written::ByUsers {
                "new"
            } else {
                "gone"
            };
            vec![at.says(format!("this condition is {word}: {}", bare(needed)))]
        };
        let branch = |schema: &Value, word: &str| schema.get(word).cloned().unwrap_or(json!(true));
        if let Some(refused) = needed.get("not") {
            let known = !equal("not").is_empty() || never(refused);
            if known { Vec::new() } else { changed() }
        } else if let Some(condition) = needed.get("if") {
            if needed.get("else").is_none() && never(condition) {
                return Vec::new();
            }
            let same = equal("if");
            if same.is_empty() {
                return changed();
            }
            best(same.into_iter().map(|it| {
                let both = ["then", "else"]
                    .map(|word| self.fits(at, &branch(it, word), &branch(needed, word)));
                both.concat()
            }))
        } else {
            let plain = has.iter().copied();
            let plain = plain.filter(|it| it.get("not").is_none() && it.get("if").is_none());
            // What a condition does not name is not closed by it.
            let mut rest = inner.clone();
            let keywords = rest.as_object_mut().unwrap();
            keywords.retain(|word, _| !["allOf", "additionalProperties"].contains(&word.as_str()));
            best(plain.chain([&rest]).map(|it| self.fits(at, it, needed)))
        }
    }
}

fn types_fit(inner: &Value, outer: &Value) -> bool {
    match (types(inner), types(outer)) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(inner), Some(outer)) => inner.iter().all(|it| is_among(it, &outer)),
    }
}

fn all_of(schema: &Value) -> Vec<&Value> {
    let all = schema.get("allOf").and_then(Value::as_array);
    all.into_iter().flatten().collect()
}

/// The shortest of several reports.
fn best(reports: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    reports.min_by_key(Vec::len).unwrap_or_default()
}

/// A schema without its texts.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(all) => {
            let is_text = |key: &str, it: &Value| {
                ["description", "$comment", "title"].contains(&key) && it.is_string()
            };
            let kept = all.iter().filter(|(key, it)| !is_text(key, it));
            kept.map(|(key, it)| (key.clone(), bare(it))).collect()
        }
        Value::Array(all) => all.iter().map(bare).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}
