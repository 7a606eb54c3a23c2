//! Nothing outlives the gate, and nothing is left unreaped (threat P4).

use std::time::Duration;

use rustix::process::Signal;

use crate::processes::support::{
    Gate, Mark, PATIENCE, Process, Server, kill, python, run, settings, wait_until,
};

/// A server that answers each line, ignores all that can be ignored, and has a child like itself
/// and a grandchild in a session of its own. Both hold its stdout.
const STUBBORN_FAMILY: &str = r#"
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    while True: time.sleep(60)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        while True: time.sleep(60)
    os._exit(0)
os.wait()
print("ready")
while True:
    line = sys.stdin.readline()
    if line: print("echo " + line.strip())
    else: time.sleep(60)
"#;

fn start_stubborn(mark: &Mark, options: &[&str]) -> Gate {
    let options = [&["--env", mark.variable()], options].concat();
    let mut gate = Gate::python(&options, STUBBORN_FAMILY);
    assert_eq!(gate.line(), "ready");
    gate.send("x");
    assert_eq!(gate.line(), "echo x");
    gate
}

fn launchers(mark: &Mark) -> Vec<Process> {
    let mut processes = mark.processes();
    processes.retain(|process| process.name == "mcp-launch");
    processes
}

#[test]
fn a_killed_gate_leaves_no_process() {
    let mark = Mark::new();
    let mut gate = start_stubborn(&mark, &[]);
    assert_eq!(
        mark.processes().len(),
        4,
        "launcher, server, child, grandchild"
    );
    kill(gate.pid(), Signal::KILL);
    gate.wait();
    mark.assert_gone();
}

#[test]
fn a_server_dies_with_its_launcher_even_when_the_gate_cannot_help() {
    let mark = Mark::new();
    let gate = start_stubborn(&mark, &[]);
    let launcher = launchers(&mark).remove(0);
    let is_server = |process: &Process| process.parent == launcher.pid;
    let server = mark.processes().into_iter().find(is_server).unwrap();
    // As if both were killed at the same moment; then neither can kill the server.
    kill(gate.pid(), Signal::STOP);
    launcher.kill(Signal::KILL);
    wait_until(PATIENCE, "the server has gone", || {
        mark.processes()
            .iter()
            .all(|process| process.pid != server.pid)
    });
}

#[test]
fn a_gate_that_is_killed_while_it_starts_leaves_no_process() {
    for milliseconds in 0..40 {
        let mark = Mark::new();
        let mut gate = Gate::start(&["--env", mark.variable()], &["sleep", "60"]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        kill(gate.pid(), Signal::KILL);
        gate.wait();
        mark.assert_gone();
    }
}

#[test]
fn a_gate_that_is_told_to_stop_leaves_no_process() {
    for signal in [Signal::TERM, Signal::INT] {
        let mark = Mark::new();
        let mut gate = start_stubborn(&mark, &[]);
        kill(gate.pid(), signal);
        assert_eq!(gate.wait().code(), Some(0));
        assert_eq!(mark.processes().len(), 0, "gone before the gate is");
    }
}

#[test]
fn a_gate_whose_agent_has_gone_leaves_no_process() {
    let mark = Mark::new();
    let mut gate = start_stubborn(&mark, &[]);
    drop(gate.stdin.take());
    assert_eq!(gate.wait().code(), Some(0));
    assert_eq!(mark.processes().len(), 0);
}

#[test]
fn without_a_launcher_a_gate_that_is_told_to_stop_ends_the_group() {
    let mark = Mark::new();
    let mut gate = Gate::start(
        &["--env", mark.variable(), "--without-launcher"],
        &[
            "sh",
            "-c",
            "trap '' TERM; sleep 60 & echo ready; while :; do sleep 60; done",
        ],
    );
    assert_eq!(gate.line(), "ready");
    kill(gate.pid(), Signal::TERM);
    assert_eq!(gate.wait().code(), Some(0));
    mark.assert_gone();
}

#[test]
fn what_a_server_leaves_behind_ends_with_it() {
    let mark = Mark::new();
    let script = r"
import os, sys, time
daemon = os.fork()
if daemon == 0:
    os.setsid()
    while True: time.sleep(60)
print(daemon)
sys.stdin.readline()
";
    let mut gate = Gate::python(&["--env", mark.variable()], script);
    let daemon: i32 = gate.line().parse().unwrap();
    gate.send("end");
    // The daemon of the next one, after a restart.
    assert_ne!(gate.line(), daemon.to_string());
    assert!(
        mark.processes().iter().all(|process| process.pid != daemon),
        "{daemon} lives"
    );
}

#[test]
fn orphans_of_a_living_server_are_reaped() {
    let mark = Mark::new();
    let script = r#"
import os, sys, time
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.05)
        os._exit(0)
    os.wait()
print("ready")
sys.stdin.read()
"#;
    let mut gate = Gate::python(&["--env", mark.variable()], script);
    assert_eq!(gate.line(), "ready");
    let launcher = launchers(&mark).first().unwrap().pid;
    wait_until(PATIENCE, "only the server is left", || {
        Process::children_of(launcher).len() == 1
    });
    assert_eq!(Process::children_of(gate.pid()).len(), 1);
}

#[test]
fn a_server_that_died_is_no_zombie() {
    run(async {
        let mut server = Server::python("import sys; print('ready'); sys.stdin.readline()");
        server.sender.handshake_completed();
        for _ in 0..3 {
            assert_eq!(server.line().await, "ready");
            server.send("end").await;
            server.event().await; // died
            server.event().await; // restarted
        }
        let own = i32::try_from(std::process::id()).unwrap();
        server.sender.stop().await;
        // Other tests run in this process as well: theirs are no zombies for long either.
        wait_until(PATIENCE, "no zombie is left", || {
            Process::children_of(own)
                .iter()
                .all(|child| child.state != 'Z')
        });
    });
}

#[test]
fn a_launcher_that_is_killed_takes_the_server_along_and_is_replaced() {
    run(async {
        let mark = Mark::new();
        let (name, value) = mark.variable().split_once('=').unwrap();
        let mut settings = settings(python(
            "import os, sys, time\nif os.fork() == 0: time.sleep(60)\nprint(os.getpid())\nsys.stdin.read()",
        ));
        settings.env.insert(name.to_owned(), value.into());
        let mut server = Server::start(settings);
        server.sender.handshake_completed();
        let first = server.line().await;
        launchers(&mark).first().unwrap().kill(Signal::KILL);
        server.event().await; // died
        server.event().await; // restarted
        let second = server.line().await;
        assert_ne!(first, second);
        assert_eq!(
            mark.processes().len(),
            4 - 1,
            "launcher, server and its child, once"
        );
        server.sender.stop().await;
        mark.assert_gone();
    });
}

#[test]
fn the_thread_that_started_the_server_may_end() {
    run(async {
        let runtime = tokio::runtime::Handle::current();
        let settings = settings(vec!["cat".to_owned()]);
        let start = move || {
            let _inside = runtime.enter();
            Server::start(settings)
        };
        let mut server = std::thread::spawn(start).join().unwrap();
        for _ in 0..10 {
            server.send("still here").await;
            assert_eq!(server.line().await, "still here");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.sender.stop().await;
    });
}

#[test]
fn dropping_both_halves_ends_the_server() {
    run(async {
        let mark = Mark::new();
        let (name, value) = mark.variable().split_once('=').unwrap();
        let mut settings = settings(python(STUBBORN_FAMILY));
        settings.env.insert(name.to_owned(), value.into());
        let mut server = Server::start(settings);
        assert_eq!(server.line().await, "ready");
        drop(server);
        tokio::task::spawn_blocking(move || mark.assert_gone())
            .await
            .unwrap();
    });
}

#[test]
fn dropping_the_runtime_ends_the_server() {
    let mark = Mark::new();
    let (name, value) = mark.variable().split_once('=').unwrap();
    let mut settings = settings(python(STUBBORN_FAMILY));
    settings.env.insert(name.to_owned(), value.into());
    let mut kept = None;
    run(async {
        let mut server = Server::start(settings);
        assert_eq!(server.line().await, "ready");
        kept = Some(server);
    });
    // The halves live on; the tasks are gone.
    mark.assert_gone();
    drop(kept);
}
