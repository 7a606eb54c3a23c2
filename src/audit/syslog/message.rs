//! One record as one message (RFC 5424, section 6).

use std::io::Write as _;

use crate::audit::query::LogRecord;

/// The part of the system that a message is from (RFC 5424, table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facility {
    User = 1,
    Daemon = 3,
    Auth = 4,
    Authpriv = 10,
    Audit = 13,
    Local0 = 16,
    Local1 = 17,
    Local2 = 18,
    Local3 = 19,
    Local4 = 20,
    Local5 = 21,
    Local6 = 22,
    Local7 = 23,
}

impl Facility {
    /// By their names in a configuration.
    pub const NAMES: [(&'static str, Self); 13] = [
        ("user", Self::User),
        ("daemon", Self::Daemon),
        ("auth", Self::Auth),
        ("authpriv", Self::Authpriv),
        ("audit", Self::Audit),
        ("local0", Self::Local0),
        ("local1", Self::Local1),
        ("local2", Self::Local2),
        ("local3", Self::Local3),
        ("local4", Self::Local4),
        ("local5", Self::Local5),
        ("local6", Self::Local6),
        ("local7", Self::Local7),
    ];
}

/// What all messages of this process say.
#[derive(Debug)]
pub(super) struct MessageFormat {
    facility: Facility,
    host: String,
    process: u32,
}

/// RFC 5424, table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Error = 3,
    Warning = 4,
    Informational = 6,
}

/// What stands for an unknown value.
const NIL: &str = "-";

/// The largest `sequenceId` (RFC 5424, section 7.3.1); one follows.
const LAST_SEQUENCE_ID: u64 = 2_147_483_647;

impl MessageFormat {
    pub(super) fn of_this_process(facility: Facility) -> Self {
        Self {
            facility,
            host: host(),
            process: std::process::id(),
        }
    }

    /// The line as a message, without its line feed. The message is JSON, so that it has no byte order
    /// mark: the RFC calls that "any octets".
    pub(super) fn message(&self, line: &[u8]) -> Vec<u8> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        // The log's own lines can be read; anything else is sent as it is.
        let record = LogRecord::parse(line).ok();
        let record = record.as_ref();
        let severity = record.map_or(Severity::Informational, severity);
        let priority = self.facility as u8 * 8 + severity as u8;
        let sequence = record.map_or(1, |record| {
            record.seq.saturating_sub(1) % LAST_SEQUENCE_ID + 1
        });
        let mut message = Vec::with_capacity(line.len() + 256);
        // A `Vec` takes all that is written.
        let _ = write!(
            message,
            "<{priority}>1 {time} {host} {app} {process} {kind} [meta sequenceId=\"{sequence}\"] ",
            time = record.map_or(NIL, |record| &*record.timestamp),
            host = self.host,
            app = env!("CARGO_PKG_NAME"),
            process = self.process,
            kind = record.map_or(NIL, |record| &*record.kind),
        );
        message.extend_from_slice(line);
        message
    }
}

fn severity(record: &LogRecord<'_>) -> Severity {
    match &*record.decision {
        "ERROR" => Severity::Error,
        "BLOCK" => Severity::Warning,
        _ => Severity::Informational,
    }
}

/// The name of this machine, if a message can have it.
fn host() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname()
        .nodename()
        .to_str()
        .ok()
        .map(str::to_owned);
    #[cfg(not(unix))]
    let name: Option<String> = None;
    let fits = |name: &String| {
        (1..=255).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
    };
    name.filter(fits).unwrap_or_else(|| NIL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_records_kind_severity_and_place_in_front_of_the_line() {
        let format = MessageFormat {
            facility: Facility::Local0,
            host: "machine".to_owned(),
            process: 7,
        };
        let check = |line: &str, header: &str| {
            let message = String::from_utf8(format.message(line.as_bytes())).unwrap();
            assert_eq!(message, format!("{header} {}", line.trim_end()));
        };
        let record = |seq: u64, rest: &str| {
            format!(
                "{{\"version\":1,\"seq\":{seq},\"timestamp\":\"2026-11-21T20:14:03.512881Z\",\
                 \"instance\":\"5f2b8c0d91e6a374\",{rest}}}\n"
            )
        };
        let time = "2026-11-21T20:14:03.512881Z machine mcp-protector 7";
        let cases = [
            ("tool_call", "ALLOW", 7, 134, 7),
            ("tool_call", "BLOCK", 7, 132, 7),
            ("tool_result", "ERROR", 7, 131, 7),
            (
                "tool_call",
                "ALLOW",
                LAST_SEQUENCE_ID,
                134,
                LAST_SEQUENCE_ID,
            ),
            ("tool_call", "ALLOW", LAST_SEQUENCE_ID + 1, 134, 1),
        ];
        for (kind, decision, seq, priority, id) in cases {
            let rest = format!("\"kind\":\"{kind}\",\"decision\":\"{decision}\"");
            check(
                &record(seq, &rest),
                &format!("<{priority}>1 {time} {kind} [meta sequenceId=\"{id}\"]"),
            );
        }
        check(
            &record(1, "\"kind\":\"startup\""),
            &format!("<134>1 {time} startup [meta sequenceId=\"1\"]"),
        );
        check(
            "no record\n",
            "<134>1 - machine mcp-protector 7 - [meta sequenceId=\"1\"]",
        );
    }

    #[test]
    fn a_facility_has_the_number_of_the_rfc() {
        let numbers = Facility::NAMES.map(|(_, facility)| facility as u8);
        assert_eq!(numbers, [1, 3, 4, 10, 13, 16, 17, 18, 19, 20, 21, 22, 23]);
    }
}
