//! The policy directory: which files count, read whole and in a fixed order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::engines::{EXTENSIONS, EngineKinds};
use super::labels;
use super::manifest::{self, MAX_FILE};
use super::source_name::source_name;
use super::unrecognized_files::{self, UnrecognizedFile};
use crate::policy::{PolicyProblem, PolicySnapshot, PolicySource, ServerKey};

/// The code of what is said of a file that is not read.
const UNREAD: &str = "policy::unrecognized_file";

/// Files that no engine reads and that are told one by one.
const MOST_UNREAD: usize = 20;

const ASIDE: &str = "what is no policy belongs elsewhere, or begins with a dot";

/// What was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    root: PathBuf,
    /// The server whose own policies it holds.
    server: Option<ServerKey>,
    pub(super) sources: Vec<PolicySource>,
    /// Files of labels: `agents.toml`, `tools.toml` and `tools.lock`.
    pub(super) labels: Vec<PolicySource>,
    /// What says which files there are.
    manifest: Option<PolicySource>,
    pub(super) problems: Vec<PolicyProblem>,
    pub(super) notices: Vec<PolicyProblem>,
    /// What the directory of the shadow policy holds.
    pub(super) shadow: Option<Box<Self>>,
    /// The manifests of all that is here, one for each directory.
    manifests: Vec<Option<PolicySource>>,
}

impl Directory {
    /// Dot-entries are skipped, symbolic links are followed; order is that of the file names' bytes.
    pub(super) fn read(&mut self, dir: &Path, engines: &EngineKinds) {
        dir.clone_into(&mut self.root);
        self.walk(dir, engines, &mut Vec::new());
        self.sum_up_unread();
        if self.sources.is_empty() && self.problems.is_empty() {
            let message = format!("`{}` holds no policy file", dir.display());
            self.notices
                .push(PolicyProblem::warning("policy::empty_dir", message));
        }
    }

    /// What the directory holds, which has to be what its manifest says, if there is one.
    pub(super) fn checked(dir: &Path, server: Option<&ServerKey>, engines: &EngineKinds) -> Self {
        let mut found = Self {
            server: server.cloned(),
            ..Self::default()
        };
        found.read(dir, engines);
        if let Some(manifest) = &found.manifest {
            let files: Vec<_> = found.files().collect();
            let problems = manifest::check(&found.root, manifest, &files);
            found.problems.extend(problems);
        }
        found.manifests.push(found.manifest.take());
        found
    }

    /// Adds what another directory holds.
    pub(super) fn add(&mut self, other: Self) {
        self.sources.extend(other.sources);
        self.labels.extend(other.labels);
        self.problems.extend(other.problems);
        self.notices.extend(other.notices);
        self.manifests.extend(other.manifests);
    }

    /// Whether manifests say of all files that they are what is meant.
    pub(super) fn has_manifest(&self) -> bool {
        !self.manifests.is_empty() && self.manifests.iter().all(Option::is_some)
    }

    /// What a manifest would have to say.
    pub(super) fn listing(&self) -> String {
        manifest::text(&self.root, self.files())
    }

    /// Everything that is read.
    fn files(&self) -> impl Iterator<Item = &PolicySource> {
        self.sources.iter().chain(&self.labels)
    }

    /// Whether two readings found the same.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let problems = |of: &Self| -> Vec<String> {
            let all = of.problems.iter().chain(&of.notices);
            all.map(ToString::to_string).collect()
        };
        self.sources == other.sources
            && self.labels == other.labels
            && self.manifests == other.manifests
            && problems(self) == problems(other)
            && match (&self.shadow, &other.shadow) {
                (Some(one), Some(other)) => one.is_same_as(other),
                (one, other) => one.is_none() && other.is_none(),
            }
    }

    /// Whether a snapshot was made of exactly this.
    pub(super) fn is_in_force(&self, snapshot: &PolicySnapshot) -> bool {
        let same = self.has_manifest() == snapshot.has_manifest();
        let shadow = match (&self.shadow, snapshot.shadow()) {
            (Some(found), Some(shadow)) => found.is_in_force(shadow),
            (found, shadow) => found.is_none() && shadow.is_none(),
        };
        same && shadow && self.problems.is_empty() && self.files().eq(of_files(snapshot))
    }

    /// `above` are the real paths of the directories that are being walked.
    fn walk(&mut self, dir: &Path, engines: &EngineKinds, above: &mut Vec<PathBuf>) {
        let (real, entries) = match entries(dir) {
            Ok(found) => found,
            Err(error) => return self.refuse(dir, &error.to_string()),
        };
        if above.contains(&real) {
            return self.refuse(dir, "a symbolic link leads back to a directory above it");
        }
        above.push(real);
        for path in entries {
            match fs::metadata(&path) {
                Ok(kind) if kind.is_dir() => self.walk(&path, engines, above),
                Ok(kind) if kind.is_file() => self.file(&path, kind.len(), engines),
                // A pipe would hold up the start for ever.
                Ok(_) => self.refuse(&path, "neither a file nor a directory"),
                Err(error) => self.refuse(&path, &error.to_string()),
            }
        }
        above.pop();
    }

    fn file(&mut self, path: &Path, size: u64, engines: &EngineKinds) {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        // A fixture may have the name of what it tests.
        let is_labels = labels::claims(path) && !unrecognized_files::is_of_tests(inside);
        let is_manifest = manifest::claims(inside);
        if !is_labels && !is_manifest && !engines.claims(path) {
            return self.unclaimed(path, engines);
        }
        if size > MAX_FILE {
            return self.refuse(path, &format!("larger than {MAX_FILE} bytes"));
        }
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => return self.refuse(path, &error.to_string()),
        };
        match String::from_utf8(bytes) {
            Ok(text) if text.starts_with('\u{feff}') => self.marked(path),
            Ok(text) => {
                let (name, text) = (source_name(path).into(), text.into());
                let source = PolicySource {
                    name,
                    text,
                    server: self.server.clone(),
                };
                if is_manifest {
                    self.manifest = Some(source);
                } else if is_labels {
                    self.labels.push(source);
                } else {
                    self.sources.push(source);
                }
            }
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                self.refuse(path, &format!("not UTF-8 at byte {offset}"));
            }
        }
    }

    /// An unread rule must not look as if it were in force.
    fn unclaimed(&mut self, path: &Path, engines: &EngineKinds) {
        let shown = path.display();
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let problem = match UnrecognizedFile::of(inside, path, engines) {
            UnrecognizedFile::Aside => return,
            UnrecognizedFile::CopyOf(original) => {
                let message = format!("`{shown}` is not read, `{original}` beside it is");
                return self.notices.push(PolicyProblem::warning(UNREAD, message));
            }
            UnrecognizedFile::Doubtful { meant } => {
                let help = match meant {
                    Some(meant) => format!("did you mean `{meant}`? {ASIDE}"),
                    None => format!("names of policies end in {}; {ASIDE}", endings()),
                };
                let message = format!("`{shown}`: no engine reads a file of this name");
                PolicyProblem::error(UNREAD, message).with_help(help)
            }
        };
        self.problems.push(problem);
    }

    /// A directory that is none of policies would be told file by file.
    fn sum_up_unread(&mut self) {
        let is_unread = |problem: &PolicyProblem| problem.code == UNREAD;
        let all = self.problems.iter().filter(|it| is_unread(it)).count();
        let left_out = all.saturating_sub(MOST_UNREAD);
        if left_out == 0 {
            return;
        }
        let mut told = 0;
        self.problems.retain(|problem| {
            told += usize::from(is_unread(problem));
            !is_unread(problem) || told <= MOST_UNREAD
        });
        let message = format!("and {left_out} more files of names that no engine reads");
        let help = "is this the directory of the policies?";
        self.problems
            .push(PolicyProblem::error(UNREAD, message).with_help(help));
    }

    /// The text would be another one than the bytes that digests are made of.
    fn marked(&mut self, path: &Path) {
        let message = format!("`{}` begins with a byte order mark", path.display());
        let help = "save it as UTF-8 without the mark (U+FEFF), which is invisible and no \
                    part of any policy";
        self.problems
            .push(PolicyProblem::error("policy::file", message).with_help(help));
    }

    fn refuse(&mut self, path: &Path, why: &str) {
        let message = format!("`{}`: {why}", path.display());
        self.problems
            .push(PolicyProblem::error("policy::file", message));
    }
}

/// The texts of a snapshot that came from files, as they were: neither built in nor compiled.
pub(super) fn of_files(snapshot: &PolicySnapshot) -> impl Iterator<Item = &PolicySource> {
    let sources = snapshot.sources().iter();
    sources.filter(|source| !source.name.starts_with('<'))
}

fn endings() -> String {
    EXTENSIONS.map(|ending| format!("`.{ending}`")).join(", ")
}

fn entries(dir: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let real = fs::canonicalize(dir)?;
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok((real, entries))
}
