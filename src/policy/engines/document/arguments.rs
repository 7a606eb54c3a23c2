//! Leaves by pointer to the nested value that they came from.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::node::{DocumentEncodingError, DocumentNode};
use super::numbers::number;
use crate::policy::{Arguments, Leaf};

/// The `arguments` object as it was sent.
///
/// # Errors
/// When a number is beyond what engines can represent, or the leaves are not those of one value.
pub(super) fn nested<'a>(
    arguments: &'a Arguments<'_>,
) -> Result<DocumentNode<'a>, DocumentEncodingError> {
    let mut root = Tree::default();
    for (pointer, leaf) in &arguments.0 {
        let mut at = &mut root;
        // The pointer of the whole is empty; others begin with a slash.
        for step in pointer.split('/').skip(1) {
            at = at.below.entry(unescaped(step)).or_default();
        }
        at.take(pointer, leaf)?;
    }
    root.node("")
}

/// A value under construction.
#[derive(Debug, Default)]
struct Tree<'a> {
    leaf: Option<&'a Leaf<'a>>,
    /// The items, as far as the mark of the array has them.
    array: Option<&'a [Cow<'a, str>]>,
    below: BTreeMap<Cow<'a, str>, Tree<'a>>,
}

impl<'a> Tree<'a> {
    fn take(&mut self, pointer: &str, leaf: &'a Leaf<'_>) -> Result<(), DocumentEncodingError> {
        if self.leaf.is_some() || self.array.is_some() {
            return Err(DocumentEncodingError::Repeated(pointer.to_owned()));
        }
        match leaf {
            Leaf::Strings(items) => self.array = Some(items),
            Leaf::Array => self.array = Some(&[]),
            Leaf::String(_)
            | Leaf::Number(_)
            | Leaf::Bool(_)
            | Leaf::Null
            | Leaf::EmptyObject
            | Leaf::EmptyArray => self.leaf = Some(leaf),
        }
        Ok(())
    }

    /// The wire's depth limit bounds the recursion.
    fn node(self, pointer: &str) -> Result<DocumentNode<'a>, DocumentEncodingError> {
        let shapeless = || DocumentEncodingError::Shapeless(pointer.to_owned());
        let down = |key: &str| format!("{pointer}/{key}");
        let Some(leaf) = self.leaf else {
            if let Some(texts) = self.array {
                if !texts.is_empty() {
                    let texts = texts
                        .iter()
                        .map(|text| DocumentNode::Text(Cow::Borrowed(text)));
                    return Ok(DocumentNode::List(texts.collect()));
                }
                let mut items = BTreeMap::new();
                for (key, tree) in self.below {
                    let index: usize = key.parse().map_err(|_| shapeless())?;
                    items.insert(index, tree.node(&down(&key))?);
                }
                let in_a_row = items.keys().copied().eq(0..items.len());
                if !in_a_row {
                    return Err(shapeless());
                }
                return Ok(DocumentNode::List(items.into_values().collect()));
            }
            let mut members = BTreeMap::new();
            for (key, tree) in self.below {
                let node = tree.node(&down(&key))?;
                members.insert(key, node);
            }
            return Ok(DocumentNode::Object(members));
        };
        if !self.below.is_empty() {
            return Err(shapeless());
        }
        Ok(match leaf {
            Leaf::String(text) => DocumentNode::Text(Cow::Borrowed(text)),
            Leaf::Number(text) => {
                number(text).ok_or_else(|| DocumentEncodingError::Number(pointer.to_owned()))?
            }
            Leaf::Bool(value) => DocumentNode::Bool(*value),
            Leaf::Null => DocumentNode::Null,
            Leaf::EmptyObject => DocumentNode::Object(BTreeMap::new()),
            Leaf::EmptyArray => DocumentNode::List(Vec::new()),
            // Marks of an array whose items are leaves of their own.
            Leaf::Strings(_) | Leaf::Array => return Err(shapeless()),
        })
    }
}

/// RFC 6901, section 4.
fn unescaped(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}
