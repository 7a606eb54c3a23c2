//! Words of a message in the value of a header (MCP 2026-07-28, basic/transports, value encoding).

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

const OPENS: &str = "=?base64?";
const CLOSES: &str = "?=";

/// A text as it is, or in the base64 form if a header could not hold it, would trim it, or if it looks like
/// that form itself.
pub fn header_value(text: &str) -> Cow<'_, str> {
    let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let trimmed = text.starts_with(' ') || text.ends_with(' ');
    let like_ours = text.starts_with(OPENS) && text.ends_with(CLOSES);
    if printable && !trimmed && !like_ours {
        Cow::Borrowed(text)
    } else {
        format!("{OPENS}{}{CLOSES}", BASE64_STANDARD.encode(text)).into()
    }
}

/// The text that a value stands for: itself, or what it has in base64.
pub fn of_header_value(value: &str) -> Option<String> {
    let inner = value
        .strip_prefix(OPENS)
        .and_then(|rest| rest.strip_suffix(CLOSES));
    match inner {
        Some(inner) => String::from_utf8(BASE64_STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
