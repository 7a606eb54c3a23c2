//! Files of the policy directory that no engine reads: which of them may lie there.

use std::path::Path;

use strsim::osa_distance;

use super::engines::EngineKinds;
use super::labels;
use super::manifest;

/// How far from an extension another one is taken for a misspelling of it. Short ones are near to
/// too many words.
const NEAR: [(&str, usize); 2] = [("cedar", 2), ("rego", 1)];

/// What a file is that no engine reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnrecognizedFile {
    /// It looks like no policy.
    Aside,
    /// An editor's copy of a policy that is there under its own name.
    CopyOf(String),
    /// Its author may believe that it is in force.
    Doubtful { meant: Option<String> },
}

impl UnrecognizedFile {
    /// `inside` is the file's path below the policy directory, `path` the whole of it.
    pub(super) fn of(inside: &Path, path: &Path, engines: &EngineKinds) -> Self {
        let exact = path.file_name().unwrap_or_default().to_string_lossy();
        let name = exact.to_ascii_lowercase();
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        let begins = |begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
        let of_tests = is_of_tests(inside);
        if !of_tests && name == "manifest" {
            let is_inside = inside.parent().is_some_and(|above| above != Path::new(""));
            // Deeper down it would say nothing of the files beside it.
            let meant = (!is_inside).then(|| manifest::FILE.to_owned());
            return Self::Doubtful { meant };
        }
        if !of_tests && let Some(meant) = labels::meant(&name) {
            let meant = Some(meant.to_owned());
            return Self::Doubtful { meant };
        }
        // Fixtures of tests lie beside policies or below them; editors find schemas there. But
        // `deny.cedar.md` is a policy that was saved with one ending too many.
        let is_of_language = [".cedar.", ".rego.", ".cel."]
            .iter()
            .any(|part| name.contains(part));
        if !is_of_language && ends(&[".md", ".toml", ".cedarschema", ".cedarschema.json"]) {
            return Self::Aside;
        }
        if let Some(meant) = meant(&exact) {
            let original = path.with_file_name(&meant);
            let is_copy = ends(&["~", ".bak", ".orig", "#"]) && engines.claims(&original);
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
    for (extension, _) in NEAR {
        if let Some(at) = lower.rfind(&format!(".{extension}")) {
            return Some(format!("{}.{extension}", name.get(..at)?));
        }
    }
    if let Some(at) = lower.rfind(".cel") {
        let rest = lower.get(at + ".cel".len()..)?;
        if !rest.starts_with(char::is_alphanumeric) {
            return Some(format!("{}.cel.toml", name.get(..at)?));
        }
    }
    let (stem, written) = name.rsplit_once('.')?;
    let written = written.to_ascii_lowercase();
    let near = |(extension, near): &(&str, usize)| osa_distance(&written, extension) <= *near;
    let (extension, _) = NEAR.iter().find(|row| near(row))?;
    Some(format!("{stem}.{extension}"))
}
