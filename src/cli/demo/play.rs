//! The steps of a story.

use std::path::Path;

use super::failure::DemoFailure;
use super::logs::JsonLine;
use super::page::DemoPage;
use super::scene::DemoScene;
use super::story::{BeforeRequest, DemoCheck, DemoRequest, DemoRow, DemoSetting, DemoStory};

/// A line of the README, which a test runs.
const NEXT: &str = "mcp-protector proxy --allow read_file,list_directory -- npx -y @modelcontextprotocol/server-filesystem /srv/data";

/// Plays a story.
pub(super) fn play(
    page: &mut DemoPage<'_>,
    story: &'static DemoStory,
    directory: &Path,
) -> Result<(), DemoFailure> {
    let mut scene = DemoScene::open(page, story, directory)?;
    let mut answer = JsonLine::read("{}")?;
    for (number, chapter) in (1..).zip(story.chapters) {
        let title = format!("{number}. {}", chapter.title);
        scene.page.heading(&title)?;
        if !chapter.introduction.is_empty() {
            scene.page.paragraph(chapter.introduction)?;
        }
        for (number, request) in (1..).zip(chapter.requests) {
            if number > 1 {
                scene.page.line("")?;
            }
            answer = play_request(&mut scene, request, &answer)?;
        }
    }
    play_end(&mut scene, story)
}

/// Says what a reader may try next.
pub(super) fn tell_next(page: &mut DemoPage<'_>) -> Result<(), DemoFailure> {
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

fn play_request(
    scene: &mut DemoScene<'_, '_>,
    request: &DemoRequest,
    before: &JsonLine,
) -> Result<JsonLine, DemoFailure> {
    for shown in request.before {
        match shown {
            BeforeRequest::Row(label, text) => scene.page.row(label, text)?,
            BeforeRequest::Policy(id) => scene.show_policy(id)?,
        }
    }
    let traces = scene.ask(request, &(request.params)(before))?;
    for row in request.rows {
        match row {
            DemoRow::Decision(kind) => scene.show_decision(&traces.record(kind)?)?,
            DemoRow::Messages => scene.show_messages(&traces)?,
            DemoRow::Network => scene.show_network(&traces)?,
            DemoRow::Text(label, text) => scene.page.row(label, &text(&traces)?)?,
        }
    }
    for DemoCheck(statement, expected, found) in request.checks {
        scene.check(statement, expected, &found(&traces)?)?;
    }
    Ok(traces.answer)
}

fn play_end(scene: &mut DemoScene<'_, '_>, story: &DemoStory) -> Result<(), DemoFailure> {
    let number = story.chapters.len() + 1;
    let title = format!("{number}. The audit log has each call");
    scene.page.heading(&title)?;
    let (last, status) = scene.close()?;
    // Over HTTP only a request brings messages.
    if story.setting == DemoSetting::Stdio {
        scene.check("the gate sends nothing after the session", &[], &last)?;
    }
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
    let statement = "each call has its records, and no other call has one";
    scene.check(statement, story.records, &calls)?;
    let ends = [records.first(), records.last()];
    let ends = ends.map(|it| it.map_or_else(String::new, |record| record.text("/kind")));
    let statement = "the log begins and ends with the gate";
    scene.check(statement, &["startup", "shutdown"], &ends)?;
    for line in story.logged {
        scene.page.row("gate logged", line)?;
        let times = scene.logs.times_logged(line)?.to_string();
        scene.check("the log of the gate says it once", &["1"], &[times])?;
    }
    let (records, checks) = (records.len(), scene.checks);
    scene.page.line(&format!(
        "\n{records} records, {checks} statements checked: all are true."
    ))
}
