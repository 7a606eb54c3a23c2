//! `tools.lock`: the definitions of tools that the host has approved, and what else a server says to
//! models: its instructions and prompts.
//!
//! It is JSON, for that is what definitions are: one tool after the other by name, each with the
//! digest of its definition, and in a form that shows every change in a review. It is read as
//! strictly as a message: a lock that two readers could understand differently is none.

#[cfg(test)]
mod oracle;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod text;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use crate::policy::{
    DefinitionFingerprint, Lock, LockedPrompt, LockedTexts, LockedTool, PolicyOrigin,
    PolicyProblem, PolicySource, ServerKey,
};
use crate::wire::{Definition, Document, JsonError, Limits};

pub use text::{pretty, push_quoted};
pub use write::UnlockableDefinition;

/// The name of the file.
pub const FILE: &str = "tools.lock";

/// The version of the format that speaks of tools alone.
const TOOLS_ALONE: i64 = 1;

/// The version that speaks of instructions and prompts as well.
const WITH_WORDS: i64 = 2;

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
    /// By id: of one of several servers `KEY/name`, of a single one its own name.
    tools: BTreeMap<String, LockEntry>,
    /// `None` where nothing is said of them.
    words: Option<ServerTexts>,
}

/// What an agent reads beside tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ServerTexts {
    /// By server, a single one without a key.
    instructions: BTreeMap<Option<ServerKey>, String>,
    /// By id.
    prompts: BTreeMap<String, LockEntry>,
}

/// What a lock holds one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockedItem<'n> {
    Tool(&'n str),
    Prompt(&'n str),
    /// Of this one of several servers.
    Instructions(Option<&'n ServerKey>),
}

impl LockedItem<'_> {
    fn is_of(&self, server: &ServerKey) -> bool {
        match self {
            Self::Tool(id) | Self::Prompt(id) => server.name_in(id).is_some(),
            Self::Instructions(of) => *of == Some(server),
        }
    }
}

/// One tool or prompt of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LockEntry {
    /// The whole definition as its server gives it, its own name included, as canonical JSON.
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

    /// Whether it says anything of instructions and prompts.
    pub fn has_words(&self) -> bool {
        self.words.is_some()
    }

    /// Everything that it holds, tools first.
    pub fn all(&self) -> impl Iterator<Item = LockedItem<'_>> {
        let words = self.words.as_ref();
        let prompts = words.into_iter().flat_map(|words| words.prompts.keys());
        let instructions = words
            .into_iter()
            .flat_map(|words| words.instructions.keys());
        let tools = self.names().map(LockedItem::Tool);
        tools
            .chain(prompts.map(|name| LockedItem::Prompt(name)))
            .chain(instructions.map(|server| LockedItem::Instructions(server.as_ref())))
    }

    /// What it says of one thing: a definition as canonical JSON, or instructions as they are.
    pub fn said(&self, of: LockedItem<'_>) -> Option<&str> {
        match of {
            LockedItem::Tool(name) => self.definition(name),
            LockedItem::Prompt(name) => {
                let entry = self.words.as_ref()?.prompts.get(name)?;
                Some(&entry.definition)
            }
            LockedItem::Instructions(server) => {
                let instructions = &self.words.as_ref()?.instructions;
                instructions.get(&server.cloned()).map(String::as_str)
            }
        }
    }

    /// Takes over what another lock says of one thing: what it is, or that it is not there.
    pub fn adopt(&mut self, what: LockedItem<'_>, from: &Self) {
        let known = from.words.as_ref();
        match what {
            LockedItem::Tool(name) => put(&mut self.tools, name, from.tools.get(name)),
            LockedItem::Prompt(name) => {
                let prompts = &mut self.words.get_or_insert_default().prompts;
                put(
                    prompts,
                    name,
                    known.and_then(|words| words.prompts.get(name)),
                );
            }
            LockedItem::Instructions(server) => {
                let server = server.cloned();
                let instructions = &mut self.words.get_or_insert_default().instructions;
                match known.and_then(|words| words.instructions.get(&server)) {
                    Some(text) => instructions.insert(server, text.clone()),
                    None => instructions.remove(&server),
                };
            }
        }
    }

    /// Keeps what another lock says of instructions and prompts, where this one says nothing.
    pub fn keep_words(&mut self, of: &Self) {
        if self.words.is_none() {
            self.words.clone_from(&of.words);
        }
    }

    /// The same of one of several servers.
    #[must_use]
    pub fn of_server(self, server: &ServerKey) -> Self {
        let with_key = |entries: BTreeMap<String, LockEntry>| {
            let entries = entries.into_iter();
            entries
                .map(|(name, entry)| (server.id_of(&name), entry))
                .collect()
        };
        Self {
            tools: with_key(self.tools),
            words: self.words.map(|words| ServerTexts {
                instructions: words
                    .instructions
                    .into_values()
                    .map(|text| (Some(server.clone()), text))
                    .collect(),
                prompts: with_key(words.prompts),
            }),
        }
    }

    /// Adds what is locked of another server.
    pub fn join(&mut self, other: Self) {
        self.tools.extend(other.tools);
        if let Some(other) = other.words {
            let words = self.words.get_or_insert_default();
            words.instructions.extend(other.instructions);
            words.prompts.extend(other.prompts);
        }
    }

    /// Keeps what another lock says of servers beside these.
    pub fn keep_others(&mut self, of: &Self, servers: &[ServerKey]) {
        let others = of
            .all()
            .filter(|what| !servers.iter().any(|server| what.is_of(server)));
        for what in others {
            self.adopt(what, of);
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
                fingerprint: DefinitionFingerprint::of(&schema, &words),
                definition: entry.definition.as_str().into(),
                arguments,
                origin: PolicyOrigin {
                    file: file.into(),
                    line: entry.line,
                },
            };
            Ok((name.clone(), tool))
        });
        let tools = tools.collect::<Result<_, _>>()?;
        let words = self.words.as_ref().map(ServerTexts::locked).transpose()?;
        Ok(Lock::new(tools).with_words(words))
    }
}

impl ServerTexts {
    fn locked(&self) -> Result<LockedTexts, JsonError> {
        let prompts = self.prompts.iter().map(|(name, entry)| {
            let document = Document::decode(entry.definition.as_bytes(), &LIMITS)?;
            let Definition { schema, words } = Definition::of(document.root());
            let prompt = LockedPrompt {
                fingerprint: DefinitionFingerprint::of(&schema, &words),
                definition: entry.definition.as_str().into(),
            };
            Ok((name.clone(), prompt))
        });
        Ok(LockedTexts {
            instructions: self
                .instructions
                .iter()
                .map(|(server, text)| (server.clone(), text.as_str().into()))
                .collect(),
            prompts: prompts.collect::<Result<_, _>>()?,
        })
    }
}

fn put(entries: &mut BTreeMap<String, LockEntry>, name: &str, entry: Option<&LockEntry>) {
    match entry {
        Some(entry) => {
            entries.insert(name.to_owned(), entry.clone());
        }
        None => {
            entries.remove(name);
        }
    }
}

pub(super) fn claims(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == FILE)
}

/// The lock among the files of a directory, or an empty one.
pub(super) fn read(
    sources: &[PolicySource],
    servers: &[ServerKey],
    problems: &mut Vec<PolicyProblem>,
) -> Lock {
    let mut locks = sources
        .iter()
        .filter(|source| claims(source.name.as_ref().as_ref()));
    let Some(source) = locks.next() else {
        return Lock::default();
    };
    for second in locks {
        let message = format!("`{}`: there is a lock already", second.name);
        let help = format!(
            "one lock holds the tools of all servers of a gate: `{}`",
            source.name
        );
        problems.push(PolicyProblem::error(CODE, message).with_help(help));
    }
    let file = match LockFile::read(source, servers) {
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
pub(super) fn notices(lock: &Lock, labels: &[PolicySource]) -> Vec<PolicyProblem> {
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
        let help = "policies see such arguments through `context.raw_arguments`";
        let notice = PolicyProblem::warning("policy::untyped", message).with_help(help);
        let source = labels.iter().find(|it| it.name == tool.origin.file);
        notices.push(match source {
            Some(source) => notice.on_line(source, tool.origin.line, "this tool"),
            None => notice,
        });
    }
    notices
}
