//! The beginning of a record, and the form of its line.

use memchr::memchr;
use serde::de::IgnoredAny;

use super::super::chain::LineHash;
use super::super::record::VERSION;

/// The members with which each record begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header<'l> {
    pub(super) seq: u64,
    pub(super) instance: &'l str,
    pub(super) prev: Option<LineHash>,
    pub(super) kind: &'l str,
    pub(super) timestamp: &'l str,
    /// The signature of a checkpoint.
    pub(super) checkpoint: Option<&'l str>,
}

impl<'l> Header<'l> {
    /// The version of a record that has another one.
    pub(super) fn other_version(line: &[u8]) -> Option<u64> {
        let (version, _) = number(line.strip_prefix(b"{\"version\":")?)?;
        (version != u64::from(VERSION)).then_some(version)
    }

    /// Reads the beginning of a record in the exact form in which the gate writes it.
    pub(super) fn of(line: &'l [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let (version, rest) = number(line.strip_prefix(b"{\"version\":")?)?;
        let (seq, rest) = number(rest.strip_prefix(b",\"seq\":")?)?;
        let (timestamp, rest) = word(rest.strip_prefix(b",\"timestamp\":\"")?)?;
        let (instance, rest) = word(rest.strip_prefix(b",\"instance\":\"")?)?;
        let (prev, rest) = match rest.strip_prefix(b",\"prev\":\"") {
            Some(rest) => {
                let (prev, rest) = word(rest)?;
                (Some(LineHash::parse(prev.as_bytes())?), rest)
            }
            None => (None, rest),
        };
        let (kind, rest) = word(rest.strip_prefix(b",\"kind\":\"")?)?;
        // Nothing signs the rest of this line: there is none.
        let checkpoint = match rest.strip_prefix(b",\"checkpoint\":\"") {
            Some(rest) if kind == "checkpoint" => word(rest).filter(|(_, rest)| rest == b"}"),
            Some(_) | None => None,
        };
        let is_instance = instance.len() == 16 && instance.bytes().all(|it| it.is_ascii_hexdigit());
        (version == u64::from(VERSION) && seq > 0 && is_instance).then_some(Self {
            seq,
            instance,
            prev,
            kind,
            timestamp,
            checkpoint: checkpoint.map(|(token, _)| token),
        })
    }
}

/// The form of a line, whatever its fields mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::audit) enum LineForm {
    Whole,
    /// The beginning of a record, of which the gate wrote no more.
    Half,
    Other,
}

impl LineForm {
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing is read: only whether the line is JSON, or the beginning of JSON"
    )]
    pub(in crate::audit) fn of(line: &[u8]) -> Self {
        let begins = format!("{{\"version\":{VERSION},\"seq\":");
        let shared = line.len().min(begins.len());
        let is_record = line.get(..shared) == begins.as_bytes().get(..shared);
        let is_text = std::str::from_utf8(line);
        if line.is_empty() || is_text.is_err_and(|error| error.error_len().is_some()) {
            return Self::Other;
        }
        match serde_json::from_slice::<IgnoredAny>(line) {
            Ok(IgnoredAny) if is_record && is_text.is_ok() => Self::Whole,
            Err(error) if is_record && error.is_eof() => Self::Half,
            Ok(_) | Err(_) => Self::Other,
        }
    }
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|it| it.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

/// The rest of a JSON string without escapes, and the bytes after its closing quote.
fn word(text: &[u8]) -> Option<(&str, &[u8])> {
    let (word, rest) = text.split_at_checked(memchr(b'"', text)?)?;
    let word = std::str::from_utf8(word).ok()?;
    (!word.contains('\\')).then_some((word, rest.strip_prefix(b"\"")?))
}
