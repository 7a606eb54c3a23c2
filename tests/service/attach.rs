//! Agents on standard streams that share one gate: what `attach` starts, finds, passes on and leaves.

use std::fs;
use std::io::Write as _;
use std::ops::Deref;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use serde_json::{Value, json};

use crate::service::several::{LABELS, POLICIES, server};
use crate::support::attached::{Attached, kill};
use crate::support::json::json as parsed;
use crate::support::peer::{Ended, Peer};
use crate::support::processes::{all_end, eventually};
use crate::support::setup::Setup;

/// A configuration of two servers whose agents attach. Whatever runs for it ends with it.
struct Shared(Attached);

impl Shared {
    fn of(more: &str) -> Self {
        let mut setup = Setup::of(server("crm")).policies(POLICIES).labels(LABELS);
        setup.key = Some("crm");
        setup.more = format!("[servers.mail]\ncommand = {:?}\n{more}", server("mail"));
        Self(Attached::to(setup))
    }

    fn attach(&self, key: &str) -> Agent {
        Agent {
            peer: Peer::start(self.command(key)),
            asked: 0,
        }
    }

    /// One that has begun its session.
    fn agent(&self, key: &str) -> Agent {
        let mut agent = self.attach(key);
        agent.begin();
        agent
    }
}

impl Deref for Shared {
    type Target = Attached;

    fn deref(&self) -> &Attached {
        &self.0
    }
}

struct Agent {
    peer: Peer,
    asked: u64,
}

impl Agent {
    fn begin(&mut self) {
        let client = json!({"name": "tester", "version": "1"});
        self.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        self.peer
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// The reply to a request.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        self.reply()
    }

    fn send(&mut self, method: &str, params: &Value) {
        self.asked += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        self.peer.send(request.to_string());
    }

    fn reply(&mut self) -> Value {
        loop {
            let line = self.peer.receive().map(str::to_owned);
            let line = line.unwrap_or_else(|| {
                panic!("the stream has ended");
            });
            let message = parsed(&line);
            if message["id"] == self.asked {
                return message;
            }
        }
    }

    /// What a tool says, or why it was not called.
    fn call(&mut self, tool: &str) -> String {
        let reply = self.ask("tools/call", &json!({"name": tool, "arguments": {}}));
        let text = reply["result"]["content"][0]["text"].as_str();
        text.map_or_else(|| reply.to_string(), str::to_owned)
    }

    fn tools(&mut self) -> Vec<String> {
        let reply = self.ask("tools/list", &json!({}));
        let tools = reply["result"]["tools"].as_array().unwrap().iter();
        let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect()
    }
}

const CLOSED: &str = "nothing can connect any more";

#[test]
fn what_one_attached_agent_reads_closes_another_server_with_the_next_message() {
    let shared = Shared::of("");
    let (mut crm, mut mail) = (shared.agent("crm"), shared.agent("mail"));
    // The servers' own names.
    assert_eq!(crm.tools(), ["read"]);
    assert_eq!(mail.tools(), ["read", "send"]);
    assert_eq!(mail.call("send"), "mail send");
    assert_eq!(crm.call("read"), "crm read");
    let closed = mail.call("send");
    assert!(closed.contains(CLOSED), "{closed}");
    // One that comes later is of the same session.
    let closed = shared.agent("mail").call("send");
    assert!(closed.contains(CLOSED), "{closed}");
    assert_eq!(shared.gates().len(), 1);
    for agent in [crm, mail] {
        let Ended { code, stderr, .. } = agent.peer.end();
        assert_eq!(code, Some(0), "{stderr}");
    }
}

#[test]
fn of_many_agents_that_start_at_once_one_starts_the_gate() {
    let shared = Shared::of("");
    let mut agents: Vec<Agent> = (0..8)
        .map(|number| shared.attach(["crm", "mail"][number % 2]))
        .collect();
    for agent in &mut agents {
        agent.begin();
    }
    assert_eq!(shared.gates().len(), 1);
    let records = shared.setup.audit_text();
    let starts = records.matches(r#""kind":"startup""#).count();
    assert_eq!(starts, 2, "one for each server: {records}");
    assert_eq!(agents[0].call("read"), "crm read");
    let closed = agents[7].call("send");
    assert!(closed.contains(CLOSED), "{closed}");
}

#[test]
fn what_an_agent_asked_before_it_closed_its_end_is_answered() {
    let shared = Shared::of("");
    let mut crm = shared.attach("crm");
    let client = json!({"name": "tester", "version": "1"});
    crm.send(
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
    );
    let Ended {
        code,
        lines,
        stderr,
    } = crm.peer.end();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        lines.iter().any(|line| line.contains("serverInfo")),
        "{lines:?}"
    );
}

#[test]
fn an_agent_that_asks_for_no_server_is_told_which_there_are() {
    let shared = Shared::of("[servers.off]\ncommand = ['/bin/false']\nenabled = false\n");
    let check = |key: &str, told: &str| {
        let Ended {
            code,
            stderr,
            lines,
        } = shared.attach(key).peer.end();
        assert_eq!((code, lines.len()), (Some(1), 0), "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
    };
    check(
        "crmm",
        "there is no server `crmm`; the servers are: crm, mail",
    );
    check(
        "off",
        "the server `off` is disabled (`servers.off.enabled`)",
    );
    assert_eq!(shared.agent("crm").call("read"), "crm read");
    eventually(|| {
        let records = shared.setup.audit_text();
        let told = records.contains("attach_refused") && records.contains("no server `crmm`");
        told.then_some(()).ok_or(records)
    });
}

#[test]
fn a_gate_that_cannot_start_tells_each_agent_why() {
    let shared = Shared::of("");
    fs::write(shared.setup.path("policies/test.cedar"), "permit (").unwrap();
    let agents = [(); 3].map(|()| shared.attach("crm"));
    for agent in agents {
        let Ended { code, stderr, .. } = agent.peer.end();
        assert_eq!(code, Some(1), "{stderr}");
        assert!(
            stderr.contains("test.cedar") && stderr.contains("the gate did not start"),
            "{stderr}"
        );
    }
    fs::write(shared.setup.path("policies/test.cedar"), POLICIES).unwrap();
    assert_eq!(shared.agent("crm").call("read"), "crm read");
}

#[test]
fn a_gate_that_dies_ends_its_agents_and_the_next_one_replaces_it() {
    let shared = Shared::of("");
    let mut crm = shared.agent("crm");
    assert_eq!(crm.call("read"), "crm read");
    kill(shared.gates()[0]);
    // Its input is open still.
    while crm.peer.receive().is_some() {}
    let Ended { code, stderr, .. } = crm.peer.end();
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("the gate"), "{stderr}");
    // The socket is there, and no gate behind it.
    let left = fs::symlink_metadata(shared.place("sock")).unwrap();
    assert!(left.file_type().is_socket());
    assert_eq!(shared.agent("mail").call("send"), "mail send");
    assert_eq!(shared.gates().len(), 1);
}

#[test]
fn a_stale_socket_is_replaced_and_private() {
    let shared = Shared::of("");
    let directory = shared.place("sock").parent().unwrap().to_owned();
    let _ = fs::DirBuilder::new().create(&directory);
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    drop(UnixListener::bind(shared.place("sock")).unwrap());
    assert_eq!(shared.agent("crm").call("read"), "crm read");
    let mode = |path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(shared.place("sock")), 0o600);
    assert_eq!(mode(shared.place("log")), 0o600);
    assert_eq!(mode(directory), 0o700);
}

#[test]
fn the_gate_ends_after_the_last_agent_and_the_next_one_starts_another() {
    let shared = Shared::of("");
    let mut crm = shared.agent("crm");
    assert_eq!(crm.call("read"), "crm read");
    let gate = shared.gates();
    assert_eq!(crm.peer.end().code, Some(0));
    all_end(shared.setup.mark());
    assert!(!shared.place("sock").exists());
    let records = shared.setup.audit_text();
    assert!(records.contains(r#""kind":"shutdown""#), "{records}");
    assert_eq!(shared.agent("mail").call("send"), "mail send");
    assert_ne!(shared.gates(), gate);
}

#[test]
fn an_agent_that_is_ended_by_a_signal_leaves_the_gate_to_the_others() {
    let shared = Shared::of("");
    let (mut crm, mut mail) = (shared.agent("crm"), shared.agent("mail"));
    let pid = crm.peer.child.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    assert_eq!(crm.peer.receive(), None);
    assert_eq!(crm.peer.end().code, Some(0));
    assert_eq!(mail.call("send"), "mail send");
}

#[test]
fn what_does_not_greet_is_refused_and_recorded() {
    let shared = Shared::of("");
    let _crm = shared.agent("crm");
    let check = |said: &str, told: &str| {
        let mut stream = UnixStream::connect(shared.place("sock")).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let answer = std::io::read_to_string(stream).unwrap();
        assert!(
            answer.contains("refused") && answer.contains(told),
            "{answer}"
        );
        eventually(|| {
            let records = shared.setup.audit_text();
            records.contains(told).then_some(()).ok_or(records)
        });
    };
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        "the first line is not that of",
    );
    check(
        "{\"attach\":\"crm\",\"version\":\"0.0.0\"}\n",
        "close every agent that is attached",
    );
    check("", "it did not say which server it is for");
    check(
        &"x".repeat(8 * 1024),
        "it did not say which server it is for",
    );
}

#[test]
fn policies_that_are_read_again_hold_for_attached_agents() {
    let shared = Shared::of("");
    let mut mail = shared.agent("mail");
    assert_eq!(mail.tools(), ["read", "send"]);
    let closed =
        format!("{POLICIES}forbid (principal, action, resource == Mcp::Tool::\"mail/read\");");
    fs::write(shared.setup.path("policies/test.cedar"), closed).unwrap();
    eventually(|| match mail.tools() {
        tools if tools == ["send"] => Ok(()),
        tools => Err(format!("{tools:?}")),
    });
}
