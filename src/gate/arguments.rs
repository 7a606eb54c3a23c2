//! Arguments as policies read them: one leaf per JSON pointer (RFC 6901).

use std::borrow::Cow;

use crate::policy::{Arguments, Leaf};
use crate::wire::{Kind, Value};

/// The leaves of an `arguments` object; nothing when there is none.
pub(super) fn leaves(arguments: Option<Value<'_>>) -> Arguments<'_> {
    let mut leaves = Vec::new();
    if let Some(arguments) = arguments {
        // The wire's depth limit bounds the recursion.
        descend(arguments, &mut String::new(), &mut leaves);
    }
    Arguments(leaves)
}

fn descend<'m>(value: Value<'m>, pointer: &mut String, leaves: &mut Vec<(String, Leaf<'m>)>) {
    let leaf = match value.kind() {
        Kind::Object => {
            for (key, member) in value.entries() {
                step(&key, pointer, |pointer| descend(member, pointer, leaves));
            }
            value.is_empty().then_some(Leaf::EmptyObject)
        }
        Kind::Array => {
            for (index, item) in value.items().enumerate() {
                step(&index.to_string(), pointer, |pointer| {
                    descend(item, pointer, leaves);
                });
            }
            let strings: Option<Vec<Cow<'m, str>>> = value.items().map(Value::as_str).collect();
            match strings {
                Some(strings) if strings.is_empty() => Some(Leaf::EmptyArray),
                Some(strings) => Some(Leaf::Strings(strings)),
                None => None,
            }
        }
        Kind::String => Some(Leaf::String(value.as_str().unwrap_or_default())),
        Kind::Number => Some(Leaf::Number(value.text())),
        Kind::Bool => Some(Leaf::Bool(value.as_bool() == Some(true))),
        Kind::Null => Some(Leaf::Null),
    };
    leaves.extend(leaf.map(|leaf| (pointer.clone(), leaf)));
}

/// Runs `inner` with the pointer one step further down.
fn step(key: &str, pointer: &mut String, inner: impl FnOnce(&mut String)) {
    let back = pointer.len();
    pointer.push('/');
    for letter in key.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            plain => pointer.push(plain),
        }
    }
    inner(pointer);
    pointer.truncate(back);
}
