//! One of several servers beside the lock of all.

use std::io::{self, Write};

use serde::Serialize;

use super::compare::Differences;
use super::failure::ToolsFailure;
use super::lock_path::LockPath;
use crate::config::Config;
use crate::loading::{LockFile, LockedItem};
use crate::policy::ServerKey;

/// How a server differs from the lock of its configuration.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct LockComparison {
    lock: String,
    #[serde(flatten)]
    differences: Differences,
}

impl LockComparison {
    /// `None` if there is no lock.
    pub(in crate::cli) fn of(
        config: &Config,
        server: &ServerKey,
        offered: LockFile,
    ) -> Result<Option<Self>, ToolsFailure> {
        let Some(dir) = config.policy.dir.as_deref() else {
            return Ok(None);
        };
        let place = LockPath::in_directory(dir);
        let mut keys: Vec<ServerKey> = config.servers.keys().cloned().collect();
        if !keys.contains(server) {
            keys.push(server.clone());
        }
        let Some(found) = place.read(&keys)? else {
            return Ok(None);
        };
        let mut offered = offered.of_server(server);
        offered.keep_others(&found, std::slice::from_ref(server));
        Ok(Some(Self {
            lock: place.shown(),
            differences: Differences::between(Some(&found), &offered),
        }))
    }

    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// Whether the lock says otherwise of a tool, which the gate denies then.
    pub(in crate::cli) fn has_tool(&self, id: &str) -> bool {
        let mut all = self.differences.all();
        all.any(|item| item == LockedItem::Tool(id))
    }

    pub(in crate::cli) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_empty() {
            return writeln!(out, "{}: no difference", self.lock);
        }
        self.differences.write(out)
    }
}
