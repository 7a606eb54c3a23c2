//! Arguments that a tool's definition does not name, even if its schema allows them.

use thiserror::Error;

use crate::wire::{JsonKind, Value, pointer_step};

use super::ArgumentNames;

/// Why a call's arguments are not only those that the tool's definition names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnnamedArgument {
    /// A JSON Pointer into the arguments.
    #[error("the tool's `inputSchema` names no argument `{}`", .0.escape_debug())]
    Unnamed(String),
    #[error(
        "the names in the tool's `inputSchema` below `{}` cannot all be read: they lie too deep, are too many, or \
         behind a reference to elsewhere", .0.escape_debug()
    )]
    Unreadable(String),
}

/// Most characters of a pointer in an error.
const SHOWN: usize = 200;

/// Checks that a call has no argument but those that `properties` of the schema name, also in its
/// alternatives. An object below the arguments for which the schema names no member is data, and may have
/// any.
///
/// # Errors
/// The first argument without a name there, or the place of which that cannot be told.
pub fn check_unnamed_arguments(
    arguments: Value<'_>,
    schema: &ArgumentNames,
) -> Result<(), UnnamedArgument> {
    members(arguments, schema).map_err(|Problem { steps, why }| {
        let steps = steps.iter().rev();
        let pointer: String = steps.flat_map(|step| ["/", step]).collect();
        let shown = pointer.chars().take(SHOWN).collect();
        match why {
            Why::Unnamed => UnnamedArgument::Unnamed(shown),
            Why::Unreadable => UnnamedArgument::Unreadable(shown),
        }
    })
}

struct Problem {
    /// From the place up to the arguments.
    steps: Vec<String>,
    why: Why,
}

enum Why {
    Unnamed,
    Unreadable,
}

impl Problem {
    fn below(mut self, step: String) -> Self {
        self.steps.push(step);
        self
    }
}

/// The wire's limit of depth bounds the recursion.
fn descend(value: Value<'_>, names: &ArgumentNames) -> Result<(), Problem> {
    match value.kind() {
        JsonKind::Object if names.members.is_empty() && !names.is_cut => {
            let Some(others) = &names.others else {
                return Ok(());
            };
            value.entries().try_for_each(|(name, member)| {
                descend(member, others).map_err(|problem| problem.below(pointer_step(&name)))
            })
        }
        JsonKind::Object => members(value, names),
        JsonKind::Array => {
            let Some(items) = &names.items else {
                return Ok(());
            };
            let mut all = value.items().enumerate();
            all.try_for_each(|(at, item)| {
                descend(item, items).map_err(|problem| problem.below(at.to_string()))
            })
        }
        JsonKind::String | JsonKind::Number | JsonKind::Bool | JsonKind::Null => Ok(()),
    }
}

fn members(object: Value<'_>, names: &ArgumentNames) -> Result<(), Problem> {
    object.entries().try_for_each(|(name, member)| {
        let below = |problem: Problem| problem.below(pointer_step(&name));
        if let Some(names) = names.members.get(&*name) {
            return descend(member, names).map_err(below);
        }
        let why = if names.is_cut {
            Why::Unreadable
        } else {
            Why::Unnamed
        };
        Err(below(Problem {
            steps: Vec::new(),
            why,
        }))
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
    fn check(arguments: &str, expected: &Result<(), UnnamedArgument>) {
        let schema = ArgumentNames::of_schema(document(SCHEMA).root());
        let arguments = document(arguments);
        let found = check_unnamed_arguments(arguments.root(), &schema);
        assert_eq!(&found, expected);
    }

    fn unnamed(pointer: &str) -> Result<(), UnnamedArgument> {
        Err(UnnamedArgument::Unnamed(pointer.to_owned()))
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
        let unreadable = |pointer: &str| Err(UnnamedArgument::Unreadable(pointer.to_owned()));
        check(r#"{"elsewhere": {"a": 1}}"#, &unreadable("/elsewhere/a"));
        let deep = format!(
            "{{\"node\": {}1{}}}",
            "{\"next\": ".repeat(40),
            "}".repeat(40)
        );
        let schema = ArgumentNames::of_schema(document(SCHEMA).root());
        let found = check_unnamed_arguments(document(&deep).root(), &schema);
        assert!(
            matches!(found, Err(UnnamedArgument::Unreadable(_))),
            "{found:?}"
        );
    }

    #[test]
    fn a_schema_that_names_nothing_lets_a_call_have_no_arguments() {
        let schema = ArgumentNames::of_schema(document("{}").root());
        let arguments = document(r#"{"a": 1}"#);
        assert_eq!(
            check_unnamed_arguments(arguments.root(), &schema),
            unnamed("/a")
        );
    }
}
