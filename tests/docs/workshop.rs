//! A directory in which the reader of one page follows it from top to bottom.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use mcp_protector::config::Config;
use tempfile::TempDir;

use crate::docs::pages::root;

/// What an agent says first.
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"reader","version":"1"}}}"#;

/// Programs that [`SERVER`] replaces, so that the commands of a page run without a network.
const STAND_INS: [&str; 5] = [
    "npx",
    "notes-server",
    "workspace-server",
    "crm-server",
    "mail-server",
];

/// A server that completes a handshake. A shell alone runs it, also in the sandbox of a page.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=${line#*'"id":'}
  case $line in
    *'"method":"initialize"'*)
      answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes-server","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer='"result":{"tools":[]}' ;;
    *'"id":'*) answer='"error":{"code":-32601,"message":"Method not found"}' ;;
    *) continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'"${id%%,*},$answer}"
done
"#;

/// The directory, and the programs that are found from it.
pub(crate) struct Workshop {
    directory: TempDir,
    path: std::ffi::OsString,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let programs = directory.path().join("bin");
        fs::create_dir(&programs).unwrap();
        let gate = env!("CARGO_BIN_EXE_mcp-protector");
        symlink(gate, programs.join("mcp-protector")).unwrap();
        let mut path = programs.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let workshop = Self { directory, path };
        for name in STAND_INS {
            workshop.stand_in(name);
        }
        workshop
    }

    /// Brings a pack of the project, unless the reader has copied it, with the places and the servers that its
    /// configuration names.
    pub(crate) fn bring(&self, pack: &str) {
        let copy = self.file("policies").join(pack);
        if copy.exists() {
            return;
        }
        fs::create_dir_all(&copy).unwrap();
        let here = format!("{}/srv/", self.directory.path().display());
        for entry in fs::read_dir(root().join("policies").join(pack)).unwrap() {
            let file = entry.unwrap();
            if file.path().is_file() {
                let text = fs::read_to_string(file.path()).unwrap();
                let text = text.replace("\"/srv/", &format!("\"{here}"));
                fs::write(copy.join(file.file_name()), &text).unwrap();
                let places = text.split('"').filter(|it| it.starts_with(&here));
                places.for_each(|place| fs::create_dir_all(place).unwrap());
            }
        }
        let config = Config::load(&copy.join("gate.toml")).unwrap();
        let isolated = config.upstream.isolated.iter().map(|it| &it.server);
        for server in std::iter::once(&config.upstream).chain(isolated) {
            self.stand_in(&server.command[0]);
        }
    }

    /// A program that is named by its path, or found by its name.
    fn stand_in(&self, program: &str) {
        let file = if program.contains('/') {
            self.file(program)
        } else {
            self.file("bin").join(program)
        };
        if !file.exists() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, SERVER).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a program with what an agent would say as its input.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.directory.path())
            .env("PATH", &self.path)
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("`{program}` cannot be started: {error}"));
        // A command that reads nothing may have ended by now.
        let _ = writeln!(child.stdin.take().unwrap(), "{INITIALIZE}");
        child.wait_with_output().unwrap()
    }
}
