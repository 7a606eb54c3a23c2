//! Hears what the rules are asked while a test runs, and why they answer as they do.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::policy::{
    Action, ActionName, Agent, Arguments, Decision, EngineFault, Evaluation, Facts, ListEvaluation,
    ListMode, Observer, PolicyTrace, Principal, Reason, Resource, Targets, Trace, Verdict,
    Visibility, combine,
};

/// What was asked, by the thread that asked: a test stays on one.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<HashMap<ThreadId, RecordedQueries>>);

/// The evaluations since the last read.
#[derive(Debug, Default)]
pub(crate) struct RecordedQueries {
    pub(crate) questions: Vec<RecordedQuery>,
    pub(crate) looks: Vec<ListedItem>,
}

/// One question to all engines.
#[derive(Debug)]
pub(crate) struct RecordedQuery {
    pub(crate) asked: QueryDescription,
    pub(crate) verdicts: Vec<Result<Verdict, EngineFault>>,
    /// Of the engines that can tell.
    pub(crate) traces: Vec<Trace>,
}

/// One item of a list.
#[derive(Debug)]
pub(crate) struct ListedItem {
    pub(crate) action: ActionName,
    pub(crate) answer: Result<Visibility, EngineFault>,
    /// May it be listed?
    pub(crate) listing: Option<Trace>,
    /// May it be used? The context is open, so that parts which look at it say nothing. Nothing where
    /// that is not what decides about a list.
    pub(crate) using: Option<Trace>,
    /// What decides about listing it, where that is a question of its own.
    pub(crate) reasons: Vec<Reason>,
}

/// Who asks for what, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryDescription {
    pub(crate) action: ActionName,
    pub(crate) principal: Requester,
    /// `tool`, `resource`, `prompt`, `server` or `client`.
    pub(crate) kind: &'static str,
    /// As policies name it.
    pub(crate) name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Requester {
    Agent(Box<Agent>),
    Server(String),
}

impl Recorder {
    /// What was asked on this thread since it was last asked for.
    pub(crate) fn take(&self) -> RecordedQueries {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.remove(&thread::current().id()).unwrap_or_default()
    }

    fn hear(&self, what: impl FnOnce(&mut RecordedQueries)) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        what(heard.entry(thread::current().id()).or_default());
    }
}

impl RecordedQueries {
    /// Of questions and of lists.
    pub(crate) fn into_traces(self) -> Vec<PolicyTrace> {
        let looks = self.looks.into_iter();
        let looks = looks.flat_map(|look| look.listing.into_iter().chain(look.using));
        let questions = self.questions.into_iter();
        let questions = questions.flat_map(|question| question.traces);
        let traces = questions.chain(looks);
        traces.flat_map(|trace| trace.policies).collect()
    }
}

impl Observer for Recorder {
    fn judged(&self, judged: Evaluation<'_>) {
        self.hear(|heard| {
            if judged.engine == 0 {
                heard.questions.push(RecordedQuery {
                    asked: QueryDescription::of(judged.facts),
                    verdicts: Vec::new(),
                    traces: Vec::new(),
                });
            }
            if let Some(question) = heard.questions.last_mut() {
                question.verdicts.push(judged.verdict.clone());
                question.traces.extend(judged.trace);
            }
        });
    }

    fn listed(&self, listed: ListEvaluation<'_>) {
        let looks = listed
            .items
            .iter()
            .zip(listed.answers)
            .map(|(item, answer)| {
                let (arguments, targets) = (Arguments::default(), Targets::default());
                let (listing, using) = match item {
                    Resource::Tool(_) => (
                        Action::ListTool,
                        Action::CallTool {
                            arguments: &arguments,
                            targets: &targets,
                        },
                    ),
                    Resource::Resource(_) => (Action::ListResource, Action::ReadResource),
                    // Nothing else is listed.
                    Resource::Prompt(_)
                    | Resource::Method(_)
                    | Resource::Server(_)
                    | Resource::Client(_)
                    | Resource::Host(_) => (
                        Action::ListPrompt,
                        Action::GetPrompt {
                            arguments: &arguments,
                        },
                    ),
                };
                let action = listing.name();
                let facts = |action| Facts {
                    principal: listed.facts.principal,
                    action,
                    resource: *item,
                    env: listed.facts.env.clone(),
                };
                let trace = |action| listed.rules.trace(&facts(action));
                let (using, reasons) = match listed.rules.shows() {
                    ListMode::WhatMayBeUsed => (trace(using), Vec::new()),
                    ListMode::WhatMayBeListed => {
                        (None, reasons(listed.rules.judge(&facts(listing))))
                    }
                };
                ListedItem {
                    action,
                    answer: answer.clone(),
                    listing: trace(listing),
                    using,
                    reasons,
                }
            });
        let looks: Vec<ListedItem> = looks.collect();
        self.hear(|heard| heard.looks.extend(looks));
    }
}

fn reasons(verdict: Result<Verdict, EngineFault>) -> Vec<Reason> {
    match verdict {
        Ok(Verdict::Allow { reasons, .. } | Verdict::Deny { reasons }) => reasons,
        Ok(Verdict::Abstain) | Err(_) => Vec::new(),
    }
}

impl RecordedQuery {
    pub(crate) fn decision(&self) -> Decision {
        combine(self.verdicts.iter().cloned())
    }

    /// Whether some engine would allow it.
    pub(crate) fn has_allow(&self) -> bool {
        let mut verdicts = self.verdicts.iter();
        verdicts.any(|verdict| matches!(verdict, Ok(Verdict::Allow { .. })))
    }

    /// What each engine decided by, whether it was heeded or not.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = &Reason> {
        let verdicts = self.verdicts.iter().flatten();
        verdicts.flat_map(|verdict| match verdict {
            Verdict::Allow { reasons, .. } | Verdict::Deny { reasons } => reasons.as_slice(),
            Verdict::Abstain => &[],
        })
    }
}

impl QueryDescription {
    fn of(facts: &Facts<'_>) -> Self {
        let id = |name: &str| facts.env.server.id_of(name).into_owned();
        let (kind, name) = match facts.resource {
            Resource::Tool(tool) => ("tool", id(&tool.name)),
            Resource::Resource(resource) => ("resource", id(&resource.uri)),
            Resource::Prompt(prompt) => ("prompt", id(&prompt.name)),
            Resource::Method(method) => ("method", id(&method.name)),
            Resource::Server(server) => ("server", server.name.clone()),
            Resource::Client(client) => ("client", client.name.clone()),
            Resource::Host(named) => ("host", named.id()),
        };
        Self {
            action: facts.action.name(),
            principal: match facts.principal {
                Principal::Agent(agent) => Requester::Agent(Box::new(agent.clone())),
                Principal::Server(server) => Requester::Server(server.name.clone()),
            },
            kind,
            name,
        }
    }
}
