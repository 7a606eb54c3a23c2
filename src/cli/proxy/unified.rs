//! One agent's conversations with all servers. Rejected messages belong to a session without a server.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tracing::{error, warn};

use crate::agent::http::Endpoint;
use crate::bridge::Bridge;
use crate::config::Config;
use crate::gate::{AgentGone, Gate, Rejection, Source, Talk, UpstreamFault};
use crate::mailbox::mailbox;
use crate::policy;
use crate::policy_tests::ConfiguredEndpoint;
use crate::session::Session;
use crate::unified::{Settings, Unanswered, UnifiedSession, View};
use crate::wire::Side;

use super::agents::{AgentEnd, Arrived, ConversationAgent, Inbox, Outbox};
use super::held::Held;
use super::news::News;
use super::parts::Parts;
use super::server_set::{NO_SERVER, RunningServers, ServerSet, broken};
use super::servers::Server;
use super::settings;

/// Messages that may wait for one server.
const INBOX: usize = 64;

/// The endpoint of all servers, if there is one.
pub(in crate::cli) fn endpoint(config: &Config) -> Option<ConfiguredEndpoint> {
    let aliases = config.unified.as_ref()?.aliases.iter();
    let aliases = aliases.map(|(alias, name)| (alias.clone(), name.clone()));
    let views = config.views.iter().map(|(name, view)| {
        let view = View {
            servers: view.servers.clone().into(),
            tools: view.tools.clone().map(Into::into),
        };
        (name.clone(), view)
    });
    Some(ConfiguredEndpoint {
        aliases: aliases.collect(),
        views: views.collect(),
    })
}

/// How the endpoint of all servers works, if there is one, and those of views after it.
pub(super) fn settings(config: &Config) -> Vec<Settings> {
    let (Some(unified), Some(endpoint)) = (&config.unified, endpoint(config)) else {
        return Vec::new();
    };
    let of_all = Settings {
        aliases: endpoint.aliases,
        view: None,
        limits: settings::from_agent(&config.limits),
        merge_timeout: unified.wait,
        is_stateless: false,
    };
    let views = endpoint.views.into_values().map(|view| Settings {
        view: Some(view),
        ..of_all.clone()
    });
    let views: Vec<Settings> = views.collect();
    std::iter::once(of_all).chain(views).collect()
}

/// The connection of an agent.
pub(super) struct AgentConnection {
    pub(super) outbox: Outbox,
    pub(super) inbox: Inbox,
    /// The meaning of the end of its input.
    pub(super) end: AgentEnd,
}

/// The conversations of one agent with all servers.
pub(super) struct UnifiedConversation<S> {
    inbox: Inbox,
    /// Records and answers messages that no server gets.
    talk: Talk<Server, Outbox>,
    members: Members<S>,
}

/// The servers of one agent, and its conversations with them.
struct Members<S> {
    served: Arc<ServerSet>,
    changes: watch::Receiver<Arc<RunningServers>>,
    news: News,
    unified: Arc<UnifiedSession<Outbox>>,
    /// Makes the agent's session before a server.
    new_session: S,
    /// How policies know the agent.
    agent: Arc<policy::Agent>,
    agent_end: AgentEnd,
    conversations: JoinSet<()>,
    /// By their numbers.
    servers: Vec<Member>,
}

/// One server, and the conversation with it.
struct Member {
    endpoint: Endpoint,
    conversation: Id,
    is_removed: bool,
}

impl<S: Fn(&Parts) -> Option<(Session, Option<Bridge>)>> UnifiedConversation<S> {
    /// Starts a conversation with each server that the agent may use. `None` if a session cannot be made.
    pub(super) fn begin(
        served: &Arc<ServerSet>,
        settings: Settings,
        agent: AgentConnection,
        new_session: S,
    ) -> Option<Self> {
        let changes = served.changes();
        let first = Arc::clone(served.current().servers.first()?);
        let no_server = Parts {
            server: policy::Server {
                name: NO_SERVER.to_owned(),
                ..policy::Server::default()
            },
            ..Parts::clone(&first)
        };
        let (own, _) = new_session(&no_server)?;
        let of_agent = Arc::clone(&own.state().parties.agent);
        let unified = Arc::new(UnifiedSession::new(settings, agent.outbox.clone()));
        let mut members = Members {
            served: Arc::clone(served),
            changes,
            news: served.news.clone(),
            unified,
            new_session,
            agent: of_agent,
            agent_end: agent.end,
            conversations: JoinSet::new(),
            servers: Vec::new(),
        };
        members.follow();
        Some(Self {
            inbox: agent.inbox,
            talk: Talk::new(own, Server::Absent, agent.outbox),
            members,
        })
    }

    /// Runs until the agent sends no more and each conversation has ended.
    pub(super) async fn until_its_end(&mut self) {
        let Self {
            inbox,
            talk,
            members,
        } = self;
        let unified = Arc::clone(&members.unified);
        let served = Arc::clone(&members.served);
        let Some(gate) = a_gate(&served) else {
            return;
        };
        if let Err(fault) = gate.session_started(talk).await {
            error!("the start of a session could not be recorded: {fault}");
        } else {
            unified.agent().route_by(&unified);
            tokio::select! {
                _ = listen(&served, &unified, inbox, talk) => {}
                _gone = unified.keep_time() => {}
                _gone = members.until_all_ended(talk) => {}
            }
        }
        inbox.close();
        for number in 0..members.servers.len() {
            unified.close(number);
        }
        while let Some(ended) = members.conversations.join_next().await {
            broken(&ended);
        }
        if let Err(fault) = gate.session_ended(talk).await {
            error!("the end of a session could not be recorded: {fault}");
        }
    }
}

impl<S: Fn(&Parts) -> Option<(Session, Option<Bridge>)>> Members<S> {
    /// Begins a conversation with each server that there is and was not before, if the agent may use it, and lets the
    /// agent name no other.
    fn follow(&mut self) {
        let current = Arc::clone(&self.changes.borrow_and_update());
        for (number, member) in self.servers.iter_mut().enumerate() {
            let parts = current.at(member.endpoint);
            if !member.is_removed && parts.is_none_or(|parts| !parts.is_left_to(&self.agent)) {
                member.is_removed = true;
                self.unified.remove(number);
            }
        }
        for parts in &current.servers {
            let is_it = |member: &Member| {
                member.endpoint == parts.for_agents.endpoint && !member.is_removed
            };
            if !self.servers.iter().any(is_it) && parts.is_left_to(&self.agent) {
                self.join(Arc::clone(parts));
            }
        }
    }

    fn join(&mut self, parts: Arc<Parts>) {
        let key = parts.key().filter(|key| self.unified.has_server(key));
        let session = key.is_some().then(|| (self.new_session)(&parts)).flatten();
        let (Some(key), Some((session, bridge))) = (key, session) else {
            return;
        };
        let (sender, inbox) = mailbox(INBOX);
        let number = self.unified.join(key, sender);
        let held = Held {
            session,
            agent: ConversationAgent::Unified(Arc::clone(&self.unified), number),
            inbox: Inbox::Unified {
                inbox,
                frame: Bytes::new(),
                end: self.agent_end,
            },
            bridge,
        };
        let served = Arc::clone(&self.served);
        let endpoint = parts.for_agents.endpoint;
        let begun = held.begin(&parts);
        let conversation = self.conversations.spawn(async move {
            if let Some(mut begun) = begun {
                begun
                    .until_its_end(&parts, &served.news, served.drain)
                    .await;
            }
        });
        self.servers.push(Member {
            endpoint,
            conversation: conversation.id(),
            is_removed: false,
        });
    }

    /// Resolves when all conversations have ended. Answers the requests that one has not answered before its end.
    async fn until_all_ended(&mut self, talk: &Talk<Server, Outbox>) -> Result<(), AgentGone> {
        loop {
            let ended = tokio::select! {
                // First: a server that takes the place of another is there before that one has ended.
                biased;
                Ok(()) = self.changes.changed() => {
                    self.follow();
                    continue;
                }
                // Which may leave the agent other servers.
                () = self.news.come() => {
                    self.follow();
                    continue;
                }
                ended = self.conversations.join_next_with_id() => ended,
            };
            let Some(ended) = ended else {
                return Ok(());
            };
            let id = match &ended {
                Ok((id, ())) => *id,
                Err(cause) => cause.id(),
            };
            broken(&ended.map(|_| ()));
            let Some(number) = self.servers.iter().position(|it| it.conversation == id) else {
                continue;
            };
            for Unanswered { id, method, stream } in self.unified.ended(number).await? {
                let (id, source) = (id.json(), Source::on(stream));
                let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
                let refusal = UpstreamFault::Down.into();
                turn_back(&self.served, talk, source, frame.as_bytes(), refusal).await?;
            }
        }
    }
}

/// A gate with the policies of now. There is always a server.
fn a_gate(served: &ServerSet) -> Option<Arc<Gate>> {
    let current = served.current();
    let first = current.servers.first();
    first.map(|parts| Arc::clone(&parts.gate))
}

async fn turn_back(
    served: &ServerSet,
    talk: &Talk<Server, Outbox>,
    source: Source,
    frame: &[u8],
    refusal: Rejection,
) -> Result<(), AgentGone> {
    match a_gate(served) {
        Some(gate) => Box::pin(gate.turn_back(talk, source, frame, refusal)).await,
        None => Ok(()),
    }
}

/// What the agent sends, until it sends no more.
async fn listen(
    served: &ServerSet,
    unified: &UnifiedSession<Outbox>,
    inbox: &mut Inbox,
    talk: &Talk<Server, Outbox>,
) -> Result<(), AgentGone> {
    loop {
        match inbox.next().await {
            Ok(Arrived::Frame(source, frame)) => {
                let taken = unified.route(source.clone(), frame);
                if let Err(refusal) = taken {
                    turn_back(served, talk, source, frame, refusal).await?;
                }
            }
            Ok(Arrived::Unread(stream, why)) => {
                if let Some(gate) = a_gate(served) {
                    Box::pin(gate.handle_unread(talk, Side::Agent, stream, why)).await?;
                }
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
