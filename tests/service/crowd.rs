//! Many agents at once that all use the same ids, while policies change and servers die.
//!
//! A short while in every run of the tests. For longer:
//!
//! ```sh
//! CROWD_SECONDS=300 CROWD_AGENTS=200 CROWD_PAUSE=100 cargo test --test end_to_end -- service::crowd --nocapture
//! ```
//!
//! The pause is what each agent waits between two calls, in milliseconds.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use mcp_protector::clock::{Clock as _, SystemClock};
use serde_json::Value;

use crate::support::fixtures::fixture;
use crate::support::http::{Agent, Answer};
use crate::support::json::json;
use crate::support::processes::{eventually, marked};
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Policy, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"crowd","version":"1"}}}"#;

/// All agents use these, over and over.
const IDS: u64 = 3;

/// Longer than an agent waits for its first answer on any machine.
const NEVER: Duration = Duration::from_mins(10);

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
        MANY.clone_into(&mut setup.limits);
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

fn before(mut setup: Setup) -> Serving {
    MANY.clone_into(&mut setup.limits);
    Serving::start(setup.policies(ALLOW_ALL).over_http())
}

/// Agents without a token begin fewer, unless that is said.
const MANY: &str = "max_sessions = 5000";

/// What came of calls.
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
    let tallies: Vec<Arc<Tally>> = (0..agents).map(|_| Arc::default()).collect();
    let crowd: Vec<_> = (0..)
        .zip(&tallies)
        .map(|(number, tally)| {
            let (ended, tally) = (Arc::clone(&ended), Arc::clone(tally));
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
        used.push(Used::by(gate));
        if round % 20 == 0 {
            eprintln!("after {round} s: {:?}, {:?}", sum(&tallies), used.last());
        }
    }
    ended.store(true, Ordering::Relaxed);
    for agent in crowd {
        agent.join().unwrap();
    }
    let all = sum(&tallies);
    let fewest = tallies.iter().map(|it| it.answered.load(Ordering::Relaxed));
    let fewest = fewest.min().unwrap();
    eprintln!("{agents} agents, {rounds} s: {all:?}, each at least {fewest}; over time: {used:?}");
    assert!(
        fewest > 0,
        "an agent without an answer of its own: {tallies:?}"
    );
    is_flat(&used, agents);
    nothing_is_lost(gate, &all);
    eventually(|| match descriptors(gate) {
        few if few <= IDLE_DESCRIPTORS => Ok(()),
        many => Err(format!(
            "{many} descriptors are open after everybody has gone"
        )),
    });
}

fn sum(tallies: &[Arc<Tally>]) -> Tally {
    let all = Tally::default();
    for tally in tallies {
        let answered = tally.answered.load(Ordering::Relaxed);
        all.answered.fetch_add(answered, Ordering::Relaxed);
        let told = tally.told.load(Ordering::Relaxed);
        all.told.fetch_add(told, Ordering::Relaxed);
    }
    all
}

/// What the gate holds at one moment.
#[derive(Debug, Clone, Copy)]
struct Used {
    kib: u64,
    descriptors: u64,
}

impl Used {
    fn by(gate: &Serving) -> Self {
        Self {
            kib: resident(gate),
            descriptors: descriptors(gate),
        }
    }
}

/// The most that a gate without agents has open.
const IDLE_DESCRIPTORS: u64 = 64;

/// What one agent may make the gate hold: its connection, and a conversation with a server.
const OF_AN_AGENT: Used = Used {
    kib: 1024,
    descriptors: 16,
};

/// What the gate may hold without any.
const OF_ALL: Used = Used {
    kib: 192 * 1024,
    descriptors: IDLE_DESCRIPTORS,
};

/// What is held grows with agents, and not with time: the most of the last third is not much more
/// than the most of the second one, by when everybody is there.
fn is_flat(used: &[Used], agents: u64) {
    let third = used.len() / 3;
    let (early, late) = used.split_at(used.len() - third);
    let early = early.get(third..).unwrap_or_default();
    for (what, of, most, spare) in [
        (
            "KiB",
            (|it: &Used| it.kib) as fn(&Used) -> u64,
            OF_ALL.kib + agents * OF_AN_AGENT.kib,
            32 * 1024,
        ),
        (
            "descriptors",
            |it: &Used| it.descriptors,
            OF_ALL.descriptors + agents * OF_AN_AGENT.descriptors,
            4 * agents,
        ),
    ] {
        let early = early.iter().map(of).max().unwrap_or_default();
        let late = late.iter().map(of).max().unwrap_or_default();
        assert!(late <= early + early / 4 + spare, "{what}: {used:?}");
        assert!(early.max(late) <= most, "{what}, of {most}: {used:?}");
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().unwrap())
}

/// One agent: each answer is its own, or says that there is none. It goes on until it has got one,
/// however busy the machine is.
fn act(agent: &Agent, number: u64, ended: &AtomicBool, tally: &Tally) {
    let (mut call, pause) = (0, Duration::from_millis(setting("CROWD_PAUSE", 0)));
    let clock = SystemClock::new();
    let goes_on = || {
        let has_one = tally.answered.load(Ordering::Relaxed) > 0;
        assert!(
            has_one || clock.elapsed() < NEVER,
            "{number} gets no answer"
        );
        !(has_one && ended.load(Ordering::Relaxed))
    };
    while goes_on() {
        let Some(session) = begin(agent) else {
            continue;
        };
        while goes_on() {
            thread::sleep(pause);
            call += 1;
            let text = format!("<agent {number}, call {call}>");
            let id = call % IDS;
            let answer = session.echo(id, &text);
            if answer.status == 200 {
                let own = format!(r#""id":{id},"#);
                assert!(answer.body.contains(&own), "{text}: {answer:?}");
            }
            if answer.body.contains(&text) {
                assert_eq!(answer.status, 200, "{answer:?}");
                assert_eq!(answer.body.matches("<agent").count(), 1, "{answer:?}");
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

/// What the records say, read as they come: of a long run there are more than fit into memory.
#[derive(Debug, Default)]
struct Ledger {
    records: u64,
    revisions: BTreeSet<String>,
    /// The references of all calls, each with one decision.
    calls: HashSet<String>,
    /// Those that were let through and have no outcome yet.
    open: HashSet<String>,
    results: u64,
    starts: u64,
    ends: u64,
}

impl Ledger {
    fn take(&mut self, record: &Value) {
        self.records += 1;
        assert_eq!(record["seq"], self.records, "{record}");
        let reference = || record["reference"].as_str().unwrap_or_default().to_owned();
        match record["kind"].as_str().unwrap() {
            "tool_call" => {
                let revision = record["revision"].as_str().unwrap();
                if !self.revisions.contains(revision) {
                    self.revisions.insert(revision.to_owned());
                }
                assert!(self.calls.insert(reference()), "decided twice: {record}");
                if record["decision"] == "ALLOW" {
                    self.open.insert(reference());
                }
            }
            "tool_result" => {
                assert!(
                    self.open.remove(&reference()),
                    "no call, or twice: {record}"
                );
                self.results += u64::from(record["decision"] == "ALLOW");
            }
            "session_start" => self.starts += 1,
            "session_end" => self.ends += 1,
            "audit_gap" => panic!("{record}"),
            _ => {}
        }
    }
}

/// Records follow each other without a gap; each call has one decision and, if it was let through, one
/// outcome; and each answer that an agent got is the outcome of a call.
fn nothing_is_lost(gate: &Serving, tally: &Tally) {
    let mut ledger = Ledger::default();
    let mut file = BufReader::new(File::open(gate.setup().audit_file()).unwrap());
    let mut line = String::new();
    eventually(|| {
        while file.read_line(&mut line).unwrap() > 0 {
            // The rest of a line may be on its way.
            if line.ends_with('\n') {
                ledger.take(&json(&line));
                line.clear();
            }
        }
        if !ledger.open.is_empty() || ledger.starts != ledger.ends {
            let Ledger {
                open, starts, ends, ..
            } = &ledger;
            return Err(format!(
                "{starts} starts, {ends} ends, without outcome: {open:?}"
            ));
        }
        Ok(())
    });
    let answered = tally.answered.load(Ordering::Relaxed);
    // A server over HTTP may itself have told what became of another.
    let told = tally.told.load(Ordering::Relaxed);
    let results = answered..=answered + told;
    assert!(
        results.contains(&ledger.results),
        "{} {results:?}",
        ledger.results
    );
    assert!(ledger.revisions.len() > 1, "{:?}", ledger.revisions);
}

fn resident(gate: &Serving) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gate.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.unwrap().parse().unwrap()
}

/// The directory is closed to those who may not look into the gate; how many it holds is not, from
/// Linux 6.2 on.
fn descriptors(gate: &Serving) -> u64 {
    let open = format!("/proc/{}/fd", gate.child.id());
    let count = match fs::read_dir(&open) {
        Ok(entries) => u64::try_from(entries.count()).unwrap(),
        Err(_) => fs::metadata(&open).unwrap().len(),
    };
    assert!(count > 0, "descriptors cannot be counted");
    count
}
