//! The draft from the tools that the configured servers list.

use std::time::Duration;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use super::draft_directory::{OutputPlace, tell_files, write};
use super::failure::SuggestFailure;
use crate::cli::exit::{Exit, heard};
use crate::cli::tools::{self, ToolsFailure};
use crate::config::Config;
use crate::drafts::{Draft, ListedServers, ListedTools, ToolCounts};
use crate::guard::{NameSkeleton, NameSkeletons};
use crate::loading::{LOCK_FILE, LockFile, LockedItem};
use crate::policy::ServerKey;

/// The longest name of a tool that a draft holds. MCP has this limit too.
const MAX_NAME_BYTES: usize = 128;

/// The most tools that a draft holds.
const MAX_TOOLS: usize = 2_000;

/// Lines of one kind that are written, of names that the server chooses.
const MAX_LINES: usize = 20;

/// Drafts from the tools of the servers, and says what the draft makes of them.
pub(in crate::cli) fn run_live(
    config: &Path,
    output: &Path,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    match suggest(config, output) {
        Ok(drafted) => {
            let told = drafted.tell(output, stdout);
            match heard(told.and_then(|()| stdout.flush())) {
                Err(_) => Exit::NotChecked,
                Ok(()) => drafted.exit(),
            }
        }
        Err(failure) => failure.tell(stderr),
    }
}

/// A draft that is written.
struct LiveDraft {
    draft: Draft,
    /// Of each server, by its key if there are several.
    counts: Vec<(Option<ServerKey>, ToolCounts)>,
    /// What the lock does not hold, and why.
    left_out: Vec<String>,
    /// Texts that instruct a model, or hide something.
    flagged: Vec<String>,
}

fn suggest(config: &Path, output: &Path) -> Result<LiveDraft, SuggestFailure> {
    let place = OutputPlace::of(output)?;
    let config = Config::load(config).map_err(ToolsFailure::Config)?;
    let each = config.each();
    let listed = each
        .iter()
        .map(|config| Ok((config.key.clone(), ListedDefinitions::ask(config)?)));
    let drafted = draft(listed.collect::<Result<_, ToolsFailure>>()?)?;
    let keys: Vec<ServerKey> = each
        .iter()
        .filter_map(|config| config.key.clone())
        .collect();
    let (written, _) = write(&drafted.draft, place, &keys)?;
    written.keep()?;
    Ok(drafted)
}

/// The definitions of a server that a draft can hold.
pub(in crate::cli) struct ListedDefinitions {
    pub(in crate::cli) listed: ListedTools,
    pub(in crate::cli) lock: LockFile,
    /// What the lock does not hold, and why.
    pub(in crate::cli) left_out: Vec<String>,
    /// Texts that instruct a model, or hide something.
    pub(in crate::cli) flagged: Vec<String>,
}

impl ListedDefinitions {
    /// As the server of this configuration lists them, under its own names.
    pub(in crate::cli) fn ask(config: &Config) -> Result<Self, ToolsFailure> {
        let answer = tools::asked_one(config, Duration::MAX)?;
        Ok(Self::of(
            answer.lock,
            answer.left_out.iter().map(ToString::to_string).collect(),
        ))
    }

    /// Those left out that a reader could mistake for others.
    fn of(mut lock: LockFile, mut left_out: Vec<String>) -> Self {
        for (name, why) in misleading(&lock) {
            lock.adopt(LockedItem::Tool(&name), &LockFile::default());
            let start = name.chars().take(MAX_NAME_BYTES);
            let start: String = start.flat_map(char::escape_default).collect();
            left_out.push(format!("`{start}`: {why}"));
        }
        let mut listed = ListedTools::default();
        for name in lock.names() {
            listed.add(name, lock.definition(name).unwrap_or_default());
        }
        let mut flagged = Vec::new();
        for what in lock.all() {
            let text = lock.said(what).unwrap_or_default();
            let flags = tools::flagged(text).names().join(", ");
            if flags.is_empty() {
                continue;
            }
            flagged.push(match what {
                LockedItem::Tool(name) => {
                    listed.deny(name, &flags);
                    format!("`{name}`: {flags}")
                }
                LockedItem::Prompt(name) => format!("prompt `{name}`: {flags}"),
                LockedItem::Instructions(_) => format!("the server's instructions: {flags}"),
            });
        }
        Self {
            listed,
            lock,
            left_out,
            flagged,
        }
    }
}

/// The draft of the definitions of these servers.
fn draft(
    servers: Vec<(Option<ServerKey>, ListedDefinitions)>,
) -> Result<LiveDraft, SuggestFailure> {
    let (mut lock, mut listed) = (LockFile::default(), Vec::new());
    let (mut left_out, mut flagged) = (Vec::new(), Vec::new());
    for (key, definitions) in servers {
        let at = |line: String| match &key {
            Some(key) => format!("at `{key}`: {line}"),
            None => line,
        };
        left_out.extend(definitions.left_out.into_iter().map(at));
        flagged.extend(definitions.flagged.into_iter().map(at));
        lock.join(match &key {
            Some(key) => definitions.lock.of_server(key),
            None => definitions.lock,
        });
        listed.push((key, definitions.listed));
    }
    if listed.iter().all(|(_, tools)| tools.is_empty()) {
        return Err(SuggestFailure::NoTools);
    }
    let listed = ListedServers(listed);
    let mut draft = listed.draft();
    draft.files.push((LOCK_FILE, lock.text()));
    let counts = listed.0.into_iter();
    Ok(LiveDraft {
        draft,
        counts: counts.map(|(key, tools)| (key, tools.counts())).collect(),
        left_out,
        flagged,
    })
}

/// Names that a reviewer cannot read as they are. The lock would approve them, whatever the gate makes of names.
fn misleading(lock: &LockFile) -> Vec<(String, &'static str)> {
    let mut alike: HashMap<NameSkeleton, usize> = HashMap::new();
    for name in lock.names() {
        for look in looks(name) {
            *alike.entry(look).or_default() += 1;
        }
    }
    let mut kept = 0_usize;
    let unfit = lock.names().filter_map(|name| {
        let why = if name.len() > MAX_NAME_BYTES {
            "its name has more than 128 bytes"
        } else if !name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            "its name is not plain ASCII"
        } else if looks(name).any(|look| alike.get(&look).is_some_and(|count| *count > 1)) {
            "its name looks like that of another tool"
        } else if kept == MAX_TOOLS {
            "a draft holds no more than 2000 tools"
        } else {
            kept += 1;
            return None;
        };
        Some((name.to_owned(), why))
    });
    unfit.collect()
}

/// Each once.
fn looks(name: &str) -> impl Iterator<Item = NameSkeleton> {
    let mut looks: Vec<NameSkeleton> = NameSkeletons::of(name).each().collect();
    looks.dedup();
    looks.into_iter()
}

impl LiveDraft {
    /// A person has something to read beside the labels.
    fn exit(&self) -> Exit {
        if self.left_out.is_empty() && self.flagged.is_empty() {
            Exit::Success
        } else {
            Exit::Findings
        }
    }

    fn tell(&self, output: &Path, out: &mut dyn Write) -> io::Result<()> {
        tell_files(&self.draft, output, out)?;
        writeln!(out)?;
        let mut with_any_path = 0;
        for (key, counts) in &self.counts {
            let name = key.as_ref().map_or("tools", ServerKey::as_str);
            let (permitted, asking, denied) = (counts.permitted, counts.asking, counts.denied);
            writeln!(
                out,
                "{name}: {permitted} permitted, {asking} ask a person, {denied} denied"
            )?;
            with_any_path += counts.with_any_path;
        }
        writeln!(
            out,
            "They are labelled by names, arguments and the server's hints: check each label in tools.toml.\n\
             Arguments are not narrowed: {with_any_path} of the permitted tools take a path, which may be any path."
        )?;
        let lists = [
            ("left out, and not approved", &self.left_out),
            ("instructs a model, or hides something", &self.flagged),
        ];
        for (about, lines) in lists {
            for line in lines.iter().take(MAX_LINES) {
                writeln!(out, "{about}: {}", tools::shown(line))?;
            }
            let more = lines.len().saturating_sub(MAX_LINES);
            if more > 0 {
                writeln!(out, "{about}: {more} more")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
