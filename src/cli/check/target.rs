//! One set of policies, and all its findings.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::diagnostics::{BoxedDiagnostic, IgnoredFindings, one};
use crate::cli::unmet_requirements::PolicyRequirements;
use crate::cli::{proxy, test_policy};
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::guard::secrets::SecretRules;
use crate::guard::text::Flag;
use crate::lint::{self, KnownWords, Material};
use crate::loading::{self, BuiltinPolicy, RequiredLabels, WarningMode};
use crate::policy::engines::cedar::schema_text;
use crate::policy::{PolicyProblem, PolicySource};
use crate::policy_tests::{self, ConfiguredPolicies};
use crate::wire::KnownMethod;

/// What a lint finds, and what the gate calls it where it insists on it.
const TOLD: [(&str, &str); 1] = [("lint::exact_call", "policy::exact_call")];

/// Policies that would be in force together.
pub(super) struct CheckTarget {
    /// What reports call it.
    pub(super) name: String,
    settings: loading::Settings,
    /// The configuration that names them.
    configuration: Option<(PolicySource, ConfiguredPolicies)>,
    /// What that presupposes of them.
    expected: Option<PolicyRequirements>,
    /// Kinds of credentials that only its author knows.
    secrets: Vec<String>,
}

impl CheckTarget {
    pub(super) fn pack(pack: PathBuf) -> Self {
        let settings = loading::Settings {
            dir: Some(pack),
            ..loading::Settings::default()
        };
        Self {
            name: display(settings.dir.as_deref()),
            settings,
            configuration: None,
            expected: None,
            secrets: Vec::new(),
        }
    }

    pub(super) fn settings(&self) -> &loading::Settings {
        &self.settings
    }

    /// Whether warnings count as findings: `policy.allow_warnings`.
    pub(super) fn warnings(&self) -> WarningMode {
        self.settings.warnings
    }

    /// The policies that a configuration names, and its shadow policies.
    pub(super) fn of_configuration(file: &Path) -> Result<Vec<Self>, Vec<BoxedDiagnostic>> {
        let config = &Config::load_offline(file).map_err(one)?;
        let mut settings = proxy::policy_settings(config);
        let source = PolicySource::new(
            loading::source_name(file),
            // It was read a moment ago; if it is gone now, its findings have no place.
            fs::read_to_string(file).unwrap_or_default(),
        );
        let configured = ConfiguredPolicies {
            policies: settings.clone(),
            ..test_policy::configured(config, file)
        };
        let secrets = config.guards.secret_rules.names();
        let secrets: Vec<String> = secrets.map(str::to_owned).collect();
        let shadow = settings.shadow.take().map(|dir| Self {
            name: display(Some(&dir)),
            settings: loading::Settings {
                dir: Some(dir),
                ..settings.clone()
            },
            configuration: None,
            expected: Some(PolicyRequirements::by(config)),
            secrets: secrets.clone(),
        });
        let own = Self {
            name: display(Some(file)),
            settings,
            configuration: Some((source, configured)),
            expected: Some(PolicyRequirements::by(config)),
            secrets,
        };
        Ok(std::iter::once(own).chain(shadow).collect())
    }

    /// Everything that is wrong or looks wrong: first what keeps the policies from loading, then
    /// what lints find, then what keeps the tests from running. Adds the gate's own policies that a configuration
    /// puts in force.
    pub(super) fn look(
        &self,
        without: &IgnoredFindings,
        builtin: &mut Vec<BuiltinPolicy>,
    ) -> Result<Vec<BoxedDiagnostic>, Vec<BoxedDiagnostic>> {
        let loading::PolicySurvey {
            policies,
            labels,
            said,
            lock,
            loaded,
        } = loading::survey(&self.settings);
        let mut problems = match loaded {
            Ok(mut loaded) => {
                let expected = self.expected.iter();
                let missing = expected.flat_map(|it| it.missing_in(&loaded.snapshot));
                loaded.notices.extend(missing);
                if self.configuration.is_some() {
                    builtin.extend(loading::builtin_policies(&loaded.snapshot));
                }
                loaded.notices
            }
            Err(errors) => errors.problems,
        };
        let configured = self.configuration.as_ref();
        self.point_at_doubts(&mut problems);
        problems.retain(|it| !without.notices.contains(&it.code));
        let tests = match &self.settings.dir {
            Some(dir) => {
                let configured = configured.map(|(_, configured)| configured);
                policy_tests::survey(dir, configured, test_policy::configured)
            }
            None => policy_tests::Survey::default(),
        };
        let material = Material {
            policies,
            labels,
            said,
            labelled: self.labelled(),
            lock,
            allow: self.settings.allow.clone(),
            configuration: configured.map(|(source, _)| source.clone()),
            tested: tests.tools,
            words: self.words(),
            server: self.only_server(),
            now_ms: SystemClock::new().now().as_millisecond(),
        };
        let linted = lint::lint(&material, &without.lints).map_err(one)?;
        let known: Vec<&str> = problems.iter().map(|known| known.code).collect();
        let is_news = |new: &PolicyProblem| {
            let mut twins = TOLD.iter().filter(|(lint, _)| *lint == new.code);
            twins.all(|(_, code)| !known.contains(code))
        };
        problems.extend(linted.into_iter().filter(is_news));
        let mut told: Vec<BoxedDiagnostic> =
            problems.into_iter().map(|it| Box::new(it) as _).collect();
        told.extend(
            tests
                .problems
                .into_iter()
                .map(|it| Box::new(it) as BoxedDiagnostic),
        );
        Ok(told)
    }

    /// What policies call the only server of the configuration. The loader knows the names of several.
    fn only_server(&self) -> Option<String> {
        let (_, configured) = self.configuration.as_ref()?;
        let server = &configured.servers.first()?.server;
        server.key.is_none().then(|| server.name.clone())
    }

    /// The tools that required labels leave open.
    fn labelled(&self) -> Option<BTreeSet<String>> {
        match self.settings.labels {
            RequiredLabels::Permission => Some(loading::labelled_tools(&self.settings)),
            RequiredLabels::None => None,
        }
    }

    /// What the gate may say where policies compare with words.
    fn words(&self) -> KnownWords {
        let notified = KnownMethod::ALL.iter().filter(|method| {
            let apart = [KnownMethod::Cancelled, KnownMethod::TasksCancel];
            let is_named = !method.is_request() || **method == KnownMethod::TasksList;
            is_named && !apart.contains(method)
        });
        let builtin = SecretRules::builtin_names().map(str::to_owned);
        KnownWords {
            secrets: builtin.chain(self.secrets.iter().cloned()).collect(),
            flags: Flag::ALL
                .iter()
                .map(|flag| flag.name().to_owned())
                .collect(),
            methods: notified.map(ToString::to_string).collect(),
        }
    }

    /// What its policies are checked against.
    pub(super) fn schema(&self) -> Result<String, Vec<BoxedDiagnostic>> {
        schema_text(&loading::survey(&self.settings).lock).map_err(one)
    }

    /// The loader knows the names of an allowlist, and not where they are written.
    fn point_at_doubts(&self, problems: &mut Vec<PolicyProblem>) {
        let Some((source, _)) = &self.configuration else {
            return;
        };
        let names = self.settings.allow.iter().flatten();
        let doubts = names.filter_map(|name| Some((name, loading::doubt(name)?)));
        let doubts: Vec<PolicyProblem> = doubts
            .map(|(name, doubt)| match lint::place_of_allowed(source, name) {
                Some(place) => doubt.in_source(source).at(place, "here"),
                None => doubt,
            })
            .collect();
        problems.retain(|known| doubts.iter().all(|doubt| doubt.code != known.code));
        problems.splice(0..0, doubts);
    }
}

fn display(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}
