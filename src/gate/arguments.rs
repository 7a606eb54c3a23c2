//! Arguments as policies read them: one leaf per JSON pointer (RFC 6901).

use std::borrow::Cow;

use crate::policy::{Arguments, Leaf, MAX_LEVEL, Targets, options};
use crate::wire::{JsonKind, Value};

use super::look::Look;
use super::rejection::Rejection;
use super::stage::Stage;

/// Bytes of all pointers of one message. Each leaf has a pointer of its own, so that a long key
/// above many leaves would take a thousand times the memory of the message.
pub(super) const MAX_POINTER_BYTES: usize = 8 << 20;

/// The leaves of an `arguments` object; nothing when there is none.
///
/// # Errors
/// [`Rejection`] when the pointers would be longer than [`MAX_POINTER_BYTES`].
pub(super) fn leaves(arguments: Option<Value<'_>>) -> Result<Arguments<'_>, Rejection> {
    let mut leaves = Leaves::default();
    if let Some(arguments) = arguments {
        // The wire's depth limit bounds the recursion.
        descend(arguments, &mut String::new(), &mut leaves);
    }
    if leaves.pointer_bytes > MAX_POINTER_BYTES {
        return Err(too_wide());
    }
    Ok(Arguments(leaves.found))
}

/// The pointers of the arguments are longer than the gate looks at.
pub(super) fn too_wide() -> Rejection {
    let problem = format!(
        "the JSON pointers of the arguments are longer than {MAX_POINTER_BYTES} bytes in all"
    );
    Rejection::invalid_params(Stage::Understand, "arguments_too_wide", problem)
}

#[derive(Default)]
struct Leaves<'m> {
    found: Vec<(String, Leaf<'m>)>,
    pointer_bytes: usize,
}

impl<'m> Leaves<'m> {
    /// Beyond the limit nothing is kept any more.
    fn add(&mut self, pointer: &str, leaf: Leaf<'m>) {
        self.pointer_bytes = self.pointer_bytes.saturating_add(pointer.len());
        if self.pointer_bytes <= MAX_POINTER_BYTES {
            self.found.push((pointer.to_owned(), leaf));
        }
    }
}

fn descend<'m>(value: Value<'m>, pointer: &mut String, leaves: &mut Leaves<'m>) {
    let leaf = match value.kind() {
        JsonKind::Object => {
            for (key, member) in value.entries() {
                if leaves.pointer_bytes > MAX_POINTER_BYTES {
                    return;
                }
                step(&key, pointer, |pointer| descend(member, pointer, leaves));
            }
            value.is_empty().then_some(Leaf::EmptyObject)
        }
        JsonKind::Array => {
            for (index, item) in value.items().enumerate() {
                if leaves.pointer_bytes > MAX_POINTER_BYTES {
                    return;
                }
                step(&index.to_string(), pointer, |pointer| {
                    descend(item, pointer, leaves);
                });
            }
            let strings: Option<Vec<Cow<'m, str>>> = value.items().map(Value::as_str).collect();
            match strings {
                Some(strings) if strings.is_empty() => Some(Leaf::EmptyArray),
                Some(strings) => Some(Leaf::Strings(strings)),
                None => Some(Leaf::Array),
            }
        }
        JsonKind::String => Some(Leaf::String(value.as_str().unwrap_or_default())),
        JsonKind::Number => Some(Leaf::Number(value.text())),
        JsonKind::Bool => Some(Leaf::Bool(value.as_bool() == Some(true))),
        JsonKind::Null => Some(Leaf::Null),
    };
    if let Some(leaf) = leaf {
        leaves.add(pointer, leaf);
    }
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

/// What arguments reach for, as far as it is known without labels.
pub(super) fn targets(
    value: Option<Value<'_>>,
    arguments: &Arguments<'_>,
    look: Look<'_>,
) -> Targets {
    let bytes = value.map_or(0, |value| value.text().len());
    Targets {
        // Nothing lies inside a root while there are none.
        outside: true,
        level: MAX_LEVEL,
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        secrets: look.secrets(value),
        options: options(arguments),
        ..Targets::default()
    }
}

/// Arguments as policies read them, and what they reach for without labels; credentials are not looked for.
///
/// `None` where the gate would refuse them.
pub fn call_facts(arguments: Value<'_>) -> Option<(Arguments<'_>, Targets)> {
    let leaves = leaves(Some(arguments)).ok()?;
    let targets = targets(Some(arguments), &leaves, Look::AWAY);
    Some((leaves, targets))
}
