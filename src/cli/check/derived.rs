//! `policy`: the schema, the allowlist and the manifest.

use std::io::Write;
use std::path::Path;

use super::super::atomic_write;
use super::diagnostics::{BoxedDiagnostic, CheckFindings, one};
use super::report::finish;
use super::target::CheckTarget;
use crate::cli::args::{CheckFormat, PolicyArgs, PolicyCommand};
use crate::cli::exit::{Exit, heard};
use crate::cli::suggest;
use crate::config::Config;
use crate::loading::{self, MANIFEST_FILE};
use crate::policy::PolicyProblem;
use crate::policy::engines::allowlist::CompiledAllowlist;
use crate::policy::engines::cedar::BASE_SCHEMA;

/// Runs `policy`. Problems for people go to `stderr`, anything else to `stdout`.
pub fn run(args: &PolicyArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let text = match &args.command {
        PolicyCommand::Schema { dir, config } => schema(dir.as_deref(), config.as_deref()),
        PolicyCommand::Allowlist { config } => allowlist(config),
        PolicyCommand::Suggest {
            audit,
            config,
            live,
            output,
        } => {
            return match live {
                Some(live) => suggest::run_live(live, output, stdout, stderr),
                None => suggest::run(audit, config.as_deref(), output, stdout, stderr),
            };
        }
        PolicyCommand::Manifest { dir, format } => {
            return finish(write_manifest(dir), *format, stdout, stderr);
        }
    };
    match text {
        Ok(text) => match heard(write!(stdout, "{text}").and_then(|()| stdout.flush())) {
            Ok(()) => Exit::Success,
            Err(_) => Exit::NotChecked,
        },
        Err(problems) => finish(Err(problems), CheckFormat::Human, stdout, stderr),
    }
}

/// The schema, with the types that a lock adds.
fn schema(dir: Option<&Path>, config: Option<&Path>) -> Result<String, Vec<BoxedDiagnostic>> {
    let target = match (dir, config) {
        (_, Some(file)) => CheckTarget::of_configuration(file)?.into_iter().next(),
        (Some(dir), None) => Some(CheckTarget::pack(dir.to_owned())),
        (None, None) => None,
    };
    target.map_or_else(|| Ok(BASE_SCHEMA.to_owned()), |target| target.schema())
}

/// The allowlist of a configuration, as the engine gets it.
fn allowlist(file: &Path) -> Result<String, Vec<BoxedDiagnostic>> {
    let config = Config::load_offline(file).map_err(one)?;
    match &config.policy.allow {
        Some(names) => Ok(CompiledAllowlist::of(names).to_string()),
        None => Err(one(PolicyProblem::error(
            "check::no_allowlist",
            "the configuration has no `policy.allow`",
        ))),
    }
}

/// Writes the manifest of a directory, unless its policies have errors.
fn write_manifest(dir: &Path) -> Result<CheckFindings, Vec<BoxedDiagnostic>> {
    let target = CheckTarget::pack(dir.to_owned());
    let text = match loading::manifest(target.settings()) {
        Ok(text) => text,
        Err(errors) => {
            let told = errors.problems.into_iter();
            return Ok(CheckFindings {
                told: told
                    .map(|problem| Box::new(problem) as BoxedDiagnostic)
                    .collect(),
                checked: vec![target.name.clone()],
                builtin: Vec::new(),
                wrote: None,
                warnings: target.warnings(),
            });
        }
    };
    let file = dir.join(MANIFEST_FILE);
    let shown = file.display().to_string();
    atomic_write::write(&file, &text).map_err(|error| {
        let message = format!("`{shown}` cannot be written: {error}");
        one(PolicyProblem::error("check::manifest", message))
    })?;
    Ok(CheckFindings {
        told: Vec::new(),
        checked: vec![target.name.clone()],
        builtin: Vec::new(),
        wrote: Some(shown),
        warnings: target.warnings(),
    })
}
