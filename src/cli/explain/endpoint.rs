//! Messages to an endpoint for several servers: the server that gets each, and its own names.

use crate::cli::args::ExplainArgs;
use crate::cli::proxy;
use crate::config::Config;
use crate::explain::{ExplainRequest, HypotheticalMessage};
use crate::policy::ServerKey;
use crate::unified::{EndpointNames, ItemKind, Route};
use crate::wire::{Limits, Message, Side};

/// The request as the server of its name gets it, and the server's key; `None` if no endpoint is named.
pub(super) fn routed(
    args: &ExplainArgs,
    config: Option<&Config>,
    request: &ExplainRequest,
) -> Result<Option<(ExplainRequest, ServerKey)>, String> {
    let names = config.map(|config| names(args, config)).transpose();
    let Some(names) = names?.flatten() else {
        return Ok(None);
    };
    let ExplainRequest::Message(message) = request else {
        let problem = "a record names its own server: leave out `--endpoint` and `--view`";
        return Err(problem.to_owned());
    };
    let (message, key) = to_server(&names, message)?;
    Ok(Some((ExplainRequest::Message(message), key)))
}

fn names(args: &ExplainArgs, config: &Config) -> Result<Option<EndpointNames>, String> {
    if args.endpoint.is_none() && args.view.is_none() {
        return Ok(None);
    }
    let endpoint = proxy::endpoint(config);
    let endpoint =
        endpoint.ok_or("the configuration has no `[unified]`, and so no such endpoint")?;
    let view = args.view.as_deref().map(|name| {
        endpoint.views.get(name).ok_or_else(|| {
            let known: Vec<String> = endpoint.views.keys().map(|it| format!("`{it}`")).collect();
            let name = name.escape_debug();
            format!(
                "no view has the name `{name}`; the views are {}",
                known.join(", ")
            )
        })
    });
    let view = view.transpose()?;
    let servers = config.each();
    let keys = servers.iter().filter_map(|it| it.key.clone());
    Ok(Some(EndpointNames::new(endpoint.aliases, view, keys)))
}

fn to_server(
    names: &EndpointNames,
    message: &HypotheticalMessage,
) -> Result<(HypotheticalMessage, ServerKey), String> {
    let own = |kind: ItemKind, shown: &str| {
        let own = names.own(kind, shown);
        let own = own.filter(|(key, own)| names.shown(key, kind, own).is_some());
        own.ok_or_else(|| unrouted(&shown.escape_debug().to_string()))
    };
    match message {
        HypotheticalMessage::Call { tool, arguments } => {
            let (key, tool) = own(ItemKind::Tool, tool)?;
            let arguments = arguments.clone();
            Ok((HypotheticalMessage::Call { tool, arguments }, key))
        }
        HypotheticalMessage::Prompt { name, arguments } => {
            let (key, name) = own(ItemKind::Prompt, name)?;
            let arguments = arguments.clone();
            Ok((HypotheticalMessage::Prompt { name, arguments }, key))
        }
        HypotheticalMessage::Read(uri) => {
            let (key, uri) = own(ItemKind::Resource, uri)?;
            Ok((HypotheticalMessage::Read(uri), key))
        }
        HypotheticalMessage::Frame {
            from: Side::Agent,
            frame,
        } => {
            let message = Message::decode(frame.as_bytes(), &Limits::default());
            let message =
                message.map_err(|error| format!("the endpoint cannot route it: {error}"))?;
            match names.route(&message) {
                Ok(Route::One(key, frame)) => {
                    let from = Side::Agent;
                    Ok((HypotheticalMessage::Frame { from, frame }, key))
                }
                Ok(Route::All) => Err(
                    "all servers of the endpoint get this message: name one with `--server`"
                        .to_owned(),
                ),
                Err(rejection) => Err(format!("no server gets it: {rejection}")),
            }
        }
        HypotheticalMessage::Frame {
            from: Side::Upstream,
            ..
        }
        | HypotheticalMessage::Connection(_) => {
            Err("a server does not know of the endpoint: name it with `--server`".to_owned())
        }
    }
}

fn unrouted(name: &str) -> String {
    format!("no server gets it: the endpoint has nothing of the name `{name}`")
}
