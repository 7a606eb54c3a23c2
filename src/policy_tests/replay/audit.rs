//! Records of the audit log, asked again for all that they do not tell.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bench::Bench;
use super::super::fixture_words::TestDecision;
use super::comparison::{CurrentDecision, DecisionComparison};
use super::known_targets::{self, KnownTargets, both};
use super::log_entry::{LogEntry, RecordRole, RecordedDecision};
use super::session_knowledge::SessionLevels;
use crate::gate;
use crate::policy::{
    Action, ActionName, Agent, AgentFacts, Arguments, Client, Consent, Decision, Environment,
    Facts, LOCK_DRIFT, LOCKED_ARGUMENTS, Lock, Nothing, Obligation, OnDeny, PartialRequest, Pin,
    PolicySnapshot, Principal, Reason, Resource, Server, SessionState, Targets, TokenGrants,
};
use crate::wire::{Document, Extensions, KnownMethod, Limits, Side};

/// Why a call is not judged that policies would ask a person about.
const UNANSWERED: &str = "a person would be asked now, and the answer is not known";

/// What policies were asked.
struct RecordedRequest<'q> {
    principal: Principal<'q>,
    action: ActionName,
    about: Resource<'q>,
}

/// What a record tells of a message beside the questions about it.
struct Circumstances<'q> {
    method: KnownMethod,
    agent: &'q Agent,
    told: AgentFacts,
    server: &'q Server,
    /// How the agent is connected, if the record tells.
    transport: Option<&'q str>,
    level: Option<i64>,
    datasets: Option<&'q [String]>,
    /// The arguments of a call and what they reach for, if they are recorded.
    sent: Option<(&'q Arguments<'q>, &'q Targets)>,
}

/// What records are judged with, beside policies.
pub(super) struct JudgeContext<'c> {
    /// Agents that somebody describes further than records do, by their ids.
    pub(super) agents: &'c BTreeMap<String, Agent>,
    pub(super) extensions: &'c Extensions,
    pub(super) server: &'c Server,
    pub(super) levels: SessionLevels,
}

pub(super) fn compare(bench: &Bench<'_>, entries: &[LogEntry]) -> Vec<DecisionComparison> {
    let judged = |recorded: &RecordedDecision| {
        let mut servers = bench.servers.iter();
        let Some(at) = servers.find(|it| recorded.is_of(it.server)) else {
            return recorded.of_no_server();
        };
        let context = JudgeContext {
            agents: at.agents,
            extensions: &at.settings.extensions.with(at.extensions),
            server: at.server,
            levels: SessionLevels::IfCertain,
        };
        recorded.judge(&context, &at.policies.current())
    };
    let compared = entries.iter().map(|entry| match entry {
        LogEntry::Decided(recorded) => DecisionComparison {
            line: recorded.line,
            about: recorded.about(),
            was: recorded.was,
            now: judged(recorded),
        },
        LogEntry::Unreadable(line) => DecisionComparison {
            line: *line,
            about: "something".to_owned(),
            was: TestDecision::Deny,
            now: CurrentDecision::Unknown("the line cannot be read".to_owned()),
        },
    });
    compared.collect()
}

impl RecordedDecision {
    /// Whether it was about a message of this server. Of several, records name each by its key.
    pub(super) fn is_of(&self, server: &Server) -> bool {
        server
            .key
            .as_ref()
            .is_none_or(|key| key.as_str() == self.upstream)
    }

    /// The answer for a record of none of several servers.
    pub(super) fn of_no_server(&self) -> CurrentDecision {
        let name = &self.upstream;
        CurrentDecision::Unknown(format!("no server of the configuration is called `{name}`"))
    }

    pub(super) fn judge(
        &self,
        context: &JudgeContext<'_>,
        snapshot: &PolicySnapshot,
    ) -> CurrentDecision {
        // The same facts and the same policies.
        if self.revision == snapshot.revision().as_str() {
            return CurrentDecision::Same;
        }
        let unknown = |why: &str| CurrentDecision::Unknown(why.to_owned());
        if self.incomplete {
            return unknown("the record is cut, or a secret was taken out of it");
        }
        let known = KnownMethod::from_name(&self.method);
        let listed = || context.extensions.find(&self.method);
        let Some(method) = known.or_else(listed) else {
            return unknown("its method is not known to this version");
        };
        let has_definition = matches!(method, KnownMethod::ToolsCall | KnownMethod::PromptsGet);
        if snapshot.looks_for().flags && (has_definition || self.role == RecordRole::Reply) {
            return unknown("what is flagged in a definition or an answer is not recorded");
        }
        let (agent, told) = self.who(context, snapshot.labels().tokens);
        let server = Server {
            name: self.upstream.clone(),
            ..context.server.clone()
        };
        // What a credential looks like was replaced in what is recorded.
        let arguments = self
            .arguments
            .as_deref()
            .filter(|_| !snapshot.looks_for().secrets);
        let arguments =
            arguments.and_then(|text| Document::decode(text.as_bytes(), &Limits::default()).ok());
        let sent = arguments
            .as_ref()
            .and_then(|it| gate::call_facts(it.root()));
        let circumstances = Circumstances {
            method,
            agent: &agent,
            told,
            server: &server,
            transport: self.transport.as_deref(),
            level: self.level(snapshot, context.levels),
            datasets: self.datasets(snapshot, context.levels),
            sent: sent
                .as_ref()
                .map(|(arguments, targets)| (arguments, targets)),
        };
        self.judge_in(&circumstances, snapshot)
    }

    fn judge_in(
        &self,
        circumstances: &Circumstances<'_>,
        snapshot: &PolicySnapshot,
    ) -> CurrentDecision {
        let unknown = |why: &str| CurrentDecision::Unknown(why.to_owned());
        let allowed = |things: &KnownTargets| {
            let questions = self.questions(circumstances, things)?;
            let mut now = Some(true);
            for question in questions {
                now = both(now, self.settled(&question, circumstances, snapshot));
            }
            Some(now)
        };
        let [things, others @ ..] = &*self.things(snapshot.lock()) else {
            return unknown("it is about nothing");
        };
        let now = allowed(things);
        if others.iter().any(|other| allowed(other) != now) {
            return unknown(
                "its definition was not the approved one then, and whether it would be now is not recorded",
            );
        }
        let (Some(now), Some(questions)) = (now, self.questions(circumstances, things)) else {
            return unknown("the record does not tell all that it asked for");
        };
        let asks = |reasons: &[Reason]| {
            let asks = |reason: &Reason| reason.on_deny == Some(OnDeny::AskConsent);
            !reasons.is_empty() && reasons.iter().all(asks)
        };
        let Some(allowed) = now else {
            let denying = self.deciding(&questions, circumstances, snapshot, TestDecision::Deny);
            return unknown(if asks(&denying) {
                UNANSWERED
            } else if circumstances.sent.is_some() {
                "what decides it now stands in contents or the session, which are not recorded"
            } else {
                "what decides it now stands in arguments, contents or the session, which are not recorded"
            });
        };
        let now = if allowed {
            TestDecision::Allow
        } else {
            TestDecision::Deny
        };
        let deciding = || self.deciding(&questions, circumstances, snapshot, now);
        if allowed && self.role == RecordRole::Reply {
            // What it asks for in return was a question of its own, which other policies permit.
            let now = deciding();
            let permits = |policy: &String| now.iter().any(|it| it.policy.as_str() == policy);
            if !self.policies.iter().all(permits) {
                return unknown("other policies let it pass then, perhaps with what it asked for");
            }
        }
        if allowed && self.is_sent_otherwise(&questions, circumstances, snapshot) {
            return unknown("the gate would send it in canonical spelling, and evaluate that too");
        }
        if now == self.was {
            return CurrentDecision::Same;
        }
        // Of links in a path, only the gate knew where they led.
        let has_paths = !snapshot.labels().path_pointers(&self.target).is_empty();
        if allowed && has_paths && circumstances.sent.is_some() {
            return unknown("links in its paths are not recorded");
        }
        let reasons = deciding();
        if !allowed && asks(&reasons) {
            return unknown(UNANSWERED);
        }
        let ids = reasons
            .iter()
            .map(|reason| reason.policy.as_str().to_owned());
        CurrentDecision::certain(self.was, now, ids.collect())
    }

    /// Whether an allowing rule obliges the gate to rewrite what it sends.
    fn is_sent_otherwise(
        &self,
        questions: &[RecordedRequest<'_>],
        circumstances: &Circumstances<'_>,
        snapshot: &PolicySnapshot,
    ) -> bool {
        let nothing = Nothing::default();
        questions.iter().any(|asked| {
            let said = asked.message(circumstances);
            let action = said.unwrap_or_else(|| Action::bare(asked.action, &nothing));
            match snapshot.judge(&self.facts(asked, action, circumstances)) {
                Decision::Allow(allowance) => allowance.obligations.iter().any(|obligation| {
                    matches!(
                        obligation,
                        Obligation::CanonicalPaths | Obligation::CanonicalUris
                    )
                }),
                Decision::Deny(_) => false,
            }
        })
    }

    /// Whether one question is allowed, if that is certain.
    fn settled(
        &self,
        asked: &RecordedRequest<'_>,
        circumstances: &Circumstances<'_>,
        snapshot: &PolicySnapshot,
    ) -> Option<bool> {
        let question = PartialRequest {
            principal: asked.principal,
            action: asked.action,
            resource: asked.about,
            server: circumstances.server,
            transport: circumstances.transport,
            level: circumstances.level,
            datasets: circumstances.datasets,
            now_ms: self.now_ms,
            message: None,
            agent: circumstances.told,
        };
        let facts = asked
            .message(circumstances)
            .map(|action| self.facts(asked, action, circumstances));
        known_targets::settled(&question, facts.as_ref(), snapshot)
    }

    /// What is not known of the environment is made up.
    fn facts<'q>(
        &self,
        asked: &RecordedRequest<'q>,
        action: Action<'q>,
        circumstances: &Circumstances<'q>,
    ) -> Facts<'q> {
        Facts {
            principal: asked.principal,
            action,
            resource: asked.about,
            env: Environment {
                server: circumstances.server,
                transport: circumstances.transport.unwrap_or("stdio"),
                protocol: super::super::lines::PROTOCOL,
                now_ms: self.now_ms.unwrap_or_default(),
                peer: None,
                session: SessionState {
                    level: circumstances.level.unwrap_or_default(),
                    datasets: circumstances.datasets.unwrap_or_default().to_vec(),
                    ..SessionState::default()
                },
                consent: Consent::default(),
            },
        }
    }

    /// What it is about. A record does not say how a tool was defined: a locked one is taken for what
    /// is approved, unless the record says that it was not what was approved then; then it may be
    /// anything now.
    fn things(&self, lock: &Lock) -> Vec<KnownTargets> {
        let pin = |schema_ok, description_ok| Pin {
            known: true,
            schema_ok,
            description_ok,
        };
        let pins = if !lock.unchanged(&self.target).known {
            vec![Pin::default()]
        } else if self.policies.iter().any(|policy| policy == LOCK_DRIFT) {
            let any = [(false, false), (false, true), (true, false), (true, true)];
            any.map(|(schema, description)| pin(schema, description))
                .to_vec()
        } else {
            vec![pin(true, true)]
        };
        let shown = lock.prompt_pin(&self.target, None);
        let things = pins
            .into_iter()
            .map(|pin| KnownTargets::new(&self.target, pin, shown));
        things.collect()
    }

    /// The agent, and what is known of it. A record holds no claims.
    fn who(&self, context: &JudgeContext<'_>, tokens: TokenGrants) -> (Agent, AgentFacts) {
        if let Some(agent) = context.agents.get(&self.agent.id) {
            return (agent.clone(), AgentFacts::Known);
        }
        let told = match tokens {
            TokenGrants::Nothing => AgentFacts::OfRecord,
            TokenGrants::Unknown | TokenGrants::Capabilities => AgentFacts::OfRecordWithoutGrants,
        };
        let agent = Agent {
            id: self.agent.id.clone(),
            roles: self.agent.roles.clone(),
            user: self.agent.user.clone(),
            client: Client {
                name: self.agent.asserted_name.clone(),
                version: String::new(),
            },
            ..Agent::default()
        };
        (agent, told)
    }

    /// What policies are asked about such a message; nothing where the record does not tell it all.
    fn questions<'q>(
        &self,
        circumstances: &Circumstances<'q>,
        things: &'q KnownTargets,
    ) -> Option<Vec<RecordedRequest<'q>>> {
        let Circumstances {
            method,
            agent,
            server,
            ..
        } = *circumstances;
        let of_agent = Principal::Agent(agent);
        let of_server = Principal::Server(server);
        let one = |principal, action, about| {
            Some(vec![RecordedRequest {
                principal,
                action,
                about,
            }])
        };
        if self.role == RecordRole::Reply {
            let about = match (self.from, method) {
                // What the agent answers was settled with the question.
                (Side::Agent, _) => return Some(Vec::new()),
                (Side::Upstream, KnownMethod::ToolsCall) => Resource::Tool(&things.tool),
                (Side::Upstream, KnownMethod::PromptsGet) => Resource::Prompt(&things.prompt),
                (
                    Side::Upstream,
                    KnownMethod::ResourcesRead
                    | KnownMethod::ResourcesSubscribe
                    | KnownMethod::ResourcesUnsubscribe,
                ) => Resource::Resource(&things.resource),
                // Of a prompt, or of a resource; with what its params named.
                (Side::Upstream, KnownMethod::Complete | KnownMethod::Extension(_)) => return None,
                (Side::Upstream, _) => Resource::Server(server),
            };
            return one(of_agent, ActionName::ReceiveResult, about);
        }
        let (asks, peer) = match self.from {
            Side::Agent => (of_agent, Resource::Server(server)),
            Side::Upstream => (of_server, Resource::Client(&agent.client)),
        };
        let on_peer = |action| one(asks, action, peer);
        match method {
            KnownMethod::Initialize | KnownMethod::Discover => on_peer(ActionName::Initialize),
            KnownMethod::Ping => on_peer(ActionName::Ping),
            KnownMethod::SetLevel => on_peer(ActionName::SetLevel),
            KnownMethod::Cancelled | KnownMethod::TasksCancel => on_peer(ActionName::Cancel),
            KnownMethod::RootsList => on_peer(ActionName::ListRoots),
            KnownMethod::CreateMessage => on_peer(ActionName::Sample),
            KnownMethod::Elicit => on_peer(ActionName::Elicit),
            KnownMethod::ToolsCall => one(asks, ActionName::CallTool, Resource::Tool(&things.tool)),
            KnownMethod::PromptsGet => one(
                asks,
                ActionName::GetPrompt,
                Resource::Prompt(&things.prompt),
            ),
            KnownMethod::ResourcesRead => {
                let about = Resource::Resource(&things.resource);
                one(asks, ActionName::ReadResource, about)
            }
            KnownMethod::ResourcesSubscribe | KnownMethod::ResourcesUnsubscribe => {
                let about = Resource::Resource(&things.resource);
                one(asks, ActionName::Subscribe, about)
            }
            KnownMethod::ResourceUpdated => Some(vec![
                RecordedRequest {
                    principal: of_agent,
                    action: ActionName::Subscribe,
                    about: Resource::Resource(&things.resource),
                },
                RecordedRequest {
                    principal: asks,
                    action: ActionName::Notify,
                    about: peer,
                },
            ]),
            // Which prompt or resource, and which resources besides; what a task began with.
            KnownMethod::Complete
            | KnownMethod::SubscriptionsListen
            | KnownMethod::TasksGet
            | KnownMethod::TasksResult
            | KnownMethod::TasksUpdate
            | KnownMethod::TaskNews
            // Which resources its params name.
            | KnownMethod::Extension(_) => None,
            KnownMethod::ToolsList
            | KnownMethod::PromptsList
            | KnownMethod::ResourcesList
            | KnownMethod::ResourceTemplatesList
            | KnownMethod::Initialized
            | KnownMethod::Progress
            | KnownMethod::RootsListChanged
            | KnownMethod::LogMessage
            | KnownMethod::ToolsListChanged
            | KnownMethod::ResourcesListChanged
            | KnownMethod::PromptsListChanged
            | KnownMethod::ElicitationComplete
            | KnownMethod::TasksList
            | KnownMethod::TaskStatus
            | KnownMethod::SubscriptionsAcknowledged => on_peer(ActionName::Notify),
        }
    }

    /// The policies that decide one such message: what is the same in every context, is so in this.
    fn deciding(
        &self,
        questions: &[RecordedRequest<'_>],
        circumstances: &Circumstances<'_>,
        snapshot: &PolicySnapshot,
        now: TestDecision,
    ) -> Vec<Reason> {
        let nothing = Nothing::default();
        let reasons = questions.iter().flat_map(|asked| {
            let said = asked.message(circumstances);
            let is_known = said.is_some();
            let action = said.unwrap_or_else(|| Action::bare(asked.action, &nothing));
            // What may be called but not listed is not there.
            let listing = (asked.action == ActionName::CallTool).then_some(Action::ListTool);
            let actions = [Some(action), listing].into_iter().flatten();
            let decisions =
                actions.map(|action| snapshot.judge(&self.facts(asked, action, circumstances)));
            let agree = |decision: &Decision| decision.is_allow() == (now == TestDecision::Allow);
            let reasons = decisions.filter(agree).flat_map(|it| it.reasons().to_vec());
            // Where the arguments are left out, it says nothing of those that were sent.
            reasons
                .filter(|reason| is_known || reason.policy.as_str() != LOCKED_ARGUMENTS)
                .collect::<Vec<_>>()
        });
        let once: BTreeSet<Reason> = reasons.collect();
        once.into_iter().collect()
    }
}

impl RecordedRequest<'_> {
    /// What the message holds, if the record has it.
    fn message<'q>(&self, circumstances: &Circumstances<'q>) -> Option<Action<'q>> {
        let sent = circumstances.sent;
        if self.action == ActionName::Notify {
            let method = circumstances.method.name();
            Some(Action::Notify { method })
        } else if self.action == ActionName::CallTool {
            sent.map(|(arguments, targets)| Action::CallTool { arguments, targets })
        } else if self.action == ActionName::GetPrompt {
            sent.map(|(arguments, _)| Action::GetPrompt { arguments })
        } else {
            None
        }
    }
}
