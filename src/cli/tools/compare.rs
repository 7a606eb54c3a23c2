//! How two locks differ, tool by tool.

use std::io::{self, Write};

use serde::Serialize;

use super::lines;
use crate::loading::LockFile;

/// What is not the same.
#[derive(Debug, Serialize)]
pub(super) struct Differences {
    /// Offered and not locked.
    added: Vec<Tool>,
    /// Locked and no longer offered.
    removed: Vec<Tool>,
    /// Offered in another form than locked.
    changed: Vec<Tool>,
}

/// One tool.
#[derive(Debug, Serialize)]
struct Tool {
    name: String,
    /// The lines that went and came, `-` and `+` before them.
    lines: Vec<String>,
}

impl Differences {
    pub(super) fn between(locked: Option<&LockFile>, offered: &LockFile) -> Self {
        let nothing = LockFile::default();
        let locked = locked.unwrap_or(&nothing);
        let tool = |name: &str| Tool::new(name, locked.shown(name), offered.shown(name));
        let added = offered
            .names()
            .filter(|name| locked.definition(name).is_none());
        let removed = locked
            .names()
            .filter(|name| offered.definition(name).is_none());
        let changed = locked.names().filter(|name| {
            let now = offered.definition(name);
            now.is_some() && now != locked.definition(name)
        });
        Self {
            added: added.map(tool).collect(),
            removed: removed.map(tool).collect(),
            changed: changed.map(tool).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        for tools in [&mut self.added, &mut self.removed, &mut self.changed] {
            tools.retain(|tool| keep(&tool.name));
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let all = self.added.iter().chain(&self.removed).chain(&self.changed);
        all.map(|tool| tool.name.as_str())
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let groups = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
        ];
        let mut first = true;
        for (word, tools) in groups {
            for tool in tools {
                if !first {
                    writeln!(out)?;
                }
                first = false;
                writeln!(out, "{word}: {}", lines::shown(&tool.name))?;
                for line in &tool.lines {
                    writeln!(out, "  {line}")?;
                }
            }
        }
        Ok(())
    }
}

impl Tool {
    fn new(name: &str, before: Option<String>, after: Option<String>) -> Self {
        let lines = lines::difference(
            before.as_deref().unwrap_or_default(),
            after.as_deref().unwrap_or_default(),
        );
        Self {
            name: name.to_owned(),
            lines,
        }
    }
}
