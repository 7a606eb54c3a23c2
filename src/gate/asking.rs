//! What a server may never ask of the agent's user, and what the agent may not do while it lends the
//! server its model. Policies have been asked before: this is what they cannot permit.

use crate::guard::asks_for_secret;
use crate::policy::{PolicySnapshot, UNREADABLE_HOST, page_host};
use crate::session::{Extension, Session, Spoken, Turn};
use crate::wire::{KnownMethod, Side, Value};

use super::decide::called_tool;
use super::refuse::Refusal;
use super::settings::{Asking, Level, Pages};
use super::understand::{Doing, Understood};

/// What a question of a server's asks for that it must not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unaskable {
    /// By the name of the field.
    #[error(
        "the form asks for a secret in `{0}`: a server may ask for one on a page of its own only"
    )]
    Secret(String),
    #[error("the user may not be sent to a page of `{0}`")]
    Page(String),
}

/// What a server wants of the agent's user.
pub(super) fn elicit(params: Option<Value<'_>>) -> Doing<'_> {
    let get = |key| params.and_then(|params| params.get(key)?.as_str());
    let mode = get("mode").unwrap_or("form".into());
    let properties = params.and_then(|params| params.at(&["requestedSchema", "properties"]));
    let (mut fields, mut secret) = (Vec::new(), None);
    for (name, field) in properties.into_iter().flat_map(Value::entries) {
        let title = field
            .get("title")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if secret.is_none() && (asks_for_secret(&name) || asks_for_secret(&title)) {
            secret = Some(name.clone().into_owned());
        }
        fields.push(name.into_owned());
    }
    let host = match &*mode {
        "url" => {
            let host = get("url").and_then(|url| page_host(&url));
            host.unwrap_or(UNREADABLE_HOST.to_owned())
        }
        _ => String::new(),
    };
    Doing::Elicit {
        mode,
        fields,
        host,
        secret,
    }
}

/// Whether the agent has said that it answers questions of this mode.
pub(super) fn knows_mode(spoken: &Spoken, params: Option<Value<'_>>) -> bool {
    let mode = params.and_then(|params| params.get("mode")?.as_str());
    match mode.as_deref() {
        Some("url") => spoken.pages == Extension::Declared,
        Some(_) | None => spoken.elicitation,
    }
}

/// Whether what a server asks of the user may be asked at all; what is only to be recorded is told.
pub(super) fn check(understood: &Understood<'_>, asking: &Asking) -> Result<Vec<String>, Refusal> {
    let mut findings = Vec::new();
    for question in &understood.questions {
        let Doing::Elicit {
            mode, host, secret, ..
        } = &question.doing
        else {
            continue;
        };
        if let Some(field) = secret {
            let problem = Unaskable::Secret(field.clone());
            match asking.secrets {
                Level::Off => {}
                Level::Warn => findings.push(format!("asking: {problem}")),
                Level::Strict => return Err(problem.into()),
            }
        }
        let is_open = match &asking.pages {
            Pages::Any => true,
            Pages::Only(hosts) => hosts.contains(host),
        };
        if *mode == "url" && !is_open {
            return Err(Unaskable::Page(host.clone()).into());
        }
    }
    Ok(findings)
}

/// Refuses calls that could change something, or reach somebody, while the agent's model works for
/// the server: what it was given to read would be acting. A call that brings what the server has asked
/// is that of before; one that merely repeats its state is not.
pub(super) fn while_sampling(
    understood: &Understood<'_>,
    turn: Turn,
    snapshot: &PolicySnapshot,
    session: &Session,
    lends_model: Lends,
) -> Result<(), Refusal> {
    let Some(tool) = called_tool(understood).filter(|_| turn.answers == 0) else {
        return Ok(());
    };
    let asked = lends_model == Lends::Model
        || session
            .state()
            .to_agent
            .has_method(KnownMethod::CreateMessage);
    let permissions = snapshot.labels().permissions(tool);
    if asked
        && understood.identified.from == Side::Agent
        && (permissions.write || permissions.connect)
    {
        return Err(Refusal::WhileSampling);
    }
    Ok(())
}

/// Whether an agent is being asked for a sample by whoever stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lends {
    Nothing,
    Model,
}
