//! Building records, so that the code which judges reads like what it records.

use super::record::{
    Agent, Correlation, Decision, Direction, Edit, Event, Kind, Level, Reason, Record, Scope,
    Sensitivity,
};
use super::text::Text;

impl Record {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            reference: None,
            event: None,
            session_id: None,
            agent: None,
            operator: None,
            upstream: None,
            transports: None,
            bridged: None,
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
            shadow: None,
            tool: None,
            capabilities: None,
            arguments_digest: None,
            arguments: None,
            result: None,
            params: None,
            duration_us: None,
            error_code: None,
            error_class: None,
            correlation: Correlation::default(),
            sensitivity: None,
            consent: None,
            findings: Vec::new(),
            redactions: Vec::new(),
            lost: None,
            unconfirmed: None,
            traced: None,
        }
    }

    /// Whose session it was, and before which upstream.
    #[must_use]
    pub fn within(mut self, scope: &Scope) -> Self {
        self.session_id = Some(scope.session_id.clone());
        self.agent = Some(scope.agent.clone());
        self.upstream = Some(scope.upstream.clone());
        self.transports = Some(scope.transports);
        self.bridged.clone_from(&scope.bridged);
        self
    }

    /// The same as the other record is within.
    #[must_use]
    pub fn within_that_of(mut self, other: &Self) -> Self {
        self.session_id.clone_from(&other.session_id);
        self.agent.clone_from(&other.agent);
        self.upstream.clone_from(&other.upstream);
        self.transports = other.transports;
        self.bridged.clone_from(&other.bridged);
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

    /// Who asked the admin API.
    #[must_use]
    pub fn operator(mut self, name: impl Into<Text>) -> Self {
        self.operator = Some(name.into());
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
        self.sensitivity = Some(Sensitivity {
            before,
            after,
            datasets: Vec::new(),
            added: Vec::new(),
            sources: Vec::new(),
            untrusted_from: Vec::new(),
        });
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
            user: None,
            actors: Vec::new(),
            roles: Vec::new(),
        }
    }

    /// What it calls itself.
    #[must_use]
    pub fn calling_itself(mut self, name: impl Into<Text>) -> Self {
        self.asserted_name = Some(name.into());
        self
    }

    /// The person behind it.
    #[must_use]
    pub fn of_user(mut self, user: impl Into<Text>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Who acts for it, the present one first.
    #[must_use]
    pub fn with_actors<T: Into<Text>>(mut self, actors: impl IntoIterator<Item = T>) -> Self {
        self.actors.extend(actors.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn with_roles<T: Into<Text>>(mut self, roles: impl IntoIterator<Item = T>) -> Self {
        self.roles.extend(roles.into_iter().map(Into::into));
        self
    }
}
