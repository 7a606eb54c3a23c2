//! A cursor to one value of a document.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::document::Document;
use super::pointer::pointer_step;
use super::strings;
use super::tape::{Escapes, JsonKind, TapeNode};

/// One value of a [`Document`]; as cheap to copy as a reference.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document,
    node: &'d TapeNode,
    index: usize,
}

impl Document {
    pub fn root(&self) -> Value<'_> {
        Value::new(self, 0)
    }

    pub(in crate::wire) fn value(&self, index: usize) -> Value<'_> {
        Value::new(self, index)
    }
}

impl<'d> Value<'d> {
    fn new(document: &'d Document, index: usize) -> Self {
        const NULL: &TapeNode = &TapeNode::NULL;
        let node = document.nodes().get(index).unwrap_or(NULL);
        Self {
            document,
            node,
            index,
        }
    }

    pub fn kind(self) -> JsonKind {
        self.node.kind
    }

    pub fn is_object(self) -> bool {
        self.kind() == JsonKind::Object
    }

    pub fn is_array(self) -> bool {
        self.kind() == JsonKind::Array
    }

    pub fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The exact JSON of this value, as it will be sent.
    pub fn text(self) -> &'d str {
        self.document.slice(self.node.range())
    }

    /// Where [`Value::text`] stands in [`Document::text`].
    pub fn range(self) -> Range<usize> {
        self.node.range()
    }

    /// The decoded text of a string; borrowed when it has no escapes.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        let inner = match self.node.kind {
            JsonKind::String => {
                self.node.start as usize + 1..(self.node.end as usize).saturating_sub(1)
            }
            JsonKind::Null
            | JsonKind::Bool
            | JsonKind::Number
            | JsonKind::Array
            | JsonKind::Object => return None,
        };
        Some(strings::decoded(
            self.document.slice(inner),
            self.node.escapes,
        ))
    }

    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == JsonKind::Bool).then(|| self.text() == "true")
    }

    /// The digits of a number, as they were sent.
    pub fn as_number(self) -> Option<&'d str> {
        (self.kind() == JsonKind::Number).then(|| self.text())
    }

    /// A number that is written as an integer and fits. `1.0` and `1e0` are not, nor is `-0`, which
    /// some decoders read as a float.
    pub fn as_i64(self) -> Option<i64> {
        self.as_number().filter(|&text| text != "-0")?.parse().ok()
    }

    /// The member `key` of an object. Costs a walk over the members.
    pub fn get(self, key: &str) -> Option<Self> {
        self.members()
            .find(|member| member.key().as_deref() == Some(key))
    }

    /// Follows `path` through objects; the empty path is the value itself.
    pub fn at(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The members of an object, in the order sent; of anything else nothing.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'d, str>, Value<'d>)> {
        self.members()
            .filter_map(|value| Some((value.key()?, value)))
    }

    /// The items of an array; of anything else nothing.
    pub fn items(self) -> impl Iterator<Item = Value<'d>> {
        self.children_if(JsonKind::Array)
    }

    /// How many members or items; 0 for scalars. Costs a walk.
    pub fn len(self) -> usize {
        self.children().count()
    }

    pub fn is_empty(self) -> bool {
        self.children().next().is_none()
    }

    /// The decoded key, if this is a member of an object.
    pub fn key(self) -> Option<Cow<'d, str>> {
        let key = self.node.key_in(self.document.text())?;
        Some(strings::decoded(key, self.node.key_escapes))
    }

    /// Where it stands in its document (RFC 6901). Costs a walk over what stands before it, at each level
    /// above it, and may be as long as the document: a pointer is made only for a report, and never for
    /// each of many values.
    pub fn pointer(self) -> String {
        let mut pointer = String::new();
        let mut above = self.document.root();
        while above.index != self.index {
            let mut children = above.children().enumerate();
            let holds = |(_, child): &(usize, Self)| self.index < child.node.next as usize;
            // INVARIANT: a value stands in its document, so that there is always one.
            let Some((place, child)) = children.find(holds) else {
                break;
            };
            pointer.push('/');
            match child.key() {
                Some(key) => pointer.push_str(&pointer_step(&key)),
                None => pointer.push_str(&place.to_string()),
            }
            above = child;
        }
        pointer
    }

    /// The place on the tape; `Document::value` finds the value again.
    pub(in crate::wire) fn index(self) -> usize {
        self.index
    }

    /// Where the key stands in the compact text, or the value where there is none.
    pub(in crate::wire) fn position(self) -> usize {
        self.node.key as usize
    }

    /// Only within a text that is being refused.
    pub(in crate::wire) fn has_lone_surrogate(self) -> bool {
        self.node.escapes == Escapes::LoneSurrogate
    }

    pub(super) fn node(self) -> &'d TapeNode {
        self.node
    }

    pub(super) fn belongs_to(self, document: &Document) -> bool {
        std::ptr::eq(self.document, document)
    }

    /// Members or items.
    pub(super) fn children(self) -> impl Iterator<Item = Value<'d>> {
        let end = match self.node.kind {
            JsonKind::Array | JsonKind::Object => self.node.next as usize,
            JsonKind::Null | JsonKind::Bool | JsonKind::Number | JsonKind::String => 0,
        };
        let document = self.document;
        let mut index = self.index + 1;
        std::iter::from_fn(move || {
            let node = document.nodes().get(index).filter(|_| index < end)?;
            let child = Value {
                document,
                node,
                index,
            };
            index = node.next as usize;
            Some(child)
        })
    }

    fn members(self) -> impl Iterator<Item = Value<'d>> {
        self.children_if(JsonKind::Object)
    }

    fn children_if(self, kind: JsonKind) -> impl Iterator<Item = Value<'d>> {
        (self.kind() == kind)
            .then(|| self.children())
            .into_iter()
            .flatten()
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Value").field(&self.text()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Limits;

    #[test]
    fn each_value_knows_where_it_stands() {
        let json = r#"{"a":1,"b/~":[[],[{"":2,"x":null}],"s"],"":{"\u0061":{}},"0":[true,[0,[1,2],3]],"z":4}"#;
        let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
        let mut seen = 0;
        check(document.root(), "", &mut seen);
        assert_eq!(seen, 20);
    }

    fn check(value: Value<'_>, pointer: &str, seen: &mut usize) {
        *seen += 1;
        assert_eq!(value.pointer(), pointer);
        for (key, member) in value.entries() {
            let key = key.replace('~', "~0").replace('/', "~1");
            check(member, &format!("{pointer}/{key}"), seen);
        }
        for (index, item) in value.items().enumerate() {
            check(item, &format!("{pointer}/{index}"), seen);
        }
    }
}
