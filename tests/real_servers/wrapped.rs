//! `init` in front of servers that others wrote, and a client that others wrote behind it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::real_servers::inspector::printed;
use crate::real_servers::isolated::Listener;
use crate::real_servers::real::{
    Real, everything, filesystem, git, installed, interpreter, memory, time,
};
use crate::support::processes;
use crate::support::setup::GATE;

/// Of the registries of npm and PyPI.
const SERVERS: &[fn() -> Real] = &[filesystem, everything, memory, git, time];

/// A client's file that names them all, and one that reaches pages, in a home directory of their own.
struct Desktop {
    home: TempDir,
    file: PathBuf,
    servers: Vec<Real>,
}

impl Desktop {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("claude_desktop_config.json");
        let servers: Vec<Real> = SERVERS.iter().map(|real| real()).collect();
        let entries = servers
            .iter()
            .map(|real| (real.name.to_owned(), real.entry()));
        let mut entries: Map<String, Value> = entries.collect();
        let fetch = json!({
            "command": installed("mcp-server-fetch"),
            "args": ["--allow-private-ips", "--ignore-robots-txt"],
        });
        entries.insert("fetch".to_owned(), fetch);
        let text = format!("{:#}\n", json!({"mcpServers": entries}));
        fs::write(&file, text).unwrap();
        Self {
            home,
            file,
            servers,
        }
    }

    fn init(&self, words: &[&str]) {
        let mut init = Command::new(GATE);
        init.args(["init", "--from"]).arg(&self.file).args(words);
        init.env("HOME", self.home.path())
            .current_dir(self.home.path());
        let done = init.stdin(Stdio::null()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// What the client of the official Python kit says of the servers, and of these calls.
    fn client(&self, calls: &Value) -> Value {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/clients/python");
        let mut client = Command::new(interpreter("venv"));
        client.arg(scripts.join("desktop.py")).arg(&self.file);
        client.arg(calls.to_string());
        printed(&client.env("HOME", self.home.path()).output().unwrap())
    }

    /// What the official inspector lists of a server.
    fn inspected(&self, server: &str) -> Value {
        let mut inspector = Command::new(installed("mcp-inspector"));
        inspector.args(["--cli", "--format", "json", "-q", "--config"]);
        inspector.arg(&self.file).args(["--server", server]);
        inspector.args(["--method", "tools/list"]);
        printed(&inspector.env("HOME", self.home.path()).output().unwrap())
    }

    /// A call of each server that reads.
    fn reads(&self) -> Vec<Value> {
        let servers = self.servers.iter();
        let reads = servers.map(|real| {
            json!({
                "server": real.name,
                "tool": real.read.tool,
                "arguments": real.read.arguments,
            })
        });
        reads.collect()
    }
}

impl Drop for Desktop {
    /// The gate ends by itself when its last agent has.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let config = self.home.path().join("gate");
            processes::all_end(config.to_str().unwrap());
        }
    }
}

fn calls(calls: Vec<Value>) -> Value {
    Value::Array(calls)
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn five_real_servers_are_wrapped_and_serve_a_real_client_as_their_starter_policies_say() {
    let desktop = Desktop::new();
    let before = fs::read(&desktop.file).unwrap();
    let direct = desktop.client(&calls(desktop.reads()));
    desktop.init(&["--dir", "gate", "--wrap", "--yes"]);
    for command in ["validate-config", "check", "test-policy"] {
        let mut gate = Command::new(GATE);
        gate.args([command, "--config", "gate/gate.toml"]);
        let done = gate.current_dir(desktop.home.path()).output().unwrap();
        assert!(done.status.success(), "{command} {done:?}");
    }
    for name in direct["tools"].as_object().unwrap().keys() {
        let listed = desktop.inspected(name);
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(!tools.is_empty(), "{name}: {listed}");
    }

    let listener = Listener::start();
    let page = format!("{}/page", listener.url);
    let arguments = json!({"url": page, "raw": true});
    let fetch = || json!({"server": "fetch", "tool": "fetch", "arguments": arguments});
    let notes = desktop.servers[0].home().join("notes.txt");
    let was = fs::read_to_string(&notes).unwrap();
    let write = |answer: &str| {
        json!({
            "server": "filesystem",
            "tool": "write_file",
            "arguments": {"path": notes, "content": "written"},
            "answer": answer,
        })
    };
    let mut first = vec![fetch()];
    first.extend(desktop.reads());
    first.extend([fetch(), write("decline")]);
    let said = desktop.client(&calls(first));
    assert_eq!(said["tools"], direct["tools"]);
    let results = said["results"].as_array().unwrap();
    let [fetched, reads @ .., closed, declined] = &results[..] else {
        panic!("{said}");
    };
    assert_eq!(fetched["failed"], false, "{fetched}");
    assert_eq!(reads, direct["results"].as_array().unwrap());
    let text = |of: &Value| of["texts"][0].as_str().unwrap().to_owned();
    assert!(text(closed).contains("has read private data"), "{closed}");
    assert!(text(declined).contains("a person said no"), "{declined}");
    assert_eq!(declined["asked"], 1);
    assert_eq!(fs::read_to_string(&notes).unwrap(), was);
    let asked = listener.asked();
    assert_eq!(asked, ["GET /page HTTP/1.1"], "nothing got out");

    let said = desktop.client(&calls(vec![write("accept")]));
    assert_eq!(said["results"][0]["failed"], false, "{said}");
    assert_eq!(said["results"][0]["asked"], 1, "{said}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "written");

    desktop.init(&["--unwrap"]);
    assert_eq!(fs::read(&desktop.file).unwrap(), before);
}
