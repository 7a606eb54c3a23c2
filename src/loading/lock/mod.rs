//! `tools.lock`: the tool definitions that the host has approved.
//!
//! It is JSON, for that is what definitions are: one tool after the other by name, each with the
//! digest of its definition, and in a form that shows every change in a review. It is read as
//! strictly as a message: a lock that two readers could understand differently is none.

mod read;
mod schema;
#[cfg(test)]
mod tests;
mod text;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use crate::policy::{Fingerprint, Lock, LockedTool, Origin, PolicyProblem, PolicySource};
use crate::wire::{Definition, Document, JsonError, Limits};

pub use text::{pretty, push_quoted};
pub use write::Unfit;

/// The name of the file.
pub const FILE: &str = "tools.lock";

/// The version of the format.
const VERSION: i64 = 1;

/// The code of every problem with a lock.
const CODE: &str = "policy::lock";

/// How much of a lock is read. The depth is that of a message: a definition is no deeper in a lock
/// than in the list that it came with.
pub(super) const LIMITS: Limits = Limits {
    max_bytes: 16 << 20,
    max_depth: 64,
    max_nodes: 2_000_000,
};

/// A lock as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    /// By name.
    tools: BTreeMap<String, Entry>,
}

/// One tool of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// The whole definition, its name included, as canonical JSON.
    definition: String,
    /// Where it stands, from 1; 0 where it was not read.
    line: u32,
}

impl LockFile {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The definition of a tool, as canonical JSON.
    pub fn definition(&self, name: &str) -> Option<&str> {
        self.tools.get(name).map(|entry| &*entry.definition)
    }

    /// Takes over what another lock says of a tool: its definition, or that it is not there.
    pub fn adopt(&mut self, name: &str, from: &Self) {
        match from.tools.get(name) {
            Some(entry) => {
                self.tools.insert(name.to_owned(), entry.clone());
            }
            None => {
                self.tools.remove(name);
            }
        }
    }

    /// What policies are judged with; `file` is where it was read.
    ///
    /// # Errors
    /// Only for what was not made by this component.
    fn lock(&self, file: &str) -> Result<Lock, JsonError> {
        let tools = self.tools.iter().map(|(name, entry)| {
            let document = Document::decode(entry.definition.as_bytes(), &LIMITS)?;
            let Definition { schema, words } = Definition::of(document.root());
            let arguments = match document.root().get("inputSchema") {
                Some(schema) => schema::arguments(schema),
                None => Err("it has no `inputSchema`".to_owned()),
            };
            let tool = LockedTool {
                fingerprint: Fingerprint::of(&schema, &words),
                definition: entry.definition.as_str().into(),
                arguments,
                origin: Origin {
                    file: file.into(),
                    line: entry.line,
                },
            };
            Ok((name.clone(), tool))
        });
        tools.collect::<Result<_, _>>().map(Lock::new)
    }
}

pub(super) fn claims(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == FILE)
}

/// The lock among the files of a directory, or an empty one.
pub(super) fn read(sources: &[PolicySource], problems: &mut Vec<PolicyProblem>) -> Lock {
    let mut locks = sources
        .iter()
        .filter(|source| claims(source.name.as_ref().as_ref()));
    let Some(source) = locks.next() else {
        return Lock::default();
    };
    for second in locks {
        let message = format!("`{}`: there is a lock already", second.name);
        let help = format!(
            "a gate has one server, and its tools one lock: `{}`",
            source.name
        );
        problems.push(PolicyProblem::error(CODE, message).with_help(help));
    }
    let file = match LockFile::read(source) {
        Ok(file) => file,
        Err(mut found) => {
            problems.append(&mut found);
            return Lock::default();
        }
    };
    file.lock(&source.name).unwrap_or_else(|error| {
        problems.push(PolicyProblem::error(
            CODE,
            format!("`{}`: {error}", source.name),
        ));
        Lock::default()
    })
}

/// Tools whose arguments policies see only in part, or only by tags.
pub(super) fn notices(lock: &Lock) -> Vec<PolicyProblem> {
    const SHOWN: usize = 4;
    let mut notices = Vec::new();
    for (name, tool) in lock.tools() {
        let name = name.escape_debug();
        let message = match &tool.arguments {
            Err(why) => format!("`{name}`: its arguments have no types, for {why}"),
            Ok(record) => {
                let untyped = record.all_untyped();
                let shown = untyped.iter().take(SHOWN);
                let shown =
                    shown.map(|one| format!("`{}` {}", one.pointer.escape_debug(), one.why));
                let mut shown: Vec<String> = shown.collect();
                if untyped.len() > SHOWN {
                    shown.push(format!("and {} more", untyped.len() - SHOWN));
                }
                if shown.is_empty() {
                    continue;
                }
                format!(
                    "`{name}`: some arguments have no types: {}",
                    shown.join(", ")
                )
            }
        };
        let help = "policies see such arguments through `context.args`";
        notices.push(PolicyProblem::warning("policy::untyped", message).with_help(help));
    }
    notices
}
