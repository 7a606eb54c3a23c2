//! Messages that tests send to an endpoint for several servers. The endpoint's own names lead each to the server that
//! judges it.

use std::sync::Arc;

use toml::Spanned;

use super::actual::ActualOutcome;
use super::errors::FixtureProblem;
use super::fixture::{EndpointName, Fixture, Sends, Test, TestStep};
use super::fixture_words::ListKind;
use super::gate_file::ConfiguredPolicies;
use super::judge::MessageOutcome;
use super::suggest;
use crate::policy::{Server, ServerKey};
use crate::unified::{Alias, EndpointNames, ItemKind, Route};
use crate::wire::{Limits, Message, Side};

/// Gives each message at an endpoint the server and the names that the endpoint would give it.
pub(super) fn route(
    judging: Option<&ConfiguredPolicies>,
    fixture: &mut Fixture,
    keys: &[ServerKey],
) -> Vec<FixtureProblem> {
    let source = fixture.source.clone();
    let tests = fixture.tests.iter_mut();
    let steps = tests.flat_map(Test::steps_mut);
    let routed = steps.filter_map(|step| {
        let endpoint = step.endpoint.clone()?;
        let problem = |(code, message, help): Problem| {
            let problem = FixtureProblem::new(code, message);
            problem.at(&source, endpoint.span()).with_help(help)
        };
        let names = names(judging, endpoint.get_ref(), keys);
        names
            .and_then(|names| of_step(step, names))
            .err()
            .map(problem)
    });
    routed.collect()
}

/// Code, message and help.
type Problem = (&'static str, String, String);

fn names(
    judging: Option<&ConfiguredPolicies>,
    endpoint: &EndpointName,
    keys: &[ServerKey],
) -> Result<EndpointNames, Problem> {
    if keys.is_empty() {
        return Err((
            "test::no_endpoint",
            "there is one server, without a key".to_owned(),
            "only several servers have an endpoint for all: remove it".to_owned(),
        ));
    }
    let configured = match judging.map(|judging| (&judging.file, &judging.unified)) {
        Some((file, None)) => {
            return Err((
                "test::no_endpoint",
                format!("`{}` has no `[unified]`", file.display()),
                "add `[unified]` there, or name a `server`".to_owned(),
            ));
        }
        Some((_, unified)) => unified.as_ref(),
        None => None,
    };
    let aliases: Arc<[Alias]> = configured
        .map(|it| Arc::clone(&it.aliases))
        .unwrap_or_default();
    let view = match (endpoint, configured) {
        (EndpointName::Unified, _) => None,
        (EndpointName::View(name), None) => {
            return Err((
                "test::no_endpoint",
                format!("there is no view `{name}`"),
                "views are in a configuration: name it as `gate`, or with `--config`".to_owned(),
            ));
        }
        (EndpointName::View(name), Some(configured)) => {
            let view = configured.views.get(name).ok_or_else(|| {
                let known: Vec<&str> = configured.views.keys().map(String::as_str).collect();
                (
                    "test::no_endpoint",
                    format!("there is no view `{name}`"),
                    suggest::help(name, &known, "name one of `[views]` of the configuration"),
                )
            });
            Some(view?)
        }
    };
    Ok(EndpointNames::new(aliases, view, keys.to_vec()))
}

fn of_step(step: &mut TestStep, names: EndpointNames) -> Result<(), Problem> {
    let place = step.server.span();
    let mut name_server = |key: &ServerKey| {
        step.server = Spanned::new(place.clone(), Some(key.to_string()));
    };
    match &step.sends {
        Sends::Frame {
            from: Side::Agent,
            frame,
        } => {
            let Ok(message) = Message::decode(frame.as_bytes(), &Limits::default()) else {
                // Every server's gate refuses it, for the same reason.
                names.keys().first().into_iter().for_each(name_server);
                return Ok(());
            };
            match names.route(&message) {
                Ok(Route::One(key, frame)) => {
                    name_server(&key);
                    let from = Side::Agent;
                    step.sends = Sends::Frame { from, frame };
                }
                Ok(Route::All) => {
                    let method = message.method().map(|it| it.name().to_owned());
                    let method = method.unwrap_or_default();
                    return Err((
                        "test::conflict",
                        format!("all servers of the endpoint get `{method}`, each for itself"),
                        "name one of them with `server`, or use `list`".to_owned(),
                    ));
                }
                Err(rejection) => {
                    step.sends = Sends::Unrouted {
                        frame: frame.clone(),
                        reason: rejection.reason(),
                        text: rejection.to_string(),
                    };
                }
            }
        }
        Sends::List(_) => step.names = Some(Arc::new(names)),
        Sends::Frame {
            from: Side::Upstream,
            ..
        }
        | Sends::Connect(_) => {
            return Err((
                "test::conflict",
                "a server does not know of the endpoint".to_owned(),
                "name the server with `server`".to_owned(),
            ));
        }
        Sends::Unrouted { .. } => {}
    }
    Ok(())
}

/// What became of a message at all servers that got it. A list at an endpoint has what each server's gate shows, under
/// the endpoint's names; it is denied if no server's gate permits it.
pub(super) fn merged(
    step: &TestStep,
    answers: Vec<(&Server, MessageOutcome)>,
) -> Option<MessageOutcome> {
    let (Some(names), Sends::List(list)) = (&step.names, &step.sends) else {
        return answers.into_iter().map(|(_, outcome)| outcome).next();
    };
    let mut merged: Option<ActualOutcome> = None;
    for (server, outcome) in answers {
        let mut of_server = match outcome.message {
            Ok(outcome) => outcome,
            // What cannot be judged at one server has no answer.
            Err(invalid) => return Some(MessageOutcome::of(Err(invalid))),
        };
        let key = server.key.as_ref()?;
        let own = of_server.shown.take().unwrap_or_default();
        let shown = own.iter();
        let shown = shown.filter_map(|own| names.shown(key, list.listed(), own));
        let shown: Vec<String> = shown.collect();
        of_server.shown = of_server.allowed().then_some(shown);
        merged = Some(match merged {
            None => of_server,
            Some(before) => before.beside(of_server),
        });
    }
    merged.map(|outcome| MessageOutcome::of(Ok(outcome)))
}

impl ListKind {
    /// What it lists.
    pub(super) const fn listed(self) -> ItemKind {
        match self {
            Self::Tools => ItemKind::Tool,
            Self::Prompts => ItemKind::Prompt,
            Self::Resources => ItemKind::Resource,
        }
    }
}
