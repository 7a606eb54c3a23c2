//! Every way to fill the gate's memory: the process stays below `limits.max_memory`, the agents that would
//! fill it hear why they are refused, and others are served meanwhile.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::service::operators::{free_port, get, sample};
use crate::support::http::{Agent, Answer};
use crate::support::json::json;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// In MiB. A message may have 4: many of them, at once, are more than this.
const LIMIT: u64 = 240;

/// Below what a message may have.
const LARGE: usize = 3_900_000;

/// Between two calls of the agent that works meanwhile. The processors are for those who fill the memory.
const BETWEEN_CALLS: Duration = Duration::from_millis(50);

/// A person is asked about calls of one tool.
const ASKS: &str = r#"
    @id("open") permit (principal, action, resource);
    @id("needs-a-yes") @requires_consent
    forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"ask")
    unless { context.env.consent.granted };
"#;

/// A server that does what a call says.
const SERVER: &str = r"
import json, sys, time
def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()
def tool(name, words):
    return {'name': name, 'inputSchema': {'type': 'object', 'description': words}}
tools = [tool('echo', ''), tool('ask', '')]
for line in sys.stdin:
    asked = json.loads(line)
    if 'id' not in asked:
        continue
    method, params, result = asked['method'], asked.get('params', {}), {}
    if method == 'initialize':
        result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},
                  'serverInfo': {'name': 'full', 'version': '1'}}
    if method == 'tools/list':
        result = {'tools': tools}
    if method == 'tools/call':
        does, text = params['arguments']['does'], params['arguments']['text']
        if does == 'hears no more':
            time.sleep(3600)
        if does == 'says half a line':
            say('x' * 3900000)
            time.sleep(3600)
        if does == 'has many tools':
            tools += [tool('tool-%d' % number, 'x' * 6000) for number in range(600)]
        if does == 'says much':
            text = 'x' * 3900000
        result = {'content': [{'type': 'text', 'text': text}]}
    say(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}) + '\n')
";

/// How the attempts to fill the memory end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Some are told that there is no memory.
    Refused,
    /// One waits for the other.
    Done,
}

fn limited(policies: &str) -> Setup {
    let mut setup = Setup::of(["python3", "-c", SERVER]).policies(policies);
    setup.limits = format!(
        "max_memory = \"{LIMIT}MiB\"\nmax_nodes = 100000\n\
         request_timeout = \"30s\"\n"
    );
    setup
}

/// Lets `fill` do what it can with agents, each in a session of its own, while another one works.
#[track_caller]
fn check(expected: Expected, agents: usize, fill: impl FnOnce(&[Agent]) + Send + 'static) {
    let mut setup = limited(ASKS).over_http();
    let port = free_port();
    let operators = format!("port = {port}\napprovers = {{ olga = \"olgas-0123456789abcdef\" }}\n");
    let asking = "max_sessions = 500\n[consent]\nchannels = [\"web\"]\n[admin]\n";
    setup.limits.extend([asking, &operators]);
    let mut command = setup.gate();
    // What is freed stays with the arena that it was of; by default their number is that of processors.
    command.env("MALLOC_ARENA_MAX", "2");
    let gate = Serving::of(setup, command);
    let other = Agent::at(&gate.url).in_session();
    assert_answers(&other, 0);
    let agents: Vec<_> = (0..agents)
        .map(|_| Agent::at(&gate.url).in_session())
        .collect();
    let (filled, fills) = mpsc::sync_channel::<()>(0);
    let filling = thread::spawn(move || {
        // Dropped at the end, also of a thread that panics.
        let _filled = filled;
        fill(&agents);
    });
    let mut id = 0;
    while fills.recv_timeout(BETWEEN_CALLS) == Err(RecvTimeoutError::Timeout) {
        id += 1;
        assert_answers(&other, id);
    }
    filling.join().unwrap();
    assert_answers(&other, id + 1);
    let process = gate.child.id();
    is_below_the_limit(process);
    let metrics = get(&gate, "/metrics").body;
    let bytes = |what: &str| {
        let name = format!("mcp_protector_memory_bytes{{what=\"{what}\"}}");
        sample(&metrics, &name) / f64::from(1 << 20)
    };
    assert!(bytes("limit") > 239.0, "{metrics}");
    assert!((1.0..239.0).contains(&bytes("allocated")), "{metrics}");
    if expected == Expected::Refused {
        has_refused(gate.setup());
        eventually(|| {
            let said = gate.said.lock().unwrap().clone();
            let is_told = said.contains("memory is short") && said.contains("limits.max_memory");
            is_told.then_some(()).ok_or(said)
        });
    }
}

/// A small call is answered.
#[track_caller]
fn assert_answers(agent: &Agent, id: usize) {
    let text = format!("work {id}");
    let answer = agent.post(&call(id, "echo", "", &text));
    assert!(answer.body.contains(&text), "{answer:?}");
}

#[track_caller]
fn is_below_the_limit(process: u32) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.unwrap().trim().strip_suffix(" kB").unwrap();
    let peak: u64 = peak.parse().unwrap();
    eprintln!("{} MiB at most", peak / 1024);
    assert!(peak < LIMIT * 1024, "{peak} KiB");
}

#[track_caller]
fn has_refused(setup: &Setup) {
    eventually(|| {
        let text = setup.audit_text();
        let mut records = text.lines().map(json);
        let refused = records.find(|it: &Value| it["reason"]["code"] == "no_memory");
        let decision = refused.map(|it| it["decision"].clone());
        (decision == Some("BLOCK".into())).then_some(()).ok_or(text)
    });
}

fn call(id: usize, tool: &str, does: &str, text: &str) -> String {
    before(id, tool, does) + text + BEHIND
}

fn before(id: usize, tool: &str, does: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"does":"{does}","text":""#
    )
}

/// Behind the text of a call.
const BEHIND: &str = r#""}}}"#;

/// Sends as much of the body as is taken.
fn posted(agent: &Agent, body: &[&str]) -> TcpStream {
    let length = body.iter().map(|part| part.len()).sum();
    let mut stream = agent.begin("POST", length);
    let _ = body
        .iter()
        .try_for_each(|part| stream.write_all(part.as_bytes()));
    stream
}

/// Sends so many messages at once, by agents in turn, and waits for all answers. The text of all is one.
fn all_post<'t>(
    agents: &[Agent],
    times: usize,
    body: impl Fn(usize) -> (String, &'t str, &'t str) + Sync,
) -> Vec<Option<Answer>> {
    let body = &body;
    let post = |id, agent| {
        let (before, text, behind) = body(id);
        Answer::of(posted(agent, &[&before, text, behind]))
    };
    thread::scope(|scope| {
        let calls: Vec<_> = (1..=times)
            .zip(agents.iter().cycle())
            .map(|(id, agent)| scope.spawn(move || post(id, agent)))
            .collect();
        calls.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

fn told(answers: &[Option<Answer>], words: &str) -> usize {
    let told = answers.iter().flatten();
    told.filter(|answer| answer.body.contains(words)).count()
}

#[test]
fn calls_to_a_server_that_does_not_read_stay_within_the_memory() {
    check(Expected::Refused, 4, |agents| {
        let hears_no_more = call(1, "echo", "hears no more", "");
        let _unread: Vec<_> = (agents.iter())
            .map(|agent| posted(agent, &[&hears_no_more]))
            .collect();
        let text = "x".repeat(LARGE);
        let answers = all_post(agents, 100, |id| {
            (before(9 + id, "echo", ""), &text, BEHIND)
        });
        assert!(told(&answers, "limits.max_memory") > 0, "{answers:?}");
    });
}

#[test]
fn bodies_that_come_in_part_stay_within_the_memory() {
    check(Expected::Refused, 12, |agents| {
        let part = "x".repeat(LARGE - 100_000);
        thread::scope(|scope| {
            for agent in agents.iter().cycle().take(120) {
                scope.spawn(|| {
                    let mut stream = agent.begin("POST", LARGE);
                    let _ = stream.write_all(part.as_bytes());
                    Answer::of(stream)
                });
            }
        });
    });
}

#[test]
fn half_lines_of_servers_stay_within_the_memory() {
    check(Expected::Refused, 60, |agents| {
        all_post(agents, agents.len(), |id| {
            (call(id, "echo", "says half a line", ""), "", "")
        });
    });
}

#[test]
fn large_lists_of_tools_stay_within_the_memory() {
    check(Expected::Done, 30, |agents| {
        all_post(agents, agents.len(), |id| {
            (call(id, "echo", "has many tools", ""), "", "")
        });
        // On a busy machine no list of the first round may find room.
        let mut rounds = (0..10).map(|_| {
            let lists = all_post(agents, agents.len(), |id| {
                let list = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
                (list, "", "")
            });
            let listed = told(&lists, "tool-599");
            let refused = told(&lists, "limits.max_memory");
            assert_eq!(listed + refused, lists.len());
            listed
        });
        assert!(rounds.any(|listed| listed > 0));
    });
}

#[test]
fn results_that_agents_do_not_read_stay_within_the_memory() {
    check(Expected::Refused, 20, |agents| {
        let unread: Vec<_> = (1..=100)
            .zip(agents.iter().cycle())
            .map(|(id, agent)| posted(agent, &[&call(id, "echo", "says much", "")]))
            .collect();
        let answers: Vec<_> = unread.into_iter().map(Answer::of).collect();
        assert!(told(&answers, "limits.max_memory") > 0);
    });
}

#[test]
fn messages_of_many_values_are_judged_within_the_memory() {
    check(Expected::Done, 30, |agents| {
        let values = "[1],".repeat(48_000);
        let answers = all_post(agents, agents.len(), |id| {
            (
                before(id, "echo", "") + "judged\",\"more\":[",
                &values,
                "1]}}}",
            )
        });
        let judged = told(&answers, "judged");
        assert!(judged > 0, "{answers:?}");
        // The others waited for too long, and hear why.
        let refused = told(&answers, "limits.max_memory");
        assert_eq!(judged + refused, answers.len(), "{answers:?}");
    });
}

#[test]
fn calls_that_wait_for_a_person_stay_within_the_memory() {
    check(Expected::Refused, 20, |agents| {
        let text = "x".repeat(400_000);
        let answers = all_post(agents, 250, |id| (before(id, "ask", ""), &text, BEHIND));
        assert!(told(&answers, "limits.max_memory") > 0);
    });
}

#[test]
fn what_an_agent_on_standard_streams_does_not_read_stays_within_the_memory() {
    const CALLS: usize = 40;
    let setup = limited(ALLOW_ALL);
    let mut gate = setup.gate();
    gate.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut gate = gate.spawn().unwrap();
    let mut input = gate.stdin.take().unwrap();
    let output = BufReader::new(gate.stdout.take().unwrap());
    let writing = thread::spawn(move || {
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        writeln!(input, "{initialize}\n{initialized}").unwrap();
        let text = "x".repeat(LARGE);
        for id in 1..=CALLS {
            writeln!(input, "{}", call(id, "echo", "", &text)).unwrap();
        }
        input
    });
    // Nothing is read until the gate records no more of what is written.
    let mut records = 0;
    let mut looks = 0;
    eventually(|| {
        let now = setup.audit_text().lines().count();
        looks = if now > 0 && now == records {
            looks + 1
        } else {
            0
        };
        records = now;
        (looks > 50).then_some(()).ok_or(format!("{now} records"))
    });
    let mut answered = 0;
    let mut lines = output.lines();
    while answered <= CALLS {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("\"id\":"), "{line}");
        answered += 1;
    }
    is_below_the_limit(gate.id());
    drop(writing.join().unwrap());
    assert!(gate.wait().unwrap().success());
}
