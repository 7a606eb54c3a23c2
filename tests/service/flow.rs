//! What was read at one server decides what may be told to another.

use std::thread;

use serde_json::json;

use super::several::{agent, server};
use crate::service::own_roots::{call, over_http};
use crate::service::questions::Operators;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

const POLICIES: &str = r#"
@id("all") permit (principal, action, resource);
"#;

const LABELS: &str = r#"
[tools."crm/read"]
permission  = "read"
sensitivity = "internal"
[tools."crm/send"]
permission = "write"
[tools."mail/read"]
permission = "read"
[tools."mail/send"]
permission   = ["write", "connect"]
untrusted    = false
destinations = { "/to" = ["*@corp.example"] }
"#;

/// A gate before both servers, with these keys of `mail` and sections.
fn gate(of_mail: &str, more: &str) -> (Serving, Operators) {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = format!(
        "[servers.mail]\ncommand = {:?}\n{of_mail}\n{more}\n",
        server("mail")
    );
    let operators = Operators::of(&mut setup);
    (Serving::start(setup), operators)
}

fn to(address: &str) -> serde_json::Value {
    json!({ "to": address })
}

#[test]
fn after_text_of_strangers_a_person_is_asked_about_writes_and_destinations_at_every_server() {
    let (gate, operators) = gate("untrusted = true", "[flow]\nask = 'once_per_destination'");
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&crm, "send", &json!({})), "crm send");
    assert_eq!(call(&mail, "read", &json!({})), "mail read");
    // Approved, and no question.
    assert_eq!(call(&mail, "send", &to("ada@corp.example")), "mail send");
    let asks = |key: &str, arguments: serde_json::Value| {
        let agent = if key == "crm" { &crm } else { &mail };
        thread::scope(|scope| {
            let asking = scope.spawn(|| call(agent, "send", &arguments));
            let id = operators.asked();
            let shown = operators.command(&["list"]);
            assert!(operators.approve(&id).status.success());
            assert_eq!(asking.join().unwrap(), format!("{key} send"));
            String::from_utf8(shown.stdout).unwrap()
        })
    };
    let shown = asks("mail", to("eve@evil.example"));
    for part in ["eve@evil.example", "read from", "crm", "strangers"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The same destination again, and another one.
    assert_eq!(call(&mail, "send", &to("eve@evil.example")), "mail send");
    asks("mail", to("mallory@evil.example"));
    // No destination holds for a second call.
    asks("crm", json!({}));
    asks("crm", json!({}));
    // What is more sensitive was not agreed to.
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    asks("mail", to("eve@evil.example"));
    let audit = gate.setup().audit_text();
    assert!(
        audit.contains(r#""sources":["crm","mail"],"untrusted_from":["mail"]"#),
        "{audit}"
    );
}

#[test]
fn a_server_is_told_nothing_above_its_clearance_but_what_it_has_said_itself() {
    let (gate, _) = gate("clearance = 'public'", "[flow]\nflow_in = 'off'");
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&mail, "read", &json!({})), "mail read");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
    let denied = call(&mail, "read", &json!({}));
    assert!(
        denied.contains("more than this server may be told of"),
        "{denied}"
    );
    assert_eq!(call(&crm, "send", &json!({})), "crm send");
    let other = agent(&gate, "alice", "mail");
    assert_eq!(call(&other, "read", &json!({})), "mail read");
}

#[test]
fn a_wall_closes_a_server_to_what_another_has_said() {
    let wall = "[flow]\nflow_in = 'off'\n[flow.from.crm]\nto = []";
    let (gate, _) = gate("", wall);
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&mail, "send", &to("eve@evil.example")), "mail send");
    assert_eq!(call(&crm, "send", &json!({})), "crm send");
    let denied = call(&mail, "send", &to("ada@corp.example"));
    assert!(denied.contains("may not go to this server"), "{denied}");
    assert_eq!(call(&crm, "read", &json!({})), "crm read");
}
