//! The admin API of a gate that runs, held to its description.

mod audit;
mod described;
mod held_back;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::service::operators::{admin, with_admin};
use crate::service::own_roots::over_http;
use crate::service::server_changes::{ALL, becomes, call_anew, server};
use crate::support::http::{Agent, Answer};
use crate::support::json::json as parsed;
use crate::support::serving::Serving;
use crate::support::setup::{GATE, Setup};

use described::Description;

const OLGA: &str = "olgas-0123456789abcdef";
const OMAR: &str = "omars-0123456789abcdef";

/// A gate before `crm`, in its configuration, and `mail`, in a file of its own. Olga may write commands, Omar may not.
fn gate_with(operators: &str) -> Serving {
    let mut setup = over_http(Setup::of(server("crm")).policies(ALL));
    setup.key = Some("crm");
    setup.top = "servers_dir = 'servers.d'\n".to_owned();
    // Records are there when a request is answered.
    setup.audit = "durability = \"strict\"\n".to_owned();
    setup.more = "[flow]\nflow_in = 'off'\n".to_owned();
    fs::create_dir(setup.path("servers.d")).unwrap();
    let mail = format!("[servers.mail]\ncommand = {:?}\n# end\n", server("mail"));
    fs::write(setup.path("servers.d/mail.toml"), mail).unwrap();
    Serving::start(with_admin(setup, operators))
}

fn gate() -> Serving {
    gate_with(&format!(
        "operators = {{ olga = \"{OLGA}\", omar = \"{OMAR}\" }}\ncommand_operators = [\"olga\"]\n"
    ))
}

/// An operator who asks a gate.
struct Operator<'g> {
    gate: &'g Serving,
    token: &'static str,
    described: Description,
}

impl<'g> Operator<'g> {
    fn of(gate: &'g Serving, token: &'static str) -> Self {
        let described = Description::published();
        Self {
            gate,
            token,
            described,
        }
    }

    /// The answer, which has to be as it is described.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut agent = admin(self.gate, &format!("/api/v1{path}"));
        if !headers.iter().any(|it| it.starts_with("Authorization")) {
            agent = agent.with(format!("Authorization: Bearer {}", self.token));
        }
        for header in headers {
            agent = agent.with(*header);
        }
        let answer = agent.request(method, body);
        self.described.check(method, path, &answer);
        answer
    }

    /// The document of what has to go well.
    #[track_caller]
    fn well(&self, method: &str, path: &str, body: &Value) -> Value {
        let if_match = "If-Match: *";
        let headers: &[&str] = match (method, self.exists(path)) {
            ("PUT", true) => &[if_match],
            _ => &[],
        };
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.ask(method, path, headers, &text);
        assert!(
            matches!(answer.status, 200 | 201),
            "{method} {path}: {answer:?}"
        );
        parsed(&answer.body)
    }

    fn exists(&self, path: &str) -> bool {
        let path = path.split('?').next().unwrap();
        self.ask("GET", path, &[], "").status == 200
    }
}

fn command(name: &str) -> Value {
    json!({ "command": server(name) })
}

/// The files that the configuration and the policies are.
fn files(gate: &Serving) -> Vec<(PathBuf, Vec<u8>)> {
    let setup = gate.setup();
    let dirs = [setup.path("servers.d"), setup.path("policies")];
    let entries = dirs
        .iter()
        .filter_map(|dir| fs::read_dir(dir).ok())
        .flatten();
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.chain([setup.path("gate.toml")]);
    let mut files: Vec<_> = files
        .map(|file| (file.clone(), fs::read(file).unwrap()))
        .collect();
    files.sort();
    files
}

/// The records of the API.
fn records(gate: &Serving) -> Vec<Value> {
    let text = gate.setup().audit_text();
    let records = text.lines().map(|line| line.parse::<Value>().unwrap());
    records.filter(|it| it["kind"] == "admin_request").collect()
}

#[test]
fn a_server_that_an_operator_adds_is_served_until_it_is_removed() {
    let gate = gate();
    let olga = Operator::of(&gate, OLGA);
    assert_eq!(call_anew(&gate, "web", "read"), "404");
    let added = olga.well("PUT", "/servers/web", &command("web"));
    assert_eq!(
        (&added["written"], &added["server"]["tools"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(added["agents"][0]["permitted"], json!(["read", "wait"]));
    becomes("web read", || call_anew(&gate, "web", "read"));
    olga.well("PUT", "/servers/web", &command("other"));
    becomes("other read", || call_anew(&gate, "web", "read"));
    olga.well("POST", "/servers/web/disable", &Value::Null);
    becomes("404", || call_anew(&gate, "web", "read"));
    let entry = olga.well("GET", "/servers/web", &Value::Null);
    assert_eq!(
        (&entry["enabled"], &entry["served"]),
        (&json!(false), &json!(false))
    );
    olga.well("POST", "/servers/web/enable", &Value::Null);
    becomes("other read", || call_anew(&gate, "web", "read"));
    olga.well("DELETE", "/servers/web", &Value::Null);
    becomes("404", || call_anew(&gate, "web", "read"));
    assert!(!olga.exists("/servers/web"));
    let changes: Vec<_> = records(&gate)
        .into_iter()
        .filter(|it| it["target"] == "web" && !it["method"].as_str().unwrap().ends_with("read"))
        .map(|it| format!("{} {} {}", it["operator"], it["method"], it["decision"]))
        .collect();
    let expected = ["put", "put", "disable", "enable", "delete"];
    let expected = expected.map(|verb| format!("\"olga\" \"servers/{verb}\" \"ALLOW\""));
    assert_eq!(changes, expected);
}

#[test]
fn every_operation_answers_as_it_is_described() {
    let gate = gate();
    let olga = Operator::of(&gate, OLGA);
    let none = &Value::Null;
    olga.well("PUT", "/servers/web?dry_run=true", &command("web"));
    olga.well("PUT", "/servers/web?handshake=false", &command("web"));
    becomes("web read", || call_anew(&gate, "web", "read"));
    let list = olga.well("GET", "/servers", none);
    let keys = list["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["key"]);
    assert_eq!(keys.collect::<Vec<_>>(), ["crm", "mail", "web"]);
    for path in ["/servers/mail", "/servers/crm", "/servers/mail/health"] {
        let entry = olga.well("GET", path, none);
        assert_eq!(
            (&entry["served"], &entry["transport"]),
            (&json!(true), &json!("stdio"))
        );
    }
    let check = olga.well("POST", "/servers/mail/check", none);
    assert_eq!(
        (&check["connection"], &check["tools"]),
        (&json!("connected"), &json!(2))
    );
    olga.well("POST", "/servers/web/disable", none);
    olga.well("POST", "/servers/web/enable?handshake=false", none);
    olga.well("DELETE", "/servers/web", none);
    olga.well(
        "PUT",
        "/agents/bob/overrides",
        &json!({ "servers": ["crm"], "deny": [] }),
    );
    let lists = olga.well("GET", "/agents/bob/overrides", none);
    assert_eq!(
        lists["overrides"],
        json!({ "servers": ["crm"], "deny": [] })
    );
    let agents = olga.well("GET", "/agents", none);
    assert_eq!(agents["agents"][0]["name"], "bob");
    let bob = olga.well("GET", "/agents/bob", none);
    assert_eq!(bob["servers"], json!(["crm"]));
    olga.well("GET", "/agents/a%2Fb/tools?server=crm&role=x&role=y", none);
    olga.well("GET", "/audit?kind=admin_request&limit=2", none);
    let description = olga.well("GET", "/openapi.json", none);
    assert_eq!(description["openapi"], "3.1.0");
    olga.described.is_walked();
}

const URL: &str = r#"{"url":"https://web.example.com/mcp"}"#;
const VERSION: &str = "If-Match: \"0123\"";
const ANY: &str = "If-Match: *";
const TEXT: &str = "Content-Type: text/plain";
const WEB: &str = "PUT /servers/web";
const MAIL: &str = "PUT /servers/mail";
const OVERRIDES: &str = "PUT /agents/bob/overrides";

/// A request with a header and a body, and its answer.
type Refused = (&'static str, &'static str, &'static str, u16, &'static str);

#[rustfmt::skip]
const REFUSED: [Refused; 33] = [
    (WEB, "", r#"{"command":["sh"]}"#, 403, "commands"),
    (WEB, "", r#"{"url":"https://${HOME}.example.com"}"#, 403, "commands"),
    (WEB, "", r#"{"url":"https://web","identity":"forward","identity_audience":"crm"}"#, 403, "commands"),
    (WEB, "", r#"{"url":"https://web","auth":{"type":"token_exchange","token_url":"https://web"}}"#, 403, "commands"),
    (MAIL, ANY, URL, 403, "commands"),
    ("DELETE /servers/mail", "", "", 403, "commands"),
    (WEB, TEXT, URL, 415, "media_type"),
    (WEB, "", r#"{"url":"https://web"#, 400, "json"),
    (WEB, "", r#"["url"]"#, 400, "json"),
    (WEB, "", r#"{"url":null}"#, 422, "value"),
    (WEB, VERSION, URL, 412, "version"),
    (WEB, "", r#"{"url":"https://no-such-host.invalid/mcp"}"#, 502, "no_answer"),
    ("PUT /servers/web?handshake=false", "", r#"{"url":"https://web","limits":{"typo":1}}"#, 422, "invalid"),
    ("PUT /servers/web?handshake=false", "", r#"{"url":"https://web\"\n[policy]\nx=\""}"#, 422, "invalid"),
    ("PUT /servers/web?dryrun=true", "", URL, 400, "query"),
    ("PUT /servers/web?handshake=no", "", URL, 400, "query"),
    (MAIL, "", URL, 428, "version_missing"),
    (MAIL, VERSION, URL, 412, "version"),
    ("PUT /servers/crm", "", URL, 409, "not_in_servers_dir"),
    ("PUT /servers/%2e%2e%2fgate", "", URL, 404, "no_server"),
    ("PUT /servers/Mail", "", URL, 404, "no_server"),
    ("DELETE /servers/web", "", "", 404, "no_server"),
    ("DELETE /servers/mail", VERSION, "", 412, "version"),
    ("DELETE /servers/mail", "", "{}", 400, "body"),
    ("GET /servers/../gate.toml", "", "", 404, "path"),
    ("POST /servers/mail", "", "", 405, "http_method"),
    ("GET /agents/bob/tools?server=none", "", "", 404, "no_server"),
    (OVERRIDES, "", "{}", 428, "version_missing"),
    (OVERRIDES, ANY, r#"{"servers":"crm"}"#, 422, "value"),
    (OVERRIDES, ANY, r#"{"server":[]}"#, 422, "value"),
    (OVERRIDES, ANY, r#"{"allow":["none/x"]}"#, 422, "invalid"),
    ("GET /audit?limit=1001", "", "", 400, "query"),
    ("GET /audit?decision=maybe", "", "", 400, "query"),
];

#[test]
fn what_is_refused_changes_nothing_and_has_a_record() {
    let gate = gate();
    let omar = Operator::of(&gate, OMAR);
    let before = files(&gate);
    let check = |(request, header, body, status, code): (&str, &str, &str, u16, &str)| {
        let (method, path) = request.split_once(' ').unwrap();
        let headers: Vec<&str> = [header].into_iter().filter(|it| !it.is_empty()).collect();
        let answer = omar.ask(method, path, &headers, body);
        let problem = parsed(&answer.body);
        let found = (answer.status, problem["code"].as_str().unwrap());
        assert_eq!(found, (status, code), "{request} {body}: {answer:?}");
        assert_eq!(files(&gate), before, "{request} {body}");
        let record = records(&gate).pop().unwrap();
        assert_eq!(record["reason"]["code"], code, "{record}");
        assert_eq!(record["allowed"], false, "{record}");
        assert_eq!(record["operator"], "omar", "{record}");
        answer
    };
    for case in REFUSED {
        check(case);
    }
    let long = format!("{{\"url\":\"{}\"}}", "x".repeat(70_000));
    check((WEB, "", &long, 413, "too_large"));
    let wrong_method = check(("POST /servers/mail", "", "", 405, "http_method"));
    assert_eq!(wrong_method.header("allow"), Some("GET, PUT, DELETE"));
    let invalid = "PUT /servers/web?handshake=false";
    let invalid = check((
        invalid,
        "",
        r#"{"url":"https://web","limits":{"typo":1}}"#,
        422,
        "invalid",
    ));
    let problem = &parsed(&invalid.body)["problems"][0];
    assert_eq!(problem["field"], "servers.web.limits.typo", "{problem}");
    let file = problem["file"].as_str().unwrap();
    assert!(file.ends_with("servers.d/web.toml"), "{problem}");
    assert!(
        problem["help"].is_string() && problem["line"] == 5,
        "{problem}"
    );
}

#[test]
fn nobody_but_operators_is_answered() {
    let gate = gate();
    let omar = Operator::of(&gate, OMAR);
    let before = files(&gate);
    let check = |headers: &[&str], expected: (u16, &str)| {
        let answer = omar.ask("DELETE", "/servers/mail", headers, "");
        let code = parsed(&answer.body)["code"].clone();
        assert_eq!(
            (answer.status, code.as_str().unwrap()),
            expected,
            "{answer:?}"
        );
        assert_eq!(files(&gate), before);
        answer
    };
    let right = format!("Authorization: Bearer {OMAR}");
    check(&[&right, "Host: evil.example"], (403, "host"));
    check(&[&right, "Origin: https://evil.example"], (403, "origin"));
    let twice = format!("authorization: Bearer {OMAR}");
    check(&[&right, &twice], (400, "header_repeated"));
    let refused = check(
        &["Authorization: Bearer wrong-0123456789abcdef"],
        (401, "token_invalid"),
    );
    assert!(
        refused
            .header("www-authenticate")
            .unwrap()
            .starts_with("Bearer")
    );
    let cookie = format!("Cookie: token={OMAR}");
    let found = admin(&gate, "/api/v1/servers")
        .with(cookie)
        .request("GET", "");
    assert_eq!(found.status, 401, "{found:?}");
    let wrong: Vec<_> = records(&gate);
    let codes: Vec<_> = wrong
        .iter()
        .map(|it| it["reason"]["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["token_invalid"], "{wrong:?}");
    assert!(wrong[0].get("operator").is_none());
    for _ in 0..5 {
        omar.ask(
            "GET",
            "/servers",
            &["Authorization: Bearer wrong-0123456789abcdef"],
            "",
        );
    }
    let paused = omar.ask("GET", "/servers", &[], "");
    assert_eq!(paused.status, 429, "{paused:?}");
    assert!(paused.header("retry-after").is_some());
}

#[test]
fn agents_never_reach_the_api() {
    let gate = gate();
    let before = files(&gate);
    let (base, _) = gate.url.split_once("/mcp").unwrap();
    let paths = [
        "/api/v1/servers",
        "/api/v1/servers/mail",
        "/mcp/api/v1/servers",
    ];
    for (token, status) in [(OLGA, 401), ("bob-0123456789-0123456789-", 404)] {
        for (path, method) in paths
            .iter()
            .flat_map(|it| [(it, "GET"), (it, "PUT"), (it, "DELETE")])
        {
            let agent = Agent::at(&format!("{base}{path}"));
            let agent = agent.with(format!("Authorization: Bearer {token}"));
            let answer = agent.request(method, "{}");
            // Outside of the endpoints no token is looked at.
            let status = if path.starts_with("/mcp") {
                status
            } else {
                404
            };
            assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        }
    }
    assert_eq!(files(&gate), before);
    assert!(records(&gate).is_empty());
}

#[test]
fn without_operators_there_is_no_api() {
    let gate = gate_with("");
    let agent = admin(&gate, "/api/v1/servers").with(format!("Authorization: Bearer {OLGA}"));
    assert_eq!(agent.request("GET", "").status, 404);
}

#[test]
fn no_update_is_lost_and_no_secret_is_shown() {
    let gate = gate();
    let olga = Operator::of(&gate, OLGA);
    let secret = "tulip-4f9d1c2b7a60-heron";
    let body = |number: usize| {
        let url = format!("https://web-{number}.example.com/mcp");
        json!({ "url": url, "auth": { "type": "bearer", "token": secret } })
    };
    olga.well("PUT", "/servers/web?handshake=false", &body(0));
    let shown = olga.ask("GET", "/servers/web", &[], "");
    let version = format!("If-Match: {}", shown.header("etag").unwrap());
    let statuses: Vec<u16> = thread::scope(|scope| {
        let threads: Vec<_> = (1..=4)
            .map(|number| {
                let (gate, version) = (&gate, &version);
                scope.spawn(move || {
                    let olga = Operator::of(gate, OLGA);
                    let body = body(number).to_string();
                    olga.ask("PUT", "/servers/web?handshake=false", &[version], &body)
                        .status
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let done = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(done, 1, "{statuses:?}");
    let failed = olga.ask("POST", "/servers/web/check", &[], "");
    let written = fs::read_to_string(gate.setup().path("servers.d/web.toml")).unwrap();
    assert!(written.contains(secret));
    let said = gate.said.lock().unwrap().clone();
    for text in [&shown.body, &failed.body, &gate.setup().audit_text(), &said] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn overrides_come_into_force_and_the_command_line_shows_them() {
    let gate = gate();
    let omar = Operator::of(&gate, OMAR);
    assert_eq!(call_anew(&gate, "mail", "read"), "mail read");
    let shown = omar.ask("GET", "/agents/bob/overrides", &[], "");
    let version = format!("If-Match: {}", shown.header("etag").unwrap());
    let body = r#"{"not_servers":["mail"]}"#;
    let changed = omar.ask("PUT", "/agents/bob/overrides", &[&version], body);
    assert_eq!(changed.status, 200, "{changed:?}");
    becomes("404", || call_anew(&gate, "mail", "read"));
    let mut command = Command::new(GATE);
    let config = gate.setup().path("gate.toml");
    command.args(["agents", "show", "bob", "--format", "json", "--config"]);
    let shown = command.arg(config).output().unwrap();
    let shown = parsed(&String::from_utf8(shown.stdout).unwrap());
    assert_eq!(shown["agents"][0]["servers"], json!(["crm"]));
    let again = omar.ask("PUT", "/agents/bob/overrides", &[&version], "{}");
    assert_eq!(again.status, 412);
    let latest = format!("If-Match: {}", changed.header("etag").unwrap());
    let removed = omar.ask("PUT", "/agents/bob/overrides", &[&latest], "{}");
    let removed = parsed(&removed.body);
    assert_eq!(removed["overrides"], json!({}));
    assert!(removed["hint"].as_str().unwrap().contains("SIGHUP"));
    kill_process(Pid::from_child(&gate.child), Signal::HUP).unwrap();
    becomes("mail read", || call_anew(&gate, "mail", "read"));
}
