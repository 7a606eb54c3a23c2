//! What happens to a record before it is written: secrets out, long strings and lists cut.

use std::iter;

use super::body::Body;
use super::finding::{Finding, Guard};
use super::record::{
    Agent, Capabilities, Consent, Correlation, Edit, EditOp, Reason, Record, Sensitivity, Shadow,
    ToolVersion,
};
use super::redact::Redactor;
use super::text::{Text, TextCompletion};

/// Items that a record shows of one list; one more then says how many are missing.
pub const LIST_LIMIT: usize = 64;

/// What `redactions` says of a secret that the log itself took out of the record.
const CONFIGURATION_SECRET: &str = "configuration_secret";

impl Record {
    /// The bytes that the record takes in memory, near enough to bound a queue of them.
    pub(super) fn weight(&mut self) -> usize {
        let mut weight = size_of::<Self>();
        self.each_text(&mut |text| weight += size_of::<Text>() + text.weight());
        let bodies = [&self.arguments, &self.result, &self.params]
            .into_iter()
            .flatten();
        weight.saturating_add(bodies.map(Body::weight).sum())
    }

    /// Makes the record fit to be written: secrets out, long strings and lists cut.
    pub(super) fn finish(&mut self, redactor: &Redactor) {
        let mut redacted = false;
        self.each_text(&mut |text| redacted |= text.finish(redactor) == TextCompletion::Redacted);
        for body in [&mut self.arguments, &mut self.result, &mut self.params]
            .into_iter()
            .flatten()
        {
            redacted |= body.finish(redactor) == TextCompletion::Redacted;
        }
        if redacted {
            // First, where no cut can take it away.
            self.redactions.insert(0, CONFIGURATION_SECRET.into());
        }
        let more = |left_out: usize| Text::from(format!("… [{left_out} more]"));
        if let Some(agent) = &mut self.agent {
            cut(&mut agent.roles, more);
        }
        cut(&mut self.policies, more);
        if let Some(shadow) = &mut self.shadow {
            cut(&mut shadow.policies, more);
        }
        if let Some(Capabilities { needed, held }) = &mut self.capabilities {
            cut(needed, more);
            cut(held, more);
        }
        if let Some(sensitivity) = &mut self.sensitivity {
            for names in sensitivity.lists() {
                cut(names, more);
            }
        }
        cut(&mut self.obligations, more);
        cut(&mut self.findings, |left_out| Finding {
            guard: Guard::Audit,
            code: "findings_omitted".into(),
            detail: more(left_out),
        });
        cut(&mut self.redactions, more);
        cut(&mut self.edits, |left_out| Edit {
            pointer: more(left_out),
            op: EditOp::Replace,
            reason: None,
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
            operator,
            upstream,
            transports: _,
            bridged,
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
            shadow,
            tool,
            capabilities,
            arguments_digest,
            // Finished and weighed as a whole.
            arguments: _,
            result: _,
            params: _,
            duration_us: _,
            error_code: _,
            error_class: _,
            correlation,
            sensitivity,
            consent,
            findings,
            redactions,
            lost: _,
            unconfirmed: _,
            // Finished where it is exported.
            traced: _,
        } = self;
        agent
            .iter_mut()
            .flat_map(Agent::texts)
            .for_each(&mut *visit);
        shadow
            .iter_mut()
            .flat_map(Shadow::texts)
            .for_each(&mut *visit);
        tool.iter_mut()
            .flat_map(ToolVersion::texts)
            .for_each(&mut *visit);
        capabilities
            .iter_mut()
            .flat_map(Capabilities::texts)
            .for_each(&mut *visit);
        sensitivity
            .iter_mut()
            .flat_map(Sensitivity::texts)
            .for_each(&mut *visit);
        consent
            .iter_mut()
            .flat_map(Consent::texts)
            .for_each(&mut *visit);
        for Edit {
            pointer,
            op: _,
            reason,
        } in edits
        {
            visit(pointer);
            reason.iter_mut().for_each(&mut *visit);
        }
        [
            reference,
            session_id,
            operator,
            upstream,
            bridged,
            method,
            target,
            stage,
            revision,
            arguments_digest,
        ]
        .into_iter()
        .chain([code, advice, text])
        .flatten()
        .chain(correlation.texts())
        .chain(policies)
        .chain(obligations)
        .chain(findings.iter_mut().flat_map(Finding::texts))
        .chain(redactions)
        .for_each(visit);
    }
}

// INVARIANT: no `..` in these patterns either.
impl Correlation {
    fn texts(&mut self) -> impl Iterator<Item = &mut Text> {
        let Self {
            job_id,
            trace_id,
            workflow_run_id,
            task_id,
            session_id,
            traceparent,
        } = self;
        let work = [job_id, trace_id, workflow_run_id, task_id];
        let all = work.into_iter().chain([session_id, traceparent]);
        all.flatten()
    }
}

impl Agent {
    fn texts(&mut self) -> impl Iterator<Item = &mut Text> {
        let Self {
            id,
            asserted_name,
            user,
            actors,
            roles,
        } = self;
        let names = asserted_name.iter_mut().chain(user);
        iter::once(id).chain(names).chain(actors).chain(roles)
    }
}

impl Shadow {
    fn texts(&mut self) -> impl Iterator<Item = &mut Text> {
        let Self {
            revision,
            decision: _,
            policies,
        } = self;
        iter::once(revision).chain(policies)
    }
}

impl ToolVersion {
    fn texts(&mut self) -> impl Iterator<Item = &mut Text> {
        let Self {
            digest,
            server_version,
        } = self;
        digest.iter_mut().chain(server_version)
    }
}

impl Capabilities {
    fn texts(&mut self) -> impl Iterator<Item = &mut Text> {
        let Self { needed, held } = self;
        needed.iter_mut().chain(held)
    }
}

impl Sensitivity {
    fn lists(&mut self) -> [&mut Vec<Text>; 4] {
        let Self {
            before: _,
            after: _,
            datasets,
            added,
            sources,
            untrusted_from,
        } = self;
        [datasets, added, sources, untrusted_from]
    }

    fn texts(&mut self) -> impl Iterator<Item = &mut Text> {
        self.lists().into_iter().flatten()
    }
}

impl Consent {
    fn texts(&mut self) -> impl Iterator<Item = &mut Text> {
        let Self {
            required: _,
            outcome: _,
            ticket,
            by,
        } = self;
        ticket.iter_mut().chain(by)
    }
}

fn cut<T>(list: &mut Vec<T>, more: impl FnOnce(usize) -> T) {
    let left_out = list.len().saturating_sub(LIST_LIMIT);
    if left_out > 0 {
        list.truncate(LIST_LIMIT);
        list.push(more(left_out));
    }
}
