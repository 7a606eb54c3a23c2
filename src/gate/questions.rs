//! The questions that a method asks of policy.

use crate::policy::{Prompt, Tool};
use crate::session::Target;
use crate::wire::{KnownMethod, Value};

use super::arguments::{leaves, targets};
use super::asking::declared::elicit;
use super::look::Look;
use super::query::{About, Asks, Doing, Question};
use super::rejection::Rejection;
use super::uris::{self, Kind};
use super::{extensions, inspect};

/// The questions that a method asks.
pub(super) fn ask<'m>(
    method: KnownMethod,
    asks: Asks,
    params: Option<Value<'m>>,
    look: Look<'_>,
) -> Result<(Target, Vec<Question<'m>>), Rejection> {
    let text = |key: &str| {
        params
            .and_then(|params| params.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let one = |about, doing| vec![Question { asks, about, doing }];
    let peer = || match asks {
        Asks::Agent => About::Server,
        Asks::Server => About::Client,
    };
    let on_peer = |doing| (Target::Server, one(peer(), doing));
    Ok(match method {
        KnownMethod::Initialize | KnownMethod::Discover => on_peer(Doing::Initialize),
        KnownMethod::Ping => on_peer(Doing::Ping),
        KnownMethod::SetLevel => on_peer(Doing::SetLevel),
        KnownMethod::Cancelled | KnownMethod::TasksCancel => on_peer(Doing::Cancel),
        KnownMethod::ToolsList
        | KnownMethod::PromptsList
        | KnownMethod::ResourcesList
        | KnownMethod::ResourceTemplatesList
        | KnownMethod::TasksList
        // What is about a task is asked as what the task began with.
        | KnownMethod::TasksGet
        | KnownMethod::TasksResult
        | KnownMethod::TasksUpdate => on_peer(Doing::List(method)),
        KnownMethod::ToolsCall => {
            let arguments_value = params.and_then(|params| params.get("arguments"));
            let arguments = leaves(arguments_value)?;
            let targets = targets(arguments_value, &arguments, look);
            let name = text("name").into_owned();
            let tool = Tool::named(name.clone());
            (
                Target::Tool(name),
                one(About::Tool(tool), Doing::CallTool(arguments, targets)),
            )
        }
        KnownMethod::PromptsGet => {
            let arguments = leaves(params.and_then(|params| params.get("arguments")))?;
            let name = text("name").into_owned();
            let about = About::Prompt(Prompt::named(name.clone()));
            (
                Target::Prompt(name),
                one(about, Doing::GetPrompt(arguments)),
            )
        }
        KnownMethod::ResourcesRead => {
            uris::one(&text("uri"), Kind::Uri, asks, || Doing::ReadResource)
        }
        KnownMethod::ResourcesSubscribe | KnownMethod::ResourcesUnsubscribe => {
            uris::one(&text("uri"), Kind::Uri, asks, || Doing::Subscribe)
        }
        KnownMethod::Complete => complete(asks, params),
        KnownMethod::Extension(listed) => extensions::ask(listed, asks, params, look)?,
        KnownMethod::SubscriptionsListen => listen(asks, params)?,
        KnownMethod::RootsList => on_peer(Doing::ListRoots),
        KnownMethod::CreateMessage => on_peer(inspect::sample(params)),
        KnownMethod::Elicit => on_peer(elicit(params)),
        KnownMethod::ResourceUpdated => {
            let (target, mut questions) =
                uris::one(&text("uri"), Kind::Uri, Asks::Agent, || Doing::Subscribe);
            questions.push(Question {
                asks,
                about: peer(),
                doing: Doing::Notify(method),
            });
            (target, questions)
        }
        KnownMethod::Initialized
        | KnownMethod::Progress
        | KnownMethod::RootsListChanged
        | KnownMethod::LogMessage
        | KnownMethod::ToolsListChanged
        | KnownMethod::ResourcesListChanged
        | KnownMethod::PromptsListChanged
        | KnownMethod::ElicitationComplete
        | KnownMethod::SubscriptionsAcknowledged
        | KnownMethod::TaskStatus
        | KnownMethod::TaskNews => on_peer(Doing::Notify(method)),
    })
}

/// Completion is asked of the prompt or the resource template that it completes.
fn complete(asks: Asks, params: Option<Value<'_>>) -> (Target, Vec<Question<'_>>) {
    let at = |path: &[&str]| {
        params
            .and_then(|params| params.at(path))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let argument = at(&["argument", "name"]);
    if at(&["ref", "type"]) == "ref/prompt" {
        let name = at(&["ref", "name"]).into_owned();
        let about = About::Prompt(Prompt::named(name.clone()));
        let doing = Doing::Complete(argument);
        (Target::Prompt(name), vec![Question { asks, about, doing }])
    } else {
        uris::one(&at(&["ref", "uri"]), Kind::Template, asks, || {
            Doing::Complete(argument.clone())
        })
    }
}

/// A subscription stream is asked of the server, and of each resource that it names.
fn listen(asks: Asks, params: Option<Value<'_>>) -> Result<(Target, Vec<Question<'_>>), Rejection> {
    let mut questions = vec![Question {
        asks,
        about: About::Server,
        doing: Doing::Listen,
    }];
    let uris = params.and_then(|params| params.at(&["notifications", "resourceSubscriptions"]));
    let beyond = uris.and_then(|uris| uris.items().nth(uris::MOST_URIS));
    if beyond.is_some() {
        return Err(Rejection::too_many_uris(uris::MOST_URIS));
    }
    for uri in uris.into_iter().flat_map(Value::items) {
        let uri = uri.as_str().unwrap_or_default();
        questions.extend(uris::questions(&uri, Kind::Uri, asks, || Doing::Subscribe));
    }
    Ok((Target::Server, questions))
}
