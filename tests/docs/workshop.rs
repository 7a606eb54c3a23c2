//! A directory in which the reader of one page follows it from top to bottom.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// What an agent says first.
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"reader","version":"1"}}}"#;

/// Programs that [`SERVER`] replaces, so that the commands of a page run without a network.
const STAND_INS: [&str; 3] = ["npx", "notes-server", "workspace-server"];

/// A server that completes a handshake. A shell alone runs it, also in the sandbox of a page.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=${line#*'"id":'}
  case $line in
    *'"method":"initialize"'*)
      answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes-server","version":"1"}}' ;;
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
        for name in STAND_INS {
            let file = programs.join(name);
            fs::write(&file, SERVER).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut path = programs.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        Self { directory, path }
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
