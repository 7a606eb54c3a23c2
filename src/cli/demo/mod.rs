//! `demo`: a scripted agent, the real gate and a small MCP server, over stdio on this machine.
//!
//! The program plays all parts. The agent of the demo starts it as `mcp-protector proxy`, and that gate
//! starts it as `mcp-protector demo-server`. The demo checks each statement against the audit log and
//! the log of the server, and exits with 1 at the first that is false.

mod agent;
mod failure;
mod files;
mod logs;
mod page;
mod scene;
pub mod server;
mod story;

use std::io::Write;
use std::path::{Path, absolute};

use super::args::DemoArgs;
use super::exit::Exit;
use super::test_policy::paint;
use failure::DemoFailure;
use files::write_files;
use page::DemoPage;

/// Plays the demo.
pub fn run(args: &DemoArgs, out: &mut dyn Write) -> Exit {
    let mut page = DemoPage::new(out, paint());
    let played = match &args.keep {
        Some(directory) => play_in(&mut page, directory),
        None => play_in_temporary_directory(&mut page),
    };
    let Err(failure) = played else {
        return Exit::Success;
    };
    // A closed stdout shows nothing; the exit code remains.
    let _ = page.failed(&failure);
    Exit::DemoFailed
}

/// The files of a failed run stay, for a person who looks for the cause.
fn play_in_temporary_directory(page: &mut DemoPage<'_>) -> Result<(), DemoFailure> {
    let mut directory = tempfile::Builder::new()
        .prefix("mcp-protector-demo-")
        .tempdir()
        .map_err(DemoFailure::io("make a temporary directory"))?;
    let played = play_in(page, directory.path());
    directory.disable_cleanup(matches!(played, Err(DemoFailure::InDirectory { .. })));
    played
}

fn play_in(page: &mut DemoPage<'_>, directory: &Path) -> Result<(), DemoFailure> {
    let directory = absolute(directory).map_err(DemoFailure::io("find the directory"))?;
    write_files(&directory)?;
    story::play(page, &directory).map_err(|failure| failure.in_directory(directory))
}
