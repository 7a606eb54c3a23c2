//! Arguments that a tool's definition does not name, even if its schema allows them.

use thiserror::Error;

use crate::wire::{JsonKind, Value, pointer_step};

use super::ArgumentNames;

/// Why a call's arguments are not only those that the tool's definition names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownArgument {
    /// A JSON Pointer into the arguments.
    #[error("the tool's `inputSchema` names no argument `{}`", .0.escape_debug())]
    Unnamed(String),
    #[error(
        "the tool's `inputSchema` nests too deep, has too many names, or uses an external or dynamic reference below \
         `{}`", .0.escape_debug()
    )]
    Unreadable(String),
}

/// Most characters of a pointer in an error.
const SHOWN: usize = 200;

/// Checks that a call has no argument but those that `properties` of the schema name, also in its
/// alternatives. A value below the arguments of which the schema says nothing is data, and may hold any
/// members; so may an object of which the schema describes members without names.
///
/// # Errors
/// The first argument without a name there, or the place of which that cannot be told.
pub fn check_unknown_arguments(
    arguments: Value<'_>,
    schema: &ArgumentNames,
) -> Result<(), UnknownArgument> {
    let place = ArgumentPlace::of(schema, Reading::Whole);
    members(arguments, place).map_err(|Problem { steps, why }| {
        let steps = steps.iter().rev();
        let pointer: String = steps.flat_map(|step| ["/", step]).collect();
        let shown = pointer.chars().take(SHOWN).collect();
        match why {
            Reading::Whole => UnknownArgument::Unnamed(shown),
            Reading::Cut => UnknownArgument::Unreadable(shown),
        }
    })
}

/// What the schema says of a place.
#[derive(Clone, Copy)]
struct ArgumentPlace<'n> {
    names: &'n ArgumentNames,
    reading: Reading,
}

/// Whether all is known that the schema says of a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Whole,
    Cut,
}

impl<'n> ArgumentPlace<'n> {
    /// What lies below a place that is cut may be cut, too.
    fn of(names: &'n ArgumentNames, above: Reading) -> Self {
        let reading = if names.is_cut { Reading::Cut } else { above };
        Self { names, reading }
    }

    fn below(self, names: &'n ArgumentNames) -> Self {
        Self::of(names, self.reading)
    }

    fn is_data(self) -> bool {
        let names = self.names;
        let says_nothing = names.members.is_empty()
            && names.items.is_none()
            && names.others.is_none()
            && !names.is_closed;
        says_nothing && self.reading == Reading::Whole
    }
}

struct Problem {
    /// From the place up to the arguments.
    steps: Vec<String>,
    why: Reading,
}

impl Problem {
    fn below(mut self, step: String) -> Self {
        self.steps.push(step);
        self
    }
}

/// The wire's limit of depth bounds the recursion.
fn descend(value: Value<'_>, place: ArgumentPlace<'_>) -> Result<(), Problem> {
    let names = place.names;
    match (value.kind(), &names.others, &names.items) {
        (JsonKind::Object | JsonKind::Array, _, _) if place.is_data() => Ok(()),
        (JsonKind::Object, Some(others), _) if names.members.is_empty() => {
            value.entries().try_for_each(|(name, member)| {
                let described = descend(member, place.below(others));
                described.map_err(|problem| problem.below(pointer_step(&name)))
            })
        }
        (JsonKind::Object, _, _) => members(value, place),
        (JsonKind::Array, _, items) => {
            let nothing = ArgumentNames {
                is_closed: true,
                ..ArgumentNames::default()
            };
            let items = place.below(items.as_deref().unwrap_or(&nothing));
            value.items().enumerate().try_for_each(|(at, item)| {
                descend(item, items).map_err(|problem| problem.below(at.to_string()))
            })
        }
        (JsonKind::String | JsonKind::Number | JsonKind::Bool | JsonKind::Null, _, _) => Ok(()),
    }
}

fn members(object: Value<'_>, place: ArgumentPlace<'_>) -> Result<(), Problem> {
    object.entries().try_for_each(|(name, member)| {
        let described = match place.names.members.get(&*name) {
            Some(names) => descend(member, place.below(names)),
            None => Err(Problem {
                steps: Vec::new(),
                why: place.reading,
            }),
        };
        described.map_err(|problem| problem.below(pointer_step(&name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    fn document(text: &str) -> Document {
        Document::decode(text.as_bytes(), &Limits::default()).unwrap()
    }

    const SCHEMA: &str = r##"{
        "properties": {
            "path": {"type": "string"},
            "options": {"properties": {"depth": {}}},
            "list": {"items": {"properties": {"name": {}}}},
            "env": {"additionalProperties": {"properties": {"value": {}}}},
            "filter": {"type": "object"},
            "node": {"$ref": "#/$defs/node"},
            "elsewhere": {"$ref": "https://example.com/schema"}
        },
        "anyOf": [{"properties": {"either": {}}}],
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}
    }"##;

    #[track_caller]
    fn check(arguments: &str, expected: &Result<(), UnknownArgument>) {
        let schema = ArgumentNames::of_schema(document(SCHEMA).root());
        let arguments = document(arguments);
        let found = check_unknown_arguments(arguments.root(), &schema);
        assert_eq!(&found, expected);
    }

    fn unnamed(pointer: &str) -> Result<(), UnknownArgument> {
        Err(UnknownArgument::Unnamed(pointer.to_owned()))
    }

    #[test]
    fn an_argument_that_the_schema_does_not_name_is_found_wherever_it_stands() {
        check("{}", &Ok(()));
        check(r#"{"path": "a", "either": 1}"#, &Ok(()));
        check(r#"{"path": "a", "extra": 1}"#, &unnamed("/extra"));
        check(
            r#"{"options": {"depth": 1, "a/b": 2}}"#,
            &unnamed("/options/a~1b"),
        );
        check(
            r#"{"list": [{"name": 1}, {"role": 1}]}"#,
            &unnamed("/list/1/role"),
        );
        check(
            r#"{"node": {"next": {"next": {"last": 1}}}}"#,
            &unnamed("/node/next/next/last"),
        );
    }

    #[track_caller]
    fn check_with(schema: &str, arguments: &str, expected: &Result<(), UnknownArgument>) {
        let schema = ArgumentNames::of_schema(document(schema).root());
        let found = check_unknown_arguments(document(arguments).root(), &schema);
        assert_eq!(&found, expected, "{arguments}");
    }

    #[test]
    fn every_keyword_that_describes_members_or_items_is_read() {
        let evil = unnamed("/l/0/evil");
        for items in [
            r#""prefixItems":[{"properties":{"a":{}}}]"#,
            r#""items":[{"properties":{"a":{}}}]"#,
            r#""contains":{"properties":{"a":{}}}"#,
            r#""additionalItems":{"properties":{"a":{}}}"#,
            r#""unevaluatedItems":{"properties":{"a":{}}}"#,
            r#""properties":{"a":{}}"#,
        ] {
            let schema = format!(r#"{{"properties":{{"l":{{{items}}}}}}}"#);
            check_with(&schema, r#"{"l":[{"evil":1}]}"#, &evil);
            check_with(&schema, r#"{"l":["evil"]}"#, &Ok(()));
        }
        for members in [
            r#""patternProperties":{"^x":{"properties":{"a":{}}}}"#,
            r#""unevaluatedProperties":{"properties":{"a":{}}}"#,
            r#""additionalProperties":{"properties":{"a":{}}}"#,
            r#""dependentSchemas":{"x":{"properties":{"x":{"properties":{"a":{}}}}}}"#,
            r#""dependencies":{"x":{"properties":{"x":{"properties":{"a":{}}}}}}"#,
        ] {
            let schema = format!(r#"{{"properties":{{"l":{{{members}}}}}}}"#);
            check_with(&schema, r#"{"l":{"x":{"evil":1}}}"#, &unnamed("/l/x/evil"));
            check_with(&schema, r#"{"l":{"x":{"a":1}}}"#, &Ok(()));
        }
        let closed = r#"{"properties":{"l":{"additionalProperties":false}}}"#;
        check_with(closed, r#"{"l":{"evil":1}}"#, &unnamed("/l/evil"));
        let items = r#"{"properties":{"l":{"items":{"properties":{"a":{}}}}}}"#;
        check_with(items, r#"{"l":{"0":{"evil":1}}}"#, &unnamed("/l/0"));
    }

    #[test]
    fn nothing_hides_below_a_place_that_cannot_be_read() {
        let unreadable = |pointer: &str| Err(UnknownArgument::Unreadable(pointer.to_owned()));
        let elsewhere = r#"{"properties":{"l":{"$ref":"https://example.com/x"}}}"#;
        check_with(elsewhere, r#"{"l":[{"evil":1}]}"#, &unreadable("/l/0/evil"));
        check_with(elsewhere, r#"{"l":"text"}"#, &Ok(()));
        let dynamic = r##"{"properties":{"l":{"$dynamicRef":"#n"}}}"##;
        check_with(dynamic, r#"{"l":{"evil":1}}"#, &unreadable("/l/evil"));
        let anchor = r##"{"properties":{"l":{"$ref":"#n"},"p":{}}}"##;
        check_with(anchor, r#"{"l":{"p":1}}"#, &unreadable("/l/p"));
        let many: Vec<_> = (0..5000)
            .map(|n| format!(r#""n{n}":{{"properties":{{"ok":{{}}}}}}"#))
            .collect();
        let many = format!(r#"{{"properties":{{{}}}}}"#, many.join(","));
        check_with(&many, r#"{"n1":{"evil":1}}"#, &unreadable("/n1/evil"));
    }

    #[test]
    fn an_object_without_names_of_its_own_is_data() {
        check(r#"{"filter": {"any": {"thing": 1}}}"#, &Ok(()));
        check(r#"{"env": {"HOME": {"value": 1}}}"#, &Ok(()));
        check(
            r#"{"env": {"HOME": {"other": 1}}}"#,
            &unnamed("/env/HOME/other"),
        );
    }

    #[test]
    fn what_the_schema_names_beyond_a_limit_is_no_name() {
        let unreadable = |pointer: &str| Err(UnknownArgument::Unreadable(pointer.to_owned()));
        check(r#"{"elsewhere": {"a": 1}}"#, &unreadable("/elsewhere/a"));
        let deep = format!(
            "{{\"node\": {}1{}}}",
            "{\"next\": ".repeat(40),
            "}".repeat(40)
        );
        let schema = ArgumentNames::of_schema(document(SCHEMA).root());
        let found = check_unknown_arguments(document(&deep).root(), &schema);
        assert!(
            matches!(found, Err(UnknownArgument::Unreadable(_))),
            "{found:?}"
        );
    }

    #[test]
    fn a_schema_that_names_nothing_lets_a_call_have_no_arguments() {
        let schema = ArgumentNames::of_schema(document("{}").root());
        let arguments = document(r#"{"a": 1}"#);
        assert_eq!(
            check_unknown_arguments(arguments.root(), &schema),
            unnamed("/a")
        );
    }
}
