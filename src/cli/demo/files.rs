//! The files of a story, in its directory.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::{env, fs};

use super::failure::DemoFailure;
use super::logs::AUDIT;
use super::story::{DemoSetting, DemoStory};

/// The start of the server in the configuration of notes.
const SERVER: &str = r#"["mcp-protector", "demo-server"]"#;

/// Placeholders for the program, the directory and the port in the files of a sandboxed story.
const PROGRAM: &str = r#""mcp-protector""#;
const DIRECTORY: &str = "/srv/demo";
const PORT: &str = "8090";

/// The directories of sessions, which the gate makes in this one.
const SESSIONS: &str = "sessions";

/// Creates the directory. Rejects one that has entries.
pub(super) fn create_empty_directory(directory: &Path) -> Result<(), DemoFailure> {
    let make = || {
        fs::create_dir_all(directory)?;
        match fs::read_dir(directory)?.next() {
            Some(_) => Err(io::ErrorKind::DirectoryNotEmpty.into()),
            None => Ok(()),
        }
    };
    make().map_err(DemoFailure::io("write the files of the demo"))
}

/// Writes the pack, with this program as the server, the logs in `directory`, and `port` as the network.
pub(super) fn write_files(
    story: &DemoStory,
    directory: &Path,
    port: u16,
) -> Result<(), DemoFailure> {
    let write = || {
        let pack = directory.join(story.pack);
        fs::create_dir_all(&pack)?;
        let program = env::current_exe()?;
        let (audit, logs) = (directory.join(AUDIT), story.servers);
        let logs = logs.iter().map(|(_, log)| directory.join(log));
        for (name, text) in story.files {
            let text = match story.setting {
                DemoSetting::Stdio => {
                    let mut server = vec![program.clone(), "demo-server".into()];
                    server.extend(logs.clone().flat_map(|log| ["--log".into(), log]));
                    text.replace(SERVER, &serde_json::to_string(&server)?)
                }
                // In this order: a path may have the digits of the port.
                DemoSetting::Sandboxed => text
                    .replace(PORT, &port.to_string())
                    .replace(
                        &format!("\"{DIRECTORY}"),
                        serde_json::to_string(directory)?
                            .strip_suffix('"')
                            .unwrap_or_default(),
                    )
                    .replace(PROGRAM, &serde_json::to_string(&program)?),
            };
            fs::write(pack.join(name), text)?;
        }
        if story.setting == DemoSetting::Stdio {
            let audit = serde_json::to_string(&audit)?;
            let mut config = File::options().append(true).open(pack.join("gate.toml"))?;
            return write!(config, "\n[audit]\nfile = {audit}\n");
        }
        // A sandbox grants files that are there, and an own root lies where no other user writes.
        for log in logs {
            fs::write(log, "")?;
        }
        make_private(&directory.join(SESSIONS))
    };
    write().map_err(DemoFailure::io("write the files of the demo"))
}

/// Makes a directory where no other user reads or writes.
#[cfg(unix)]
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(directory)
}

/// No story gets here: those with a sandbox need Linux.
#[cfg(not(unix))]
fn make_private(directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)
}
