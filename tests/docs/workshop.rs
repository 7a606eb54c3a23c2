//! A directory in which the reader of one page follows it from top to bottom.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::pages::root;

/// What an agent says first.
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"reader","version":"1"}}}"#;

/// Programs whose place a small server takes: the page's commands are run as they stand, without
/// a network.
const STAND_INS: [&str; 1] = ["npx"];

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
            let server = quickstart().display().to_string();
            let script = format!("#!/bin/sh\nexec '{server}' untouched-notes-server\n");
            let file = programs.join(name);
            fs::write(&file, script).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(example("notes-server"), programs.join("notes-server")).unwrap();
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

/// The program of the quickstart.
pub(crate) fn quickstart() -> PathBuf {
    example("quickstart")
}

/// A program beside the gate, built once: `cargo test --test docs` alone does not build it.
fn example(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let directory = BUILT.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet"]);
        for name in ["quickstart", "notes-server"] {
            command.args(["--example", name]);
        }
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        let built = command.current_dir(root()).status().unwrap();
        assert!(built.success(), "the programs build");
        let gate = Path::new(env!("CARGO_BIN_EXE_mcp-protector"));
        gate.parent().unwrap().join("examples")
    });
    directory.join(name)
}
