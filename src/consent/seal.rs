//! What an agent without a session brings back with its answer: a ticket's number, sealed for one
//! request.

use ring::hmac;

use super::binding::Binding;
use super::ticket::TicketId;

/// What every sealed state begins with; a server's own begins with it only by imitating it.
const MARK: &str = "mcp-protector.consent.1.";

/// A key that lives as long as the gate: what was asked before a restart is asked again.
pub(super) struct Seal(hmac::Key);

impl Seal {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// A state that opens for this request alone.
    pub(super) fn close(&self, ticket: &TicketId, binding: &Binding) -> String {
        let tag = hmac::sign(&self.0, &sealed(ticket, binding));
        format!("{MARK}{ticket}.{}", hex(tag.as_ref()))
    }

    /// Digits for a number of this run.
    pub(super) fn digits(&self, number: u64) -> String {
        let tag = hmac::sign(&self.0, format!("number {number}").as_bytes());
        hex(tag.as_ref())
    }

    /// The ticket of a state that was sealed here for this request.
    pub(super) fn open(&self, state: &str, binding: &Binding) -> Option<TicketId> {
        let (ticket, tag) = state.strip_prefix(MARK)?.split_once('.')?;
        let ticket = TicketId::parse(ticket)?;
        let tag = bytes(tag)?;
        hmac::verify(&self.0, &sealed(&ticket, binding), &tag).ok()?;
        Some(ticket)
    }
}

/// Whether a state claims to be one of ours.
pub(super) fn is_ours(state: &str) -> bool {
    state.starts_with(MARK)
}

fn sealed(ticket: &TicketId, binding: &Binding) -> Vec<u8> {
    let mut text = ticket.as_str().as_bytes().to_vec();
    text.push(b'\n');
    text.extend(binding.of_all());
    text
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// The bytes that pairs of hexadecimal digits stand for.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    // In one spelling, so that no two states are the same one.
    let digit = |digit: char| digit.to_digit(16).filter(|_| !digit.is_ascii_uppercase());
    let digits: Option<Vec<u32>> = hex.chars().map(digit).collect();
    let pair = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high << 4 | low).ok(),
        _ => None,
    };
    digits?.chunks(2).map(pair).collect()
}

/// Never shows its key.
impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}
