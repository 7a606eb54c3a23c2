//! Sessions over HTTP that go on with an isolated server, however the two servers are reached.

use std::fs;
use std::path::PathBuf;

use crate::service::tools::Everything;
use crate::support::fixtures::fixture;
use crate::support::http::{Agent, Answer};
use crate::support::processes::{all_end, eventually, marked};
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, MARK, Setup};

/// `add` reads what is confidential. No label says that a tool connects, so that no policy
/// keeps them from it.
const LABELS: &str = "[default]\npermission = \"read\"\n[tools.add]\npermission = \"read\"\nsensitivity = \"confidential\"\n";

const SUM: &str = r#"{"a":2,"b":40}"#;

/// A gate whose two servers write down what they receive.
struct Isolating {
    gate: Serving,
    open: PathBuf,
    isolated: PathBuf,
    /// Those that the gate does not start.
    _servers: Vec<Everything>,
}

impl Isolating {
    /// The gate starts both.
    fn starting() -> Self {
        Self::starting_with("")
    }

    /// The same, with this said of the isolated one.
    fn starting_with(keys: &str) -> Self {
        let setup = Setup::of([fixture("everything-server")]);
        let [open, isolated] = ["received", "isolated"].map(|name| setup.path(name));
        let setup = setup
            .env("FIXTURE_LOG", open.to_str().unwrap())
            .policies(ALLOW_ALL)
            .labels(LABELS)
            .isolated([fixture("everything-server")], keys);
        Self {
            gate: Serving::start(setup.over_http()),
            open,
            isolated,
            _servers: Vec::new(),
        }
    }

    /// Both are reached over HTTP.
    fn connecting() -> Self {
        let setup = Setup::before("");
        let [open, isolated] = ["received", "isolated"].map(|name| setup.path(name));
        let servers = vec![
            Everything::recording(&open),
            Everything::recording(&isolated),
        ];
        let mut setup = setup.policies(ALLOW_ALL).labels(LABELS).over_http();
        setup.url = Some(servers[0].url.clone());
        setup.isolated = format!("[upstream.isolated]\nurl = {:?}\n", servers[1].url);
        Self {
            gate: Serving::start(setup),
            open,
            isolated,
            _servers: servers,
        }
    }

    fn agent(&self) -> Agent {
        Agent::at(&self.gate.url)
    }

    fn open(&self) -> String {
        fs::read_to_string(&self.open).unwrap_or_default()
    }

    fn isolated(&self) -> String {
        fs::read_to_string(&self.isolated).unwrap_or_default()
    }
}

fn call(agent: &Agent, tool: &str, arguments: &str) -> Answer {
    agent.post(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    ))
}

/// In the era without sessions.
fn ask(agent: &Agent, tool: &str, arguments: &str) -> Answer {
    let agent = agent
        .clone()
        .with("MCP-Protocol-Version: 2026-07-28")
        .with("Mcp-Method: tools/call")
        .with(format!("Mcp-Name: {tool}"));
    agent.post(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"tester","version":"1"}}}}}}}}"#
    ))
}

#[track_caller]
fn said(answer: &Answer, text: &str) {
    assert!(
        answer.status == 200 && answer.body.contains(text),
        "{answer:?}"
    );
}

/// One session: everything before the confidential call is the open server's, everything after it the
/// isolated one's.
fn check(servers: &Isolating, agent: &Agent, call: impl Fn(&Agent, &str, &str) -> Answer) {
    said(&call(agent, "echo", r#"{"text":"before"}"#), "before");
    said(&call(agent, "add", SUM), "42");
    for text in ["after", "and after"] {
        let answer = call(agent, "echo", &format!(r#"{{"text":"{text}"}}"#));
        said(&answer, text);
    }
    let (open, isolated) = (servers.open(), servers.isolated());
    assert!(open.contains("before") && !open.contains("after"), "{open}");
    assert!(
        !isolated.contains("before") && isolated.contains("and after"),
        "{isolated}"
    );
}

#[test]
fn a_session_over_http_goes_on_with_an_isolated_process() {
    let servers = Isolating::starting();
    let mark = servers.gate.setup().mark().to_owned();
    let agent = servers.agent().in_session();
    check(&servers, &agent, call);
    eventually(|| {
        let all = marked(&mark);
        let count = all
            .iter()
            .filter(|(_, name)| name.starts_with("everything"))
            .count();
        if count == 1 {
            Ok(())
        } else {
            Err(format!("{count} servers run"))
        }
    });
    assert!((200..300).contains(&agent.request("DELETE", "").status));
    drop(servers);
    all_end(&mark);
}

#[test]
fn a_session_goes_on_with_one_isolated_process_after_the_other() {
    let labels = format!("{LABELS}[tools.fail]\npermission = \"read\"\nsensitivity = \"secret\"\n");
    let mut setup = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .labels(&labels);
    let names = ["received", "confidential", "secret"];
    let logs = names.map(|name| setup.path(name));
    let place = |level: &str, log: &PathBuf| {
        format!(
            "[[upstream.isolated]]\nmin_sensitivity = {level:?}\ncommand = [{:?}]\n\
             [upstream.isolated.env]\n{MARK} = {:?}\nFIXTURE_LOG = {log:?}\n",
            fixture("everything-server"),
            setup.mark()
        )
    };
    setup.isolated = place(names[1], &logs[1]) + &place(names[2], &logs[2]);
    let setup = setup.env("FIXTURE_LOG", logs[0].to_str().unwrap());
    let mark = setup.mark().to_owned();
    let gate = Serving::start(setup.over_http());
    let agent = Agent::at(&gate.url).in_session();
    said(&call(&agent, "echo", r#"{"text":"first"}"#), "first");
    said(&call(&agent, "add", SUM), "42");
    said(&call(&agent, "echo", r#"{"text":"second"}"#), "second");
    assert_eq!(call(&agent, "fail", "{}").status, 200);
    said(&call(&agent, "echo", r#"{"text":"third"}"#), "third");
    for (log, texts) in logs.iter().zip(["first", "second", "third"]) {
        let received = fs::read_to_string(log).unwrap();
        let reached = ["first", "second", "third"].map(|text| received.contains(text));
        assert_eq!(
            reached,
            ["first", "second", "third"].map(|it| it == texts),
            "{received}"
        );
    }
    drop(gate);
    all_end(&mark);
}

#[test]
fn a_warm_server_has_agreed_to_the_handshake_before_the_session_comes() {
    let isolating = Isolating::starting_with("keep = \"warm\"");
    let agent = isolating.agent().in_session();
    said(&call(&agent, "echo", r#"{"text":"before"}"#), "before");
    eventually(|| {
        let received = isolating.isolated();
        // The gate has tried it out before.
        let since = received.split_once(r#""name":"tester""#);
        let is_greeted = since.is_some_and(|(_, since)| !since.contains("initialized"));
        is_greeted.then_some(()).ok_or(received)
    });
    check(&isolating, &agent, call);
    let received = isolating.isolated();
    let (_, since) = received.split_once(r#""name":"tester""#).unwrap();
    assert!(!since.contains(r#""initialize""#), "{received}");
    assert!(since.contains("notifications/initialized"), "{received}");
}

#[test]
fn a_session_with_a_server_over_http_goes_on_with_an_isolated_one_that_has_a_session_of_its_own() {
    let servers = Isolating::connecting();
    check(&servers, &servers.agent().in_session(), call);
    let session = |log: &str| {
        let head = log.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id")
                .then(|| value.trim().to_owned())
        });
        head.unwrap_or_else(|| panic!("no session: {log}"))
    };
    assert_ne!(session(&servers.open()), session(&servers.isolated()));
}

#[test]
fn requests_without_a_session_go_to_an_isolated_server_over_http() {
    let servers = Isolating::connecting();
    check(&servers, &servers.agent(), ask);
    assert!(!servers.isolated().contains("initialize"));
}

#[test]
fn requests_without_a_session_go_to_an_isolated_process() {
    let servers = Isolating::starting();
    check(&servers, &servers.agent(), ask);
}

#[test]
fn another_session_is_where_what_it_has_read_itself_puts_it() {
    let servers = Isolating::starting();
    let [first, second] = [(), ()].map(|()| servers.agent().in_session());
    check(&servers, &first, call);
    said(
        &call(&second, "echo", r#"{"text":"of another"}"#),
        "of another",
    );
    assert!(servers.open().contains("of another"));
}
