//! Files of the policy directory that no engine reads: which of them may lie there.

use std::path::Path;

use strsim::osa_distance;

use super::labels;
use crate::policy::EngineKind;

/// How the names of policies end.
const EXTENSION: &str = "cedar";

/// How far from [`EXTENSION`] another one is taken for a misspelling of it.
const NEAR: usize = 2;

/// What a file is that no engine reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unclaimed {
    /// Nobody takes it for a policy.
    Aside,
    /// It would mean something to a later version of the gate.
    NotYet,
    /// An editor's copy of a policy that is there under its own name.
    CopyOf(String),
    /// A policy in a language that this gate does not have.
    OtherLanguage,
    /// Its author may believe that it is in force.
    Doubtful { meant: Option<String> },
}

impl Unclaimed {
    /// `inside` is the file's path below the policy directory, `path` the whole of it.
    pub(super) fn of(inside: &Path, path: &Path, engine: &dyn EngineKind) -> Self {
        let exact = path.file_name().unwrap_or_default().to_string_lossy();
        let name = exact.to_ascii_lowercase();
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        let begins = |begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
        if ends(&[".rego", ".cel.toml"]) {
            return Self::OtherLanguage;
        }
        if name == "manifest" {
            return Self::NotYet;
        }
        let of_tests = is_of_tests(inside);
        if !of_tests && let Some(meant) = labels::meant(&name) {
            let meant = Some(meant.to_owned());
            return Self::Doubtful { meant };
        }
        // Fixtures of tests lie beside policies or below them; editors find schemas there. But
        // `deny.cedar.md` is a policy that was saved with one ending too many.
        if !name.contains(".cedar.") && ends(&[".md", ".toml", ".cedarschema", ".cedarschema.json"])
        {
            return Self::Aside;
        }
        if let Some(meant) = meant(&exact) {
            let original = path.with_file_name(&meant);
            let is_copy = ends(&["~", ".bak", ".orig", "#"]) && engine.claims(&original);
            return if is_copy && original.is_file() {
                Self::CopyOf(meant)
            } else {
                Self::Doubtful { meant: Some(meant) }
            };
        }
        if of_tests || begins(&["readme", "license", "licence"]) {
            return Self::Aside;
        }
        Self::Doubtful { meant: None }
    }
}

/// Whether a file below the policy directory lies in one of tests.
pub(super) fn is_of_tests(inside: &Path) -> bool {
    let above = inside.parent();
    above.is_some_and(|above| above.iter().any(|part| part == "tests"))
}

/// The name that the author of this one may have had in mind.
fn meant(name: &str) -> Option<String> {
    let name = name.trim_start_matches('#');
    let lower = name.to_ascii_lowercase();
    let stem = if let Some(at) = lower.rfind(&format!(".{EXTENSION}")) {
        name.get(..at)?
    } else {
        let (stem, extension) = name.rsplit_once('.')?;
        let distance = osa_distance(&extension.to_ascii_lowercase(), EXTENSION);
        (distance <= NEAR).then_some(stem)?
    };
    Some(format!("{stem}.{EXTENSION}"))
}
