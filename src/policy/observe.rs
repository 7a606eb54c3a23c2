//! An observer of each evaluation, in tests and explanations.
//!
//! An engine around each engine: what is judged, and how, does not change, and a gate that runs has
//! none of it.

use std::fmt;
use std::sync::Arc;

use super::action::ActionName;
use super::checked_policies::CheckedPolicies;
use super::decision::EngineName;
use super::decision::{EngineFault, Verdict};
use super::engine::{
    ListDependency, ListFacts, ListMode, RequiredDetectors, RuleEngine, Visibility,
};
use super::facts::{Facts, Resource};
use super::mutant::Mutant;
use super::partial::{PartialDecision, PartialRequest};
use super::trace::{PolicyOutline, Trace};

/// Hears of questions. Called on the thread that asks.
pub trait Observer: fmt::Debug + Send + Sync {
    fn judged(&self, judged: Evaluation<'_>);
    fn listed(&self, listed: ListEvaluation<'_>);
}

/// One question, and the answer of one engine.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The place of the engine among all; each question goes to all, from the first.
    pub engine: usize,
    /// As the rules saw them, with the labels of the host.
    pub facts: &'a Facts<'a>,
    pub verdict: &'a Result<Verdict, EngineFault>,
    /// `None` from an engine that cannot tell.
    pub trace: Option<Trace>,
}

/// One look at a list, and the answers of one engine.
#[derive(Debug)]
pub struct ListEvaluation<'a> {
    pub engine: usize,
    pub facts: &'a ListFacts<'a>,
    pub items: &'a [Resource<'a>],
    pub answers: &'a [Result<Visibility, EngineFault>],
    /// The engine, for what else is to be asked.
    pub rules: &'a dyn RuleEngine,
}

/// An engine with its observer.
#[derive(Debug)]
pub(super) struct ObservedEngine {
    engine: Arc<dyn RuleEngine>,
    place: usize,
    observer: Arc<dyn Observer>,
}

impl ObservedEngine {
    pub(super) fn new(
        engine: Arc<dyn RuleEngine>,
        place: usize,
        observer: &Arc<dyn Observer>,
    ) -> Self {
        Self {
            engine,
            place,
            observer: Arc::clone(observer),
        }
    }

    pub(super) fn shared(self) -> Arc<dyn RuleEngine> {
        Arc::new(self)
    }
}

impl RuleEngine for ObservedEngine {
    fn name(&self) -> EngineName {
        self.engine.name()
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let verdict = self.engine.judge(facts);
        self.observer.judged(Evaluation {
            engine: self.place,
            facts,
            verdict: &verdict,
            trace: self.engine.trace(facts),
        });
        verdict
    }

    fn suppose(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        self.engine.judge(facts)
    }

    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        let answers = self.engine.visible(facts, items);
        self.observer.listed(ListEvaluation {
            engine: self.place,
            facts,
            items,
            answers: &answers,
            rules: self.engine.as_ref(),
        });
        answers
    }

    fn shows(&self) -> ListMode {
        self.engine.shows()
    }

    fn outlook(&self, question: &PartialRequest<'_>) -> PartialDecision {
        self.engine.outlook(question)
    }

    fn checked(&self) -> CheckedPolicies {
        self.engine.checked()
    }

    fn looks_for(&self) -> RequiredDetectors {
        self.engine.looks_for()
    }

    fn lists_by(&self, list: ActionName) -> ListDependency {
        self.engine.lists_by(list)
    }

    fn trace(&self, facts: &Facts<'_>) -> Option<Trace> {
        self.engine.trace(facts)
    }

    fn mutants(&self) -> Vec<Mutant> {
        self.engine.mutants()
    }

    fn outlines(&self) -> Vec<Arc<PolicyOutline>> {
        self.engine.outlines()
    }
}
