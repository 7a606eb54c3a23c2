//! Several servers behind one gate: each under its own names, and one session over all.

use std::fs;
use std::process::Command;
use std::thread;

use serde_json::json;

use crate::processes::support::python;
use crate::service::operators::{admin, sample, until_healthy};
use crate::service::own_roots::{call, over_http};
use crate::service::questions::Operators;
use crate::support::http::Agent;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{GATE, MARK, Setup};

/// Has two tools, and says in each who it is.
const SERVER: &str = r"
import json, sys
name = NAME
tools = [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('read', 'send')]
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    method, p = m['method'], m.get('params', {})
    if method == 'initialize': r = {'protocolVersion': p['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': name, 'version': '1'}}
    elif method == 'tools/list': r = {'tools': tools}
    elif method == 'tools/call': r = {'content': [{'type': 'text', 'text': name + ' ' + p['name']}]}
    else: r = {}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
";

pub(super) const POLICIES: &str = r#"
@id("talk") permit (principal, action, resource)
unless { action == Mcp::Action::"call_tool" || action == Mcp::Action::"list_tool" };
@id("tools") permit (principal, action in [Mcp::Action::"call_tool", Mcp::Action::"list_tool"], resource)
when { [Mcp::Tool::"crm/read", Mcp::Tool::"mail/read", Mcp::Tool::"mail/send"].contains(resource) };
"#;

pub(super) const LABELS: &str = r#"
[tools."crm/read"]
permission  = "read"
sensitivity = "confidential"
[tools."crm/send"]
permission = "read"
[tools."mail/read"]
permission = "read"
[tools."mail/send"]
permission = ["read", "connect"]
"#;

pub(super) fn server(name: &str) -> Vec<String> {
    python(&SERVER.replace("NAME", &format!("{name:?}")))
}

fn before_two() -> Setup {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = format!("[servers.mail]\ncommand = {:?}\n", server("mail"));
    setup
}

fn two() -> Serving {
    Serving::start(before_two())
}

fn url(gate: &Serving, key: &str) -> String {
    let (before, _) = gate.url.rsplit_once('/').unwrap();
    format!("{before}/{key}")
}

pub(super) fn agent(gate: &Serving, who: &str, key: &str) -> Agent {
    agent_at(&url(gate, key), who)
}

pub(super) fn agent_at(url: &str, who: &str) -> Agent {
    let ending = if who == "bob" { "-" } else { "" };
    let token = format!("Authorization: Bearer {who}-0123456789-0123456789{ending}");
    Agent::at(url).with(token).in_session()
}

pub(super) fn tools(agent: &Agent) -> Vec<String> {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let answer = agent.post(&list.to_string()).message();
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn two_servers_with_the_same_tool_names_are_never_crossed() {
    let gate = two();
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(tools(&crm), ["read"]);
    assert_eq!(tools(&mail), ["read", "send"]);
    assert_eq!(call(&mail, "send", &json!({})), "mail send");
    assert_eq!(call(&mail, "read", &json!({})), "mail read");
    let denied = call(&crm, "send", &json!({}));
    assert!(denied.contains("send"), "{denied}");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    eventually(|| {
        let records = gate.setup().audit_text();
        let has = |server: &str| records.contains(&format!(r#""upstream":"{server}""#));
        (has("crm") && has("mail")).then_some(()).ok_or(records)
    });
}

#[test]
fn policies_of_one_server_hold_there_alone_and_change_while_the_gate_runs() {
    let talk = r#"@id("talk") permit (principal, action, resource) unless { action == Mcp::Action::"call_tool" };"#;
    let read = r#"@id("read") permit (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"read");"#;
    let mut setup = over_http(Setup::of(server("crm")).policies(talk));
    let own = setup.path("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("read.cedar"), read).unwrap();
    setup.key = Some("crm");
    setup.more = format!(
        "[flow]\nflow_in = 'off'\n[servers.mail]\ncommand = {:?}\npolicy = {own:?}\n",
        server("mail")
    );
    let gate = Serving::start(setup);
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    let calls = |agent: &Agent| ["read", "send"].map(|tool| call(agent, tool, &json!({})));
    let [read_at_mail, sent] = calls(&mail);
    assert_eq!(read_at_mail, "mail read");
    assert!(sent.contains("Unknown tool"), "{sent}");
    for denied in calls(&crm) {
        assert!(denied.contains("Unknown tool"), "{denied}");
    }
    let more = read.replace("\"read\"", "\"send\"");
    fs::write(own.join("send.cedar"), more).unwrap();
    eventually(|| match calls(&mail) {
        [_, sent] if sent == "mail send" => Ok(()),
        others => Err(others.join("\n")),
    });
    for denied in calls(&crm) {
        assert!(denied.contains("Unknown tool"), "{denied}");
    }
    let records = gate.setup().audit_text();
    assert!(records.contains(r#""mail/send""#), "{records}");
}

#[test]
fn what_is_read_at_one_server_closes_another_with_the_next_message() {
    let gate = two();
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    let other = agent(&gate, "alice", "mail");
    assert_eq!(call(&mail, "send", &json!({})), "mail send");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    let closed = call(&mail, "send", &json!({}));
    assert!(closed.contains("nothing can connect any more"), "{closed}");
    assert_eq!(tools(&mail), ["read"]);
    assert_eq!(call(&mail, "read", &json!({})), "mail read");
    // In a session that begins now, too: it is the same principal.
    let later = agent(&gate, "bob", "mail");
    let closed = call(&later, "send", &json!({}));
    assert!(closed.contains("nothing can connect any more"), "{closed}");
    assert_eq!(call(&other, "send", &json!({})), "mail send");
}

#[test]
fn a_session_belongs_to_one_server_and_others_have_no_path() {
    let gate = two();
    let bob = "Authorization: Bearer bob-0123456789-0123456789-";
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;
    let answer = Agent::at(&url(&gate, "crm")).with(bob).post(begin);
    let id = answer.header("mcp-session-id").unwrap();
    let at = |key: &str| {
        let session = format!("Mcp-Session-Id: {id}");
        Agent::at(&url(&gate, key))
            .with(bob)
            .with(session)
            .post(ping)
    };
    assert_eq!(at("crm").status, 200);
    assert_eq!(at("mail").status, 404);
    let unknown = at("crmm");
    assert_eq!(unknown.status, 404);
    assert!(!unknown.body.contains("mail"), "{unknown:?}");
    eventually(|| {
        let records = gate.setup().audit_text();
        let told = records.contains("agents use /mcp/crm, /mcp/mail")
            && records.contains(r#""upstream":"-""#);
        told.then_some(()).ok_or(records)
    });
}

#[test]
fn a_server_that_cannot_start_keeps_no_agent_from_another() {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = "[servers.mail]\ncommand = ['/bin/false']\n".to_owned();
    let gate = Serving::start(setup);
    let crm = agent(&gate, "bob", "crm");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    let (at, _) = gate.url.split_once("/mcp/").unwrap();
    let health = || Agent::at(&format!("{at}/health")).request("GET", "");
    until_healthy(health, 200, "ok");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
}

#[test]
fn a_server_that_is_disabled_has_no_endpoint_and_policies_may_name_it() {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = "[servers.mail]\ncommand = ['/bin/false']\nenabled = false\n".to_owned();
    let gate = Serving::start(setup);
    let crm = agent(&gate, "bob", "crm");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    let token = "Authorization: Bearer bob-0123456789-0123456789-";
    let at = |key: &str| Agent::at(&url(&gate, key)).with(token).post("{}");
    let (disabled, unknown) = (at("mail"), at("other"));
    assert_eq!(disabled.status, 404);
    assert_eq!(
        (disabled.status, &disabled.body),
        (unknown.status, &unknown.body)
    );
    eventually(|| {
        let records = gate.setup().audit_text();
        let told = records.contains("agents use /mcp/crm; disabled: /mcp/mail");
        told.then_some(()).ok_or(records)
    });
}

#[test]
fn the_gate_is_not_ready_while_a_required_server_is_not() {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = "[servers.mail]\ncommand = ['/bin/false']\nrequired = true\n".to_owned();
    let gate = Serving::start(setup);
    let (at, _) = gate.url.split_once("/mcp/").unwrap();
    let health = || Agent::at(&format!("{at}/health")).request("GET", "");
    until_healthy(health, 503, "upstream_down");
    // Agents of the other are served.
    let crm = agent(&gate, "bob", "crm");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    assert_eq!(health().status, 503);
}

#[test]
fn a_limit_at_one_server_leaves_the_tool_of_that_name_at_another_alone() {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = format!(
        "[servers.mail]\ncommand = {:?}\nlimits.rates.tools.read = '1/h'\n",
        server("mail")
    );
    let gate = Serving::start(setup);
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&mail, "read", &json!({})), "mail read");
    let limited = call(&mail, "read", &json!({}));
    assert!(limited.contains("too many calls of this tool"), "{limited}");
    assert_eq!(call(&mail, "send", &json!({})), "mail send");
    for _ in 0..3 {
        assert_eq!(call(&crm, "read", &json!({})), "crm read");
    }
    // Another limit comes into force while the gate runs.
    let file = gate.setup().path("gate.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("'1/h'", "'1000/s'")).unwrap();
    eventually(|| match &*call(&mail, "read", &json!({})) {
        "mail read" => Ok(()),
        limited => Err(limited.to_owned()),
    });
}

#[test]
fn a_question_and_the_metrics_name_the_server() {
    let asks = r#"
        @id("asks") @requires_consent forbid (principal, action == Mcp::Action::"call_tool",
        resource == Mcp::Tool::"mail/send") unless { context.env.consent.granted };
    "#;
    let setup = Setup::of(server("crm")).policies(&format!("{POLICIES}{asks}"));
    let mut setup = over_http(setup.labels(LABELS));
    setup.key = Some("crm");
    setup.more = format!("[servers.mail]\ncommand = {:?}\n", server("mail"));
    let operators = Operators::of(&mut setup);
    let gate = Serving::start(setup);
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    let asking = thread::spawn(move || call(&mail, "send", &json!({})));
    let id = operators.asked();
    let shown = operators.command(&["list"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("mail") && !shown.contains("crm"), "{shown}");
    assert!(operators.approve(&id).status.success());
    assert_eq!(asking.join().unwrap(), "mail send");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    let scrape = admin(&gate, "/metrics").request("GET", "").body;
    for key in ["crm", "mail"] {
        let calls = format!("mcp_protector_call_seconds_count{{server=\"{key}\"}}");
        assert!((sample(&scrape, &calls) - 1.0).abs() < 0.1, "{scrape}");
    }
    assert!(
        !scrape.contains("mcp_protector_call_seconds_count "),
        "{scrape}"
    );
}

#[test]
fn policies_that_are_read_again_hold_for_each_server() {
    let gate = two();
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&mail, "read", &json!({})), "mail read");
    let closed =
        format!("{POLICIES}forbid (principal, action, resource == Mcp::Tool::\"mail/read\");");
    fs::write(gate.setup().path("policies").join("test.cedar"), closed).unwrap();
    eventually(|| match tools(&mail) {
        tools if tools == ["send"] => Ok(()),
        tools => Err(format!("{tools:?}")),
    });
    assert_eq!(tools(&crm), ["read"]);
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
}

/// `tools` on the configuration of a gate: its exit code, and what it writes.
fn locking(setup: &Setup, words: &[&str]) -> (Option<i32>, String) {
    setup.arguments();
    let mut command = Command::new(GATE);
    let config = setup.path("gate.toml");
    let output = command.arg("tools").args(words).arg("--config").arg(config);
    let output = output.output().unwrap();
    let texts = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(texts).unwrap())
}

#[test]
fn a_lock_holds_each_server_to_its_own_definitions() {
    let policies = "permit (principal, action, resource);";
    let mut setup = over_http(Setup::of(server("crm")).policies(policies).labels(LABELS));
    setup.key = Some("crm");
    setup.reload = "pinning = \"enforce\"\n".to_owned();
    setup.more = format!("[servers.mail]\ncommand = {:?}\n", server("mail"));
    let (code, told) = locking(&setup, &["lock"]);
    assert!(
        code == Some(0) && told.contains("definitions of 4 tool(s)"),
        "{told}"
    );
    let lock = fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
    for id in ["crm/read", "crm/send", "mail/read", "mail/send"] {
        assert!(lock.contains(&format!("{id:?}")), "{lock}");
    }
    assert_eq!(locking(&setup, &["diff"]).0, Some(0));

    // One tool of one server changes. The other server has one of this name, too.
    let changed = python(&SERVER.replace("NAME", "'mail'").replace(
        "for line in",
        "tools[0]['description'] = 'Reads.'\nfor line in",
    ));
    setup.more = format!("[servers.mail]\ncommand = {changed:?}\n");
    let (code, told) = locking(&setup, &["diff"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("changed: mail/read") && !told.contains("changed: crm"),
        "{told}"
    );
    let gate = Serving::start(setup);
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(tools(&crm), ["read", "send"]);
    assert_eq!(tools(&mail), ["send"]);
    assert_eq!(call(&mail, "send", &json!({})), "mail send");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    let denied = call(&mail, "read", &json!({}));
    assert!(!denied.contains("mail read"), "{denied}");

    // What is approved comes into force while the gate runs.
    let (code, told) = locking(gate.setup(), &["approve", "mail/read"]);
    assert_eq!(code, Some(0), "{told}");
    eventually(|| match &*call(&mail, "read", &json!({})) {
        "mail read" => Ok(()),
        denied => Err(denied.to_owned()),
    });
}

#[test]
fn a_server_that_is_disabled_keeps_what_is_locked_of_it() {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    let mail = format!("[servers.mail]\ncommand = {:?}\n", server("mail"));
    setup.more = mail.clone();
    assert_eq!(locking(&setup, &["lock"]).0, Some(0));
    let lock = fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
    setup.more = format!("{mail}enabled = false\n");
    for words in [&["diff"][..], &["lock", "--force"], &["approve", "--all"]] {
        let (code, told) = locking(&setup, words);
        assert_eq!(code, Some(0), "{words:?}: {told}");
        let now = fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
        assert_eq!(now, lock, "{words:?}");
    }
    setup.more = "[servers.mail]\ncommand = ['/bin/false']\n".to_owned();
    let (code, told) = locking(&setup, &["diff"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("the server `mail` could not be asked"),
        "{told}"
    );
    let list = setup.path("list.json");
    fs::write(&list, "{\"tools\":[]}").unwrap();
    let (code, told) = locking(&setup, &["diff", "--from", list.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("the configuration has several"), "{told}");
}

#[test]
fn the_tools_of_several_servers_are_drafted_under_their_keys() {
    let check = |mail: &[String], code: i32, told: &str| {
        let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
        setup.key = Some("crm");
        setup.more = format!("[servers.mail]\ncommand = {mail:?}\n");
        let (arguments, pack) = (setup.arguments(), setup.path("pack"));
        let (config, pack) = (arguments.last().unwrap(), pack.to_str().unwrap());
        let gate = |words: &[&str]| Command::new(GATE).args(words).output().unwrap();
        let done = gate(&["policy", "suggest", "--live", config, "--output", pack]);
        assert_eq!(done.status.code(), Some(code), "{done:?}");
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(told), "{said}");
        if code != 0 {
            assert!(!setup.path("pack").exists());
            return;
        }
        let labels = fs::read_to_string(setup.path("pack/tools.toml")).unwrap();
        let labelled: Vec<&str> = labels.lines().filter(|it| it.starts_with('[')).collect();
        let expected = ["crm/read", "crm/send", "mail/read", "mail/send"];
        assert_eq!(labelled, expected.map(|id| format!("[tools.\"{id}\"]")));
        let lock = setup.path("pack/tools.lock");
        let lock = lock.to_str().unwrap();
        for words in [
            &["test-policy", pack][..],
            &["tools", "diff", "--config", config, "--lock", lock],
        ] {
            let done = gate(words);
            assert!(done.status.success(), "{done:?}");
        }
    };
    check(
        &server("mail"),
        0,
        "mail: 1 permitted, 0 ask a person, 1 denied",
    );
    check(
        &["false".to_owned()],
        2,
        "the server `mail` could not be asked",
    );
}

/// The log may not become larger than this; `None` lifts that.
#[cfg(target_os = "linux")]
fn limit_log(gate: &Serving, bytes: Option<u64>) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = Pid::from_child(&gate.child);
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    prlimit(Some(pid), Resource::Fsize, limit).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn policies_that_cannot_be_recorded_for_each_server_come_into_force_at_none() {
    let mut setup = before_two();
    // Others learn later what could not be written.
    "durability = \"strict\"\n".clone_into(&mut setup.audit);
    let mut command = Command::new("sh");
    // Without the signal, a write beyond the limit fails.
    command.args(["-c", r#"trap '' XFSZ; exec "$0" "$@""#, GATE]);
    command.args(setup.arguments()).env(MARK, setup.mark());
    let gate = Serving::of(setup, command);
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "alice", "mail"));
    let put = |policies: &str| {
        let file = gate.setup().path("policies/test.cedar");
        fs::write(file, policies).unwrap();
    };
    let published = || -> Vec<String> {
        let records = gate.setup().audit_text();
        let lines = records.lines();
        let published = lines.filter(|it| it.contains(r#""event":"published""#));
        published.map(str::to_owned).collect()
    };
    let first = format!("{POLICIES}// The first.\n");
    put(&first);
    let first_two = eventually(|| match published() {
        all if all.len() == 2 => Ok(all),
        all => Err(all.concat()),
    });
    // Room for the next record of `crm`, and half of that of `mail`.
    let room = first_two[0].len() + first_two[1].len() / 2;
    let log = fs::metadata(gate.setup().audit_file()).unwrap().len();
    limit_log(&gate, Some(log + u64::try_from(room).unwrap()));
    let closed = "forbid (principal, action in Mcp::Action::\"call_tool\", resource);";
    put(&format!("{first}@id(\"closed\") {closed}\n"));
    eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        let is_told =
            said.contains("could not be recorded for `mail`; all servers keep the old ones");
        is_told.then_some(()).ok_or(said)
    });
    // What is in force needs no record.
    put(&first);
    limit_log(&gate, None);
    for (agent, server) in [(&crm, "crm"), (&mail, "mail")] {
        eventually(|| match call(agent, "read", &json!({})) {
            text if text == format!("{server} read") => Ok(()),
            text => Err(text),
        });
    }
}
