//! The clients' files, rewritten all or none.

use std::env;
use std::path::Path;

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
