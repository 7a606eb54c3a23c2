//! `servers`: from a command line to the file of a server, or to a reason and no change.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::setup::GATE;

/// A server with the tools that its arguments name.
const SERVER: &str = r#"import json, sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    if message["method"] == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "server", "version": "1"},
        }
    else:
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in sys.argv[1:]]
        result = {"tools": tools}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// A server that reads and never answers.
const SILENT: &str = "import sys\nfor line in sys.stdin:\n    pass\n";

const GATE_TOML: &str = r#"servers_dir = "servers.d"

[listen]
transport = "http"
port = 3000

[policy]
dir = "policies"

[consent]
channels = ["elicitation"]

[limits]
request_timeout = "30s"

[servers.crm]
command = ["python3", "server.py", "find"]
"#;

/// A file as a person writes it.
const MAIL: &str = r#"# Mail of the team.
[servers.mail]
# Started here.
command = ["python3", "server.py", "send", "look"] # Until the move.
env = { TOKEN = "tulip-4f9d1c2b7a60" }
"#;

const POLICIES: &str = r#"@id("look")
permit (principal, action in Mcp::Action::"call_tool", resource)
when { ["look", "send"].contains(resource.name) };

@id("by-path")
permit (principal, action in Mcp::Action::"call_tool", resource)
when { resource.name == "read" && context.raw_arguments.hasTag("/path") };

@id("ann")
permit (principal == Mcp::Agent::"ann", action in Mcp::Action::"call_tool", resource)
when { resource.name == "wipe" };

@id("ask")
@requires_consent
forbid (principal, action in Mcp::Action::"call_tool", resource)
when { resource.name == "send" }
unless { context.env.consent.granted };
"#;

const AGENTS: &str = "[agents.ann]\nroles = [\"x\"]\n[agents.bob]\nservers = [\"crm\"]\n";

/// A gate with one server, and an empty directory for more.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for dir in ["servers.d", "policies"] {
            fs::create_dir(desk.path(dir)).unwrap();
        }
        desk.write("gate.toml", GATE_TOML);
        desk.write("server.py", SERVER);
        desk.write("silent.py", SILENT);
        desk.write("policies/policies.cedar", POLICIES);
        desk.write("policies/agents.toml", AGENTS);
        desk
    }

    fn with_mail() -> Self {
        let desk = Self::new();
        desk.write("servers.d/mail.toml", MAIL);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Words that follow `servers`, with the configuration unless they have a command.
    fn run(&self, line: &str) -> Output {
        let (words, command) = line.split_once(" -- ").unwrap_or((line, ""));
        let mut gate = Command::new(GATE);
        gate.arg("servers").args(words.split_whitespace());
        gate.args(["--config", "gate.toml"]);
        if !command.is_empty() {
            gate.arg("--").args(command.split_whitespace());
        }
        gate.current_dir(self.0.path()).stdin(Stdio::null());
        gate.output().unwrap()
    }

    /// Standard output of what has to go well.
    #[track_caller]
    fn well(&self, line: &str) -> String {
        let done = self.run(line);
        assert!(done.status.success(), "{line}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Standard error of what has to change nothing.
    #[track_caller]
    fn badly(&self, line: &str, says: &str) {
        let before = self.files();
        let done = self.run(line);
        assert_eq!(done.status.code(), Some(1), "{line}: {done:?}");
        let told = String::from_utf8(done.stderr).unwrap();
        assert!(told.contains(says), "{line}: {told}");
        assert_eq!(self.files(), before, "{line}");
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let dirs = [self.0.path().to_owned(), self.path("servers.d")];
        let entries = dirs.iter().flat_map(|dir| fs::read_dir(dir).unwrap());
        let files = entries.map(|entry| entry.unwrap().path());
        let files = files.filter(|file| file.is_file());
        let mut files: Vec<_> = files
            .map(|file| (file.clone(), fs::read(file).unwrap()))
            .collect();
        files.sort();
        files
    }
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_server_is_added_with_what_each_agent_reaches_of_it() {
    let desk = Desk::new();
    let told = desk.well("add mail --yes -- python3 server.py look send read wipe");
    for line in [
        "connected, protocol 2025-11-25, ",
        "any other agent `anonymous`: permitted: look; ask for consent: send; depend on arguments: read; denied: wipe",
        "agent `ann`: permitted: look, wipe; ask for consent: send; depend on arguments: read",
        "agent `bob`: does not reach this server",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert_eq!(
        desk.read("servers.d/mail.toml"),
        "[servers.mail]\ncommand = [\"python3\", \"server.py\", \"look\", \"send\", \"read\", \"wipe\"]\n# end\n"
    );
    desk.well("check mail");
    let left: Vec<_> = fs::read_dir(desk.path("servers.d")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_file_with_variables_is_its_owners_alone_and_keeps_its_comments() {
    let desk = Desk::with_mail();
    desk.well("update mail --yes --env DB=/srv -- python3 server.py look");
    assert_eq!(
        desk.read("servers.d/mail.toml"),
        "# Mail of the team.\n[servers.mail]\n# Started here.\n\
         command = [\"python3\", \"server.py\", \"look\"] # Until the move.\n\
         env = { TOKEN = \"tulip-4f9d1c2b7a60\" , DB = \"/srv\" }\n# end\n"
    );
    assert_eq!(mode(&desk.path("servers.d/mail.toml")), 0o600);
    desk.well("add web --no-handshake --yes --url https://web.example.com/mcp");
    assert_eq!(
        desk.read("servers.d/web.toml"),
        "[servers.web]\nurl = \"https://web.example.com/mcp\"\n# end\n"
    );
    desk.well("add db --no-handshake --yes --env TOKEN=x -- python3 server.py");
    assert_eq!(mode(&desk.path("servers.d/db.toml")), 0o600);
}

#[test]
fn a_server_is_disabled_enabled_and_removed() {
    let desk = Desk::with_mail();
    desk.well("disable mail --yes");
    let disabled = desk.read("servers.d/mail.toml");
    assert!(disabled.contains("\nenabled = false\n"), "{disabled}");
    assert!(disabled.ends_with("\n# end\n"), "{disabled}");
    assert!(desk.well("list").contains("mail: disabled, "));
    desk.well("enable mail --yes");
    assert_eq!(desk.read("servers.d/mail.toml"), format!("{MAIL}# end\n"));
    desk.well("remove mail --yes");
    assert!(!desk.path("servers.d/mail.toml").exists());
}

#[test]
fn nothing_is_written_if_anything_is_wrong() {
    let check = |line: &str, says: &str| Desk::with_mail().badly(line, says);
    let server = "-- python3 server.py look";
    check(
        &format!("add web {server}"),
        "nothing was written, since there is no terminal",
    );
    check(
        "remove mail",
        "nothing was written, since there is no terminal",
    );
    check(
        &format!("add mail --yes {server}"),
        "`servers update mail` changes it",
    );
    check(
        &format!("add crm --yes {server}"),
        "line 16: edit it there, or move it to",
    );
    check("disable crm --yes", "line 16: edit it there, or move it to");
    check(
        &format!("update web --yes {server}"),
        "`servers add web` writes it",
    );
    check("remove web --yes", "`servers add web` writes it");
    check(
        "check web",
        "has no server `web`; the servers are `crm`, `mail`",
    );
    check(
        "show web",
        "has no server `web`; the servers are `crm`, `mail`",
    );
    check(
        "add web --yes --url http://web.example.com/",
        "servers.web.url",
    );
    check(
        "add web --yes --url http://127.0.0.1:1/",
        "`--no-handshake`",
    );
    check(
        "add web --yes -- not-a-program-anywhere",
        "not-a-program-anywhere",
    );
    check(
        "update mail --yes --url https://mail.example.com/mcp --env A=b",
        "cannot be used with",
    );
    check("update mail --yes", "required arguments");
    check("add web --yes", "required arguments");
    check(
        &format!("add Web --yes {server}"),
        "a key is a lower-case letter",
    );
    check(
        &format!("add web --yes --env A {server}"),
        "write NAME=VALUE",
    );
}

#[test]
fn what_is_wrong_with_the_configuration_keeps_a_change_out() {
    let check = |file: &str, text: &str, line: &str, says: &str| {
        let desk = Desk::with_mail();
        desk.write(file, text);
        desk.badly(line, says);
    };
    let add = "add web --yes -- python3 server.py look";
    let without = GATE_TOML.replace("servers_dir = \"servers.d\"\n", "");
    check(
        "gate.toml",
        &without,
        add,
        "write `servers_dir = \"servers.d\"`",
    );
    check("gate.toml", &without, "disable crm --yes", "edit it there");
    let elsewhere = GATE_TOML.replace("servers.d", "nowhere");
    check("gate.toml", &elsewhere, add, "make the directory");
    check(
        "gate.toml",
        &GATE_TOML.replace("port = 3000", "port = \"x\""),
        add,
        "listen.port",
    );
    check(
        "policies/policies.cedar",
        "permit (principal, action, resourc);",
        add,
        "resourc",
    );
    // The file of another server, and one that is no TOML.
    let crm = MAIL.replace("[servers.mail]", "[servers.crm]");
    check(
        "servers.d/mail.toml",
        &crm,
        add,
        "has no table `[servers.mail]`",
    );
    check(
        "servers.d/mail.toml",
        &crm,
        "disable mail --yes",
        "has no table `[servers.mail]`",
    );
    check(
        "servers.d/mail.toml",
        "[servers.mail",
        "enable mail --yes",
        "has no table `[servers.mail]`",
    );
    // Policies that name a server need it.
    let names = "@id(\"a\") permit (principal, action, resource == Mcp::Tool::\"mail/send\");";
    check(
        "policies/policies.cedar",
        names,
        "remove mail --yes",
        "policy::no_server",
    );
}

#[test]
fn a_file_that_spoils_the_configuration_can_be_removed() {
    let desk = Desk::with_mail();
    desk.write("servers.d/mail.toml", "[servers.mail]\ncomand = [\"x\"]\n");
    desk.badly("list", "comand");
    desk.well("remove mail --yes");
    assert!(
        desk.well("list --no-handshake")
            .starts_with("crm: enabled, ")
    );
}

#[test]
fn a_server_that_does_not_answer_is_listed_and_fails_its_check() {
    let desk = Desk::with_mail();
    let silent = "[servers.mail]\ncommand = [\"python3\", \"silent.py\"]\n\
                  [servers.mail.limits]\nrequest_timeout = \"1s\"\n";
    desk.write("servers.d/mail.toml", silent);
    let why = "it did not answer `initialize` within 1 s";
    assert!(desk.well("list").contains(why));
    let done = desk.run("check mail");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let list: Value = desk.well("list --format json").parse().unwrap();
    let servers = list["servers"].as_array().unwrap();
    let of = |name: &str| {
        servers
            .iter()
            .map(|it| it[name].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("key"), ["crm", "mail"]);
    assert_eq!(of("connection"), ["connected", "failed"]);
    assert_eq!(
        (&servers[0]["tools"], &servers[0]["line"]),
        (&1.into(), &16.into())
    );
    assert!(
        servers[1]["error"].as_str().unwrap().contains(why),
        "{list}"
    );
    let quiet: Value = desk
        .well("list --format json --no-handshake")
        .parse()
        .unwrap();
    assert_eq!(quiet["servers"][1]["connection"], "not_asked");
    desk.badly("update mail --yes -- python3 silent.py", "`--no-handshake`");
}

#[test]
fn a_check_compares_the_tools_with_the_lock() {
    let desk = Desk::with_mail();
    let lock = |words: [&str; 2]| {
        let mut gate = Command::new(GATE);
        gate.args(["tools", words[0]])
            .args(words[1].split_whitespace());
        gate.args(["--config", "gate.toml"])
            .current_dir(desk.0.path());
        assert!(gate.output().unwrap().status.success());
    };
    lock(["lock", ""]);
    assert!(
        desk.well("check mail")
            .contains("tools.lock: no difference")
    );
    let told = desk.well("update mail --yes -- python3 server.py look new");
    assert!(told.contains("permitted: look; denied: new"), "{told}");
    let done = desk.run("check mail --format json");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let report: Value = String::from_utf8(done.stdout).unwrap().parse().unwrap();
    assert_eq!(report["compared"]["added"][0]["name"], "mail/new");
    assert_eq!(report["compared"]["removed"][0]["name"], "mail/send");
    assert!(desk.well("check crm").contains("no difference"));
    lock(["approve", "--all"]);
    desk.well("check mail");
}

#[test]
fn a_server_is_shown_as_it_is_written_without_its_secrets() {
    let desk = Desk::with_mail();
    let told = desk.well("show mail");
    for says in [
        "[servers.mail]\n",
        "command = [\"python3\", ",
        "TOKEN = \"***",
        "connected, ",
    ] {
        assert!(told.contains(says), "{told}");
    }
    assert!(!told.contains("tulip"), "{told}");
    let all = desk.well("list") + &desk.well("show crm --no-handshake");
    assert!(
        !all.contains("tulip") && all.contains("[servers.crm]"),
        "{all}"
    );
    let reference = MAIL.replace("tulip-4f9d1c2b7a60", "${PATH}");
    desk.write("servers.d/mail.toml", &reference);
    assert!(desk.well("show mail").contains("TOKEN = \"${PATH}\""));
}

#[test]
fn the_servers_of_one_agent_are_listed_alone() {
    let desk = Desk::with_mail();
    desk.write(
        "servers.d/web.toml",
        "[servers.web]\ncommand = [\"python3\", \"silent.py\"]\nenabled = false\n",
    );
    let keys = |agent: &str| {
        let words = format!("list --no-handshake --format json {agent}");
        let list: Value = desk.well(&words).parse().unwrap();
        let servers = list["servers"].as_array().unwrap().iter();
        let keys = servers.map(|it| it["key"].as_str().unwrap().to_owned());
        keys.collect::<Vec<_>>()
    };
    assert_eq!(keys(""), ["crm", "mail", "web"]);
    assert_eq!(keys("--agent ann"), ["crm", "mail"]);
    assert_eq!(keys("--agent bob"), ["crm"]);
    desk.write(
        "policies/agents.toml",
        "[agents.bob]\nservers = [\"crm\"]\nnot_servers = [\"crm\"]\n",
    );
    assert_eq!(keys("--agent bob"), [""; 0]);
    desk.write("policies/policies.cedar", "permit (");
    desk.badly("list --agent bob", "policies.cedar");
}
