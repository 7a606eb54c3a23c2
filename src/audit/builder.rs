//! Building records, so that the code which judges reads like what it records.

use super::record::{
    Agent, Change, Correlation, Decision, Direction, Edit, Event, Kind, Level, Reason, Record,
    Scope, Sensitivity,
};
use super::redact::Redactor;
use super::text::{Finished, Text};

/// Items that a record shows of one list; the last one then says how many more there were.
pub(super) const LIST_LIMIT: usize = 64;

/// What `redactions` says of a secret that the log itself took out of the record.
const CONFIGURATION_SECRET: &str = "configuration-secret";

impl Record {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            reference: None,
            event: None,
            session_id: None,
            agent: None,
            upstream: None,
            direction: None,
            method: None,
            target: None,
            decision: None,
            stage: None,
            policies: Vec::new(),
            reason: Reason::default(),
            obligations: Vec::new(),
            edits: Vec::new(),
            revision: None,
            arguments_digest: None,
            duration_us: None,
            error_code: None,
            correlation: Correlation::default(),
            sensitivity: None,
            redactions: Vec::new(),
            lost: None,
        }
    }

    /// Whose session it was, and before which upstream.
    #[must_use]
    pub fn within(mut self, scope: &Scope) -> Self {
        self.session_id = Some(scope.session_id.clone());
        self.agent = Some(scope.agent.clone());
        self.upstream = Some(scope.upstream.clone());
        self
    }

    /// The name of the message that the record is about.
    #[must_use]
    pub fn reference(mut self, reference: impl Into<Text>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// The upstream alone, for what happens outside any session.
    #[must_use]
    pub fn upstream(mut self, name: impl Into<Text>) -> Self {
        self.upstream = Some(name.into());
        self
    }

    #[must_use]
    pub fn event(mut self, event: Event) -> Self {
        self.event = Some(event);
        self
    }

    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = Some(direction);
        self
    }

    #[must_use]
    pub fn method(mut self, method: impl Into<Text>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// The tool's name, the resource's URI, the prompt's name.
    #[must_use]
    pub fn target(mut self, target: impl Into<Text>) -> Self {
        self.target = Some(target.into());
        self
    }

    /// What became of the message, and the step of the gate that said so.
    #[must_use]
    pub fn decision(mut self, decision: Decision, stage: impl Into<Text>) -> Self {
        self.decision = Some(decision);
        self.stage = Some(stage.into());
        self
    }

    /// The policies that determined the decision.
    #[must_use]
    pub fn policies<T: Into<Text>>(mut self, ids: impl IntoIterator<Item = T>) -> Self {
        self.policies.extend(ids.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn reason(mut self, reason: Reason) -> Self {
        self.reason = reason;
        self
    }

    #[must_use]
    pub fn obligations<T: Into<Text>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.obligations.extend(names.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn edits(mut self, edits: impl IntoIterator<Item = Edit>) -> Self {
        self.edits.extend(edits);
        self
    }

    /// The policy revision that judged.
    #[must_use]
    pub fn revision(mut self, revision: impl Into<Text>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    #[must_use]
    pub fn arguments_digest(mut self, digest: impl Into<Text>) -> Self {
        self.arguments_digest = Some(digest.into());
        self
    }

    #[must_use]
    pub fn duration(mut self, duration: std::time::Duration) -> Self {
        self.duration_us = Some(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
        self
    }

    /// The JSON-RPC error code that the sender was answered with.
    #[must_use]
    pub fn error_code(mut self, code: impl Into<i64>) -> Self {
        self.error_code = Some(code.into());
        self
    }

    #[must_use]
    pub fn correlation(mut self, correlation: Correlation) -> Self {
        self.correlation = correlation;
        self
    }

    #[must_use]
    pub fn sensitivity(mut self, before: Level, after: Level) -> Self {
        self.sensitivity = Some(Sensitivity { before, after });
        self
    }

    /// What was redacted from the message, by the names of the rules that found it.
    #[must_use]
    pub fn redactions<T: Into<Text>>(mut self, rules: impl IntoIterator<Item = T>) -> Self {
        self.redactions.extend(rules.into_iter().map(Into::into));
        self
    }

    /// Records that were never written. The log's own; see [`Kind::AuditGap`].
    pub(super) fn lost(mut self, records: u64) -> Self {
        self.lost = Some(records);
        self
    }

    /// The bytes that the record takes in memory, near enough to bound a queue of them.
    pub(super) fn weight(&mut self) -> usize {
        let mut weight = size_of::<Self>();
        self.each_text(&mut |text| weight += size_of::<Text>() + text.weight());
        weight
    }

    /// Makes the record fit to be written: secrets out, long strings and lists cut.
    pub(super) fn finish(&mut self, redactor: &Redactor) {
        let mut redacted = false;
        self.each_text(&mut |text| redacted |= text.finish(redactor) == Finished::Redacted);
        if redacted {
            self.redactions.push(CONFIGURATION_SECRET.into());
        }
        let more = |left_out: usize| Text::from(format!("… [{left_out} more]"));
        if let Some(agent) = &mut self.agent {
            cut(&mut agent.roles, more);
        }
        cut(&mut self.policies, more);
        cut(&mut self.obligations, more);
        cut(&mut self.redactions, more);
        cut(&mut self.edits, |left_out| Edit {
            pointer: more(left_out),
            change: Change::Replaced,
            because: None,
        });
    }

    /// Every string that came from somewhere else.
    fn each_text(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        // INVARIANT: no `..` in these patterns. A new field has to say here whether it is a
        // string, or secrets would pass through it unseen.
        let Self {
            kind: _,
            reference,
            event: _,
            session_id,
            agent,
            upstream,
            direction: _,
            method,
            target,
            decision: _,
            stage,
            policies,
            reason: Reason { code, advice, text },
            obligations,
            edits,
            revision,
            arguments_digest,
            duration_us: _,
            error_code: _,
            correlation:
                Correlation {
                    job_id,
                    trace_id,
                    workflow_run_id,
                    task_id,
                    session_id: agent_session_id,
                    traceparent,
                },
            sensitivity: _,
            redactions,
            lost: _,
        } = self;
        if let Some(Agent {
            id,
            asserted_name,
            roles,
        }) = agent
        {
            visit(id);
            asserted_name.iter_mut().chain(roles).for_each(&mut *visit);
        }
        for Edit {
            pointer,
            change: _,
            because,
        } in edits
        {
            visit(pointer);
            because.iter_mut().for_each(&mut *visit);
        }
        [
            reference,
            session_id,
            upstream,
            method,
            target,
            stage,
            revision,
            arguments_digest,
        ]
        .into_iter()
        .chain([code, advice, text])
        .chain([
            job_id,
            trace_id,
            workflow_run_id,
            task_id,
            agent_session_id,
            traceparent,
        ])
        .flatten()
        .chain(policies)
        .chain(obligations)
        .chain(redactions)
        .for_each(visit);
    }
}

impl Reason {
    /// As a policy's `@code` says it.
    pub fn code(code: impl Into<Text>) -> Self {
        Self {
            code: Some(code.into()),
            ..Self::default()
        }
    }

    /// As the gate says it.
    pub fn text(text: impl Into<Text>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// As a policy's `@advice` says it.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<Text>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    #[must_use]
    pub fn with_text(mut self, text: impl Into<Text>) -> Self {
        self.text = Some(text.into());
        self
    }
}

impl Agent {
    pub fn new(id: impl Into<Text>) -> Self {
        Self {
            id: id.into(),
            asserted_name: None,
            roles: Vec::new(),
        }
    }

    /// What it calls itself.
    #[must_use]
    pub fn calling_itself(mut self, name: impl Into<Text>) -> Self {
        self.asserted_name = Some(name.into());
        self
    }

    #[must_use]
    pub fn with_roles<T: Into<Text>>(mut self, roles: impl IntoIterator<Item = T>) -> Self {
        self.roles.extend(roles.into_iter().map(Into::into));
        self
    }
}

fn cut<T>(list: &mut Vec<T>, more: impl FnOnce(usize) -> T) {
    let left_out = list.len().saturating_sub(LIST_LIMIT);
    if left_out > 0 {
        list.truncate(LIST_LIMIT);
        list.push(more(left_out));
    }
}
