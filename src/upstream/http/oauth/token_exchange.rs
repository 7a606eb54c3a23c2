//! One access token in exchange for an agent's (RFC 8693, section 2).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::HeaderValue;
use secrecy::SecretString;
use tokio::sync::Semaphore;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::clock::Clock;
use crate::outward::{HttpClient, HttpResponse, UrlTrust};
use crate::secret;
use crate::wire::AgentToken;

use super::super::conceal::Conceal;
use super::super::settings::{HttpClientError, HttpSettings};
use super::super::tls::client_tls;
use super::client_secret;
use super::exchange::{Granted, Renewal, answered};
use super::exchanged_token::{self, RequestedToken};
use super::fault::{Of, TokenFault};
use super::places::resource_of;
use super::settings::{Actor, TokenExchange};

/// Bytes of an answer with a token.
const MAX_BYTES: usize = 128 * 1024;

/// The gate accepts an agent's token for so long after its `exp`, since clocks differ; it is not exchanged then.
const ACCEPTED_LATE: Duration = Duration::from_secs(30);

/// A token is not shown in the last part of its life: this much, or a fifth of it.
const MARGIN: Duration = Duration::from_secs(10);

/// For so long no token is asked for after the authorization server did not accept the gate itself: others may
/// count that.
const REFUSED: Duration = Duration::from_secs(30);

/// Tokens that are asked for at one time: agents with many tokens send the authorization server no more.
pub(in super::super) const MOST_AT_ONCE: usize = 32;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// The agent's token that another one is wanted for, where there is an agent. It is never kept here.
pub(in super::super) type Subject<'a> = Option<&'a AgentToken>;

impl TokenExchange {
    /// For whom a token is asked for at this server; empty is nothing at all.
    pub fn resource_for(&self, server: &Url) -> String {
        match (&self.resource, &self.audience) {
            (Some(resource), _) => resource.clone(),
            (None, Some(_)) => String::new(),
            (None, None) => resource_of(server),
        }
    }
}

/// Gets tokens for one server.
pub(super) struct SubjectExchange {
    written: TokenExchange,
    /// What the token is asked for, unless that is empty.
    resource: String,
    asker: HttpClient,
    conceal: Arc<dyn Conceal>,
    clock: Arc<dyn Clock>,
    /// Why and until when nothing is asked, for whichever agent.
    refused: Mutex<Option<(&'static str, Duration)>>,
    turns: Semaphore,
}

/// What goes along with the agent's token.
struct Sent {
    client: Option<SecretString>,
    actor: Option<SecretString>,
}

impl SubjectExchange {
    /// Files are read to see whether they can be; nothing is asked of anybody.
    pub(super) fn new(
        written: &TokenExchange,
        settings: &HttpSettings,
    ) -> Result<Self, HttpClientError> {
        let setup = |cause: String| HttpClientError::Setup { cause };
        UrlTrust::Configured
            .check(&written.token_url)
            .map_err(|cause| setup(format!("`upstream.auth.token_url`: {cause}")))?;
        let tls = client_tls(&written.token_url, settings.ca_file.as_deref())?;
        let conceal = Arc::clone(&settings.conceal);
        if let Some(secret) = written.client.as_ref().and_then(|it| it.secret.as_ref()) {
            client_secret::check(secret, "upstream.auth.client_secret_file", &*conceal)?;
        }
        if let Some(actor) = &written.actor {
            client_secret::check(&actor.token, "upstream.auth.actor_token_file", &*conceal)?;
        }
        Ok(Self {
            written: written.clone(),
            resource: written.resource_for(&settings.url),
            asker: HttpClient::new(tls, UrlTrust::Configured),
            conceal,
            clock: Arc::clone(&settings.clock),
            refused: Mutex::default(),
            turns: Semaphore::new(MOST_AT_ONCE),
        })
    }

    /// A token for the server that is good no longer than the agent's.
    pub(super) async fn token(&self, subject: Subject<'_>) -> Result<Granted, TokenFault> {
        let subject = subject.ok_or(TokenFault::NoAgent)?;
        // It is never closed.
        let _turn = self.turns.acquire().await;
        self.lifetime_of(subject)?;
        self.check_refused()?;
        let sent = self.sent().await?;
        let (form, authorization) = self.request(subject, &sent);
        let url = &self.written.token_url;
        let answer = self.asker.post(url, form, authorization, MAX_BYTES).await;
        let of = Of::Endpoint;
        let answer = answer.map_err(|cause| TokenFault::Unasked { of, cause })?;
        let granted = self.granted(&answer, subject, &sent);
        if let Err(TokenFault::Refused(name)) = granted {
            let until = self.clock.elapsed() + REFUSED;
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, until));
        }
        granted
    }

    /// One client is refused for all agents.
    fn check_refused(&self) -> Result<(), TokenFault> {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refused {
            Some((name, until)) if self.clock.elapsed() < until => Err(TokenFault::Refused(name)),
            Some(_) | None => Ok(()),
        }
    }

    /// How long the agent's token is good.
    fn lifetime_of(&self, subject: &AgentToken) -> Result<Duration, TokenFault> {
        let left = subject.until().saturating_sub(self.now());
        let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
        let left = left.saturating_sub(ACCEPTED_LATE);
        if left.is_zero() {
            return Err(TokenFault::Expiring);
        }
        Ok(left)
    }

    /// Read now, so that they are the ones that are meant now.
    async fn sent(&self) -> Result<Sent, TokenFault> {
        let client = self.written.client.as_ref();
        let mut sent = Sent {
            client: None,
            actor: None,
        };
        if let Some(secret) = client.and_then(|it| it.secret.as_ref()) {
            sent.client = Some(client_secret::present(secret, &self.conceal).await?);
        }
        if let Some(actor) = &self.written.actor {
            sent.actor = Some(client_secret::present(&actor.token, &self.conceal).await?);
        }
        Ok(sent)
    }

    /// The form and what stands in the header.
    fn request(&self, subject: &AgentToken, sent: &Sent) -> (String, Option<HeaderValue>) {
        let written = &self.written;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", GRANT);
        let mut authorization = None;
        match (&written.client, &sent.client) {
            (Some(client), Some(secret)) => {
                authorization = client_secret::show(&mut form, &client.id, secret, client.auth);
            }
            (Some(client), None) => {
                form.append_pair("client_id", &client.id);
            }
            (None, _) => {}
        }
        if !self.resource.is_empty() {
            form.append_pair("resource", &self.resource);
        }
        if let Some(audience) = &written.audience {
            form.append_pair("audience", audience);
        }
        if !written.scopes.is_empty() {
            form.append_pair("scope", &written.scopes.join(" "));
        }
        form.append_pair("requested_token_type", written.requested_type.urn());
        secret::append(&mut form, "subject_token", subject.text());
        form.append_pair("subject_token_type", written.subject_type.urn());
        if let (Some(actor), Some(Actor { token_type, .. })) = (&sent.actor, &written.actor) {
            secret::append(&mut form, "actor_token", actor);
            form.append_pair("actor_token_type", token_type.urn());
        }
        (form.finish(), authorization)
    }

    fn granted(
        &self,
        answer: &HttpResponse,
        subject: &AgentToken,
        sent: &Sent,
    ) -> Result<Granted, TokenFault> {
        let read = answered(answer).map_err(of_exchange)?;
        let actor = sent.actor.as_ref().and_then(exchanged_token::subject_of);
        let tokens: Vec<_> = [Some(subject.text()), sent.actor.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        let targets: Vec<_> = [Some(&*self.resource), self.written.audience.as_deref()]
            .into_iter()
            .flatten()
            .filter(|target| !target.is_empty())
            .collect();
        let asked = RequestedToken {
            scopes: &self.written.scopes,
            targets: &targets,
            actor: actor.as_deref(),
            sent: &tokens,
            now: self.now(),
        };
        let of = Of::Endpoint;
        let (token, lifetime) = exchanged_token::read(read.root(), &asked)
            .map_err(|what| TokenFault::Unfit { of, what })?;
        let most = self.written.max_lifetime.min(self.lifetime_of(subject)?);
        let lifetime = lifetime.map_or(most, |lifetime| lifetime.min(most));
        Ok(Granted {
            token,
            lifetime: Some(lifetime.saturating_sub(MARGIN.min(lifetime / 5))),
            renewal: Renewal::Late,
        })
    }

    /// Seconds since 1970.
    fn now(&self) -> i64 {
        self.clock.now().as_second()
    }
}

/// Whether the authorization server refuses the gate, or this agent's token (RFC 6749, section 5.2; RFC 8693,
/// section 2.2.2). What an agent's token may be the reason of keeps no other agent away.
fn of_exchange(fault: TokenFault) -> TokenFault {
    if let TokenFault::Refused(name) = fault
        && !matches!(name, "invalid_client" | "unsupported_grant_type")
    {
        return TokenFault::NotExchanged(name);
    }
    fault
}
