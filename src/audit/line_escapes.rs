//! The escapes of a line that no reader takes for anything else.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use crate::unseen::misleads;

/// The text as it stands inside a JSON string of a line, without the quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    let written = text.serialize(&mut Serializer::with_formatter(&mut out, OneLineFormatter));
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
pub(super) struct OneLineFormatter;

impl Formatter for OneLineFormatter {
    // serde_json calls this for what lies between the characters that JSON itself escapes.
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Nearly every text, at a tenth of the cost of looking at each character.
        let plain = |byte| (b' '..=b'~').contains(&byte);
        // To its end, which takes many bytes at once; to the first that is not plain takes each.
        if fragment.bytes().fold(true, |all, byte| all & plain(byte)) {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
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
