//! `--watch` as people use it: edit, look, edit again, interrupt.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const POLICIES: &str = r#"
@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
"#;

const PASSING: &str = "[[test]]\nname = 'x'\ncall = 'read'\nexpect = 'allow'\n";

/// A pack that is watched.
struct Watched {
    dir: tempfile::TempDir,
    child: Child,
    told: BufReader<std::process::ChildStderr>,
    out: BufReader<std::process::ChildStdout>,
}

impl Watched {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tests")).unwrap();
        write(dir.path(), "p.cedar", POLICIES);
        write(dir.path(), "tests/t.toml", PASSING);
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-protector"))
            .args(["test-policy", "--watch", "."])
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut watched = Self {
            dir,
            child,
            told,
            out,
        };
        watched.until_it_waits();
        watched
    }

    /// What is told on standard error until it waits for the next change.
    fn until_it_waits(&mut self) -> String {
        let mut told = String::new();
        while !told.ends_with("── watching; Ctrl-C ends ──\n") {
            assert_ne!(self.told.read_line(&mut told).unwrap(), 0, "{told}");
        }
        told
    }

    fn change(&mut self, file: &str, text: &str) -> String {
        write(self.dir.path(), file, text);
        self.until_it_waits()
    }

    /// The last line of the next report.
    fn summary(&mut self) -> String {
        let mut line = String::new();
        while !line.contains(" in 1 suite: ") {
            line.clear();
            assert_ne!(self.out.read_line(&mut line).unwrap(), 0);
        }
        line
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As editors do it, in one step.
fn write(dir: &Path, file: &str, text: &str) {
    let beside = dir.join(".new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, dir.join(file)).unwrap();
}

#[test]
fn each_change_runs_the_tests_again_until_an_interrupt_ends_it_as_the_last_run_ended() {
    let mut watched = Watched::start();
    let passed = "1 test in 1 suite: 1 passed, 0 failed\n";
    let failed = "1 test in 1 suite: 0 passed, 1 failed\n";
    assert_eq!(watched.summary(), passed);
    watched.change("p.cedar", &POLICIES.replace("permit", "forbid"));
    assert_eq!(watched.summary(), failed);
    let told = watched.change("p.cedar", "permit (");
    assert!(told.contains("policy::syntax"), "{told}");
    let told = watched.change("tests/t.toml", "suit = 'x'");
    assert!(told.contains("policy::syntax"), "{told}");
    let told = watched.change("p.cedar", POLICIES);
    assert!(told.contains("did you mean `suite`?"), "{told}");
    watched.change("tests/t.toml", PASSING);
    assert_eq!(watched.summary(), passed);
    watched.change("tests/t.toml", &PASSING.replace("allow", "deny"));
    assert_eq!(watched.summary(), failed);
    let pid = rustix::process::Pid::from_child(&watched.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(watched.child.wait().unwrap().code(), Some(1));
}
