//! A session that reads something confidential and goes on with an isolated server, with real
//! processes on either side.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::hostile::dialogue::Talk;
use crate::support::fixtures::fixture;
use crate::support::peer::Peer;
use crate::support::processes::{all_end, eventually, marked};
use crate::support::setup::{ALLOW_ALL, Setup};

/// `add` reads what is confidential. No label says that a tool connects, so that no policy
/// keeps them from it.
const LABELS: &str = "[default]\npermission = \"read\"\n[tools.add]\npermission = \"read\"\nsensitivity = \"confidential\"\n";

/// A conversation with the server that uses every feature, which has an isolated instance.
struct Isolating {
    talk: Talk,
    open: PathBuf,
    isolated: PathBuf,
    mark: String,
}

impl Isolating {
    fn start(isolated: &[&str], limits: &str) -> Self {
        Self::before(&[&fixture("everything-server")], isolated, limits)
    }

    fn before(open: &[&str], isolated: &[&str], limits: &str) -> Self {
        let mut setup = Setup::of(open)
            .policies(ALLOW_ALL)
            .labels(LABELS)
            .isolated(isolated, "");
        limits.clone_into(&mut setup.limits);
        let [open, isolated] = ["received", "isolated"].map(|name| setup.path(name));
        let mark = setup.mark().to_owned();
        let mut talk = Talk::through(setup);
        talk.open();
        Self {
            talk,
            open,
            isolated,
            mark,
        }
    }

    fn call(&mut self, id: &str, tool: &str, arguments: &str) {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        self.talk
            .request(id, &format!(r#""tools/call","params":{params}"#));
    }

    fn answered(&mut self, id: &str, tool: &str, arguments: &str) -> String {
        self.call(id, tool, arguments);
        self.talk.answer(id)
    }

    fn echo(&mut self, id: &str, text: &str) -> String {
        self.answered(id, "echo", &format!(r#"{{"text":"{text}"}}"#))
    }

    /// The agent reads what is confidential.
    fn read(&mut self) {
        let sum = self.answered("\"read\"", "add", r#"{"a":2,"b":40}"#);
        assert!(sum.contains("42"), "{sum}");
    }

    fn open(&self) -> String {
        fs::read_to_string(&self.open).unwrap_or_default()
    }

    fn isolated(&self) -> String {
        fs::read_to_string(&self.isolated).unwrap_or_default()
    }

    /// The servers that run.
    fn servers(&self) -> Vec<u32> {
        let all = marked(&self.mark);
        let servers = all
            .iter()
            .filter(|(_, name)| name.starts_with("everything"));
        servers.map(|(pid, _)| *pid).collect()
    }

    fn until_servers(&self, count: usize) -> Vec<u32> {
        eventually(|| match self.servers() {
            servers if servers.len() == count => Ok(servers),
            servers => Err(format!("{} servers run, not {count}", servers.len())),
        })
    }
}

/// Two instances of the server that uses every feature.
fn isolating() -> Isolating {
    Isolating::start(&[&fixture("everything-server")], "")
}

#[test]
fn after_a_confidential_call_every_message_reaches_the_isolated_server_and_none_the_open_one() {
    let mut session = isolating();
    assert!(session.echo("2", "before").contains("before"));
    session.read();
    let open = session.open();
    assert!(
        open.contains("before") && open.contains(r#""name":"add""#),
        "{open}"
    );
    for (id, text) in [("3", "after"), ("4", "and after")] {
        assert!(session.echo(id, text).contains(text));
    }
    session.talk.ask("5", r#""ping""#);
    session.talk.ask("6", r#""resources/list""#);
    session
        .talk
        .gate
        .send(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    session.talk.ask("7", r#""ping""#);
    assert_eq!(session.open(), open, "nothing more reached it");
    let isolated = session.isolated();
    let hello = isolated.find(r#""method":"initialize""#).unwrap();
    let agreed = isolated.find("notifications/initialized").unwrap();
    let first = isolated.find(r#""after""#).unwrap();
    assert!(hello < agreed && agreed < first, "{isolated}");
    assert!(isolated.contains(r#""clientInfo":{"name":"agent","version":"1"}"#));
    for said in ["and after", "ping", "resources/list", "roots/list_changed"] {
        assert!(isolated.contains(said), "{said}: {isolated}");
    }
    // The open one is not kept.
    session.until_servers(1);
    let mark = session.mark.clone();
    let past = session.talk.end();
    assert_eq!(past.ended.code, Some(0));
    all_end(&mark);
    let events: Vec<_> = past
        .of_kind("upstream_state")
        .map(|record| record["event"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["started", "switched_to_isolated"]);
    let calls = past.of_kind("tool_call");
    let upstreams: Vec<_> = calls
        .map(|record| record["upstream"].as_str().unwrap().to_owned())
        .collect();
    let [open, isolated] = ["upstream", "upstream (isolated)"];
    assert_eq!(upstreams, [open, open, isolated, isolated]);
}

#[test]
fn what_was_under_way_is_answered_by_the_open_server_which_then_ends() {
    let mut session = isolating();
    session.call("2", "slow", r#"{"steps":1,"delay_ms":6000}"#);
    session.read();
    assert!(session.echo("3", "meanwhile").contains("meanwhile"));
    assert!(!session.open().contains("meanwhile"));
    session.until_servers(2);
    let slow = session.talk.answer("2");
    assert!(slow.contains(r#""result""#), "{slow}");
    session.until_servers(1);
    session.talk.end();
}

#[test]
fn an_isolated_server_that_is_killed_is_started_again_as_such_and_nothing_goes_back() {
    let mut session = isolating();
    let before = session.servers();
    session.read();
    session.echo("3", "after");
    let open = session.open();
    let isolated = session.until_servers(1);
    assert!(!before.contains(&isolated[0]));
    for round in 0..2 {
        let servers = session.until_servers(1);
        let killed = Command::new("kill")
            .args(["-9", &servers[0].to_string()])
            .status();
        assert!(killed.unwrap().success());
        let mut count = 0;
        eventually(|| {
            count += 1;
            let answer = session
                .talk
                .ask(&format!("\"{round}-{count}\""), r#""ping""#);
            if answer.contains(r#""result""#) {
                Ok(())
            } else {
                Err(format!("the session did not recover: {answer}"))
            }
        });
        let text = format!("round {round}");
        assert!(
            session
                .echo(&format!("\"r{round}\""), &text)
                .contains(&text)
        );
    }
    assert_eq!(session.open(), open);
    let hello = session
        .isolated()
        .matches(r#""method":"initialize""#)
        .count();
    assert_eq!(hello, 3);
    session.talk.end();
}

#[test]
fn an_isolated_server_that_cannot_be_used_refuses_what_follows_and_nothing_goes_back() {
    let of_another_revision = [&*fixture("hostile-server"), "initialize-unknown-version"];
    let silent = [&*fixture("hostile-server"), "stall-initialize"];
    let ends = ["sh", "-c", "exit 3"];
    let directory = tempfile::tempdir().unwrap();
    let removed = directory.path().join("server");
    let missing = [removed.to_str().unwrap()];
    let unusable: [&[&str]; 4] = [&of_another_revision, &silent, &ends, &missing];
    for command in unusable {
        // It is there when the gate starts.
        std::os::unix::fs::symlink("/bin/true", &removed).unwrap();
        let mut session = Isolating::start(command, "request_timeout = \"2s\"");
        fs::remove_file(&removed).unwrap();
        session.read();
        let open = session.open();
        for id in ["3", "4"] {
            let refused = session.echo(id, "after");
            assert!(
                refused.contains(r#""code":-32603"#),
                "{command:?}: {refused}"
            );
        }
        assert_eq!(session.open(), open, "{command:?}");
        session.until_servers(0);
        assert_eq!(session.talk.end().ended.code, Some(0), "{command:?}");
    }
}

#[test]
fn an_isolated_server_that_cannot_be_started_is_told_at_the_start() {
    let setup = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .labels(LABELS)
        .isolated(["/no/such/server"], "");
    let ended = Peer::start(setup.gate()).end();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let told = "`upstream.isolated.command`: `/no/such/server` was not found";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[test]
fn the_open_servers_questions_and_news_are_not_heard_any_more() {
    let mut session = isolating();
    // The tool tells its news, and asks the agent while it runs.
    session.call("2", "slow", r#"{"steps":30,"delay_ms":100}"#);
    session.read();
    let seen = session.talk.gate.seen.len();
    session.echo("3", "after");
    session.talk.answer("2");
    let later = session.talk.gate.seen[seen..].to_vec();
    assert!(
        later.iter().all(|line| line.contains(r#""id""#)),
        "{later:#?}"
    );
    session.talk.end();
}

#[test]
fn a_session_below_the_threshold_has_one_server() {
    let mut session = isolating();
    session.echo("2", "one");
    session.echo("3", "two");
    session.until_servers(1);
    assert_eq!(session.isolated(), "");
    let past = session.talk.end();
    assert!(
        past.of_kind("upstream_state")
            .all(|it| it["event"] == "started")
    );
}

#[test]
fn a_session_before_servers_that_have_none_goes_on_with_the_isolated_one() {
    let everything = fixture("everything-server");
    let stateless = [&*everything, "--stateless"];
    let mut session = Isolating::before(&stateless, &stateless, "");
    assert!(session.echo("2", "before").contains("before"));
    session.read();
    let open = session.open();
    assert!(session.echo("3", "after").contains("after"));
    session.talk.ask("4", r#""resources/list""#);
    assert_eq!(session.open(), open, "nothing more reached it");
    let isolated = session.isolated();
    assert!(
        isolated.contains("after") && !isolated.contains("initialize"),
        "{isolated}"
    );
    session.until_servers(1);
    session.talk.end();
}

/// A server that connects to whatever port it is told, and answers what came of it.
#[cfg(target_os = "linux")]
const CONNECTING: &str = r#"
import errno, json, socket, sys
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("add", "connect")]
def called(params):
    if params["name"] == "add": return "42"
    try:
        with socket.create_connection(("127.0.0.1", params["arguments"]["port"]), 5): return "connected"
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
for line in sys.stdin:
    said = json.loads(line)
    method, params = said.get("method"), said.get("params", {})
    if "id" not in said or method is None: continue
    result = {}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if method == "tools/list": result = {"tools": TOOLS}
    if method == "tools/call": result = {"content": [{"type": "text", "text": called(params)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"#;

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_has_become_confidential_goes_on_with_a_server_that_has_no_network() {
    let show = Command::new("python3")
        .args([
            "-c",
            "import sys; print(sys.executable); print(sys.base_prefix)",
        ])
        .output()
        .unwrap();
    let shown = String::from_utf8(show.stdout).unwrap();
    let [python, prefix] = shown.lines().collect::<Vec<_>>()[..] else {
        panic!("{shown}");
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = [python, "-u", "-c", CONNECTING];
    let sandbox =
        format!("[upstream.isolated.sandbox]\nexecute = [{prefix:?}]\nnetwork = \"none\"\n");
    let setup = Setup::of(server)
        .policies(ALLOW_ALL)
        .labels(LABELS)
        .isolated(server, &sandbox);
    let mark = setup.mark().to_owned();
    let mut talk = Talk::through(setup);
    talk.open();
    let mut call = |id: &str, tool: &str| {
        let arguments = format!(r#"{{"port":{port}}}"#);
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        talk.request(id, &format!(r#""tools/call","params":{params}"#));
        talk.answer(id)
    };
    let before = call("2", "connect");
    assert!(before.contains("\"connected\""), "{before}");
    let read = call("3", "add");
    assert!(read.contains("\"42\""), "{read}");
    // Not one call is denied: it is the kernel that keeps it in.
    for id in ["4", "5"] {
        let after = call(id, "connect");
        assert!(after.contains("\"EACCES\""), "{after}");
    }
    listener.set_nonblocking(true).unwrap();
    let came = std::iter::from_fn(|| listener.accept().ok()).count();
    assert_eq!(came, 1, "nothing more got out");
    let past = talk.end();
    assert_eq!(past.ended.code, Some(0));
    all_end(&mark);
}
