//! Tries every change.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::fixture::Test;
use super::super::load::Suite;
use super::super::recorder::{RecordedQueries, RecordedQuery, Recorder};
use super::super::report::TestOutcome;
use super::super::test_runner::{TestRunner, on_gate_stack};
use super::suppressions::{MutantLocation, TestedMutant, line_of};
use super::{Mutation, NearbyTest, Survivor, suppressions};
use crate::gate;
use crate::loading;
use crate::policy::engines::is_rego_or_cel;
use crate::policy::{Mutant, MutantKind, Observer, PolicyId, PolicySnapshot, RuleEffect};

/// Tries every change of every policy of each pack. `None` if the gate that judges has failed.
pub(in super::super) fn mutate(
    suites: &[Suite],
    settings: &gate::Settings,
) -> Option<Vec<Mutation>> {
    let mut packs: Vec<Option<&Path>> = suites.iter().map(|suite| suite.pack.as_deref()).collect();
    packs.sort();
    packs.dedup();
    let of_pack = packs.into_iter().map(|pack| {
        let suites = suites.iter().filter(|suite| suite.pack.as_deref() == pack);
        MutationRun::new(suites.collect(), settings)?.mutation(pack)
    });
    of_pack.collect()
}

/// One pack while its changes are tried.
struct MutationRun<'s> {
    suites: Vec<&'s Suite>,
    settings: &'s gate::Settings,
    /// Of one suite: all have the same policies.
    policies: Arc<PolicySnapshot>,
    /// Which tests a policy is about, by place of the suite and of the test in it.
    about: HashMap<PolicyId, Vec<(usize, usize)>>,
}

/// What became of one change.
enum MutantOutcome {
    Noticed,
    Invalid,
    Survived,
}

impl<'s> MutationRun<'s> {
    fn new(suites: Vec<&'s Suite>, settings: &'s gate::Settings) -> Option<Self> {
        let policies = suites.first()?.policies.current();
        let about = on_gate_stack(|runtime| {
            let mut about: HashMap<PolicyId, Vec<(usize, usize)>> = HashMap::new();
            for (place, suite) in suites.iter().enumerate() {
                let Ok(loaded) = loading::load(&suite.settings) else {
                    continue;
                };
                let witness = Arc::new(Recorder::default());
                let observer: Arc<dyn Observer> = Arc::clone(&witness) as _;
                let policies = Arc::new(loaded.snapshot.observed_by(&observer));
                let heard = Some(&*witness);
                let exercise = TestRunner::new(runtime, suite, policies, settings, heard);
                for (number, test) in suite.fixture.tests.iter().enumerate() {
                    exercise.run(test);
                    for policy in concerned(witness.take()) {
                        about.entry(policy).or_default().push((place, number));
                    }
                }
            }
            about
        });
        Some(Self {
            suites,
            settings,
            policies,
            about: about?,
        })
    }

    fn mutation(&self, pack: Option<&Path>) -> Option<Mutation> {
        let mutants = self.policies.mutants();
        let mutants: Vec<&Mutant> = mutants
            .iter()
            // What the gate brings along is not the author's to test.
            .filter(|mutant| !mutant.rule.file.starts_with('<'))
            .collect();
        let fates = self.fates(&mutants)?;
        let count =
            |wanted: fn(&MutantOutcome) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
        let invalid = count(|fate| matches!(fate, MutantOutcome::Invalid));
        let valid = mutants
            .iter()
            .zip(&fates)
            .filter(|(_, fate)| !matches!(fate, MutantOutcome::Invalid));
        let tried = valid.map(|(mutant, fate)| {
            let survived = matches!(fate, MutantOutcome::Survived);
            TestedMutant {
                spot: MutantLocation::of(mutant),
                survivor: survived.then(|| self.survivor(mutant)),
            }
        });
        let excuses = suppressions::excuses(self.policies.sources());
        let sorted = suppressions::sort(&excuses, tried.collect());
        Some(Mutation {
            policies: pack.map(loading::source_name),
            tried: mutants.len() - invalid,
            noticed: count(|fate| matches!(fate, MutantOutcome::Noticed)),
            invalid,
            survivors: sorted.survivors,
            excused: sorted.excused,
            needless: sorted.needless,
            not_mutated: self.not_mutated(),
        })
    }

    fn not_mutated(&self) -> Vec<Arc<str>> {
        let names = self.policies.sources().iter().map(|source| &source.name);
        names.filter(|name| is_rego_or_cel(name)).cloned().collect()
    }

    /// In the order of the changes, found on as many threads as there are processors.
    fn fates(&self, mutants: &[&Mutant]) -> Option<Vec<MutantOutcome>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(usize, MutantOutcome)>> =
            Mutex::new(Vec::with_capacity(mutants.len()));
        let work = || {
            on_gate_stack(|runtime| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(mutant) = mutants.get(place) else {
                        break;
                    };
                    let fate = self.fate(runtime, mutant);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push((place, fate));
                }
            })
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let done = threads.into_iter().map(|thread| thread.join().ok()?);
            done.collect::<Option<Vec<()>>>()
        })?;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|(place, _)| *place);
        Some(found.into_iter().map(|(_, fate)| fate).collect())
    }

    fn fate(&self, runtime: &tokio::runtime::Runtime, mutant: &Mutant) -> MutantOutcome {
        let mut all: Vec<Arc<PolicySnapshot>> = Vec::new();
        for suite in &self.suites {
            let loaded = loading::load_changed(&suite.settings, |sources| {
                for source in sources.iter_mut().filter(|it| it.name == mutant.rule.file) {
                    source.text = mutant.apply(&source.text).into();
                }
            });
            match loaded {
                Ok(loaded) => all.push(Arc::new(loaded.snapshot)),
                Err(_) => return MutantOutcome::Invalid,
            }
        }
        let benches = self.suites.iter().zip(all).map(|(suite, policies)| {
            TestRunner::new(runtime, suite, policies, self.settings, None)
        });
        let benches: Vec<TestRunner<'_>> = benches.collect();
        let notices = |(suite, test): (usize, usize)| {
            let exercise = benches.get(suite);
            let test = self.test((suite, test));
            exercise
                .zip(test)
                .is_some_and(|(exercise, test)| exercise.run(test).outcome == TestOutcome::Failed)
        };
        // Those that the policy is about notice first, if any do.
        let near = self
            .about
            .get(&mutant.rule.policy)
            .into_iter()
            .flatten()
            .copied();
        let all = self.suites.iter().enumerate().flat_map(|(place, suite)| {
            (0..suite.fixture.tests.len()).map(move |number| (place, number))
        });
        if near.chain(all).any(notices) {
            MutantOutcome::Noticed
        } else {
            MutantOutcome::Survived
        }
    }

    fn test(&self, (suite, test): (usize, usize)) -> Option<&Test> {
        self.suites.get(suite)?.fixture.tests.get(test)
    }

    fn survivor(&self, mutant: &Mutant) -> Survivor {
        let rule = &mutant.rule;
        let text = &*rule.source;
        let changed = mutant.apply(text);
        // A policy begins with its annotations, which say less than its head.
        let gone = mutant.kind == MutantKind::Policy;
        let place = if gone { rule.head } else { mutant.span.start };
        let line = line_of(text, place);
        let of = |text: &str| {
            let line = text.lines().nth(line - 1).unwrap_or_default();
            line.trim().to_owned()
        };
        let head = format!("{} `{}`", rule.effect.word(), rule.policy);
        Survivor {
            policy: rule.policy.as_str().to_owned(),
            file: Arc::clone(&rule.file),
            line,
            kind: mutant.kind.word(),
            before: if gone { head } else { of(text) },
            after: (!gone).then(|| of(&changed)),
            missing: missing(mutant),
            reason: None,
            near: self.near(&rule.policy),
        }
    }

    fn near(&self, policy: &PolicyId) -> Option<NearbyTest> {
        let place = *self.about.get(policy)?.first()?;
        let test = self.test(place)?;
        Some(NearbyTest {
            file: self.suites.get(place.0)?.fixture.source.name().to_owned(),
            line: test.line,
            name: test.name.clone(),
        })
    }
}

/// The policies that are about what was asked, or, where that cannot be told, that decided.
fn concerned(heard: RecordedQueries) -> BTreeSet<PolicyId> {
    let reasons = heard.looks.iter().flat_map(|look| &look.reasons);
    let decided = heard.questions.iter().flat_map(RecordedQuery::reasons);
    let mut concerned: BTreeSet<PolicyId> = reasons
        .chain(decided)
        .map(|reason| reason.policy.clone())
        .collect();
    let traces = heard.into_traces();
    let about = traces.iter().filter(|trace| trace.in_scope());
    concerned.extend(about.map(|trace| trace.outline.id.clone()));
    concerned
}

/// What would make the difference.
fn missing(mutant: &Mutant) -> String {
    let (kept, lost) = match mutant.rule.effect {
        RuleEffect::Permit => ("allowed", "denied"),
        RuleEffect::Forbid => ("denied", "allowed"),
    };
    let id = &mutant.rule.policy;
    // What is asked the other way round may get a word more, and nothing that was there changes.
    let span = match mutant.kind {
        MutantKind::Condition | MutantKind::Negation => &mutant.part,
        MutantKind::Policy
        | MutantKind::Effect
        | MutantKind::Scope
        | MutantKind::Bound
        | MutantKind::Element
        | MutantKind::Pattern => &mutant.span,
    };
    let was = mutant.rule.source.get(span.clone()).unwrap_or_default();
    let was = was.split_whitespace().collect::<Vec<_>>().join(" ");
    match mutant.kind {
        MutantKind::Policy | MutantKind::Effect => {
            format!("a message that is {kept} by `{id}` and by nothing else")
        }
        MutantKind::Condition | MutantKind::Negation => format!(
            "a message that `{was}` alone makes the difference for, all else that `{id}` asks being \
             as it wants"
        ),
        MutantKind::Scope => {
            format!("a message that is {lost} because the head of `{id}` asks `{was}`")
        }
        MutantKind::Bound => {
            format!("a message with the very value of the bound `{was}`, and one with the next")
        }
        MutantKind::Element => format!("a message that only `{was}` is about"),
        MutantKind::Pattern => {
            "a text that the pattern only just matches, and one that it only just does not"
                .to_owned()
        }
    }
}
