//! The servers, each with something to read, something to deny, and a condition on arguments.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::setup::Setup;

/// Names the directory of what `.ci/real-servers` installed.
const DIRECTORY: &str = "MCP_PROTECTOR_REAL_SERVERS";

/// In the arguments of calls that are denied: no server must ever see it.
pub(crate) const CANARY: &str = "canary-7c1e";

/// A server and how it is used here.
#[derive(Debug)]
pub(crate) struct Real {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    env: Vec<(String, String)>,
    files: TempDir,
    /// The allowlist, in another order than the server's, with a tool that the server does not offer.
    pub(crate) allow: Vec<&'static str>,
    /// A call of an allowed tool; its result is the same each time.
    pub(crate) read: Call,
    /// A call of a tool that is not allowed, with [`CANARY`] in its arguments.
    pub(crate) denied: Call,
    /// A policy that permits `read` for its arguments.
    pub(crate) policy: String,
    /// The same tool with arguments that the policy does not permit, [`CANARY`] among them.
    pub(crate) refused: Call,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

/// An installed command.
pub(crate) fn installed(name: &str) -> String {
    in_directory(&Path::new("bin").join(name))
}

/// The Python that has the kit, by the name of its environment.
pub(crate) fn interpreter(environment: &str) -> String {
    in_directory(&Path::new(environment).join("bin/python"))
}

pub(crate) fn in_directory(name: &Path) -> String {
    let directory = std::env::var_os(DIRECTORY);
    let directory = directory.unwrap_or_else(|| {
        panic!("`{DIRECTORY}` is not set: install the servers with `.ci/real-servers` first")
    });
    let path = PathBuf::from(directory).join(name);
    assert!(path.exists(), "`{}` is missing", path.display());
    path.into_os_string().into_string().unwrap()
}

/// Plays a test with every server, and names all for which it fails.
pub(crate) fn each(servers: &[fn() -> Real], play: impl Fn(&Real)) {
    let mut failed = Vec::new();
    for server in servers {
        let server = server();
        if catch_unwind(AssertUnwindSafe(|| play(&server))).is_err() {
            failed.push(server.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// All of them.
pub(crate) const ALL: &[fn() -> Real] = &[filesystem, everything, memory, git, time, fastmcp];

/// Those that speak both eras.
pub(crate) const DUAL: &[fn() -> Real] = &[git, time, fastmcp];

pub(crate) fn filesystem() -> Real {
    let files = scratch();
    let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("notes.txt"), "Þrír: \u{1f600} \"one\"\n\ttwo\r\n").unwrap();
    fs::write(path(".env"), CANARY).unwrap();
    Real {
        name: "filesystem",
        command: vec![installed("mcp-server-filesystem"), path("")],
        env: Vec::new(),
        allow: vec!["read_text_file", "no_such_tool", "list_directory"],
        read: call("read_text_file", json!({"path": path("notes.txt")})),
        denied: call(
            "write_file",
            json!({"path": path("notes.txt"), "content": CANARY}),
        ),
        policy: guard("read_text_file", "/path", "string", r#"!(it like "*/.*")"#),
        refused: call(
            "read_text_file",
            json!({"path": path(".env"), "tail": 1, "note": CANARY}),
        ),
        files,
    }
}

pub(crate) fn everything() -> Real {
    Real {
        name: "everything",
        command: vec![installed("mcp-server-everything")],
        env: Vec::new(),
        allow: vec!["get-sum", "echo", "no_such_tool", "get-structured-content"],
        read: call("get-sum", json!({"a": 2, "b": 40.5})),
        denied: call("get-env", json!({"note": CANARY})),
        policy: guard("get-sum", "/a", "long", "it < 100"),
        refused: call("get-sum", json!({"a": 100, "b": 1, "note": CANARY})),
        files: scratch(),
    }
}

pub(crate) fn memory() -> Real {
    let files = scratch();
    let graph = files.path().join("memory.jsonl");
    fs::write(
        &graph,
        "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"wrote notes\",\"þ\"]}\n",
    )
    .unwrap();
    Real {
        name: "memory",
        command: vec![installed("mcp-server-memory")],
        env: vec![(
            "MEMORY_FILE_PATH".to_owned(),
            graph.to_str().unwrap().to_owned(),
        )],
        allow: vec!["search_nodes", "no_such_tool", "read_graph"],
        read: call("search_nodes", json!({"query": "ada"})),
        denied: call("delete_entities", json!({"entityNames": ["Ada", CANARY]})),
        policy: guard(
            "search_nodes",
            "/query",
            "string",
            r#"!(it like "*secret*")"#,
        ),
        refused: call(
            "search_nodes",
            json!({"query": format!("a secret {CANARY}")}),
        ),
        files,
    }
}

pub(crate) fn git() -> Real {
    let files = scratch();
    let path = files.path().to_str().unwrap().to_owned();
    fs::write(files.path().join("README"), "one\n").unwrap();
    repository(files.path());
    Real {
        name: "git",
        command: ["mcp-server-git", "--repository", &path]
            .iter()
            .enumerate()
            .map(|(at, word)| {
                if at == 0 {
                    installed(word)
                } else {
                    (*word).to_owned()
                }
            })
            .collect(),
        env: Vec::new(),
        allow: vec!["git_log", "no_such_tool", "git_status"],
        read: call("git_log", json!({"repo_path": path, "max_count": 3})),
        denied: call("git_commit", json!({"repo_path": path, "message": CANARY})),
        policy: guard("git_log", "/max_count", "long", "it <= 10"),
        refused: call(
            "git_log",
            json!({"repo_path": path, "max_count": 1000, "note": CANARY}),
        ),
        files,
    }
}

pub(crate) fn time() -> Real {
    let convert =
        |to: &str| json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": to});
    let mut elsewhere = convert("America/New_York");
    elsewhere["note"] = json!(CANARY);
    Real {
        name: "time",
        command: vec![
            installed("mcp-server-time"),
            "--local-timezone".to_owned(),
            "UTC".to_owned(),
        ],
        env: Vec::new(),
        allow: vec!["no_such_tool", "convert_time"],
        read: call("convert_time", convert("Asia/Tokyo")),
        denied: call("get_current_time", json!({"timezone": CANARY})),
        policy: guard(
            "convert_time",
            "/target_timezone",
            "string",
            r#"it like "Asia/*""#,
        ),
        refused: call("convert_time", elsewhere),
        files: scratch(),
    }
}

pub(crate) fn fastmcp() -> Real {
    Real {
        name: "fastmcp",
        command: vec![installed("fastmcp-server")],
        env: Vec::new(),
        allow: vec!["no_such_tool", "add"],
        read: call("add", json!({"a": 2, "b": 40})),
        denied: call("forget", json!({"note": CANARY})),
        policy: guard("add", "/a", "long", "it < 100"),
        refused: call("add", json!({"a": 100, "b": 1, "note": CANARY})),
        files: scratch(),
    }
}

impl Real {
    /// The server itself, with nothing in front of it.
    pub(crate) fn direct(&self) -> Command {
        let (program, arguments) = self.command.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).envs(self.env.iter().cloned());
        command
    }

    /// A gate before the server. What the server receives is written down on the way.
    pub(crate) fn guarded(&self) -> Setup {
        let log = self.log();
        let tee = ["sh", "-c", r#"tee -a "$0" | "$@""#, log.to_str().unwrap()];
        let words = tee
            .into_iter()
            .chain(self.command.iter().map(String::as_str));
        let mut setup = Setup::of(words);
        for (name, value) in &self.env {
            setup = setup.env(name, value);
        }
        setup
    }

    /// The same without anything between gate and server.
    pub(crate) fn behind(&self) -> Setup {
        let setup = Setup::of(&self.command);
        let env = self.env.iter();
        env.fold(setup, |setup, (name, value)| setup.env(name, value))
    }

    /// The server in a client's file.
    pub(crate) fn entry(&self) -> Value {
        let (program, arguments) = self.command.split_first().unwrap();
        let env = self.env.iter();
        let env: Value = env
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        json!({"command": program, "args": arguments, "env": env})
    }

    /// A place for the clients' files.
    pub(crate) fn home(&self) -> &Path {
        self.files.path()
    }

    /// What the server has received, as text.
    pub(crate) fn received(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        String::from_utf8(log).unwrap()
    }

    /// Nothing that was denied has reached the server, and what was allowed has.
    pub(crate) fn got_only(&self, allowed: &Call) {
        let received = self.received();
        assert!(received.contains(allowed.tool), "{received}");
        for denied in [CANARY, self.denied.tool, "no_such_tool"] {
            assert!(!received.contains(denied), "{received}");
        }
        // The server's own files are in its hands alone; this one it was asked to change.
        if self.name == "filesystem" {
            let notes = fs::read_to_string(self.files.path().join("notes.txt")).unwrap();
            assert!(!notes.contains(CANARY), "{notes}");
        }
    }

    fn log(&self) -> PathBuf {
        // A server must not find it where it looks for files.
        let mut name = self.files.path().as_os_str().to_owned();
        name.push(".received");
        name.into()
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = fs::remove_file(self.log());
    }
}

/// Not hidden, as such directories are by default: one policy here is about hidden files.
fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("real-").tempdir().unwrap()
}

/// Permits a tool if one of its arguments is there and passes a test, in which it is called `it`.
fn guard(tool: &str, pointer: &str, member: &str, test: &str) -> String {
    let tag = format!("context.raw_arguments.getTag(\"{pointer}\")");
    let test = test.replace("it ", &format!("{tag}.{member} "));
    format!(
        "@id(\"guard\")\npermit (\n  principal is Mcp::Agent,\n  action == Mcp::Action::\"call_tool\",\n  \
         resource == Mcp::Tool::\"{tool}\"\n)\nwhen {{\n  context.raw_arguments.hasTag(\"{pointer}\") &&\n  \
         {tag} has {member} &&\n  {test}\n}};\n"
    )
}

/// A repository whose commits are the same whenever and by whomever they are made.
fn repository(path: &Path) {
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .envs(["AUTHOR", "COMMITTER"].into_iter().flat_map(|who| {
                [
                    (format!("GIT_{who}_NAME"), "Ada"),
                    (format!("GIT_{who}_EMAIL"), "ada@example.com"),
                    (format!("GIT_{who}_DATE"), "2026-11-21T20:00:00Z"),
                ]
            }))
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "README"]);
    git(&["commit", "--quiet", "--message", "first: \"é\""]);
}
