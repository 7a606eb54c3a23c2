//! What a configuration says of what sessions have read.

use std::path::{Path, PathBuf};

/// Where it is kept, and under which names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ratchet {
    /// The journal; without it what is held ends with the gate.
    pub file: Option<PathBuf>,
    /// What it is sealed with; beside it unless another place is named.
    pub key_file: Option<PathBuf>,
    /// Sessions that are remembered.
    pub max_sessions: usize,
    /// The session of an agent on standard streams.
    pub session: Option<String>,
    /// A header that names the session, in lower case.
    pub session_header: Option<String>,
    pub server_datasets: ServerDatasets,
}

/// What becomes of the private data sets that the server names in its results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerDatasets {
    /// They are taken out.
    #[default]
    Ignore,
    /// The session has read them.
    Trust,
}

impl Default for Ratchet {
    fn default() -> Self {
        Self {
            file: None,
            key_file: None,
            max_sessions: 100_000,
            session: None,
            session_header: None,
            server_datasets: ServerDatasets::Ignore,
        }
    }
}

impl Ratchet {
    /// The journal and its key.
    pub fn journal(&self) -> Option<(&Path, PathBuf)> {
        let file = self.file.as_deref()?;
        let key = self.key_file.clone().unwrap_or_else(|| {
            let mut name = file.as_os_str().to_owned();
            name.push(".key");
            name.into()
        });
        Some((file, key))
    }
}
