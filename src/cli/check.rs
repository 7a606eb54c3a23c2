//! `check`: what is wrong with policies, labels and tests, and what looks wrong.

mod derived;
mod diagnostics;
mod report;
mod target;
#[cfg(test)]
mod tests;

use std::io::Write;

pub use self::derived::run as run_policy;
use self::diagnostics::{BoxedDiagnostic, CheckFindings, IgnoredFindings, one};
use self::report::finish;
use self::target::CheckTarget;
use super::args::CheckArgs;
use super::exit::Exit;
use crate::lint::Lint;
use crate::loading::WarningMode;
use crate::policy::PolicyProblem;
use crate::policy_tests;

/// Checks what the arguments name. What people read goes to `stderr`, anything else to `stdout`.
pub fn run(args: &CheckArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    finish(check(args), args.format, stdout, stderr)
}

fn check(args: &CheckArgs) -> Result<CheckFindings, Vec<BoxedDiagnostic>> {
    let without = without(&args.ignore)?;
    let targets = targets(args)?;
    let (mut told, mut builtin) = (Vec::new(), Vec::new());
    for target in &targets {
        told.extend(target.look(&without, &mut builtin)?);
    }
    let warnings = targets
        .first()
        .map_or(WarningMode::Error, CheckTarget::warnings);
    let checked = targets.into_iter().map(|target| target.name).collect();
    Ok(CheckFindings {
        told,
        checked,
        builtin,
        wrote: None,
        warnings,
    })
}

fn targets(args: &CheckArgs) -> Result<Vec<CheckTarget>, Vec<BoxedDiagnostic>> {
    if let Some(file) = &args.config {
        return CheckTarget::of_configuration(file);
    }
    if args.paths.is_empty() {
        let problem = PolicyProblem::error("check::nothing_named", "there is nothing to check")
            .with_help(
                "name a pack (`mcp-protector check policies/`) or a configuration \
                 (`mcp-protector check --config gate.toml`)",
            );
        return Err(one(problem));
    }
    let packs = policy_tests::packs(&args.paths).map_err(|errors| {
        // No test is to run here, as these say together.
        let problems = errors.problems.into_iter();
        problems
            .map(|problem| Box::new(problem) as BoxedDiagnostic)
            .collect::<Vec<_>>()
    })?;
    Ok(packs.into_iter().map(CheckTarget::pack).collect())
}

/// What the loader remarks of policies that are in order, and a team may be content with.
const NOTICES: [&str; 1] = ["policy::untyped"];

/// What is left out; a name that nothing has is a mistake, not a wish that is met.
fn without(names: &[String]) -> Result<IgnoredFindings, Vec<BoxedDiagnostic>> {
    let mut without = IgnoredFindings::default();
    let mut problems: Vec<BoxedDiagnostic> = Vec::new();
    for name in names {
        match (Lint::named(name), NOTICES.iter().find(|code| *code == name)) {
            (Some(lint), _) => without.lints.push(lint),
            (None, Some(code)) => without.notices.push(code),
            (None, None) => problems.push(Box::new(Lint::unknown(name))),
        }
    }
    if problems.is_empty() {
        Ok(without)
    } else {
        Err(problems)
    }
}
