//! The names that a JSON Schema declares.

use crate::wire::{JsonKind, Value};

use super::ArgumentNames;

/// The cost of following a reference, in names: the gate may search the schema for its target.
const REFERENCE_COST: usize = 16;

/// Keywords whose schema applies to the same value.
const IN_PLACE: [&str; 3] = ["if", "then", "else"];
/// The same with several schemas in an array.
const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// The same with several schemas in an object.
const DEPENDENT: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords whose schema, or schemas in an array, are of items.
const OF_ITEMS: [&str; 5] = [
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "unevaluatedItems",
];
/// Keywords whose schema is of members without a name of their own.
const OF_OTHERS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
/// References whose target depends on the way to them.
const DYNAMIC: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

impl ArgumentNames {
    /// `left` is how many names may still be taken.
    pub(super) fn add_schema(
        &mut self,
        root: Value<'_>,
        schema: Value<'_>,
        depth: usize,
        left: &mut usize,
    ) {
        let (Some(depth), Some(rest)) = (depth.checked_sub(1), left.checked_sub(1)) else {
            self.is_cut = true;
            return;
        };
        *left = rest;
        // Before anything that lies deeper takes what is left.
        if !self.insert_properties(schema, left) {
            self.is_cut = true;
            for member in self.members.values_mut() {
                member.is_cut = true;
            }
            return;
        }
        self.follow_reference(root, schema, depth, left);
        for keyword in IN_PLACE {
            if let Some(one) = schema.get(keyword) {
                self.add_schema(root, one, depth, left);
            }
        }
        for keyword in ALTERNATIVES {
            for one in schema.get(keyword).into_iter().flat_map(Value::items) {
                self.add_schema(root, one, depth, left);
            }
        }
        for keyword in DEPENDENT {
            let all = schema.get(keyword).into_iter().flat_map(Value::entries);
            for (_, one) in all.filter(|(_, one)| one.is_object()) {
                self.add_schema(root, one, depth, left);
            }
        }
        for one in OF_ITEMS.iter().filter_map(|keyword| schema.get(keyword)) {
            let names = self.items.get_or_insert_default();
            if one.kind() == JsonKind::Array {
                for one in one.items() {
                    names.add_schema(root, one, depth, left);
                }
            } else {
                names.add_schema(root, one, depth, left);
            }
        }
        self.add_others(root, schema, depth, left);
        let properties = schema.get("properties");
        for (name, property) in properties.into_iter().flat_map(Value::entries) {
            if let Some(names) = self.members.get_mut(&*name) {
                names.add_schema(root, property, depth, left);
            }
        }
    }

    /// False if there are too many.
    fn insert_properties(&mut self, schema: Value<'_>, left: &mut usize) -> bool {
        let properties = schema.get("properties");
        for (name, _) in properties.into_iter().flat_map(Value::entries) {
            let Some(rest) = left.checked_sub(1) else {
                return false;
            };
            *left = rest;
            self.insert(&name);
        }
        true
    }

    fn follow_reference(
        &mut self,
        root: Value<'_>,
        schema: Value<'_>,
        depth: usize,
        left: &mut usize,
    ) {
        self.is_cut |= DYNAMIC.iter().any(|keyword| schema.get(keyword).is_some());
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return;
        };
        let rest = left.checked_sub(REFERENCE_COST);
        *left = rest.unwrap_or(*left);
        match rest.and_then(|_| local(root, &reference)) {
            Some(target) => self.add_schema(root, target, depth, left),
            None => self.is_cut = true,
        }
    }

    fn add_others(&mut self, root: Value<'_>, schema: Value<'_>, depth: usize, left: &mut usize) {
        for one in OF_OTHERS.iter().filter_map(|keyword| schema.get(keyword)) {
            if one.as_bool() == Some(false) {
                self.is_closed = true;
            } else {
                let names = self.others.get_or_insert_default();
                names.add_schema(root, one, depth, left);
            }
        }
        let patterns = schema.get("patternProperties");
        for (_, one) in patterns.into_iter().flat_map(Value::entries) {
            let names = self.others.get_or_insert_default();
            names.add_schema(root, one, depth, left);
        }
    }
}

/// The place in a schema to which a reference within it leads.
fn local<'v>(root: Value<'v>, reference: &str) -> Option<Value<'v>> {
    let pointer = reference.strip_prefix('#')?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    let mut place = root;
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        place = match place.kind() {
            JsonKind::Array => place.items().nth(name.parse().ok()?)?,
            JsonKind::Object => place.get(&name)?,
            JsonKind::String | JsonKind::Number | JsonKind::Bool | JsonKind::Null => return None,
        };
    }
    Some(place)
}
