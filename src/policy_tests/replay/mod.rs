//! Decisions that were recorded, judged again: an audit log, or the messages themselves.
//!
//! A decision is `same` or `changed` only if that is certain. An audit log may hold no arguments:
//! its questions are asked for all that it does not hold at once (`audit`); a transcript holds whole messages,
//! which go through the gate as those of any test do (`transcript`).

mod audit;
mod comparison;
mod judge;
mod known_targets;
mod load;
mod log_entry;
mod messages;
#[cfg(test)]
mod oracle;
mod read;
mod session_knowledge;
mod transcript;

use super::bench::Bench;
use super::fixture::{OnUnknown, Replay, Test};
use super::report::{ChangedDecision, ReplayReport, TestReport, UnknownDecision};
use super::suggest;

pub use judge::{JudgedRecord, ReplayJudge, ReplayedDecision};
pub(super) use load::load_recording;
pub(super) use read::Recording;

use comparison::{CurrentDecision, DecisionComparison};

/// The maximum number of problems in a report for people; the report for programs has all.
const MOST_PROBLEMS: usize = 20;

/// Judges a recording again.
pub(super) async fn replay(bench: &Bench<'_>, test: &Test, replay: &Replay) -> TestReport {
    let compared = match &replay.recording {
        Some(Recording::Audit(entries)) => audit::compare(bench, entries),
        Some(Recording::Transcript(said)) => match bench.at(&test.server) {
            Some(server) => Box::pin(transcript::compare(server, test, said)).await,
            None => Vec::new(),
        },
        None => Vec::new(),
    };
    let mut told = ReplayReport {
        file: replay.file.get_ref().clone(),
        same: 0,
        changed: Vec::new(),
        unknown: Vec::new(),
    };
    for DecisionComparison {
        line,
        about,
        was,
        now,
    } in compared
    {
        match now {
            CurrentDecision::Same => told.same += 1,
            CurrentDecision::Changed { policies } => told.changed.push(ChangedDecision {
                line,
                about,
                was,
                now: was.other(),
                policies,
            }),
            CurrentDecision::Unknown(why) => told.unknown.push(UnknownDecision {
                line,
                about,
                was,
                why,
            }),
        }
    }
    let mut report = TestReport::about(test);
    report.problems = problems(&told, replay.unknown);
    report.replay = Some(told);
    report.concluded()
}

fn problems(told: &ReplayReport, unknown: OnUnknown) -> Vec<String> {
    let changed = told.changed.iter().map(|changed| {
        let because = match changed.policies.as_slice() {
            [] => String::new(),
            policies => format!(" because of {}", suggest::list(policies)),
        };
        let (line, about) = (changed.line, &changed.about);
        let (was, now) = (changed.was.word(), changed.now.word());
        format!("line {line}: {about} was {was}, and is {now} now{because}")
    });
    let unsure = told.unknown.iter().map(|unknown| {
        let (line, about, why) = (unknown.line, &unknown.about, &unknown.why);
        let was = unknown.was.word();
        format!("line {line}: {about} was {was}, and may be either now: {why}")
    });
    let unsure = unsure.filter(|_| unknown == OnUnknown::Fail);
    let mut problems: Vec<String> = changed.chain(unsure).collect();
    if problems.len() > MOST_PROBLEMS {
        let more = problems.len() - MOST_PROBLEMS;
        problems.truncate(MOST_PROBLEMS);
        problems.push(format!("… and {more} more"));
    }
    if told.same == 0 && told.changed.is_empty() && told.unknown.is_empty() {
        problems.push("it holds no decision of policies, and so tests nothing".to_owned());
    }
    problems
}
