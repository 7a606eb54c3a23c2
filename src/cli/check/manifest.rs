//! `check --write-manifest`.

use std::path::Path;

use super::super::whole;
use super::look::Target;
use super::{Found, Told, one};
use crate::cli::args::CheckArgs;
use crate::loading::{self, MANIFEST_FILE};
use crate::policy::PolicyProblem;

/// Writes what the directory holds into its manifest. What is wrong with its policies is found, and
/// then nothing is written.
pub(super) fn write(dir: &Path, args: &CheckArgs) -> Result<Found, Vec<Told>> {
    let target = Target::pack(dir.to_owned(), args);
    let text = match loading::manifest(target.settings()) {
        Ok(text) => text,
        Err(errors) => {
            let told = errors.problems.into_iter();
            return Ok(Found {
                told: told.map(|problem| Box::new(problem) as Told).collect(),
                checked: vec![target.name],
                wrote: None,
            });
        }
    };
    let file = dir.join(MANIFEST_FILE);
    let shown = file.display().to_string();
    whole::write(&file, &text).map_err(|error| {
        let message = format!("`{shown}` cannot be written: {error}");
        one(PolicyProblem::error("check::manifest", message))
    })?;
    Ok(Found {
        told: Vec::new(),
        checked: vec![target.name],
        wrote: Some(shown),
    })
}
