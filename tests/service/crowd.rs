//! Many agents at once that all use the same ids, while policies change and servers die.
//!
//! A short while in every run of the tests. For longer:
//!
//! ```sh
//! CROWD_SECONDS=300 CROWD_AGENTS=200 CROWD_PAUSE=100 cargo test --test service -- crowd --nocapture
//! ```
//!
//! The pause is what each agent waits between two calls, in milliseconds.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::fixtures::fixture;
use crate::http::{Agent, Answer};
use crate::json::json;
use crate::processes::{eventually, marked};
use crate::serving::Serving;
use crate::setup::{ALLOW_ALL, Policy, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"crowd","version":"1"}}}"#;

/// All agents use these, over and over.
const IDS: u64 = 3;

#[test]
fn a_crowd_before_servers_that_are_killed_gets_each_its_own_answers() {
    let gate = before(Setup::of([fixture("everything-server")]));
    let mark = gate.setup().mark().to_owned();
    let kill = move || {
        for (pid, name) in marked(&mark) {
            if name.starts_with("everything") {
                // It may have ended by itself meanwhile.
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
        }
    };
    check(&gate, kill);
}

#[test]
fn a_crowd_before_a_server_over_http_that_is_killed_gets_each_its_own_answers() {
    // Not one that the system gives to those who connect: they are many.
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (20_000..30_000).find(free).unwrap();
    let start = move || {
        let setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
        let mut setup = setup.over_http();
        setup.listen = format!("transport = \"http\"\nport = {port}");
        Serving::start(setup)
    };
    let mut server = Some(start());
    let gate = before(Setup::before(&format!("http://127.0.0.1:{port}/mcp")));
    check(&gate, move || {
        drop(server.take());
        server = Some(start());
    });
}

fn before(setup: Setup) -> Serving {
    Serving::start(setup.policies(ALLOW_ALL).over_http())
}

/// What came of all calls.
#[derive(Debug, Default)]
struct Tally {
    answered: AtomicU64,
    /// The gate said that the server had gone, or that the session had.
    told: AtomicU64,
}

/// Lets the crowd loose, kills the server now and then, and looks at what is left.
fn check(gate: &Serving, mut kill: impl FnMut()) {
    let (agents, rounds) = (setting("CROWD_AGENTS", 12), setting("CROWD_SECONDS", 4));
    let ended = Arc::new(AtomicBool::new(false));
    let tally = Arc::new(Tally::default());
    let crowd: Vec<_> = (0..agents)
        .map(|number| {
            let (ended, tally) = (Arc::clone(&ended), Arc::clone(&tally));
            let agent = Agent::at(&gate.url);
            thread::spawn(move || act(&agent, number, &ended, &tally))
        })
        .collect();
    let Policy::Directory(policies) = &gate.setup().policy else {
        panic!("no directory");
    };
    let mut used = Vec::new();
    for round in 1..=rounds {
        thread::sleep(Duration::from_secs(1));
        let text = format!("// {round}\n{ALLOW_ALL}");
        fs::write(policies.join("test.cedar"), text).unwrap();
        if round % 10 == 2 {
            kill();
        }
        used.push((resident(gate), descriptors(gate)));
        if round % 20 == 0 {
            eprintln!(
                "after {round} s: {tally:?}, (KiB, descriptors) = {:?}",
                used.last()
            );
        }
    }
    ended.store(true, Ordering::Relaxed);
    for agent in crowd {
        agent.join().unwrap();
    }
    eprintln!("{agents} agents, {rounds} s: {tally:?}, (KiB, descriptors) over time: {used:?}");
    assert!(tally.answered.load(Ordering::Relaxed) > 0);
    nothing_is_lost(gate, &tally);
    eventually(|| match descriptors(gate) {
        few if few <= 64 => Ok(()),
        many => Err(format!(
            "{many} descriptors are open after everybody has gone"
        )),
    });
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().unwrap())
}

/// One agent: each answer is its own, or says that there is none.
fn act(agent: &Agent, number: u64, ended: &AtomicBool, tally: &Tally) {
    let (mut call, pause) = (0, Duration::from_millis(setting("CROWD_PAUSE", 0)));
    while !ended.load(Ordering::Relaxed) {
        let Some(session) = begin(agent) else {
            continue;
        };
        while !ended.load(Ordering::Relaxed) {
            thread::sleep(pause);
            call += 1;
            let text = format!("<agent {number}, call {call}>");
            let answer = session.echo(call % IDS, &text);
            if answer.body.contains(&text) {
                assert_eq!(answer.status, 200, "{answer:?}");
                tally.answered.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            assert!(!answer.body.contains("<agent"), "{text}: {answer:?}");
            assert!(answer.body.contains("\"error\""), "{text}: {answer:?}");
            tally.told.fetch_add(1, Ordering::Relaxed);
            if answer.status == 404 {
                break;
            }
        }
        session.request("DELETE", "");
    }
}

/// A session, unless the server is not there just now.
fn begin(agent: &Agent) -> Option<Agent> {
    let answer: Answer = agent.post(INITIALIZE);
    let Some(session) = answer.header("mcp-session-id") else {
        thread::sleep(Duration::from_millis(20));
        return None;
    };
    let session = agent.clone().with(format!("Mcp-Session-Id: {session}"));
    session.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    Some(session)
}

/// Records follow each other without a gap; each call that was let through has one outcome, and each
/// answer that an agent got has a call.
fn nothing_is_lost(gate: &Serving, tally: &Tally) {
    let answered = tally.answered.load(Ordering::Relaxed);
    eventually(|| {
        let file = fs::read_to_string(gate.setup().audit_file()).unwrap();
        let records: Vec<Value> = file.lines().map(json).collect();
        let mut outcomes: HashMap<String, i64> = HashMap::new();
        let mut revisions = BTreeSet::new();
        let (mut calls, mut starts, mut ends) = (0, 0, 0);
        for (index, record) in records.iter().enumerate() {
            assert_eq!(record["seq"], index + 1, "{record}");
            let reference = record["reference"].as_str().unwrap_or_default().to_owned();
            match record["kind"].as_str().unwrap() {
                "tool_call" => {
                    revisions.insert(record["revision"].as_str().unwrap().to_owned());
                    calls += 1;
                    if record["decision"] == "ALLOW" {
                        *outcomes.entry(reference).or_default() += 1;
                    }
                }
                "tool_result" => *outcomes.entry(reference).or_default() -= 1,
                "session_start" => starts += 1,
                "session_end" => ends += 1,
                "audit_gap" => panic!("{record}"),
                _ => {}
            }
        }
        assert!(calls >= answered, "{calls} calls, {answered} answers");
        assert!(revisions.len() > 1, "{revisions:?}");
        let open: Vec<_> = outcomes.iter().filter(|(_, left)| **left != 0).collect();
        if !open.is_empty() || starts != ends {
            return Err(format!(
                "{starts} starts, {ends} ends, without outcome: {open:?}"
            ));
        }
        Ok(())
    });
}

fn resident(gate: &Serving) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gate.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.unwrap().parse().unwrap()
}

fn descriptors(gate: &Serving) -> usize {
    fs::read_dir(format!("/proc/{}/fd", gate.child.id()))
        .unwrap()
        .count()
}
