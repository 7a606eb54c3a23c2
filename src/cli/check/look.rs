//! One set of policies, and everything that is told of it.

use std::fs;
use std::path::{Path, PathBuf};

use miette::Diagnostic;

use super::{Told, one};
use crate::cli::args::CheckArgs;
use crate::cli::proxy;
use crate::config::Config;
use crate::lint::{self, Lint, Material};
use crate::loading::{self, Warnings};
use crate::policy::{PolicyProblem, PolicySource};
use crate::policy_tests::{self, Configured};

/// Policies that would be in force together.
pub(super) struct Target {
    /// What reports call it.
    pub(super) name: String,
    settings: loading::Settings,
    /// The configuration that names them.
    configuration: Option<(PolicySource, Configured)>,
}

impl Target {
    pub(super) fn pack(pack: PathBuf, args: &CheckArgs) -> Self {
        let mut settings = loading::Settings {
            dir: Some(pack),
            ..loading::Settings::default()
        };
        allow_warnings(&mut settings, args);
        Self {
            name: display(settings.dir.as_deref()),
            settings,
            configuration: None,
        }
    }

    pub(super) fn configured(file: &Path, config: &Config, args: &CheckArgs) -> Self {
        let mut settings = proxy::policy_settings(&config.policy);
        allow_warnings(&mut settings, args);
        let source = PolicySource {
            name: file.to_string_lossy().as_ref().into(),
            // It was read a moment ago; if it is gone now, what is told of it has no place.
            text: fs::read_to_string(file).unwrap_or_default().into(),
        };
        let configured = Configured {
            file: file.to_owned(),
            policies: settings.clone(),
            server: config.upstream.name.clone(),
        };
        Self {
            name: display(Some(file)),
            settings,
            configuration: Some((source, configured)),
        }
    }

    /// Everything that is wrong or looks wrong: first what keeps the policies from loading, then
    /// what lints find, then what keeps the tests from running.
    pub(super) fn look(&self, without: &[&Lint]) -> Result<Vec<Told>, Vec<Told>> {
        let loading::Survey {
            policies,
            labels,
            said,
            loaded,
        } = loading::survey(&self.settings);
        let mut problems = match loaded {
            Ok(loaded) => loaded.notices,
            Err(errors) => errors.problems,
        };
        let configured = self.configuration.as_ref();
        let tests = match &self.settings.dir {
            Some(dir) => policy_tests::survey(dir, configured.map(|(_, configured)| configured)),
            None => policy_tests::Survey::default(),
        };
        let material = Material {
            policies,
            labels,
            said,
            allow: self.settings.allow.clone(),
            configuration: configured.map(|(source, _)| source.clone()),
            tested: tests.tools,
        };
        let linted = lint::lint(&material, without).map_err(one)?;
        let news = linted.into_iter().filter(|new| is_news(new, &problems));
        let news: Vec<PolicyProblem> = news.collect();
        problems.extend(news);
        let mut told: Vec<Told> = problems.into_iter().map(|it| Box::new(it) as _).collect();
        told.extend(tests.problems.into_iter().map(|it| Box::new(it) as Told));
        Ok(told)
    }
}

/// What the compiler has already said of a place need not be said again.
fn is_news(new: &PolicyProblem, known: &[PolicyProblem]) -> bool {
    let place = |problem: &PolicyProblem| {
        let file = problem.source.as_ref().map(|it| it.name().to_owned());
        let span = problem.labels().and_then(|mut labels| labels.next());
        span.map(|span| (file, span.offset()))
    };
    let here = place(new);
    here.is_none() || known.iter().all(|known| place(known) != here)
}

fn allow_warnings(settings: &mut loading::Settings, args: &CheckArgs) {
    if args.allow_warnings {
        settings.warnings = Warnings::Allow;
    }
}

fn display(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}
