//! Fixtures and the policies that they test, ready to run.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::changed_definitions;
use super::claims;
use super::errors::FixtureProblem;
use super::find::{self, FixtureFile};
use super::fixture::{Fixture, Plan};
use super::gate_file::{self, ConfigLoader, ConfiguredPolicies};
use super::groups;
use super::read::{self, ParsedFixture};
use super::replay::load_recording;
use super::servers::{self, SuiteServer};
use super::suggest;
use crate::loading;
use crate::policy::{PolicyProblem, PolicySnapshot, PolicyStore, ServerKey};

/// A fixture and the policies that judge it.
pub(super) struct Suite {
    pub(super) fixture: Fixture,
    /// The directory of the policies.
    pub(super) pack: Option<PathBuf>,
    pub(super) policies: Arc<PolicyStore>,
    /// Where they came from.
    pub(super) settings: loading::Settings,
    pub(super) servers: Vec<SuiteServer>,
}

/// Everything that keeps the tests from running.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) fixtures: Vec<FixtureProblem>,
    pub(super) policies: Vec<PolicyProblem>,
}

/// Reads all fixtures and loads what they test, or tells everything that is wrong.
pub(super) fn load(
    paths: &[PathBuf],
    configured: Option<&ConfiguredPolicies>,
    reads: ConfigLoader,
) -> Result<Vec<Suite>, Problems> {
    let mut loader = Loader {
        configured,
        reads,
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

/// What policies are made of: a directory, an allowlist beside it, several servers, and the configuration
/// of a fixture's own.
type PolicyKey = (
    Option<PathBuf>,
    Option<Vec<String>>,
    Vec<ServerKey>,
    Option<PathBuf>,
);

struct Loader<'c> {
    configured: Option<&'c ConfiguredPolicies>,
    reads: ConfigLoader,
    /// Nothing if they could not be loaded, which is reported once.
    loaded: HashMap<PolicyKey, Option<Arc<PolicyStore>>>,
    problems: Problems,
}

impl Loader<'_> {
    fn find(&mut self, paths: &[PathBuf]) -> Vec<FixtureFile> {
        let found = match self.configured {
            Some(configured) if paths.is_empty() => beside(configured),
            _ if paths.is_empty() => find::find_packs(Path::new(".")),
            _ => find::find(paths),
        };
        found.unwrap_or_else(|mut problems| {
            self.problems.fixtures.append(&mut problems);
            Vec::new()
        })
    }

    fn suite(&mut self, found: FixtureFile) -> Option<Suite> {
        let text = match gate_file::text(&found.fixture) {
            Ok(text) => text,
            Err(why) => {
                let problem = FixtureProblem::about(&found.fixture, "test::unreadable", why);
                self.problems.fixtures.push(problem);
                return None;
            }
        };
        let ParsedFixture {
            mut fixture,
            mut problems,
            named,
            told: of_agents,
        } = read::read(&loading::source_name(&found.fixture), &text);
        problems.extend(recordings(&mut fixture, &found));
        let own = self.own(&fixture, &found, &mut problems);
        let judging = self.configured.or(own.as_ref());
        let servers = servers::servers(judging, &mut fixture, &mut problems);
        let loaded = settings(judging, &fixture, found, &mut problems).and_then(|settings| {
            let file = own.as_ref().map(|own| own.file.clone());
            let policies = self.policies(&settings, file)?;
            Some((settings, policies))
        });
        if let Some((settings, policies)) = &loaded {
            let configured = settings.claims.as_deref();
            problems.extend(claims::mismatched(
                &fixture.source,
                &of_agents.claims,
                configured,
            ));
            let capabilities = &of_agents.capabilities;
            problems.extend(claims::ungranted(&fixture.source, capabilities, configured));
            let policies = policies.current();
            problems.extend(unknown_policies(&fixture, &named, &policies));
            problems.extend(groups::misspelt(&fixture, &of_agents.groups, &policies));
            let changed = fixture.tests.iter().map(|test| &test.changed);
            let unlocked = changed_definitions::unlocked(changed, &fixture.source, &policies);
            problems.extend(unlocked);
        }
        let sound = problems.is_empty();
        self.problems.fixtures.append(&mut told(problems, &fixture));
        let (settings, policies) = loaded.filter(|_| sound)?;
        Some(Suite {
            servers,
            fixture,
            pack: settings.dir.clone(),
            policies,
            settings,
        })
    }

    /// The configuration that the fixture names, unless the command names one.
    fn own(
        &self,
        fixture: &Fixture,
        found: &FixtureFile,
        problems: &mut Vec<FixtureProblem>,
    ) -> Option<ConfiguredPolicies> {
        let named = fixture
            .gate
            .as_ref()
            .filter(|_| self.configured.is_none())?;
        match gate_file::load(named, &fixture.source, found, self.reads) {
            Ok(configured) => Some(configured),
            Err(mut wrong) => {
                problems.append(&mut wrong);
                None
            }
        }
    }

    fn policies(
        &mut self,
        settings: &loading::Settings,
        own: Option<PathBuf>,
    ) -> Option<Arc<PolicyStore>> {
        let key = (
            settings.dir.clone(),
            settings.allow.clone(),
            settings.servers.clone(),
            own,
        );
        if let Some(loaded) = self.loaded.get(&key) {
            return loaded.clone();
        }
        let loaded = match loading::load(settings) {
            Ok(loaded) => Some(Arc::new(PolicyStore::new(loaded.snapshot))),
            Err(errors) => {
                let told = self
                    .loaded
                    .iter()
                    .any(|((dir, ..), loaded)| *dir == key.0 && loaded.is_none());
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

/// Where the policies of a fixture come from.
fn settings(
    judging: Option<&ConfiguredPolicies>,
    fixture: &Fixture,
    found: FixtureFile,
    problems: &mut Vec<FixtureProblem>,
) -> Option<loading::Settings> {
    if let Some(configured) = judging {
        problems.extend(other_allowlist(configured, fixture));
        return Some(configured.policies.clone());
    }
    // A pack without policies is an allowlist and nothing else, as it may be in a configuration.
    let dir = found.pack.filter(|pack| find::has_policies(pack));
    if dir.is_none() && fixture.allow.is_none() {
        let problem =
            FixtureProblem::about(&found.fixture, "test::no_policies", "it tests no policies");
        problems.push(problem.with_help(
            "put it into `tests/` beside the policies, give it an `allow = […]`, or name a \
                 configuration with `--config`",
        ));
        return None;
    }
    let keys = fixture.servers.iter().flatten();
    Some(loading::Settings {
        servers: keys.map(|key| key.get_ref().clone()).collect(),
        allow: fixture.allow.as_ref().map(|names| names.get_ref().clone()),
        dir,
        ..loading::Settings::default()
    })
}

/// The tests beside the policies that a configuration names.
fn beside(configured: &ConfiguredPolicies) -> Result<Vec<FixtureFile>, Vec<FixtureProblem>> {
    let help = "name the tests to run, as in `test-policy --config gate.toml tests/`";
    let nothing = |problem: String| {
        vec![
            FixtureProblem::about(&configured.file, "test::nothing_found", problem).with_help(help),
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

/// In the order of the file, each once, and only a bounded number: each shows its place, for
/// which the whole text is read again.
fn told(mut problems: Vec<FixtureProblem>, fixture: &Fixture) -> Vec<FixtureProblem> {
    const MOST: usize = 100;
    problems.sort_by_key(FixtureProblem::offset);
    // A matrix says the same thing in each of its cells.
    problems.dedup_by(|one, other| one.offset() == other.offset() && one.message == other.message);
    let more = problems.len().saturating_sub(MOST);
    if more > 0 {
        problems.truncate(MOST);
        let message = format!("`{}` has {more} more problems", fixture.source.name());
        problems.push(FixtureProblem::new("test::too_many_problems", message));
    }
    problems
}

/// Reads what tests replay.
fn recordings(fixture: &mut Fixture, found: &FixtureFile) -> Vec<FixtureProblem> {
    let dir = found.fixture.parent().unwrap_or(Path::new(""));
    let pack = found.pack.as_deref();
    let mut problems = Vec::new();
    for test in &mut fixture.tests {
        if let Plan::Replay(replay) = &mut test.plan
            && let Err(problem) = load_recording(replay, &fixture.source, dir, pack)
        {
            problems.push(*problem);
        }
    }
    problems
}

/// Two allowlists cannot both hold, and which one does must not be a guess.
fn other_allowlist(configured: &ConfiguredPolicies, fixture: &Fixture) -> Option<FixtureProblem> {
    let written = fixture.allow.as_ref()?;
    let sorted = |names: &[String]| {
        let mut names = names.to_owned();
        names.sort();
        names
    };
    let named = configured.policies.allow.as_deref().unwrap_or_default();
    if sorted(written.get_ref()) == sorted(named) {
        return None;
    }
    let file = configured.file.display();
    let message = format!("this is not the allowlist of `{file}`, under which it is to be tested");
    let problem = FixtureProblem::new("test::conflict", message)
        .at(&fixture.source, written.span())
        .with_help("remove it, or make both the same");
    Some(problem)
}

/// A `policies` that names no policy could never be met.
fn unknown_policies(
    fixture: &Fixture,
    named: &[Spanned<String>],
    snapshot: &PolicySnapshot,
) -> Vec<FixtureProblem> {
    let policies = snapshot.policies().iter();
    let known: Vec<&str> = policies.map(|policy| policy.id.as_str()).collect();
    let ids: HashSet<&str> = known.iter().copied().collect();
    let problem = |id: &Spanned<String>| {
        let message = format!("no policy is called `{}`", id.get_ref());
        let fallback = "a policy's name is its `@id`, or `file:line` where it has none";
        FixtureProblem::new("test::unknown_policy", message)
            .at(&fixture.source, id.span())
            .with_help(suggest::help(id.get_ref(), &known, fallback))
    };
    let unknown = named
        .iter()
        .filter(|id| !ids.contains(id.get_ref().as_str()));
    unknown.map(problem).collect()
}
