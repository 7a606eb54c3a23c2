//! Changes that wait for an operator with more rights, for a hang-up or for a record.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{ANY, OLGA, OMAR, Operator, URL, command, gate, records};
use crate::service::server_changes::{becomes, call_anew};
use crate::support::processes::eventually;

#[test]
fn who_may_not_write_policies_cannot_remove_them_and_a_removal_waits_for_a_hang_up() {
    let gate = gate();
    let (olga, omar) = (Operator::of(&gate, OLGA), Operator::of(&gate, OMAR));
    let own = gate.setup().path("own");
    fs::create_dir(&own).unwrap();
    let text = "@id(\"own\")\nforbid (principal, action, resource);\n";
    fs::write(own.join("own.cedar"), text).unwrap();
    let mut guarded = command("web");
    guarded["policy"] = json!(own);
    let added = olga.well("PUT", "/servers/web?handshake=false", &guarded);
    assert!(added["hint"].is_null(), "{added}");
    eventually(|| match call_anew(&gate, "web", "read") {
        found if found == "404" => Err(found),
        _ => Ok(()),
    });
    for (request, body) in [("PUT", URL), ("DELETE", "")] {
        let answer = omar.ask(request, "/servers/web", &[ANY], body);
        assert_eq!(answer.status, 403, "{answer:?}");
    }
    let file = gate.setup().path("servers.d/web.toml");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    omar.well("POST", "/servers/web/disable", &Value::Null);
    olga.well("POST", "/servers/web/enable?handshake=false", &Value::Null);
    let tried = olga.well("PUT", "/servers/web?dry_run=true", &command("web"));
    let bare = olga.well("PUT", "/servers/web", &command("web"));
    for answer in [tried, bare] {
        assert!(
            answer["hint"].as_str().unwrap().contains("SIGHUP"),
            "{answer}"
        );
    }
    assert_ne!(call_anew(&gate, "web", "read"), "web read");
    kill_process(Pid::from_child(&gate.child), Signal::HUP).unwrap();
    becomes("web read", || call_anew(&gate, "web", "read"));
    let records = records(&gate);
    let records = records.iter().filter_map(|it| it["method"].as_str());
    let puts: Vec<_> = records.filter(|it| it.starts_with("servers/put")).collect();
    let expected = [
        "servers/put",
        "servers/put",
        "servers/put/try",
        "servers/put",
    ];
    assert_eq!(puts, expected);
}

#[test]
fn a_server_is_asked_after_its_record_is_written() {
    let gate = gate();
    let olga = Operator::of(&gate, OLGA);
    let failing = json!({ "command": ["false"] });
    for (method, path, name) in [
        ("PUT", "/servers/web", "servers/put"),
        ("PUT", "/servers/web?dry_run=true", "servers/put/try"),
    ] {
        let before = records(&gate).len();
        let answer = olga.ask(method, path, &[], &failing.to_string());
        assert_eq!(answer.status, 502, "{answer:?}");
        let records = records(&gate).split_off(before);
        let decisions = records.iter().map(|it| (&it["method"], &it["decision"]));
        let decisions: Vec<_> = decisions.collect();
        let expected = [(json!(name), json!("ALLOW")), (json!(name), json!("ERROR"))];
        let expected: Vec<_> = expected.iter().map(|(name, it)| (name, it)).collect();
        assert_eq!(decisions, expected);
    }
}
