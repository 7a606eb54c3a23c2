//! What is left of requests that were given up.

use std::collections::HashSet;

use super::pending::Exchange;

/// What is left of requests that were given up: agents that know nothing of each other may choose the
/// same tokens, and an upstream may go on with what nobody waits for.
#[derive(Debug, Default)]
pub struct Forsaken {
    pub(super) any: bool,
    tokens: HashSet<String>,
}

/// Tokens that are kept; beyond these no token is told from one that was given up.
const MOST_TOKENS: usize = 1024;

impl Forsaken {
    /// This request gets no reply.
    pub fn note(&mut self, exchange: &Exchange) {
        self.any = true;
        if let Some(token) = &exchange.asks.progress_token
            && self.tokens.len() <= MOST_TOKENS
        {
            self.tokens.insert(token.clone());
        }
    }

    pub(super) fn has(&self, token: &str) -> bool {
        self.tokens.len() > MOST_TOKENS || self.tokens.contains(token)
    }
}
