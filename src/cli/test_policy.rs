//! `test-policy`: runs policy tests offline, through the decisions that the gate itself makes.

use std::io::{self, IsTerminal as _, Write};

use super::args::{Format, TestPolicyArgs};
use super::exit::Exit;
use super::{proxy, report};
use crate::config::{self, Config, ConfigErrors};
use crate::policy_tests::{self, Configured, NotRun, Outcome, Paint, Report};

/// Runs the tests that the arguments name. Reports of results go to `stdout`; in the format for
/// people, what keeps the tests from running goes to standard error.
pub fn run(args: &TestPolicyArgs, stdout: &mut dyn Write) -> Exit {
    let config = args.config.as_deref().map(Config::load).transpose();
    let done = match config {
        Ok(config) => {
            policy_tests::run(&settings(args, config.as_ref())).map_err(Failure::NotRun)
        }
        Err(errors) => Err(Failure::Config(errors)),
    };
    let written = match (&done, args.format) {
        (Ok(report), Format::Human) => report.write(stdout, paint()),
        (Ok(report), Format::Json) => json(report, stdout),
        (Err(failure), Format::Human) => {
            failure.tell_people();
            Ok(())
        }
        (Err(failure), Format::Json) => json(&failure.report(), stdout),
    };
    let outcome = match &done {
        Ok(report) => report.outcome,
        Err(failure) => failure.outcome(),
    };
    // A report that nobody could read is no success.
    match (outcome, written.and_then(|()| stdout.flush())) {
        (_, Err(_)) | (Outcome::NotRun, _) => Exit::TestsNotRun,
        (Outcome::Passed, Ok(())) => Exit::Success,
        (Outcome::Failed, Ok(())) => Exit::TestsFailed,
        (Outcome::PoliciesInvalid, Ok(())) => Exit::PoliciesInvalid,
    }
}

/// Why there is no result.
enum Failure {
    Config(ConfigErrors),
    NotRun(NotRun),
}

impl Failure {
    fn tell_people(&self) {
        match self {
            Self::Config(errors) => report::configuration(errors),
            Self::NotRun(not_run) => not_run.diagnostics().for_each(report::tell),
        }
    }

    fn report(&self) -> Report {
        match self {
            Self::Config(errors) => Report::not_run(self.outcome(), [errors as _]),
            Self::NotRun(not_run) => Report::not_run(self.outcome(), not_run.diagnostics()),
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Config(_) => Outcome::NotRun,
            Self::NotRun(not_run) => not_run.outcome(),
        }
    }
}

/// Without a configuration a pack is judged by a gate that has every default.
fn settings(args: &TestPolicyArgs, config: Option<&Config>) -> policy_tests::Settings {
    let file = args.config.clone().unwrap_or_default();
    let gate = match config {
        Some(config) => proxy::gate_settings(&config.limits, config.policy.denial),
        None => proxy::gate_settings(
            &config::Limits::default(),
            config::Policy::default().denial,
        ),
    };
    policy_tests::Settings {
        paths: args.paths.clone(),
        filter: args.filter.clone(),
        gate,
        configured: config.map(|config| Configured {
            file,
            policies: proxy::policy_settings(&config.policy),
            server: config.upstream.name.clone(),
        }),
    }
}

fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    writeln!(out)
}

/// Colours only for terminals, and never against <https://no-color.org>.
fn paint() -> Paint {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stdout().is_terminal() && !plain {
        Paint::Coloured
    } else {
        Paint::Plain
    }
}
