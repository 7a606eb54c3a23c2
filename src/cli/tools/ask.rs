//! Asks the configured server what it says of itself: a session of its own, without an agent.

use std::time::Duration;

use tokio::time::timeout;

use super::super::proxy;
use super::failure::{ListError, MAX_BYTES, MAX_PAGES, refused};
use super::requests;
use super::transport::{ServerEvent, ServerGone, ServerTransport};
use crate::audit::Redactor;
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::gate::Carried;
use crate::mcp::revisions::FIRST_STATELESS;
use crate::wire::{
    ArrivalForm, Era, Fragment, KnownMethod, Limits, Message, Value, WireError, WireErrorKind,
};

/// All definitions come within this many times of what one request may take.
const MAX_DURATION_IN_REQUESTS: u32 = 10;

/// What the server says of itself.
#[derive(Debug)]
pub(super) struct ServerDefinitions {
    /// The revision of the protocol that it speaks.
    pub(super) revision: String,
    /// From its start, or the connection, to the end of the handshake.
    pub(super) latency: Duration,
    /// The reply to what begins a session, or discovers the server.
    pub(super) opened: Message,
    /// The replies to `tools/list`, page by page.
    pub(super) tools: Vec<Message>,
    /// The same for prompts, if it has said that it has any.
    pub(super) prompts: Vec<Message>,
}

/// Asks for what a lock holds, for the `longest` at most. What is shown to the server is learned by `secrets`.
pub(super) fn ask(
    config: &Config,
    secrets: &Redactor,
    longest: Duration,
) -> Result<ServerDefinitions, ListError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ListError::Runtime)?;
    runtime.block_on(async {
        let mut dialogue = Dialogue {
            clock: SystemClock::new(),
            way: ServerTransport::open(config, secrets)?,
            limits: proxy::gate_settings(config).from_upstream,
            within: config.limits.request_timeout,
            era: Era::Legacy,
            last: 0,
            received: 0,
        };
        let within = dialogue.within.saturating_mul(MAX_DURATION_IN_REQUESTS);
        let within = within.min(longest);
        let told = timeout(within, dialogue.told()).await;
        let told = told.unwrap_or(Err(ListError::TooSlow(within)));
        // It ends in order even if it was of no use.
        dialogue.way.stop().await;
        told
    })
}

struct Dialogue {
    /// Counts from the beginning.
    clock: SystemClock,
    way: ServerTransport,
    limits: Limits,
    within: Duration,
    era: Era,
    last: u64,
    /// Bytes of all messages.
    received: usize,
}

impl Dialogue {
    async fn told(&mut self) -> Result<ServerDefinitions, ListError> {
        let opened = self.begin().await?;
        let latency = self.clock.elapsed();
        let tools = self.pages(KnownMethod::ToolsList, "tools").await?;
        let capabilities = opened.result().and_then(|it| it.get("capabilities"));
        let has_prompts = capabilities.is_some_and(|it| it.get("prompts").is_some());
        let prompts = if has_prompts {
            self.pages(KnownMethod::PromptsList, "prompts").await?
        } else {
            Vec::new()
        };
        let agreed = opened.result().and_then(|it| it.get("protocolVersion"));
        let agreed = agreed.and_then(Value::as_str).unwrap_or_default();
        let revision = match self.era {
            Era::Legacy => super::lines::shown(&agreed),
            Era::Stateless => FIRST_STATELESS.to_owned(),
        };
        Ok(ServerDefinitions {
            revision,
            latency,
            opened,
            tools,
            prompts,
        })
    }

    async fn pages(
        &mut self,
        method: KnownMethod,
        list: &'static str,
    ) -> Result<Vec<Message>, ListError> {
        let mut pages = Vec::new();
        let mut cursor: Option<String> = None;
        while pages.len() < MAX_PAGES {
            let params = cursor.iter().map(|text| ("cursor", Fragment::string(text)));
            let params = params.chain(self.meta());
            let params = Fragment::object(params);
            let page = self.request(method, params).await?;
            cursor = next(&page, list)?;
            pages.push(page);
            if cursor.is_none() {
                return Ok(pages);
            }
        }
        Err(ListError::Endless(list))
    }

    /// A session, if the server has any. One that refuses it is asked what it speaks, as for agents
    /// before a bridge.
    async fn begin(&mut self) -> Result<Message, ListError> {
        let method = KnownMethod::Initialize;
        let refusal = match self.request(method, requests::initialize()).await {
            Ok(opened) => {
                let initialized = [
                    ("jsonrpc", Fragment::string("2.0")),
                    ("method", Fragment::string(KnownMethod::Initialized.name())),
                ];
                let carried = Carried::Notification {
                    method: KnownMethod::Initialized,
                    ends: None,
                    revision: None,
                };
                self.send(carried, Fragment::object(initialized), method.name())
                    .await?;
                return Ok(opened);
            }
            Err(refusal @ (ListError::Refused { .. } | ListError::Failed { .. })) => refusal,
            Err(fault) => return Err(fault),
        };
        self.era = Era::Stateless;
        let params = Fragment::object(self.meta());
        let Ok(discovered) = self.request(KnownMethod::Discover, params).await else {
            return Err(refusal);
        };
        let speaks = {
            let supported = discovered.result();
            let supported = supported.and_then(|result| result.get("supportedVersions"));
            let mut supported = supported.into_iter().flat_map(Value::items);
            supported.any(|revision| revision.as_str().as_deref() == Some(FIRST_STATELESS))
        };
        if speaks { Ok(discovered) } else { Err(refusal) }
    }

    fn meta(&self) -> Option<(&'static str, Fragment)> {
        match self.era {
            Era::Legacy => None,
            Era::Stateless => Some(("_meta", requests::meta())),
        }
    }

    async fn request(
        &mut self,
        method: KnownMethod,
        params: Fragment,
    ) -> Result<Message, ListError> {
        self.last += 1;
        let carried = Carried::Request {
            id: self.last,
            method,
            name: None,
            revision: match self.era {
                Era::Legacy => None,
                Era::Stateless => Some(FIRST_STATELESS.into()),
            },
        };
        let method = method.name();
        let members = [
            ("jsonrpc", Fragment::string("2.0")),
            ("id", Fragment::unsigned(self.last)),
            ("method", Fragment::string(method)),
            ("params", params),
        ];
        self.send(carried, Fragment::object(members), method)
            .await?;
        let within = self.within;
        let reply = timeout(within, self.reply(method)).await;
        let reply = reply.map_err(|_| ListError::TimedOut { method, within })??;
        match reply.error() {
            Some(error) => {
                let told = error.get("message").and_then(Value::as_str);
                let told = super::lines::shown(&told.unwrap_or_default());
                Err(ListError::Refused { method, told })
            }
            None => Ok(reply),
        }
    }

    /// Whatever comes before it is answered as by an agent that can do nothing, or is dropped.
    async fn reply(&mut self, method: &'static str) -> Result<Message, ListError> {
        let awaited = Fragment::unsigned(self.last);
        loop {
            let message = match self.way.next().await {
                ServerEvent::Frame(line) => {
                    self.count(line.len())?;
                    Message::decode(&line, &self.limits)
                        .map_err(|error| ListError::NoMessage(told(&error, &line)))?
                }
                // The events of the process warn of it.
                ServerEvent::Banner(length) => {
                    self.count(length)?;
                    continue;
                }
                ServerEvent::TooLong => {
                    return Err(ListError::NoMessage("a line is too long".to_owned()));
                }
                ServerEvent::Failed(why) => return Err(ListError::Failed { method, why }),
            };
            let id = message.id_value().map(Fragment::copy_of);
            match (id, message.method().is_some()) {
                (Some(id), false) if id == awaited => return Ok(message),
                (Some(id), true) => {
                    let (answer, error) = requests::answer(id, &message);
                    let form = ArrivalForm::Whole;
                    let carried = Carried::Reply { error, form };
                    self.send(carried, answer, method).await?;
                }
                (_, _) => {}
            }
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), ListError> {
        self.received = self.received.saturating_add(bytes);
        if self.received > MAX_BYTES {
            return Err(ListError::TooLarge);
        }
        Ok(())
    }

    async fn send(
        &self,
        carried: Carried,
        message: Fragment,
        method: &'static str,
    ) -> Result<(), ListError> {
        let sent = self.way.send(carried, message.into_string()).await;
        sent.map_err(|ServerGone| ListError::Ended(method))
    }
}

fn told(error: &WireError, line: &[u8]) -> String {
    let kind = if let WireErrorKind::Json(kind) = &error.kind {
        Some(kind)
    } else {
        None
    };
    refused(error, kind, line)
}

/// Where the list goes on.
fn next(page: &Message, list: &'static str) -> Result<Option<String>, ListError> {
    let result = page.result().ok_or(ListError::NoList(list))?;
    if !result.get(list).is_some_and(Value::is_array) {
        return Err(ListError::NoList(list));
    }
    match result.get("nextCursor").filter(|next| !next.is_null()) {
        None => Ok(None),
        Some(next) => {
            let text = next.as_str().ok_or(ListError::NoList(list))?;
            Ok(Some(text.into_owned()))
        }
    }
}
