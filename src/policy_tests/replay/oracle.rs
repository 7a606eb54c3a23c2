//! What holds for every text that is read as a transcript. Also what the fuzz target `transcript` asks for.

use super::messages::{MessageRole, RecordedOutcome, TranscriptLine, TranscriptMessage, in_order};
use crate::wire::Side;

/// Every line has one role; a reply answers one earlier request of the other side's, which no other reply
/// answers; and what is read of a line does not depend on what comes after it, but for what became of it.
#[track_caller]
pub(super) fn laws(text: &str) {
    let said = read(text);
    assert_eq!(said.len(), text.lines().count(), "{text:?}");
    let mut answered = Vec::new();
    for (place, one) in said.iter().enumerate() {
        assert_eq!(one.line, place + 1, "{text:?}");
        let MessageRole::Reply(from, request) = &one.role else {
            continue;
        };
        assert!(*request < place, "line {}: {text:?}", one.line);
        assert!(!answered.contains(request), "line {}: {text:?}", one.line);
        answered.push(*request);
        let asked = said.get(*request).map(|asked| &asked.role);
        let is_others = matches!(asked, Some(MessageRole::Request(by, _)) if by != from);
        assert!(is_others, "line {}: {text:?}", one.line);
    }
    for (place, one) in said.iter().enumerate() {
        if let MessageRole::Request(_, was) = &one.role {
            let is_told = *was != RecordedOutcome::Untold;
            assert_eq!(
                answered.contains(&place),
                is_told,
                "line {}: {text:?}",
                one.line
            );
        }
    }
    let lines: Vec<&str> = text.lines().collect();
    let half = lines.get(..lines.len() / 2).unwrap_or_default().join("\n");
    for (before, after) in read(&half).iter().zip(&said) {
        assert_eq!(kind(&before.role), kind(&after.role), "{text:?}");
    }
}

fn read(text: &str) -> Vec<TranscriptMessage> {
    let lines = text.lines().zip(1..);
    in_order(lines.map(|(text, line)| TranscriptLine::read(text, line)))
}

/// A role without what became of it.
fn kind(role: &MessageRole) -> (&'static str, Option<Side>, Option<usize>) {
    match role {
        MessageRole::Request(side, _) => ("request", Some(*side), None),
        MessageRole::Notification(side) => ("notification", Some(*side), None),
        MessageRole::Reply(side, request) => ("reply", Some(*side), Some(*request)),
        MessageRole::Unclear(why) => (*why, None, None),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_seed_of_transcript_holds() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/transcript");
        let mut seeds = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            laws(&String::from_utf8_lossy(
                &fs::read(entry.unwrap().path()).unwrap(),
            ));
            seeds += 1;
        }
        assert!(seeds >= 10, "seeds in {}", folder.display());
    }

    /// Requests, replies and news of either side, in any order, under few ids.
    fn line() -> impl Strategy<Value = String> {
        let id = prop_oneof![Just("1"), Just("2"), Just("\"1\""), Just("null")];
        let body = prop_oneof![
            Just(r#""method":"tools/list""#),
            Just(r#""method":"ping""#),
            Just(r#""method":"roots/list""#),
            Just(r#""result":{}"#),
            Just(r#""error":{"code":4030,"message":"denied by policy"}"#),
            Just(
                r#""result":{"isError":true,"content":[{"type":"text","text":"denied by policy"}]}"#
            ),
        ];
        let from = prop_oneof![Just(None), Just(Some("agent")), Just(Some("server"))];
        (id, body, from).prop_map(|(id, body, from)| {
            let message = format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#);
            match from {
                Some(from) => format!(r#"{{"from":"{from}","message":{message}}}"#),
                None => message,
            }
        })
    }

    proptest! {
        #[test]
        fn each_reply_of_a_recording_answers_one_request_and_each_request_has_one_fate(
            lines in prop::collection::vec(line(), 0..12)
        ) {
            laws(&lines.join("\n"));
        }
    }
}
