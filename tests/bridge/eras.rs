//! Agents that begin no session before a server that knows nothing else.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bridge::pairs::{PAIRS, Pair, Server, Transport};
use crate::support::fixtures::fixture;
use crate::support::http;
use crate::support::json::json;
use crate::support::peer::Peer;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// An agent of 2026-07-28, and the gate that it speaks to.
pub(crate) struct Agent {
    reached: Reached,
    _server: Option<Server>,
}

enum Reached {
    Stdio(Box<(Peer, Setup)>),
    Http(Box<Serving>),
}

impl Agent {
    /// Each request is passed on or refused as it is: nothing is bridged.
    fn before(pair: Pair, era: &str) -> Self {
        Self::guarded(pair, era, |mut setup| {
            setup.more.push_str("[protocol]\nbridge = false\n");
            setup
        })
    }

    /// The same before such a gate.
    pub(crate) fn guarded(pair: Pair, era: &str, guard: impl FnOnce(Setup) -> Setup) -> Self {
        let (setup, server) = match pair.server {
            Transport::Stdio => {
                let setup = Setup::of([fixture("everything-server").as_str(), era]);
                let received = setup.path("received");
                (setup.env("FIXTURE_LOG", received.to_str().unwrap()), None)
            }
            Transport::Http => {
                let server = Server::start(era);
                (Setup::before(&server.url), Some(server))
            }
        };
        let mut setup = guard(setup.policies(ALLOW_ALL));
        // What the server is told is the agent's doing.
        setup.trial = Some(false);
        let reached = match pair.agent {
            Transport::Stdio => Reached::Stdio(Box::new((Peer::start(setup.gate()), setup))),
            Transport::Http => Reached::Http(Box::new(Serving::start(setup.over_http()))),
        };
        Self {
            reached,
            _server: server,
        }
    }

    pub(crate) fn setup(&self) -> &Setup {
        match &self.reached {
            Reached::Stdio(own) => &own.1,
            Reached::Http(gate) => gate.setup(),
        }
    }

    /// The HTTP status as well, which standard streams do not have.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> (Option<u16>, Value) {
        let mut params = params.clone();
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let name = params.get("name").or(params.get("uri"));
        let name = name.and_then(Value::as_str);
        let name = name.map(|name| format!("Mcp-Name: {name}"));
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        match &mut self.reached {
            Reached::Stdio(own) => {
                let (peer, _) = &mut **own;
                peer.send(request.to_string());
                (None, json(peer.receive().expect("the gate has ended")))
            }
            Reached::Http(gate) => {
                let agent = http::Agent::at(&gate.url)
                    .with("MCP-Protocol-Version: 2026-07-28")
                    .with(format!("Mcp-Method: {method}"));
                let agent = name.into_iter().fold(agent, http::Agent::with);
                let answer = agent.post(&request.to_string());
                let events = answer.body.lines();
                let event = events
                    .filter_map(|line| line.strip_prefix("data: "))
                    .next_back();
                (Some(answer.status), json(event.unwrap_or(&answer.body)))
            }
        }
    }

    /// What the audit says of the requests of this method, once it says something.
    fn reasons(&self, method: &str) -> Vec<String> {
        for _ in 0..600 {
            let audit = self.setup().audit_text();
            let records: Vec<Value> = audit.lines().map(json).collect();
            let records = records.iter().filter(|record| record["method"] == method);
            let blocked = records.filter(|record| record["decision"] == "BLOCK");
            let reasons = blocked.map(|it| it["reason"]["code"].as_str().unwrap().to_owned());
            let reasons: Vec<String> = reasons.collect();
            if !reasons.is_empty() {
                return reasons;
            }
            sleep(Duration::from_millis(100));
        }
        panic!("no record of {method}");
    }
}

#[test]
fn an_agent_without_sessions_is_told_what_to_do_before_a_server_that_needs_one() {
    for pair in PAIRS {
        let mut agent = Agent::before(pair, "--sessions");
        let call = json!({"name": "echo", "arguments": {"text": "here"}});
        for (method, params, code, status) in [
            ("server/discover", &json!({}), -32_601, 404),
            ("tools/list", &json!({}), -32_022, 400),
            ("tools/call", &call, -32_022, 400),
        ] {
            let (told, answer) = agent.ask(method, params);
            let error = &answer["error"];
            assert_eq!(error["code"], code, "{pair:?} {answer}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("begins with `initialize`"), "{message}");
            assert_eq!(error["data"]["requested"], "2026-07-28", "{answer}");
            let supported = error["data"]["supported"].as_array().unwrap();
            assert!(supported.contains(&"2025-11-25".into()), "{answer}");
            assert!(told.is_none_or(|told| told == status), "{told:?} {answer}");
            assert_eq!(agent.reasons(method), ["needs_session"], "{pair:?}");
        }
        if pair.server == Transport::Stdio {
            let received = fs::read_to_string(agent.setup().path("received")).unwrap();
            assert!(received.contains("server/discover"), "{received}");
            assert!(!received.contains("tools/"), "{received}");
        }
        // An agent that does begin a session works as ever.
        if let Reached::Http(gate) = &agent.reached {
            let agent = http::Agent::at(&gate.url).in_session();
            assert!(agent.echo(1, "here").body.contains("here"));
        }
    }
}

#[test]
fn a_server_without_sessions_is_asked_once_what_it_speaks() {
    for pair in PAIRS {
        let mut agent = Agent::before(pair, "--stateless");
        for text in ["one", "two", "three"] {
            let call = json!({"name": "echo", "arguments": {"text": text}});
            let (_, answer) = agent.ask("tools/call", &call);
            assert!(
                answer["result"].to_string().contains(text),
                "{pair:?} {answer}"
            );
        }
        if pair.server == Transport::Stdio {
            let received = fs::read_to_string(agent.setup().path("received")).unwrap();
            let asked = received.matches("server/discover").count();
            assert_eq!(asked, 1, "{received}");
        }
    }
}
