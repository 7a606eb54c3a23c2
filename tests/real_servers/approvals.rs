//! A person at the page of approvals, in a real browser, while an agent waits before a real server.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::real_servers::real::{everything, in_directory, installed};
use crate::support::json::json as read;
use crate::support::peer::Peer;
use crate::support::setup::Setup;

const ANNA: &str = "annas-0123456789abcdef";

/// Every call needs a person's yes.
const ASK: &str = r#"
@id("open") permit (principal, action, resource);
@id("needs-a-yes") @requires_consent @advice("A person has to agree to every call.")
forbid (principal, action in Mcp::Action::"call_tool", resource) unless { context.env.consent.granted };
"#;

/// What the one at the browser saw and did.
struct Seen(Value);

impl Seen {
    fn strings(&self, key: &str) -> Vec<String> {
        let items = self.0[key].as_array().unwrap();
        items
            .iter()
            .map(|it| it.as_str().unwrap().to_owned())
            .collect()
    }
}

/// A gate before `server-everything` with an agent on its standard streams, and its page.
fn gate() -> (Peer, String, Setup) {
    let port = {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap().port()
    };
    let mut setup = everything().behind().policies(ASK);
    setup.limits = format!(
        "[consent]\nchannels = [\"web\"]\n[admin]\nport = {port}\napprovers = {{ anna = \"{ANNA}\" }}\n"
    );
    let mut agent = Peer::start(setup.gate());
    agent.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"</pre><script>alert(1)</script>","version":"1"}}}"#);
    answer_to(&mut agent, 0);
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    agent.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    answer_to(&mut agent, 1);
    (agent, format!("http://127.0.0.1:{port}"), setup)
}

/// The reply to a request, whatever comes before it.
fn answer_to(agent: &mut Peer, id: i64) -> Value {
    loop {
        let message = read(agent.receive().expect("an answer"));
        if message["id"] == id && message.get("method").is_none() {
            return message;
        }
    }
}

fn browse(url: &str, screenshot: &Path, mode: &[&str]) -> Seen {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/browser/approvals.mjs"
    );
    let mut browser = Command::new(in_directory(Path::new("node_modules/.bin/node")))
        .args([script, &in_directory(Path::new("node_modules")), url])
        .arg(screenshot)
        .arg("echo")
        .args(mode)
        .env("CHROMIUM", installed("chromium"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    browser
        .stdin
        .take()
        .unwrap()
        .write_all(ANNA.as_bytes())
        .unwrap();
    let output = browser.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    Seen(read(&said))
}

/// One call is approved, the other denied; the agent gets a result and a refusal.
#[track_caller]
fn check(mode: &[&str]) {
    let (mut agent, url, setup) = gate();
    let call = |id: i64, tool: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": tool, "arguments": arguments}})
    };
    let evil = "</pre><img src=http://evil.example/x onerror=alert(1)>\u{202e}";
    agent.send(call(2, "echo", json!({"message": evil})).to_string());
    agent.send(call(3, "get-sum", json!({"a": 1, "b": 2})).to_string());
    let screenshot = screenshots().join(format!("approvals{}.png", mode.concat()));
    let seen = browse(&url, &screenshot, mode);

    let approved = answer_to(&mut agent, 2);
    assert!(
        approved["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("evil.example"),
        "{approved}"
    );
    let denied = answer_to(&mut agent, 3);
    assert!(denied["error"].is_object(), "{denied}");

    let questions = seen.strings("questions").join("\n");
    for shown in [
        "tools/call echo",
        "tools/call get-sum",
        "A person has to agree to every call.",
        "needs-a-yes",
        "<script>alert(1)</script>",
        "onerror=alert(1)>\\u202e",
    ] {
        assert!(questions.contains(shown), "{shown}: {questions}");
    }
    assert_eq!(seen.0["answers"].as_array().unwrap().len(), 2, "{}", seen.0);
    assert!(fs::metadata(&screenshot).unwrap().len() > 10_000);

    drop(agent.end());
    let audit = setup.audit_text();
    assert!(audit.contains("web:anna"), "{audit}");
    assert!(!audit.contains(ANNA));
}

fn screenshots() -> PathBuf {
    let directory = PathBuf::from(in_directory(Path::new("."))).join("screenshots");
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
#[ignore = "needs what `.ci/real-servers` installs"]
fn somebody_at_a_browser_approves_and_denies_by_keyboard() {
    check(&[]);
}

#[test]
#[ignore = "needs what `.ci/real-servers` installs"]
fn the_page_works_in_a_browser_that_runs_no_scripts() {
    check(&["plain"]);
}

#[test]
#[ignore = "needs what `.ci/real-servers` installs"]
fn the_command_line_answers_what_the_page_shows() {
    let (mut agent, url, _setup) = gate();
    agent.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}}"#);
    let approvals = |arguments: &[&str]| {
        let mut command = Command::new(crate::support::setup::GATE);
        command.arg("approvals").args(arguments);
        command.env("MCP_PROTECTOR_ADMIN_URL", &url);
        command.env("MCP_PROTECTOR_APPROVER_TOKEN", ANNA);
        let output = command.output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let id = crate::support::processes::eventually(|| {
        let (code, listed) = approvals(&["list", "--format", "json"]);
        assert_eq!(code, 0, "{listed}");
        let listed = read(&listed);
        let id = listed["pending"][0]["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| listed.to_string())
    });
    assert!(approvals(&["list"]).1.contains(r#"tools/call "echo""#));
    assert_eq!(
        approvals(&["approve", &id]),
        (0, format!("{id}: approved\n"))
    );
    let approved = answer_to(&mut agent, 2);
    assert!(approved["result"].is_object(), "{approved}");
    assert_eq!(approvals(&["approve", &id]).0, 1);
}
