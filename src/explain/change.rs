//! What would have to be otherwise for the other answer.
//!
//! Found by trying: each part is turned over by itself, and the policy summed up again. What the
//! turned part looks at may hang together with what others look at; a change here says what the
//! rules want, not that the world can be so.

use crate::policy::{
    AttributeRead, Decision, DenialCause, PartKind, PartValue, PolicyTrace, RuleEffect,
};
use crate::policy_tests::RecordedQuery;

use super::report::SuggestedChange;

/// The most that are told.
const MOST: usize = 3;

/// Characters of a part that are told whole.
const LONGEST: usize = 80;

/// One part that would have to be otherwise.
struct PartChange<'t> {
    policy: &'t PolicyTrace,
    place: usize,
    to: bool,
}

/// What would turn the answer to one question over, nearest first. `from` says where values come
/// from.
pub(super) fn changes(
    question: &RecordedQuery,
    from: &dyn Fn(&AttributeRead) -> String,
) -> Vec<SuggestedChange> {
    let decision = question.decision();
    let traces = question.traces.iter().flat_map(|trace| &trace.policies);
    let traces: Vec<&PolicyTrace> = traces.collect();
    // Those that cannot be traced count as well.
    let alone = decision.reasons().len() == 1;
    let of = |effect| {
        traces
            .iter()
            .copied()
            .filter(move |it| it.outline.effect == effect)
    };
    let holding = |effect| of(effect).filter(|it| it.value == PartValue::True);
    match &decision {
        Decision::Deny(denial) => match denial.cause {
            DenialCause::NotPermitted => permit(&of(RuleEffect::Permit).collect::<Vec<_>>(), from),
            DenialCause::Forbidden => {
                let forbids: Vec<_> = holding(RuleEffect::Forbid).collect();
                let permitted =
                    question.has_allow() || holding(RuleEffect::Permit).next().is_some();
                lift(&forbids, OtherPolicies { alone, permitted }, from)
            }
            DenialCause::Fault(_) => Vec::new(),
        },
        Decision::Allow(_) => {
            let permits = holding(RuleEffect::Permit).filter(|_| alone);
            let permits: Vec<_> = permits.collect();
            revoke(&permits, &of(RuleEffect::Forbid).collect::<Vec<_>>(), from)
        }
    }
}

/// Nothing permits: of the permits about such a thing, the parts that alone keep one from holding;
/// or else what stands first in the way of those that come nearest. Another principal is told before
/// another resource, for who asks can be given a role.
fn permit(
    permits: &[&PolicyTrace],
    from: &dyn Fn(&AttributeRead) -> String,
) -> Vec<SuggestedChange> {
    let enough = |turn: PartChange<'_>| {
        let id = &turn.policy.outline.id;
        let text = format!("it would be permitted by `{id}` if {}", turn.so(from));
        turn.change(true, text)
    };
    let turns = || {
        permits
            .iter()
            .flat_map(|policy| turns(policy, &PartValue::True))
    };
    let mut found: Vec<SuggestedChange> =
        turns().filter(PartChange::in_scope).map(enough).collect();
    if found.is_empty() {
        found = nearest(permits.iter().copied().filter(|it| it.in_scope()), from);
    }
    found.extend(turns().filter(PartChange::of_principal).map(enough));
    if found.is_empty() {
        found = turns().map(enough).collect();
    }
    if found.is_empty() {
        found = nearest(permits.iter().copied(), from);
    }
    found.truncate(MOST);
    found
}

/// What stands first in the way of the permits that come farthest.
fn nearest<'t>(
    permits: impl Iterator<Item = &'t PolicyTrace>,
    from: &dyn Fn(&AttributeRead) -> String,
) -> Vec<SuggestedChange> {
    let near = permits.filter_map(first_in_the_way);
    let near: Vec<_> = near.filter(|turn| !turn.is_of_action()).collect();
    let farthest = near.iter().map(|turn| passed(turn.policy)).max();
    let near = near
        .iter()
        .filter(|turn| Some(passed(turn.policy)) == farthest);
    near.map(|turn| {
        let id = &turn.policy.outline.id;
        let text = format!("`{id}` comes nearest, if first of all {}", turn.so(from));
        turn.change(false, text)
    })
    .collect()
}

/// What decides beside the policy that is looked at.
#[derive(Debug, Clone, Copy)]
struct OtherPolicies {
    /// No other forbids.
    alone: bool,
    permitted: bool,
}

/// Something forbids.
fn lift(
    forbids: &[&PolicyTrace],
    rest: OtherPolicies,
    from: &dyn Fn(&AttributeRead) -> String,
) -> Vec<SuggestedChange> {
    let OtherPolicies { alone, permitted } = rest;
    let mut found = Vec::new();
    for policy in forbids {
        let id = &policy.outline.id;
        let turns: Vec<_> = turns(policy, &PartValue::False).collect();
        let in_scope = |turn: &PartChange<'_>| turn.kind() == Some(PartKind::Scope);
        let inside = turns.iter().any(|turn| !in_scope(turn));
        for turn in turns.iter().filter(|turn| !inside || !in_scope(turn)) {
            let so = turn.so(from);
            let enough = alone && permitted;
            let and = match (alone, permitted) {
                (true, true) => "",
                (false, _) => ", and the other forbids as well",
                (true, false) => ", and still no policy permits it",
            };
            let text = format!("`{id}` would not forbid it if {so}{and}");
            found.push(turn.change(enough, text));
        }
    }
    found.truncate(MOST);
    found
}

/// It is allowed: what would make it denied.
fn revoke(
    permits: &[&PolicyTrace],
    forbids: &[&PolicyTrace],
    from: &dyn Fn(&AttributeRead) -> String,
) -> Vec<SuggestedChange> {
    let mut found = Vec::new();
    if let [only] = permits {
        let id = &only.outline.id;
        for turn in
            turns(only, &PartValue::False).filter(|turn| turn.kind() == Some(PartKind::Condition))
        {
            let text = format!("`{id}` would not permit it if {}", turn.so(from));
            found.push(turn.change(true, text));
        }
    }
    for policy in forbids.iter().filter(|policy| policy.in_scope()) {
        let id = &policy.outline.id;
        for turn in turns(policy, &PartValue::True) {
            let text = format!("it would be forbidden by `{id}` if {}", turn.so(from));
            found.push(turn.change(true, text));
        }
    }
    found.truncate(MOST);
    found
}

/// The parts that alone would bring a policy to a value.
fn turns<'t>(
    policy: &'t PolicyTrace,
    wanted: &'t PartValue,
) -> impl Iterator<Item = PartChange<'t>> {
    let values: Vec<PartValue> = policy.parts.iter().map(|part| part.value.clone()).collect();
    let leaves = policy.parts().enumerate();
    leaves.filter_map(move |(place, (part, trace))| {
        let to = match trace.value {
            PartValue::True => false,
            PartValue::False => true,
            PartValue::Failed(_) => return None,
        };
        let mut values = values.clone();
        *values.get_mut(place)? = PartValue::of(to);
        // A head that asks nothing cannot be otherwise, and another action would be another message.
        let asks_nothing = part.kind == PartKind::Scope && trace.saw.is_empty();
        let fixed = asks_nothing || trace.saw.iter().any(is_action);
        let asks = part.is_leaf() && !fixed;
        let turned = asks && policy.outline.value(&values) == *wanted;
        turned.then_some(PartChange { policy, place, to })
    })
}

/// The question itself.
fn is_action(sight: &AttributeRead) -> bool {
    sight.what == "action"
}

/// The first part that was asked and had the wrong answer.
fn first_in_the_way(policy: &PolicyTrace) -> Option<PartChange<'_>> {
    if policy.value != PartValue::False {
        return None;
    }
    let outline = &policy.outline;
    // The top-level part that is false, and in it the first leaf that is not as it should be.
    let mut place = policy.parts().position(|(part, trace)| {
        part.parent.is_none() && trace.reached && trace.value == PartValue::False
    })?;
    let mut to = true;
    loop {
        let part = outline.parts.get(place)?;
        if matches!(part.kind, PartKind::Unless | PartKind::Not) {
            to = !to;
        }
        let wrong = |child: &&usize| {
            let trace = policy.parts.get(**child);
            trace.is_some_and(|it| it.reached && it.value == PartValue::of(!to))
        };
        // Which way an `if` goes is neither right nor wrong.
        let settle = usize::from(part.kind == PartKind::If);
        match part.children.iter().skip(settle).find(wrong) {
            Some(child) => place = *child,
            None if part.is_leaf() => return Some(PartChange { policy, place, to }),
            None => return None,
        }
    }
}

/// How many parts of a policy were asked and did not end it.
fn passed(policy: &PolicyTrace) -> usize {
    let passed = policy
        .parts()
        .filter(|(part, trace)| part.is_leaf() && trace.reached && trace.value == PartValue::True);
    passed.count()
}

impl PartChange<'_> {
    fn kind(&self) -> Option<PartKind> {
        self.policy
            .outline
            .parts
            .get(self.place)
            .map(|part| part.kind)
    }

    fn in_scope(&self) -> bool {
        self.kind() == Some(PartKind::Condition)
    }

    fn is_of_action(&self) -> bool {
        let trace = self.policy.parts.get(self.place);
        trace.is_some_and(|trace| trace.saw.iter().any(is_action))
    }

    /// The principal is the first part of every policy.
    fn of_principal(&self) -> bool {
        self.place == 0
    }

    /// The part on one line, its middle left out where it is long.
    fn shown(&self) -> String {
        let text: Vec<char> = self.text().chars().collect();
        match text.as_slice() {
            [begin @ .., _] if begin.len() < LONGEST => text.iter().collect(),
            whole => {
                let (begin, rest) = whole.split_at(LONGEST / 2);
                let end = rest.iter().rev().take(LONGEST / 2).rev();
                begin.iter().chain(&[' ', '…', ' ']).chain(end).collect()
            }
        }
    }

    fn text(&self) -> String {
        let part = self.policy.outline.parts.get(self.place);
        part.map_or_else(String::new, |part| self.policy.outline.in_one_line(part))
    }

    /// What would have to be so, and what is.
    fn so(&self, from: &dyn Fn(&AttributeRead) -> String) -> String {
        let wanted = format!("`{}` were {}", self.shown(), self.to);
        let saw = self
            .policy
            .parts
            .get(self.place)
            .map(|part| part.saw.as_slice());
        let saw = saw.unwrap_or_default().iter().map(|sight| {
            let value = match &sight.value {
                Some(value) => format!("is {value}"),
                None => "is missing".to_owned(),
            };
            format!("`{}` {value} ({})", sight.what, from(sight))
        });
        let saw: Vec<String> = saw.collect();
        if saw.is_empty() {
            wanted
        } else {
            format!("{wanted}; {}", saw.join(", "))
        }
    }

    fn change(&self, enough: bool, text: String) -> SuggestedChange {
        let outline = &self.policy.outline;
        let part = outline.parts.get(self.place);
        SuggestedChange {
            policy: outline.id.as_str().to_owned(),
            part: self.text(),
            line: part.map_or(1, |part| outline.line(part)),
            to: self.to,
            enough,
            text,
        }
    }
}
