//! Asks the configured server what tools it has: a session of its own, with nobody behind it.

use std::time::Duration;

use tokio::time::timeout;

use super::super::proxy;
use crate::config::Config;
use crate::upstream::{ChildEvents, ChildProcess, ChildSender, Event, StartError};
use crate::wire::{Fragment, KnownMethod, Limits, Message, Value};

/// The revision that is offered; the newest of those with a session.
const PROTOCOL: &str = "2025-11-25";

/// A cursor that loops ends here.
const MAX_PAGES: usize = 1_000;

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskFault {
    #[error("{0}")]
    Start(#[from] StartError),
    #[error("no event loop: {0}")]
    Runtime(std::io::Error),
    #[error("it ended before it answered `{0}`")]
    Ended(&'static str),
    #[error("it did not answer `{method}` within {} s", .within.as_secs())]
    TimedOut {
        method: &'static str,
        within: Duration,
    },
    #[error("it refused `{method}`: {told}")]
    Refused { method: &'static str, told: String },
    #[error("what it says is no message: {0}")]
    NoMessage(String),
    #[error("its `tools/list` has no array `tools`, or a `nextCursor` that is no string")]
    NoList,
    #[error("its list of tools has more than {MAX_PAGES} pages")]
    Endless,
}

/// The replies to `tools/list`, page by page.
pub(super) fn ask(config: &Config) -> Result<Vec<Message>, AskFault> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(AskFault::Runtime)?;
    runtime.block_on(async {
        let (sender, events) = ChildProcess::start(proxy::upstream_settings(config))?;
        let mut dialogue = Dialogue {
            sender,
            events,
            limits: proxy::gate_settings(config).from_upstream,
            within: config.limits.request_timeout,
            last: 0,
        };
        let pages = dialogue.pages().await;
        // It ends in order even if it was of no use.
        dialogue.sender.stop().await;
        pages
    })
}

struct Dialogue {
    sender: ChildSender,
    events: ChildEvents,
    limits: Limits,
    within: Duration,
    last: u64,
}

impl Dialogue {
    async fn pages(&mut self) -> Result<Vec<Message>, AskFault> {
        self.request(KnownMethod::Initialize, initialize()).await?;
        let initialized = [
            ("jsonrpc", Fragment::string("2.0")),
            ("method", Fragment::string(KnownMethod::Initialized.name())),
        ];
        self.send(Fragment::object(initialized), "initialize")
            .await?;
        let mut pages = Vec::new();
        let mut cursor: Option<String> = None;
        while pages.len() < MAX_PAGES {
            let params = cursor.iter().map(|text| ("cursor", Fragment::string(text)));
            let params = Fragment::object(params);
            let page = self.request(KnownMethod::ToolsList, params).await?;
            cursor = next(&page)?;
            pages.push(page);
            if cursor.is_none() {
                return Ok(pages);
            }
        }
        Err(AskFault::Endless)
    }

    async fn request(
        &mut self,
        method: KnownMethod,
        params: Fragment,
    ) -> Result<Message, AskFault> {
        let method = method.name();
        self.last += 1;
        let members = [
            ("jsonrpc", Fragment::string("2.0")),
            ("id", Fragment::unsigned(self.last)),
            ("method", Fragment::string(method)),
            ("params", params),
        ];
        self.send(Fragment::object(members), method).await?;
        let within = self.within;
        let reply = timeout(within, self.reply(method)).await;
        let reply = reply.map_err(|_| AskFault::TimedOut { method, within })??;
        match reply.error() {
            Some(error) => {
                let told = error.get("message").and_then(Value::as_str);
                let told = super::lines::shown(&told.unwrap_or_default());
                Err(AskFault::Refused { method, told })
            }
            None => Ok(reply),
        }
    }

    /// Whatever comes before it is answered as by an agent that can do nothing, or is dropped.
    async fn reply(&mut self, method: &'static str) -> Result<Message, AskFault> {
        let awaited = Fragment::unsigned(self.last);
        loop {
            let message = match self.events.next().await {
                Event::Line(line) => Message::decode(line, &self.limits),
                Event::TooLong => {
                    return Err(AskFault::NoMessage("a line is too long".to_owned()));
                }
                Event::Died { .. } | Event::Restarted | Event::GaveUp { .. } => {
                    return Err(AskFault::Ended(method));
                }
            };
            let message = message.map_err(|error| AskFault::NoMessage(error.to_string()))?;
            let id = message.id_value().map(Fragment::copy_of);
            match (id, message.method().is_some()) {
                (Some(id), false) if id == awaited => return Ok(message),
                (Some(id), true) => {
                    let answer = answer(id, &message);
                    self.send(answer, method).await?;
                }
                (_, _) => {}
            }
        }
    }

    async fn send(&self, message: Fragment, method: &'static str) -> Result<(), AskFault> {
        let sent = self.sender.send(message.into_string()).await;
        sent.map_err(|_| AskFault::Ended(method))
    }
}

/// Servers leave out tools that an agent could not serve, so this one says that it can do anything.
fn initialize() -> Fragment {
    let nothing = || Fragment::object([]);
    let inside = |names: [&'static str; 2]| Fragment::object(names.map(|name| (name, nothing())));
    let in_tasks = [
        ("sampling", Fragment::object([("createMessage", nothing())])),
        ("elicitation", Fragment::object([("create", nothing())])),
    ];
    let capabilities = [
        ("roots", nothing()),
        ("sampling", inside(["tools", "context"])),
        ("elicitation", inside(["form", "url"])),
        (
            "tasks",
            Fragment::object([("requests", Fragment::object(in_tasks))]),
        ),
    ];
    let client = [
        ("name", Fragment::string("mcp-protector")),
        ("version", Fragment::string(env!("CARGO_PKG_VERSION"))),
    ];
    Fragment::object([
        ("protocolVersion", Fragment::string(PROTOCOL)),
        ("capabilities", Fragment::object(capabilities)),
        ("clientInfo", Fragment::object(client)),
    ])
}

fn answer(id: Fragment, asked: &Message) -> Fragment {
    let known = asked.method().and_then(crate::wire::Method::known);
    let error = || {
        Fragment::object([
            ("code", Fragment::integer(-32_601)),
            ("message", Fragment::string("Method not found")),
        ])
    };
    let (key, value) = match known {
        Some(KnownMethod::Ping) => ("result", Fragment::object([])),
        Some(KnownMethod::RootsList) => {
            ("result", Fragment::object([("roots", Fragment::array([]))]))
        }
        _ => ("error", error()),
    };
    Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", id),
        (key, value),
    ])
}

/// Where the list goes on.
fn next(page: &Message) -> Result<Option<String>, AskFault> {
    let result = page.result().ok_or(AskFault::NoList)?;
    if !result.get("tools").is_some_and(Value::is_array) {
        return Err(AskFault::NoList);
    }
    match result.get("nextCursor").filter(|next| !next.is_null()) {
        None => Ok(None),
        Some(next) => {
            let text = next.as_str().ok_or(AskFault::NoList)?;
            Ok(Some(text.into_owned()))
        }
    }
}
