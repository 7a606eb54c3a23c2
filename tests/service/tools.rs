//! The lock of tool definitions, of servers that are reached over HTTP.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use crate::service::guarded::{Guarded, SECRET, issued};
use crate::support::fixtures::fixture;
use crate::support::setup::{ALLOW_ALL, GATE, Setup};

/// A server that ends when its standard input does.
pub(crate) struct Everything {
    child: Child,
    _input: ChildStdin,
    pub(crate) url: String,
}

impl Everything {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(fixture("everything-server"));
        command.args(["--http", "0"]).args(arguments);
        Self::of(command)
    }

    /// What it receives is written to a file.
    pub(crate) fn recording(log: &Path) -> Self {
        let mut command = Command::new(fixture("everything-server"));
        command.args(["--http", "0"]).env("FIXTURE_LOG", log);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let url = line.strip_prefix("listening on ").unwrap().to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        let input = child.stdin.take().unwrap();
        Self {
            child,
            _input: input,
            url,
        }
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tools(setup: &Setup, words: &[&str]) -> Output {
    let arguments = setup.arguments();
    let mut command = Command::new(GATE);
    command.arg("tools").args(words);
    command.args(["--config", arguments.last().unwrap()]);
    command.output().unwrap()
}

/// What is locked; panics unless it is.
fn locked(setup: &Setup) -> String {
    let output = tools(setup, &["lock"]);
    assert!(output.status.success(), "{output:?}");
    let lock = fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
    // Of several pages.
    assert!(lock.matches("sha256").count() > 4, "{lock}");
    let same = tools(setup, &["diff"]);
    assert!(same.status.success(), "{same:?}");
    lock
}

#[test]
fn what_is_locked_is_the_same_whatever_the_way_to_the_server_and_its_era() {
    let expected = locked(&Setup::of([fixture("everything-server")]).policies(ALLOW_ALL));
    let stateless = [&*fixture("everything-server"), "--stateless"].map(str::to_owned);
    assert_eq!(locked(&Setup::of(stateless).policies(ALLOW_ALL)), expected);
    for arguments in [&[][..], &["--stateless"]] {
        let server = Everything::start(arguments);
        let setup = Setup::before(&server.url).policies(ALLOW_ALL);
        assert_eq!(locked(&setup), expected, "{arguments:?}");
        let changed = expected.replacen("echo", "ohce", 1);
        fs::write(setup.path("policies/tools.lock"), &changed).unwrap();
        let refused = tools(&setup, &["diff"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let forced = tools(&setup, &["lock", "--force"]);
        assert!(forced.status.success(), "{forced:?}");
    }
}

#[test]
fn a_server_that_wants_a_token_is_shown_it_for_the_lock_which_does_not_hold_it() {
    let guarded = Guarded::start();
    let mut setup = Setup::before(&guarded.url).policies(ALLOW_ALL);
    setup.reaching = format!(
        "auth = {{ type = \"client_credentials\", client_id = \"gate\", \
         client_secret = \"{SECRET}\", token_url = \"{}/token\" }}",
        guarded.issuer
    );
    let output = tools(&setup, &["lock"]);
    assert!(output.status.success(), "{output:?}");
    let lock = fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
    assert!(lock.contains("echo"), "{lock}");
    // A definition that repeats what the server was shown is not written anywhere.
    guarded.state().leaks = true;
    let output = tools(&setup, &["approve", "--all"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("holds a secret"), "{said}");
    assert!(!said.contains(&issued(2)), "{said}");
    let after = fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
    assert_eq!(after, lock);
    assert_eq!(guarded.asked(), 2);
}

#[test]
fn a_server_that_cannot_be_asked_leaves_no_lock_and_says_why() {
    let guarded = Guarded::start();
    let check = |auth: &str, why: &str| {
        let mut setup = Setup::before(&guarded.url).policies(ALLOW_ALL);
        auth.clone_into(&mut setup.reaching);
        let output = tools(&setup, &["lock"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(why), "{said}");
        assert!(!setup.path("policies/tools.lock").exists());
    };
    check("", "does not accept the gate's credentials");
    check(
        "auth = { type = \"bearer\", token = \"0123456789\" }",
        "does not accept the gate's credentials",
    );
    check(
        "auth = { type = \"bearer\", token_file = \"nowhere\" }",
        "upstream.auth.token_file",
    );
}
