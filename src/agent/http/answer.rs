//! The path of one HTTP request.

use std::net::IpAddr;

use hyper::body::{Body, Incoming};
use hyper::header::ORIGIN;
use hyper::http::request::Parts;
use hyper::{Method, Request, Version};

use crate::identity::Credential;
use crate::inward::{self, Misframed};

use super::alarm::Alarm;
use super::refusal::{Origin, Refused, Rejection};
use super::respond::{self, Response};
use super::server::{Asked, Server};
use super::{body, fields, listen, post, share};

/// The connection that brings a request.
#[derive(Debug, Clone, Copy)]
struct Sender<'c> {
    peer: IpAddr,
    alarm: &'c Alarm,
}

impl Server {
    /// Answers one request. What is checked first costs least, and is known to fewest.
    pub(super) async fn answer(
        &self,
        peer: IpAddr,
        request: Request<Incoming>,
        alarm: &Alarm,
    ) -> Response {
        let (parts, mut body) = request.into_parts();
        let mut from = Origin::default();
        let is_old = parts.version == Version::HTTP_10;
        let mut response = match self
            .take(&parts, &mut body, Sender { peer, alarm }, &mut from)
            .await
        {
            Ok(response) => response,
            Err(rejection) => {
                if !body.is_end_stream() {
                    let patience = self.settings.body_deadline;
                    tokio::spawn(body::discard(body, patience, self.stopping()));
                }
                self.record(peer, &rejection.refused, from);
                respond::refusal(&rejection, self.authenticate.resource())
            }
        };
        if let Some(origin) = parts.headers.get(ORIGIN)
            && let Ok(name) = origin.to_str()
            && self.door.check_origin(Some(name)).is_ok()
        {
            share::share(&mut response, origin);
        }
        if is_old {
            inward::last(&mut response);
        }
        response
    }

    /// Answers what is no request.
    pub(super) fn refuse(&self, peer: IpAddr, misframed: Misframed) -> Response {
        let rejection = Rejection::from(Refused::Misframed(misframed));
        self.record(peer, &rejection.refused, Origin::default());
        respond::refusal(&rejection, None)
    }

    async fn take(
        &self,
        parts: &Parts,
        body: &mut Incoming,
        sender: Sender<'_>,
        from: &mut Origin,
    ) -> Result<Response, Rejection> {
        let Sender { peer, alarm } = sender;
        fields::refuse_repeated(&parts.headers)?;
        self.door
            .check_host(fields::text(&parts.headers, "Host")?, &parts.uri)?;
        let origin = fields::text(&parts.headers, "Origin")?;
        self.door.check_origin(origin)?;
        let path = parts.uri.path();
        let endpoint = self.settings.endpoints.at(path);
        if endpoint.is_none() && !self.settings.is_below_endpoints(path) {
            return Ok(self.beside(&parts.method, path)?);
        }
        from.endpoint = endpoint;
        if parts.method == Method::OPTIONS && origin.is_some() {
            return Ok(share::preflight(&parts.headers));
        }
        let Credential {
            identity,
            term,
            work,
            token,
        } = self
            .authenticate
            .identify(&parts.headers, peer)
            .await
            .map_err(Refused::Challenge)?;
        let identity = fields::in_session(identity, &parts.headers, &self.settings)?;
        from.subject = Some(identity.subject.clone());
        let endpoint = endpoint.ok_or(Refused::Path)?;
        if !(self.lets_in)(&identity, endpoint) {
            return Err(Refused::NotForAgent.into());
        }
        let asked = Asked {
            parts,
            endpoint,
            identity: &identity,
            work: work.as_ref(),
            token: token.as_ref(),
            term: &term,
            peer,
            alarm,
        };
        match parts.method {
            Method::POST => post::post(self, &asked, body).await,
            Method::GET => Ok(listen::get(self, &asked)?),
            Method::DELETE => Ok(listen::delete(self, &asked)?),
            _ => Err(Refused::Method("POST, GET, DELETE").into()),
        }
    }

    /// What is not the protocol's: open to everybody who came through the door.
    fn beside(&self, method: &Method, path: &str) -> Result<Response, Refused> {
        let resource = self.authenticate.resource();
        let document = resource.filter(|resource| resource.serves(path));
        if path != "/health" && document.is_none() {
            return Err(Refused::Path);
        }
        // What answers HEAD is written without its body.
        if ![Method::GET, Method::HEAD].contains(method) {
            return Err(Refused::Method("GET, HEAD"));
        }
        Ok(match document {
            Some(document) => respond::json(200, document.document().to_owned().into()),
            None => respond::health((self.health)()),
        })
    }
}
