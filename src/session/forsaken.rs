//! Which request something of the upstream's belongs to, and what is left of those that were given up.

use std::collections::HashSet;

use super::{Exchange, Ids, Session, State};

/// What is left of requests that were given up: agents that know nothing of each other may choose the
/// same tokens, and an upstream may go on with what nobody waits for.
#[derive(Debug, Default)]
pub struct Forsaken {
    any: bool,
    tokens: HashSet<String>,
}

/// Tokens that are kept; beyond these no token is told from one that was given up.
const MOST_TOKENS: usize = 1024;

impl Forsaken {
    /// This request gets no reply.
    pub fn note(&mut self, exchange: &Exchange) {
        self.any = true;
        if let Some(token) = &exchange.progress_token
            && self.tokens.len() <= MOST_TOKENS
        {
            self.tokens.insert(token.clone());
        }
    }

    fn has(&self, token: &str) -> bool {
        self.tokens.len() > MOST_TOKENS || self.tokens.contains(token)
    }
}

impl Session {
    /// The request whose progress is told under a token.
    pub fn in_progress<'e>(&self, state: &'e State, token: &'e str) -> Option<&'e Exchange> {
        let told = state.to_upstream.with_progress_token(token);
        self.newest_or_only(told, || state.forsaken.has(token))
    }

    /// The request that something belongs to which could belong to any of these.
    pub fn related<'e>(
        &self,
        state: &State,
        candidates: impl Iterator<Item = (u64, &'e Exchange)>,
    ) -> Option<&'e Exchange> {
        self.newest_or_only(candidates, || state.forsaken.any)
    }

    /// The newest. Where the askers know nothing of each other: the only one, as long as none was
    /// given up that is meant as well.
    fn newest_or_only<'e>(
        &self,
        mut candidates: impl Iterator<Item = (u64, &'e Exchange)>,
        was_given_up: impl FnOnce() -> bool,
    ) -> Option<&'e Exchange> {
        let related = match self.ids {
            Ids::OfSession => candidates.max_by_key(|(minted, _)| *minted),
            Ids::OfStream if was_given_up() => None,
            Ids::OfStream => candidates.next().filter(|_| candidates.next().is_none()),
        };
        related.map(|(_, exchange)| exchange)
    }
}
