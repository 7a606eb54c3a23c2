//! Requests that wait for a person, and what people have agreed to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::{Denial, PolicySnapshot};
use crate::wire::{ArrivalForm, Side, Stream};

use super::parked::Parked;
use super::place::Run;
use super::request::{Agreed, Asker};

/// A request that waits for a person's consent; or a result, for what the server asks in it.
#[derive(Debug)]
pub struct Asked {
    /// Whose it is.
    pub from: Side,
    /// The number of its question.
    pub ticket: Arc<str>,
    /// It, as it came; its deadline is the question's.
    pub request: Parked,
    /// Set if it is a result.
    pub reply: Option<Replied>,
    /// What a yes would lift, and the policies that said so.
    pub denial: Denial,
    pub snapshot: Arc<PolicySnapshot>,
    pub stage: Stage,
    /// The stream of the agent's on which it is told of the question.
    pub shown_on: Stream,
    /// What its asker is told meanwhile, if it wants to hear anything.
    pub progress: Option<Progress>,
    /// The id that the gate minted for the form that the agent's client shows, if it shows one.
    pub form: Option<u64>,
    /// The server that was spoken to when the request came: if it is one of the server's, no other
    /// gets the answer.
    pub run: Run,
}

/// A result that waits, and that its request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replied {
    /// The id that the gate minted for the request.
    pub minted: u64,
    /// As what the server has given it.
    pub form: ArrivalForm,
}

/// What the asker of a request hears while it waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// `progressToken`, as JSON text.
    pub token: String,
    /// How often it was told.
    pub told: u32,
    /// When it is told again: time since the clock was made.
    pub next: Duration,
}

/// How far a question has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its record is being written: nothing comes of it before that, but it may be cancelled.
    BeingRecorded,
    Asked,
}

/// Consent of a session, by what it is about.
#[derive(Debug, Default)]
pub struct Asking {
    /// Requests that wait for a person, in the order in which they were asked about.
    pub waiting: Vec<Asked>,
    /// What holds for the whole session, by a digest of what it is bound to. Each took a person's yes to a
    /// question that offered it.
    pub standing: HashMap<[u8; 32], Agreed>,
    /// What a yes to each question would hold for, by what the question is bound to.
    offered: HashMap<[u8; 32], Vec<[u8; 32]>>,
    /// The URIs of the roots that the agent has told its server last, for whoever is asked whether it may
    /// know them; empty where that is not known.
    pub told_roots: Vec<String>,
}

/// The most questions of which it is known what a yes would hold for. A yes to others holds once.
const MOST_OFFERS: usize = 64;

/// The most roots that are remembered, and the bytes of their URIs together.
const MOST_ROOTS: (usize, usize) = (64, 16 * 1024);

impl Asked {
    fn is_request_of(&self, side: Side) -> bool {
        self.from == side && self.reply.is_none()
    }
}

impl Asking {
    /// Whether a request waits that this asker has sent.
    pub fn waits(&self, from: Side, asker: &Asker) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|asked| asked.is_request_of(from) && asked.request.asker == *asker)
    }

    /// A person is asked a question to which a yes would hold for this.
    pub fn offer(&mut self, binding: [u8; 32], kept: Vec<[u8; 32]>) {
        if self.offered.len() >= MOST_OFFERS {
            self.offered.clear();
        }
        self.offered.insert(binding, kept);
    }

    /// What a person has agreed to passes: from now on it holds for what the question offered.
    pub fn keep_offered(&mut self, agreed: &Agreed) {
        for of_all in self.offered.remove(&agreed.binding).into_iter().flatten() {
            self.standing
                .entry(of_all)
                .or_insert_with(|| agreed.clone());
        }
    }

    /// Whether what was asked for under this id of the gate's has come, and waits.
    pub fn holds_reply(&self, minted: u64) -> bool {
        let mut replies = self.waiting.iter().filter_map(|asked| asked.reply);
        replies.any(|reply| reply.minted == minted)
    }

    /// Whether one of the agent's waits that its asker still wants.
    pub fn waits_for(&self, asker: &Asker) -> bool {
        let waiting = self
            .waiting
            .iter()
            .filter(|asked| asked.from == Side::Agent);
        let mut waiting = waiting.map(|asked| &asked.request);
        waiting.any(|request| request.asker == *asker && !request.cancelled)
    }

    /// Whoever sent a request does not want it any more; says whether it waited.
    pub fn cancel(&mut self, from: Side, wanted: impl Fn(&Parked) -> bool) -> bool {
        let mut found = false;
        for asked in &mut self.waiting {
            if asked.is_request_of(from) && wanted(&asked.request) {
                asked.request.cancelled = true;
                found = true;
            }
        }
        found
    }

    /// Takes out what a server has asked, which is spoken to no more.
    pub fn take_of_server(&mut self) -> Vec<Asked> {
        let waiting = std::mem::take(&mut self.waiting);
        let (servers, others) = waiting
            .into_iter()
            .partition(|asked| asked.from == Side::Upstream);
        self.waiting = others;
        servers
    }

    /// The agent tells its server these roots. Of very many none is remembered: some would be shown as all.
    pub fn tells_roots(&mut self, uris: Vec<String>) {
        let (most, most_bytes) = MOST_ROOTS;
        let bytes: usize = uris.iter().map(String::len).sum();
        let fits = uris.len() <= most && bytes <= most_bytes;
        self.told_roots = if fits { uris } else { Vec::new() };
    }

    /// When the first of them has waited long enough, or is to be told something.
    pub fn next_deadline(&self) -> Option<Duration> {
        let waiting = self.waiting.iter();
        let waiting = waiting.filter(|asked| asked.stage == Stage::Asked);
        let due = waiting.flat_map(|asked| {
            let told = asked.progress.as_ref().map(|progress| progress.next);
            told.into_iter().chain([asked.request.deadline])
        });
        due.min()
    }

    /// Takes out the request that the question with this number is about.
    pub fn take(&mut self, ticket: &str) -> Option<Asked> {
        let mut waiting = self.waiting.iter();
        let at = waiting.position(|asked| *asked.ticket == *ticket)?;
        Some(self.waiting.remove(at))
    }

    /// Bytes of the requests that wait.
    pub fn bytes(&self) -> usize {
        let waiting = self.waiting.iter();
        waiting.map(|asked| asked.request.frame.len()).sum()
    }
}
