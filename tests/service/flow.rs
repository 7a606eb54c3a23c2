//! What was read at one server decides what may be told to another.

use std::thread;

use serde_json::{Value, json};

use super::several::{agent, server};
use crate::service::own_roots::{call, over_http};
use crate::service::questions::Operators;
use crate::support::http::Agent;
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
    with(POLICIES, of_mail, more)
}

fn with(policies: &str, of_mail: &str, more: &str) -> (Serving, Operators) {
    let mut setup = over_http(Setup::of(server("crm")).policies(policies).labels(LABELS));
    setup.key = Some("crm");
    setup.more = format!(
        "[servers.mail]\ncommand = {:?}\n{of_mail}\n{more}\n",
        server("mail")
    );
    let operators = Operators::of(&mut setup);
    (Serving::start(setup), operators)
}

/// A person is asked about this call, and agrees. Returns the question.
fn asks(operators: &Operators, agent: &Agent, arguments: &Value) -> String {
    thread::scope(|scope| {
        let asking = scope.spawn(|| call(agent, "send", arguments));
        let id = operators.asked();
        let shown = operators.command(&["list"]);
        assert!(operators.approve(&id).status.success());
        let said = asking.join().unwrap();
        assert!(said.ends_with(" send"), "{said}");
        String::from_utf8(shown.stdout).unwrap()
    })
}

fn to(address: &str) -> Value {
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
    let asks = |key: &str, arguments: Value| {
        let agent = if key == "crm" { &crm } else { &mail };
        asks(&operators, agent, &arguments)
    };
    let shown = asks("mail", to("eve@evil.example"));
    for part in [
        "eve@evil.example",
        "to the same destinations",
        "read from",
        "crm",
        "untrusted in",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The same destination again, and another one.
    assert_eq!(call(&mail, "send", &to("eve@evil.example")), "mail send");
    asks("mail", to("mallory@evil.example"));
    // No destination holds for a second call.
    asks("crm", json!({}));
    asks("crm", json!({}));
    // What the session reads now was not agreed to.
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
        denied.contains("above the clearance of this server"),
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

#[test]
fn a_yes_holds_for_no_more_than_the_question_said() {
    let careful = r#"
        @id("careful") @requires_consent forbid (principal, action == Mcp::Action::"call_tool",
        resource == Mcp::Tool::"mail/send")
        when { context.raw_arguments.hasTag("/careful") } unless { context.env.consent.granted };
    "#;
    let (gate, operators) = with(
        &format!("{POLICIES}{careful}"),
        "untrusted = true",
        "[flow]\nask = 'once_per_destination'",
    );
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&crm, "send", &json!({})), "crm send");
    assert_eq!(call(&mail, "read", &json!({})), "mail read");
    let eve = "eve@evil.example";
    // The policy asks with the rule, and then alone.
    let shown = asks(&operators, &mail, &json!({"to": eve, "careful": true}));
    assert!(
        shown.contains("careful") && shown.contains("builtin.flow_in"),
        "{shown}"
    );
    let approved = json!({"to": "ada@corp.example", "careful": true});
    asks(&operators, &mail, &approved);
    asks(&operators, &mail, &approved);
    // So no approval of this destination is kept.
    asks(&operators, &mail, &to(eve));
    assert_eq!(call(&mail, "send", &to(eve)), "mail send");
    asks(&operators, &mail, &json!({"to": eve, "careful": true}));
}

/// It connects, as long as no label says otherwise.
#[test]
fn a_server_without_labels_brings_untrusted_content() {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = format!("[servers.web]\ncommand = {:?}\n", server("web"));
    let setup =
        setup.labels("[tools.\"crm/send\"]\npermission = \"write\"\nsensitivity = \"internal\"\n");
    let gate = Serving::start(setup);
    let (crm, web) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "web"));
    assert_eq!(call(&crm, "send", &json!({})), "crm send");
    assert_eq!(call(&web, "read", &json!({})), "web read");
    let denied = call(&crm, "send", &json!({}));
    assert!(denied.contains("untrusted content"), "{denied}");
}
