//! Gates that serve over HTTP, before servers that others wrote, driven by clients that others wrote.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::real_servers::inspector::{call_of, printed};
use crate::real_servers::real::{
    ALL, DUAL, Real, each, everything, fastmcp, installed, interpreter,
};
use crate::support::json::json;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// A gate that permits only some tools, before a server over HTTP.
struct Chain {
    near: Serving,
    /// Ends after the one that asks it.
    far: Far,
}

enum Far {
    /// Another gate, which starts the server and writes down what it receives.
    Gate { _serving: Box<Serving> },
    /// The server itself.
    Server { _child: Ended },
}

/// A process that is ended with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Servers with HTTP of their own: how each is told its port, and where it serves.
type Listening = (fn() -> Real, fn(u16) -> Command);

const LISTENING: &[Listening] = &[
    (everything, |port| {
        let mut command = Command::new(installed("mcp-server-everything"));
        command.arg("streamableHttp").env("PORT", port.to_string());
        command
    }),
    (fastmcp, |port| {
        let mut command = Command::new(installed("fastmcp-server"));
        command.arg(port.to_string());
        command
    }),
];

impl Chain {
    fn before(real: &Real) -> Self {
        let far = Serving::start(real.guarded().policies(ALLOW_ALL).agentic().over_http());
        let near = Setup::before(&far.url).allow(&real.allow).over_http();
        Self {
            near: Serving::start(near),
            far: Far::Gate {
                _serving: Box::new(far),
            },
        }
    }

    fn before_itself(real: &Real, start: fn(u16) -> Command) -> Self {
        // Not one that the system gives to those who connect: they are many.
        let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let port = (30_100..32_000).find(free).unwrap();
        let mut command = start(port);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = Ended(child.unwrap());
        eventually(|| {
            let listening = TcpStream::connect(("127.0.0.1", port));
            listening.map_err(|error| format!("`{}` does not listen: {error}", real.name))
        });
        let url = format!("http://127.0.0.1:{port}/mcp");
        let near = Setup::before(&url).allow(&real.allow).over_http();
        Self {
            near: Serving::start(near),
            far: Far::Server { _child: child },
        }
    }

    /// The server got what was permitted, and nothing else. One that serves HTTP itself keeps no
    /// log; of that one the gate's own record is seen.
    fn got_only(&self, real: &Real) {
        match &self.far {
            Far::Gate { .. } => real.got_only(&real.read),
            Far::Server { .. } => {}
        }
    }

    /// Calls in the audit of the gate that permits only some tools.
    fn calls(&self) -> Vec<(String, String)> {
        let audit = self.near.setup().audit_text();
        let records = audit.lines().map(json);
        let calls = records.filter(|record| record["kind"] == "tool_call");
        let word = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
        calls
            .map(|record| (word(&record, "target"), word(&record, "decision")))
            .collect()
    }
}

pub(crate) fn inspect(era: &str, method: &[String], url: &str) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut inspector = Command::new(installed("mcp-inspector"));
    inspector
        .args(["--cli", "--format", "json", "-q", "--protocol-era", era])
        .args(["--transport", "http", "--server-url", url])
        .arg("--method")
        .args(method)
        .env("HOME", home.path());
    inspector.output().unwrap()
}

/// A client on the Python kit: the environment that it needs, and its script.
pub(crate) type Python = (&'static str, &'static str);

pub(crate) const PYTHON: Python = ("venv", "client.py");

/// The kit before it spoke 2026-07-28.
pub(crate) const PYTHON_1: Python = ("venv-1", "client_1.py");

/// What the Python kit's client got: lists, and one call.
pub(crate) fn python(
    (environment, script): Python,
    mode: &str,
    tool: &str,
    arguments: &Value,
    url: &str,
) -> Value {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/clients/python");
    let script = scripts.join(script);
    let mut client = Command::new(interpreter(environment));
    client
        .arg(script)
        .args([url, mode, tool, &arguments.to_string()]);
    let output = client.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    json(str::from_utf8(&output.stdout).unwrap())
}

/// The names that are shown: what is allowed, in the server's order.
pub(crate) fn names(listed: &Value) -> Vec<String> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

fn check_inspector(real: &Real, era: &str, chain: &Chain) {
    let run = |method: &[String]| inspect(era, method, &chain.near.url);
    let shown = names(&printed(&run(&["tools/list".to_owned()])));
    assert_eq!(shown.len(), real.allow.len() - 1, "{shown:?}");
    assert!(shown.iter().all(|name| real.allow.contains(&&**name)));
    let called = printed(&run(&call_of(&real.read)));
    assert!(called["result"]["content"].is_array(), "{called}");
    let refused = run(&call_of(&real.denied));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{stderr}");
    chain.got_only(real);
    let permitted = (real.read.tool.to_owned(), "ALLOW".to_owned());
    assert_eq!(chain.calls(), [permitted]);
}

fn check_python(real: &Real, kit: Python, mode: &str, chain: &Chain) {
    let (url, permitted) = (&chain.near.url, &real.read);
    let called = python(kit, mode, permitted.tool, &permitted.arguments, url);
    let shown = called["tools"].as_array().unwrap();
    assert_eq!(shown.len(), real.allow.len() - 1, "{called}");
    assert!(called["result"]["content"].is_array(), "{called}");
    let denied = python(kit, mode, real.denied.tool, &real.denied.arguments, url);
    assert!(denied["result"]["refused"].is_string(), "{denied}");
    chain.got_only(real);
    let of = |decision: &str| {
        chain
            .calls()
            .iter()
            .filter(|(_, it)| it == decision)
            .count()
    };
    assert_eq!((of("ALLOW"), of("BLOCK")), (1, 1));
}

fn inspector(era: &str) -> impl Fn(&Real) {
    move |real| check_inspector(real, era, &Chain::before(real))
}

fn kit(python: Python, mode: &str) -> impl Fn(&Real) {
    move |real| check_python(real, python, mode, &Chain::before(real))
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_uses_real_servers_over_http_in_a_session() {
    each(ALL, inspector("legacy"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_uses_real_servers_over_http_without_a_session() {
    each(DUAL, inspector("modern"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_finds_out_over_http_which_era_a_real_server_speaks() {
    each(ALL, inspector("auto"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_python_kit_uses_real_servers_over_http() {
    each(ALL, kit(PYTHON, "legacy"));
    each(ALL, kit(PYTHON, "auto"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_python_kit_of_sessions_uses_real_servers_over_http() {
    each(ALL, kit(PYTHON_1, "legacy"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn servers_with_http_of_their_own_are_used_by_each_client() {
    for (server, start) in LISTENING {
        let real = server();
        let before = || Chain::before_itself(&real, *start);
        for era in ["legacy", "auto"] {
            check_inspector(&real, era, &before());
            check_python(&real, PYTHON, era, &before());
        }
        check_python(&real, PYTHON_1, "legacy", &before());
    }
}
