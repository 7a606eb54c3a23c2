//! The present access token, and when another one is needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::timeout;

use crate::clock::Clock;
use crate::secret;
use crate::upstream::{Backoff, Delays};

use super::super::bearer::{Shown, bearer};
use super::super::conceal::Conceal;
use super::super::connections::Connections;
use super::super::failure::Failure;
use super::super::settings::{HttpClientError, HttpSettings};
use super::exchange::{Exchange, Granted, Renewal};
use super::fault::{Of, TokenFault};
use super::settings::ClientCredentials;
use super::token_exchange::{Subject, SubjectExchange};

/// A token is renewed when a fifth of its life is left, or this much.
const MARGIN: Duration = Duration::from_mins(1);

/// Bytes that an access token has at least. Those of issuers have 20 and more.
const SHORTEST_TOKEN: usize = 16;

/// Of the renewals because a server refused a token, as many as one in this time: a server that refuses
/// whatever it is shown costs the authorization server no more.
const BETWEEN: Duration = Duration::from_secs(30);

/// The same after the authorization server has refused the gate, which others may count.
const REFUSED: Duration = Duration::from_secs(30);

/// For one token, metadata included.
const PATIENCE: Duration = Duration::from_secs(20);

/// Tokens for all conversations with one server, or for those that one agent's token began.
pub(in super::super) struct AccessTokens {
    source: TokenSource,
    server: String,
    conceal: Arc<dyn Conceal>,
    clock: Arc<dyn Clock>,
    /// Of the next token.
    numbers: Arc<AtomicU64>,
    state: Mutex<State>,
    /// Held by the one who fetches.
    turn: tokio::sync::Mutex<()>,
}

/// Where tokens come from.
enum TokenSource {
    Client(Box<Exchange>),
    Subject(Arc<SubjectExchange>),
}

struct State {
    held: Option<Held>,
    failed: Option<Failed>,
    /// When a token was last renewed because the server refused it.
    replaced: Option<Duration>,
    delays: Delays,
}

struct Held {
    shown: Shown,
    token: SecretString,
    renew: Option<Duration>,
    expires: Option<Duration>,
}

struct Failed {
    fault: TokenFault,
    /// Until then nothing is asked.
    until: Duration,
}

/// Why a token is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// There is none that is good for long enough.
    Age,
    /// The server has refused the one with this number.
    Refusal(u64),
}

impl AccessTokens {
    /// Has asked no authorization server yet. `upstream` is for the protected server itself.
    pub(in super::super) fn new(
        credentials: &ClientCredentials,
        settings: &HttpSettings,
        upstream: Connections,
    ) -> Result<Self, HttpClientError> {
        let exchange = Exchange::new(credentials, settings, upstream)?;
        let source = TokenSource::Client(Box::new(exchange));
        Ok(Self::of(source, Arc::default(), settings))
    }

    /// Tokens in exchange for one agent's, numbered with those of others.
    pub(super) fn in_exchange(
        exchange: Arc<SubjectExchange>,
        numbers: Arc<AtomicU64>,
        settings: &HttpSettings,
    ) -> Self {
        Self::of(TokenSource::Subject(exchange), numbers, settings)
    }

    fn of(source: TokenSource, numbers: Arc<AtomicU64>, settings: &HttpSettings) -> Self {
        // Somebody waits for the first ones; later ones are not asked for in vain too often.
        let delays = Delays::new(&Backoff {
            first: Duration::from_secs(1),
            max: Duration::from_mins(2),
            seed: settings.backoff.seed,
            ..Backoff::default()
        });
        Self {
            source,
            server: settings.name.clone(),
            conceal: Arc::clone(&settings.conceal),
            clock: Arc::clone(&settings.clock),
            numbers,
            state: Mutex::new(State {
                held: None,
                failed: None,
                replaced: None,
                delays,
            }),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    pub(in super::super) async fn present(
        self: &Arc<Self>,
        subject: Subject<'_>,
    ) -> Result<Shown, Failure> {
        if let Some(shown) = self.good() {
            if self.is_needed(Cause::Age) {
                let (own, subject) = (Arc::clone(self), subject.cloned());
                tokio::spawn(async move { own.fetch(Cause::Age, subject.as_ref()).await });
            }
            let concealed = self.conceal_again();
            concealed.map_err(|fault| Failure::NoToken(told(&fault)))?;
            return Ok(shown);
        }
        self.fetch(Cause::Age, subject).await;
        self.good().ok_or_else(|| {
            let state = self.lock();
            let fault = state.failed.as_ref().map(|failed| &failed.fault);
            let cause = fault.map_or_else(|| "there is no access token".to_owned(), told);
            match &self.source {
                TokenSource::Client(_) => Failure::Unreachable(cause),
                TokenSource::Subject(_) => Failure::NoToken(cause),
            }
        })
    }

    /// Another token than the one that was refused, if there is one or can be.
    pub(in super::super) async fn instead_of(
        self: &Arc<Self>,
        refused: &Shown,
        subject: Subject<'_>,
    ) -> Option<Shown> {
        let other = || self.good().filter(|it| it.number != refused.number);
        if let Some(other) = other() {
            return Some(other);
        }
        self.fetch(Cause::Refusal(refused.number), subject).await;
        other()
    }

    /// One of many is known to the redactor for as long as it is shown.
    fn conceal_again(&self) -> Result<(), TokenFault> {
        let token = self.lock().held.as_ref().map(|held| held.token.clone());
        match (&self.source, token) {
            (TokenSource::Subject(_), Some(token)) => Ok(self.conceal.conceal(&token)?),
            (TokenSource::Client(_), _) | (TokenSource::Subject(_), None) => Ok(()),
        }
    }

    /// Whether there is a token that can be shown.
    pub(super) fn has_good(&self) -> bool {
        self.good().is_some()
    }

    /// The token that can be shown.
    fn good(&self) -> Option<Shown> {
        let now = self.clock.elapsed();
        let state = self.lock();
        let held = state.held.as_ref()?;
        let good = held.expires.is_none_or(|at| now < at);
        good.then(|| held.shown.clone())
    }

    /// Whether it is time to ask for a token.
    fn is_needed(&self, cause: Cause) -> bool {
        let now = self.clock.elapsed();
        let state = self.lock();
        if state.failed.as_ref().is_some_and(|it| now < it.until) {
            return false;
        }
        match (cause, &state.held) {
            (_, None) => true,
            (Cause::Age, Some(held)) => held.renew.is_some_and(|at| now >= at),
            (Cause::Refusal(number), Some(held)) => {
                let late = state.replaced.is_none_or(|at| now >= at + BETWEEN);
                held.shown.number == number && late
            }
        }
    }

    /// On its own: whoever asked may go away, and must not take the turn of all along. Whoever comes
    /// second finds what the first one fetched.
    async fn fetch(self: &Arc<Self>, cause: Cause, subject: Subject<'_>) {
        let (own, subject) = (Arc::clone(self), subject.cloned());
        let turn = tokio::spawn(async move {
            let _turn = own.turn.lock().await;
            if own.is_needed(cause) {
                own.attempt(cause, subject.as_ref()).await;
            }
        });
        // One that panicked has fetched nothing.
        let _ = turn.await;
    }

    async fn attempt(&self, cause: Cause, subject: Subject<'_>) {
        let began = self.clock.elapsed();
        if cause != Cause::Age {
            self.lock().replaced = Some(began);
        }
        let fetched = timeout(PATIENCE, async {
            match &self.source {
                TokenSource::Client(exchange) => exchange.token().await,
                TokenSource::Subject(exchange) => exchange.token(subject).await,
            }
        });
        let fetched = fetched.await;
        let fetched = fetched.unwrap_or(Err(TokenFault::Late));
        match fetched.and_then(|granted| self.held(&granted, began)) {
            Ok(held) => {
                let mut state = self.lock();
                let before = state.failed.take();
                state.held = Some(held);
                state.delays.reset();
                if before.is_some() {
                    tracing::info!(server = %self.server, "there is an access token again");
                }
            }
            Err(fault) => self.failed(fault),
        }
    }

    /// From when this returns the token may be shown.
    fn held(&self, granted: &Granted, began: Duration) -> Result<Held, TokenFault> {
        let of = Of::Endpoint;
        let what = "holds an `access_token` that is none (RFC 6750, section 2.1)";
        let header = bearer(&granted.token).ok_or(TokenFault::Unfit { of, what })?;
        // Each occurrence of a token is taken out of all that passes, so that one which is an
        // ordinary word would be taken out of what is not meant.
        let what = "holds an `access_token` that is too short to be one";
        if secret::length(&granted.token) < SHORTEST_TOKEN {
            return Err(TokenFault::Unfit { of, what });
        }
        self.conceal.conceal(&granted.token)?;
        let expires = granted.lifetime.map(|it| began + it);
        if expires.is_some_and(|at| at <= self.clock.elapsed()) {
            return Err(TokenFault::Over);
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let early = |lifetime: Duration| match granted.renewal {
            Renewal::Early => lifetime.saturating_sub(MARGIN.min(lifetime / 5)),
            Renewal::Late => lifetime,
        };
        Ok(Held {
            shown: Shown { header, number },
            token: granted.token.clone(),
            renew: granted.lifetime.map(|it| began + early(it)),
            expires,
        })
    }

    fn failed(&self, fault: TokenFault) {
        let mut state = self.lock();
        let mut delay = state.delays.next_delay();
        if fault.is_refusal() {
            delay = delay.max(REFUSED);
        }
        let (server, again) = (&self.server, delay.as_secs_f32());
        tracing::error!(%server, "no access token: {fault}; the next attempt is in {again:.1} s at the earliest");
        let until = self.clock.elapsed() + delay;
        state.failed = Some(Failed { fault, until });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn told(fault: &TokenFault) -> String {
    format!("no access token: {fault}")
}
