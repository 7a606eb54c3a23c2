//! The directory of the configuration: complete, and nothing over what is there.

use std::path::Path;

use secrecy::SecretString;

use super::failure::InitFailure;
use super::gate_text::{ENV_FILE, GATE_FILE, GateServers};
use super::listing::Listing;
use crate::cli::proxy;
use crate::cli::suggest::{DraftDirectory, OutputPlace, SuggestFailure};
use crate::config::{Bearer, Config, ServerAuth, Upstream};
use crate::loading;
use crate::secret;

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
        let config = Config::load(&written.0.files().join(GATE_FILE))?;
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
        use std::fs;
        use std::os::unix::fs::PermissionsExt as _;

        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(file, mode)
            .map_err(|cause| InitFailure::Path(file.to_owned(), cause))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Fails unless a configuration that exists starts and reaches these servers in the same way, under the same keys: a
/// client's entry must not lead to another server of that name.
pub(super) fn has_servers(file: &Path, servers: &GateServers) -> Result<(), InitFailure> {
    let dir = file.parent().unwrap_or(file);
    let wanted = servers.config(dir, "")?;
    let config = Config::load(file)?;
    for (key, wanted) in &wanted.servers {
        let known = config.servers.get(key);
        let known = known.ok_or_else(|| InitFailure::Missing(file.to_owned(), key.to_string()))?;
        if let Some(what) = difference(known, wanted) {
            return Err(InitFailure::Differs(file.to_owned(), key.to_string(), what));
        }
    }
    Ok(())
}

/// The first key that says something else. The gate may have more variables, a token from elsewhere, and a directory
/// of its own.
fn difference(known: &Upstream, wanted: &Upstream) -> Option<&'static str> {
    if known.command != wanted.command {
        return Some("command");
    }
    let url = |of: &Upstream| of.http.as_ref().map(|http| http.url.clone());
    if url(known) != url(wanted) {
        return Some("url");
    }
    let is_there = |(name, value): (&String, &SecretString)| {
        let known = known.env.get(name);
        known.is_some_and(|known| secret::are_same(known, value))
    };
    if !wanted.env.iter().all(is_there) {
        return Some("env");
    }
    match (token(known), token(wanted)) {
        (Some(known), Some(wanted)) if !secret::are_same(known, wanted) => Some("auth"),
        (_, _) => None,
    }
}

fn token(of: &Upstream) -> Option<&SecretString> {
    match of.http.as_ref()?.auth.as_ref()? {
        ServerAuth::Bearer(Bearer::Value(token)) => Some(token),
        ServerAuth::Bearer(Bearer::File(_)) | ServerAuth::Client(_) | ServerAuth::Exchange(_) => {
            None
        }
    }
}
