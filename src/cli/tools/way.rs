//! The way to the server, whether it is started or reached over HTTP: by what a gate uses, with what a
//! gate shows. It has no agent, so that nothing is evaluated.

use crate::audit::Redactor;
use crate::config::Config;
use crate::gate::{Carried, Passage};
use crate::upstream::http::{HttpClient, HttpEvent, HttpEvents, HttpSender};
use crate::upstream::{ChildEvents, ChildProcess, ChildSender, Event};
use crate::wire::Stream;

use super::super::proxy;
use super::ask::AskFault;

pub(super) enum Way {
    Child(ChildSender, Box<ChildEvents>),
    Http(HttpSender, HttpEvents),
}

/// What comes of what was sent.
pub(super) enum Heard {
    Frame(Vec<u8>),
    TooLong,
    /// There is nothing more to come, for this reason.
    Failed(String),
}

/// Nothing can be sent any more.
pub(super) struct Gone;

impl Way {
    /// What is read or fetched for it to be shown is learned by `secrets`. Must be called inside a tokio
    /// runtime.
    pub(super) fn open(config: &Config, secrets: &Redactor) -> Result<Self, AskFault> {
        if let Some(settings) = proxy::upstream_over_http(config, secrets) {
            let (sender, events) = HttpClient::new(&settings)?.connect();
            Ok(Self::Http(sender, events))
        } else {
            let (sender, events) = {
                let settings = proxy::upstream_settings(config).map_err(AskFault::Sandbox)?;
                ChildProcess::start(settings)?
            };
            Ok(Self::Child(sender, Box::new(events)))
        }
    }

    pub(super) async fn send(&self, carried: Carried, line: String) -> Result<(), Gone> {
        let sent = match self {
            Self::Child(sender, _) => sender.send(line).await.is_ok(),
            Self::Http(sender, _) => {
                let stream = Stream::MAIN;
                sender
                    .send_unjudged(
                        Passage {
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
        if sent { Ok(()) } else { Err(Gone) }
    }

    pub(super) async fn next(&mut self) -> Heard {
        match self {
            Self::Child(_, events) => match events.next().await {
                Event::Line(line) => Heard::Frame(line.to_vec()),
                Event::Unread(_) | Event::Answered(..) => Heard::TooLong,
                Event::Died { exit, .. } => Heard::Failed(exit.to_string()),
                Event::GaveUp { reason } => Heard::Failed(reason.to_string()),
                Event::Restarted => Heard::Failed("it was started anew".to_owned()),
            },
            Self::Http(_, events) => match events.next().await {
                HttpEvent::Frame { bytes, .. } => Heard::Frame(bytes),
                HttpEvent::Unread { .. } => Heard::TooLong,
                HttpEvent::Failed { fault, .. } => Heard::Failed(fault.to_string()),
                HttpEvent::Died { reason, .. } => Heard::Failed(reason.to_string()),
                HttpEvent::GaveUp { reason } => Heard::Failed(reason.to_string()),
                HttpEvent::Restarted => Heard::Failed("another session has begun".to_owned()),
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
