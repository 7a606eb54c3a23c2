//! One signal, one deadline (requirement A18), on a real process.

use std::io::{BufRead, BufReader};

use rustix::process::Signal;

use crate::processes::support::{Gate, Mark, kill};

/// Ends only when it is killed.
const DEAF: &str = "import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('ready')
while True: time.sleep(60)";

#[test]
fn a_server_that_ends_by_itself_is_not_killed() {
    let mark = Mark::new();
    let directory = tempfile::tempdir().unwrap();
    let last_words = directory.path().join("last words");
    let script = format!(
        "import sys; print('ready'); sys.stdin.read(); open({last_words:?}, 'w').write('bye')"
    );
    let mut gate = Gate::python(&["--env", mark.variable()], &script);
    assert_eq!(gate.line(), "ready");
    kill(gate.pid(), Signal::TERM);
    assert_eq!(gate.wait().code(), Some(0));
    assert_eq!(std::fs::read_to_string(last_words).unwrap(), "bye");
}

#[test]
fn a_server_that_needs_a_signal_gets_sigterm_first() {
    let mark = Mark::new();
    let directory = tempfile::tempdir().unwrap();
    let last_words = directory.path().join("last words");
    let script = format!(
        "import signal, sys, time
def end(*_):
    open({last_words:?}, 'w').write('bye'); sys.exit(0)
signal.signal(signal.SIGTERM, end)
print('ready')
while True: time.sleep(60)"
    );
    let mut gate = Gate::python(&["--env", mark.variable()], &script);
    assert_eq!(gate.line(), "ready");
    kill(gate.pid(), Signal::TERM);
    assert_eq!(gate.wait().code(), Some(0));
    assert_eq!(std::fs::read_to_string(last_words).unwrap(), "bye");
}

#[test]
fn what_the_server_answers_while_it_stops_reaches_the_agent() {
    let mark = Mark::new();
    let script = "import sys; print('ready'); sys.stdin.read(); print('late answer')";
    let mut gate = Gate::python(&["--env", mark.variable()], script);
    assert_eq!(gate.line(), "ready");
    kill(gate.pid(), Signal::TERM);
    assert_eq!(gate.line(), "late answer");
    assert_eq!(gate.line(), "", "stdout is closed");
    assert_eq!(gate.wait().code(), Some(0));
}

#[test]
fn a_second_signal_does_not_wait_for_the_server() {
    let mark = Mark::new();
    let options = ["--env", mark.variable(), "--patience", "20000"];
    let mut gate = Gate::python(&options, DEAF);
    assert_eq!(gate.line(), "ready");
    let mut log = BufReader::new(gate.child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    kill(gate.pid(), Signal::INT);
    assert!(
        log.any(|line| line.contains("stopping")),
        "two signals at once would be one"
    );
    kill(gate.pid(), Signal::INT);
    assert!(log.any(|line| line.contains("a second signal")));
    assert_eq!(gate.wait().code(), Some(0));
    assert_eq!(mark.processes().len(), 0);
}

#[test]
fn an_interrupt_for_the_gate_is_none_for_the_server() {
    // A terminal sends it to the whole foreground group; the server is in a group of its own.
    let mark = Mark::new();
    let mut gate = Gate::python(
        &["--env", mark.variable()],
        "print('ready'); input(); print('asked')",
    );
    assert_eq!(gate.line(), "ready");
    let groups: Vec<i32> = mark
        .processes()
        .iter()
        .map(|process| rustix::process::getpgid(rustix::process::Pid::from_raw(process.pid)))
        .map(|group| group.unwrap().as_raw_nonzero().get())
        .collect();
    let own = rustix::process::getpgid(rustix::process::Pid::from_raw(gate.pid())).unwrap();
    assert!(
        groups.windows(2).all(|pair| pair[0] == pair[1]),
        "{groups:?}"
    );
    assert!(!groups.contains(&own.as_raw_nonzero().get()));
}
