//! Tokens, and what else both kinds of `auth` have.

use secrecy::SecretString;

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};
use crate::secret;

/// The length from which a secret is rarely part of ordinary text.
pub(super) const SHORTEST_TOKEN: usize = 8;

/// The length from which a token is hard to guess.
pub(super) const SHORTEST_AGENT_TOKEN: usize = 16;

/// How short a token may be, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenLength {
    /// A shorter token is an error.
    least: usize,
    /// A shorter token gets a warning.
    advised: usize,
}

/// What the gate shows to others.
pub(super) const SERVER_TOKEN: TokenLength = TokenLength {
    least: secret::SHORTEST,
    advised: SHORTEST_TOKEN,
};

/// What agents show to the gate, and those who read its metrics.
pub(super) const AGENT_TOKEN: TokenLength = TokenLength {
    least: secret::SHORTEST,
    advised: SHORTEST_AGENT_TOKEN,
};

/// What approvers show: a guess would answer for a person.
pub(super) const APPROVER_TOKEN: TokenLength = TokenLength {
    least: SHORTEST_AGENT_TOKEN,
    advised: SHORTEST_AGENT_TOKEN,
};

/// A token that fits behind `Bearer ` in a header.
pub(super) fn token_in<'t>(
    section: &mut ConfigSection<'_, 't>,
    field: &ConfigField<'t>,
    length: TokenLength,
) -> Option<SecretString> {
    let token = section.secret_text(field)?.value;
    if token.len() < length.least {
        let help = format!("at least {} bytes", length.least);
        section.tell(field, ConfigReason::BelowMinimum, Some(&help));
    } else if token.len() > 4096 {
        section.tell(
            field,
            ConfigReason::ExceedsMaximum,
            Some("at most 4096 bytes"),
        );
    } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let reason = ConfigReason::Invalid("holds what no token holds");
        let help = "only visible ASCII characters without spaces; is there a line end, or \
                    `Bearer ` in front?";
        section.tell(field, reason, Some(help));
    } else {
        if token.len() < length.advised {
            let reason = ConfigReason::Suspicious("is short: it can be guessed");
            let help = format!(
                "use at least {} bytes; the gate replaces these characters by `[redacted]` \
                 wherever they occur in its messages, logs and records, in ordinary words too",
                length.advised
            );
            section.tell(field, reason, Some(&help));
        }
        return Some(SecretString::from(token));
    }
    None
}

/// Says that a secret is missing, or there twice: in this file, and in one of its own.
pub(super) fn either(
    section: &mut ConfigSection<'_, '_>,
    [value, file]: [&'static str; 2],
    help: &str,
) {
    if !section.has(value) && !section.has(file) {
        section.require(value, ConfigReason::Required, help);
    } else if section.has(value) && section.has(file) {
        let reason = ConfigReason::Invalid(match value {
            "token" => "does not apply beside `token`",
            _ => "does not apply beside `client_secret`",
        });
        section.refuse(file, reason, Some("keep one of the two"));
    }
}

/// A text that is compared as it is written.
pub(super) fn word(section: &mut ConfigSection<'_, '_>, key: &'static str) -> Option<String> {
    let text = section.string(key)?;
    if text.is_empty() || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        let reason = ConfigReason::Invalid("expected a text without spaces");
        section.refuse(key, reason, None);
        return None;
    }
    Some(text)
}

pub(super) fn scopes(section: &mut ConfigSection<'_, '_>) -> Option<Vec<String>> {
    let help = "as in `[\"mcp:tools\"]`";
    section.each("scopes", help, |section, item| {
        section.read_item(item, help, |text| {
            // RFC 6749, section 3.3.
            let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
            if !text.is_empty() && text.bytes().all(fits) {
                Ok(text.to_owned())
            } else {
                Err(ConfigReason::Invalid(
                    "expected a scope without spaces and quotes",
                ))
            }
        })
    })
}
