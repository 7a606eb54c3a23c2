//! The servers that the tests of a fixture are about: those of the configuration, or those that the
//! fixture names.

use toml::Spanned;

use super::at_endpoint;
use super::errors::FixtureProblem;
use super::fixture::{Fixture, NamedServer, Plan, ServerLists, Test};
use super::gate_file::{ConfiguredPolicies, ConfiguredServer};
use super::offers;
use super::replay::Recording;
use super::suggest;
use crate::gate;
use crate::policy::{Server, ServerKey};

/// The default of `upstream.name` in the configuration.
const SERVER: &str = "upstream";

/// A server of a suite.
pub(super) struct SuiteServer {
    pub(super) server: Server,
    /// The gate that the configuration puts in front of it.
    pub(super) gate: Option<gate::Settings>,
    pub(super) offers: ServerLists,
}

/// The servers of a fixture, in whose tests each name is that of one of them.
pub(super) fn servers(
    judging: Option<&ConfiguredPolicies>,
    fixture: &mut Fixture,
    problems: &mut Vec<FixtureProblem>,
) -> Vec<SuiteServer> {
    let servers = named(judging, fixture);
    let keys: Vec<ServerKey> = servers
        .iter()
        .filter_map(|(it, _)| it.key.clone())
        .collect();
    problems.extend(judging.and_then(|judging| others(judging, fixture)));
    if let Some(strangers) = strangers(fixture, &servers) {
        problems.extend(strangers);
        return Vec::new();
    }
    problems.extend(keyless(fixture, &keys));
    problems.extend(at_endpoint::route(judging, fixture, &keys));
    if !keys.is_empty() {
        for test in &mut fixture.tests {
            if let Some(server) = test.server.get_ref() {
                test.changed.behind(server);
            }
        }
    }
    let servers = servers.into_iter().map(|(server, gate)| {
        let (offers, strange) = offers::of_server(fixture, &server);
        problems.extend(strange);
        SuiteServer {
            server,
            gate,
            offers,
        }
    });
    servers.collect()
}

fn named(
    judging: Option<&ConfiguredPolicies>,
    fixture: &Fixture,
) -> Vec<(Server, Option<gate::Settings>)> {
    let of_keys = |keys: &[Spanned<ServerKey>]| {
        let servers = keys.iter().map(|key| Server {
            name: key.get_ref().to_string(),
            key: Some(key.get_ref().clone()),
            ..Server::default()
        });
        servers.map(|server| (server, None)).collect::<Vec<_>>()
    };
    let mut servers = match (judging, &fixture.servers) {
        (Some(judging), _) => {
            let servers = judging.servers.iter();
            let gate = |it: &ConfiguredServer| {
                let mut gate = it.gate.clone();
                // Of the command's configuration, how often others come makes no difference to a test.
                if fixture.gate.is_none() {
                    gate.terms.rates = gate::Rates::default();
                }
                gate
            };
            servers
                .map(|it| (it.server.clone(), Some(gate(it))))
                .collect()
        }
        (None, Some(keys)) => of_keys(keys),
        (None, None) => {
            let name = SERVER.to_owned();
            let only = Server {
                name,
                ..Server::default()
            };
            vec![(only, None)]
        }
    };
    if let ([(only, _)], Some(name)) = (servers.as_mut_slice(), &fixture.server)
        && only.key.is_none()
    {
        only.name.clone_from(name.get_ref());
    }
    servers
}

/// A fixture and the configuration under which it is tested cannot mean different servers.
fn others(judging: &ConfiguredPolicies, fixture: &Fixture) -> Option<FixtureProblem> {
    let written = fixture.servers.as_ref()?;
    let sorted = |keys: Vec<ServerKey>| {
        let mut keys = keys;
        keys.sort();
        keys
    };
    let configured = judging
        .servers
        .iter()
        .filter_map(|it| it.server.key.clone());
    let configured = sorted(configured.collect());
    let keys = written.iter().map(|key| key.get_ref().clone());
    if sorted(keys.collect()) == configured {
        return None;
    }
    let start = written.first().map(|key| key.span().start);
    let end = written.last().map(|key| key.span().end);
    let place = start.unwrap_or_default()..end.unwrap_or_default();
    let file = judging.file.display();
    let message = format!("these are not the servers of `{file}`, under which it is to be tested");
    let help = match configured.as_slice() {
        [] => "it has one server, without a key: remove `servers`".to_owned(),
        keys => {
            let keys: Vec<&str> = keys.iter().map(ServerKey::as_str).collect();
            format!("remove `servers`, or name {}", suggest::list(&keys))
        }
    };
    let problem = FixtureProblem::new("test::conflict", message);
    Some(problem.at(&fixture.source, place).with_help(help))
}

/// Messages to a server that there is not, or to none of several.
fn strangers(
    fixture: &Fixture,
    servers: &[(Server, Option<gate::Settings>)],
) -> Option<Vec<FixtureProblem>> {
    let known: Vec<&str> = servers.iter().map(|(it, _)| it.name.as_str()).collect();
    let is_bare = servers.iter().all(|(it, _)| it.key.is_none());
    let strange = |named: &NamedServer| {
        let place = named.span();
        let (code, message, help) = match named.get_ref() {
            Some(name) if !known.contains(&name.as_str()) => (
                "test::unknown_server",
                format!("no server is called `{name}`"),
                suggest::help(name, &known, "name one of `[servers]` of the configuration"),
            ),
            None if !is_bare => (
                "test::required",
                "`server` is missing: there are several servers".to_owned(),
                format!(
                    "name the one that it goes to, as in `server = \"{}\"`; known: {}",
                    known.first().copied().unwrap_or_default(),
                    suggest::list(&known)
                ),
            ),
            Some(_) | None => return None,
        };
        let problem = FixtureProblem::new(code, message);
        Some(problem.at(&fixture.source, place).with_help(help))
    };
    let named = fixture.tests.iter().flat_map(|test| {
        let steps = test.steps().iter();
        let steps = steps.filter(|step| step.endpoint.is_none());
        let steps = steps.map(|step| &step.server);
        steps.chain(is_of_one(test).then_some(&test.server))
    });
    let strange: Vec<_> = named.filter_map(strange).collect();
    (!strange.is_empty()).then_some(strange)
}

/// Whether a test has no steps that say where they go, and no records that do.
fn is_of_one(test: &Test) -> bool {
    match &test.plan {
        Plan::Message(_) | Plan::Conversation(_) => test.server.get_ref().is_some(),
        Plan::Replay(replay) => {
            let is_transcript = matches!(replay.recording, Some(Recording::Transcript(_)));
            is_transcript || test.server.get_ref().is_some()
        }
    }
}

/// Names that the file gives of what servers have, where it is about none of several: each begins with the
/// key of one.
fn keyless(fixture: &Fixture, keys: &[ServerKey]) -> Vec<FixtureProblem> {
    let declared = &fixture.declared;
    let lists = declared.lists.iter().flat_map(|(_, names)| names);
    let described = declared.descriptions.iter().map(|(name, _)| name);
    let of_file = lists.chain(described);
    let of_file = of_file.filter(|_| fixture.server.is_none());
    let open = fixture
        .tests
        .iter()
        .filter(|it| it.server.get_ref().is_none());
    let changed = open.flat_map(|test| test.changed.names());
    let problem = |name: &Spanned<String>| {
        let help = ServerKey::help_for(keys, name.get_ref())?;
        let message = format!(
            "`{}` does not begin with the key of a server and a slash",
            name.get_ref()
        );
        let problem = FixtureProblem::new("test::no_server", message);
        Some(problem.at(&fixture.source, name.span()).with_help(help))
    };
    of_file.chain(changed).filter_map(problem).collect()
}
