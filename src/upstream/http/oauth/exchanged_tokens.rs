//! The tokens that the gate has in exchange for those of agents: each for one server and one token of an agent.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::hmac;
use ring::rand::SystemRandom;

use crate::secret;
use crate::wire::AgentToken;

use super::super::bearer::Shown;
use super::super::failure::Failure;
use super::super::settings::{HttpClientError, HttpSettings};
use super::settings::TokenExchange;
use super::token_exchange::{Subject, SubjectExchange};
use super::tokens::AccessTokens;

/// Tokens of agents for which one server's tokens are kept. The redactor knows as many.
pub const MAX_EXCHANGED_TOKENS: usize = 256;

/// Tokens for one server, each for one token of an agent.
pub(in super::super) struct ExchangedTokens {
    exchange: Arc<SubjectExchange>,
    settings: HttpSettings,
    /// Tells the tokens of agents apart, so that none of them is kept. Made at the start, and written nowhere.
    key: hmac::Key,
    /// One count for all tokens: a forgotten one has the number of no later one.
    numbers: Arc<AtomicU64>,
    known: Mutex<KnownSubjects>,
}

#[derive(Default)]
struct KnownSubjects {
    of: HashMap<[u8; 32], ForSubject>,
    /// How often one was used.
    uses: u64,
}

struct ForSubject {
    tokens: Arc<AccessTokens>,
    /// Seconds since 1970.
    until: i64,
    last_use: u64,
}

impl ExchangedTokens {
    /// Has asked no authorization server yet.
    pub(in super::super) fn new(
        written: &TokenExchange,
        settings: &HttpSettings,
    ) -> Result<Self, HttpClientError> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        let key = key.map_err(|_| HttpClientError::Setup {
            cause: "there are no random numbers".to_owned(),
        })?;
        Ok(Self {
            exchange: Arc::new(SubjectExchange::new(written, settings)?),
            settings: settings.clone(),
            key,
            numbers: Arc::default(),
            known: Mutex::default(),
        })
    }

    pub(in super::super) async fn present(&self, subject: Subject<'_>) -> Result<Shown, Failure> {
        let Some(token) = subject else {
            return Err(Failure::NoToken(
                "the server needs a token of the agent, and there is no agent".to_owned(),
            ));
        };
        if !token.is_valid_at(self.now()) {
            return Err(Failure::NoToken("the agent's token has expired".to_owned()));
        }
        self.tokens_of(token).present(subject).await
    }

    pub(in super::super) async fn instead_of(
        &self,
        refused: &Shown,
        subject: Subject<'_>,
    ) -> Option<Shown> {
        let tokens = self.tokens_of(subject?);
        tokens.instead_of(refused, subject).await
    }

    /// The same bytes are the same agent with the same rights, and only those.
    fn tokens_of(&self, subject: &AgentToken) -> Arc<AccessTokens> {
        let name = secret::keyed(&self.key, subject.text());
        let now = self.now();
        let mut known = self.known();
        known.uses += 1;
        let last_use = known.uses;
        known.of.retain(|_, it| now < it.until);
        if !known.of.contains_key(&name) && known.of.len() >= MAX_EXCHANGED_TOKENS {
            known.forget_one();
        }
        let entry = known.of.entry(name).or_insert_with(|| ForSubject {
            tokens: Arc::new(AccessTokens::in_exchange(
                Arc::clone(&self.exchange),
                Arc::clone(&self.numbers),
                &self.settings,
            )),
            until: subject.until(),
            last_use,
        });
        entry.last_use = last_use;
        Arc::clone(&entry.tokens)
    }

    /// Seconds since 1970.
    fn now(&self) -> i64 {
        self.settings.clock.now().as_second()
    }

    fn known(&self) -> MutexGuard<'_, KnownSubjects> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownSubjects {
    /// The one that was used longest ago, of those without a token where there are any.
    fn forget_one(&mut self) {
        let oldest = self
            .of
            .iter()
            .min_by_key(|(_, it)| (it.tokens.has_good(), it.last_use));
        if let Some(name) = oldest.map(|(name, _)| *name) {
            self.of.remove(&name);
        }
    }
}
