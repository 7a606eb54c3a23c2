//! One endpoint for servers that others wrote, used by clients that others wrote.

use std::fmt::Write as _;

use serde_json::Value;

use crate::real_servers::inspector::{call_of, printed};
use crate::real_servers::kit::{Gate, block_on, call, direct};
use crate::real_servers::over_http::{PYTHON, PYTHON_1, Python, inspect, names, python};
use crate::real_servers::real::{Call, Real, everything, filesystem, git, memory, time};
use crate::support::json::json;
use crate::support::serving::Serving;
use crate::support::setup::{Policy, Setup};

/// In the order of their keys. Three of them have sessions only; two speak both eras.
const SERVERS: &[fn() -> Real] = &[everything, filesystem, git, memory, time];

/// A gate that permits some tools of each server.
fn before_all(servers: &[Real]) -> Setup {
    let (first, others) = servers.split_first().unwrap();
    let mut setup = first.guarded();
    setup.key = Some(first.name);
    setup.more = "[unified]\nwait = '30s'\n[flow]\nflow_in = 'off'\nflow_context = 'off'\n".into();
    for real in others {
        let Setup { command, env, .. } = real.guarded();
        let (name, more) = (real.name, &mut setup.more);
        writeln!(more, "[servers.{name}]\ncommand = {command:?}").unwrap();
        writeln!(more, "[servers.{name}.env]").unwrap();
        for (name, value) in env {
            writeln!(more, "{name} = {value:?}").unwrap();
        }
    }
    let allowed = |real: &Real| {
        let tools = real.allow.iter();
        let named = tools.map(|tool| format!("{}/{tool}", real.name));
        named.collect::<Vec<_>>()
    };
    setup.policy = Policy::Allow(servers.iter().flat_map(allowed).collect());
    setup
}

/// The call under the name of the endpoint.
fn at_endpoint(real: &Real, call: &Call) -> Call {
    let tool = format!("{}__{}", real.name, call.tool);
    Call {
        tool: tool.leak(),
        arguments: call.arguments.clone(),
    }
}

/// What each server says to somebody who asks it without a gate: the tools that the gate permits, under the
/// names of the endpoint, and the texts of one result.
struct Direct {
    tools: Vec<String>,
    texts: Vec<Value>,
}

async fn direct_of_all(servers: &[Real]) -> Direct {
    let (mut tools, mut texts) = (Vec::new(), Vec::new());
    for real in servers {
        let (offered, result) = direct(real).await;
        let permitted = offered
            .iter()
            .filter(|tool| real.allow.contains(&&*tool.name));
        tools.extend(permitted.map(|tool| format!("{}__{}", real.name, tool.name)));
        let result = serde_json::to_value(&result).unwrap();
        texts.push(result["content"][0]["text"].clone());
    }
    assert!(tools.len() > servers.len(), "{tools:?}");
    Direct { tools, texts }
}

/// What a client got from the endpoint: the names of all tools, and the text of a call's result or the refusal.
type Used = (Vec<String>, Result<Value, String>);

/// Each server's tools are listed and called, a denied call is refused, and each server got its own calls alone.
fn check(servers: &[Real], direct: &Direct, client: &dyn Fn(&Call) -> Used) {
    for (real, text) in servers.iter().zip(&direct.texts) {
        let (tools, called) = client(&at_endpoint(real, &real.read));
        assert_eq!(tools, direct.tools);
        assert_eq!(called.as_ref(), Ok(text), "{}", real.name);
    }
    // Each use of a client takes seconds.
    let denied = at_endpoint(&servers[0], &servers[0].denied);
    let refused = client(&denied).1.unwrap_err();
    assert!(refused.contains(denied.tool), "{refused}");
    for real in servers {
        real.got_only(&real.read);
        let others = servers.iter().filter(|it| it.name != real.name);
        for other in others {
            let received = real.received();
            assert!(!received.contains(other.read.tool), "{received}");
        }
    }
}

fn over_http(client: impl Fn(&str, &Call) -> Used) {
    let servers: Vec<Real> = SERVERS.iter().map(|real| real()).collect();
    let direct = block_on(direct_of_all(&servers));
    let gate = Serving::start(before_all(&servers).over_http());
    let (endpoint, _) = gate.url.rsplit_once('/').unwrap();
    check(&servers, &direct, &|call| client(endpoint, call));
}

fn kit(kit: Python, mode: &str, url: &str, call: &Call) -> Used {
    let said = python(kit, mode, call.tool, &call.arguments, url);
    let tools = said["tools"].as_array().unwrap().iter();
    let tools = tools
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    let result = &said["result"];
    let called = match result["refused"].as_str() {
        Some(refused) => Err(refused.to_owned()),
        None => Ok(result["content"][0]["text"].clone()),
    };
    (tools, called)
}

/// The inspector is built on the TypeScript kit.
fn inspector(era: &str, url: &str, call: &Call) -> Used {
    // It asks for every page.
    let listed = printed(&inspect(era, &["tools/list".to_owned()], url));
    let called = inspect(era, &call_of(call), url);
    let called = if called.status.success() {
        let result = json(str::from_utf8(&called.stdout).unwrap());
        Ok(result["result"]["content"][0]["text"].clone())
    } else {
        Err(String::from_utf8_lossy(&called.stderr).into_owned())
    };
    (names(&listed), called)
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_python_kits_use_five_real_servers_at_one_endpoint() {
    over_http(|url, call| kit(PYTHON, "legacy", url, call));
    over_http(|url, call| kit(PYTHON, "auto", url, call));
    over_http(|url, call| kit(PYTHON_1, "legacy", url, call));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_uses_five_real_servers_at_one_endpoint() {
    for era in ["legacy", "modern", "auto"] {
        over_http(|url, call| inspector(era, url, call));
    }
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_rust_kit_uses_five_real_servers_over_one_pair_of_streams() {
    block_on(async {
        let servers: Vec<Real> = SERVERS.iter().map(|real| real()).collect();
        let direct = direct_of_all(&servers).await;
        let gate = Gate::start(before_all(&servers)).await;
        let tools = gate.client.list_all_tools().await.unwrap();
        let tools: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(tools, direct.tools);
        for (real, text) in servers.iter().zip(&direct.texts) {
            let read = at_endpoint(real, &real.read);
            let result = call(&gate.client, &read).await.unwrap();
            let result = serde_json::to_value(&result).unwrap();
            assert_eq!(result["content"][0]["text"], *text);
            let denied = at_endpoint(real, &real.denied);
            let refused = call(&gate.client, &denied).await.unwrap_err();
            assert!(refused.to_string().contains(denied.tool), "{refused}");
        }
        gate.end().await;
        for real in &servers {
            real.got_only(&real.read);
        }
    });
}
