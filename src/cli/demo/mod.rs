//! `demo`: a scripted agent, the real gate and a small MCP server, over stdio on this machine.
//!
//! The program plays all parts. The agent of the demo starts it as `mcp-protector proxy`, and that gate
//! starts it as `mcp-protector demo-server`. The demo checks each statement against the audit log and
//! the log of the server, and exits with 1 at the first that is false.

mod agent;
mod failure;
mod logs;
mod page;
mod scene;
pub mod server;
mod story;

use std::fs;
use std::io::Write;
use std::path::{Path, absolute};

use super::args::DemoArgs;
use super::exit::Exit;
use super::test_policy::paint;
use failure::DemoFailure;
use page::DemoPage;

/// The directory of the policies and the configuration, in the source tree and in a directory of files.
const PACK: &str = "policies/quickstart";

/// The files of that directory, as the program contains them.
const POLICIES: [(&str, &str); 2] = [
    (
        "notes.cedar",
        include_str!("../../../policies/quickstart/notes.cedar"),
    ),
    (
        "pages.cedar",
        include_str!("../../../policies/quickstart/pages.cedar"),
    ),
];
const CONFIG: &str = include_str!("../../../policies/quickstart/gate.toml");

/// The start of the server in that configuration.
const SERVER: &str = r#"["mcp-protector", "demo-server"]"#;

/// The logs of a run, in its directory.
const AUDIT: &str = "audit.jsonl";
const RECEIVED: &str = "server-received.jsonl";
const DIAGNOSTICS: &str = "gate-stderr.log";

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

/// Writes the pack, with this program as the server and the logs in `directory`.
fn write_files(directory: &Path) -> Result<(), DemoFailure> {
    let failed = DemoFailure::io("write the files of the demo");
    let write = || {
        let pack = directory.join(PACK);
        fs::create_dir_all(directory)?;
        if fs::read_dir(directory)?.next().is_some() {
            return Err(std::io::ErrorKind::DirectoryNotEmpty.into());
        }
        fs::create_dir_all(&pack)?;
        let program = std::env::current_exe()?;
        let received = directory.join(RECEIVED);
        let server: [&Path; 4] = [
            &program,
            "demo-server".as_ref(),
            "--log".as_ref(),
            &received,
        ];
        let server = serde_json::to_string(&server)?;
        let audit = serde_json::to_string(&directory.join(AUDIT))?;
        for (name, text) in POLICIES {
            fs::write(pack.join(name), text)?;
        }
        let config = CONFIG.replace(SERVER, &server);
        fs::write(
            pack.join("gate.toml"),
            format!("{config}\n[audit]\nfile = {audit}\n"),
        )
    };
    write().map_err(failed)
}
