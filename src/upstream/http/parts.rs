//! What all conversations with one server share.

use std::fmt;

use bytes::Bytes;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

use crate::wire::Mirrors;

use super::connections::{Asking, Connections, Response};
use super::credential::Credential;
use super::failure::Failure;
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
    ) -> Result<Response, Failure> {
        let attempt = self.reachability.begin(By::Conversation);
        let answered = self.ask(method, headers, body).await;
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
    pub(super) async fn ask(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, Failure> {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in &self.headers {
            headers.entry(name).or_insert_with(|| value.clone());
        }
        let mut asking = Asking {
            method,
            headers,
            body,
        };
        let Some(shown) = self.credential.present().await? else {
            return self.server.ask(asking).await;
        };
        let again = self.credential.is_renewed().then(|| asking.clone());
        asking.headers.insert(AUTHORIZATION, shown.header.clone());
        let response = self.server.ask(asking).await?;
        let Some(mut again) = again.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        else {
            return Ok(response);
        };
        match self.credential.instead_of(&shown).await {
            Some(other) => {
                again.headers.insert(AUTHORIZATION, other.header);
                self.server.ask(again).await
            }
            None => Ok(response),
        }
    }
}
