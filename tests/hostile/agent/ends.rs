//! Ends of the agent while something is under way, and output without a reader.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::hostile::dialogue::{Past, Talk};
use crate::support::fixtures::fixture;
use crate::support::peer::{Ended, PATIENCE, Peer};
use crate::support::processes;
use crate::support::setup::{ALLOW_ALL, GATE, MARK, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#;

fn call(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"safe"}}}}"#)
}

fn recorded(setup: Setup) -> Setup {
    let log = setup.path("received");
    setup.env("FIXTURE_LOG", log.to_str().unwrap())
}

/// A gate whose streams the test holds itself.
struct Held {
    setup: Setup,
    child: Child,
    input: Option<Box<dyn Write + Send>>,
    output: Option<BufReader<Box<dyn Read + Send>>>,
}

impl Held {
    fn start(setup: Setup) -> Self {
        let mut child = setup
            .gate()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output: Box<dyn Read + Send> = Box::new(child.stdout.take().unwrap());
        Self {
            setup,
            child,
            input: Some(Box::new(input)),
            output: Some(BufReader::new(output)),
        }
    }

    /// The same with sockets, as agents on Node.js have them.
    fn with_sockets(setup: Setup) -> Self {
        let [input, output] = [(); 2].map(|()| UnixStream::pair().unwrap());
        let child = setup
            .gate()
            .stdin(OwnedFd::from(input.1))
            .stdout(OwnedFd::from(output.1))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let read: Box<dyn Read + Send> = Box::new(output.0);
        Self {
            setup,
            child,
            input: Some(Box::new(input.0)),
            output: Some(BufReader::new(read)),
        }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let output = self.output.as_mut().unwrap();
        output.read_line(&mut line).unwrap();
        line
    }

    /// The exit code of a gate that ends by itself.
    fn code(&mut self) -> Option<i32> {
        processes::eventually(|| match self.child.try_wait().unwrap() {
            Some(status) => Ok(status.code()),
            None => Err("the gate does not end".to_owned()),
        })
    }
}

/// A test that fails leaves nothing behind.
impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_agent_that_closes_its_end_right_after_its_last_request_loses_no_answer() {
    for durability in ["async", "strict"] {
        for _ in 0..4 {
            let mut setup = Setup::of([&fixture("hostile-server"), "proper"]).allow(&["safe"]);
            setup.audit = format!("durability = {durability:?}");
            let mut talk = Talk::through(setup);
            talk.open();
            let ids: Vec<String> = (10..30).map(|id: u32| id.to_string()).collect();
            let writing =
                talk.request_aside_and_close(&ids, r#""tools/call","params":{"name":"safe"}"#);
            let past = talk.end();
            writing.join().unwrap();
            assert_eq!(past.ended.code, Some(0), "{}", past.ended.stderr);
            let answered = past.agent_saw("safe ran").len();
            assert_eq!(answered, ids.len(), "{durability}: {:#?}", past.ended.lines);
        }
    }
}

#[test]
fn an_agent_that_reads_only_when_it_has_closed_its_end_loses_no_answer() {
    let setup = recorded(Setup::of([fixture("everything-server")]).policies(ALLOW_ALL));
    let [_, _, config] = setup.arguments().try_into().unwrap();
    // More than a pipe and the gate's queue hold: most of it is in hand when the agent's end closes.
    let large = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"large","arguments":{{"bytes":900000}}}}}}"#
        )
    };
    let requests = [
        INITIALIZE.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
    ];
    let requests: Vec<String> = requests.into_iter().chain((10..14).map(large)).collect();
    let script = r#"
printf '%s\n' "$1" | "$0" proxy --config "$2" | {
  until [ "$(grep -c tools/call "$3")" = 4 ] && grep -q stopping "$4"; do sleep 0.02; done
  cat
}"#;
    let stderr = setup.path("stderr");
    let script = script.replace("--config \"$2\" |", "--config \"$2\" 2>\"$4\" |");
    let mut pipe = Command::new("sh");
    pipe.args(["-c", &script, GATE])
        .arg(requests.join("\n"))
        .arg(config)
        .arg(setup.path("received"))
        .arg(&stderr)
        .env(MARK, setup.mark());
    let ended = Peer::start(pipe).end();
    let told = std::fs::read_to_string(stderr).unwrap();
    for id in 10..14 {
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        let answers = ended.lines.iter().filter(|line| line.starts_with(&start));
        assert_eq!(answers.count(), 1, "{id}: {told}");
    }
}

#[test]
fn an_agent_that_closes_its_reading_end_leaves_no_call_without_an_outcome() {
    for _ in 0..4 {
        let setup = Setup::of([&fixture("hostile-server"), "slow"]).allow(&["safe"]);
        let mut gate = Held::start(recorded(setup));
        gate.send(INITIALIZE);
        assert!(gate.line().contains("hostile-server"));
        for id in 10..18 {
            gate.send(&call(id));
        }
        assert!(gate.line().contains("safe ran"));
        // The agent reads no more; its other end stays open.
        gate.output = None;
        let code = gate.code();
        let mut stderr = String::new();
        let mut unread = gate.child.stderr.take().unwrap();
        unread.read_to_string(&mut stderr).unwrap();
        assert_eq!(code, Some(0), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        let ended = Ended {
            code,
            lines: Vec::new(),
            stderr,
        };
        let past = Past::of(&gate.setup, ended);
        past.has_decisions_and_outcomes(past.of_kind("tool_call").count());
        assert!(past.of_kind("tool_call").count() > 1, "{:#?}", past.audit);
        assert_eq!(past.of_kind("session_end").count(), 1);
    }
}

#[test]
fn what_an_agent_waited_for_is_cancelled_at_once_when_its_process_has_ended() {
    for start in [Held::start, Held::with_sockets] {
        let mut setup = recorded(Setup::of([fixture("everything-server")]).policies(ALLOW_ALL));
        r#"shutdown_grace_period = "10m""#.clone_into(&mut setup.limits);
        let received = setup.path("received");
        let has = |text: &str| {
            processes::eventually(|| {
                let received = std::fs::read_to_string(&received).unwrap_or_default();
                received.contains(text).then_some(()).ok_or(received)
            });
        };
        let mut gate = start(setup);
        gate.send(INITIALIZE);
        gate.line();
        gate.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        gate.send(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{"steps":1,"delay_ms":600000}}}"#);
        has("tools/call");
        // One that only says no more still waits for its answer.
        gate.input = None;
        let mut log = BufReader::new(gate.child.stderr.take().unwrap()).lines();
        assert!(log.any(|line| line.unwrap().contains("stopping")));
        let said = std::fs::read_to_string(&received).unwrap();
        assert!(!said.contains("notifications/cancelled"), "{said}");
        gate.output = None;
        has("notifications/cancelled");
        let stderr: Vec<String> = log.map_while(Result::ok).collect();
        let ended = Ended {
            code: gate.code(),
            lines: Vec::new(),
            stderr: stderr.join("\n"),
        };
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        Past::of(&gate.setup, ended).server_was_told_to_cancel("slow");
    }
}

#[test]
fn a_signal_ends_a_gate_whose_server_reads_no_more() {
    let limits = [
        r#"request_timeout = "1s""#,
        r#"shutdown_grace_period = "1s""#,
    ];
    let mut talk = Talk::with("deaf-after-list", &limits);
    talk.open();
    talk.ask("\"list\"", r#""tools/list""#);
    // A pipe and a queue are full after two of them.
    let text = "x".repeat(3 << 19);
    let large =
        format!(r#""tools/call","params":{{"name":"safe","arguments":{{"text":"{text}"}}}}"#);
    let ids = ["11", "12", "13", "14"].map(str::to_owned);
    let writing = talk.request_aside(&ids, &large);
    for id in &ids {
        let answer = talk.answer(id);
        assert!(answer.contains(r#""code":-32603,"#), "{answer}");
        // The server lives: the gate did not wait for its exit.
        assert!(!answer.contains("ended"), "{answer}");
    }
    // The agent goes on to ask, and does not close its end.
    talk.gate.input = Some(writing.join().unwrap());
    talk.request("15", r#""tools/call","params":{"name":"safe"}"#);
    let pid = Pid::from_raw(i32::try_from(talk.gate.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    while talk.gate.receive().is_some() {}
    // Whether the last request was still read is up to the two of them.
    let past = talk.close();
    assert_eq!(past.ended.code, Some(0), "{}", past.ended.stderr);
    let died = past.of_kind("upstream_state");
    assert_eq!(died.filter(|it| it["event"] == "down").count(), 0);
    let decided = past.of_kind("tool_call").count();
    assert!(decided >= ids.len());
    past.has_decisions_and_outcomes(decided);
    for id in ids {
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        let answers = past
            .ended
            .lines
            .iter()
            .filter(|line| line.starts_with(&start));
        assert_eq!(answers.count(), 1, "{id}");
    }
}

#[test]
fn a_signal_in_a_flood_of_calls_ends_a_gate_that_has_answered_what_it_read() {
    let mut talk = Talk::with("proper", &[r#"shutdown_grace_period = "1m""#]);
    talk.open();
    let ids: Vec<String> = (100..4000).map(|id: u32| id.to_string()).collect();
    let writing = talk.request_aside(&ids, r#""tools/call","params":{"name":"safe"}"#);
    talk.answer("100");
    let pid = Pid::from_raw(i32::try_from(talk.gate.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    // Whatever waits for the deadline waits for ever.
    while talk.gate.receive().is_some() {}
    drop(writing.join());
    let past = talk.close();
    assert_eq!(past.ended.code, Some(0), "{}", past.ended.stderr);
    let decided = past.of_kind("tool_call").count();
    past.has_decisions_and_outcomes(decided);
    let answered = past.ended.lines.iter();
    let answered = answered
        .filter(|line| line.contains(r#""result":{"content""#) || line.contains(r#""error""#));
    assert_eq!(answered.count(), decided);
}

#[test]
fn diagnostics_that_nobody_reads_stop_nothing() {
    let setup = Setup::of([&fixture("hostile-server"), "flood-stderr"]).allow(&["safe"]);
    let mut gate = Held::start(recorded(setup));
    let unread = gate.child.stderr.take().unwrap();
    // As little as the system lets a pipe hold: what the server says on its stderr fills it.
    rustix::pipe::fcntl_setpipe_size(&unread, 4096).unwrap();
    let mut output = gate.output.take().unwrap().lines();
    let (tell, told) = sync_channel(1);
    // A gate that hangs must not hang the test.
    thread::spawn(move || {
        while let Some(Ok(line)) = output.next() {
            let _ = tell.send(line);
        }
    });
    let answer = |start: &str| {
        let answer = told.recv_timeout(PATIENCE).unwrap();
        assert!(answer.starts_with(start), "{answer}");
    };
    gate.send(INITIALIZE);
    answer(r#"{"jsonrpc":"2.0","id":1,"result""#);
    for id in [7, 8] {
        gate.send(&call(id));
        answer(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#));
    }
    gate.input = None;
    gate.code();
    drop(unread);
}
