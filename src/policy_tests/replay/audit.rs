//! Records of the audit log, asked again for all that they do not tell.

use jiff::Timestamp;

use super::super::fixture::TestDecision;
use super::super::judge::SuiteContext;
use super::known_targets::{KnownTargets, both, may_oblige_to_raise, settled};
use super::{CurrentDecision, DecisionComparison};
use crate::audit::MARKER;
use crate::gate::Stage;
use crate::policy::{
    Action, ActionName, Agent, Client, ClientFacts, Consent, Environment, Facts, LOCK_DRIFT,
    LOCKED_ARGUMENTS, Lock, Nothing, PartialRequest, Pin, PolicySnapshot, Principal, Resource,
    Server, SessionState,
};
use crate::wire::{KnownMethod, Side, Value};

/// One line of a log.
#[derive(Debug)]
pub(in super::super) enum LogEntry {
    Decided(Box<RecordedDecision>),
    /// Such as half a line of a gate that was killed.
    Unreadable(usize),
}

/// A decision of policies.
#[derive(Debug)]
pub(in super::super) struct RecordedDecision {
    line: usize,
    was: TestDecision,
    method: String,
    /// Who sent what was judged.
    from: Side,
    /// It answers a request.
    role: RecordRole,
    target: String,
    agent: String,
    asserted_name: String,
    upstream: String,
    now_ms: Option<i64>,
    /// The session had read something sensitive, under the labels of that day.
    was_sensitive: bool,
    revision: String,
    policies: Vec<String>,
    /// The record was cut, or something was taken out of it.
    incomplete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordRole {
    Question,
    Reply,
}

/// What policies were asked.
struct RecordedRequest<'q> {
    principal: Principal<'q>,
    action: ActionName,
    about: Resource<'q>,
}

impl LogEntry {
    pub(super) fn unreadable(line: usize) -> Self {
        Self::Unreadable(line)
    }

    /// A record of a message whose decision was the policies' own; of all others nothing is to be
    /// compared: no policy makes them another one.
    pub(super) fn of(record: Value<'_>, line: usize) -> Option<Self> {
        let at = |path: &[&str]| record.at(path).and_then(Value::as_str);
        let text = |path: &[&str]| at(path).unwrap_or_default().into_owned();
        let kind = text(&["kind"]);
        let role = match kind.as_str() {
            "tools_list" | "tool_call" | "request" | "server_request" | "notification" => {
                RecordRole::Question
            }
            "tool_result" | "gate_decision" => RecordRole::Reply,
            _ => return None,
        };
        let from = match at(&["direction"])?.as_ref() {
            "agent_to_upstream" => Side::Agent,
            "upstream_to_agent" => Side::Upstream,
            _ => return None,
        };
        let code = text(&["reason", "code"]);
        let by_policy = text(&["stage"]) == Stage::Decide.name();
        let was = match at(&["decision"])?.as_ref() {
            "ALLOW" => TestDecision::Allow,
            // That a tool is not there, no policy changes.
            "BLOCK" if by_policy && code != "unknown_tool" => TestDecision::Deny,
            "ERROR" if by_policy && code == "engine_fault" => TestDecision::Deny,
            _ => return None,
        };
        let policies = record.get("policies").into_iter().flat_map(Value::items);
        let policies = policies.filter_map(Value::as_str);
        let recorded = RecordedDecision {
            line,
            was,
            method: text(&["method"]),
            from,
            role,
            target: text(&["target"]),
            agent: text(&["agent", "id"]),
            asserted_name: text(&["agent", "asserted_name"]),
            upstream: text(&["upstream"]),
            now_ms: at(&["timestamp"])
                .and_then(|time| time.parse::<Timestamp>().ok())
                .map(Timestamp::as_millisecond),
            was_sensitive: record.get("sensitivity").is_some(),
            revision: text(&["revision"]),
            policies: policies.map(std::borrow::Cow::into_owned).collect(),
            incomplete: false,
        };
        let cut = [
            &recorded.method,
            &recorded.target,
            &recorded.agent,
            &recorded.asserted_name,
            &recorded.upstream,
        ];
        let incomplete = cut.iter().any(|text| is_cut(text));
        Some(Self::Decided(Box::new(RecordedDecision {
            incomplete,
            ..recorded
        })))
    }
}

/// Whether the log has shortened a string, or taken a secret out of it.
fn is_cut(text: &str) -> bool {
    text.contains(MARKER) || text.ends_with(" bytes more]")
}

pub(super) fn compare(bench: &SuiteContext<'_>, entries: &[LogEntry]) -> Vec<DecisionComparison> {
    let snapshot = bench.policies.current();
    let compared = entries.iter().map(|entry| match entry {
        LogEntry::Decided(recorded) => DecisionComparison {
            line: recorded.line,
            about: recorded.about(),
            was: recorded.was,
            now: recorded.judge(bench, &snapshot),
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
    fn about(&self) -> String {
        let asked = match (self.method.as_str(), self.target.as_str()) {
            ("tools/call", tool) => format!("a call of `{tool}`"),
            (method, "") => format!("`{method}`"),
            (method, target) => format!("`{method}` of `{target}`"),
        };
        match self.role {
            RecordRole::Question => asked,
            RecordRole::Reply => format!("the answer to {asked}"),
        }
    }

    fn judge(&self, bench: &SuiteContext<'_>, snapshot: &PolicySnapshot) -> CurrentDecision {
        // The same facts and the same policies.
        if self.revision == snapshot.revision().as_str() {
            return CurrentDecision::Same;
        }
        let unknown = |why: &str| CurrentDecision::Unknown(why.to_owned());
        if self.incomplete {
            return unknown("the record is cut, or a secret was taken out of it");
        }
        let known = KnownMethod::from_name(&self.method);
        let listed = || {
            bench
                .settings
                .extensions
                .with(bench.extensions)
                .find(&self.method)
        };
        let Some(method) = known.or_else(listed) else {
            return unknown("its method is not known to this version");
        };
        let has_definition = matches!(method, KnownMethod::ToolsCall | KnownMethod::PromptsGet);
        if snapshot.looks_for().flags && (has_definition || self.role == RecordRole::Reply) {
            return unknown("what is flagged in a definition or an answer is not recorded");
        }
        let Some((agent, client)) = self.who(bench) else {
            return CurrentDecision::Unknown(format!(
                "who the agent `{}` is stands only in `[agents]`, which does not name it",
                self.agent
            ));
        };
        let server = Server {
            name: self.upstream.clone(),
            ..bench.server.clone()
        };
        // What was sensitive then need not be so now, nor what is now have been so then.
        let is_public = !self.was_sensitive
            && !snapshot.labels().raise_levels()
            && !may_oblige_to_raise(snapshot);
        let level = is_public.then_some(0);
        let allowed = |things: &KnownTargets| {
            let questions = self.questions(method, &agent, &server, things)?;
            let open = questions.iter().map(|question| PartialRequest {
                principal: question.principal,
                action: question.action,
                resource: question.about,
                server: &server,
                // An agent behind standard streams is known by nothing else.
                transport: (self.agent == "stdio").then_some("stdio"),
                level,
                now_ms: self.now_ms,
                method: Some(method.name()),
                client,
            });
            let mut now = Some(true);
            for question in open {
                now = both(now, settled(&question, snapshot));
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
        let (Some(now), Some(questions)) = (now, self.questions(method, &agent, &server, things))
        else {
            return unknown("the record does not tell all that it asked for");
        };
        let Some(allowed) = now else {
            return unknown(
                "what decides it now stands in arguments, contents or the session, which are not recorded",
            );
        };
        let deciding = || self.deciding(&questions, method, &server, snapshot);
        if allowed && self.role == RecordRole::Reply {
            // What it asks for in return was a question of its own, which other policies permit.
            let now = deciding();
            if !self.policies.iter().all(|policy| now.contains(policy)) {
                return unknown("other policies let it pass then, perhaps with what it asked for");
            }
        }
        let now = if allowed {
            TestDecision::Allow
        } else {
            TestDecision::Deny
        };
        if now == self.was {
            CurrentDecision::Same
        } else {
            CurrentDecision::certain(self.was, now, deciding())
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

    /// The agent, as far as it can be known.
    fn who(&self, bench: &SuiteContext<'_>) -> Option<(Agent, ClientFacts)> {
        if let Some(agent) = bench.agents.get(&self.agent) {
            return Some((agent.clone(), ClientFacts::Known));
        }
        let agent = Agent {
            id: self.agent.clone(),
            client: Client {
                name: self.asserted_name.clone(),
                version: String::new(),
            },
            ..Agent::default()
        };
        // Nothing is ever proven of it, and of no other it can be known what was.
        (self.agent == "stdio").then_some((agent, ClientFacts::Unknown))
    }

    /// What policies are asked about such a message; nothing where the record does not tell it all.
    fn questions<'q>(
        &self,
        method: KnownMethod,
        agent: &'q Agent,
        server: &'q Server,
        things: &'q KnownTargets,
    ) -> Option<Vec<RecordedRequest<'q>>> {
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
        method: KnownMethod,
        server: &Server,
        snapshot: &PolicySnapshot,
    ) -> Vec<String> {
        let nothing = Nothing::default();
        let env = || Environment {
            server,
            transport: "stdio",
            protocol: super::super::lines::PROTOCOL,
            now_ms: self.now_ms.unwrap_or_default(),
            peer: None,
            session: SessionState::default(),
            consent: Consent::default(),
        };
        let reasons = questions.iter().flat_map(|question| {
            let action = if question.action == ActionName::Notify {
                let method = method.name();
                Action::Notify { method }
            } else {
                Action::bare(question.action, &nothing)
            };
            let decision = snapshot.judge(&Facts {
                principal: question.principal,
                action,
                resource: question.about,
                env: env(),
            });
            // The arguments are left out, which says nothing of those that were sent.
            let reasons = decision.reasons().iter();
            let reasons = reasons.filter(|reason| reason.policy.as_str() != LOCKED_ARGUMENTS);
            let ids = reasons.map(|reason| reason.policy.as_str().to_owned());
            ids.collect::<Vec<_>>()
        });
        reasons.collect()
    }
}
