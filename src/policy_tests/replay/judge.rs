//! Lines of an audit log, judged by the policies of today.

use std::collections::BTreeMap;

use super::super::fixture_words::TestDecision;
use super::audit::JudgeContext;
use super::comparison::CurrentDecision;
use super::log_entry::LogEntry;
use super::session_knowledge::SessionLevels;
use crate::gate;
use crate::policy::{PolicySnapshot, Server};
use crate::wire::{Document, Extensions, Limits};

/// The policies that judge records again, and the gate in front of them.
#[derive(Debug)]
pub struct ReplayJudge {
    policies: PolicySnapshot,
    extensions: Extensions,
    server: Server,
}

/// One recorded decision beside the one of today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedRecord {
    /// What was asked, in a few words.
    pub about: String,
    pub was: TestDecision,
    pub now: ReplayedDecision,
}

/// The decision of today about a recorded message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayedDecision {
    Same,
    /// The other one, by these policies.
    Changed(Vec<String>),
    /// The record does not tell enough. The reason.
    Unknown(String),
}

impl ReplayJudge {
    pub fn new(policies: PolicySnapshot, server: String, gate: &gate::Settings) -> Self {
        let server = Server {
            name: server,
            ..Server::default()
        };
        Self {
            policies,
            extensions: gate.extensions.clone(),
            server,
        }
    }

    /// The revision of the policies.
    pub fn revision(&self) -> &str {
        self.policies.revision().as_str()
    }

    /// Judges a record again, with the sensitivity that it has for its session. `None` of a record that holds
    /// no decision of policies.
    pub fn judge(&self, line: &[u8]) -> Option<JudgedRecord> {
        let Ok(document) = Document::decode(line, &Limits::default()) else {
            return Some(JudgedRecord {
                about: "something".to_owned(),
                was: TestDecision::Deny,
                now: ReplayedDecision::Unknown("the record cannot be read".to_owned()),
            });
        };
        let LogEntry::Decided(recorded) = LogEntry::of(document.root(), 0)? else {
            return None;
        };
        let context = JudgeContext {
            agents: &BTreeMap::new(),
            extensions: &self.extensions,
            server: &self.server,
            levels: SessionLevels::AsRecorded,
        };
        let now = match recorded.judge(&context, &self.policies) {
            CurrentDecision::Same => ReplayedDecision::Same,
            CurrentDecision::Changed { policies } => ReplayedDecision::Changed(policies),
            CurrentDecision::Unknown(why) => ReplayedDecision::Unknown(why),
        };
        Some(JudgedRecord {
            about: recorded.kind_of_question(),
            was: recorded.was,
            now,
        })
    }
}
