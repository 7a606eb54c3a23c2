//! What all conversations with one server share.

use std::fmt;

use bytes::Bytes;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

use crate::wire::Mirrors;

use super::connections::{Asking, Connections, Response};
use super::credential::Credential;
use super::failure::Failure;
use super::oauth::Subject;
use super::reach::{Attempt, By, Reachability};
use super::settings::HttpSettings;

pub(super) struct Parts {
    pub(super) settings: HttpSettings,
    pub(super) credential: Credential,
    /// The configured ones.
    pub(super) headers: HeaderMap,
    pub(super) server: Connections,
    /// What the log calls it.
    pub(super) origin: String,
    /// The tools are the same for all conversations, which show the same token.
    pub(super) mirrors: Mirrors,
    pub(super) reachability: Reachability,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Parts {
    /// Sends a request and notes whether the server could be reached.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
        subject: Subject<'_>,
    ) -> Result<Response, Failure> {
        let attempt = self.reachability.begin(By::Conversation);
        let answered = self.ask(method, headers, body, subject).await;
        self.note(&attempt, &answered);
        answered
    }

    pub(super) fn note(&self, attempt: &Attempt, answered: &Result<Response, Failure>) {
        let now = self.settings.clock.elapsed();
        let answered = answered.as_ref().map(Response::status);
        self.reachability.note(attempt, answered, &self.origin, now);
    }

    /// The server has answered a message with this status, and not with a message.
    pub(super) fn refused(&self, status: StatusCode) {
        let now = self.settings.clock.elapsed();
        self.reachability.refused(status, &self.origin, now);
    }

    /// Sends a request: a second time if the server refuses the token and there is another one. What
    /// was refused with 401 was not looked at, so that nothing is done twice.
    ///
    /// `subject` is the agent's token where the credential is got in exchange for it.
    pub(super) async fn ask(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
        subject: Subject<'_>,
    ) -> Result<Response, Failure> {
        let mut asking = self.asking(method, headers, body);
        let Some(shown) = self.credential.present(subject).await? else {
            return self.server.ask(asking).await;
        };
        let again = self.credential.is_renewed().then(|| asking.clone());
        asking.headers.insert(AUTHORIZATION, shown.header.clone());
        let response = self.server.ask(asking).await?;
        let Some(mut again) = again.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        else {
            return Ok(response);
        };
        match self.credential.instead_of(&shown, subject).await {
            Some(other) => {
                again.headers.insert(AUTHORIZATION, other.header);
                self.server.ask(again).await
            }
            None => Ok(response),
        }
    }

    /// Looks whether the server is there, for no agent: without a token where only agents have one.
    pub(super) async fn probe(&self, headers: HeaderMap) -> Result<Response, Failure> {
        if self.credential.needs_an_agent() {
            return self
                .server
                .ask(self.asking(Method::GET, headers, None))
                .await;
        }
        self.ask(Method::GET, headers, None, None).await
    }

    /// Whose attempt such a look is.
    pub(super) fn prober(&self) -> By {
        if self.credential.needs_an_agent() {
            By::Anonymous
        } else {
            By::Gate
        }
    }

    fn asking(&self, method: Method, mut headers: HeaderMap, body: Option<Bytes>) -> Asking {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in &self.headers {
            headers.entry(name).or_insert_with(|| value.clone());
        }
        Asking {
            method,
            headers,
            body,
        }
    }
}
