//! `init`: a gate for the servers that MCP clients start, and the clients' files led through it.

mod directory;
mod failure;
mod gate_text;
mod listing;
mod report;
mod shown_launch;
mod sources;
mod wrapping;

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use super::args::InitArgs;
use super::exit::{Exit, heard};
use crate::findings::printable;
use crate::guard::secrets::SecretRules;

use self::directory::GateDirectory;
use self::failure::InitFailure;
use self::gate_text::{GATE_FILE, GateServers};
use self::listing::Listing;
use self::report::InitReport;
use self::sources::Sources;

/// Does what was asked for. Nothing is changed if anything fails.
pub(super) fn run(args: &InitArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let done = if args.unwrap {
        unwrap(args, stdout, stderr)
    } else {
        init(args, stdout, stderr)
    };
    done.unwrap_or_else(|failure| {
        failure.tell(stderr);
        Exit::NotProtected
    })
}

/// Each file by itself: one that was edited keeps no other from being restored.
fn unwrap(
    args: &InitArgs,
    out: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<Exit, InitFailure> {
    let mut exit = Exit::Success;
    for source in Sources::each(&args.from)? {
        let restored = source.and_then(|source| Ok((source.file.unwrap()?, source.path)));
        match restored {
            Ok((change, path)) => report::restored(&path, change, out)?,
            Err(failure) => {
                failure.tell(stderr);
                exit = Exit::NotProtected;
            }
        }
    }
    heard(out.flush())?;
    Ok(exit)
}

fn init(args: &InitArgs, out: &mut dyn Write, stderr: &mut dyn Write) -> Result<Exit, InitFailure> {
    if args.wrap && !args.yes && !io::stdin().is_terminal() {
        return Err(InitFailure::WrapsUnasked);
    }
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => sources::default_directory()?,
    };
    let sources = Sources::of(&args.from)?;
    let servers = GateServers::of(&sources)?;
    if servers.is_empty() {
        servers.tell_left_out(stderr);
        return Err(InitFailure::NoServers);
    }
    if args.wrap && dir.join(GATE_FILE).exists() {
        return wrap_again(args, &dir, &sources, &servers, out, stderr);
    }
    let place = GateDirectory::place(&dir)?;
    confirm(args, Question::Start(&servers, &sources), out)?;
    let listing = Listing::of(&servers, &dir, stderr)?;
    let directory = GateDirectory::write(place, &servers, &listing)?;
    let told = InitReport {
        dir: &dir,
        servers: &servers,
        listing: &listing,
    };
    told.write(out)?;
    if args.wrap {
        confirm(args, Question::Wrap(&sources), out)?;
        let wrapped = wrapping::wrap(&sources, &servers, &absolute(&dir)?)?;
        directory.keep().inspect_err(|_| wrapped.undo())?;
        told.next(out)?;
        writeln!(out)?;
        report::wrapped(&wrapped, out)?;
    } else {
        directory.keep()?;
        told.next(out)?;
        report::wrap_later(out)?;
    }
    heard(out.flush())?;
    servers.tell_left_out(stderr);
    Ok(if servers.all_taken() && listing.all_answered() {
        Exit::Success
    } else {
        Exit::NotProtected
    })
}

/// The clients' files alone, for a configuration that exists.
fn wrap_again(
    args: &InitArgs,
    dir: &Path,
    sources: &Sources,
    servers: &GateServers,
    out: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<Exit, InitFailure> {
    directory::has_servers(&dir.join(GATE_FILE), servers)?;
    confirm(args, Question::Wrap(sources), out)?;
    let wrapped = wrapping::wrap(sources, servers, &absolute(dir)?)?;
    report::wrapped(&wrapped, out)?;
    heard(out.flush())?;
    servers.tell_left_out(stderr);
    Ok(if servers.all_taken() {
        Exit::Success
    } else {
        Exit::NotProtected
    })
}

fn absolute(dir: &Path) -> Result<PathBuf, InitFailure> {
    std::path::absolute(dir).map_err(|cause| InitFailure::Path(dir.to_owned(), cause))
}

/// What a person has to agree to.
#[derive(Clone, Copy)]
enum Question<'q> {
    /// A project's file may name any program.
    Start(&'q GateServers, &'q Sources),
    Wrap(&'q Sources),
}

/// Files that are named are meant.
fn confirm(
    args: &InitArgs,
    question: Question<'_>,
    out: &mut dyn Write,
) -> Result<(), InitFailure> {
    let (what, unnamed) = match question {
        Question::Start(..) if !args.from.is_empty() => return Ok(()),
        Question::Start(servers, sources) => {
            let rules = SecretRules::builtin();
            for (at, path) in sources.paths().enumerate() {
                writeln!(out, "{}", printable(&path.display().to_string()))?;
                for (key, launch) in servers.launches_of(at) {
                    writeln!(out, "  {key}: {}", shown_launch::shown(launch, &rules))?;
                }
            }
            ("start these servers once", InitFailure::StartsUnasked)
        }
        Question::Wrap(sources) => {
            for path in sources.paths() {
                writeln!(out, "  {}", printable(&path.display().to_string()))?;
            }
            ("rewrite these files", InitFailure::WrapsUnasked)
        }
    };
    if args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(unnamed);
    }
    write!(out, "{what}? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(InitFailure::Refused)
    }
}
