//! A record as one line of JSON that cannot be broken out of.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::ser::Serializer;

use super::chain::LineHash;
use super::line_escapes::OneLineFormatter;
use super::record::Record;

/// A record with what the log adds to it.
#[derive(Debug, Serialize)]
pub(super) struct LogLine<'r> {
    pub(super) version: u32,
    pub(super) seq: u64,
    /// RFC 3339, microseconds, UTC.
    pub(super) timestamp: String,
    pub(super) instance: &'r str,
    /// The hash of the line before, of this instance. `None` where that line is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prev: Option<LineHash>,
    #[serde(flatten)]
    pub(super) record: &'r Record,
    #[serde(flatten)]
    pub(super) addition: LineAddition<'r>,
}

/// The condition of the log while a record waited to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogCondition {
    Working,
    /// The record's message may have passed before the record was as safe as `durability` says.
    Faulty,
}

/// The last field of some lines.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct LineAddition<'r> {
    /// The log was faulty while it had the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_fault: Option<bool>,
    /// The signature of a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<&'r str>,
}

impl<'r> LineAddition<'r> {
    pub(super) fn of(taken: LogCondition) -> Self {
        Self {
            audit_fault: (taken == LogCondition::Faulty).then_some(true),
            checkpoint: None,
        }
    }

    pub(super) fn checkpoint(token: &'r str) -> Self {
        Self {
            audit_fault: None,
            checkpoint: Some(token),
        }
    }
}

impl LogLine<'_> {
    /// Appends the line and its line feed.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        push_line(self, out)
    }
}

/// Appends a value as a line that no reader takes for anything else.
pub(super) fn push_line(
    value: &impl Serialize,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    let start = out.len();
    let written = value.serialize(&mut Serializer::with_formatter(&mut *out, OneLineFormatter));
    match written {
        Ok(()) => out.push(b'\n'),
        Err(_) => out.truncate(start),
    }
    written
}

/// RFC 3339 with six digits of a second, so that every line is as long and sorts as text.
pub(super) fn rfc3339(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::line_escapes::escaped;
    use super::super::record::VERSION;
    use super::super::tests::samples;
    use super::super::{Kind, Redactor};
    use super::*;
    use crate::unseen::misleads;

    #[track_caller]
    fn check(text: &str, stands_as: &str) {
        assert_eq!(escaped(text), stands_as);
        let back: Value = format!("\"{stands_as}\"").parse().unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn what_misleads_stands_as_an_escape() {
        check("plain, é and 日本 stay", "plain, é and 日本 stay");
        check(
            "x\n{\"decision\":\"ALLOW\"}",
            r#"x\n{\"decision\":\"ALLOW\"}"#,
        );
        check("\r\t\u{0}\u{1b}[2J\u{7f}", r"\r\t\u0000\u001b[2J\u007f");
        check("\u{85}\u{9b}", r"\u0085\u009b");
        check("a\u{2028}b\u{2029}c", r"a\u2028b\u2029c");
        check("safe\u{202e}exe.txt\u{2066}", r"safe\u202eexe.txt\u2066");
        check("s\u{200b}a\u{200d}f\u{feff}e", r"s\u200ba\u200df\ufeffe");
        check("\u{e0041}\u{e007f}x", r"\udb40\udc41\udb40\udc7fx");
        check("\u{200b}", r"\u200b");
        check("back\\slash \"quote\"", r#"back\\slash \"quote\""#);
    }

    #[test]
    fn time_has_microseconds_and_is_utc() {
        let check = |time: &str, written| assert_eq!(rfc3339(time.parse().unwrap()), written);
        check("2026-11-21T20:00:00Z", "2026-11-21T20:00:00.000000Z");
        check(
            "2026-11-21T20:00:00.1234569+01:00",
            "2026-11-21T19:00:00.123456Z",
        );
    }

    fn hostile() -> impl Strategy<Value = String> {
        let misleading = prop::char::ranges(
            vec![
                '\u{0}'..='\u{ff}',
                '\u{2000}'..='\u{20ff}',
                '\u{e0000}'..='\u{e0fff}',
            ]
            .into(),
        );
        let character = prop_oneof![
            misleading,
            any::<char>(),
            prop::sample::select(vec!['"', '\\', '\n', '{', '}', ',']),
        ];
        // Short of the limit in bytes: longer ones are cut, which has a test of its own.
        prop::collection::vec(character, 0..20).prop_map(String::from_iter)
    }

    proptest! {
        // Each case is one record of 33 strings.
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn any_strings_make_one_line_that_reads_back(
            texts in prop::collection::vec(hostile(), samples::TEXTS),
        ) {
            let mut next = texts.iter();
            let mut record = samples::full(Kind::ToolCall, || next.next().unwrap().clone());
            prop_assert!(next.next().is_none());
            record.finish(&Redactor::default());
            let mut line = Vec::new();
            let timestamp = rfc3339(Timestamp::UNIX_EPOCH);
            LogLine { version: VERSION, seq: 1, timestamp, instance: "0123456789abcdef", prev: Some(LineHash::START), record: &record, addition: LineAddition::default() }
                .write_to(&mut line)
                .unwrap();
            let line = String::from_utf8(line).unwrap();
            let line = line.strip_suffix('\n').unwrap();
            prop_assert!(!line.contains(misleads), "{line:?}");
            let read: Value = line.parse().unwrap();
            prop_assert_eq!(samples::texts_of(&read), texts);
        }
    }
}
