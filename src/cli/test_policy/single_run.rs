//! One run of the tests, and its report.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use super::progress;
use crate::cli::args::{TestFormat, TestPolicyArgs};
use crate::cli::exit::Exit;
use crate::cli::{proxy, report};
use crate::config::{Config, ConfigErrors};
use crate::findings;
use crate::policy_tests::{
    self, ConfiguredPolicies, ConfiguredServer, Mutants, NotRun, Paint, Report, RunOutcome,
    WantedCoverage,
};

/// Runs the tests once.
pub(super) fn run_once(args: &TestPolicyArgs, stdout: &mut dyn Write) -> Exit {
    let config = args.config.as_deref().map(Config::load_offline).transpose();
    let done = match config {
        Ok(config) => {
            let settings = settings(args, config.as_ref());
            progress::told(|progress| policy_tests::run_telling(&settings, progress))
                .map_err(TestPolicyFailure::NotRun)
        }
        Err(errors) => Err(TestPolicyFailure::Config(errors)),
    };
    let written = match &done {
        Ok(report) => write(report, args.format, stdout),
        Err(failure) if args.format == TestFormat::Human => {
            failure.tell_people();
            Ok(())
        }
        Err(failure) => write(&failure.report(), args.format, stdout),
    };
    let outcome = match &done {
        Ok(report) => report.outcome,
        Err(failure) => failure.outcome(),
    };
    // An unwritten report is a failure.
    match (outcome, written.and_then(|()| stdout.flush())) {
        (_, Err(_)) | (RunOutcome::NotRun, _) => Exit::TestsNotRun,
        (RunOutcome::Passed, Ok(())) => Exit::Success,
        (RunOutcome::CoverageTooLow, Ok(())) => Exit::CoverageTooLow,
        (RunOutcome::Failed | RunOutcome::MutantsSurvived, Ok(())) => Exit::TestsFailed,
        (RunOutcome::PoliciesInvalid, Ok(())) => Exit::PoliciesInvalid,
    }
}

/// Why there is no result.
enum TestPolicyFailure {
    Config(ConfigErrors),
    NotRun(NotRun),
}

impl TestPolicyFailure {
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

    fn outcome(&self) -> RunOutcome {
        match self {
            Self::Config(_) => RunOutcome::NotRun,
            Self::NotRun(not_run) => not_run.outcome(),
        }
    }
}

/// Without a configuration a pack is judged by a gate that has every default.
pub(super) fn settings(args: &TestPolicyArgs, config: Option<&Config>) -> policy_tests::Settings {
    let file = args.config.clone().unwrap_or_default();
    let gate = match config {
        Some(config) => proxy::gate_settings(config),
        None => proxy::default_gate_settings(),
    };
    policy_tests::Settings {
        paths: args.paths.clone(),
        filter: args.filter.clone(),
        coverage: match (args.min_coverage, args.coverage) {
            (Some(percent), _) => WantedCoverage::AtLeast(percent),
            (None, true) => WantedCoverage::Told,
            (None, false) => WantedCoverage::Untold,
        },
        mutants: if args.mutate {
            Mutants::Tried
        } else {
            Mutants::Untried
        },
        gate,
        configured: config.map(|config| configured(config, &file)),
        reads: configured,
    }
}

pub fn configured(config: &Config, file: &Path) -> ConfiguredPolicies {
    let each = config.each().into_iter();
    let servers = each.map(|config| ConfiguredServer {
        server: proxy::server(&config),
        gate: proxy::limited_gate_settings(&config),
    });
    ConfiguredPolicies {
        file: file.to_owned(),
        policies: proxy::policy_settings(config),
        servers: servers.collect(),
        unified: proxy::endpoint(config),
    }
}

/// The server of a gate that has every default.
pub(in crate::cli) fn any_server() -> ConfiguredServer {
    ConfiguredServer::only("upstream".to_owned(), proxy::default_gate_settings())
}

fn write(report: &Report, format: TestFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        TestFormat::Human | TestFormat::Json => {}
        // These have no place for them, and an exit code alone explains nothing.
        TestFormat::Junit | TestFormat::Tap | TestFormat::Github | TestFormat::Sarif => {
            report.write_extras(&mut io::stderr())?;
        }
    }
    match format {
        TestFormat::Human => report.write(out, paint()),
        TestFormat::Json => findings::json(report, out),
        TestFormat::Junit => report.junit(out),
        TestFormat::Tap => report.tap(out),
        TestFormat::Github => report.github(out),
        TestFormat::Sarif => report.sarif(out),
    }
}

/// Colours only for terminals, and never against <https://no-color.org>.
pub(in crate::cli) fn paint() -> Paint {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stdout().is_terminal() && !plain {
        Paint::Coloured
    } else {
        Paint::Plain
    }
}
