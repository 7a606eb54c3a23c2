//! What operators are told when policies are read again.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::fixtures::fixture;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

pub(crate) fn hang_up(gate: &Serving) {
    let pid = Pid::from_raw(i32::try_from(gate.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
}

/// Waits until standard error has all of these words.
#[track_caller]
pub(crate) fn says(gate: &Serving, words: &[&str]) {
    eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        let all = words.iter().all(|words| said.contains(words));
        all.then_some(()).ok_or(said)
    });
}

/// The records of new policies so far.
pub(crate) fn reloads(gate: &Serving) -> Vec<Value> {
    let text = gate.setup().audit_text();
    // The last one may still be on its way to the disk.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let records = whole.lines().map(|line| line.parse().unwrap());
    records
        .filter(|record: &Value| record["kind"] == "policy_reload")
        .collect()
}

pub(crate) fn reload(gate: &Serving, number: usize) -> Value {
    eventually(|| {
        let mut all = reloads(gate);
        if all.len() == number {
            all.pop().ok_or_else(String::new)
        } else {
            Err(format!("{all:?}"))
        }
    })
}

fn has_no_new_policies(gate: &Serving) {
    let said = gate.said.lock().unwrap();
    assert!(!said.contains("new policies are in force"), "{said}");
}

#[test]
fn a_broken_shadow_policy_is_logged_with_its_line_and_recorded() {
    let mut setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    let next = setup.path("next");
    fs::create_dir(&next).unwrap();
    fs::write(next.join("next.cedar"), ALLOW_ALL).unwrap();
    setup.reload = format!("shadow = {next:?}");
    let gate = Serving::start(setup.over_http());
    fs::write(next.join("next.cedar"), "@id(\"a\") permit (").unwrap();
    let refused = reload(&gate, 1);
    assert_eq!(refused["event"], "rejected", "{refused}");
    assert_eq!(refused["reason"]["code"], "shadow_rejected", "{refused}");
    let text = refused["reason"]["text"].as_str().unwrap();
    assert!(text.starts_with("policy::syntax: "), "{text}");
    says(
        &gate,
        &[
            "the gate rejects the shadow policy in `policy.shadow`",
            "next.cedar:1:",
        ],
    );
    fs::write(next.join("next.cedar"), format!("{ALLOW_ALL}// new\n")).unwrap();
    let asked = reload(&gate, 2);
    assert_eq!(asked["event"], "published", "{asked}");
    assert_eq!(asked["reason"]["code"], "shadow_published", "{asked}");
    assert_eq!(asked["revision"], refused["revision"]);
    says(&gate, &["only the shadow policy has changed"]);
    has_no_new_policies(&gate);
}

#[test]
fn policies_that_are_gone_are_named_in_the_log_and_in_the_audit() {
    let forbid = r#"@id("no-echo") forbid (principal, action, resource == Mcp::Tool::"echo");"#;
    let mut setup =
        Setup::of([fixture("everything-server")]).policies(&format!("{ALLOW_ALL}{forbid}"));
    // Only the signal says when: what is merely missing would be refused.
    setup.reload = "reload = \"off\"".to_owned();
    let gate = Serving::start(setup.over_http());
    fs::write(gate.setup().path("policies/test.cedar"), ALLOW_ALL).unwrap();
    hang_up(&gate);
    let published = reload(&gate, 1);
    let text = published["reason"]["text"].as_str().unwrap();
    assert!(text.ends_with(": gone `no-echo`"), "{text}");
    says(&gate, &["new policies are in force", "gone `no-echo`"]);
}

#[test]
fn new_roots_that_let_the_server_write_to_the_policies_or_the_log_are_refused() {
    let mut setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    setup.top = "servers_dir = 'servers.d'\n".to_owned();
    fs::create_dir(setup.path("servers.d")).unwrap();
    let gate = Serving::start(setup.over_http());
    let place = gate.setup().path("policies");
    let roots = |path: &std::path::Path| {
        let text =
            format!("[roots.work]\npath = {path:?}\nwritable = true\nsensitivity = \"public\"\n");
        fs::write(place.join("roots.toml"), text).unwrap();
    };
    let elsewhere = gate.setup().path("work");
    fs::create_dir(&elsewhere).unwrap();
    roots(&elsewhere);
    hang_up(&gate);
    says(&gate, &["new policies are in force"]);
    let before = eventually(|| {
        let record = reloads(&gate).pop().ok_or("no record yet")?;
        Ok::<_, String>(record["revision"].clone())
    });
    assert!(before.is_string(), "{before}");
    roots(place.parent().unwrap());
    hang_up(&gate);
    says(
        &gate,
        &[
            "new policies are refused, the last good ones stay in force",
            "`policy.dir`: `",
            "lies in `roots.work`, where the server may write",
            "`--config`: `",
            "`servers_dir`: `",
            "`audit.file`: `",
        ],
    );
    let refusal = eventually(|| {
        let last = reloads(&gate).pop().unwrap();
        let is_refused = last["reason"]["code"] == "policy::exposed";
        is_refused.then_some(last.clone()).ok_or(last.to_string())
    });
    assert_eq!(refusal["revision"], before, "the revision in force");
}
