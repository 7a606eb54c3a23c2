//! From the witness's observations to the report.

use crate::policy::engines::is_rego_or_cel;
use crate::policy::{
    ActionName, Decision as Decided, DenialCause, OnDeny, Part, PartKind, PolicyOutline,
    PolicySnapshot, PolicyTrace, RuleEffect, Value,
};
use crate::policy_tests::{self, Asked, Question, Rehearsed, Who};

use super::People;
use super::change;
use super::origin::{Origins, is_open_in_records};
use super::record::Definition;
use super::report::{
    Decision, Explanation, Outcome, PartReport, PolicyReport, QuestionReport, SCHEMA, Saw, Told,
};
use super::request::Request;
use super::untraced;

/// Whether every value of a question is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Knowledge {
    Whole,
    /// A record has no arguments.
    OfRecord(Definition, OfSession),
}

/// What a record tells of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfSession {
    Nothing,
    Level,
}

/// As policies write it.
const LEVEL: &str = "context.env.session.level";

impl Knowledge {
    /// Whether a value is not known.
    fn lacks(self, asked: &Asked, what: &str) -> bool {
        match self {
            Self::Whole => false,
            Self::OfRecord(_, OfSession::Level) if what == LEVEL => false,
            Self::OfRecord(Definition::Approved, _) => is_open_in_records(asked, what),
            Self::OfRecord(Definition::NotApproved, _) => {
                is_open_in_records(asked, what) || what.starts_with("resource.pin")
            }
        }
    }
}

pub(super) fn explanation(
    policies: &PolicySnapshot,
    request: &Request,
    rehearsed: Rehearsed,
    level: Vec<String>,
    people: &People,
) -> Explanation {
    let knowledge = match request {
        Request::Message(_) => Knowledge::Whole,
        Request::Recorded(recorded) => {
            let told = recorded
                .passed()
                .map_or(OfSession::Nothing, |_| OfSession::Level);
            Knowledge::OfRecord(recorded.definition(), told)
        }
    };
    let mut could_be_lifted = false;
    let mut changes = Vec::new();
    let mut questions = Vec::new();
    for question in about_the_message(&rehearsed.heard.questions) {
        let origins = Origins {
            policies,
            asked: &question.asked,
        };
        if knowledge == Knowledge::Whole {
            let found = change::changes(question, &|sight| origins.of(sight));
            changes.extend(found);
        }
        if let Decided::Deny(denial) = question.decision() {
            could_be_lifted |= denial.remedy() == Some(OnDeny::AskConsent);
        }
        let mut report = question_report(question, origins, knowledge);
        let known = report.policies.iter().map(|policy| policy.id.clone());
        let known: Vec<String> = known.collect();
        let untraced = match request {
            Request::Message(_) => untraced::of_decision(policies, &question.decision(), &known),
            Request::Recorded(recorded) => untraced::of_record(policies, recorded, &known),
        };
        report.add(untraced);
        if knowledge != Knowledge::Whole && untraced::are_there(policies) && !report.is_forbidden()
        {
            report.decision = Decision::Unknown;
        }
        questions.push(report);
    }
    let explanation = Explanation {
        schema: SCHEMA,
        outcome: Outcome::Explained,
        decision: Some(match rehearsed.decision {
            policy_tests::Decision::Allow => Decision::Allow,
            policy_tests::Decision::Deny => Decision::Deny,
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
        level,
        questions,
        changes,
        unknown: untraced::note(policies, request).into_iter().collect(),
        problems: Vec::new(),
        recorded: false,
    };
    match request {
        Request::Message(_) => explanation,
        Request::Recorded(recorded) => recorded.correct(explanation),
    }
}

/// Each question once, as it was asked last: a call that waits for the list of tools is judged again
/// from its first byte. That a tool may be listed needs no permit, and is reported where it is forbidden.
fn about_the_message(questions: &[Question]) -> Vec<&Question> {
    let calls = questions
        .iter()
        .any(|question| question.asked.action == ActionName::CallTool);
    let matters = |question: &Question| match question.asked.action {
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
        | ActionName::ListRoots => true,
    };
    let mut kept: Vec<&Question> = Vec::new();
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

fn traced(question: &Question) -> impl Iterator<Item = &PolicyTrace> {
    question.traces.iter().flat_map(|trace| &trace.policies)
}

fn question_report(
    question: &Question,
    origins: Origins<'_>,
    knowledge: Knowledge,
) -> QuestionReport {
    let decision = question.decision();
    let deciding: Vec<&str> = decision
        .reasons()
        .iter()
        .map(|it| it.policy.as_str())
        .collect();
    let told = traced(question).filter(|trace| {
        knowledge == Knowledge::Whole || !is_rego_or_cel(&trace.outline.origin.file)
    });
    let mut policies: Vec<PolicyReport> = told
        .map(|trace| policy_report(trace, &deciding, origins, knowledge))
        .collect();
    sort(&mut policies);
    let asked = &question.asked;
    QuestionReport {
        action: asked.action.as_str(),
        principal: match &asked.principal {
            Who::Agent(agent) => format!("agent `{}`", agent.id),
            Who::Server(name) => format!("server `{name}`"),
        },
        resource: format!("{} `{}`", asked.kind, asked.name),
        fault: fault(&decision, &policies).filter(|_| knowledge == Knowledge::Whole),
        decision: match (knowledge, decision) {
            (Knowledge::OfRecord(_, _), _) => of_record(&policies),
            (Knowledge::Whole, Decided::Allow(_)) => Decision::Allow,
            (Knowledge::Whole, Decided::Deny(_)) => Decision::Deny,
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
fn of_record(policies: &[PolicyReport]) -> Decision {
    let any = |effect: RuleEffect, value| {
        let of = |it: &&PolicyReport| it.effect == effect.word() && it.value == value;
        policies.iter().any(|policy| of(&policy))
    };
    let failed = |effect| any(effect, "failed");
    if any(RuleEffect::Forbid, "true") || failed(RuleEffect::Forbid) || failed(RuleEffect::Permit) {
        Decision::Deny
    } else if any(RuleEffect::Permit, "true") && !any(RuleEffect::Forbid, UNKNOWN) {
        Decision::Allow
    } else if any(RuleEffect::Permit, "true") || any(RuleEffect::Permit, UNKNOWN) {
        Decision::Unknown
    } else {
        Decision::Deny
    }
}

const UNKNOWN: &str = "unknown";

fn policy_report(
    trace: &PolicyTrace,
    deciding: &[&str],
    origins: Origins<'_>,
    knowledge: Knowledge,
) -> PolicyReport {
    let outline = &trace.outline;
    let values: Vec<Option<Value>> = trace
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
        all(outline, &roots, &values, &Value::False)
    };
    let parts = trace.parts().enumerate().map(|(place, (part, traced))| {
        let value = known(outline, place, &values);
        PartReport {
            kind: kind(part.kind),
            text: outline.text(part).to_owned(),
            line: outline.line(part),
            within: part.parent,
            value: value.as_ref().map_or(UNKNOWN, Value::word),
            error: value.as_ref().and_then(error),
            asked: traced.reached,
            saw: traced
                .saw
                .iter()
                .map(|sight| {
                    let known = !knowledge.lacks(origins.asked, &sight.what);
                    Saw {
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
        decided: knowledge == Knowledge::Whole
            && trace.value != Value::False
            && deciding.contains(&outline.id.as_str()),
        value: whole.as_ref().map_or(UNKNOWN, Value::word),
        error: whole.as_ref().and_then(error),
        in_scope: trace.in_scope(),
        told: if is_whole { Told::Verdict } else { Told::Parts },
        advice: None,
        parts: parts.collect(),
        source: outline.source.clone(),
        span: untraced::shown(&outline.source, outline.span.clone()),
    }
}

/// What a part comes to when some values are not known; `None` where that decides.
fn known(outline: &PolicyOutline, place: usize, values: &[Option<Value>]) -> Option<Value> {
    let part = outline.parts.get(place)?;
    match part.kind {
        PartKind::When | PartKind::All => all(outline, &part.children, values, &Value::False),
        PartKind::Any => all(outline, &part.children, values, &Value::True),
        PartKind::Unless | PartKind::Not => {
            match all(outline, &part.children, values, &Value::False)? {
                Value::True => Some(Value::False),
                Value::False => Some(Value::True),
                failed @ Value::Failed(_) => Some(failed),
            }
        }
        PartKind::If => {
            let [test, then, otherwise] = *part.children else {
                return None;
            };
            let [then, otherwise] = [then, otherwise].map(|place| known(outline, place, values));
            match known(outline, test, values) {
                Some(Value::True) => then,
                Some(Value::False) => otherwise,
                failed @ Some(Value::Failed(_)) => failed,
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
    values: &[Option<Value>],
    end: &Value,
) -> Option<Value> {
    let mut open = false;
    for place in places {
        match known(outline, *place, values) {
            None => open = true,
            Some(value) if value == *end => return Some(value),
            // Behind something open, this may never be asked.
            Some(Value::Failed(why)) if !open => return Some(Value::Failed(why)),
            Some(_) => {}
        }
    }
    (!open).then_some(match end {
        Value::True => Value::False,
        Value::False | Value::Failed(_) => Value::True,
    })
}

fn places(parts: &[Part], wanted: impl Fn(&Part) -> bool) -> Vec<usize> {
    let parts = parts.iter().enumerate().filter(|(_, part)| wanted(part));
    parts.map(|(place, _)| place).collect()
}

fn error(value: &Value) -> Option<String> {
    if let Value::Failed(why) = value {
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
