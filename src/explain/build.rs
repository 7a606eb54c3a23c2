//! From the witness's observations to the report.

use crate::policy::engines::is_rego_or_cel;
use crate::policy::{
    ActionName, ConditionPart, Decision as Decided, DenialCause, OnDeny, PartKind, PartValue,
    PolicyOutline, PolicySnapshot, PolicyTrace, RuleEffect, SAMPLING_APPROVED, TokenGrants,
};
use crate::policy_tests::{
    DryRunOutcome, QueryDescription, RecordedQuery, Requester, TestDecision,
};

use super::change;
use super::consent_channels::ConsentChannels;
use super::origin::{Origins, is_of_arguments, is_of_earlier_results, is_open_in_records};
use super::record::DefinitionApproval;
use super::report::{
    ExplainOutcome, ExplainedDecision, Explanation, ExplanationDepth, PartReport, PolicyReport,
    QuestionReport, ReadValue, SCHEMA,
};
use super::request::{ExplainRequest, SessionOrigin};
use super::untraced_rules;

/// Whether every value of a question is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FactCompleteness {
    Whole,
    OfRecord(RecordKnowledge),
}

/// What a record tells of what was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordKnowledge {
    definition: DefinitionApproval,
    /// What is known of its session, as policies write it.
    session: &'static [&'static str],
    arguments: ArgumentKnowledge,
    grants: TokenGrants,
}

/// What a record tells of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentKnowledge {
    Nothing,
    Whole,
}

/// As policies write it.
const LEVEL: &str = "context.env.session.level";
const DATASETS: &str = "context.env.session.datasets";
const SOURCES: &str = "context.env.session.sources";
const UNTRUSTED_FROM: &str = "context.env.session.untrustedFrom";
const CAPABILITIES: &str = "principal.capabilities";

impl FactCompleteness {
    /// Whether a value is not known.
    fn lacks(self, asked: &QueryDescription, what: &str) -> bool {
        match self {
            Self::Whole => false,
            Self::OfRecord(known) => known.lacks(asked, what),
        }
    }
}

impl RecordKnowledge {
    fn lacks(self, asked: &QueryDescription, what: &str) -> bool {
        if self.session.contains(&what) {
            return false;
        }
        let of_definition =
            self.definition == DefinitionApproval::NotApproved && what.starts_with("resource.pin");
        let of_token = what.starts_with("principal.claims")
            || (what == CAPABILITIES && self.grants != TokenGrants::Nothing);
        let has_arguments = self.arguments == ArgumentKnowledge::Whole
            && is_of_arguments(what)
            && !is_of_earlier_results(what);
        of_definition || of_token || (is_open_in_records(asked, what) && !has_arguments)
    }
}

pub(super) fn explanation(
    policies: &PolicySnapshot,
    request: &ExplainRequest,
    rehearsed: DryRunOutcome,
    origin: SessionOrigin,
    people: &ConsentChannels,
) -> Explanation {
    let knowledge = match request {
        ExplainRequest::Message(_) => FactCompleteness::Whole,
        ExplainRequest::Recorded(recorded) => {
            let told: &[&str] = match recorded.passed() {
                None => &[],
                Some(passed) => match (passed.is_cut(), &passed.servers) {
                    (true, None) => &[LEVEL],
                    (true, Some(_)) => &[LEVEL, SOURCES, UNTRUSTED_FROM],
                    (false, None) => &[LEVEL, DATASETS],
                    (false, Some(_)) => &[LEVEL, DATASETS, SOURCES, UNTRUSTED_FROM],
                },
            };
            let arguments = match recorded.arguments() {
                Some(_) => ArgumentKnowledge::Whole,
                None => ArgumentKnowledge::Nothing,
            };
            FactCompleteness::OfRecord(RecordKnowledge {
                definition: recorded.definition(),
                session: told,
                arguments,
                grants: policies.labels().tokens,
            })
        }
    };
    let could_be_lifted = could_be_lifted(&rehearsed);
    let mut changes = Vec::new();
    let mut questions = Vec::new();
    for question in about_the_message(&rehearsed.heard.questions) {
        let origins = Origins {
            policies,
            asked: &question.asked,
        };
        if knowledge == FactCompleteness::Whole {
            let found = change::changes(question, &|sight| origins.of(sight));
            changes.extend(found);
        }
        let mut report = question_report(question, origins, knowledge);
        let known = report.policies.iter().map(|policy| policy.id.clone());
        let known: Vec<String> = known.collect();
        let untraced = match request {
            ExplainRequest::Message(_) => {
                untraced_rules::of_decision(policies, &question.decision(), &known)
            }
            ExplainRequest::Recorded(recorded) => {
                untraced_rules::of_record(policies, recorded, &known)
            }
        };
        report.add(untraced);
        if knowledge != FactCompleteness::Whole
            && untraced_rules::are_there(policies)
            && !report.is_forbidden()
        {
            report.decision = ExplainedDecision::Unknown;
        }
        questions.push(report);
    }
    let explanation = Explanation {
        schema: SCHEMA,
        outcome: ExplainOutcome::Explained,
        decision: Some(match rehearsed.decision {
            TestDecision::Allow => ExplainedDecision::Allow,
            TestDecision::Deny => ExplainedDecision::Deny,
        }),
        at: rehearsed.at_handshake.then_some("handshake"),
        stage: rehearsed.stage,
        reason: rehearsed.reason,
        text: rehearsed.text,
        code: rehearsed.code,
        advice: rehearsed.advice,
        consent: could_be_lifted.then(|| people.told()),
        policies: rehearsed.policies,
        permitted: None,
        revision: Some(policies.revision().as_str().to_owned()),
        level: origin.level,
        datasets: origin.datasets,
        sources: origin.sources,
        questions,
        changes,
        unknown: untraced_rules::note(policies, request)
            .into_iter()
            .collect(),
        problems: Vec::new(),
        recorded: false,
    };
    match request {
        ExplainRequest::Message(_) => explanation,
        ExplainRequest::Recorded(recorded) => recorded.correct(explanation),
    }
}

/// Whether a person's consent could lift what denies the message.
pub(super) fn could_be_lifted(rehearsed: &DryRunOutcome) -> bool {
    let mut questions = about_the_message(&rehearsed.heard.questions).into_iter();
    let by_engines = questions.any(|question| match question.decision() {
        Decided::Deny(denial) => denial.remedy() == Some(OnDeny::AskConsent),
        Decided::Allow(_) => false,
    });
    // Beside the engines.
    let approved = |id: &String| id == SAMPLING_APPROVED;
    by_engines
        || rehearsed.decision == TestDecision::Deny && rehearsed.policies.iter().any(approved)
}

/// Each question once, as it was asked last: a call that waits for the list of tools is judged again
/// from its first byte. That a tool may be listed needs no permit, and is reported where it is forbidden.
fn about_the_message(questions: &[RecordedQuery]) -> Vec<&RecordedQuery> {
    let calls = questions
        .iter()
        .any(|question| question.asked.action == ActionName::CallTool);
    let matters = |question: &RecordedQuery| match question.asked.action {
        ActionName::ListTool => is_forbidden(&question.decision()),
        // The answer to what the gate asked itself.
        ActionName::ReceiveResult => !calls,
        ActionName::Initialize
        | ActionName::Ping
        | ActionName::SetLevel
        | ActionName::Cancel
        | ActionName::Notify
        | ActionName::ListResource
        | ActionName::ListPrompt
        | ActionName::Listen
        | ActionName::CallTool
        | ActionName::ReadResource
        | ActionName::Subscribe
        | ActionName::GetPrompt
        | ActionName::Complete
        | ActionName::Extension
        | ActionName::Sample
        | ActionName::Elicit
        | ActionName::ListRoots
        | ActionName::ConnectHost => true,
    };
    let mut kept: Vec<&RecordedQuery> = Vec::new();
    for question in questions.iter().filter(|question| matters(question)) {
        match kept.iter_mut().find(|kept| kept.asked == question.asked) {
            Some(kept) => *kept = question,
            None => kept.push(question),
        }
    }
    kept
}

fn is_forbidden(decision: &Decided) -> bool {
    match decision {
        Decided::Allow(_) => false,
        Decided::Deny(denial) => denial.cause != DenialCause::NotPermitted,
    }
}

fn traced(question: &RecordedQuery) -> impl Iterator<Item = &PolicyTrace> {
    question.traces.iter().flat_map(|trace| &trace.policies)
}

fn question_report(
    question: &RecordedQuery,
    origins: Origins<'_>,
    knowledge: FactCompleteness,
) -> QuestionReport {
    let decision = question.decision();
    let deciding: Vec<&str> = decision
        .reasons()
        .iter()
        .map(|it| it.policy.as_str())
        .collect();
    let told = traced(question).filter(|trace| {
        knowledge == FactCompleteness::Whole || !is_rego_or_cel(&trace.outline.origin.file)
    });
    let mut policies: Vec<PolicyReport> = told
        .map(|trace| policy_report(trace, &deciding, origins, knowledge))
        .collect();
    sort(&mut policies);
    let asked = &question.asked;
    QuestionReport {
        action: asked.action.as_str(),
        principal: match &asked.principal {
            Requester::Agent(agent) => format!("agent `{}`", agent.id),
            Requester::Server(name) => format!("server `{name}`"),
        },
        resource: format!("{} `{}`", asked.kind, asked.name),
        fault: fault(&decision, &policies).filter(|_| knowledge == FactCompleteness::Whole),
        decision: match (knowledge, decision) {
            (FactCompleteness::OfRecord(_), _) => of_record(&policies),
            (FactCompleteness::Whole, Decided::Allow(_)) => ExplainedDecision::Allow,
            (FactCompleteness::Whole, Decided::Deny(_)) => ExplainedDecision::Deny,
        },
        policies,
    }
}

/// Why an engine could not judge, where none of the policies shows it.
fn fault(decision: &Decided, policies: &[PolicyReport]) -> Option<String> {
    let Decided::Deny(denial) = decision else {
        return None;
    };
    let DenialCause::Fault(fault) = &denial.cause else {
        return None;
    };
    let shown = policies.iter().any(|policy| policy.error.is_some());
    (!shown).then(|| fault.to_string())
}

/// Stable: of each kind, the order of the files stays.
fn sort(policies: &mut [PolicyReport]) {
    policies.sort_by_key(|policy| (!policy.decided, policy.effect != RuleEffect::Permit.word()));
}

impl QuestionReport {
    /// Whatever else there is, it is denied.
    fn is_forbidden(&self) -> bool {
        let denies = |it: &PolicyReport| {
            it.value == "failed" || it.effect == RuleEffect::Forbid.word() && it.value == "true"
        };
        self.policies.iter().any(denies)
    }

    fn add(&mut self, policies: Vec<PolicyReport>) {
        self.policies.extend(policies);
        sort(&mut self.policies);
    }
}

/// What can be said without what a record leaves out.
fn of_record(policies: &[PolicyReport]) -> ExplainedDecision {
    let any = |effect: RuleEffect, value| {
        let of = |it: &&PolicyReport| it.effect == effect.word() && it.value == value;
        policies.iter().any(|policy| of(&policy))
    };
    let failed = |effect| any(effect, "failed");
    if any(RuleEffect::Forbid, "true") || failed(RuleEffect::Forbid) || failed(RuleEffect::Permit) {
        ExplainedDecision::Deny
    } else if any(RuleEffect::Permit, "true") && !any(RuleEffect::Forbid, UNKNOWN) {
        ExplainedDecision::Allow
    } else if any(RuleEffect::Permit, "true") || any(RuleEffect::Permit, UNKNOWN) {
        ExplainedDecision::Unknown
    } else {
        ExplainedDecision::Deny
    }
}

const UNKNOWN: &str = "unknown";

fn policy_report(
    trace: &PolicyTrace,
    deciding: &[&str],
    origins: Origins<'_>,
    knowledge: FactCompleteness,
) -> PolicyReport {
    let outline = &trace.outline;
    let values: Vec<Option<PartValue>> = trace
        .parts()
        .map(|(_, part)| {
            let open = |what: &str| knowledge.lacks(origins.asked, what);
            let known = part.saw.iter().all(|sight| !open(&sight.what));
            known.then(|| part.value.clone())
        })
        .collect();
    let roots: Vec<usize> = places(&outline.parts, |part| part.parent.is_none());
    let is_whole = outline.parts.is_empty();
    let whole = if is_whole {
        Some(trace.value.clone())
    } else {
        all(outline, &roots, &values, &PartValue::False)
    };
    let parts = trace.parts().enumerate().map(|(place, (part, traced))| {
        let value = known(outline, place, &values);
        PartReport {
            kind: kind(part.kind),
            text: outline.text(part).to_owned(),
            line: outline.line(part),
            within: part.parent,
            value: value.as_ref().map_or(UNKNOWN, PartValue::word),
            error: value.as_ref().and_then(error),
            asked: traced.reached,
            saw: traced
                .saw
                .iter()
                .map(|sight| {
                    let known = !knowledge.lacks(origins.asked, &sight.what);
                    ReadValue {
                        what: sight.what.clone(),
                        value: sight.value.clone().filter(|_| known),
                        from: origins.of(sight),
                        known,
                    }
                })
                .collect(),
            span: part.span.clone(),
        }
    });
    let builtin = outline.origin.file.starts_with('<');
    PolicyReport {
        id: outline.id.as_str().to_owned(),
        effect: outline.effect.word(),
        file: outline.origin.file.clone(),
        line: Some(outline.origin.line).filter(|line| *line > 0),
        builtin,
        // Of several rules with one name, those that hold.
        decided: knowledge == FactCompleteness::Whole
            && trace.value != PartValue::False
            && deciding.contains(&outline.id.as_str()),
        value: whole.as_ref().map_or(UNKNOWN, PartValue::word),
        error: whole.as_ref().and_then(error),
        in_scope: trace.in_scope(),
        told: if is_whole {
            ExplanationDepth::Verdict
        } else {
            ExplanationDepth::Parts
        },
        advice: None,
        parts: parts.collect(),
        source: outline.source.clone(),
        span: untraced_rules::shown(&outline.source, outline.span.clone()),
    }
}

/// What a part comes to when some values are not known; `None` where that decides.
fn known(outline: &PolicyOutline, place: usize, values: &[Option<PartValue>]) -> Option<PartValue> {
    let part = outline.parts.get(place)?;
    match part.kind {
        PartKind::When | PartKind::All => all(outline, &part.children, values, &PartValue::False),
        PartKind::Any => all(outline, &part.children, values, &PartValue::True),
        PartKind::Unless | PartKind::Not => {
            match all(outline, &part.children, values, &PartValue::False)? {
                PartValue::True => Some(PartValue::False),
                PartValue::False => Some(PartValue::True),
                failed @ PartValue::Failed(_) => Some(failed),
            }
        }
        PartKind::If => {
            let [test, then, otherwise] = *part.children else {
                return None;
            };
            let [then, otherwise] = [then, otherwise].map(|place| known(outline, place, values));
            match known(outline, test, values) {
                Some(PartValue::True) => then,
                Some(PartValue::False) => otherwise,
                failed @ Some(PartValue::Failed(_)) => failed,
                None => then.filter(|then| otherwise.as_ref() == Some(then)),
            }
        }
        PartKind::Scope | PartKind::Condition => values.get(place).cloned().flatten(),
    }
}

/// Whatever comes to `end` settles it, also behind what is not known: rules that are in force cannot
/// fail on what a message holds, but for sums that overflow.
fn all(
    outline: &PolicyOutline,
    places: &[usize],
    values: &[Option<PartValue>],
    end: &PartValue,
) -> Option<PartValue> {
    let mut open = false;
    for place in places {
        match known(outline, *place, values) {
            None => open = true,
            Some(value) if value == *end => return Some(value),
            // Behind something open, this may never be asked.
            Some(PartValue::Failed(why)) if !open => return Some(PartValue::Failed(why)),
            Some(_) => {}
        }
    }
    (!open).then_some(match end {
        PartValue::True => PartValue::False,
        PartValue::False | PartValue::Failed(_) => PartValue::True,
    })
}

fn places(parts: &[ConditionPart], wanted: impl Fn(&ConditionPart) -> bool) -> Vec<usize> {
    let parts = parts.iter().enumerate().filter(|(_, part)| wanted(part));
    parts.map(|(place, _)| place).collect()
}

fn error(value: &PartValue) -> Option<String> {
    if let PartValue::Failed(why) = value {
        Some(why.clone())
    } else {
        None
    }
}

fn kind(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Scope => "scope",
        PartKind::When => "when",
        PartKind::Unless => "unless",
        PartKind::All => "all",
        PartKind::Any => "any",
        PartKind::Not => "not",
        PartKind::If => "if",
        PartKind::Condition => "condition",
    }
}
