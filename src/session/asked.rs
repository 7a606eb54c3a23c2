//! Requests that wait for a person, and what people have agreed to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::{Consent, Denial, PolicySnapshot};

use super::{Asker, Parked};

/// A request that waits for a person's consent.
#[derive(Debug)]
pub struct Asked {
    /// The number of its question.
    pub ticket: Arc<str>,
    /// The request as it came; its deadline is the question's.
    pub request: Parked,
    /// The name under which the audit knows it.
    pub reference: Arc<str>,
    /// What a yes would lift, and the policies that said so.
    pub denial: Denial,
    pub snapshot: Arc<PolicySnapshot>,
    /// The id that the gate minted for the form that the agent's client shows, if it shows one.
    pub form: Option<u64>,
}

/// Consent under which a request was judged: what comes of it, and what goes on with it, is judged
/// under the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// A digest of all that the consent is bound to.
    pub binding: [u8; 32],
    pub consent: Consent,
}

/// Consent of a session, by what it is about.
#[derive(Debug, Default)]
pub struct Asking {
    /// Requests that wait for a person, in the order in which they were asked about.
    pub waiting: Vec<Asked>,
    /// What holds for the whole session, by a digest of what it is bound to. Each entry took a
    /// person's yes, which bounds their number.
    pub standing: HashMap<[u8; 32], Consent>,
}

impl Asking {
    /// Whether a request waits that this asker has sent.
    pub fn waits(&self, asker: &Asker) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|asked| asked.request.asker == *asker)
    }

    /// Whether one waits that its asker still wants.
    pub fn waits_for(&self, asker: &Asker) -> bool {
        let mut waiting = self.waiting.iter().map(|asked| &asked.request);
        waiting.any(|request| request.asker == *asker && !request.cancelled)
    }

    /// The agent does not want a request any more; says whether it waited.
    pub fn cancel(&mut self, wanted: impl Fn(&Parked) -> bool) -> bool {
        let mut found = false;
        for asked in &mut self.waiting {
            if wanted(&asked.request) {
                asked.request.cancelled = true;
                found = true;
            }
        }
        found
    }

    /// When the first of them has waited long enough.
    pub fn next_deadline(&self) -> Option<Duration> {
        let waiting = self.waiting.iter();
        waiting.map(|asked| asked.request.deadline).min()
    }

    /// Bytes of the requests that wait.
    pub fn bytes(&self) -> usize {
        let waiting = self.waiting.iter();
        waiting.map(|asked| asked.request.frame.len()).sum()
    }
}
