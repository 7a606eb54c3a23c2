//! Fixtures and the policies that they test, ready to run.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::errors::FixtureProblem;
use super::find::{self, Found};
use super::fixture::{Fixture, Test};
use super::read;
use super::suggest;
use crate::loading;
use crate::policy::{PolicyProblem, PolicySnapshot, PolicyStore};

/// Policies that a configuration names, in place of those beside each fixture.
#[derive(Debug, Clone)]
pub struct Configured {
    /// What reports call the configuration.
    pub file: PathBuf,
    pub policies: loading::Settings,
    /// The name of the upstream.
    pub server: String,
}

/// A fixture and the policies that judge it.
pub(super) struct Suite {
    pub(super) fixture: Fixture,
    /// The directory of the policies.
    pub(super) pack: Option<PathBuf>,
    pub(super) policies: Arc<PolicyStore>,
    pub(super) server: String,
}

/// Everything that keeps the tests from running.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) fixtures: Vec<FixtureProblem>,
    pub(super) policies: Vec<PolicyProblem>,
}

/// Fixtures are written by hand; a larger file is a mistake.
const MAX_BYTES: u64 = 16 << 20;

/// The default of `upstream.name` in the configuration.
const SERVER: &str = "upstream";

/// Reads all fixtures and loads what they test, or tells everything that is wrong.
pub(super) fn load(
    paths: &[PathBuf],
    configured: Option<&Configured>,
) -> Result<Vec<Suite>, Problems> {
    let mut loader = Loader {
        configured,
        loaded: HashMap::new(),
        problems: Problems::default(),
    };
    let found = loader.find(paths);
    let suites: Vec<Suite> = found
        .into_iter()
        .filter_map(|found| loader.suite(found))
        .collect();
    let Problems { fixtures, policies } = &loader.problems;
    if fixtures.is_empty() && policies.is_empty() {
        Ok(suites)
    } else {
        Err(loader.problems)
    }
}

/// What policies are made of: a directory, and an allowlist beside it.
type Key = (Option<PathBuf>, Option<Vec<String>>);

struct Loader<'c> {
    configured: Option<&'c Configured>,
    /// Nothing where they could not be loaded, which is told once.
    loaded: HashMap<Key, Option<Arc<PolicyStore>>>,
    problems: Problems,
}

impl Loader<'_> {
    fn find(&mut self, paths: &[PathBuf]) -> Vec<Found> {
        let found = match self.configured {
            Some(configured) if paths.is_empty() => beside(configured),
            _ if paths.is_empty() => find::find(&[PathBuf::from(".")]),
            _ => find::find(paths),
        };
        found.unwrap_or_else(|mut problems| {
            self.problems.fixtures.append(&mut problems);
            Vec::new()
        })
    }

    fn suite(&mut self, found: Found) -> Option<Suite> {
        let text = match text(&found.fixture) {
            Ok(text) => text,
            Err(problem) => {
                self.problems.fixtures.push(problem);
                return None;
            }
        };
        let fixture = match read::read(&found.fixture.to_string_lossy(), &text) {
            Ok(fixture) => fixture,
            Err(mut problems) => {
                self.problems.fixtures.append(&mut problems);
                return None;
            }
        };
        let settings = self.settings(&fixture, found)?;
        let pack = settings.dir.clone();
        let policies = self.policies(settings)?;
        let mut unknown = unknown_policies(&fixture, &policies.current());
        self.problems.fixtures.append(&mut unknown);
        let configured = self.configured.map(|configured| &configured.server);
        let server = fixture.server.as_ref().or(configured);
        Some(Suite {
            server: server.map_or_else(|| SERVER.to_owned(), Clone::clone),
            fixture,
            pack,
            policies,
        })
    }

    /// Where the policies of a fixture come from.
    fn settings(&mut self, fixture: &Fixture, found: Found) -> Option<loading::Settings> {
        if let Some(configured) = self.configured {
            self.same_allowlist(configured, fixture);
            return Some(configured.policies.clone());
        }
        // A pack without policies is an allowlist and nothing else, as it may be in a configuration.
        let dir = found.pack.filter(|pack| find::has_policies(pack));
        if dir.is_none() && fixture.allow.is_none() {
            let problem = FixtureProblem::about(
                &found.fixture,
                "test::no-policies",
                "it tests no policies",
            )
            .with_help(
                "put it into `tests/` beside the policies, give it an `allow = […]`, or name a \
                     configuration with `--config`",
            );
            self.problems.fixtures.push(problem);
            return None;
        }
        Some(loading::Settings {
            allow: fixture.allow.as_ref().map(|names| names.get_ref().clone()),
            dir,
            ..loading::Settings::default()
        })
    }

    /// Two allowlists cannot both hold, and which one does must not be a guess.
    fn same_allowlist(&mut self, configured: &Configured, fixture: &Fixture) {
        let Some(written) = &fixture.allow else {
            return;
        };
        let sorted = |names: &[String]| {
            let mut names = names.to_owned();
            names.sort();
            names
        };
        let named = configured.policies.allow.as_deref().unwrap_or_default();
        if sorted(written.get_ref()) != sorted(named) {
            let message = format!(
                "this is not the allowlist of `{}`, under which it is to be tested",
                configured.file.display()
            );
            let problem = FixtureProblem::new("test::conflict", message)
                .at(&fixture.source, written.span())
                .with_help("remove it, or make both the same");
            self.problems.fixtures.push(problem);
        }
    }

    fn policies(&mut self, settings: loading::Settings) -> Option<Arc<PolicyStore>> {
        let key = (settings.dir.clone(), settings.allow.clone());
        if let Some(loaded) = self.loaded.get(&key) {
            return loaded.clone();
        }
        let loaded = match loading::load(&settings) {
            Ok(loaded) => Some(Arc::new(PolicyStore::new(loaded.snapshot))),
            Err(errors) => {
                let told = self
                    .loaded
                    .iter()
                    .any(|((dir, _), loaded)| *dir == key.0 && loaded.is_none());
                if !told {
                    self.problems.policies.extend(errors.problems);
                }
                None
            }
        };
        self.loaded.insert(key, loaded.clone());
        loaded
    }
}

/// The tests beside the policies that a configuration names.
fn beside(configured: &Configured) -> Result<Vec<Found>, Vec<FixtureProblem>> {
    let help = "name the tests to run, as in `test-policy --config gate.toml tests/`";
    let nothing = |problem: String| {
        vec![
            FixtureProblem::about(&configured.file, "test::nothing-found", problem).with_help(help),
        ]
    };
    let Some(dir) = &configured.policies.dir else {
        return Err(nothing(
            "it names no policy directory, and so no tests".to_owned(),
        ));
    };
    match find::tests_of(dir) {
        Ok(found) if found.is_empty() => Err(nothing(format!(
            "no tests are in `{}`",
            dir.join("tests").display()
        ))),
        Ok(found) => Ok(found),
        Err(error) => Err(vec![find::unreadable(dir, &error)]),
    }
}

fn text(path: &Path) -> Result<String, FixtureProblem> {
    let unreadable = |error: std::io::Error| find::unreadable(path, &error);
    if fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
        let problem = format!("larger than {MAX_BYTES} bytes");
        return Err(FixtureProblem::about(path, "test::unreadable", problem));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        FixtureProblem::about(path, "test::unreadable", format!("not UTF-8 at byte {at}"))
    })
}

/// A `because` that names no policy would never be met, or, worse, never be noticed.
fn unknown_policies(fixture: &Fixture, snapshot: &PolicySnapshot) -> Vec<FixtureProblem> {
    let known: Vec<&str> = snapshot
        .policies()
        .iter()
        .map(|policy| policy.id.as_str())
        .collect();
    let problem = |id: &Spanned<String>| {
        let message = format!("no policy is called `{}`", id.get_ref());
        let fallback = "a policy's name is its `@id`, or `file:line` where it has none";
        FixtureProblem::new("test::unknown-policy", message)
            .at(&fixture.source, id.span())
            .with_help(suggest::help(id.get_ref(), &known, fallback))
    };
    let named = |test: &'_ Test| {
        let ids = test.expect.because.iter();
        ids.filter(|id| !known.contains(&id.get_ref().as_str()))
            .map(problem)
            .collect::<Vec<_>>()
    };
    fixture.tests.iter().flat_map(named).collect()
}
