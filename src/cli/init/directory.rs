//! The directory of the configuration: complete, and nothing over what is there.

use std::fs;
use std::path::Path;

use super::failure::InitFailure;
use super::gate_text::{ENV_FILE, GATE_FILE, GateServers};
use super::listing::Listing;
use crate::cli::proxy;
use crate::cli::suggest::{DraftDirectory, OutputPlace, SuggestFailure};
use crate::config::Config;
use crate::loading;

/// Among the policies, where the gate and `tools` look for it.
const LOCK: &str = "policies/tools.lock";

/// One that is written, and in its place only if it is kept.
pub(super) struct GateDirectory(DraftDirectory);

impl GateDirectory {
    /// Found before any server starts, which could put links there.
    pub(super) fn place(dir: &Path) -> Result<OutputPlace, SuggestFailure> {
        OutputPlace::of(dir)
    }

    /// Fails unless the gate can load what is written.
    pub(super) fn write(
        place: OutputPlace,
        servers: &GateServers,
        listing: &Listing,
    ) -> Result<Self, InitFailure> {
        let mut draft = listing.servers.draft();
        let text = servers.text(&|key| listing.is_answered(key), "");
        draft.files.push((GATE_FILE, text));
        draft.files.push((LOCK, listing.lock.text()));
        draft
            .files
            .extend(servers.env_text().map(|text| (ENV_FILE, text)));
        let written = Self(DraftDirectory::write(&draft, place)?);
        for name in [GATE_FILE, ENV_FILE] {
            let file = written.0.files().join(name);
            if file.exists() {
                owners_alone(&file)?;
            }
        }
        let config = Config::load_all(&written.0.files().join(GATE_FILE))?;
        loading::load(&proxy::policy_settings(&config))?;
        Ok(written)
    }

    pub(super) fn keep(self) -> Result<(), SuggestFailure> {
        self.0.keep()
    }
}

fn owners_alone(file: &Path) -> Result<(), InitFailure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(file, mode)
            .map_err(|cause| InitFailure::Path(file.to_owned(), cause))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Whether a configuration that exists has these servers.
pub(super) fn has_servers(file: &Path, servers: &GateServers) -> Result<(), InitFailure> {
    let config = Config::load_all(file)?;
    let known = |key: &str| config.servers.keys().any(|known| known.as_str() == key);
    match servers.keys().find(|key| !known(key)) {
        Some(key) => Err(InitFailure::Missing(file.to_owned(), key.to_owned())),
        None => Ok(()),
    }
}
