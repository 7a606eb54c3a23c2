//! What each server lists, asked of all of them at the same time, a few at once.

use std::io::Write;
use std::path::Path;
use std::thread;

use super::failure::InitFailure;
use super::gate_text::GateServers;
use crate::cli::suggest::ListedDefinitions;
use crate::cli::tools::{self, ToolsFailure};
use crate::config::Config;
use crate::drafts::{ListedServer, ServerPlace, SeveralServers};
use crate::loading::LockFile;
use crate::policy::ServerKey;

/// Servers that run at once.
const AT_ONCE: usize = 8;

/// For one answer of a server: `npx` and `uvx` may install it first.
const LIMITS: &str = "\n[limits]\nrequest_timeout = \"30s\"\n";

/// What the servers list.
pub(super) struct Listing {
    pub(super) servers: SeveralServers,
    /// Their definitions.
    pub(super) lock: LockFile,
    /// Servers that gave no list, with the reasons.
    pub(super) failed: Vec<(String, String)>,
    /// Texts of servers that a person should read.
    pub(super) remarks: Vec<String>,
}

impl Listing {
    pub(super) fn of(
        servers: &GateServers,
        dir: &Path,
        stderr: &mut dyn Write,
    ) -> Result<Self, InitFailure> {
        let config = servers.config(dir, LIMITS)?;
        let count = servers.keys().count();
        let _ = writeln!(
            stderr,
            "starting {count} server(s) for their lists of tools"
        );
        let mut listing = Self {
            servers: SeveralServers::of(Vec::new()),
            lock: LockFile::default(),
            failed: Vec::new(),
            remarks: Vec::new(),
        };
        let mut listed = Vec::new();
        let each = config.each();
        for (key, answer) in each.chunks(AT_ONCE).flat_map(ask) {
            match answer {
                Ok(definitions) if !definitions.listed.is_empty() => {
                    let remarks = [
                        ("left out, and not permitted", definitions.left_out),
                        ("instructs a model, or hides something", definitions.flagged),
                    ];
                    for (about, lines) in remarks {
                        let lines = lines.iter().map(|line| tools::shown(line));
                        let lines = lines.map(|line| format!("{key}: {about}: {line}"));
                        listing.remarks.extend(lines);
                    }
                    listing.lock.join(definitions.lock.of_server(&key));
                    let place = if servers.is_remote(key.as_str()) {
                        ServerPlace::Remote
                    } else {
                        ServerPlace::Local
                    };
                    listed.push(ListedServer {
                        key,
                        place,
                        tools: definitions.listed,
                    });
                }
                Ok(_) => {
                    let why = "it has no tool that a draft can hold";
                    listing.failed.push((key.to_string(), why.to_owned()));
                }
                Err(failure) => listing.failed.push((key.to_string(), failure.to_string())),
            }
        }
        if listed.is_empty() {
            for (key, why) in &listing.failed {
                let _ = writeln!(stderr, "{key}: {}", tools::shown(why));
            }
            return Err(InitFailure::NoAnswer);
        }
        listing.servers = SeveralServers::of(listed);
        Ok(listing)
    }

    pub(super) fn all_answered(&self) -> bool {
        self.failed.is_empty()
    }

    pub(super) fn is_answered(&self, key: &str) -> bool {
        self.failed.iter().all(|(failed, _)| failed != key)
    }
}

fn ask(servers: &[Config]) -> Vec<(ServerKey, Result<ListedDefinitions, ToolsFailure>)> {
    thread::scope(|scope| {
        let asked = servers.iter().filter_map(|config| {
            let key = config.key.clone()?;
            let thread = scope.spawn(|| ListedDefinitions::ask(config));
            Some((key, thread))
        });
        let asked: Vec<_> = asked.collect();
        let answers = asked.into_iter().map(|(key, thread)| {
            let answer = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (key, answer)
        });
        answers.collect()
    })
}
