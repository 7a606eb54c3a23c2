//! From tests to what they have seen.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::load::Suite;
use super::super::recorder::{ListedItem, RecordedQueries, RecordedQuery, Recorder};
use super::super::test_runner::{TestRunner, on_gate_stack};
use super::{ConditionCoverage, Coverage, CoverageLevel, RULE, RuleCoverage};
use crate::gate;
use crate::loading;
use crate::policy::{
    ActionName, ConditionPart, Observer, PartKind, PartValue, PolicyEntry, PolicyId, PolicyOutline,
    PolicyTrace, Reason, RuleEffect, Visibility,
};

/// What the tests of each pack have seen, in the order of the packs. `None` if the gate that judges
/// has failed.
pub(in super::super) fn measure(
    suites: &[Suite],
    settings: &gate::Settings,
) -> Option<Vec<Coverage>> {
    on_gate_stack(|runtime| {
        let mut packs: Vec<(Option<PathBuf>, CoverageTally)> = Vec::new();
        for suite in suites {
            let place = packs.iter().position(|(pack, _)| *pack == suite.pack);
            let place = place.unwrap_or_else(|| {
                packs.push((suite.pack.clone(), CoverageTally::default()));
                packs.len() - 1
            });
            if let Some((_, tally)) = packs.get_mut(place) {
                tally.add(runtime, suite, settings);
            }
        }
        packs
            .into_iter()
            .map(|(pack, tally)| tally.report(pack.as_deref()))
            .collect()
    })
}

/// A policy or a condition, by its file and its place in it.
type RulePosition = (Arc<str>, usize);

/// What was seen so far.
#[derive(Debug, Default)]
struct CoverageTally {
    /// Of the pack, by place, so that they come in the order of files.
    rules: BTreeMap<RulePosition, Arc<PolicyOutline>>,
    seen: BTreeMap<RulePosition, CoverageLevel>,
    /// Reasons of Rego, by the places of their rules.
    others: BTreeSet<(Arc<str>, u32, PolicyId)>,
    decided: BTreeSet<PolicyId>,
    conditions: BTreeSet<(RulePosition, bool)>,
    asked: BTreeSet<ActionName>,
    called: BTreeSet<String>,
    named: BTreeSet<String>,
}

impl CoverageTally {
    fn add(&mut self, runtime: &tokio::runtime::Runtime, suite: &Suite, settings: &gate::Settings) {
        // Loaded anew: an observer goes with the policies that it hears of.
        let Ok(loaded) = loading::load(&suite.settings) else {
            return;
        };
        for outline in loaded.snapshot.outlines() {
            let own = !outline.origin.file.starts_with('<');
            if own {
                self.rules.insert(place(&outline, &outline.span), outline);
            }
        }
        self.others
            .extend(reasons_of_rego(loaded.snapshot.policies()));
        let labels = loaded.snapshot.labels();
        self.named.extend(labels.tools.keys().cloned());
        self.named
            .extend(suite.settings.allow.iter().flatten().cloned());

        let witness = Arc::new(Recorder::default());
        let observer: Arc<dyn Observer> = Arc::clone(&witness) as _;
        let policies = Arc::new(loaded.snapshot.observed_by(&observer));
        let witness = Some(&*witness);
        let exercise = TestRunner::new(runtime, suite, policies, settings, witness);
        for test in &suite.fixture.tests {
            exercise.run(test);
            self.heard(&witness.map(Recorder::take).unwrap_or_default());
        }
    }

    fn heard(&mut self, heard: &RecordedQueries) {
        for question in &heard.questions {
            self.question(question);
        }
        for look in &heard.looks {
            self.look(look);
        }
    }

    fn question(&mut self, question: &RecordedQuery) {
        self.asked.insert(question.asked.action);
        if question.asked.action == ActionName::CallTool {
            self.called.insert(question.asked.name.clone());
        }
        let decision = question.decision();
        let reasons = decision.reasons().iter();
        self.decided
            .extend(reasons.map(|reason| reason.policy.clone()));
        let effect = if decision.is_allow() {
            RuleEffect::Permit
        } else {
            RuleEffect::Forbid
        };
        for trace in question.traces.iter().flat_map(|trace| &trace.policies) {
            let decided = Self::decides(trace, effect, decision.reasons());
            self.policy(trace, decided);
            self.parts(trace);
        }
    }

    /// A policy on using an item has decided over its place in a list, where no argument and no
    /// circumstance could have changed what it came to. Where listing is a question of its own, the
    /// answer names those that decided.
    fn look(&mut self, look: &ListedItem) {
        let shown = match look.answer {
            Ok(Visibility::Shown) => RuleEffect::Permit,
            Ok(Visibility::Hidden) => RuleEffect::Forbid,
            // A question whose answer is that nothing permits.
            Ok(Visibility::Abstain) if look.using.is_none() => RuleEffect::Permit,
            Ok(Visibility::Abstain) | Err(_) => return,
        };
        self.asked.insert(look.action);
        let reasons = look.reasons.iter();
        self.decided
            .extend(reasons.map(|reason| reason.policy.clone()));
        for trace in look.listing.iter().flat_map(|trace| &trace.policies) {
            let forbids = shown == RuleEffect::Forbid && trace.outline.effect == shown;
            let decided = forbids || Self::decides(trace, shown, &look.reasons);
            self.policy(trace, decided);
            self.parts(trace);
        }
        for trace in look.using.iter().flat_map(|trace| &trace.policies) {
            let mut sights = trace.parts.iter().flat_map(|part| &part.saw);
            if sights.all(|sight| !sight.what.starts_with("context")) {
                self.policy(trace, trace.outline.effect == shown);
                self.parts(trace);
            }
        }
    }

    /// Whether a rule that holds is one of those that decided.
    fn decides(trace: &PolicyTrace, effect: RuleEffect, reasons: &[Reason]) -> bool {
        let outline = &trace.outline;
        let mut reasons = reasons.iter();
        outline.effect == effect && reasons.any(|reason| reason.policy == outline.id)
    }

    fn policy(&mut self, trace: &PolicyTrace, decided: bool) {
        let seen = match (&trace.value, decided) {
            (PartValue::True, true) => CoverageLevel::Decided,
            (PartValue::True, false) => CoverageLevel::Held,
            (PartValue::False | PartValue::Failed(_), _) => return,
        };
        let outline = &trace.outline;
        let known = self
            .seen
            .entry(place(outline, &outline.span))
            .or_insert(seen);
        *known = seen.max(*known);
    }

    fn parts(&mut self, trace: &PolicyTrace) {
        let asked = trace
            .parts()
            .filter(|(part, traced)| part.kind == PartKind::Condition && traced.reached);
        for (part, traced) in asked {
            let place = place(&trace.outline, &part.span);
            match traced.value {
                PartValue::True => self.conditions.insert((place, true)),
                PartValue::False => self.conditions.insert((place, false)),
                PartValue::Failed(_) => false,
            };
        }
    }

    fn report(self, pack: Option<&Path>) -> Coverage {
        let rules = self.rules.values().map(|outline| self.rule(outline));
        let others = self.others.iter().map(|other| self.other(other));
        let rules = rules.chain(others);
        let about: BTreeSet<ActionName> = self
            .rules
            .values()
            // What is about everything is tested by anything.
            .filter(|outline| outline.actions.len() < ActionName::ALL.len())
            .flat_map(|outline| outline.actions.iter().copied())
            .collect();
        let untested = about.difference(&self.asked).map(|action| action.as_str());
        let tools = self.named.difference(&self.called).cloned();
        Coverage::of(
            pack.map(loading::source_name),
            rules.collect(),
            untested.collect(),
            tools.collect(),
        )
    }

    fn rule(&self, outline: &PolicyOutline) -> RuleCoverage {
        let conditions = outline.parts.iter();
        let conditions = conditions.filter(|part| part.kind == PartKind::Condition);
        let seen = self.seen.get(&place(outline, &outline.span));
        RuleCoverage {
            id: outline.id.as_str().to_owned(),
            effect: outline.effect.word(),
            file: Arc::clone(&outline.origin.file),
            line: outline.origin.line,
            seen: seen.copied().unwrap_or(CoverageLevel::Never),
            conditions: conditions
                .map(|part| self.condition(outline, part))
                .collect(),
        }
    }

    fn other(&self, (file, line, id): &(Arc<str>, u32, PolicyId)) -> RuleCoverage {
        RuleCoverage {
            id: id.as_str().to_owned(),
            effect: RULE,
            file: Arc::clone(file),
            line: *line,
            seen: if self.decided.contains(id) {
                CoverageLevel::Decided
            } else {
                CoverageLevel::Never
            },
            conditions: Vec::new(),
        }
    }

    fn condition(&self, outline: &PolicyOutline, part: &ConditionPart) -> ConditionCoverage {
        let constant = part.is_constant(&outline.source);
        let seen = |value| {
            let place = || place(outline, &part.span);
            self.conditions.contains(&(place(), value))
                // Of a constant more cannot be seen than that it was asked.
                || (constant && self.conditions.contains(&(place(), !value)))
        };
        ConditionCoverage {
            text: outline.in_one_line(part),
            line: outline.line(part),
            seen_true: seen(true),
            seen_false: seen(false),
        }
    }
}

/// What a package gives as reasons. One that gives none decides under the place of its first file.
fn reasons_of_rego(
    policies: &[PolicyEntry],
) -> impl Iterator<Item = (Arc<str>, u32, PolicyId)> + use<'_> {
    let of_rego = policies.iter().filter(|policy| {
        let file = Path::new(&*policy.origin.file);
        file.extension().is_some_and(|it| it == "rego")
    });
    let (files, named): (Vec<_>, Vec<_>) =
        of_rego.partition(|policy| policy.id.as_str() == policy.origin.to_string());
    let first = files.into_iter().take(usize::from(named.is_empty()));
    named.into_iter().chain(first).map(|policy| {
        let origin = &policy.origin;
        (Arc::clone(&origin.file), origin.line, policy.id.clone())
    })
}

fn place(outline: &PolicyOutline, span: &Range<usize>) -> RulePosition {
    (Arc::clone(&outline.origin.file), span.start)
}
