//! The clients' files, rewritten all or none.

use std::env;
use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::failure::InitFailure;
use super::gate_text::{GATE_FILE, GateServers};
use super::sources::{Source, Sources};
use crate::clients::{Attachment, FileChange};

/// Files that lead through the gate now.
pub(super) struct WrappedFiles<'s>(pub(super) Vec<WrappedFile<'s>>);

pub(super) struct WrappedFile<'s> {
    pub(super) source: &'s Source,
    pub(super) change: FileChange,
    attachments: Vec<Attachment>,
}

impl WrappedFiles<'_> {
    /// As far as that is possible: the backup remains where it is not.
    pub(super) fn undo(&self) {
        for wrapped in &self.0 {
            if wrapped.change == FileChange::Written {
                let _ = wrapped.source.file.undo(&wrapped.attachments);
            }
        }
    }
}

/// The link on the PATH that leads to this program, or else its own path. An update of a package replaces the file behind
/// the link.
fn link_on_path(program: PathBuf, path: Option<&OsStr>) -> PathBuf {
    let Ok(file) = program.canonicalize() else {
        return program;
    };
    let name = format!("mcp-protector{EXE_SUFFIX}");
    let directories = path.into_iter().flat_map(env::split_paths);
    let mut links = directories
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(&name));
    links
        .find(|link| link.canonicalize().is_ok_and(|it| it == file))
        .unwrap_or(program)
}

pub(super) fn wrap<'s>(
    sources: &'s Sources,
    servers: &GateServers,
    dir: &Path,
) -> Result<WrappedFiles<'s>, InitFailure> {
    let config = dir.join(GATE_FILE);
    let program =
        env::current_exe().map_err(|cause| InitFailure::Path("mcp-protector".into(), cause))?;
    let program = link_on_path(program, env::var_os("PATH").as_deref());
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| InitFailure::NotUtf8(path.to_owned()))
    };
    let (config, program) = (text(&config)?, text(&program)?);
    let mut wrapped = WrappedFiles(Vec::new());
    for (at, source) in sources.0.iter().enumerate() {
        let attachments: Vec<Attachment> = servers
            .entries_of(at)
            .filter_map(|(entry, key)| {
                let entry = source.entries.get(entry)?;
                Some(Attachment::new(entry, &program, key, &config))
            })
            .collect();
        match source.file.wrap(&attachments) {
            Ok(change) => wrapped.0.push(WrappedFile {
                source,
                change,
                attachments,
            }),
            Err(errors) => {
                wrapped.undo();
                return Err(errors.into());
            }
        }
    }
    Ok(wrapped)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn a_program_is_called_by_the_link_on_the_path_that_leads_to_it() {
        use std::fs;
        use std::os::unix::fs::symlink;

        use super::*;

        let temporary = tempfile::tempdir().unwrap();
        let inside = |name: &str| temporary.path().canonicalize().unwrap().join(name);
        for directory in ["1.0", "links", "other"] {
            fs::create_dir(inside(directory)).unwrap();
        }
        let program = inside("1.0/mcp-protector");
        fs::write(&program, "").unwrap();
        fs::write(inside("other/mcp-protector"), "").unwrap();
        symlink(&program, inside("links/mcp-protector")).unwrap();
        let check = |path: &[PathBuf], expected: &Path| {
            let path = env::join_paths(path).unwrap();
            assert_eq!(link_on_path(program.clone(), Some(&path)), expected);
        };
        check(
            &[inside("other"), inside("links")],
            &inside("links/mcp-protector"),
        );
        check(&[inside("other"), inside("missing")], &program);
        check(&["links".into()], &program);
        assert_eq!(link_on_path(program.clone(), None), program);
    }
}
