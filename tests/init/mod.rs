//! `init`: from a client's file to a gate in front of its servers, and back.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::fixtures::fixture;
use crate::support::setup::GATE;

const SECRET: &str = "0123456789abcdef-secret";

/// The files of clients, in a home directory of their own.
struct Home(TempDir);

impl Home {
    fn with(name: &str, text: &str) -> (Self, PathBuf) {
        let home = Self(tempfile::tempdir().unwrap());
        let file = home.path(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let server = fixture("everything-server");
        let text = text.replace("SERVER", &server).replace("SECRET", SECRET);
        fs::write(&file, text).unwrap();
        (home, file)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(GATE);
        command.args(words).stdin(Stdio::null());
        command
            .env("HOME", self.0.path())
            .current_dir(self.0.path());
        command
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME");
        command.output().unwrap()
    }

    /// Standard output of what has to go well.
    #[track_caller]
    fn well(&self, words: &[&str]) -> String {
        let done = self.run(words);
        assert!(done.status.success(), "{words:?} {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Standard error of what has to change nothing.
    #[track_caller]
    fn badly(&self, words: &[&str]) -> String {
        let before = all_below(self.0.path());
        let done = self.run(words);
        assert_eq!(done.status.code(), Some(1), "{words:?} {done:?}");
        assert_eq!(all_below(self.0.path()), before, "{words:?}");
        String::from_utf8(done.stderr).unwrap()
    }
}

/// Each file with its content.
fn all_below(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                all.push((path, bytes));
            }
        }
    }
    all.sort();
    all
}

const DESKTOP: &str = r#"{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "Every Thing": { "command": "SERVER", "args": [], "env": { "API_KEY": "SECRET" } },
    "other": { "command": "SERVER" }
  }
}
"#;

const ZED: &str = r#"{
  // What Zed looks like.
  "theme": "One Dark",
  "context_servers": {
    "every-thing": { "command": "SERVER", "args": [], "env": { "API_KEY": "SECRET" }, }, // Mine.
  },
}
"#;

const CODEX: &str = r#"model = "gpt-5" # The model.

[mcp_servers.every-thing]
command = "SERVER"
env = { API_KEY = "SECRET" }

[mcp_servers.other]
command = "SERVER"
"#;

#[test]
fn a_clients_servers_are_protected_and_the_way_back_is_byte_for_byte() {
    let check = |name: &str, text: &str| {
        let (home, file) = Home::with(name, text);
        let before = fs::read(&file).unwrap();
        let from = file.to_str().unwrap();
        let told = home.well(&["init", "--from", from, "--dir", "gate"]);
        assert!(told.contains("every-thing: "), "{name}: {told}");
        assert_eq!(fs::read(&file).unwrap(), before, "{name}");
        let gate = home.path("gate/gate.toml");
        let config = gate.to_str().unwrap();
        for command in ["validate-config", "check", "test-policy"] {
            home.well(&[command, "--config", config]);
        }
        holds_the_secret(&home, &["gate/env.toml", name]);

        home.well(&["init", "--from", from, "--dir", "gate", "--wrap", "--yes"]);
        let wrapped = fs::read_to_string(&file).unwrap();
        for word in ["attach", "every-thing", config] {
            assert!(wrapped.contains(word), "{name}: {wrapped}");
        }
        assert!(
            !wrapped.contains(&fixture("everything-server")),
            "{wrapped}"
        );
        assert!(!wrapped.contains(SECRET), "{wrapped}");
        home.well(&["init", "--from", from, "--unwrap"]);
        assert_eq!(fs::read(&file).unwrap(), before, "{name}");
        home.well(&["init", "--from", from, "--dir", "new", "--wrap", "--yes"]);
        home.well(&["init", "--from", from, "--unwrap"]);
        assert_eq!(fs::read(&file).unwrap(), before, "{name}");
    };
    check("claude_desktop_config.json", DESKTOP);
    check(".config/zed/settings.json", ZED);
    check(".codex/config.toml", CODEX);
}

/// In these files and in no other.
#[track_caller]
fn holds_the_secret(home: &Home, expected: &[&str]) {
    let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(SECRET);
    let all = all_below(home.0.path()).into_iter();
    let found: Vec<PathBuf> = all
        .filter(|(_, it)| has(it))
        .map(|(path, _)| path)
        .collect();
    let mut expected: Vec<PathBuf> = expected.iter().map(|name| home.path(name)).collect();
    expected.sort();
    assert_eq!(found, expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for name in ["gate/env.toml", "gate/gate.toml"] {
            let mode = fs::metadata(home.path(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }
}

#[test]
fn files_of_clients_are_found_and_their_servers_start_only_if_somebody_agrees() {
    let (home, file) = Home::with(".codex/config.toml", CODEX);
    let told = home.badly(&["init"]);
    assert!(told.contains("say `--yes`"), "{told}");
    let before = fs::read(&file).unwrap();
    home.well(&["init", "--yes", "--wrap"]);
    let wrapped = fs::read_to_string(&file).unwrap();
    let config = home.path(".config/mcp-protector/gate.toml");
    assert!(wrapped.contains(config.to_str().unwrap()), "{wrapped}");
    home.well(&["init", "--unwrap"]);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_server_that_gives_no_list_is_disabled_and_told() {
    let silent =
        r#"{ "mcpServers": { "dead": { "command": "false" }, "live": { "command": "SERVER" } } }"#;
    let (home, _) = Home::with("mcp.json", silent);
    let done = home.run(&["init", "--from", "mcp.json", "--dir", "gate"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let told = String::from_utf8(done.stdout).unwrap();
    assert!(
        told.contains("dead: written with `enabled = false`"),
        "{told}"
    );
    let gate = fs::read_to_string(home.path("gate/gate.toml")).unwrap();
    assert_eq!(gate.matches("enabled = false").count(), 1, "{gate}");
    for command in ["validate-config", "check", "test-policy"] {
        home.well(&[command, "--config", "gate/gate.toml"]);
    }
}

#[test]
fn nothing_is_changed_where_something_is_wrong() {
    let check = |name: &str, text: &str, words: &[&str], why: &[&str]| {
        let (home, file) = Home::with(name, text);
        fs::create_dir(home.path("full")).unwrap();
        fs::write(home.path("full/notes.txt"), "mine").unwrap();
        let from = ["init", "--from", file.to_str().unwrap()];
        let told = home.badly(&[&from[..], words].concat());
        for why in why {
            assert!(told.contains(why), "{told}");
        }
        assert!(!told.contains(SECRET), "{told}");
    };
    let dir = ["--dir", "gate"];
    check(
        "mcp.json",
        "{\n  \"mcpServers\": {\n    SECRET\n",
        &dir,
        &["client::syntax", "mcp.json:3:"],
    );
    check("mcp.json", "{}", &dir, &["in no form of a client"]);
    check(
        "mcp.json",
        DESKTOP,
        &["--dir", "full"],
        &["exists and is not empty"],
    );
    check(
        "mcp.json",
        DESKTOP,
        &["--dir", "gate", "--wrap"],
        &["say `--yes`"],
    );
    let dead = r#"{ "mcpServers": { "dead": { "command": "false" } } }"#;
    check("mcp.json", dead, &dir, &["no server answered", "dead: "]);
    let yaml = "mcp_servers:\n  files:\n    command: SERVER\n";
    let wraps = ["--dir", "gate", "--wrap", "--yes"];
    check(
        "config.yaml",
        yaml,
        &wraps,
        &["client::not_supported", "does not write YAML"],
    );
}

#[test]
fn an_entry_that_the_gate_cannot_reach_stays_as_it_is_and_is_told() {
    let mixed = r#"{ "mcpServers": {
      "old": { "type": "sse", "url": "https://a.example/sse" },
      "live": { "command": "SERVER" } } }"#;
    let (home, file) = Home::with("mcp.json", mixed);
    let done = home.run(&[
        "init", "--from", "mcp.json", "--dir", "gate", "--wrap", "--yes",
    ]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(
        told.contains("not protected:") && told.contains("mcp.json:2:"),
        "{told}"
    );
    let wrapped = fs::read_to_string(file).unwrap();
    assert!(wrapped.contains("https://a.example/sse"), "{wrapped}");
    assert_eq!(wrapped.matches("attach").count(), 1, "{wrapped}");
}

#[test]
fn a_configuration_in_yaml_is_protected_without_being_rewritten() {
    let yaml = "mcp_servers:\n  files:\n    command: SERVER\n";
    let (home, _) = Home::with("config.yaml", yaml);
    home.well(&["init", "--from", "config.yaml", "--dir", "gate"]);
    home.well(&["check", "--config", "gate/gate.toml"]);
}

/// What the first of the wrapped servers lists to its client.
fn listed(home: &Home, file: &Path) -> Vec<String> {
    let wrapped: Value = fs::read_to_string(file).unwrap().parse().unwrap();
    let entry = wrapped["mcpServers"].as_object().unwrap().values().next();
    let entry = entry.expect("an entry");
    let words = entry["args"].as_array().unwrap().iter();
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words[..2], ["attach", "every-thing"], "{wrapped}");
    let mut client = Command::new(GATE);
    client.args(words).current_dir(home.0.path());
    client.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = client.spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#;
    let lines = [
        hello,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    ];
    let mut output = BufReader::new(client.stdout.take().unwrap()).lines();
    let mut listed = None;
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    while listed.is_none() {
        let line: Value = output.next().expect("an answer").unwrap().parse().unwrap();
        listed = (line["id"] == 2).then_some(line);
    }
    drop(input);
    let tools = &listed.unwrap()["result"]["tools"];
    let tools = tools.as_array().unwrap().iter();
    let tools = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    let tools = tools.collect();
    assert!(client.wait().unwrap().success());
    tools
}

/// As the client starts it.
#[test]
fn a_wrapped_entry_leads_to_the_server_of_that_name() {
    let (home, file) = Home::with("claude_desktop_config.json", DESKTOP);
    let from = file.to_str().unwrap();
    home.well(&["init", "--from", from, "--dir", "gate", "--wrap", "--yes"]);
    let tools = listed(&home, &file);
    assert!(tools.contains(&"echo".to_owned()), "{tools:?}");
}

#[test]
fn the_first_start_compares_with_what_the_servers_listed() {
    let text = r#"{ "mcpServers": { "every-thing": { "command": "sh", "args": ["server.sh"] } } }"#;
    let (home, file) = Home::with("mcp.json", text);
    let server = home.path("server.sh");
    let runs = fixture("everything-server");
    fs::write(&server, format!("exec '{runs}'\n")).unwrap();
    let from = ["init", "--from", "mcp.json", "--dir", "gate"];
    home.well(&[&from[..], &["--wrap", "--yes"]].concat());
    let diff = ["tools", "diff", "--config", "gate/gate.toml"];
    home.well(&diff);

    let changed = format!("'{runs}' | sed -u 's/\"name\":\"echo\",/&\"title\":\"x\",/'\n");
    fs::write(&server, changed).unwrap();
    let told = home.run(&diff);
    assert_eq!(told.status.code(), Some(1), "{told:?}");
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("every-thing/echo"), "{told}");
    let tools = listed(&home, &file);
    assert!(tools.contains(&"add".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"echo".to_owned()), "{tools:?}");
}

#[test]
fn a_directory_that_exists_is_used_only_if_it_starts_the_same_servers() {
    let check = |was: &str, is: &str, why: &str| {
        let (home, file) = Home::with("mcp.json", DESKTOP);
        let from = ["init", "--from", "mcp.json", "--dir", "gate"];
        home.well(&from);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(was), "{text}");
        fs::write(&file, text.replacen(was, is, 1)).unwrap();
        let told = home.badly(&[&from[..], &["--wrap", "--yes"]].concat());
        assert!(told.contains(why), "{was} {is}: {told}");
        assert!(!told.contains(SECRET), "{told}");
    };
    let differs = |key: &str, what: &str| format!("`[servers.{key}]` has another `{what}`");
    let args = r#""args": ["--other"]"#;
    check(r#""args": []"#, args, &differs("every-thing", "command"));
    check(SECRET, "other", &differs("every-thing", "env"));
    check("API_KEY", "API_TOKEN", &differs("every-thing", "env"));
    check("\"other\"", "\"third\"", "has no `[servers.third]`");
    let url = r#""other": { "url": "https://a.example/mcp" }, "third""#;
    check("\"other\"", url, &differs("other", "command"));
}

#[test]
fn an_entry_that_no_configuration_can_have_is_told_by_its_place_in_the_clients_file() {
    let check = |entry: &str, why: &str, remedy: &str| {
        let text = format!(
            "{{ \"mcpServers\": {{\n\"odd\": {entry},\n\"live\": {{ \"command\": \"SERVER\" }} }} }}"
        );
        let (home, file) = Home::with("mcp.json", &text);
        let before = fs::read_to_string(&file).unwrap();
        let init = ["init", "--from", "mcp.json", "--dir", "gate"];
        let done = home.run(&[&init[..], &["--wrap", "--yes"]].concat());
        assert_eq!(done.status.code(), Some(1), "{done:?}");
        let told = String::from_utf8(done.stderr).unwrap();
        for expected in ["not protected:\nmcp.json:2:1: ", "`odd`", why, remedy] {
            assert!(told.contains(expected), "{entry}: {told}");
        }
        let gate = fs::read_to_string(home.path("gate/gate.toml")).unwrap();
        assert!(!gate.contains("[servers.odd]"), "{gate}");
        // Its line is as it was.
        let wrapped = fs::read_to_string(&file).unwrap();
        let line = before.lines().nth(1).unwrap();
        assert!(wrapped.contains(line), "{wrapped}");
        assert_eq!(wrapped.matches("attach").count(), 1, "{wrapped}");
    };
    let https = "an `https` URL such as";
    check(
        r#"{ "url": "http://mcp.example.com/mcp" }"#,
        "url: is not `https`",
        "write `https`",
    );
    check(
        r#"{ "url": "unix:///tmp/server.sock" }"#,
        "url: expected",
        https,
    );
    check(
        r#"{ "url": "https://ada:pass@mcp.example.com/mcp" }"#,
        "url: holds a user name or a password",
        https,
    );
    check(
        r#"{ "command": "" }"#,
        "command[0]: expected a program",
        "write the program",
    );
    check(
        r#"{ "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer abc" } }"#,
        "auth.token: below minimum",
        "at least 4 bytes",
    );
    check(
        r#"{ "command": "server", "args": ["a\u0000b"] }"#,
        "contains a NUL character",
        "",
    );
}

#[test]
fn a_file_that_was_edited_keeps_no_other_from_being_restored() {
    let (home, codex) = Home::with(".codex/config.toml", CODEX);
    let other = home.path("mcp.json");
    let text = DESKTOP.replace("SERVER", &fixture("everything-server"));
    fs::write(&other, &text).unwrap();
    let from = ["--from", ".codex/config.toml", "--from", "mcp.json"];
    let wrap = ["--dir", "gate", "--wrap", "--yes"];
    home.well(&[&["init"][..], &from, &wrap].concat());
    let edited = fs::read_to_string(&codex).unwrap() + "[tui]\nnotifications = true\n";
    fs::write(&codex, &edited).unwrap();
    let done = home.run(&[&["init"][..], &from, &["--unwrap"]].concat());
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert_eq!(fs::read_to_string(&other).unwrap(), text);
    assert_eq!(fs::read_to_string(&codex).unwrap(), edited);
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(told.contains("edited since it was wrapped"), "{told}");
}
