//! The same for programs: what waits as one JSON document, and an answer as another. Its schema is
//! `docs/schema/approvals.schema.json`.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::consent::{Answer, Pending, Question};
use crate::wire::{Document, Limits};

/// Version of these documents.
pub(super) const SCHEMA: u32 = 1;

/// What waits, as [`Pending`] says it.
#[derive(Debug, Serialize)]
pub(super) struct PendingList {
    schema: u32,
    pending: Vec<PendingItem>,
}

#[derive(Debug, Serialize)]
struct PendingItem {
    id: String,
    asked_at: String,
    expires_at: String,
    question: Arc<Question>,
}

impl PendingList {
    pub(super) fn of(pending: Vec<Pending>) -> Self {
        let one = |it: Pending| PendingItem {
            id: it.id.to_string(),
            asked_at: timestamp(it.asked_at_ms),
            expires_at: timestamp(it.expires_at_ms),
            question: it.question,
        };
        Self {
            schema: SCHEMA,
            pending: pending.into_iter().map(one).collect(),
        }
    }
}

/// RFC 3339, to the millisecond.
fn timestamp(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |at| format!("{at:.3}"))
}

/// `{"answer": "approve"}` or `{"answer": "deny"}`, and nothing else.
pub(super) fn read_answer(bytes: &[u8]) -> Option<Answer> {
    let document = Document::decode(bytes, &Limits::default()).ok()?;
    let root = document.root();
    let answer = root.get("answer").filter(|_| root.len() == 1)?.as_str()?;
    answer_named(&answer)
}

pub(super) fn answer_named(word: &str) -> Option<Answer> {
    match word {
        "approve" => Some(Answer::Approve),
        "deny" => Some(Answer::Deny),
        _ => None,
    }
}

/// What a page asks again and again.
#[derive(Debug, Serialize)]
pub(super) struct PendingDigest {
    pub(super) seen: String,
    pub(super) waiting: usize,
}

/// An answer was taken.
#[derive(Debug, Serialize)]
pub(super) struct AnswerReceipt<'i> {
    schema: u32,
    id: &'i str,
    answer: &'static str,
}

impl<'i> AnswerReceipt<'i> {
    pub(super) fn of(id: &'i str, answer: Answer) -> Self {
        Self {
            schema: SCHEMA,
            id,
            answer: match answer {
                Answer::Approve => "approve",
                Answer::Deny => "deny",
            },
        }
    }
}
