//! Lines of an audit log, judged by the policies of today.

use std::collections::BTreeMap;

use super::super::fixture_words::TestDecision;
use super::super::gate_file::ConfiguredServer;
use super::audit::JudgeContext;
use super::comparison::CurrentDecision;
use super::log_entry::{LogEntry, RecordedDecision};
use super::session_knowledge::SessionLevels;
use crate::policy::{PolicySnapshot, Server};
use crate::wire::{Document, Extensions, Limits};

/// The policies that judge records again, and the gate in front of them.
#[derive(Debug)]
pub struct ReplayJudge {
    revision: String,
    servers: Vec<JudgingServer>,
}

/// A server of today, and the policies as they are for it.
#[derive(Debug)]
struct JudgingServer {
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
    pub fn new(policies: &PolicySnapshot, servers: Vec<ConfiguredServer>) -> Self {
        let servers = servers.into_iter();
        let servers = servers.map(|ConfiguredServer { server, gate }| JudgingServer {
            policies: policies.of_server(server.key.as_ref()),
            extensions: gate.extensions,
            server,
        });
        Self {
            revision: policies.revision().as_str().to_owned(),
            servers: servers.collect(),
        }
    }

    /// The revision of the policies.
    pub fn revision(&self) -> &str {
        &self.revision
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
        let mut servers = self.servers.iter();
        let now = match servers.find(|it| recorded.is_of(&it.server)) {
            Some(judging) => judging.judge(&recorded),
            None => recorded.of_no_server(),
        };
        let now = match now {
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

impl JudgingServer {
    fn judge(&self, recorded: &RecordedDecision) -> CurrentDecision {
        let context = JudgeContext {
            agents: &BTreeMap::new(),
            extensions: &self.extensions,
            server: &self.server,
            levels: SessionLevels::AsRecorded,
        };
        recorded.judge(&context, &self.policies)
    }
}
