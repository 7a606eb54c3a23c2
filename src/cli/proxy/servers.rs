//! The protected server, however it is reached, as the gate and a conversation see it.

use std::fmt::Display;
use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::audit::Redactor;
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::egress::{Attempt, Attempts};
use crate::gate::{Abandoned, Permit, Upstream, UpstreamFault};
use crate::memory::Memory;
use crate::policy::{Holder, RootProblem, Roots};
use crate::upstream::http::{HttpClient, HttpEvent, HttpEvents, HttpSender};
use crate::upstream::{
    self, ChildEvents, ChildProcess, ChildSender, Concealing, StartError, sandbox,
};
use crate::wire::{ArrivalForm, DiscardReason, Stream};

use super::later::{Begun, Later};
use super::outbox::Sending;
use super::own_roots::OwnRoots;
use super::starts::{Started, Starts};
use super::unusable::Unusable;
use super::{confinement, network, settings};

/// How servers are reached: each conversation has one of its own.
#[derive(Debug, Clone)]
pub(super) enum Upstreams {
    Command {
        /// Where the configuration names it.
        section: Arc<str>,
        settings: Arc<upstream::Settings>,
        own: OwnRoots,
        starts: Starts,
    },
    Http(HttpClient),
}

/// The server of one conversation: what sends.
#[derive(Debug, Clone)]
pub(super) enum Server {
    Child(ChildSender, Started),
    /// It is started with the first message.
    Later(Arc<Later>),
    Http(HttpSender),
    /// It could not be started.
    Absent,
}

/// The same: what it says, and what becomes of it.
#[derive(Debug)]
pub(super) enum ServerEvents {
    Child {
        events: Box<ChildEvents>,
        started: Started,
        attempts: Attempts,
    },
    Later(Arc<Later>),
    Http {
        events: HttpEvents,
        /// The frame that was told last.
        frame: Vec<u8>,
    },
    Absent,
}

/// Something that happened to a server, in order.
#[derive(Debug)]
pub(super) enum Occurrence<'e> {
    Frame(Stream, ArrivalForm, &'e [u8]),
    /// A message that was discarded: it is too long, or there is no memory for it.
    Unread(Stream, DiscardReason),
    /// The request of this stream will not be answered.
    Failed(Stream, UpstreamFault),
    /// It was started, for the first time.
    Started,
    /// Its process ended; whether there will be another one.
    Died {
        how: String,
        will_restart_in: Option<Duration>,
    },
    /// There is another process, which knows nothing of what was sent before.
    Restarted,
    /// Over HTTP the session was lost, or an attempt to begin another one; whether it is tried again.
    Lost {
        how: String,
        /// What whoever waits for it is told.
        fault: UpstreamFault,
        tried_again_in: Option<Duration>,
    },
    /// Another session may be begun, which is no sign of the server's.
    TriedAgain,
    /// It will not be back.
    GaveUp(String),
    /// It wants a connection of the egress proxy.
    Connects(Attempt),
}

/// What is wrong with a server, which does not know whether it is the open one or an isolated one.
fn in_section(cause: &dyn Display, section: &str) -> String {
    let named = format!("`{section}.");
    cause.to_string().replacen("`upstream.", &named, 1)
}

/// How long a message may wait for a server whose queue is full.
const STALLED: Duration = Duration::from_secs(5);

impl Upstreams {
    /// How the server is reached, and its isolated instances. Connects to nothing yet.
    ///
    /// # Errors
    /// Why one of them cannot be, told with the section that names it.
    pub(super) fn all(
        config: &Config,
        roots: &Roots,
        secrets: &Redactor,
        concealing: &Concealing,
        clock: &Arc<dyn Clock>,
        memory: &Memory,
    ) -> Result<(Self, Vec<Self>), String> {
        let of = |section: &str, server| {
            let made = Self::of(
                config,
                (section, server),
                roots,
                secrets,
                concealing,
                clock,
                memory,
            );
            made.map_err(|cause| in_section(&cause, section))
        };
        let isolated = config.upstream.isolated.iter();
        let isolated = isolated
            .map(|it| of(&it.section, &it.server))
            .collect::<Result<_, _>>()?;
        Ok((of(&config.upstream.section, &config.upstream)?, isolated))
    }

    fn of(
        config: &Config,
        (section, server): (&str, &config::Upstream),
        roots: &Roots,
        secrets: &Redactor,
        concealing: &Concealing,
        clock: &Arc<dyn Clock>,
        memory: &Memory,
    ) -> Result<Self, Unusable> {
        Ok(match network::over_http(config, server, secrets, clock) {
            Some(mut settings) => {
                settings.memory = memory.clone();
                Self::Http(HttpClient::new(&settings).map_err(Unusable::of)?)
            }
            None => Self::Command {
                section: section.into(),
                settings: {
                    let sandbox = confinement::sandbox(server.sandbox.as_ref(), roots)?;
                    let concealing = concealing.clone();
                    let settings = settings::upstream(config, server, sandbox, concealing);
                    Arc::new(settings.within(memory))
                },
                own: OwnRoots::of(server, roots),
                starts: Starts::new(Arc::clone(clock)),
            },
        })
    }

    /// Why it cannot be started, told with its section.
    pub(super) fn told(&self, cause: &StartError) -> String {
        match self {
            Self::Command { section, .. } => in_section(cause, section),
            Self::Http(_) => cause.to_string(),
        }
    }

    /// The same for one holder: a server that is started runs in its directory, and may reach it.
    ///
    /// # Errors
    /// [`RootProblem`] where its own roots would have no place.
    pub(super) fn of_holder(&self, holder: &Holder) -> Result<Self, RootProblem> {
        Ok(match self {
            Self::Command {
                section,
                settings,
                own,
                starts,
            } => Self::Command {
                section: Arc::clone(section),
                settings: own.settings(settings, holder)?,
                own: own.clone(),
                starts: starts.clone(),
            },
            Self::Http(client) => Self::Http(client.clone()),
        })
    }

    /// A server for one conversation, which is started when there is a message for it. Must be
    /// called inside a tokio runtime.
    pub(super) fn connect_later(&self) -> (Server, ServerEvents) {
        match self {
            Self::Command {
                settings, starts, ..
            } => {
                let later = Later::new(Arc::clone(settings), starts.clone());
                (
                    Server::Later(Arc::clone(&later)),
                    ServerEvents::Later(later),
                )
            }
            Self::Http(client) => over_http(client),
        }
    }

    /// Whether a conversation finds it running: nothing has to be started for it.
    pub(super) fn is_there_already(&self) -> bool {
        match self {
            Self::Command { .. } => false,
            Self::Http(_) => true,
        }
    }

    /// Whether a server could be started now, as far as the file system tells.
    pub(super) fn check(&self) -> Result<(), StartError> {
        match self {
            Self::Command { settings, .. } => ChildProcess::check(settings),
            Self::Http(_) => Ok(()),
        }
    }

    /// What keeps the server from being confined as it is to be, where that is not required.
    pub(super) fn unconfined(&self) -> Option<Arc<str>> {
        match self {
            Self::Command { settings, .. } => {
                let checked = settings.sandbox.as_ref().map(sandbox::check);
                // What does not start is told where it is started.
                checked?.ok()?.map(Into::into)
            }
            Self::Http(_) => None,
        }
    }

    /// A server for one conversation. Must be called inside a tokio runtime.
    pub(super) fn connect(&self) -> Result<(Server, ServerEvents), StartError> {
        match self {
            Self::Command {
                settings, starts, ..
            } => {
                let (sender, events) =
                    ChildProcess::start((**settings).clone()).inspect_err(|_| starts.failed())?;
                let started = starts.begin();
                let server = Server::Child(sender, started.clone());
                Ok((server, ServerEvents::of_child(Box::new(events), started)))
            }
            Self::Http(client) => Ok(over_http(client)),
        }
    }
}

fn over_http(client: &HttpClient) -> (Server, ServerEvents) {
    let (sender, events) = client.connect();
    let frame = Vec::new();
    (Server::Http(sender), ServerEvents::Http { events, frame })
}

impl Server {
    /// Ends it in good order: it may take as long as its settings say.
    pub(super) async fn stop(&self) {
        match self {
            Self::Child(child, _) => child.stop().await,
            Self::Later(later) => {
                if let Some((child, _)) = later.last() {
                    child.stop().await;
                }
            }
            Self::Http(sender) => sender.stop().await,
            Self::Absent => {}
        }
    }

    /// Waits until what was sent and gets no answer has arrived, as far as that can be known. To end a
    /// process in good order sends what is queued.
    pub(super) async fn flushed(&self) {
        match self {
            Self::Http(sender) => sender.flushed().await,
            Self::Child(..) | Self::Later(_) | Self::Absent => {}
        }
    }

    pub(super) async fn kill(&self) {
        match self {
            Self::Child(child, _) => child.kill().await,
            Self::Later(later) => {
                if let Some((child, _)) = later.last() {
                    child.kill().await;
                }
            }
            Self::Http(sender) => sender.kill(),
            Self::Absent => {}
        }
    }
}

impl Server {
    pub(super) fn is_started(&self) -> bool {
        match self {
            Self::Child(..) | Self::Http(_) => true,
            Self::Later(later) => later.running().is_some(),
            Self::Absent => false,
        }
    }

    /// Sends one message to the server that runs now, however late that is.
    pub(super) fn sending(&self, permit: Permit) -> Sending {
        match self {
            Self::Child(child, _) => send_to(child, permit),
            Self::Later(later) => match later.start() {
                Some((child, _)) => send_to(child, permit),
                None => Box::pin(ready(Err(UpstreamFault::Down))),
            },
            Self::Http(sender) => in_time(sender.sending(permit)),
            Self::Absent => Box::pin(ready(Err(UpstreamFault::Down))),
        }
    }
}

impl Upstream for Server {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        self.sending(permit).await
    }

    fn abandon(&self, minted: u64) -> Abandoned {
        match self {
            Self::Http(sender) => sender.abandon(minted),
            Self::Child(..) | Self::Later(_) | Self::Absent => Abandoned::Untold,
        }
    }

    fn handshake_completed(&self) {
        match self {
            Self::Child(child, started) => {
                started.completed();
                child.handshake_completed();
            }
            Self::Later(later) => {
                if let Some((child, started)) = later.running() {
                    started.completed();
                    child.handshake_completed();
                }
            }
            Self::Http(sender) => sender.handshake_completed(),
            Self::Absent => {}
        }
    }

    fn restart(&self) {
        match self {
            Self::Child(child, _) => child.restart(),
            Self::Later(later) => {
                if let Some((child, _)) = later.running() {
                    child.restart();
                }
            }
            Self::Http(sender) => sender.restart(),
            Self::Absent => {}
        }
    }
}

/// One line to a process, which may take some time to read it.
fn send_to(child: &ChildSender, permit: Permit) -> Sending {
    let sent = child.send(permit.into_line());
    in_time(async { sent.await.map_err(|_| UpstreamFault::Down) })
}

/// The time counts from here.
fn in_time(sent: impl Future<Output = Result<(), UpstreamFault>> + Send + 'static) -> Sending {
    let sent = timeout(STALLED, sent);
    Box::pin(async { sent.await.unwrap_or(Err(UpstreamFault::Stalled)) })
}

impl ServerEvents {
    fn of_child(mut events: Box<ChildEvents>, started: Started) -> Self {
        let attempts = events.take_attempts();
        Self::Child {
            events,
            started,
            attempts,
        }
    }

    /// The next event. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Occurrence<'_> {
        if let Self::Later(later) = self {
            let (now, occurrence) = match later.begun().await {
                Begun::Running(events, started) => {
                    (Self::of_child(events, started), Occurrence::Started)
                }
                Begun::Failed(cause) => (Self::Absent, Occurrence::GaveUp(cause.to_string())),
            };
            *self = now;
            return occurrence;
        }
        match self {
            Self::Child {
                events,
                started,
                attempts,
            } => {
                // Boxed: a session over HTTP holds no room for it.
                Box::pin(async {
                    tokio::select! {
                        attempt = attempts.next() => Occurrence::Connects(attempt),
                        event = events.next() => of_child(event, started),
                    }
                })
                .await
            }
            Self::Http { events, frame } => match heard(events, frame).await {
                HttpEvent::Frame {
                    stream,
                    form,
                    bytes,
                } => {
                    *frame = bytes;
                    Occurrence::Frame(stream, form, frame)
                }
                HttpEvent::Unread { stream, why } => Occurrence::Unread(stream, why),
                HttpEvent::Failed { stream, fault } => Occurrence::Failed(stream, fault),
                HttpEvent::Died {
                    reason,
                    will_restart_in,
                } => Occurrence::Lost {
                    how: reason.to_string(),
                    fault: reason.fault(),
                    tried_again_in: will_restart_in,
                },
                HttpEvent::Restarted => Occurrence::TriedAgain,
                HttpEvent::GaveUp { reason } => Occurrence::GaveUp(reason.to_string()),
            },
            Self::Later(_) | Self::Absent => pending().await,
        }
    }
}

/// What comes next. The frame before is released first: it may be large.
async fn heard(events: &mut HttpEvents, frame: &mut Vec<u8>) -> HttpEvent {
    *frame = Vec::new();
    events.next().await
}

fn of_child<'e>(event: upstream::Event<'e>, started: &Started) -> Occurrence<'e> {
    match &event {
        upstream::Event::Died { .. } | upstream::Event::GaveUp { .. } => started.ended(),
        upstream::Event::Line(_)
        | upstream::Event::Unread(_)
        | upstream::Event::Answered(..)
        | upstream::Event::Restarted => {}
    }
    match event {
        upstream::Event::Line(frame) => {
            Occurrence::Frame(Stream::UNTOLD, ArrivalForm::Whole, frame)
        }
        upstream::Event::Unread(why) => Occurrence::Unread(Stream::UNTOLD, why),
        upstream::Event::Answered(request, why) => {
            Occurrence::Failed(Stream::numbered(request), UpstreamFault::unread(why))
        }
        upstream::Event::Died {
            exit,
            will_restart_in,
        } => Occurrence::Died {
            how: exit.to_string(),
            will_restart_in,
        },
        upstream::Event::Restarted => Occurrence::Restarted,
        upstream::Event::GaveUp { reason } => Occurrence::GaveUp(reason.to_string()),
    }
}
