//! The document as Rego's values.

use std::collections::BTreeMap;

use regorus::Value;

use super::super::document::{Node, Object};

pub(super) fn object(members: Object<'_>) -> Value {
    let members: BTreeMap<Value, Value> = members
        .into_iter()
        .map(|(key, node)| (Value::from(&*key), value(node)))
        .collect();
    Value::from(members)
}

fn value(node: Node<'_>) -> Value {
    match node {
        Node::Null => Value::Null,
        Node::Bool(value) => Value::from(value),
        Node::Integer(value) => Value::from(value),
        Node::Number(value) => Value::from(value),
        Node::Text(text) => Value::from(&*text),
        Node::List(items) => Value::from(items.into_iter().map(value).collect::<Vec<_>>()),
        Node::Object(members) => object(members),
    }
}
