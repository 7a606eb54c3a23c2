//! All rules in force, frozen.

mod views;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::action::{Action, ActionName};
use super::checked_policies::CheckedPolicies;
use super::combine::combine;
use super::decision::{
    Decision, Denial, DenialCause, EngineFault, FaultKind, PolicyId, PolicyOrigin, Verdict,
};
use super::engine::{ListDependency, ListFacts, RequiredDetectors, RuleEngine, Visibility};
use super::facts::{Facts, Principal, Resource, StandingConsent};
use super::labels::{LabelledItem, Labels};
use super::lock::{self, Lock};
use super::message_facts::Targets;
use super::mutant::Mutant;
use super::observe::{ObservedEngine, Observer};
use super::partial::{PartialDecision, PartialRequest};
use super::sampling::{self, Samples};
use super::server_key::ServerKey;
use super::source::{PolicyEntry, PolicySource};
use super::trace::{PolicyOutline, Trace};

/// One revision of the policy. A message is judged, and its reply too, by one snapshot.
#[derive(Debug)]
pub struct PolicySnapshot {
    revision: Revision,
    engines: Vec<Arc<dyn RuleEngine>>,
    sources: Arc<[PolicySource]>,
    policies: Arc<[PolicyEntry]>,
    labels: Labels,
    lock: Arc<Lock>,
    looks_for: RequiredDetectors,
    /// Whether a manifest says that its files are all there.
    has_manifest: bool,
    samples: Samples,
    /// What may come after it, asked beside it and never instead.
    shadow: Option<Box<PolicySnapshot>>,
    /// Settings that came into force with it. The snapshot does not know their type; the gate does.
    terms: Option<Arc<dyn Any + Send + Sync>>,
}

/// The SHA-256 digest over the names and texts of all sources, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Revision(Arc<str>);

/// Which items of a list may be shown, and what went wrong while finding out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// One for each item, in order.
    pub shown: Vec<bool>,
    /// What hid an item because an engine could not tell.
    pub faults: Vec<EngineFault>,
}

impl PolicySnapshot {
    pub fn new(
        engines: Vec<Box<dyn RuleEngine>>,
        sources: Vec<PolicySource>,
        policies: Vec<PolicyEntry>,
    ) -> Self {
        let looks = engines.iter().map(|engine| engine.looks_for());
        Self {
            looks_for: looks.fold(RequiredDetectors::NOTHING, RequiredDetectors::and),
            revision: Revision::of(&sources, &[]),
            engines: engines.into_iter().map(Arc::from).collect(),
            sources: sources.into(),
            policies: policies.into_iter().chain(sampling::entries()).collect(),
            labels: Labels::default(),
            lock: Arc::default(),
            has_manifest: false,
            samples: Samples::OnTerms,
            shadow: None,
            terms: None,
        }
    }

    /// With a revision that does not tell where the directories of the policies lie: equal policies
    /// have equal revisions, in whatever place.
    #[must_use]
    pub fn in_directories(mut self, directories: &[(Option<&ServerKey>, &Path)]) -> Self {
        self.revision = Revision::of(&self.sources, directories);
        self
    }

    /// With what the host says of agents and tools. What it was read from must be among the sources.
    #[must_use]
    pub fn with_labels(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }

    /// With the definitions of tools that the host has approved. What they were read from must be
    /// among the sources.
    #[must_use]
    pub fn with_lock(mut self, lock: Arc<Lock>) -> Self {
        if !lock.is_empty() {
            let policies = self.policies.iter().cloned();
            self.policies = policies.chain([lock::entry()]).collect();
        }
        self.lock = lock;
        self
    }

    /// With samples decided by engines alone.
    #[cfg(test)]
    #[must_use]
    pub fn without_sampling_terms(mut self) -> Self {
        self.samples = Samples::ByEngines;
        self
    }

    /// With the word of a manifest that its files are all there.
    #[must_use]
    pub fn with_manifest(mut self) -> Self {
        self.has_manifest = true;
        self
    }

    pub fn has_manifest(&self) -> bool {
        self.has_manifest
    }

    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// With policies that are asked as well, so that what they would change can be told.
    #[must_use]
    pub fn with_shadow(mut self, shadow: Self) -> Self {
        self.shadow = Some(Box::new(shadow));
        self
    }

    pub fn shadow(&self) -> Option<&Self> {
        self.shadow.as_deref()
    }

    /// With what is in force as long as these policies are, so that a message that holds the one holds
    /// the other. The shadow policy has the same.
    #[must_use]
    pub fn with_terms<T: Any + Send + Sync>(self, terms: Arc<T>) -> Self {
        self.beside(Some(&(terms as Arc<dyn Any + Send + Sync>)))
    }

    /// With those that another one was in force with.
    #[must_use]
    pub fn with_terms_of(self, other: &Self) -> Self {
        self.beside(other.terms.as_ref())
    }

    fn beside(mut self, terms: Option<&Arc<dyn Any + Send + Sync>>) -> Self {
        self.terms = terms.cloned();
        self.shadow = self.shadow.map(|shadow| Box::new(shadow.beside(terms)));
        self
    }

    /// What came into force with it, if that is of this type.
    pub fn terms<T: Any>(&self) -> Option<&T> {
        self.terms.as_deref()?.downcast_ref()
    }

    /// What must be looked for in a message before it is judged, by the shadow policy as well.
    pub fn looks_for(&self) -> RequiredDetectors {
        let shadow = self.shadow().map(Self::looks_for);
        self.looks_for
            .and(shadow.unwrap_or(RequiredDetectors::NOTHING))
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Whether some root has variables, here or in the shadow policy.
    pub fn has_roots_of_each(&self) -> bool {
        let here = self.labels.roots.of_each().next().is_some();
        here || self.shadow().is_some_and(Self::has_roots_of_each)
    }

    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    pub fn sources(&self) -> &[PolicySource] {
        &self.sources
    }

    pub fn policies(&self) -> &[PolicyEntry] {
        &self.policies
    }

    /// An engine that panics has a fault like any other.
    pub fn judge(&self, facts: &Facts<'_>) -> Decision {
        // Before any engine: what one of them could not read, another might permit.
        if let Some(reason) = self.lock.refuses(facts) {
            return Decision::Deny(Denial {
                cause: DenialCause::Forbidden,
                reasons: vec![reason],
            });
        }
        if self.labels.is_empty() {
            return self.decide(facts);
        }
        let labelled = self.labels.on(facts);
        self.decide(&labelled.facts(facts))
    }

    /// The approval without which a person would be asked about a sample.
    pub fn standing_consent(&self, facts: &Facts<'_>) -> Option<StandingConsent> {
        let is_needed = matches!(facts.action, Action::Sample { .. }) && !facts.env.consent.granted;
        is_needed.then(|| self.labels.on(facts).standing())?
    }

    /// What a call reaches for, as far as labels tell.
    pub fn touched(&self, facts: &Facts<'_>) -> Option<Targets> {
        self.labels.on(facts).touched()
    }

    /// Whether what a call reaches for lies outside of all roots, and would be permitted in one of them: of
    /// the first ones.
    pub fn permits_inside(&self, facts: &Facts<'_>) -> bool {
        if self.labels.is_empty() || self.lock.refuses(facts).is_some() {
            return false;
        }
        let mut labelled = self.labels.on(facts);
        let places = self.labels.in_place_of(labelled.targets());
        places.into_iter().any(|inside| {
            labelled.reach(inside);
            let inside = labelled.facts(facts);
            let decision = self.decide_by(&inside, |engine| engine.suppose(&inside));
            matches!(decision, Decision::Allow(_))
        })
    }

    /// What every part of every rule comes to, one trace for each engine that can tell. The facts
    /// are labelled as [`PolicySnapshot::judge`] labels them.
    pub fn trace(&self, facts: &Facts<'_>) -> Vec<Trace> {
        let trace = |facts: &Facts<'_>| {
            let traces = self.engines.iter();
            traces.filter_map(|engine| engine.trace(facts)).collect()
        };
        if self.labels.is_empty() {
            return trace(facts);
        }
        let labelled = self.labels.on(facts);
        trace(&labelled.facts(facts))
    }

    /// The shapes of all rules that can be traced.
    pub fn outlines(&self) -> Vec<Arc<PolicyOutline>> {
        let engines = self.engines.iter();
        engines.flat_map(|engine| engine.outlines()).collect()
    }

    /// Rules that are one step away from those in force.
    pub fn mutants(&self) -> Vec<Mutant> {
        let engines = self.engines.iter();
        engines.flat_map(|engine| engine.mutants()).collect()
    }

    /// The same rules, with an observer of each evaluation.
    #[must_use]
    pub fn observed_by(mut self, observer: &Arc<dyn Observer>) -> Self {
        let engines = self.engines.into_iter().enumerate();
        self.engines = engines
            .map(|(place, engine)| ObservedEngine::new(engine, place, observer).shared())
            .collect();
        self
    }

    fn decide(&self, facts: &Facts<'_>) -> Decision {
        self.decide_by(facts, |engine| engine.judge(facts))
    }

    fn decide_by(
        &self,
        facts: &Facts<'_>,
        ask: impl Fn(&dyn RuleEngine) -> Result<Verdict, EngineFault>,
    ) -> Decision {
        let engines = self.engines.iter();
        let judged = engines.map(|engine| {
            let engine = engine.as_ref();
            guarded(engine, || ask(engine)).unwrap_or_else(Err)
        });
        let decision = combine(judged);
        self.samples.judge(decision, facts)
    }

    /// What can be said of a message of which only a part is known.
    pub fn outlook(&self, question: &PartialRequest<'_>) -> PartialDecision {
        let mut question = question.clone();
        let (mut agent, mut item) = (None, None);
        if !self.labels.is_empty() {
            agent = self.labels.described(question.principal);
            item = self.labels.item(question.resource);
        }
        if let Some(agent) = &agent {
            question.principal = Principal::Agent(agent);
        }
        if let Some(item) = &item {
            question.resource = item.resource();
        }
        self.outlook_by_engines(&question)
    }

    /// The same of a message whose action is known too, and labelled as [`PolicySnapshot::judge`] labels it.
    /// The environment of `facts` is not looked at.
    pub fn outlook_of(&self, facts: &Facts<'_>, question: &PartialRequest<'_>) -> PartialDecision {
        if self.lock.refuses(facts).is_some() {
            return PartialDecision::DENIED;
        }
        let labelled = (!self.labels.is_empty()).then(|| self.labels.on(facts));
        let labelled = labelled.as_ref().map(|labelled| labelled.facts(facts));
        let facts = labelled.as_ref().unwrap_or(facts);
        let question = PartialRequest {
            principal: facts.principal,
            resource: facts.resource,
            message: Some(&facts.action),
            ..question.clone()
        };
        self.outlook_by_engines(&question)
    }

    fn outlook_by_engines(&self, question: &PartialRequest<'_>) -> PartialDecision {
        let beside = self.samples.outlook(question.action);
        let engines = self.engines.iter();
        engines
            .map(|engine| {
                let outlook = guarded(engine.as_ref(), || engine.outlook(question));
                outlook.unwrap_or(PartialDecision::OPEN)
            })
            .fold(beside, PartialDecision::and)
    }

    /// For each item of a list, whether to show it. See [`PolicySnapshot::listing`] for the faults.
    pub fn visible(&self, facts: &ListFacts<'_>, items: &[Resource<'_>]) -> Vec<bool> {
        self.listing(facts, items).shown
    }

    /// An item is shown when some engine could permit a use of it and none hides it. A fault hides.
    pub fn listing(&self, facts: &ListFacts<'_>, items: &[Resource<'_>]) -> Listing {
        if self.labels.is_empty() {
            return self.shown(facts, items);
        }
        let agent = self.labels.described(facts.principal);
        let mut facts = facts.clone();
        if let Some(agent) = &agent {
            facts.principal = Principal::Agent(agent);
        }
        let labelled: Vec<_> = items.iter().map(|item| self.labels.item(*item)).collect();
        let pairs = items.iter().zip(&labelled);
        let items: Vec<Resource<'_>> = pairs
            .map(|(item, labelled)| labelled.as_ref().map_or(*item, LabelledItem::resource))
            .collect();
        self.shown(&facts, &items)
    }

    /// How long what [`visible`](Self::visible) says of any list may be kept.
    pub fn lists_by(&self) -> ListDependency {
        let all = ListDependency::LISTS
            .into_iter()
            .map(|list| self.list_by(list));
        all.max().unwrap_or(ListDependency::Names)
    }

    /// The same of one list, by the action that shows it.
    pub fn list_by(&self, list: ActionName) -> ListDependency {
        let all = self.engines.iter().map(|engine| engine.lists_by(list));
        all.max().unwrap_or(ListDependency::Names)
    }

    /// What was checked when this was compiled. Engines check each its own kind of texts.
    pub fn checked(&self) -> Vec<CheckedPolicies> {
        self.engines.iter().map(|engine| engine.checked()).collect()
    }

    fn shown(&self, facts: &ListFacts<'_>, items: &[Resource<'_>]) -> Listing {
        let mut hidden = vec![false; items.len()];
        let mut wanted = vec![false; items.len()];
        let mut faults = Vec::new();
        for engine in &self.engines {
            // An engine that answers too little must not show what it did not answer for.
            let missing = std::iter::repeat_with(|| Ok(Visibility::Hidden));
            let answers = guarded(engine.as_ref(), || engine.visible(facts, items))
                .unwrap_or_else(|fault| vec![Err(fault); items.len()]);
            let answers = answers.into_iter().chain(missing);
            for ((hidden, wanted), answer) in hidden.iter_mut().zip(&mut wanted).zip(answers) {
                match answer {
                    Ok(Visibility::Shown) => *wanted = true,
                    Ok(Visibility::Hidden) => *hidden = true,
                    Ok(Visibility::Abstain) => {}
                    Err(fault) => {
                        *hidden = true;
                        faults.push(fault);
                    }
                }
            }
        }
        let shown = hidden
            .into_iter()
            .zip(wanted)
            .map(|(hidden, wanted)| wanted && !hidden);
        Listing {
            shown: shown.collect(),
            faults,
        }
    }

    /// Where a policy is written, and its text.
    pub fn policy_source(&self, id: &PolicyId) -> Option<(&PolicyOrigin, &str)> {
        let entry = self.policies.iter().find(|entry| entry.id == *id)?;
        Some((&entry.origin, &entry.text))
    }
}

impl Revision {
    /// Each name and text is preceded by its length, so that moving bytes from one file to another
    /// gives another revision.
    fn of(sources: &[PolicySource], directories: &[(Option<&ServerKey>, &Path)]) -> Self {
        let mut digest = Sha256::new();
        let mut add = |part: &str| {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        };
        for source in sources {
            let server = source.server.as_ref();
            let mut all = directories.iter();
            let directory = all.find(|(of, _)| *of == server);
            let name = Path::new(&*source.name);
            let inside = directory
                .and_then(|(_, path)| name.strip_prefix(&*path.to_string_lossy()).ok())
                .unwrap_or(name);
            let name = inside.to_string_lossy().replace('\\', "/");
            let name = name.trim_start_matches('/').to_owned();
            // No other name begins with a slash.
            add(&server.map_or_else(|| name.clone(), |server| format!("/{server}/{name}")));
            add(&source.text);
        }
        let mut hex = String::with_capacity(64);
        for byte in digest.finalize() {
            hex.extend(
                [byte >> 4, byte & 15]
                    .into_iter()
                    .filter_map(|nibble| char::from_digit(u32::from(nibble), 16)),
            );
        }
        Self(hex.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Engines keep no state, so that nothing is left half done by one that panics.
fn guarded<T>(engine: &dyn RuleEngine, work: impl FnOnce() -> T) -> Result<T, EngineFault> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| EngineFault {
        engine: engine.name(),
        kind: FaultKind::Panic,
        policy: None,
        problem: "the engine panicked".to_owned(),
    })
}

#[cfg(test)]
mod tests;
