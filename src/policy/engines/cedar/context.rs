//! The context of a request: what is true of this message only.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy_core::ast::{Context, Literal, Value};
use cedar_policy_core::pst::SmolStr;

use super::inspect::FactNeeds;
use super::value::{datetime, entity, ip, literal, record, record_of, strings};
use super::vocabulary::{Vocabulary, uid};
use crate::policy::{Action, Consent, Environment, Received, SessionState, Targets};

pub(super) fn assemble(
    words: &Vocabulary,
    action: &Action<'_>,
    env: Value,
    needs: FactNeeds,
    arguments: Option<Value>,
) -> Context {
    let mut fields = message_fields(words, action, needs, arguments);
    fields.insert("env".into(), env);
    Context::Value(Arc::new(fields))
}

/// What a context has beside `env`.
pub(super) fn message_fields(
    words: &Vocabulary,
    action: &Action<'_>,
    needs: FactNeeds,
    arguments: Option<Value>,
) -> BTreeMap<SmolStr, Value> {
    let args = || entity(words.arguments.clone());
    let mut fields = BTreeMap::new();
    let mut put = |key: &'static str, value: Value| {
        fields.insert(key.into(), value);
    };
    if let Some(arguments) = arguments {
        put("arguments", arguments);
    }
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
        Action::CallTool { targets, .. } | Action::Extension { targets, .. } => {
            let idle = Targets::default();
            put(
                "targets",
                targets_value(
                    words,
                    if needs.has(FactNeeds::TARGETS) {
                        targets
                    } else {
                        &idle
                    },
                ),
            );
            put("raw_arguments", args());
        }
        Action::GetPrompt { .. } => put("raw_arguments", args()),
        Action::Complete { argument } => put("argument", literal(*argument)),
        Action::ReceiveResult { received } => put("result", result_value(received)),
        Action::Sample {
            max_tokens,
            include_context,
            tools,
            messages,
            bytes,
            system,
            agent: _,
        } => {
            put("maxTokens", literal(*max_tokens));
            put("includeContext", literal(*include_context));
            put("tools", literal(*tools));
            put("messages", literal(*messages));
            put("bytes", literal(*bytes));
            put("system", literal(*system));
        }
        Action::Elicit { mode, fields, host } => {
            put("host", literal(*host));
            put("mode", literal(*mode));
            put("fields", strings(fields));
        }
        Action::ConnectHost { isolated } => put("isolated", literal(*isolated)),
    }
    fields
}

/// `None` where Cedar has no value for a part of it.
pub(super) fn env_value(
    words: &Vocabulary,
    env: &Environment<'_>,
    needs: FactNeeds,
) -> Option<Value> {
    let peer = env.peer.filter(|_| needs.has(FactNeeds::PEER));
    let required = [
        ("transport", Some(literal(env.transport))),
        ("protocol", Some(literal(env.protocol))),
        ("now", time(env.now_ms, needs, FactNeeds::NOW)),
        ("session", session_value(words, &env.session, needs)),
        ("consent", consent_value(&env.consent, needs)),
    ];
    let peer = peer.map(|address| ("peer", ip(address)));
    record_of(required.into_iter().chain(peer))
}

fn session_value(words: &Vocabulary, session: &SessionState, needs: FactNeeds) -> Option<Value> {
    record_of([
        ("level", Some(literal(session.level))),
        ("labels", Some(strings(&session.labels))),
        ("datasets", Some(strings(&session.datasets))),
        ("untrusted", Some(literal(session.untrusted))),
        ("sources", Some(servers(words, &session.sources))),
        (
            "untrustedFrom",
            Some(servers(words, &session.untrusted_from)),
        ),
        ("calls", Some(literal(session.calls))),
        (
            "startedAt",
            time(session.started_ms, needs, FactNeeds::STARTED_AT),
        ),
    ])
}

/// A set of servers, of which nothing but the key is looked at.
pub(super) fn servers(words: &Vocabulary, keys: &[String]) -> Value {
    let keys = keys.iter();
    Value::set_of_lits(keys.map(|key| Literal::from(uid(&words.server, key))), None)
}

fn consent_value(consent: &Consent, needs: FactNeeds) -> Option<Value> {
    let required = [
        ("granted", Some(literal(consent.granted))),
        ("scope", Some(literal(consent.scope.as_str()))),
    ];
    let by = consent.by.as_ref();
    let by = by.map(|by| ("by", Some(literal(by.as_str()))));
    let at = consent.at_ms;
    let at = at.map(|at| ("at", time(at, needs, FactNeeds::CONSENT_AT)));
    record_of(required.into_iter().chain(by).chain(at))
}

fn targets_value(words: &Vocabulary, targets: &Targets) -> Value {
    let roots = targets
        .roots
        .iter()
        .map(|root| Literal::from(uid(&words.root, root)));
    record([
        ("roots", Value::set_of_lits(roots, None)),
        ("outside", literal(targets.outside)),
        ("level", literal(targets.level)),
        ("writable", literal(targets.writable)),
        ("hosts", strings(&targets.hosts)),
        ("destinations", strings(&targets.destinations)),
        ("approved", literal(targets.approved)),
        ("copiedFrom", servers(words, &targets.copied_from)),
        ("bytes", literal(targets.bytes)),
        ("secrets", strings(&targets.secrets)),
        ("options", strings(&targets.options)),
    ])
}

fn result_value(received: &Received) -> Value {
    record([
        ("level", literal(received.level)),
        ("labels", strings(&received.labels)),
        ("bytes", literal(received.bytes)),
        ("isError", literal(received.is_error)),
        ("fatal", literal(received.fatal)),
        ("secrets", strings(&received.secrets)),
        ("flags", strings(&received.flags)),
    ])
}

/// The epoch where no rule reads the time: a datetime costs more than a whole decision.
fn time(ms: i64, needs: FactNeeds, this: FactNeeds) -> Option<Value> {
    datetime(if needs.has(this) { ms } else { 0 })
}
