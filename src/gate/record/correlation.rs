//! What the agent's own systems call a piece of work.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::Digest as _;
use sha2::Sha256;

use crate::audit::{self, Finding, Guard};
use crate::wire::{Message, TraceContext, TraceId, Value, WorkIds};

use super::Trail;

/// The `_meta` key of the id by which a call is followed.
const TRACE_ID: &str = "mcp-protector/trace_id";

/// What `_meta` says.
fn named(meta: Value<'_>) -> WorkIds {
    let get = |key: &str| Some(Arc::from(&*meta.get(key)?.as_str()?));
    WorkIds {
        job_id: get("mcp-protector/job_id"),
        trace_id: get(TRACE_ID),
        workflow_run_id: get("mcp-protector/workflow_run_id"),
        task_id: get("mcp-protector/task_id"),
        session_id: get("mcp-protector/session_id"),
        traceparent: get("traceparent"),
    }
}

/// The same in a record.
fn recorded(ids: &WorkIds) -> audit::Correlation {
    let text = |id: &Option<Arc<str>>| id.as_ref().map(Into::into);
    audit::Correlation {
        job_id: text(&ids.job_id),
        trace_id: text(&ids.trace_id),
        workflow_run_id: text(&ids.workflow_run_id),
        task_id: text(&ids.task_id),
        session_id: text(&ids.session_id),
        traceparent: text(&ids.traceparent),
    }
}

/// Ids from beside the message. Who sends a trace id there that is none is not told.
fn beside(ids: Option<&Arc<WorkIds>>) -> WorkIds {
    let ids = ids.map(|ids| WorkIds::clone(ids)).unwrap_or_default();
    WorkIds {
        trace_id: ids.trace_id.filter(|id| is_uuid(id)),
        ..ids
    }
}

impl Trail {
    /// The message belongs to this piece of work.
    pub(in crate::gate) fn belongs_to(&mut self, ids: &Arc<WorkIds>) {
        self.ids.correlation = Arc::clone(ids);
        self.record.correlation = recorded(ids);
    }

    /// Takes in what is said of the work: by the token, else in `_meta`, else by headers. What is known
    /// already of a message that waited stays.
    pub(super) fn correlate(&mut self, meta: Option<Value<'_>>) {
        let (proven, work) = (&self.carried.headers.proven, &self.carried.headers.work);
        let is_known = !self.ids.correlation.is_empty();
        if is_known || meta.is_none() && proven.is_none() && work.is_none() {
            return;
        }
        let ids = beside(proven.as_ref())
            .or(&meta.map(named).unwrap_or_default())
            .or(&beside(work.as_ref()));
        self.belongs_to(&Arc::new(ids));
    }

    /// Gives a request a trace id if it has none: that of its trace, else a UUID made from its
    /// reference.
    pub(in crate::gate) fn take_trace_id(&mut self, message: &Message) {
        let sent = message.meta().and_then(|meta| meta.get(TRACE_ID));
        if sent.is_some_and(|sent| !sent.as_str().is_some_and(|sent| is_uuid(&sent))) {
            self.record.findings.push(Finding {
                guard: Guard::TraceId,
                code: "trace_id_malformed".into(),
                detail: "not a UUID".into(),
            });
        }
        if self
            .ids
            .correlation
            .trace_id
            .as_deref()
            .is_some_and(is_uuid)
        {
            return;
        }
        let own = match self.trace() {
            Some(trace) => trace.to_string(),
            None => uuid_of(&self.ids.reference),
        };
        let mut ids = WorkIds::clone(&self.ids.correlation);
        ids.trace_id = Some(own.into());
        self.belongs_to(&Arc::new(ids));
    }

    /// The trace that the request belongs to, if it has one.
    fn trace(&self) -> Option<TraceId> {
        let own = self.ids.span.map(|span| span.own);
        let context = own.or_else(|| self.said_trace()).or(self.carried.trace);
        context.map(|context| context.trace)
    }

    /// The trace that the message itself names.
    pub(in crate::gate) fn said_trace(&self) -> Option<TraceContext> {
        TraceContext::parse(self.ids.correlation.traceparent.as_deref()?)
    }
}

/// Whether a text is a UUID (RFC 9562), with or without its hyphens.
fn is_uuid(text: &str) -> bool {
    let hyphens = [8, 13, 18, 23];
    let digit = |byte: u8| byte.is_ascii_hexdigit();
    match text.len() {
        32 => text.bytes().all(digit),
        36 => text.bytes().enumerate().all(|(at, byte)| {
            if hyphens.contains(&at) {
                byte == b'-'
            } else {
                digit(byte)
            }
        }),
        _ => false,
    }
}

/// A UUID of version 8 (RFC 9562), made from a text that is unique.
fn uuid_of(unique: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(unique.as_bytes()).into();
    let mut text = String::with_capacity(36);
    for (at, byte) in digest.into_iter().take(16).enumerate() {
        let byte = match at {
            6 => byte & 0x0f | 0x80,
            8 => byte & 0x3f | 0x80,
            _ => byte,
        };
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_uuid_is_told_from_other_texts() {
        let uuid = "0af76519-16cd-43dd-8448-eb211c80319c";
        for (text, expected) in [
            (uuid, true),
            ("0AF76519-16CD-43DD-8448-EB211C80319C", true),
            ("0af7651916cd43dd8448eb211c80319c", true),
            ("", false),
            ("job 7", false),
            ("0af7651916cd43dd8448eb211c80319", false),
            ("0af76519-16cd-43dd-8448-eb211c80319g", false),
            ("0af76519116cd-43dd-8448-eb211c80319c", false),
            ("{af76519-16cd-43dd-8448-eb211c80319}", false),
            ("0af76519-16cd-43dd-8448-eb211c8031\u{e9}", false),
        ] {
            assert_eq!(is_uuid(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_made_id_is_a_uuid_of_version_8_and_differs_for_each_text(one in ".{0,40}", other in ".{0,40}") {
            let (made, another) = (uuid_of(&one), uuid_of(&other));
            prop_assert!(is_uuid(&made) && made.as_bytes()[14] == b'8', "{made}");
            prop_assert!(matches!(made.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
            prop_assert_eq!(made == another, one == other);
        }
    }
}
