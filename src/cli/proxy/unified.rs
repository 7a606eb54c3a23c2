//! One agent's conversations with all servers. Rejected messages belong to a session without a server.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::{Id, JoinSet};
use tracing::{error, warn};

use crate::bridge::Bridge;
use crate::config::Config;
use crate::gate::{AgentGone, Gate, Source, Talk, UpstreamFault};
use crate::mailbox::mailbox;
use crate::policy;
use crate::session::Session;
use crate::unified::{NameMap, Settings, Unanswered, UnifiedSession};
use crate::wire::Side;

use super::agents::{AgentEnd, Arrived, ConversationAgent, Inbox, Outbox};
use super::held::Held;
use super::parts::Parts;
use super::server_set::{NO_SERVER, ServerSet, broken};
use super::servers::Server;
use super::settings;

/// Messages that may wait for one server.
const INBOX: usize = 64;

/// How the endpoint of all servers works, if there is one.
pub(super) fn settings(config: &Config) -> Option<Settings> {
    let unified = config.unified.as_ref()?;
    let each = config.each();
    let keys = each.iter().filter_map(|config| config.key.clone());
    let aliases = unified.aliases.iter();
    let aliases = aliases.map(|(alias, name)| (alias.clone(), name.clone()));
    Some(Settings {
        names: Arc::new(NameMap::new(keys.collect(), aliases)),
        limits: settings::from_agent(&config.limits),
        merge_timeout: unified.wait,
        is_stateless: false,
    })
}

/// The connection of an agent.
pub(super) struct AgentConnection {
    pub(super) outbox: Outbox,
    pub(super) inbox: Inbox,
    /// The meaning of the end of its input.
    pub(super) end: AgentEnd,
}

/// The conversations of one agent with all servers.
pub(super) struct UnifiedConversation {
    gate: Arc<Gate>,
    unified: Arc<UnifiedSession<Outbox>>,
    inbox: Inbox,
    /// Records and answers messages that no server gets.
    talk: Talk<Server, Outbox>,
    conversations: JoinSet<()>,
    /// Which of them is which server's.
    servers: Vec<Id>,
}

impl UnifiedConversation {
    /// Starts a conversation with each server. `None` if a session cannot be made.
    pub(super) fn begin(
        served: &Arc<ServerSet>,
        settings: Settings,
        agent: AgentConnection,
        new_session: impl Fn(&Parts) -> Option<(Session, Option<Bridge>)>,
    ) -> Option<Self> {
        let first = served.servers.first()?;
        let no_server = Parts {
            server: policy::Server {
                name: NO_SERVER.to_owned(),
                ..policy::Server::default()
            },
            ..first.clone()
        };
        let (own, _) = new_session(&no_server)?;
        let sessions = served.servers.iter().map(&new_session);
        let sessions = sessions.collect::<Option<Vec<_>>>()?;
        let (inboxes, taken): (Vec<_>, Vec<_>) = sessions.iter().map(|_| mailbox(INBOX)).unzip();
        let unified = UnifiedSession::new(settings, agent.outbox.clone(), inboxes);
        let unified = Arc::new(unified);
        let mut conversations = JoinSet::new();
        let mut servers = Vec::new();
        for (number, ((session, bridge), inbox)) in sessions.into_iter().zip(taken).enumerate() {
            let held = Held {
                session,
                agent: ConversationAgent::Unified(Arc::clone(&unified), number),
                inbox: Inbox::Unified {
                    inbox,
                    frame: Bytes::new(),
                    end: agent.end,
                },
                bridge,
            };
            let served = Arc::clone(served);
            let begun = held.begin(served.servers.get(number)?);
            let conversation = conversations.spawn(async move {
                if let (Some(mut begun), Some(parts)) = (begun, served.servers.get(number)) {
                    begun.until_its_end(parts, &served.news, served.drain).await;
                }
            });
            servers.push(conversation.id());
        }
        Some(Self {
            gate: Arc::clone(&first.gate),
            unified,
            inbox: agent.inbox,
            talk: Talk::new(own, Server::Absent, agent.outbox),
            conversations,
            servers,
        })
    }

    /// Runs until the agent sends no more and each conversation has ended.
    pub(super) async fn until_its_end(&mut self) {
        let Self {
            gate,
            unified,
            inbox,
            talk,
            conversations,
            servers,
            ..
        } = self;
        if let Err(fault) = gate.session_started(talk).await {
            error!("the start of a session could not be recorded: {fault}");
        } else {
            tokio::select! {
                _ = listen(gate, unified, inbox, talk) => {}
                _gone = unified.keep_time() => {}
                _gone = until_all_ended(conversations, unified, servers, (gate, talk)) => {}
            }
        }
        inbox.close();
        for number in 0..servers.len() {
            unified.close(number);
        }
        while let Some(ended) = conversations.join_next().await {
            broken(&ended);
        }
        if let Err(fault) = gate.session_ended(talk).await {
            error!("the end of a session could not be recorded: {fault}");
        }
    }
}

/// Resolves when all conversations have ended. Answers the requests that one has not answered before its end.
async fn until_all_ended(
    conversations: &mut JoinSet<()>,
    unified: &UnifiedSession<Outbox>,
    servers: &[Id],
    (gate, talk): (&Gate, &Talk<Server, Outbox>),
) -> Result<(), AgentGone> {
    while let Some(ended) = conversations.join_next_with_id().await {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(cause) => cause.id(),
        };
        broken(&ended.map(|_| ()));
        let Some(number) = servers.iter().position(|it| *it == id) else {
            continue;
        };
        for Unanswered { id, method, stream } in unified.ended(number).await? {
            let (id, source) = (id.json(), Source::on(stream));
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
            let refusal = UpstreamFault::Down.into();
            Box::pin(gate.turn_back(talk, source, frame.as_bytes(), refusal)).await?;
        }
    }
    Ok(())
}

/// What the agent sends, until it sends no more.
async fn listen(
    gate: &Gate,
    unified: &UnifiedSession<Outbox>,
    inbox: &mut Inbox,
    talk: &Talk<Server, Outbox>,
) -> Result<(), AgentGone> {
    loop {
        match inbox.next().await {
            Ok(Arrived::Frame(source, frame)) => {
                let taken = unified.route(source.clone(), frame);
                if let Err(refusal) = taken {
                    Box::pin(gate.turn_back(talk, source, frame, refusal)).await?;
                }
            }
            Ok(Arrived::Unread(stream, why)) => {
                Box::pin(gate.handle_unread(talk, Side::Agent, stream, why)).await?;
            }
            Ok(Arrived::HungUp(stream)) => unified.hung_up(stream),
            Ok(Arrived::Unheard(minted)) => unified.unheard(minted),
            Ok(Arrived::Closed | Arrived::Gone) => return Ok(()),
            Err(cause) => {
                warn!("cannot read from the agent: {cause}");
                return Ok(());
            }
        }
    }
}
