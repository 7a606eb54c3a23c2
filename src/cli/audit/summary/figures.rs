//! The counts of a part of a log, which add up to those of the whole.

use std::collections::BTreeSet;

use super::tally::{Histogram, Tally, TallyValue};
use crate::audit::query::LogRecord;
use crate::audit::{Decision, Kind};

/// Between the parts of a key. A peer whose name has it spoils the row of its own denials.
pub(super) const KEY_SEPARATOR: char = '\u{1f}';

/// The names of the levels, lowest first.
pub(super) const LEVELS: [&str; 4] = ["PUBLIC", "INTERNAL", "CONFIDENTIAL", "SECRET"];

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) records: u64,
    /// In the order of [`Decision::ALL`].
    pub(super) decisions: [u64; 3],
    /// By reason, target and policies.
    pub(super) denials: Tally<u64>,
    /// By agent: its denials.
    pub(super) agents: Tally<u64>,
    /// By tool: the durations of calls.
    pub(super) tools: Tally<Histogram, 4096>,
    /// By run of the gate and session: the highest level.
    pub(super) sessions: Tally<SessionLevel>,
    pub(super) redactions: Tally<u64>,
    /// By event.
    pub(super) consents: Tally<u64>,
    /// The indices of policies that a record names.
    pub(super) used_policies: BTreeSet<usize>,
}

/// An index of [`LEVELS`].
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct SessionLevel(pub(super) usize);

impl TallyValue for SessionLevel {
    fn merge(&mut self, other: Self) {
        self.0 = self.0.max(other.0);
    }

    fn count(&self) -> u64 {
        1
    }
}

impl Figures {
    /// Adds a record. `policies` is sorted.
    pub(super) fn add(&mut self, record: &LogRecord<'_>, policies: &[String]) {
        self.records += 1;
        for (decision, count) in Decision::ALL.iter().zip(&mut self.decisions) {
            *count += u64::from(decision.as_str() == &*record.decision);
        }
        if &*record.decision == Decision::Block.as_str() {
            self.add_denial(record);
        }
        if let (Some(duration), true) = (record.duration_us, is(record, Kind::ToolResult)) {
            self.tools.add(&record.target, Histogram::of(duration));
        }
        if is(record, Kind::Consent) {
            self.consents.add(&record.event, 1);
        }
        if !record.session_id.is_empty() {
            let session = key(&[&record.instance, &record.session_id]);
            let level = LEVELS
                .iter()
                .position(|it| **it == *record.sensitivity.after);
            let level = SessionLevel(level.unwrap_or_default());
            self.sessions.add(&session, level);
        }
        for rule in &record.redactions {
            self.redactions.add(rule, 1);
        }
        if !policies.is_empty() {
            let named = record.policies.iter();
            let found = named.filter_map(|id| policies.binary_search_by(|it| (**it).cmp(id)).ok());
            self.used_policies.extend(found);
        }
    }

    fn add_denial(&mut self, record: &LogRecord<'_>) {
        let names = [&record.target, &record.method, &record.kind];
        let target = names.into_iter().find(|name| !name.is_empty());
        let target = target.map_or("", |name| &**name);
        let mut parts = vec![&*record.reason.code, target];
        parts.extend(record.policies.iter().map(|id| &**id));
        self.denials.add(&key(&parts), 1);
        self.agents.add(&record.agent.id, 1);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.records += other.records;
        for (count, more) in self.decisions.iter_mut().zip(other.decisions) {
            *count += more;
        }
        self.denials.merge(other.denials);
        self.agents.merge(other.agents);
        self.tools.merge(other.tools);
        self.sessions.merge(other.sessions);
        self.redactions.merge(other.redactions);
        self.consents.merge(other.consents);
        self.used_policies.extend(other.used_policies);
    }
}

fn is(record: &LogRecord<'_>, kind: Kind) -> bool {
    &*record.kind == kind.as_str()
}

fn key(parts: &[&str]) -> String {
    parts.join(&KEY_SEPARATOR.to_string())
}
