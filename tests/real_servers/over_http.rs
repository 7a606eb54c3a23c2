//! Gates that serve over HTTP, before servers that others wrote, driven by clients that others wrote.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::inspector::{call_of, printed};
use crate::json::json;
use crate::real::{ALL, DUAL, Real, each, installed, interpreter};
use crate::serving::Serving;
use crate::setup::{ALLOW_ALL, Setup};

/// Two gates: the first starts the server, the second asks the first and permits only some tools.
struct Chain {
    near: Serving,
    /// Ends after the one that asks it.
    _far: Serving,
}

impl Chain {
    fn before(real: &Real) -> Self {
        let far = Serving::start(real.guarded().policies(ALLOW_ALL).over_http());
        let near = Setup::before(&far.url).allow(&real.allow).over_http();
        Self {
            near: Serving::start(near),
            _far: far,
        }
    }

    /// Calls in the audit of the gate that permits only some tools.
    fn calls(&self) -> Vec<(String, String)> {
        let audit = fs::read_to_string(self.near.setup().audit_file()).unwrap();
        let records = audit.lines().map(json);
        let calls = records.filter(|record| record["kind"] == "tool_call");
        let word = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
        calls
            .map(|record| (word(&record, "target"), word(&record, "decision")))
            .collect()
    }
}

fn inspect(real: &Real, era: &str, method: &[String], url: &str) -> Output {
    let mut inspector = Command::new(installed("mcp-inspector"));
    inspector
        .args(["--cli", "--format", "json", "-q", "--protocol-era", era])
        .args(["--transport", "http", "--server-url", url])
        .arg("--method")
        .args(method)
        .env("HOME", real.home());
    inspector.output().unwrap()
}

/// What the Python kit's client got: lists, and one call.
fn python(mode: &str, tool: &str, arguments: &Value, url: &str) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/clients/python/client.py");
    let mut client = Command::new(interpreter());
    client
        .arg(script)
        .args([url, mode, tool, &arguments.to_string()]);
    let output = client.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    json(str::from_utf8(&output.stdout).unwrap())
}

/// The names that are shown: what is allowed, in the server's order.
fn names(listed: &Value) -> Vec<String> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

fn check_inspector(real: &Real, era: &str) {
    let chain = Chain::before(real);
    let run = |method: &[String]| inspect(real, era, method, &chain.near.url);
    let shown = names(&printed(&run(&["tools/list".to_owned()])));
    assert_eq!(shown.len(), real.allow.len() - 1, "{shown:?}");
    assert!(shown.iter().all(|name| real.allow.contains(&&**name)));
    let called = printed(&run(&call_of(&real.read)));
    assert!(called["result"]["content"].is_array(), "{called}");
    let refused = run(&call_of(&real.denied));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{stderr}");
    real.got_only(&real.read);
    let permitted = (real.read.tool.to_owned(), "ALLOW".to_owned());
    assert_eq!(chain.calls(), [permitted]);
}

fn check_python(real: &Real, mode: &str) {
    let chain = Chain::before(real);
    let called = python(mode, real.read.tool, &real.read.arguments, &chain.near.url);
    let shown = called["tools"].as_array().unwrap();
    assert_eq!(shown.len(), real.allow.len() - 1, "{called}");
    assert!(called["result"]["content"].is_array(), "{called}");
    let denied = python(
        mode,
        real.denied.tool,
        &real.denied.arguments,
        &chain.near.url,
    );
    assert!(denied["result"]["refused"].is_string(), "{denied}");
    real.got_only(&real.read);
    let of = |decision: &str| {
        chain
            .calls()
            .iter()
            .filter(|(_, it)| it == decision)
            .count()
    };
    assert_eq!((of("ALLOW"), of("BLOCK")), (1, 1));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_uses_real_servers_over_http_in_a_session() {
    each(ALL, |real| check_inspector(real, "legacy"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_uses_real_servers_over_http_without_a_session() {
    each(DUAL, |real| check_inspector(real, "modern"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_finds_out_over_http_which_era_a_real_server_speaks() {
    each(ALL, |real| check_inspector(real, "auto"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_python_kit_uses_real_servers_over_http() {
    each(ALL, |real| check_python(real, "legacy"));
    each(ALL, |real| check_python(real, "auto"));
}
