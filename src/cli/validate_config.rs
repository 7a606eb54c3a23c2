//! `validate-config`: checks everything that `proxy` would check, and starts nothing.

use std::fmt;
use std::io::{self, Write};

use miette::{Diagnostic, MietteHandlerOpts, ReportHandler, Severity};
use serde::Serialize;

use super::args::{Format, ValidateConfigArgs};
use super::exit::Exit;
use crate::config::{Config, ConfigError, ConfigErrors, Policy};

/// The result as a program reads it: one line on standard output, the one thing this command ever
/// writes there.
#[derive(Debug, Serialize)]
struct Outcome {
    /// Version of this format.
    schema: u32,
    file: String,
    valid: bool,
    /// Which surfaces are open; only when valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    surfaces: Option<String>,
    /// The revision of the policies; only when valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The dotted path of the field, when the problem is in the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

/// What checking found.
enum Findings<E> {
    Valid {
        config: Box<Config>,
        revision: String,
    },
    WrongConfig(ConfigErrors),
    WrongPolicies {
        warnings: Vec<ConfigError>,
        errors: E,
    },
}

/// Checks the file, then the policies it names through `load_policies`, which answers with their
/// revision. Reports for people go to `stderr`, those for programs to `stdout`.
pub fn run<E: Diagnostic>(
    args: &ValidateConfigArgs,
    load_policies: impl FnOnce(&Policy) -> Result<String, E>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    let findings = match Config::load(&args.config) {
        Err(errors) => Findings::WrongConfig(errors),
        Ok(config) => match load_policies(&config.policy) {
            Err(errors) => Findings::WrongPolicies {
                warnings: config.warnings,
                errors,
            },
            Ok(revision) => Findings::Valid {
                config: Box::new(config),
                revision,
            },
        },
    };
    let file = args.config.display().to_string();
    let written = match args.format {
        Format::Human => findings.tell_people(&file, &MietteHandlerOpts::new().build(), stderr),
        Format::Json => findings.tell_programs(file, stdout),
    };
    // A report that nobody could read is no success.
    match (findings, written) {
        (Findings::Valid { .. }, Ok(())) => Exit::Success,
        _ => Exit::Invalid,
    }
}

impl<E: Diagnostic> Findings<E> {
    fn tell_people(
        &self,
        file: &str,
        reporter: &dyn ReportHandler,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for warning in self.warnings() {
            writeln!(out, "{}", Rendered(reporter, warning))?;
        }
        match self {
            Self::Valid { config, revision } => write!(
                out,
                "{file}: valid\n  \
                 upstream  `{name}`: `{program}` over stdio, {arguments} arguments\n  \
                 open      {surfaces}\n  \
                 policies  revision {revision}\n",
                name = config.upstream.name,
                program = config.upstream.command.first().map_or("", String::as_str),
                arguments = config.upstream.command.len().saturating_sub(1),
                surfaces = config.policy.surfaces(),
            ),
            Self::WrongConfig(errors) => writeln!(out, "{}", Rendered(reporter, errors)),
            Self::WrongPolicies { errors, .. } => writeln!(out, "{}", Rendered(reporter, errors)),
        }
    }

    fn tell_programs(&self, file: String, out: &mut dyn Write) -> io::Result<()> {
        let mut problems: Vec<_> = self.warnings().iter().map(Problem::in_config).collect();
        match self {
            Self::Valid { .. } => {}
            Self::WrongConfig(errors) => {
                problems.extend(errors.problems().iter().map(Problem::in_config));
            }
            Self::WrongPolicies { errors, .. } => Problem::collect(errors, &mut problems),
        }
        let mut outcome = Outcome {
            schema: 1,
            file,
            valid: false,
            surfaces: None,
            revision: None,
            problems,
        };
        if let Self::Valid { config, revision } = self {
            outcome.valid = true;
            outcome.surfaces = Some(config.policy.surfaces());
            outcome.revision = Some(revision.clone());
        }
        serde_json::to_writer(&mut *out, &outcome)?;
        writeln!(out)
    }

    fn warnings(&self) -> &[ConfigError] {
        match self {
            Self::Valid { config, .. } => &config.warnings,
            Self::WrongConfig(_) => &[],
            Self::WrongPolicies { warnings, .. } => warnings,
        }
    }
}

impl Problem {
    fn in_config(error: &ConfigError) -> Self {
        let field = Some(error.field())
            .filter(|field| !field.is_empty())
            .map(str::to_owned);
        Self {
            field,
            ..Self::new(error)
        }
    }

    /// A diagnostic that only gathers others says nothing of its own.
    fn collect(diagnostic: &dyn Diagnostic, problems: &mut Vec<Self>) {
        let mut related = diagnostic.related().into_iter().flatten().peekable();
        if related.peek().is_none() {
            problems.push(Self::new(diagnostic));
        }
        for diagnostic in related {
            Self::collect(diagnostic, problems);
        }
    }

    fn new(diagnostic: &dyn Diagnostic) -> Self {
        let place = diagnostic.labels().and_then(|mut labels| labels.next());
        let contents = place
            .zip(diagnostic.source_code())
            .and_then(|(place, source)| source.read_span(place.inner(), 0, 0).ok());
        let from_one = |number: usize| number.saturating_add(1);
        Self {
            severity: match diagnostic.severity().unwrap_or_default() {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Advice => "advice",
            },
            code: diagnostic.code().map(|code| code.to_string()),
            field: None,
            message: diagnostic.to_string(),
            help: diagnostic.help().map(|help| help.to_string()),
            file: contents
                .as_ref()
                .and_then(|contents| contents.name().map(str::to_owned)),
            line: contents.as_ref().map(|contents| from_one(contents.line())),
            column: contents
                .as_ref()
                .map(|contents| from_one(contents.column())),
        }
    }
}

/// A diagnostic as the reporter draws it, which knows of `NO_COLOR` and of terminals.
struct Rendered<'d>(&'d dyn ReportHandler, &'d dyn Diagnostic);

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(self.1, f)
    }
}
