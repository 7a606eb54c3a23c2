//! A configuration that changes while the gate runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::service::operators::{get, sample, with_admin};
use crate::service::policies::{hang_up, reload, reloads, says};
use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// A gate that permits `echo`, and whatever else `prepare` says.
fn started(prepare: impl FnOnce(&mut Setup)) -> Serving {
    let setup = Setup::of([fixture("everything-server")]).without_trial();
    let mut setup = with_admin(setup.allow(&["echo"]).over_http(), "");
    prepare(&mut setup);
    Serving::start(setup)
}

fn text(gate: &Serving) -> String {
    fs::read_to_string(gate.setup().path("gate.toml")).unwrap()
}

/// Another file takes the place of the one that there is, as editors and deployments do it.
fn write(gate: &Serving, text: &str) {
    let (new, file) = (gate.setup().path("new"), gate.setup().path("gate.toml"));
    fs::write(&new, text).unwrap();
    fs::rename(new, file).unwrap();
}

#[track_caller]
fn change(gate: &Serving, from: &str, to: &str) {
    let text = text(gate);
    assert!(text.contains(from), "{from}: {text}");
    write(gate, &text.replace(from, to));
}

fn may_echo(agent: &Agent) -> bool {
    let answer = agent.echo(2, "it comes back");
    let denied = answer.body.contains("\"error\"");
    assert_ne!(answer.body.contains("it comes back"), denied, "{answer:?}");
    !denied
}

fn may_add(agent: &Agent) -> bool {
    let answer = agent.post(
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}}"#,
    );
    let denied = answer.body.contains("\"error\"");
    assert_ne!(answer.body.contains("42"), denied, "{answer:?}");
    !denied
}

fn reason(record: &Value) -> &str {
    record["reason"]["text"].as_str().unwrap()
}

fn until_health_says(gate: &Serving, document: &str) {
    eventually(|| {
        let answer = get(gate, "/health");
        let said = answer.body == document;
        said.then_some(()).ok_or(answer.body)
    });
}

#[track_caller]
fn check_sample(gate: &Serving, name: &str, expected: f64) {
    let text = get(gate, "/metrics").body;
    let got = sample(&text, name);
    assert!((got - expected).abs() < f64::EPSILON, "{name}: {got}");
}

#[test]
fn a_tool_in_the_list_may_be_called_from_then_on_and_one_that_is_taken_out_may_not() {
    let gate = started(|_| {});
    let agent = Agent::at(&gate.url).in_session();
    assert!(may_echo(&agent) && !may_add(&agent));
    change(&gate, r#"allow = ["echo"]"#, r#"allow = ["add"]"#);
    let replaced = reload(&gate, 1);
    assert_eq!(replaced["event"], "published", "{replaced}");
    let what = r#"; configuration: `policy.allow` with "add" and without "echo""#;
    assert!(reason(&replaced).ends_with(what), "{replaced}");
    assert!(!may_echo(&agent) && may_add(&agent));
    change(&gate, r#"allow = ["add"]"#, r#"allow = ["echo", "add"]"#);
    let again = reload(&gate, 2);
    assert_ne!(again["revision"], replaced["revision"]);
    assert!(may_echo(&agent) && may_add(&agent));
    says(&gate, &["new policies are in force", "`policy.allow`"]);
    check_sample(&gate, "mcp_protector_restart_needed", 0.0);
}

#[test]
fn a_broken_file_changes_nothing_and_is_told_recorded_and_counted() {
    let gate = started(|setup| setup.guards.push_str("secrets = \"redact\"\n"));
    let agent = Agent::at(&gate.url).in_session();
    let good = text(&gate);
    let rejected = r#"mcp_protector_policy_reloads_total{outcome="rejected"}"#;
    let broken = [
        (
            "allow = [\"echo\"]",
            "allow = [\"add\"]\nalow = []",
            "config::unknown_key",
        ),
        ("allow = [\"echo\"]", "allow = [\"add\"", "config::syntax"),
        (
            "secrets = \"redact\"",
            "secrets = \"of\"",
            "config::unknown_value",
        ),
        (
            "[guards]",
            "[limits.rates]\nglobal = \"0/s\"\n[guards]",
            "config::below_minimum",
        ),
        // What a writer leaves that dies.
        ("secrets = \"redact\"\n", "", "config::removed"),
    ];
    let mut told = 0.0;
    for (number, (from, to, code)) in broken.into_iter().enumerate() {
        assert!(good.contains(from), "{good}");
        write(&gate, &good.replace(from, to));
        let refused = reload(&gate, number + 1);
        assert_eq!(refused["event"], "rejected", "{refused}");
        assert_eq!(refused["reason"]["code"], code, "{refused}");
        assert!(may_echo(&agent) && !may_add(&agent), "{code}");
        told += 1.0;
        check_sample(&gate, rejected, told);
        assert_eq!(get(&gate, "/health").body, r#"{"status":"ok"}"#);
    }
    says(
        &gate,
        &[
            "the configuration is refused, what was last good stays in force",
            "alow",
            "did you mean `allow`?",
            "guards.secrets: is in force and is not there",
        ],
    );
    // It is in order again, and nothing has happened.
    write(&gate, &good);
    hang_up(&gate);
    says(&gate, &["nothing changed"]);
    assert_eq!(reloads(&gate).len(), broken.len());
    // SIGHUP confirms what is missing.
    write(&gate, &good.replace("secrets = \"redact\"\n", ""));
    reload(&gate, broken.len() + 1);
    hang_up(&gate);
    let meant = reload(&gate, broken.len() + 2);
    assert_eq!(meant["event"], "published", "{meant}");
    let what = r#"configuration: `guards.secrets` is not set and was "redact""#;
    assert_eq!(reason(&meant), what);
    // A file that is gone opens nothing either.
    fs::remove_file(gate.setup().path("gate.toml")).unwrap();
    let gone = reload(&gate, broken.len() + 3);
    assert_eq!(gone["reason"]["code"], "config::unreadable", "{gone}");
    assert!(may_echo(&agent) && !may_add(&agent));
}

#[test]
fn what_needs_a_restart_is_named_and_the_rest_is_in_force() {
    let gate = started(|setup| {
        setup.listen = "transport = \"http\"\nport = 0\npath = \"/mcp\"".to_owned();
    });
    let agent = Agent::at(&gate.url).in_session();
    let good = text(&gate);
    let changed = good
        .replace("path = \"/mcp\"", "path = \"/other\"")
        .replace("port = 0", "port = 1")
        .replace("allow = [\"echo\"]", "allow = [\"echo\", \"add\"]");
    write(&gate, &changed);
    reload(&gate, 1);
    assert!(may_add(&agent), "what can be in force is");
    until_health_says(
        &gate,
        r#"{"status":"ok","restart_needed":["listen.path","listen.port"]}"#,
    );
    check_sample(&gate, "mcp_protector_restart_needed", 1.0);
    let needed = "differ from those that the gate was started with, and need a restart: `listen.path`, `listen.port`";
    says(&gate, &[needed]);
    // Agents see one word.
    let health = gate.url.replace("/mcp", "/health");
    let answer = Agent::at(&health).request("GET", "");
    assert_eq!(answer.body, r#"{"status":"ok"}"#);
    let times = |gate: &Serving| gate.said.lock().unwrap().matches(needed).count();
    assert_eq!(times(&gate), 1);
    hang_up(&gate);
    eventually(|| {
        (times(&gate) == 2)
            .then_some(())
            .ok_or("not told again".to_owned())
    });
    write(&gate, &good);
    reload(&gate, 2);
    until_health_says(&gate, r#"{"status":"ok"}"#);
    check_sample(&gate, "mcp_protector_restart_needed", 0.0);
    says(&gate, &["no restart is needed any more"]);
    assert!(!may_add(&agent));
}

#[test]
fn a_guard_that_is_loosened_is_recorded_and_every_session_is_under_it() {
    // No file shows what looks like a credential: it is put together here.
    let token = ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let gate = started(|setup| setup.guards.push_str("secrets = \"redact\"\n"));
    let agent = Agent::at(&gate.url).in_session();
    let shows = |agent: &Agent| agent.echo(2, &token).body.contains(&token);
    assert!(!shows(&agent));
    change(&gate, "secrets = \"redact\"", "secrets = \"off\"");
    let recorded = reload(&gate, 1);
    assert_eq!(recorded["event"], "published", "{recorded}");
    assert_eq!(recorded["decision"], "ALLOW");
    assert_eq!(recorded["reason"]["code"], "configuration");
    let what = r#"configuration: `guards.secrets` is "off" and was "redact""#;
    assert_eq!(reason(&recorded), what);
    assert!(shows(&agent) && shows(&Agent::at(&gate.url).in_session()));
    change(&gate, "secrets = \"off\"", "secrets = \"redact\"");
    assert_eq!(reload(&gate, 2)["revision"], recorded["revision"]);
    assert!(!shows(&agent));
}

#[test]
fn limits_and_what_a_record_means_change_with_the_file() {
    let gate = started(|_| {});
    let agent = Agent::at(&gate.url).in_session();
    assert!(may_echo(&agent) && may_echo(&agent));
    change(
        &gate,
        "[guards]",
        "[limits.rates]\nprincipal = \"1/h\"\n[guards]",
    );
    reload(&gate, 1);
    assert!(may_echo(&agent) && !may_echo(&agent));
    change(&gate, "principal = \"1/h\"", "principal = \"1000/s\"");
    reload(&gate, 2);
    let answer = agent.echo(2, "it comes back");
    assert!(answer.body.contains("it comes back\""), "{answer:?}");
    change(&gate, "[guards]\n", "[guards]\narguments = \"off\"\n");
    reload(&gate, 3);
    change(
        &gate,
        "audit.jsonl\"\n",
        "audit.jsonl\"\ndurability = \"strict\"\non_fault = \"warn\"\n",
    );
    let recorded = reload(&gate, 4);
    let what = "configuration: `audit.durability` is \"strict\" and was not set, `audit.on_fault` is \"warn\" and \
                was not set";
    assert_eq!(reason(&recorded), what);
    assert!(may_echo(&agent));
}

#[test]
fn policies_and_configuration_are_one_revision_and_come_into_force_together_or_not_at_all() {
    let gate = started(|setup| {
        let policies = setup.path("policies");
        fs::create_dir(&policies).unwrap();
        fs::write(policies.join("test.cedar"), ALLOW_ALL).unwrap();
    });
    let policies = gate.setup().path("policies");
    let agent = Agent::at(&gate.url).in_session();
    assert!(!may_add(&agent));
    let dir = format!("allow = [\"echo\"]\ndir = {policies:?}");
    fs::write(policies.join("test.cedar"), "@id(\"all\") permit (").unwrap();
    change(&gate, "allow = [\"echo\"]", &dir);
    let refused = reload(&gate, 1);
    assert_eq!(refused["reason"]["code"], "policy::syntax", "{refused}");
    assert!(may_echo(&agent) && !may_add(&agent));
    fs::write(policies.join("test.cedar"), ALLOW_ALL).unwrap();
    let both = reload(&gate, 2);
    assert_eq!(both["event"], "published", "{both}");
    assert!(reason(&both).contains("new `all`"), "{both}");
    assert!(reason(&both).contains("`policy.dir` is "), "{both}");
    assert!(may_add(&agent));
    // The directory is watched from then on.
    let no_add = format!(
        "{ALLOW_ALL}@id(\"no-add\") forbid (principal, action, resource == Mcp::Tool::\"add\");\n"
    );
    fs::write(policies.join("test.cedar"), &no_add).unwrap();
    reload(&gate, 3);
    assert!(!may_add(&agent));
    // While the file is broken no policies are taken either.
    let good = text(&gate);
    write(&gate, &format!("{good}[polcy]\n"));
    reload(&gate, 4);
    fs::write(policies.join("test.cedar"), format!("{no_add}// new\n")).unwrap();
    let still = reload(&gate, 5);
    assert_eq!(still["event"], "rejected", "{still}");
    write(&gate, &good);
    assert_eq!(reload(&gate, 6)["event"], "published");
}

#[test]
fn where_nothing_is_watched_the_signal_reads_the_file_again() {
    let gate = started(|setup| setup.reload.push_str("reload = \"off\""));
    let agent = Agent::at(&gate.url).in_session();
    let watching = started(|_| {});
    for gate in [&gate, &watching] {
        change(gate, r#"allow = ["echo"]"#, r#"allow = ["add"]"#);
    }
    // As long as it takes to be seen.
    reload(&watching, 1);
    assert!(may_echo(&agent) && reloads(&gate).is_empty());
    hang_up(&gate);
    reload(&gate, 1);
    assert!(!may_echo(&agent) && may_add(&agent));
}

/// Lays out a revision of the file as a mounted `ConfigMap` is: `..data` leads to all of it.
fn project(directory: &Path, revision: &str, text: &str) {
    let version = directory.join(format!("..{revision}"));
    fs::create_dir(&version).unwrap();
    fs::write(version.join("gate.toml"), text).unwrap();
    let next = directory.join("..next");
    symlink(format!("..{revision}"), &next).unwrap();
    fs::rename(next, directory.join("..data")).unwrap();
}

#[test]
fn a_file_that_is_a_link_is_followed_to_where_it_leads() {
    let setup = Setup::of([fixture("everything-server")]).without_trial();
    let setup = with_admin(setup.allow(&["echo"]).over_http(), "");
    let command = setup.gate();
    let file = setup.path("gate.toml");
    let directory = file.parent().unwrap().to_owned();
    let first = fs::read_to_string(&file).unwrap();
    project(&directory, "a", &first);
    fs::remove_file(&file).unwrap();
    symlink("..data/gate.toml", &file).unwrap();
    let gate = Serving::of(setup, command);
    let agent = Agent::at(&gate.url).in_session();
    assert!(may_echo(&agent) && !may_add(&agent));
    let second = first.replace(r#"allow = ["echo"]"#, r#"allow = ["add"]"#);
    project(&directory, "b", &second);
    reload(&gate, 1);
    assert!(!may_echo(&agent) && may_add(&agent));
}

#[test]
fn secrets_that_change_are_shown_nowhere() {
    const OLD: &str = "canary-old-0123456789";
    const NEW: &str = "canary-new-0123456789";
    let gate = started(|setup| {
        setup.env.push(("API_TOKEN".to_owned(), OLD.to_owned()));
        setup.more =
            format!("[listen.auth]\ntype = \"bearer\"\ntokens = {{ lovelace = \"{OLD}\" }}\n");
    });
    let good = text(&gate);
    write(&gate, &good.replace(OLD, NEW));
    until_health_says(
        &gate,
        r#"{"status":"ok","restart_needed":["listen.auth.tokens","upstream.env"]}"#,
    );
    write(&gate, &good.replace(&format!("\"{OLD}\""), NEW));
    reload(&gate, 1);
    says(&gate, &["the configuration is refused"]);
    let said = gate.said.lock().unwrap().clone();
    let audit = gate.setup().audit_text();
    for text in [said, audit] {
        assert!(
            !text.contains("canary") && !text.contains("lovelace"),
            "{text}"
        );
    }
}
