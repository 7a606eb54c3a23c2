//! Principals and sessions with a directory of their own: their servers run in it, and none reaches
//! another one's.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::processes::support::python;
use crate::support::http::Agent;
use crate::support::json::json as parsed;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

/// Reads and writes files, and says where it runs.
pub(super) const FILES: &str = r"
import json, os, sys
tools = [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('read_file', 'write_file', 'where', 'long')]
def call(name, a):
    if name == 'read_file': return open(a['path']).read()
    if name == 'write_file': open(a['path'], 'w').write(a['text']); return 'written'
    if name == 'where': return os.getcwd()
    if name == 'long': return ''.join('line %06d\n' % n for n in range(a['lines'])) + a.get('end', '')
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    method, p = m['method'], m.get('params', {})
    if method == 'initialize': r = {'protocolVersion': p['protocolVersion'], 'capabilities': {'tools': {}, 'resources': {}}, 'serverInfo': {'name': 'files', 'version': '1'}}
    elif method == 'tools/list': r = {'tools': tools}
    elif method == 'resources/read': r = {'contents': [{'uri': p['uri'], 'text': call('long', {'lines': 400})}] * 40}
    elif method == 'tools/call':
        try: r = {'content': [{'type': 'text', 'text': call(p['name'], p['arguments'])}]}
        except OSError as e: r = {'isError': True, 'content': [{'type': 'text', 'text': type(e).__name__}]}
        if 'meta' in p['arguments']: r['_meta'] = {''.join(p['arguments']['meta']): 1}
    else: r = {}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
";

const POLICIES: &str = r#"
@id("talk") permit (principal, action, resource) unless { action == Mcp::Action::"call_tool" };
@id("inside") permit (principal, action == Mcp::Action::"call_tool", resource)
when { !context.targets.outside && [Mcp::Root::"workspace"].containsAll(context.targets.roots) };
"#;

pub(super) const LABELS: &str = r#"
[tools.read_file]
permission = "read"
paths = ["/path"]
[tools.write_file]
permission = "write"
paths = ["/path"]
[tools.where]
permission = "read"
paths = []
[tools.long]
permission = "read"
paths = []
"#;

/// A gate before servers of files. Its root is the directory `users/VARIABLE`.
pub(super) fn setup(variable: &str, more: &str) -> Setup {
    let mut setup = Setup::of(python(FILES)).policies(POLICIES).labels(LABELS);
    let prefix = std::process::Command::new(python("").remove(0))
        .args(["-c", "import sys; print(sys.base_prefix)"])
        .output();
    let prefix = String::from_utf8(prefix.unwrap().stdout).unwrap();
    setup.sandbox = Some(format!(
        "execute = [{:?}]\nroots = true\nnetwork = \"none\"\n",
        prefix.trim()
    ));
    fs::create_dir(setup.path("users")).unwrap();
    let users = setup.path("users").join(variable);
    let roots = format!(
        "[roots.workspace]\npath = {users:?}\nvirtual = \"/workspace\"\nwritable = true\n{more}"
    );
    fs::write(setup.path("policies").join("roots.toml"), roots).unwrap();
    setup
}

pub(super) fn over_http(setup: Setup) -> Setup {
    let mut setup = setup.over_http();
    setup.listen.push_str(
        "\nauth = { type = \"bearer\", tokens = { \"Alice@x\" = \"alice-0123456789-0123456789\", bob = \"bob-0123456789-0123456789-\" } }",
    );
    setup
}

pub(super) fn agent(gate: &Serving, who: &str) -> Agent {
    let token = format!("Authorization: Bearer {who}-0123456789-0123456789");
    let token = if who == "bob" {
        format!("{token}-")
    } else {
        token
    };
    Agent::at(&gate.url).with(token).in_session()
}

/// The text that a tool says, or the reason for which the gate rejects its call.
pub(super) fn call(agent: &Agent, tool: &str, arguments: &Value) -> String {
    let answer = agent.post(
        &json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        })
        .to_string(),
    );
    let answer = answer.message();
    let said = answer.pointer("/result/content/0/text");
    let said = said.or_else(|| answer.pointer("/error/message"));
    said.unwrap_or_else(|| panic!("{answer}"))
        .as_str()
        .unwrap()
        .to_owned()
}

fn read(agent: &Agent, path: &Path) -> String {
    call(agent, "read_file", &json!({"path": path}))
}

#[test]
fn no_principal_reaches_the_directory_of_another() {
    let gate = Serving::start(over_http(setup("${principal}", "")));
    let users = gate.setup().path("users");
    let (alice, bob) = (agent(&gate, "alice"), agent(&gate, "bob"));
    let own = |name: &str| -> PathBuf { users.canonicalize().unwrap().join(name) };
    // Each server runs in it; the agent sees the same path.
    assert_eq!(call(&alice, "where", &json!({})), "/workspace");
    for (agent, text) in [(&alice, "of alice"), (&bob, "of bob")] {
        let note = json!({"path": "/workspace/note", "text": text});
        assert_eq!(call(agent, "write_file", &note), "written");
    }
    let alices = own("=41lice=40x");
    assert_eq!(fs::read_to_string(alices.join("note")).unwrap(), "of alice");
    assert_eq!(
        fs::read_to_string(own("bob").join("note")).unwrap(),
        "of bob"
    );
    for name in ["=41lice=40x", "bob"] {
        let mode = fs::metadata(own(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    for path in ["/workspace/note", "note", "./note"] {
        assert_eq!(read(&bob, Path::new(path)), "of bob", "{path}");
    }
    let outside = |path: &Path| {
        let said = read(&bob, path);
        assert!(said.starts_with("denied by policy"), "{path:?}: {said}");
    };
    outside(&alices.join("note"));
    outside(&users.join("=41lice=40x/note"));
    outside(&users);
    outside(&users.join("bob2"));
    outside(&users.join("${principal}/note"));
    outside(Path::new("/workspace/../=41lice=40x/note"));
    outside(Path::new("../=41lice=40x/note"));
    // Over a link that is made in one's own.
    symlink(&alices, own("bob").join("way")).unwrap();
    outside(Path::new("/workspace/way/note"));
    outside(Path::new("way/note"));
    // The server's own path of it stays its own path.
    assert_eq!(read(&bob, &users.join("bob/note")), "of bob");
}

#[test]
fn each_session_of_a_principal_has_a_directory_of_its_own() {
    let gate = Serving::start(over_http(setup("${session}", "")));
    let (one, other) = (agent(&gate, "bob"), agent(&gate, "bob"));
    let note = json!({"path": "/workspace/note", "text": "of one"});
    assert_eq!(call(&one, "write_file", &note), "written");
    assert_eq!(read(&one, Path::new("/workspace/note")), "of one");
    assert_eq!(
        read(&other, Path::new("/workspace/note")),
        "FileNotFoundError"
    );
    assert_eq!(fs::read_dir(gate.setup().path("users")).unwrap().count(), 2);
}

#[test]
fn the_sandbox_of_a_server_grants_the_directory_of_its_principal_alone() {
    let setup = over_http(setup("${principal}", ""));
    // The kernel alone keeps them apart here.
    fs::write(
        setup.path("policies").join("test.cedar"),
        "@id(\"all\") permit (principal, action, resource);\n",
    )
    .unwrap();
    let gate = Serving::start(setup);
    let users = gate.setup().path("users");
    let (alice, bob) = (agent(&gate, "alice"), agent(&gate, "bob"));
    for agent in [&alice, &bob] {
        let note = json!({"path": "/workspace/note", "text": "a note"});
        assert_eq!(call(agent, "write_file", &note), "written");
        assert_eq!(read(agent, Path::new("/workspace/note")), "a note");
    }
    assert_eq!(
        read(&bob, &users.join("=41lice=40x/note")),
        "PermissionError"
    );
    assert_eq!(read(&alice, &users.join("bob/note")), "PermissionError");
}

#[test]
fn without_its_directory_no_message_of_a_session_passes() {
    let gate = Serving::start(over_http(setup("${principal}", "")));
    let elsewhere = gate.setup().path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, gate.setup().path("users/bob")).unwrap();
    let bob = Agent::at(&gate.url).with("Authorization: Bearer bob-0123456789-0123456789-");
    let answer = bob.post(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#,
    );
    let told = "the directory of this session is not available";
    assert!(answer.body.contains(told), "{answer:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    recorded(&gate, "own_root_unavailable");
    let records = gate.setup().audit_text();
    let mut records = records.lines().map(parsed);
    let record = records.find(|it| it["reason"]["code"] == "own_root_unavailable");
    let record = record.unwrap();
    assert_eq!(record["decision"], "ERROR", "{record}");
    assert_eq!(record["agent"]["id"], "bob");
    let text = record["reason"]["text"].as_str().unwrap();
    assert!(
        text.contains("`workspace`") && text.contains("is a link"),
        "{text}"
    );
}

/// The notice in a result whose middle is left out.
fn notice(agent: &Agent, end: &str) -> String {
    let said = call(agent, "long", &json!({"lines": 400, "end": end}));
    let notice = said
        .lines()
        .find(|line| line.starts_with("[mcp-protector:"));
    notice.unwrap_or_else(|| panic!("{said}")).to_owned()
}

fn saved_at(notice: &str) -> PathBuf {
    let found = notice.split_once("All of it is the file ");
    let (_, path) = found.unwrap_or_else(|| panic!("{notice}"));
    path.trim_end_matches(']').into()
}

#[track_caller]
fn recorded(gate: &Serving, text: &str) {
    eventually(|| {
        let records = gate.setup().audit_text();
        if records.contains(text) {
            return Ok(());
        }
        Err(records)
    });
}

#[test]
fn a_truncated_result_is_a_file_that_the_agents_own_tools_read() {
    let mut setup = over_http(setup("${principal}", ""));
    setup.more = "[truncation]\nmax_bytes = 1024\nsave = \"workspace\"\nsave_bytes = 12000\n\
                  tools = { read_file = \"none\" }\n"
        .to_owned();
    setup.guards = "secrets = \"redact\"".to_owned();
    let gate = Serving::start(setup);
    let (alice, bob) = (agent(&gate, "alice"), agent(&gate, "bob"));
    let secret = format!("ghp_{}", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d");
    // Credentials are removed; still, a session that has read such a result has read something secret.
    assert!(notice(&alice, &secret).contains("Read them as the resource mcp-protector://kept/"));
    assert!(notice(&alice, "").contains("Read them as the resource mcp-protector://kept/"));
    let alice = agent(&gate, "alice");
    let path = saved_at(&notice(&alice, ""));
    assert!(
        path.starts_with("/workspace/.mcp-protector/results"),
        "{path:?}"
    );
    let whole = read(&alice, &path);
    assert!(whole.contains("line 000200") && whole.starts_with("line 000000"));
    assert!(!whole.contains(&secret), "{whole}");
    assert!(read(&bob, &path).contains("FileNotFoundError"));
    let users = gate.setup().path("users");
    let file = users
        .join("=41lice=40x")
        .join(path.strip_prefix("/workspace").unwrap());
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let bobs_try = read(&bob, &file);
    assert!(bobs_try.starts_with("denied by policy"), "{bobs_try}");
    // Beyond the quota the gate keeps the text itself, as without files.
    assert!(notice(&alice, "").contains("All of it is the file"));
    assert!(notice(&alice, "").contains("Read them as the resource mcp-protector://kept/"));
    // Another principal has a quota of its own.
    assert!(notice(&bob, "").contains("All of it is the file"));
    let saved = format!(r#""code":"result_saved","detail":"{}""#, path.display());
    recorded(&gate, &saved);
    recorded(
        &gate,
        r#""code":"result_not_saved","detail":"the directory has "#,
    );
}

#[test]
fn only_so_many_texts_of_a_result_become_files() {
    let mut setup = over_http(setup("${principal}", ""));
    setup.more = "[truncation]\nmax_bytes = 1024\nsave = \"workspace\"\n".to_owned();
    let gate = Serving::start(setup);
    let bob = agent(&gate, "bob");
    let read = json!({
        "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://all"},
    });
    let answer = bob.post(&read.to_string()).body;
    assert!(answer.contains("All of it is the file"), "{answer}");
    assert!(answer.contains("Read them as the resource"), "{answer}");
    let results = gate.setup().path("users/bob/.mcp-protector/results");
    assert_eq!(fs::read_dir(results).unwrap().count(), 16);
    recorded(
        &gate,
        r#""code":"result_not_saved","detail":"16 texts of the result are saved""#,
    );
}

#[test]
fn the_file_of_a_result_that_does_not_leave_is_removed() {
    let mut setup = over_http(setup("${principal}", ""));
    setup.more = "[truncation]\nmax_bytes = 1024\nsave = \"workspace\"\n".to_owned();
    let gate = Serving::start(setup);
    let bob = agent(&gate, "bob");
    saved_at(&notice(&bob, ""));
    // A token of the gate stands where it cannot be replaced.
    let token = ["alice-0123456789", "-0123456789"];
    let said = call(&bob, "long", &json!({"lines": 400, "meta": token}));
    assert!(said.contains("secret"), "{said}");
    let results = gate.setup().path("users/bob/.mcp-protector/results");
    eventually(|| match fs::read_dir(&results).unwrap().count() {
        1 => Ok(()),
        more => Err(format!("{more} files")),
    });
}

#[test]
fn a_result_that_is_more_sensitive_than_the_root_is_not_saved_there() {
    for label in [
        "sensitivity = \"internal\"",
        "datasets = [\"payroll\"]",
        "untrusted = true",
    ] {
        let mut setup = over_http(setup("${session}", ""));
        setup.more = "[truncation]\nmax_bytes = 1024\nsave = \"workspace\"\n".to_owned();
        let labels = LABELS.replace("[tools.long]\n", &format!("[tools.long]\n{label}\n"));
        fs::write(setup.path("policies").join("tools.toml"), labels).unwrap();
        let gate = Serving::start(setup);
        let bob = agent(&gate, "bob");
        let said = notice(&bob, "");
        let is_kept = said.contains("Read them as the resource mcp-protector://kept/");
        assert!(is_kept, "{label}: {said}");
        recorded(
            &gate,
            "untrusted or more sensitive than the root `workspace`",
        );
    }
}

#[test]
fn a_session_saves_nothing_in_a_root_that_is_less_sensitive() {
    for label in [
        "sensitivity = \"internal\"",
        "datasets = [\"payroll\"]",
        "untrusted = true",
    ] {
        let mut setup = over_http(setup("${principal}", ""));
        setup.more = "[truncation]\nmax_bytes = 1024\nsave = \"workspace\"\n".to_owned();
        let labels = LABELS.replace("[tools.where]\n", &format!("[tools.where]\n{label}\n"));
        fs::write(setup.path("policies").join("tools.toml"), labels).unwrap();
        let gate = Serving::start(setup);
        let bob = agent(&gate, "bob");
        assert!(
            notice(&bob, "").contains("All of it is the file"),
            "{label}"
        );
        call(&bob, "where", &json!({}));
        let said = notice(&bob, "");
        let is_kept = said.contains("Read them as the resource mcp-protector://kept/");
        assert!(is_kept, "{label}: {said}");
        recorded(
            &gate,
            "data that its session has read, is untrusted or more sensitive than the root",
        );
    }
}

#[test]
fn results_are_saved_only_where_others_cannot_read_them() {
    let mut setup = over_http(setup("all", ""));
    setup.more = "[truncation]\nsave = \"workspace\"\n".to_owned();
    let ended = setup.gate().output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("`truncation.save`: `roots.toml` has no root `workspace` with"),
        "{said}"
    );
}

#[test]
fn files_of_a_session_that_has_ended_go_when_they_are_too_old() {
    let mut setup = over_http(setup("${session}", ""));
    setup.more = "[truncation]\nmax_bytes = 1024\nsave = \"workspace\"\n".to_owned();
    let results = setup.path("users/ended/.mcp-protector/results");
    fs::create_dir_all(&results).unwrap();
    for directory in results.ancestors().take(3) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let file = |digits: u128| results.join(format!("{digits:032x}.txt"));
    let (old, new) = (file(1), file(2));
    fs::write(&old, "text").unwrap();
    fs::write(&new, "text").unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    let opened = fs::File::options().write(true).open(&old).unwrap();
    opened.set_modified(long_ago).unwrap();
    let _gate = Serving::start(setup);
    eventually(|| {
        (!old.exists())
            .then_some(())
            .ok_or("the old file is there".to_owned())
    });
    assert!(new.exists());
}
