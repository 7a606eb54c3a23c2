//! The arguments of a call as tags of one entity, keyed by JSON pointer.
//!
//! | leaf | attributes of its tag |
//! |---|---|
//! | string | `string` |
//! | number | `text` (its exact JSON text); `long` if it is an integer, and `decimal`, as [`Ordered`] has them |
//! | boolean | `bool` |
//! | null | `isNull` |
//! | array of nothing but strings | `strings`, beside the tags of its items |
//! | any other array | no tag, but those of its items |
//! | empty array | `strings`, empty |
//! | empty object | none |

use std::collections::HashSet;

use cedar_policy_core::ast::{Entity, PartialValue, Value};

use super::inspect::FactNeeds;
use super::value::{decimal, literal, record, strings};
use super::vocabulary::Vocabulary;
use crate::policy::numbers::Ordered;
use crate::policy::{Arguments, Leaf};

/// `None` if two leaves have the same pointer: then it is unknown which one the server will take.
pub(super) fn entity(
    words: &Vocabulary,
    arguments: &Arguments<'_>,
    needs: FactNeeds,
) -> Option<Entity> {
    let tags = arguments.0.iter().filter_map(|(pointer, leaf)| {
        let tag = PartialValue::Value(tag(leaf, needs)?);
        Some((pointer.as_str().into(), tag))
    });
    let uid = words.arguments.clone();
    let entity = Entity::new_with_attr_partial_value(uid, [], HashSet::new(), HashSet::new(), tags);
    let expected = arguments.0.iter().filter(|(_, leaf)| *leaf != Leaf::Array);
    (entity.tags_len() == expected.count()).then_some(entity)
}

fn tag(leaf: &Leaf<'_>, needs: FactNeeds) -> Option<Value> {
    Some(match leaf {
        Leaf::Array => return None,
        Leaf::String(text) => record([("string", literal(text.as_ref()))]),
        Leaf::Number(text) => {
            let ordered = Ordered::of(text);
            let ordered = ordered.as_ref();
            let text4 = ordered
                .filter(|_| needs.has(FactNeeds::DECIMAL))
                .map(Ordered::decimal_text);
            let fields = [
                Some(("text", literal(*text))),
                ordered
                    .and_then(|it| it.integer)
                    .map(|value| ("long", literal(value))),
                text4
                    .as_deref()
                    .and_then(decimal)
                    .map(|value| ("decimal", value)),
            ];
            record(fields.into_iter().flatten())
        }
        Leaf::Bool(value) => record([("bool", literal(*value))]),
        Leaf::Null => record([("isNull", literal(true))]),
        Leaf::Strings(items) => record([("strings", strings(items))]),
        Leaf::EmptyArray => record([("strings", strings::<&str>(&[]))]),
        Leaf::EmptyObject => record([]),
    })
}
