//! Shows servers the user of each message.

use std::sync::Arc;

use crate::assertion::SigningError;
use crate::session::{Instance, Session};
use crate::wire::{AgentToken, IDENTITY_MEMBER, Side, Stream};

use super::Gate;
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::oblige;
use super::own::OwnMessage;
use super::permit::Permit;
use super::rejection::{DENIED, INTERNAL, Property, Rejection};
use super::stage::Stage;
use super::stop::Stop;
use super::user_identity::{ShownIdentity, UserIdentities, UserIdentity, UserProof};

/// Shows servers the user of each message.
#[derive(Debug)]
pub(super) struct Vouching(pub(super) Arc<UserIdentities>);

impl UserIdentities {
    /// The messages of the gate in this session have the latest token of the agent that a server may have. One that
    /// may be forwarded is followed only by one that may be forwarded to the same servers.
    fn keep(&self, session: &Session, token: Option<&AgentToken>, now_ms: i64) {
        let Some(token) = token.filter(|token| self.is_useful(token, now_ms)) else {
            return;
        };
        let known = &mut session.state().agent_side.vouched.token;
        if known
            .as_ref()
            .is_none_or(|known| self.may_follow(token, known, now_ms))
        {
            *known = Some(token.clone());
        }
    }

    fn is_useful(&self, token: &AgentToken, now_ms: i64) -> bool {
        is_valid(token, now_ms)
            && self.all().any(|server| match server {
                UserIdentity::Forward(server) => token.is_for(server),
                UserIdentity::Exchange => true,
                UserIdentity::None | UserIdentity::Meta(_) | UserIdentity::Header(_) => false,
            })
    }

    fn may_follow(&self, token: &AgentToken, known: &AgentToken, now_ms: i64) -> bool {
        !is_valid(known, now_ms)
            || self.all().all(|server| match server {
                UserIdentity::Forward(server) => token.is_for(server) || !known.is_for(server),
                UserIdentity::Exchange
                | UserIdentity::None
                | UserIdentity::Meta(_)
                | UserIdentity::Header(_) => true,
            })
    }

    fn all(&self) -> impl Iterator<Item = &UserIdentity> {
        Instance::ALL.iter().map(|instance| self.of(*instance))
    }
}

impl Filter for Vouching {
    /// A message without a token for the server goes nowhere, whatever it asks for.
    fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        let identified = &cx.understood.identified;
        if identified.from != Side::Agent {
            return Ok(());
        }
        let token = cx.trail.carried.headers.token.as_ref();
        match self.0.of(identified.scene.run.instance) {
            UserIdentity::Forward(server) => {
                forwardable(token, server, cx.now.now_ms)?;
            }
            UserIdentity::Exchange => {
                exchangeable(token, cx.now.now_ms)?;
            }
            UserIdentity::None | UserIdentity::Meta(_) | UserIdentity::Header(_) => {}
        }
        self.0.keep(cx.session, token, cx.now.now_ms);
        Ok(())
    }

    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let identified = &cx.understood.identified;
        if identified.from == Side::Agent {
            let to = self.0.of(identified.scene.run.instance);
            let token = cx.trail.carried.headers.token.as_ref();
            cx.plan.user = shown(to, cx.session, token, cx.now.now_ms)?;
        }
        Flow::DONE
    }
}

impl Gate {
    /// Before the session moves for a message with this token: the handshake comes first.
    pub(super) fn keep_token(&self, session: &Session, token: Option<&AgentToken>) {
        let now_ms = self.clock.now().as_millisecond();
        self.settings.user_identities.keep(session, token, now_ms);
    }

    /// A message of the gate's own. To a server it speaks for the agent of its session, except where it
    /// tries the server out and there is none.
    pub(super) fn own_permit(
        &self,
        session: &Session,
        to: Side,
        stream: Stream,
        message: OwnMessage,
    ) -> Result<Permit, Rejection> {
        let shown = match to {
            Side::Agent => ShownIdentity::default(),
            Side::Upstream => self.shown_by_the_gate(session, session.run().instance)?,
        };
        self.own_permit_showing(&shown, (to, stream), message)
    }

    /// The same to this instance of the server, which the session may not speak to yet.
    pub(super) fn own_permit_to(
        &self,
        session: &Session,
        instance: Instance,
        stream: Stream,
        message: OwnMessage,
    ) -> Result<Permit, Rejection> {
        let shown = self.shown_by_the_gate(session, instance)?;
        self.own_permit_showing(&shown, (Side::Upstream, stream), message)
    }

    fn own_permit_showing(
        &self,
        shown: &ShownIdentity,
        (to, stream): (Side, Stream),
        message: OwnMessage,
    ) -> Result<Permit, Rejection> {
        let assertion = shown.assertion.as_deref();
        // A handshake is repeated with what another server was shown.
        let message = if assertion.is_some() || message.text().contains(IDENTITY_MEMBER) {
            let limits = self.limits(Side::Agent);
            let text = oblige::asserting(message.text(), assertion, limits)?;
            message.with_text(text)
        } else {
            message
        };
        let permit = Permit::own(to, stream, message, &self.settings.secrets);
        Ok(permit.with_proof(shown.proof.clone()))
    }

    /// Whether a message of the gate's own can be sent with what its receiver gets.
    ///
    /// # Errors
    /// It cannot: the gate does not send it.
    pub(super) fn check_identity(&self, session: &Session, to: Side) -> Result<(), Rejection> {
        match to {
            Side::Agent => Ok(()),
            Side::Upstream => self.check_identity_to(session, session.run().instance),
        }
    }

    /// The same to this instance of the server.
    ///
    /// # Errors
    /// The same.
    pub(super) fn check_identity_to(
        &self,
        session: &Session,
        instance: Instance,
    ) -> Result<(), Rejection> {
        self.shown_by_the_gate(session, instance).map(|_| ())
    }

    fn shown_by_the_gate(
        &self,
        session: &Session,
        instance: Instance,
    ) -> Result<ShownIdentity, Rejection> {
        let token = {
            let state = session.state();
            if state.protocol.trial.is_some() {
                return Ok(ShownIdentity::default());
            }
            state.agent_side.vouched.token.clone()
        };
        let server = self.settings.user_identities.of(instance);
        let now_ms = self.clock.now().as_millisecond();
        shown(server, session, token.as_ref(), now_ms)
    }
}

/// What shows this server the agent of a session.
fn shown(
    server: &UserIdentity,
    session: &Session,
    token: Option<&AgentToken>,
    now_ms: i64,
) -> Result<ShownIdentity, Rejection> {
    let (mut assertion, mut proof) = (None, None);
    match server {
        UserIdentity::None => {}
        UserIdentity::Meta(audience) => {
            let signed = audience.voucher(session).assertion();
            assertion = Some(signed.map_err(unavailable)?);
        }
        UserIdentity::Header(audience) => {
            let voucher = audience.voucher(session);
            // What cannot be signed is rejected here, where its sender can be told.
            voucher.assertion().map_err(unavailable)?;
            proof = Some(UserProof::Assertion(voucher));
        }
        UserIdentity::Forward(server) => {
            let token = forwardable(token, server, now_ms)?;
            proof = Some(UserProof::Token(token.clone()));
        }
        UserIdentity::Exchange => {
            proof = Some(UserProof::Subject(exchangeable(token, now_ms)?.clone()));
        }
    }
    Ok(ShownIdentity { assertion, proof })
}

fn is_valid(token: &AgentToken, now_ms: i64) -> bool {
    token.is_valid_at(now_ms.div_euclid(1000))
}

/// # Errors
/// The agent's message has no token that this server may have.
fn forwardable<'t>(
    token: Option<&'t AgentToken>,
    server: &str,
    now_ms: i64,
) -> Result<&'t AgentToken, Rejection> {
    let Some(token) = token.filter(|token| token.is_for(server)) else {
        let text = format!(
            "the agent's token was not issued for the server: its `aud` does not have `{server}` \
             (`identity_audience`)"
        );
        return Err(not_for_server(text).with_text_for_agents(format!(
            "your token was not issued for the server: get one whose `aud` has `{server}`, too"
        )));
    };
    if is_valid(token, now_ms) {
        Ok(token)
    } else {
        let text = "the agent's token has expired, so the gate does not forward it";
        let to_agent = "your token has expired: get a new one, and send the request again";
        Err(not_for_server(text.to_owned()).with_text_for_agents(to_agent.to_owned()))
    }
}

/// # Errors
/// The agent's message has no token that could be exchanged.
fn exchangeable(token: Option<&AgentToken>, now_ms: i64) -> Result<&AgentToken, Rejection> {
    let (text, to_agent) = match token {
        Some(token) if is_valid(token, now_ms) => return Ok(token),
        Some(_) => (
            "the agent's token has expired, so the gate does not exchange it",
            "your token has expired: get a new one, and send the request again",
        ),
        None => (
            "there is no token of the agent that the gate could exchange for one of the server",
            "the gate has no token of yours that it could exchange for one of the server",
        ),
    };
    let rejection = Rejection::new(
        Stage::Identify,
        "token_exchange_failed",
        DENIED,
        text.to_owned(),
    );
    Err(rejection
        .with_reason_in_answer()
        .with_properties(&[Property::NoToken])
        .with_text_for_agents(to_agent.to_owned()))
}

fn not_for_server(text: String) -> Rejection {
    Rejection::new(Stage::Identify, "token_not_for_server", DENIED, text).with_reason_in_answer()
}

fn unavailable(cause: SigningError) -> Rejection {
    let text = format!("the gate cannot tell the server who the user is: {cause}");
    Rejection::new(Stage::Oblige, "identity_unavailable", INTERNAL, text).into_error()
}
