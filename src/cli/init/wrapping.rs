//! The clients' files, rewritten all or none.

use std::env;
use std::path::{Path, PathBuf};

use super::failure::InitFailure;
use super::gate_text::{GATE_FILE, GateServers};
use super::sources::{Source, Sources};
use crate::clients::{Attachment, ClientErrors, ClientFile, FileChange};

/// Files that lead through the gate now.
pub(super) struct WrappedFiles<'s>(pub(super) Vec<(&'s Source, FileChange)>);

impl WrappedFiles<'_> {
    /// As far as that is possible: the backup remains where it is not.
    pub(super) fn undo(&self) {
        for (source, change) in &self.0 {
            if *change == FileChange::Written {
                let file = ClientFile::open(&source.path, source.client);
                let _ = file.and_then(|file| file.unwrap());
            }
        }
    }
}

pub(super) fn wrap<'s>(
    sources: &'s Sources,
    servers: &GateServers,
    dir: &Path,
) -> Result<WrappedFiles<'s>, InitFailure> {
    let config = dir.join(GATE_FILE);
    let program =
        env::current_exe().map_err(|cause| InitFailure::Path("mcp-protector".into(), cause))?;
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
            Ok(change) => wrapped.0.push((source, change)),
            Err(errors) => {
                wrapped.undo();
                return Err(errors.into());
            }
        }
    }
    Ok(wrapped)
}

/// Each file by itself: one that was edited keeps no other from being restored.
pub(super) fn unwrap(sources: &Sources) -> Result<Vec<(PathBuf, FileChange)>, ClientErrors> {
    let mut restored = Vec::new();
    let mut failed = None;
    for source in &sources.0 {
        match source.file.unwrap() {
            Ok(change) => restored.push((source.path.clone(), change)),
            Err(errors) => failed = failed.or(Some(errors)),
        }
    }
    failed.map_or(Ok(restored), Err)
}
