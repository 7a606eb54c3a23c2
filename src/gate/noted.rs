//! What a record tells of texts that say something else from here on.

use crate::audit;
use crate::wire::Value;

use super::arguments::MAX_POINTER_BYTES;

/// The most texts of one message whose change is told of each by itself.
pub(super) const MOST_NOTED: usize = 64;

/// Notes where texts were replaced, and why: of the first ones, as long as a message has the room for the
/// names that lead to them. All of them are replaced, told of or not.
pub(super) fn note_replaced<'m>(
    replaced: impl Iterator<Item = (Value<'m>, String)>,
    notes: &mut Vec<audit::Edit>,
) {
    let mut bytes: usize = 0;
    for (value, because) in replaced.take(MOST_NOTED) {
        // What is noted of a pointer is short; to make it is not.
        if bytes > MAX_POINTER_BYTES {
            return;
        }
        let pointer = value.pointer();
        bytes = bytes.saturating_add(pointer.len());
        notes.push(audit::Edit {
            pointer: pointer.into(),
            op: audit::EditOp::Replace,
            reason: Some(because.into()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    fn noted(key: usize, items: usize) -> Vec<audit::Edit> {
        let (key, items) = ("k".repeat(key), "1,".repeat(items));
        let json = format!(r#"{{"{key}":[{items}1]}}"#);
        let limits = Limits {
            max_bytes: 2 * MAX_POINTER_BYTES,
            ..Limits::default()
        };
        let document = Document::decode(json.as_bytes(), &limits).unwrap();
        let (_, array) = document.root().entries().next().unwrap();
        let mut notes = Vec::new();
        let replaced = array.items().map(|item| (item, "why".to_owned()));
        note_replaced(replaced, &mut notes);
        notes
    }

    #[test]
    fn as_many_changes_are_told_of_as_have_room() {
        assert_eq!(noted(1, 9).len(), 10);
        assert_eq!(noted(1, 9)[9].pointer, "/k/9");
        assert_eq!(noted(1, 900).len(), MOST_NOTED);
        assert_eq!(noted(MAX_POINTER_BYTES / 4, 900).len(), 4);
        // The first is always told of.
        assert_eq!(noted(MAX_POINTER_BYTES + 1, 900).len(), 1);
    }
}
