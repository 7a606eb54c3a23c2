//! What the tests of one suite have in common.

use std::sync::Arc;
use std::time::Duration;

use crate::gate;
use crate::policy::{PolicySnapshot, PolicyStore, ServerKey};

use super::at_endpoint;
use super::fixture::{NamedServer, Test, TestStep};
use super::judge::{MessageOutcome, TestSession};
use super::listing::ServerCatalog;
use super::load::Suite;
use super::read::called_tool;
use super::recorder::Recorder;
use super::servers::SuiteServer;
use super::shared_session::SharedSession;
use super::suite_context::SuiteContext;

/// The servers of a suite, each behind a gate: one at least.
pub(super) struct Bench<'s> {
    /// As they are for all servers.
    pub(super) policies: Arc<PolicySnapshot>,
    pub(super) servers: Vec<SuiteContext<'s>>,
}

impl<'s> Bench<'s> {
    /// Under the suite's own policies.
    pub(super) fn new(suite: &'s Suite, settings: &'s gate::Settings) -> Self {
        Self::under(suite.policies.current(), suite, settings, None)
    }

    /// Under these policies in their place.
    pub(super) fn under(
        policies: Arc<PolicySnapshot>,
        suite: &'s Suite,
        settings: &'s gate::Settings,
        witness: Option<&'s Recorder>,
    ) -> Self {
        let context = |it: &'s SuiteServer| {
            let own = policies.of_server(it.server.key.as_ref());
            SuiteContext {
                catalogue: ServerCatalog::new(&it.offers, own.lock()),
                policies: Arc::new(PolicyStore::new(own)),
                settings: it.gate.as_ref().unwrap_or(settings),
                server: &it.server,
                offers: &it.offers,
                extensions: &suite.fixture.extensions,
                agents: &suite.fixture.agents,
                witness,
            }
        };
        let servers = suite.servers.iter().map(context).collect();
        Self { policies, servers }
    }

    /// The server of this name, or the only one.
    pub(super) fn at(&self, server: &NamedServer) -> Option<&SuiteContext<'s>> {
        match server.get_ref() {
            Some(name) => self.servers.iter().find(|it| it.server.name == *name),
            None => self.servers.first(),
        }
    }

    fn of_key(&self, key: &ServerKey) -> Option<&SuiteContext<'s>> {
        let mut servers = self.servers.iter();
        servers.find(|it| it.server.key.as_ref() == Some(key))
    }

    /// What becomes of a test's messages, in a session of its own.
    pub(super) async fn judge(&self, test: &Test) -> Vec<MessageOutcome> {
        let shared = SharedSession::of(test);
        let mut conversations: Vec<(&str, TestSession<'_>)> = Vec::new();
        let mut came = Vec::with_capacity(test.steps().len());
        for step in test.steps() {
            let judged = match &step.names {
                Some(names) => {
                    let keys = names.keys().iter();
                    keys.filter_map(|key| self.of_key(key)).collect()
                }
                None => Vec::from_iter(self.at(&step.server)),
            };
            let mut answers = Vec::with_capacity(judged.len());
            for context in judged {
                let name = context.server.name.as_str();
                let place = conversations.iter().position(|(at, _)| *at == name);
                let place = place.unwrap_or_else(|| {
                    let offered = context.offered(test);
                    let begun = TestSession::begin(context, test, &offered, Arc::clone(&shared));
                    conversations.push((name, begun));
                    conversations.len() - 1
                });
                let Some((_, conversation)) = conversations.get(place) else {
                    continue;
                };
                let mut step = step.clone();
                if !answers.is_empty() {
                    // The servers of an endpoint get it at one time.
                    step.after = Duration::ZERO;
                }
                let outcome = Box::pin(conversation.step(&step)).await;
                answers.push((context.server, outcome));
            }
            came.extend(at_endpoint::merged(step, answers));
        }
        came
    }
}

impl SuiteContext<'_> {
    /// The tools of this server that a test calls and that are there.
    fn offered(&self, test: &Test) -> Vec<String> {
        let is_here = |step: &&TestStep| {
            let name = step.server.get_ref().as_deref();
            name.is_none_or(|name| name == self.server.name)
        };
        let steps = test.steps().iter().filter(is_here);
        let called = steps.filter_map(|step| called_tool(&step.sends));
        called
            .filter(|tool| self.catalogue.has_tool(tool))
            .collect()
    }
}
