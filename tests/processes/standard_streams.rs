//! Our own stdin and stdout, as an agent may have made them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::Signal;

use crate::processes::support::{Gate, PATIENCE, gate_program, kill, python, wait_until};

fn gate() -> Command {
    let mut command = Command::new(gate_program());
    command.args(["gate", "--", "cat"]).stderr(Stdio::null());
    command
}

fn is_nonblocking(descriptor: impl AsFd) -> bool {
    fcntl_getfl(descriptor).unwrap().contains(OFlags::NONBLOCK)
}

fn wait(mut gate: Child) {
    wait_until(PATIENCE, "the gate exits", || {
        gate.try_wait().unwrap().is_some()
    });
}

#[track_caller]
fn check_echo(mut agent: impl Write, answers: impl Read) {
    let mut answers = BufReader::new(answers);
    for line in ["one\n", "two\n"] {
        agent.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, line);
    }
}

#[test]
fn pipes_are_read_without_changing_them_for_others() {
    let (stdin, agent) = std::io::pipe().unwrap();
    let (answers, stdout) = std::io::pipe().unwrap();
    let (theirs_in, theirs_out) = (stdin.try_clone().unwrap(), stdout.try_clone().unwrap());
    let gate = gate().stdin(theirs_in).stdout(theirs_out).spawn().unwrap();
    check_echo(&agent, &answers);
    assert!(!is_nonblocking(&stdin) && !is_nonblocking(&stdout));
    drop(agent);
    wait(gate);
}

#[test]
fn sockets_are_given_back_as_they_were() {
    let (stdin, agent) = UnixStream::pair().unwrap();
    let (stdout, answers) = UnixStream::pair().unwrap();
    let theirs = [&stdin, &stdout].map(|stream| OwnedFd::from(stream.try_clone().unwrap()));
    let [theirs_in, theirs_out] = theirs;
    let gate = gate().stdin(theirs_in).stdout(theirs_out).spawn().unwrap();
    check_echo(&agent, &answers);
    assert!(is_nonblocking(&stdin), "driven by the event loop");
    drop(agent);
    wait(gate);
    assert!(!is_nonblocking(&stdin) && !is_nonblocking(&stdout));
}

#[test]
fn one_socket_for_everything_keeps_stderr_blocking() {
    let (theirs, agent) = UnixStream::pair().unwrap();
    let shared = || OwnedFd::from(theirs.try_clone().unwrap());
    let mut gate = gate()
        .stdin(Stdio::piped())
        .stdout(shared())
        .stderr(shared())
        .spawn()
        .unwrap();
    let mut stdin = gate.stdin.take().unwrap();
    stdin.write_all(b"one\n").unwrap();
    // Log lines may come before the answer.
    assert!(
        BufReader::new(&agent)
            .lines()
            .any(|line| line.unwrap() == "one")
    );
    assert!(!is_nonblocking(&theirs));
    drop(stdin);
    wait(gate);
}

#[test]
fn one_socket_for_stdin_and_stdout_is_enough() {
    let (theirs, agent) = UnixStream::pair().unwrap();
    let shared = || OwnedFd::from(theirs.try_clone().unwrap());
    let gate = gate().stdin(shared()).stdout(shared()).spawn().unwrap();
    check_echo(&agent, &agent);
    agent.shutdown(std::net::Shutdown::Write).unwrap();
    wait(gate);
}

#[test]
fn files_serve_as_stdin_and_stdout() {
    let directory = tempfile::tempdir().unwrap();
    let [input, output] = ["in", "out"].map(|name| directory.path().join(name));
    std::fs::write(&input, "one\ntwo\nlast").unwrap();
    let stdin = File::open(&input).unwrap();
    let stdout = File::create(&output).unwrap();
    wait(gate().stdin(stdin).stdout(stdout).spawn().unwrap());
    assert_eq!(std::fs::read_to_string(output).unwrap(), "one\ntwo\nlast\n");
}

#[test]
fn an_agent_that_has_closed_its_end_already_is_no_failure() {
    let mut command = gate();
    wait(
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
}

#[test]
fn a_terminal_does_not_keep_a_gate_from_stopping() {
    let script = format!(
        "import os, pty, signal, subprocess, tty
agent, theirs = pty.openpty()
tty.setraw(theirs)
gate = subprocess.Popen([{:?}, 'gate', '--', 'cat'], stdin=theirs, stdout=theirs)
os.write(agent, b'one\\n')
assert os.read(agent, 100) == b'one\\n'
gate.send_signal(signal.SIGTERM)
print(gate.wait(30))",
        gate_program()
    );
    let command = python(&script);
    let shown = Command::new(&command[0])
        .args(&command[1..])
        .stderr(Stdio::null())
        .output();
    assert_eq!(String::from_utf8(shown.unwrap().stdout).unwrap(), "0\n");
}

#[test]
fn what_does_not_belong_to_stdout_goes_to_stderr() {
    let mut gate = Gate::start(&["--stray"], &["cat"]);
    gate.send("one");
    assert_eq!(gate.line(), "one");
    let complaints = gate.complaints();
    assert!(complaints.contains("stray"), "{complaints}");
}

#[test]
fn an_agent_that_reads_no_more_does_not_keep_a_gate_from_stopping() {
    // Fills the pipe, and the gate's own queue behind it.
    let mut gate = Gate::python(&[], "while True: print('x' * 10000)");
    assert!(gate.line().starts_with('x'));
    kill(gate.pid(), Signal::TERM);
    assert_eq!(gate.wait().code(), Some(0));
}
