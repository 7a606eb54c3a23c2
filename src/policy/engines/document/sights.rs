//! What a rule looked at in the document.

use std::fmt::Write as _;

use super::{Node, Object};
use crate::policy::Sight;
use crate::policy::trace::shortened;

/// A name of the document, and what is looked up in it step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Path {
    /// As rules write it.
    what: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    /// Of a list, from 0.
    Item(usize),
}

impl Path {
    /// The whole document, under the name that rules have for it.
    pub(in super::super) fn document(name: &str) -> Self {
        Self {
            what: name.to_owned(),
            steps: Vec::new(),
        }
    }

    /// A member of the document.
    pub(in super::super) fn of(name: &str) -> Self {
        Self {
            what: name.to_owned(),
            steps: vec![Step::Member(name.to_owned())],
        }
    }

    #[must_use]
    pub(in super::super) fn member(mut self, name: &str) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_word = name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
        if is_word && !name.is_empty() {
            self.what.push('.');
            self.what.push_str(name);
        } else {
            self.what.push('[');
            self.what.push_str(&quoted(name));
            self.what.push(']');
        }
        self.steps.push(Step::Member(name.to_owned()));
        self
    }

    #[must_use]
    pub(in super::super) fn item(mut self, place: usize) -> Self {
        let _ = write!(self.what, "[{place}]");
        self.steps.push(Step::Item(place));
        self
    }

    /// What is there.
    pub(in super::super) fn sight(&self, document: &Object<'_>) -> Sight {
        Sight {
            what: self.what.clone(),
            value: self.value(document).map(|text| shortened(&text)),
        }
    }

    fn value(&self, document: &Object<'_>) -> Option<String> {
        let Some((first, rest)) = self.steps.split_first() else {
            let mut text = String::new();
            members(document, &mut text);
            return Some(text);
        };
        let Step::Member(name) = first else {
            return None;
        };
        let mut found = document.get(name.as_str())?;
        for step in rest {
            found = match (step, found) {
                (Step::Member(name), Node::Object(members)) => members.get(name.as_str())?,
                (Step::Item(place), Node::List(items)) => items.get(*place)?,
                (Step::Member(_) | Step::Item(_), _) => return None,
            };
        }
        let mut text = String::new();
        told(found, &mut text);
        Some(text)
    }
}

/// A value as JSON, which Rego and CEL write in the same way.
fn told(node: &Node<'_>, out: &mut String) {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Node::Integer(value) => out.push_str(&value.to_string()),
        Node::Number(value) => {
            let _ = write!(out, "{value:?}");
        }
        Node::Text(text) => out.push_str(&quoted(text)),
        Node::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                told(item, out);
            }
            out.push(']');
        }
        Node::Object(object) => members(object, out),
    }
}

fn members(object: &Object<'_>, out: &mut String) {
    out.push('{');
    for (place, (key, value)) in object.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        out.push_str(&quoted(key));
        out.push_str(": ");
        told(value, out);
    }
    out.push('}');
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::object;
    use super::*;

    #[test]
    fn what_is_there_is_told_and_what_is_not_is_missing() {
        let inner = object([
            ("a-b", Node::List(vec![Node::Null, Node::Number(0.5)])),
            ("n", Node::Integer(-7)),
            ("t", Node::Text("\"\n".into())),
        ]);
        let document = object([("x", Node::Object(inner)), ("y", Node::Bool(true))]);
        let check = |path: Path, what: &str, value: Option<&str>| {
            let expected = Sight {
                what: what.to_owned(),
                value: value.map(str::to_owned),
            };
            assert_eq!(path.sight(&document), expected);
        };
        let x = || Path::of("x");
        let all = r#"{"a-b": [null, 0.5], "n": -7, "t": "\"\n"}"#;
        check(x(), "x", Some(all));
        check(x().member("n"), "x.n", Some("-7"));
        check(x().member("a-b").item(1), r#"x["a-b"][1]"#, Some("0.5"));
        check(x().member("a-b").item(2), r#"x["a-b"][2]"#, None);
        check(x().member("n").member("m"), "x.n.m", None);
        check(x().item(0), "x[0]", None);
        check(Path::of("z"), "z", None);
        let input = || Path::document("input");
        check(input().member("y"), "input.y", Some("true"));
        let whole = format!(r#"{{"x": {all}, "y": true}}"#);
        check(input(), "input", Some(&whole));
    }
}
