//! What the agent's own systems call a piece of work.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::audit::{self, Finding, Guard};
use crate::wire::{Message, TraceContext, TraceId, Value};

use super::Trail;

/// The `_meta` key of the id by which a call is followed.
const TRACE_ID: &str = "mcp-protector/trace_id";

/// The keys of `_meta` by which an agent's own systems know a piece of work.
const CORRELATION: [&str; 6] = [
    "mcp-protector/job_id",
    TRACE_ID,
    "mcp-protector/workflow_run_id",
    "mcp-protector/task_id",
    "mcp-protector/session_id",
    "traceparent",
];

/// Those of the keys that are there, and their values.
pub(super) fn named(meta: Value<'_>) -> Vec<(&'static str, String)> {
    let named = |key: &'static str| Some((key, meta.get(key)?.as_str()?.into_owned()));
    CORRELATION.into_iter().filter_map(named).collect()
}

/// The same in a record.
pub(super) fn recorded(named: &[(&'static str, String)]) -> audit::Correlation {
    let get = |key: &str| {
        named
            .iter()
            .find(|(name, _)| name.ends_with(key))
            .map(|(_, value)| value.into())
    };
    audit::Correlation {
        job_id: get("/job_id"),
        trace_id: get("/trace_id"),
        workflow_run_id: get("/workflow_run_id"),
        task_id: get("/task_id"),
        session_id: get("/session_id"),
        traceparent: get("traceparent"),
    }
}

impl Trail {
    /// Gives a request a trace id if it has none: that of its trace, else a UUID made from its
    /// reference, so that a request that is judged again keeps it.
    pub(in crate::gate) fn take_trace_id(&mut self, message: &Message) {
        let sent = message.meta().and_then(|meta| meta.get(TRACE_ID));
        let mut known = self.correlation.iter();
        if known.any(|(key, text)| *key == TRACE_ID && is_uuid(text)) {
            return;
        }
        if sent.is_some() {
            self.record.findings.push(Finding {
                guard: Guard::TraceId,
                code: "trace_id_malformed".into(),
                detail: "not a UUID".into(),
            });
        }
        let own = match self.trace() {
            Some(trace) => trace.to_string(),
            None => uuid_of(&self.reference),
        };
        self.correlation.retain(|(key, _)| *key != TRACE_ID);
        self.correlation.push((TRACE_ID, own));
        self.record.correlation = recorded(&self.correlation);
    }

    /// The trace that the request belongs to, if it has one.
    fn trace(&self) -> Option<TraceId> {
        let said = self.correlation.iter();
        let said = said.filter(|(key, _)| *key == "traceparent");
        let mut said = said.filter_map(|(_, text)| TraceContext::parse(text));
        let own = self.span.map(|span| span.own);
        let context = own.or_else(|| said.next()).or(self.told_by_http);
        context.map(|context| context.trace)
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
