//! The arguments of calls, for the rows of their results.

use std::collections::{HashMap, VecDeque};

use memchr::memmem;

/// Bytes of arguments that are kept. Older ones are forgotten first.
const KEPT_BYTES: usize = 16 << 20;

/// Bytes that each call takes beside its texts, about.
const OVERHEAD: usize = 128;

/// The arguments of calls that have no result yet, by their references.
#[derive(Debug, Default)]
pub(super) struct RecentCalls {
    inputs: HashMap<String, String>,
    /// The oldest first; those too whose result has come.
    order: VecDeque<String>,
    bytes: usize,
}

impl RecentCalls {
    /// Whether a line is the record of a call, or has its words.
    pub(super) fn may_be_call(line: &[u8]) -> bool {
        memmem::find(line, br#""kind":"tool_call""#).is_some()
    }

    /// Keeps the arguments of a call, which are JSON text.
    pub(super) fn keep(&mut self, reference: &str, inputs: String) {
        self.bytes += weight(reference, &inputs);
        self.order.push_back(reference.to_owned());
        if let Some(old) = self.inputs.insert(reference.to_owned(), inputs) {
            self.bytes = self.bytes.saturating_sub(weight(reference, &old));
        }
        while self.bytes > KEPT_BYTES || self.order.len() > 4 * self.inputs.len() + 64 {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            self.take(&oldest);
        }
    }

    /// The arguments of the call with this reference, which are not needed again.
    pub(super) fn take(&mut self, reference: &str) -> Option<String> {
        let inputs = self.inputs.remove(reference)?;
        self.bytes = self.bytes.saturating_sub(weight(reference, &inputs));
        Some(inputs)
    }
}

fn weight(reference: &str, inputs: &str) -> usize {
    2 * reference.len() + inputs.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_kept_until_their_result_within_bounds() {
        let mut calls = RecentCalls::default();
        calls.keep("a-1", "{}".to_owned());
        calls.keep("a-2", "[]".to_owned());
        assert_eq!(calls.take("a-2").as_deref(), Some("[]"));
        assert_eq!(calls.take("a-2"), None);
        let large = "x".repeat(1 << 20);
        for number in 0..100 {
            calls.keep(&format!("b-{number}"), large.clone());
        }
        assert_eq!(calls.take("a-1"), None);
        assert!(calls.take("b-99").is_some() && calls.take("b-80").is_none());
        // Results take the names with them, too.
        let mut calls = RecentCalls::default();
        for number in 0..10_000 {
            let reference = format!("c-{number}");
            calls.keep(&reference, "{}".to_owned());
            calls.take(&reference);
        }
        assert!(calls.order.len() < 100 && calls.bytes == 0);
    }
}
