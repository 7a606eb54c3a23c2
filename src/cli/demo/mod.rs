//! `demo`: stories of a scripted agent, the real gate and a small MCP server, on this machine.
//!
//! The program plays all parts. The agent of the demo starts it as `mcp-protector proxy`, and that gate
//! starts it as `mcp-protector demo-server`. The demo checks each statement against the audit log and
//! the logs of the servers, and exits with 1 at the first that is false.

mod agent;
mod failure;
mod files;
mod http;
mod logs;
mod network;
mod notes_story;
mod page;
mod play;
mod scene;
pub mod server;
mod story;
mod traces;
mod workspace_story;

use std::io::Write;
use std::path::{Path, absolute};

use super::args::DemoArgs;
use super::exit::Exit;
use super::test_policy::paint;
use crate::upstream::sandbox::{self, LocalSockets, Network, Sandbox, Strength, SystemFiles};
use failure::DemoFailure;
use files::create_empty_directory;
use notes_story::NOTES;
use page::DemoPage;
use story::{DemoSetting, DemoStory};
use workspace_story::WORKSPACE;

const STORIES: [&DemoStory; 2] = [&NOTES, &WORKSPACE];

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
    create_empty_directory(&directory)?;
    let mut played = || {
        for story in STORIES {
            page.heading(story.title)?;
            page.paragraph(story.introduction)?;
            if let Some(cause) = lacking(story) {
                page.paragraph(&format!("skipped: {cause}"))?;
                continue;
            }
            page.line(story.drawing)?;
            play::play(page, story, &directory.join(story.name))?;
        }
        play::tell_next(page)
    };
    played().map_err(|failure| failure.in_directory(directory.clone()))
}

/// What keeps a story from being played here.
fn lacking(story: &DemoStory) -> Option<String> {
    if story.setting == DemoSetting::Stdio {
        return None;
    }
    if !cfg!(target_os = "linux") {
        return Some("needs Linux".to_owned());
    }
    let nothing = Sandbox {
        places: Vec::new(),
        system: SystemFiles::Granted,
        network: Network::Absent,
        local_sockets: LocalSockets::Withheld,
        strength: Strength::Required,
    };
    let errors = sandbox::check(&nothing).err()?;
    let causes: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Some(causes.join("; "))
}
