//! The context of a request: what is true of this message only.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy_core::ast::{Context, Literal, RequestSchema, Value};
use cedar_policy_core::extensions::Extensions;

use super::inspect::Needs;
use super::value::{datetime, entity, ip, literal, record, strings};
use super::vocabulary::{Vocabulary, uid};
use crate::policy::{
    Action, ActionName, Arguments, Consent, Environment, Server, SessionState, Touch,
};

/// The part of the context that Cedar has no value for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not fit")]
pub(super) struct Unsayable(&'static str);

pub(super) fn context(
    words: &Vocabulary,
    action: &Action<'_>,
    env: &Environment<'_>,
    needs: Needs,
) -> Result<Context, Unsayable> {
    let args = || entity(words.arguments.clone());
    let mut fields = BTreeMap::new();
    let mut put = |key: &'static str, value: Value| {
        fields.insert(key.into(), value);
    };
    put("env", env_value(env, needs)?);
    match action {
        Action::Initialize
        | Action::Ping
        | Action::SetLevel
        | Action::Cancel
        | Action::ListTool
        | Action::ListResource
        | Action::ListPrompt
        | Action::Listen
        | Action::ReadResource
        | Action::Subscribe
        | Action::ListRoots => {}
        Action::Notify { method } => put("method", literal(*method)),
        Action::CallTool { touch, .. } => {
            put("touch", touch_value(words, touch));
            put("args", args());
        }
        Action::GetPrompt { .. } => put("args", args()),
        Action::Complete { argument } => put("argument", literal(*argument)),
        Action::ReceiveResult {
            level,
            labels,
            bytes,
            is_error,
        } => {
            let result = record([
                ("level", literal(*level)),
                ("labels", strings(labels)),
                ("bytes", literal(*bytes)),
                ("isError", literal(*is_error)),
            ]);
            put("result", result);
        }
        Action::Sample {
            max_tokens,
            include_context,
            tools,
        } => {
            put("maxTokens", literal(*max_tokens));
            put("includeContext", literal(*include_context));
            put("tools", literal(*tools));
        }
        Action::Elicit { mode, fields } => {
            put("mode", literal(*mode));
            put("fields", strings(fields));
        }
    }
    Ok(Context::Value(Arc::new(fields)))
}

/// A context that the schema accepts.
pub(super) fn checked(
    words: &Vocabulary,
    action: &Action<'_>,
    env: &Environment<'_>,
    needs: Needs,
) -> Result<Context, String> {
    let context = context(words, action, env, needs).map_err(|error| error.to_string())?;
    let uid = words.action(action.name()).ok_or("no such action")?.uid();
    words
        .core_schema()
        .validate_context(&context, uid, Extensions::all_available())
        .map_err(|error| error.to_string())?;
    Ok(context)
}

/// One context for each action, by `ActionName as usize`, for rules that look at none.
pub(super) fn idle(words: &Vocabulary) -> Result<Vec<Context>, String> {
    let (arguments, touch, server) = (Arguments::default(), Touch::default(), Server::default());
    let env = Environment {
        server: &server,
        transport: "",
        protocol: "",
        now_ms: 0,
        peer: None,
        session: SessionState::default(),
        consent: Consent::default(),
    };
    let contexts = ActionName::ALL.into_iter().map(|name| {
        let action = sample(name, &arguments, &touch);
        checked(words, &action, &env, Needs::default())
    });
    contexts.collect()
}

fn sample<'a>(name: ActionName, arguments: &'a Arguments<'a>, touch: &'a Touch) -> Action<'a> {
    match name {
        ActionName::Initialize => Action::Initialize,
        ActionName::Ping => Action::Ping,
        ActionName::SetLevel => Action::SetLevel,
        ActionName::Cancel => Action::Cancel,
        ActionName::Notify => Action::Notify { method: "" },
        ActionName::ListTool => Action::ListTool,
        ActionName::ListResource => Action::ListResource,
        ActionName::ListPrompt => Action::ListPrompt,
        ActionName::Listen => Action::Listen,
        ActionName::CallTool => Action::CallTool { arguments, touch },
        ActionName::ReadResource => Action::ReadResource,
        ActionName::Subscribe => Action::Subscribe,
        ActionName::GetPrompt => Action::GetPrompt { arguments },
        ActionName::Complete => Action::Complete { argument: "" },
        ActionName::ReceiveResult => Action::ReceiveResult {
            level: 0,
            labels: &[],
            bytes: 0,
            is_error: false,
        },
        ActionName::Sample => Action::Sample {
            max_tokens: 0,
            include_context: "",
            tools: false,
        },
        ActionName::Elicit => Action::Elicit {
            mode: "",
            fields: &[],
        },
        ActionName::ListRoots => Action::ListRoots,
    }
}

fn env_value(env: &Environment<'_>, needs: Needs) -> Result<Value, Unsayable> {
    let peer = match env.peer {
        Some(address) if needs.has(Needs::PEER) => Some(ip(address).ok_or(Unsayable("peer"))?),
        Some(_) | None => None,
    };
    let required = [
        ("transport", literal(env.transport)),
        ("protocol", literal(env.protocol)),
        (
            "now",
            time(env.now_ms, needs, Needs::NOW).ok_or(Unsayable("now"))?,
        ),
        ("session", session_value(&env.session, needs)?),
        ("consent", consent_value(&env.consent, needs)?),
    ];
    Ok(record(
        required.into_iter().chain(peer.map(|peer| ("peer", peer))),
    ))
}

fn session_value(session: &SessionState, needs: Needs) -> Result<Value, Unsayable> {
    let started = time(session.started_ms, needs, Needs::STARTED_AT);
    Ok(record([
        ("level", literal(session.level)),
        ("labels", strings(&session.labels)),
        ("untrusted", literal(session.untrusted)),
        ("calls", literal(session.calls)),
        ("startedAt", started.ok_or(Unsayable("startedAt"))?),
    ]))
}

fn consent_value(consent: &Consent, needs: Needs) -> Result<Value, Unsayable> {
    let at = match consent.at_ms {
        Some(at) => Some(time(at, needs, Needs::CONSENT_AT).ok_or(Unsayable("at"))?),
        None => None,
    };
    let required = [
        ("granted", literal(consent.granted)),
        ("scope", literal(consent.scope.as_str())),
    ];
    let by = consent.by.iter().map(|by| ("by", literal(by.as_str())));
    Ok(record(
        required
            .into_iter()
            .chain(by)
            .chain(at.map(|at| ("at", at))),
    ))
}

fn touch_value(words: &Vocabulary, touch: &Touch) -> Value {
    let roots = touch
        .roots
        .iter()
        .map(|root| Literal::from(uid(&words.root, root)));
    record([
        ("roots", Value::set_of_lits(roots, None)),
        ("outside", literal(touch.outside)),
        ("hosts", strings(&touch.hosts)),
        ("bytes", literal(touch.bytes)),
    ])
}

/// The epoch where nobody can look: a datetime costs more than a whole decision.
fn time(ms: i64, needs: Needs, this: Needs) -> Option<Value> {
    datetime(if needs.has(this) { ms } else { 0 })
}
