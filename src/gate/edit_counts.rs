//! What a result says of the gate's edits in it: kinds and counts, never words.

use crate::audit;
use crate::wire::{Edits, Fragment, KnownMethod, Message, Side, Value};

use super::classified::{Identified, Role};
use super::excerpts;

/// The member of a result's `_meta`.
const KEY: &str = "mcp-protector/edits";

/// How many edits of each kind a result has.
#[derive(Debug, Default)]
pub(super) struct EditCounts {
    /// Credentials, each run of one rule in a text.
    pub(super) redacted: usize,
    /// Texts without their hidden parts.
    pub(super) sanitized: usize,
    /// Texts that the gate has shortened.
    pub(super) truncated: usize,
}

impl EditCounts {
    fn fragment(&self) -> Option<Fragment> {
        let kinds = [
            ("redacted", self.redacted),
            ("sanitized", self.sanitized),
            ("truncated", self.truncated),
        ];
        let kinds = kinds.iter().filter(|(_, count)| *count > 0);
        let members: Vec<_> = kinds
            .map(|(kind, count)| format!("\"{kind}\":{count}"))
            .collect();
        Fragment::decode(&format!("{{{}}}", members.join(",")))
            .ok()
            .filter(|_| !members.is_empty())
    }
}

/// Whether a message is a result that counts its edits. In a list that would show how much the gate hides.
pub(super) fn are_told(identified: &Identified<'_>) -> bool {
    let method = match &identified.role {
        Role::Reply(taken) => taken.exchange.method,
        Role::Request { .. } | Role::Notification { .. } => return false,
    };
    matches!(
        method,
        KnownMethod::ToolsCall
            | KnownMethod::TasksGet
            | KnownMethod::TasksResult
            | KnownMethod::ResourcesRead
            | KnownMethod::PromptsGet
            | KnownMethod::Complete
            | KnownMethod::Initialize
            | KnownMethod::Discover
            | KnownMethod::Extension(_)
    )
}

/// Writes the counts into the innermost result, and removes those that the server has written.
pub(super) fn tell<'m>(
    message: &'m Message,
    from: Side,
    counts: Option<&EditCounts>,
    edits: &mut Edits<'m>,
    notes: &mut Vec<audit::Edit>,
) {
    if from != Side::Upstream {
        return;
    }
    let told = counts.and_then(EditCounts::fragment);
    // The answer to a request about a task has the task's own result inside.
    let results: Vec<_> = excerpts::answers(message)
        .filter(|it| it.1.is_object())
        .collect();
    let innermost = results.len().saturating_sub(1);
    for (at, (place, result)) in results.into_iter().enumerate() {
        let meta = result.get("_meta").filter(|meta| meta.is_object());
        let theirs = meta.and_then(|meta| meta.get(KEY));
        match (told.as_ref().filter(|_| at == innermost), meta, theirs) {
            (None, _, Some(theirs)) => {
                edits.remove(theirs);
                notes.push(audit::Edit {
                    pointer: format!("{place}/_meta/mcp-protector~1edits").into(),
                    op: audit::EditOp::Remove,
                    reason: Some("reserved for the gate".into()),
                });
            }
            (None, _, None) => {}
            (Some(told), Some(meta), _) => edits.insert(meta, KEY, told.clone()),
            (Some(told), None, _) => insert_with_meta(result, told, edits),
        }
    }
}

fn insert_with_meta<'m>(result: Value<'m>, told: &Fragment, edits: &mut Edits<'m>) {
    let meta = format!("{{\"{KEY}\":{}}}", told.as_str());
    if let Ok(meta) = Fragment::decode(&meta) {
        edits.insert(result, "_meta", meta);
    }
}
