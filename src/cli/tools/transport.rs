//! The way to the server, whether it is started or reached over HTTP: by what a gate uses, with what a
//! gate shows. It has no agent, so that nothing is evaluated.

use crate::audit::Redactor;
use crate::config::{Config, UserIdentity};
use crate::gate::{Carried, Passage};
use crate::upstream::http::{HttpClient, HttpEvent, HttpEvents, HttpSender};
use crate::upstream::{ChildEvents, ChildProcess, ChildSender, Event};
use crate::wire::Stream;

use super::super::proxy;
use super::failure::ListError;

pub(super) enum ServerTransport {
    Child(ChildSender, Box<ChildEvents>),
    Http(HttpSender, HttpEvents),
}

/// What comes of what was sent.
pub(super) enum ServerEvent {
    Frame(Vec<u8>),
    /// A line of so many bytes that is no message: the gate drops such lines, too.
    Banner(usize),
    TooLong,
    /// There is nothing more to come, for this reason.
    Failed(String),
}

/// Nothing can be sent any more.
pub(super) struct ServerGone;

/// Text that a server writes where only messages belong. A message is an object.
fn is_banner(line: &[u8]) -> bool {
    let begins = line.iter().find(|byte| !byte.is_ascii_whitespace());
    begins != Some(&b'{')
}

impl ServerTransport {
    /// What is read or fetched for it to be shown is learned by `secrets`. Must be called inside a tokio
    /// runtime.
    pub(super) fn open(config: &Config, secrets: &Redactor) -> Result<Self, ListError> {
        if config.upstream.identity == UserIdentity::Exchange {
            return Err(ListError::NeedsAgent);
        }
        if let Some(settings) = proxy::upstream_over_http(config, secrets) {
            let (sender, events) = HttpClient::new(&settings)?.connect();
            Ok(Self::Http(sender, events))
        } else {
            let (sender, mut events) = {
                let settings = proxy::upstream_settings(config).map_err(ListError::Sandbox)?;
                ChildProcess::start(settings)?
            };
            // No gate decides about connections here: the egress proxy makes none.
            drop(events.take_attempts());
            Ok(Self::Child(sender, Box::new(events)))
        }
    }

    pub(super) async fn send(&self, carried: Carried, line: String) -> Result<(), ServerGone> {
        let sent = match self {
            Self::Child(sender, _) => sender.send(line).await.is_ok(),
            Self::Http(sender, _) => {
                let stream = Stream::MAIN;
                sender
                    .send_unjudged(
                        Passage {
                            proof: None,
                            stream,
                            carried,
                            trace: None,
                        },
                        line,
                    )
                    .await
                    .is_ok()
            }
        };
        if sent { Ok(()) } else { Err(ServerGone) }
    }

    pub(super) async fn next(&mut self) -> ServerEvent {
        match self {
            Self::Child(_, events) => match events.next().await {
                Event::Line(line) if is_banner(line) => ServerEvent::Banner(line.len()),
                Event::Line(line) => ServerEvent::Frame(line.to_vec()),
                Event::Unread(_) | Event::Answered(..) => ServerEvent::TooLong,
                Event::Died { exit, .. } => ServerEvent::Failed(exit.to_string()),
                Event::GaveUp { reason } => ServerEvent::Failed(reason.to_string()),
                Event::Restarted => ServerEvent::Failed("it was started anew".to_owned()),
            },
            Self::Http(_, events) => match events.next().await {
                HttpEvent::Frame { bytes, .. } => ServerEvent::Frame(bytes),
                HttpEvent::Unread { .. } => ServerEvent::TooLong,
                HttpEvent::Failed { fault, .. } => ServerEvent::Failed(fault.to_string()),
                HttpEvent::Died { reason, .. } => ServerEvent::Failed(reason.to_string()),
                HttpEvent::GaveUp { reason } => ServerEvent::Failed(reason.to_string()),
                HttpEvent::Restarted => ServerEvent::Failed("another session has begun".to_owned()),
            },
        }
    }

    /// Ends the process, or the session.
    pub(super) async fn stop(&self) {
        match self {
            Self::Child(sender, _) => sender.stop().await,
            Self::Http(sender, _) => sender.stop().await,
        }
    }
}
