//! `tools`: records, compares and approves the tool definitions of the servers.

mod ask;
mod compare;
mod failure;
mod lines;
mod lock_path;
mod offered;
mod one_server;
mod requests;
mod shown_to;
#[cfg(test)]
mod tests;
mod transport;

use std::io::{self, Write};

use serde::Serialize;

use super::args::{Format, ToolsArgs, ToolsCommand, ToolsSource};
use super::exit::Exit;
use crate::loading::{LockFile, LockedItem};
use crate::policy::ServerKey;

use self::compare::Differences;
use self::offered::LockInputs;

pub(super) use self::compare::flagged;
pub(super) use self::failure::ToolsFailure;
pub(super) use self::lines::shown;
pub(super) use self::offered::{ServerAnswer, asked_one};
pub(super) use self::one_server::LockComparison;
pub(super) use self::shown_to::{ToolsFilter, tools_of};

/// Does what was asked for. What people and programs read goes to `stdout`, what went wrong to
/// `stderr`.
pub fn run(args: &ToolsArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let done = match &args.command {
        ToolsCommand::Lock { source, force } => lock(source, Force::of(*force), stdout),
        ToolsCommand::List(args) => shown_to::list(args, stdout).map(|()| Exit::Success),
        ToolsCommand::Diff { source } => diff(source, stdout),
        ToolsCommand::Approve {
            source,
            tools,
            prompts,
            instructions,
            // INVARIANT: it is there where nothing is named, and nowhere else.
            all: _,
        } => approve_named(source, (tools, prompts, instructions), stdout),
    };
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            // The exit code remains if the output is closed.
            let _ = failure.tell(stderr);
            Exit::NotCompared
        }
    }
}

/// Whether a lock that says something else may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Force {
    Replace,
    Refuse,
}

impl Force {
    fn of(forced: bool) -> Self {
        if forced { Self::Replace } else { Self::Refuse }
    }
}

/// What a program reads: one line.
#[derive(Debug, Serialize)]
struct LockResult<'o> {
    /// Version of this format.
    schema: u32,
    lock: String,
    /// Whether the file was written.
    written: bool,
    #[serde(flatten)]
    differences: &'o Differences,
    /// What cannot be locked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// Tools whose permission no label names.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unlabelled: &'o [String],
}

fn lock(source: &ToolsSource, force: Force, out: &mut dyn Write) -> Result<Exit, ToolsFailure> {
    let mut asked = LockInputs::of(source)?;
    let found = match asked.lock() {
        // What cannot be read can still be replaced.
        Err(ToolsFailure::Lock(_)) if force == Force::Replace => None,
        found => found?,
    };
    if let Some(found) = &found {
        asked.keep_others(found);
    }
    let differences = Differences::between(found.as_ref(), &asked.offered);
    if let Some(found) = &found {
        asked.offered.keep_words(found);
    }
    let replaces = found
        .as_ref()
        .is_some_and(|it| it.text() != asked.offered.text());
    let write = match (&found, force) {
        (None, _) => true,
        (Some(_), Force::Replace) => replaces,
        (Some(_), Force::Refuse) if differences.is_empty() => false,
        (Some(_), Force::Refuse) => {
            tell(source.format, &asked, LockWritten::No, &differences, out)?;
            if source.format == Format::Human {
                let file = asked.place.shown();
                writeln!(
                    out,
                    "\n{file} stays as it is: `tools approve` takes over what you name, \
                     `tools approve --all` or `tools lock --force` everything"
                )?;
            }
            return Ok(Exit::Drift);
        }
    };
    if write {
        asked.place.write(&asked.offered)?;
    }
    match source.format {
        Format::Json => tell(
            source.format,
            &asked,
            LockWritten::of(write),
            &differences,
            out,
        )?,
        Format::Human => {
            let file = asked.place.shown();
            let count = asked.offered.names().count();
            let word = if write { "now holds" } else { "already holds" };
            writeln!(out, "{file} {word} the definitions of {count} tool(s)")?;
            left_out(&asked, out)?;
        }
    }
    Ok(asked.end())
}

fn diff(source: &ToolsSource, out: &mut dyn Write) -> Result<Exit, ToolsFailure> {
    let mut asked = LockInputs::of(source)?;
    let found = asked.lock()?;
    let found = found.ok_or_else(|| ToolsFailure::NoLock(asked.place.shown()))?;
    asked.keep_others(&found);
    let differences = Differences::between(Some(&found), &asked.offered);
    tell(source.format, &asked, LockWritten::No, &differences, out)?;
    Ok(if differences.is_empty() {
        asked.end()
    } else {
        Exit::Drift
    })
}

/// Approves what was named on the command line: tools, prompts, and whose instructions.
fn approve_named(
    source: &ToolsSource,
    (tools, prompts, instructions): (&[String], &[String], &[String]),
    out: &mut dyn Write,
) -> Result<Exit, ToolsFailure> {
    let servers = instructions.iter().map(|server| match &**server {
        "" => Ok(None),
        key => match ServerKey::of(key) {
            Some(key) => Ok(Some(key)),
            None => Err(ToolsFailure::NoKey(lines::shown(key))),
        },
    });
    let servers = servers.collect::<Result<Vec<Option<ServerKey>>, _>>()?;
    let tools = tools.iter().map(|id| LockedItem::Tool(id));
    let prompts = prompts.iter().map(|id| LockedItem::Prompt(id));
    let servers = servers.iter();
    let instructions = servers.map(|server| LockedItem::Instructions(server.as_ref()));
    let named: Vec<LockedItem<'_>> = tools.chain(prompts).chain(instructions).collect();
    approve(source, &named, out)
}

fn approve(
    source: &ToolsSource,
    named: &[LockedItem<'_>],
    out: &mut dyn Write,
) -> Result<Exit, ToolsFailure> {
    let mut asked = LockInputs::of(source)?;
    let mut lock = asked.lock()?.unwrap_or_default();
    asked.keep_others(&lock);
    for what in named {
        if lock.said(*what).is_none() && asked.offered.said(*what).is_none() {
            return Err(asked.unknown(*what, &lock));
        }
    }
    let mut differences = Differences::between(Some(&lock), &asked.offered);
    if !named.is_empty() {
        differences.retain(|what| named.contains(&what));
    }
    for what in differences.all() {
        lock.adopt(what, &asked.offered);
    }
    let write = LockWritten::of(!differences.is_empty());
    if write == LockWritten::Yes {
        asked.place.write(&lock)?;
    }
    tell(source.format, &asked, write, &differences, out)?;
    // Named definitions are all approved.
    Ok(if named.is_empty() {
        asked.end()
    } else {
        Exit::Success
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockWritten {
    Yes,
    No,
}

impl LockWritten {
    fn of(written: bool) -> Self {
        if written { Self::Yes } else { Self::No }
    }
}

fn tell(
    format: Format,
    asked: &LockInputs,
    written: LockWritten,
    differences: &Differences,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Json => {
            let outcome = LockResult {
                schema: 1,
                lock: asked.place.shown(),
                written: written == LockWritten::Yes,
                differences,
                left_out: asked.left_out.iter().map(ToString::to_string).collect(),
                unlabelled: &asked.unlabelled,
            };
            serde_json::to_writer(&mut *out, &outcome)?;
            writeln!(out)
        }
        Format::Human if differences.is_empty() => {
            writeln!(out, "{}: no difference", asked.place.shown())?;
            left_out(asked, out)
        }
        Format::Human => {
            differences.write(out)?;
            if written == LockWritten::Yes {
                writeln!(out, "\napproved in {}", asked.place.shown())?;
            }
            left_out(asked, out)
        }
    }
}

/// Definitions that no lock can hold, and tools whose permission no label names.
fn left_out(asked: &LockInputs, out: &mut dyn Write) -> io::Result<()> {
    for unfit in &asked.left_out {
        let why = lines::shown(&unfit.to_string());
        writeln!(out, "left out, and not approved: {why}")?;
    }
    for name in &asked.unlabelled {
        let name = lines::shown(name);
        writeln!(out, "no label names the permission of `{name}`")?;
    }
    Ok(())
}

impl LockInputs {
    fn unknown(&self, what: LockedItem<'_>, lock: &LockFile) -> ToolsFailure {
        let (kind, name) = match what {
            LockedItem::Tool(name) => ("tool", name),
            LockedItem::Prompt(name) => ("prompt", name),
            LockedItem::Instructions(server) => {
                return ToolsFailure::NoInstructions {
                    server: server.cloned(),
                    servers: self.servers.clone(),
                };
            }
        };
        let same_kind =
            lock.all()
                .chain(self.offered.all())
                .filter_map(|known| match (known, what) {
                    (LockedItem::Tool(known), LockedItem::Tool(_))
                    | (LockedItem::Prompt(known), LockedItem::Prompt(_)) => Some(known),
                    _ => None,
                });
        let nearest = same_kind
            .min_by_key(|known| (strsim::damerau_levenshtein(known, name), known.to_string()));
        ToolsFailure::Unknown {
            kind,
            name: lines::shown(name),
            nearest: nearest.map(lines::shown),
        }
    }

    /// How a command ends that found no difference: what is left out is one.
    fn end(&self) -> Exit {
        if self.left_out.is_empty() {
            Exit::Success
        } else {
            Exit::Drift
        }
    }
}
