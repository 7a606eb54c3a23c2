//! A record as one line of JSON that cannot be broken out of.

use std::io;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::record::Record;

/// The version of the record format.
pub const SCHEMA: u32 = 1;

/// A record with what the log adds to it.
#[derive(Debug, Serialize)]
pub(super) struct Line<'r> {
    pub(super) schema: u32,
    pub(super) seq: u64,
    /// RFC 3339, microseconds, UTC.
    pub(super) time: String,
    pub(super) instance: &'r str,
    #[serde(flatten)]
    pub(super) record: &'r Record,
}

impl Line<'_> {
    /// Appends the line and its line feed.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let start = out.len();
        let written = self.serialize(&mut Serializer::with_formatter(&mut *out, OneLine));
        match written {
            Ok(()) => out.push(b'\n'),
            Err(_) => out.truncate(start),
        }
        written
    }
}

/// RFC 3339 with six digits of a second, so that every line is as long and sorts as text.
pub(super) fn rfc3339(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// The text as it stands inside a JSON string of a line, without the quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    let written = text.serialize(&mut Serializer::with_formatter(&mut out, OneLine));
    let quoted = String::from_utf8(out).unwrap_or_default();
    match (
        written,
        quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"')),
    ) {
        (Ok(()), Some(inner)) => inner.to_owned(),
        _ => text.to_owned(),
    }
}

/// serde_json's compact form, with what a terminal or a reader could take for something else
/// written as `\uXXXX`.
#[derive(Debug)]
struct OneLine;

impl Formatter for OneLine {
    // serde_json calls this for what lies between the characters that JSON itself escapes.
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, hidden)) = rest.char_indices().find(|(_, c)| misleads(*c)) {
            let (plain, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            CompactFormatter.write_string_fragment(writer, plain)?;
            let mut units = [0; 2];
            for unit in hidden.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = from.get(hidden.len_utf8()..).unwrap_or_default();
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

/// Characters that act instead of showing: controls, line separators, what turns the direction of
/// text, and what is not seen at all (Unicode 16 `Default_Ignorable_Code_Point`, UAX 44 and UAX 9).
pub(super) fn misleads(c: char) -> bool {
    matches!(c,
        '\u{00}'..='\u{1f}' | '\u{7f}'..='\u{9f}'      // C0, DEL, C1
        | '\u{ad}' | '\u{34f}' | '\u{61c}'             // soft hyphen, grapheme joiner, Arabic mark
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'                      // zero width, direction marks
        | '\u{2028}'..='\u{202e}'                      // line and paragraph separator, bidi
        | '\u{2060}'..='\u{206f}'                      // word joiner, isolates, invisible operators
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'                      // unassigned ignorables, annotation anchors
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'                    // tags, variation selectors
    )
}
