//! Tables of headers that the gate sends to others: names, and values that are secrets.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};
use super::tokens::SHORTEST_TOKEN;
use super::variables::TextSource;
use crate::secret;

/// Headers by their names in lower case. `help` is an example; `refused` is why a name is refused.
pub(super) fn headers(
    mut section: ConfigSection<'_, '_>,
    help: &str,
    refused: impl Fn(&str) -> Option<&'static str>,
) -> BTreeMap<String, SecretString> {
    let mut headers = BTreeMap::new();
    let fields = section.entries();
    if fields.iter().any(|field| !is_header(field.key)) {
        // Perhaps the value, which may be a secret.
        section.hide_keys();
        let reason = ConfigReason::Invalid("expected names of headers in front of their values");
        section.refuse_section(reason, help);
        return headers;
    }
    for field in fields {
        let name = field.key.to_ascii_lowercase();
        if let Some(reason) = refused(&name) {
            section.tell(&field, ConfigReason::Invalid(reason), Some("remove it"));
        } else if let Some(value) = value(&mut section, &field)
            && headers.insert(name, value).is_some()
        {
            let reason = ConfigReason::Invalid("is the same header in another spelling");
            section.tell(&field, reason, Some("keep one of the two"));
        }
    }
    headers
}

/// What of the values is replaced wherever it occurs.
pub(super) fn secrets(headers: &BTreeMap<String, SecretString>) -> Vec<SecretString> {
    let words = headers.values().flat_map(secret::words);
    words
        .filter(|word| secret::length(word) >= SHORTEST_TOKEN)
        .collect()
}

/// RFC 9110, section 5.6.2.
fn is_header(name: &str) -> bool {
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    !name.is_empty() && name.len() <= 128 && name.bytes().all(fits)
}

fn value<'t>(section: &mut ConfigSection<'_, 't>, field: &ConfigField<'t>) -> Option<SecretString> {
    let text = section.secret_text(field)?;
    let value = text.value;
    let fits = |byte: u8| matches!(byte, b' '..=b'~');
    if value.is_empty() || value.len() > 4096 || !value.bytes().all(fits) || value.trim() != value {
        let reason = ConfigReason::Invalid("holds what no header holds");
        let help = "1 to 4096 visible ASCII characters, with spaces between them; is there a line \
                    end?";
        section.tell(field, reason, Some(help));
        return None;
    }
    let is_short = value.split(' ').all(|word| word.len() < SHORTEST_TOKEN);
    if is_short && text.source == TextSource::Variable {
        let reason = ConfigReason::Suspicious("is short: it can be guessed");
        let help = "use at least 8 bytes; the gate does not redact shorter values of headers in its \
                    messages, logs and records";
        section.tell(field, reason, Some(help));
    }
    Some(SecretString::from(value))
}

/// Why there is no other `Authorization`.
pub(super) const AUTHORIZATION_IS_WRITTEN: &str =
    "has `authorization`, which the gate writes because of `auth` or `identity`";

/// Whether the gate writes `Authorization` itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Authorization {
    Free,
    Taken,
}

/// Why a server's table may not have a header: what the gate sends itself, and what decides how a request
/// is read.
pub(super) fn refused_for_servers(name: &str, used: Authorization) -> Option<&'static str> {
    let of_connection = [
        "connection",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let of_gate = [
        "accept",
        "accept-encoding",
        "last-event-id",
        "traceparent",
        "tracestate",
    ];
    if of_connection.contains(&name) {
        Some("belongs to the connection, which the gate makes itself")
    } else if of_gate.contains(&name) || name.starts_with("content-") || name.starts_with("mcp-") {
        Some("is a header that the gate writes itself")
    } else if name == "authorization" {
        match used {
            Authorization::Free => None,
            Authorization::Taken => Some(AUTHORIZATION_IS_WRITTEN),
        }
    } else {
        None
    }
}
