//! The document as CEL values, which borrow every text of the facts.

use std::borrow::Cow;
use std::collections::HashMap;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString,
};
use cel::common::value::Val;

use super::super::document::Node;

pub(super) fn value<'v>(node: Node<'v>) -> Box<dyn Val + 'v> {
    match node {
        Node::Null => Box::new(CelNull),
        Node::Bool(value) => Box::new(CelBool::from(value)),
        Node::Integer(value) => Box::new(CelInt::from(value)),
        Node::Number(value) => Box::new(CelDouble::from(value)),
        Node::Text(text) => Box::new(CelString::from(text)),
        Node::List(items) => {
            let items: Vec<Box<dyn Val + 'v>> = items.into_iter().map(value).collect();
            Box::new(CelList::from(items))
        }
        Node::Object(members) => {
            let members: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = members
                .into_iter()
                .map(|(key, node)| (self::key(key), value(node)))
                .collect();
            Box::new(CelMap::from(members))
        }
    }
}

fn key(key: Cow<'_, str>) -> CelMapKey<'_> {
    match key {
        Cow::Borrowed(key) => CelMapKey::from(key),
        Cow::Owned(key) => CelMapKey::from(key),
    }
}
