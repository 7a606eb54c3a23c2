//! From paths to a report.

use std::path::PathBuf;

use super::errors::{FixtureErrors, FixtureProblem};
use super::judge::Bench;
use super::listing::Catalogue;
use super::load::{self, Configured, Problems, Suite};
use super::report::{NotRun, Report, SuiteReport};
use crate::gate;
use crate::policy::{PolicyErrors, Server};

/// What is to be tested, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Packs, directories of packs or of fixtures, fixtures. Without any: the tests of the
    /// configured policies, or whatever packs the current directory holds.
    pub paths: Vec<PathBuf>,
    /// Only tests whose name contains this text.
    pub filter: Option<String>,
    /// Whether what the tests have seen of the policies is told.
    pub coverage: Coverage,
    /// Whether the tests are tested, too.
    pub mutants: Mutants,
    /// The limits of the gate that judges.
    pub gate: gate::Settings,
    /// Policies to test in place of those beside each fixture.
    pub configured: Option<Configured>,
}

/// Whether what the tests have seen of the policies is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coverage {
    #[default]
    Untold,
    Told,
    /// And the tests fail under so many of 100.
    AtLeast(u8),
}

/// Whether the tests are tested by changes of the policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mutants {
    #[default]
    Untried,
    Tried,
}

/// Cedar evaluates recursively; this is what the gate's own thread has.
pub(super) const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Runs the tests. Reads files and opens nothing else.
///
/// # Errors
/// Everything that keeps the tests from running: then none has run.
pub fn run(settings: &Settings) -> Result<Report, NotRun> {
    let mut suites = load::load(&settings.paths, settings.configured.as_ref())?;
    let left_out = match &settings.filter {
        Some(filter) => keep(&mut suites, filter)?,
        None => 0,
    };
    let judged = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("gate".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || judge(&suites, &settings.gate));
        thread.ok()?.join().ok()?
    });
    match judged {
        Some(judged) => {
            let mut report = Report::new(judged, left_out);
            report.add_coverage(&suites, settings).ok_or_else(failed)?;
            report.add_mutation(&suites, settings).ok_or_else(failed)?;
            Ok(report)
        }
        None => Err(failed()),
    }
}

fn failed() -> NotRun {
    not_run("test::internal", "the gate that judges has failed", "")
}

/// Leaves what the filter names; answers how many tests it left out.
fn keep(suites: &mut Vec<Suite>, filter: &str) -> Result<usize, NotRun> {
    let count = |suites: &[Suite]| suites.iter().map(|suite| suite.fixture.tests.len()).sum();
    let all: usize = count(suites);
    for suite in suites.iter_mut() {
        suite
            .fixture
            .tests
            .retain(|test| test.name.contains(filter));
    }
    suites.retain(|suite| !suite.fixture.tests.is_empty());
    let kept: usize = count(suites);
    if kept == 0 {
        let message = format!("no test's name contains `{filter}`");
        let help = "the filter is compared letter by letter with the names of tests";
        return Err(not_run("test::nothing-found", &message, help));
    }
    Ok(all - kept)
}

fn judge(suites: &[Suite], settings: &gate::Settings) -> Option<Vec<SuiteReport>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let reports = suites.iter().map(|suite| {
        let server = Server {
            name: suite.server.clone(),
            ..Server::default()
        };
        let bench = Bench {
            policies: suite.policies.clone(),
            settings,
            server: &server,
            offers: &suite.fixture.offers,
            catalogue: Catalogue::new(&suite.fixture.offers),
            witness: None,
            agents: &suite.fixture.agents,
        };
        let snapshot = suite.policies.current();
        let tests = suite
            .fixture
            .tests
            .iter()
            .map(|test| runtime.block_on(bench.report(test, &snapshot)));
        SuiteReport::new(suite, tests.collect())
    });
    Some(reports.collect())
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
