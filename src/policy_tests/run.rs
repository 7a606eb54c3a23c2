//! From paths to a report.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::bench::Bench;
use super::coverage::{self, WantedCoverage};
use super::errors::{FixtureErrors, FixtureProblem};
use super::find::{self, FixtureFile};
use super::fixture::{Fixture, Test};
use super::gate_file::{ConfigLoader, ConfiguredPolicies};
use super::load::{self, Problems, Suite};
use super::mutate::{self, Mutants, Mutation};
use super::report::{NotRun, Report, RunOutcome, SuiteReport, TestReport};
use super::survey;
use super::test_runner::{STACK_BYTES, report, timed_runtime};
use crate::gate;
use crate::policy::PolicyErrors;

/// What is to be tested, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Packs, directories of packs or of fixtures, fixtures. Without any: the tests of the
    /// configured policies, or whatever packs the current directory holds.
    pub paths: Vec<PathBuf>,
    /// Only tests whose name, suite, agent or cell contains this text.
    pub filter: Option<String>,
    /// Whether coverage is reported.
    pub coverage: WantedCoverage,
    /// Whether the tests are tested, too.
    pub mutants: Mutants,
    /// The limits of the gate that judges.
    pub gate: gate::Settings,
    /// Policies to test in place of those beside each fixture.
    pub configured: Option<ConfiguredPolicies>,
    /// What a configuration that a fixture names comes to.
    pub reads: ConfigLoader,
}

/// The progress of a run.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicUsize,
    of: AtomicUsize,
}

/// More threads than this have never made a run shorter.
const MOST_THREADS: usize = 16;

/// With fewer tests each, threads cost more than they bring.
const LEAST_TESTS: usize = 32;

/// Runs the tests. Reads files and opens nothing else.
///
/// # Errors
/// Everything that keeps the tests from running: then none has run.
pub fn run(settings: &Settings) -> Result<Report, NotRun> {
    run_telling(settings, &Progress::default())
}

/// The same, with an observer of the progress.
///
/// # Errors
/// As [`run`].
pub fn run_telling(settings: &Settings, progress: &Progress) -> Result<Report, NotRun> {
    let mut suites = load::load(
        &settings.paths,
        settings.configured.as_ref(),
        settings.reads,
    )?;
    no_pack_is_untested(&suites, settings)?;
    let left_out = match &settings.filter {
        Some(filter) => keep(&mut suites, filter)?,
        None => 0,
    };
    match judge(&suites, &settings.gate, progress) {
        Some(judged) => {
            let mut report = Report::new(judged, left_out);
            add_coverage(&mut report, &suites, settings).ok_or_else(failed)?;
            add_mutation(&mut report, &suites, settings).ok_or_else(failed)?;
            Ok(report)
        }
        None => Err(failed()),
    }
}

/// Under a least coverage a pack without tests is an error: nothing else would tell that its tests were lost.
fn no_pack_is_untested(suites: &[Suite], settings: &Settings) -> Result<(), Problems> {
    let here = [PathBuf::from(".")];
    let paths = match (&*settings.paths, &settings.configured, settings.coverage) {
        ([], None, WantedCoverage::AtLeast(1..)) => &here[..],
        (paths, _, WantedCoverage::AtLeast(1..)) => paths,
        _ => return Ok(()),
    };
    let loaded: Vec<&Path> = suites.iter().filter_map(|it| it.pack.as_deref()).collect();
    let packs = survey::untested(paths, &loaded);
    if packs.is_empty() {
        return Ok(());
    }
    let untested = |pack: &PathBuf| {
        let problem = "it has policies, and no test loads them";
        FixtureProblem::about(pack, "test::nothing_found", problem).with_help(
            "fixtures (`*.toml`) of a pack are below `tests/` in its directory; `--min-coverage` asks for some",
        )
    };
    Err(Problems {
        fixtures: packs.iter().map(untested).collect(),
        policies: Vec::new(),
    })
}

fn failed() -> NotRun {
    not_run("test::internal", "the gate that judges has failed", "")
}

/// Adds what the tests have seen of the policies, if that is wanted. `None` if the gate that
/// judges has failed.
fn add_coverage(report: &mut Report, suites: &[Suite], settings: &Settings) -> Option<()> {
    let least = match settings.coverage {
        WantedCoverage::Untold => return Some(()),
        WantedCoverage::Told => 0,
        WantedCoverage::AtLeast(percent) => usize::from(percent),
    };
    report.least = least;
    report.coverage = coverage::measure(suites, &settings.gate)?;
    let too_low = report.coverage.iter().any(|pack| pack.percent < least);
    if report.outcome == RunOutcome::Passed && too_low {
        report.outcome = RunOutcome::CoverageTooLow;
    }
    Some(())
}

/// Adds which changes of the policies the tests notice, if that is wanted. Tests that fail
/// anyway notice nothing. `None` if the gate that judges has failed.
fn add_mutation(report: &mut Report, suites: &[Suite], settings: &Settings) -> Option<()> {
    if settings.mutants == Mutants::Untried {
        return Some(());
    }
    if report.outcome == RunOutcome::Failed {
        report.untried = true;
        return Some(());
    }
    report.mutation = mutate::mutate(suites, &settings.gate)?;
    let survived = |pack: &Mutation| !pack.is_complete();
    if report.outcome == RunOutcome::Passed && report.mutation.iter().any(survived) {
        report.outcome = RunOutcome::MutantsSurvived;
    }
    Some(())
}

/// Everything below which a result depends on: what was named, and the policies of each fixture.
pub fn watched(settings: &Settings) -> Vec<PathBuf> {
    let mut paths = settings.paths.clone();
    if let Some(configured) = &settings.configured {
        paths.extend(configured.policies.dir.clone());
    }
    let found = match (paths.as_slice(), &settings.configured) {
        ([], None) => find::find_packs(Path::new(".")),
        _ => find::find(&settings.paths),
    };
    // The run reports missing paths.
    for FixtureFile { fixture, pack } in found.unwrap_or_default() {
        paths.push(fixture);
        paths.extend(pack);
    }
    paths.sort();
    paths.dedup();
    paths
}

impl Progress {
    /// How many tests have been judged, of how many.
    pub fn seen(&self) -> (usize, usize) {
        (
            self.done.load(Ordering::Relaxed),
            self.of.load(Ordering::Relaxed),
        )
    }
}

/// Leaves what the filter names; answers how many tests it left out.
fn keep(suites: &mut Vec<Suite>, filter: &str) -> Result<usize, NotRun> {
    let count = |suites: &[Suite]| suites.iter().map(|suite| suite.fixture.tests.len()).sum();
    let all: usize = count(suites);
    for suite in suites.iter_mut() {
        let Fixture { suite, tests, .. } = &mut suite.fixture;
        if suite.contains(filter) {
            continue;
        }
        tests.retain(|test| {
            let cell = test.cell.as_ref();
            test.name.contains(filter)
                || test.agent.id.contains(filter)
                || cell.is_some_and(|cell| cell.contains(filter))
        });
    }
    suites.retain(|suite| !suite.fixture.tests.is_empty());
    let kept: usize = count(suites);
    if kept == 0 {
        let message = format!("no suite, test or agent has `{filter}` in its name");
        let help = "the filter is compared letter by letter with the names of suites, tests, agents \
                    and cells of a matrix";
        return Err(not_run("test::nothing_found", &message, help));
    }
    Ok(all - kept)
}

/// Judges every test, on as many threads as help; the reports are in the order of the files
/// whichever was done first. `None` if a thread could not be had, or failed.
fn judge(
    suites: &[Suite],
    settings: &gate::Settings,
    progress: &Progress,
) -> Option<Vec<SuiteReport>> {
    let benches = suites.iter().map(|suite| Bench::new(suite, settings));
    let benches: Vec<Bench<'_>> = benches.collect();
    let tests = suites.iter().zip(&benches);
    let tests: Vec<(&Bench<'_>, &Test)> = tests
        .flat_map(|(suite, bench)| suite.fixture.tests.iter().map(move |test| (bench, test)))
        .collect();
    progress.of.store(tests.len(), Ordering::Relaxed);
    let next = AtomicUsize::new(0);
    let mut reports = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads(tests.len()))
            .map(|_| {
                std::thread::Builder::new()
                    .name("gate".to_owned())
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, || work(&tests, &next, &progress.done))
            })
            .collect();
        let mut reports = Vec::with_capacity(tests.len());
        for thread in threads {
            reports.extend(thread.ok()?.join().ok()??);
        }
        Some(reports)
    })?;
    reports.sort_by_key(|(place, _)| *place);
    let mut reports = reports.into_iter().map(|(_, report)| report);
    let of_suite = suites.iter().map(|suite| {
        let tests = reports.by_ref().take(suite.fixture.tests.len());
        SuiteReport::new(suite, tests.collect())
    });
    Some(of_suite.collect())
}

fn threads(tests: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    tests
        .div_ceil(LEAST_TESTS)
        .clamp(1, cores.min(MOST_THREADS))
}

/// Takes one test after the other until there is none.
fn work(
    tests: &[(&Bench<'_>, &Test)],
    next: &AtomicUsize,
    done: &AtomicUsize,
) -> Option<Vec<(usize, TestReport)>> {
    let runtime = timed_runtime().ok()?;
    let mut reports = Vec::new();
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some((bench, test)) = tests.get(place) else {
            return Some(reports);
        };
        reports.push((place, runtime.block_on(report(bench, test))));
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn not_run(code: &'static str, message: &str, help: &str) -> NotRun {
    let mut problem = FixtureProblem::new(code, message);
    problem.help = Some(help.to_owned()).filter(|help| !help.is_empty());
    Problems {
        fixtures: vec![problem],
        policies: Vec::new(),
    }
    .into()
}

impl From<Problems> for NotRun {
    fn from(problems: Problems) -> Self {
        let Problems { fixtures, policies } = problems;
        Self {
            fixtures: Some(FixtureErrors { problems: fixtures })
                .filter(|errors| !errors.problems.is_empty()),
            policies: Some(PolicyErrors { problems: policies })
                .filter(|errors| !errors.problems.is_empty()),
        }
    }
}
