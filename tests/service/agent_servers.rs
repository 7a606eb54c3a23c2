//! Agents that may use some of several servers, and learn nothing of the others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::service::own_roots::{call, over_http};
use crate::service::several;
use crate::service::unified::{INITIALIZE, INITIALIZED, POLICIES, agent, all, ask, next, server};
use crate::support::attached::Attached;
use crate::support::http::{Agent, Answer};
use crate::support::json::json as parsed;
use crate::support::peer::Peer;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{GATE, Setup};

const TOKEN: &str = "Authorization: Bearer bob-0123456789-0123456789-";

/// `bob` may use `crm` and `web`: of `mail`, which his role closes, this is the file that it makes when it starts.
fn before_three(agents: &str) -> (Setup, PathBuf) {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES));
    let started = setup.path("started");
    setup.key = Some("crm");
    setup.trial = Some(false);
    setup.more = format!(
        "[flow]\nflow_in = 'off'\n[unified]\nwait = '30s'\naliases = {{ post = 'mail__tool__1' }}\n\
         [servers.mail]\ncommand = {:?}\nstartup_probe = false\n\
         [servers.web]\ncommand = {:?}\nstartup_probe = false\n",
        marked(&server("mail"), &started),
        server("web")
    );
    fs::write(setup.path("policies/agents.toml"), agents).unwrap();
    (setup, started)
}

/// The same server, which makes a file when it starts.
fn marked(command: &[String], file: &Path) -> Vec<String> {
    let script = format!("touch {file:?}; exec \"$@\"");
    let begins = ["/bin/sh", "-c", &script, "sh"].map(str::to_owned);
    begins.into_iter().chain(command.iter().cloned()).collect()
}

const NARROW: &str = "[agents.bob]\nroles = [\"staff\"]\n[roles.staff]\nnot_servers = [\"mail\"]\n";

fn at(gate: &Serving, path: &str) -> String {
    let (before, _) = gate.url.rsplit_once('/').unwrap();
    format!("{before}{path}")
}

fn recorded(gate: &Serving, text: &str) {
    eventually(|| {
        let records = gate.setup().audit_text();
        records.contains(text).then_some(()).ok_or(records)
    });
}

fn names(agent: &Agent, method: &str, list: &str) -> Vec<String> {
    let key = if list == "resources" { "uri" } else { "name" };
    let items = all(agent, method, list);
    items
        .iter()
        .map(|item| item[key].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_server_that_an_agent_may_not_use_is_for_it_like_one_that_there_is_not() {
    let (setup, started) = before_three(NARROW);
    let gate = Serving::start(setup);
    let known = |answer: &Answer| {
        let challenge = answer.header("www-authenticate").map(str::to_owned);
        (answer.status, answer.body.clone(), challenge)
    };
    for method in ["POST", "GET", "DELETE", "PUT", "OPTIONS"] {
        let of = |path: &str, with: &[&str]| {
            let agent = with
                .iter()
                .fold(Agent::at(&at(&gate, path)), |agent, header| {
                    agent.with(*header)
                });
            known(&agent.request(method, INITIALIZE))
        };
        for with in [&[][..], &[TOKEN], &[TOKEN, "Mcp-Session-Id: 0"]] {
            assert_eq!(of("/mail", with), of("/other", with), "{method} {with:?}");
        }
        assert_eq!(of("/mail", &[]).0, 401, "{method}");
        assert_eq!(of("/mail", &[TOKEN]).0, 404, "{method}");
    }
    recorded(&gate, r#""code":"server_not_permitted""#);

    let bob = agent(&gate);
    let greeted = Agent::at(&at(&gate, "")).with(TOKEN).post(INITIALIZE);
    assert!(!greeted.body.contains("mail"), "{greeted:?}");
    assert!(greeted.body.contains("## web"), "{greeted:?}");
    for (method, list) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
    ] {
        let names = names(&bob, method, list);
        assert_eq!(names.len(), 12, "{names:?}");
        assert!(
            names
                .iter()
                .all(|it| it.starts_with("crm") || it.starts_with("web")),
            "{names:?}"
        );
    }
    let listed = ask(&bob, "tools/list", &json!({}));
    assert!(!listed.to_string().contains("mail"), "{listed}");
    for name in ["post", "mail__tool__0", "mail__tool__1", "other__tool__0"] {
        let answer = ask(&bob, "tools/call", &json!({"name": name, "arguments": {}}));
        assert_eq!(answer["error"]["message"], format!("Unknown tool: {name}"));
    }
    let read = |uri: &str| ask(&bob, "resources/read", &json!({"uri": uri}))["error"].clone();
    assert_eq!(read("mail+file:///+1"), read("other+file:///+1"));
    let got = ask(
        &bob,
        "tools/call",
        &json!({"name": "web__tool__1", "arguments": {}}),
    );
    assert_eq!(got["result"]["content"][0]["text"], "web tool__1", "{got}");
    assert!(!started.exists());

    let alice = several::agent_at(&at(&gate, ""), "alice");
    assert_eq!(names(&alice, "tools/list", "tools").len(), 18);
    assert!(started.exists());
}

#[test]
fn an_agent_that_may_use_no_server_has_no_endpoint() {
    let (setup, _) = before_three("[agents.bob]\nservers = []\n");
    let gate = Serving::start(setup);
    for path in ["", "/crm", "/mail"] {
        let answer = Agent::at(&at(&gate, path)).with(TOKEN).post(INITIALIZE);
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[test]
fn an_agent_loses_a_server_with_new_sets_and_keeps_the_others() {
    let of = |servers: &str| format!("[agents.bob]\nservers = [{servers}]\n");
    let all = of("\"crm\", \"mail\", \"web\"");
    let (setup, _) = before_three(&all);
    let gate = Serving::start(setup);
    let (whole, mail) = (agent(&gate), several::agent_at(&at(&gate, "/mail"), "bob"));
    assert_eq!(names(&whole, "tools/list", "tools").len(), 18);
    assert!(call(&mail, "tool__2", &json!({})).starts_with("mail tool__2"));
    let write = |text: &str| fs::write(gate.setup().path("policies/agents.toml"), text).unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    // Without a session, so that the path alone says what there is.
    let path = || Agent::at(&at(&gate, "/mail")).with(TOKEN).post(ping);
    let until = |status: u16| {
        eventually(|| match path() {
            answer if answer.status == status => Ok(()),
            answer => Err(format!("{answer:?}")),
        });
    };
    write(&of("\"crm\", \"web\""));
    until(404);
    assert_eq!(mail.post(ping).status, 404);
    let name = "mail__tool__2";
    let called = json!({"name": name, "arguments": {}});
    eventually(|| {
        let listed = ask(&whole, "tools/list", &json!({})).to_string();
        let is_without = !listed.contains("mail") && listed.contains("web__");
        is_without.then_some(()).ok_or(listed)
    });
    eventually(|| {
        let answer = ask(&whole, "tools/call", &called)["error"]["message"].clone();
        let is_unknown = answer == format!("Unknown tool: {name}");
        is_unknown.then_some(()).ok_or(answer.to_string())
    });
    assert_eq!(names(&whole, "tools/list", "tools").len(), 12);

    // What is widened is there in each session.
    write(&all);
    until(400);
    assert_eq!(names(&agent(&gate), "tools/list", "tools").len(), 18);
    eventually(|| match names(&whole, "tools/list", "tools").len() {
        18 => Ok(()),
        other => Err(other.to_string()),
    });
}

#[test]
fn a_view_has_its_servers_and_tools_alone_and_permits_nothing() {
    let (mut setup, started) = before_three("[agents.bob]\nnot_servers = [\"web\"]\n");
    setup.more.push_str(
        "[views.dev]\nservers = ['crm', 'web']\ntools = ['crm__tool__*', 'web__tool__1']\n\
         [views.web]\nservers = ['web']\n[views.post]\nservers = ['mail']\ntools = ['post']\n",
    );
    let closed =
        format!("{POLICIES}forbid (principal, action, resource == Mcp::Tool::\"crm/tool__1\");");
    fs::write(setup.path("policies/test.cedar"), closed).unwrap();
    let gate = Serving::start(setup);
    let view = |name: &str, who: &str| several::agent_at(&at(&gate, &format!("/view/{name}")), who);

    let alice = view("dev", "alice");
    let tools = names(&alice, "tools/list", "tools");
    let of_crm = ["0", "2", "3", "4", "5"].map(|number| format!("crm__tool__{number}"));
    let mut expected = of_crm.to_vec();
    expected.push("web__tool__1".to_owned());
    let mut sorted = tools.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert_eq!(names(&alice, "prompts/list", "prompts").len(), 12);
    let called = |agent: &Agent, name: &str| {
        ask(agent, "tools/call", &json!({"name": name, "arguments": {}}))
    };
    assert_eq!(
        called(&alice, "web__tool__1")["result"]["content"][0]["text"],
        "web tool__1"
    );
    for name in ["web__tool__2", "post", "mail__tool__2"] {
        let answer = called(&alice, name);
        assert_eq!(answer["error"]["message"], format!("Unknown tool: {name}"));
    }
    recorded(&gate, r#""code":"unrouted""#);
    let closed = called(&alice, "crm__tool__1")["error"]["message"].to_string();
    assert!(closed.contains("Unknown tool"), "{closed}");
    assert!(!started.exists());
    let whole = ask(&alice, "tools/list", &json!({})).to_string();
    assert!(!whole.contains("mail"), "{whole}");

    // With the servers that the agent has.
    let bob = view("dev", "bob");
    assert_eq!(names(&bob, "tools/list", "tools").len(), 5);
    let unknown = Agent::at(&at(&gate, "/view/other"))
        .with(TOKEN)
        .post(INITIALIZE);
    let closed = Agent::at(&at(&gate, "/view/web"))
        .with(TOKEN)
        .post(INITIALIZE);
    assert_eq!((closed.status, closed.body), (unknown.status, unknown.body));
    assert_eq!(closed.status, 404);

    let post = view("post", "bob");
    assert_eq!(names(&post, "tools/list", "tools"), ["post"]);
    assert_eq!(
        called(&post, "post")["result"]["content"][0]["text"],
        "mail tool__1"
    );
}

#[test]
fn the_agent_on_standard_streams_has_its_servers_alone() {
    let check = |agents: &str, expected: Option<&str>| {
        let (mut setup, started) = before_three(agents);
        setup.listen = "transport = 'stdio'".to_owned();
        let mut agent = Peer::start(setup.gate());
        agent.send(INITIALIZE);
        let Some(expected) = expected else {
            assert!(agent.receive().is_none());
            return;
        };
        let greeted = next(&mut agent);
        assert_eq!(greeted["result"]["instructions"], expected);
        agent.send(INITIALIZED);
        agent.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        let listed: Value = next(&mut agent);
        assert!(!listed.to_string().contains("mail"), "{listed}");
        assert!(!started.exists());
    };
    check(
        "[agents.stdio]\nnot_servers = [\"mail\"]\n",
        Some("## crm\n\nI am crm\n\n## web\n\nI am web"),
    );
    check("[agents.stdio]\nservers = []\n", None);
}

#[test]
fn an_agent_does_not_attach_to_a_server_that_it_may_not_use() {
    let (mut setup, started) = before_three("[agents.stdio]\nservers = [\"crm\"]\n");
    setup.listen = "transport = 'local'".to_owned();
    setup.more = setup.more.replace(
        "[unified]\nwait = '30s'\naliases = { post = 'mail__tool__1' }\n",
        "",
    );
    let shared = Attached::to(setup);
    let check = |key: &str, expected: &str| {
        let output = shared.command(key).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{said}");
        assert!(!output.status.success());
    };
    check("mail", "does not leave the agent `stdio` the server `mail`");
    check("other", "there is no server `other`; the servers are: crm");
    assert!(!started.exists());
    let mut agent = Peer::start(shared.command("crm"));
    agent.send(INITIALIZE);
    let greeted = parsed(agent.receive().unwrap());
    assert_eq!(greeted["result"]["instructions"], "I am crm");
    let records = shared.setup.audit_text();
    assert!(records.contains(r#""code":"attach_refused""#), "{records}");
}

/// A command on the configuration of a gate: its exit code, and what it writes.
fn command(setup: &Setup, words: &[&str]) -> (Option<i32>, String) {
    setup.arguments();
    let mut command = Command::new(GATE);
    let config = setup.path("gate.toml");
    let output = command.args(words).arg("--config").arg(config).output();
    let output = output.unwrap();
    let texts = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(texts).unwrap())
}

#[test]
fn agents_are_shown_and_their_lists_replaced_if_the_result_is_valid() {
    let written = format!("# Ours.\n{NARROW}");
    let (setup, _) = before_three(&written);
    let file = setup.path("policies/agents.toml");
    let check = |words: &[&str], code: i32, expected: &str, text: &str| {
        let (exit, said) = command(&setup, words);
        assert_eq!(exit, Some(code), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{words:?}");
    };
    check(
        &["agents", "list"],
        0,
        "bob: roles staff; servers crm, web\n",
        &written,
    );
    check(
        &["agents", "show", "eve"],
        0,
        "eve: roles none; servers crm, mail, web\n",
        &written,
    );
    let json =
        r#"{"schema":1,"agents":[{"name":"bob","roles":["staff"],"servers":["crm","web"]}]}"#;
    check(&["agents", "list", "--format", "json"], 0, json, &written);
    check(
        &["agents", "set", "bob", "--servers", "crm,wep"],
        1,
        "there is no server `wep`",
        &written,
    );
    check(
        &["agents", "set", "bob", "--deny-tool", "read"],
        1,
        "does not begin with the key of a server",
        &written,
    );
    let narrower = written.replace(
        "roles = [\"staff\"]\n",
        "roles = [\"staff\"]\nservers = [\"web\", \"mail\"]\n",
    );
    check(
        &["agents", "set", "bob", "--servers", "web,mail"],
        0,
        "bob: roles staff; servers web\n",
        &narrower,
    );
    let added = format!("{narrower}\n[agents.eve]\nservers = []\ndeny = [\"crm/tool__1\"]\n");
    let words = [
        "agents",
        "set",
        "eve",
        "--servers",
        "",
        "--deny-tool",
        "crm/tool__1",
    ];
    let (exit, said) = command(&setup, &words);
    assert_eq!(
        (exit, said.as_str()),
        (Some(0), "eve: roles none; servers none\n")
    );
    let text = fs::read_to_string(&file).unwrap();
    let (lines, of_added) = (
        text.lines().filter(|it| !it.is_empty()),
        added.lines().filter(|it| !it.is_empty()),
    );
    let (lines, of_added) = (
        lines.collect::<BTreeSet<_>>(),
        of_added.collect::<BTreeSet<_>>(),
    );
    assert_eq!(lines, of_added);
}

#[test]
fn the_locked_tools_are_told_that_an_agent_is_shown_and_what_hides_the_others() {
    let (setup, _) =
        before_three("[agents.bob]\nnot_servers = [\"mail\"]\ndeny = [\"crm/tool__1\"]\n");
    let locked = command(&setup, &["tools", "lock"]);
    assert_eq!(locked.0, Some(0), "{}", locked.1);
    let (exit, told) = command(&setup, &["tools", "list", "--agent", "bob"]);
    assert_eq!(exit, Some(0), "{told}");
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told.len(), 18, "{told:?}");
    for line in [
        "crm/tool__0: shown",
        "crm/tool__1: not shown: forbidden by `agents.bob.deny`",
        "mail/tool__1: not shown: forbidden by `agents.bob.not_servers`",
        "web/tool__5: shown",
    ] {
        assert!(told.contains(&line), "{told:?}");
    }
    let words = [
        "tools", "list", "--agent", "eve", "--server", "mail", "--format", "json",
    ];
    let (_, told) = command(&setup, &words);
    let told = parsed(&told);
    let tools = told["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6, "{told}");
    assert!(tools.iter().all(|tool| tool["shown"] == true), "{told}");
    let unknown = command(
        &setup,
        &["tools", "list", "--agent", "eve", "--server", "crn"],
    );
    assert_eq!(unknown.0, Some(2), "{}", unknown.1);
    assert!(
        unknown.1.contains("`crn` is no key of a server"),
        "{}",
        unknown.1
    );
}
