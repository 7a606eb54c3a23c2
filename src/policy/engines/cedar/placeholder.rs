//! The context of each message, and that of rules that look at none.

use std::net::Ipv4Addr;
use std::sync::LazyLock;

use cedar_policy_core::ast::{Context, RequestSchema, Value};
use cedar_policy_core::extensions::Extensions;

use super::context::{assemble, env_value};
use super::inspect::FactNeeds;
use super::schema_action::SchemaAction;
use super::vocabulary::{Vocabulary, uid};
use crate::policy::{
    Action, ActionName, Consent, Environment, Nothing, Principal, Resource, Server, SessionState,
};

/// A context that Cedar has no value for, or that the schema refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the context does not fit")]
pub(super) struct ContextEncodingError;

/// A placeholder for unread context. There is one only if the schema accepts it.
#[derive(Debug)]
pub(super) struct PlaceholderContext {
    /// By `ActionName as usize`.
    contexts: Vec<Context>,
    pub(super) env: Value,
    /// By `ActionName as usize`, then by kind of principal and of resource.
    scopes: Vec<[[bool; 7]; 2]>,
}

static IDLE: LazyLock<Result<PlaceholderContext, String>> =
    LazyLock::new(|| Vocabulary::get().and_then(|words| PlaceholderContext::of(&words)));

impl PlaceholderContext {
    pub(super) fn get() -> Result<&'static Self, String> {
        IDLE.as_ref().map_err(Clone::clone)
    }

    pub(super) fn context(&self, name: ActionName) -> Option<Context> {
        self.contexts.get(name as usize).cloned()
    }

    /// Whether the schema has the action for such a principal and such a resource.
    ///
    /// INVARIANT: it never depends on their ids (no type of ours is an enumeration), so that one of
    /// each kind was asked about.
    pub(super) fn fits(
        &self,
        name: ActionName,
        principal: Principal<'_>,
        resource: Resource<'_>,
    ) -> bool {
        let [agent, server] = self.scopes.get(name as usize).unwrap_or(&[[false; 7]; 2]);
        let [tool, uri, prompt, method, upstream, client, host] = match principal {
            Principal::Agent(_) => agent,
            Principal::Server(_) => server,
        };
        *match resource {
            Resource::Tool(_) => tool,
            Resource::Resource(_) => uri,
            Resource::Prompt(_) => prompt,
            Resource::Method(_) => method,
            Resource::Server(_) => upstream,
            Resource::Client(_) => client,
            Resource::Host(_) => host,
        }
    }

    fn of(words: &Vocabulary) -> Result<Self, String> {
        let env = env_of(words, 0).ok_or("Cedar has no value for the environment")?;
        let nothing = Nothing::default();
        let mut contexts = Vec::new();
        for name in ActionName::ALL {
            let action = Action::bare(name, &nothing);
            let context = assemble(words, &action, env.clone(), FactNeeds::ALL, None);
            check(words, SchemaAction::Named(name), &context)?;
            contexts.push(context);
        }
        Ok(Self {
            contexts,
            env,
            scopes: ActionName::ALL
                .into_iter()
                .map(|name| scopes(words, name))
                .collect(),
        })
    }
}

/// The context of one message.
///
/// It is checked against the schema each time (decision 4), which costs several times the rest of a
/// decision; so it is made only for rules that look into it and are not plain (`glance.rs`).
pub(super) fn context(
    words: &Vocabulary,
    idle: &PlaceholderContext,
    action: &Action<'_>,
    env: &Environment<'_>,
    needs: FactNeeds,
    arguments: Option<(SchemaAction, Value)>,
) -> Result<Context, ContextEncodingError> {
    if !needs.has(FactNeeds::CONTEXT) {
        return idle.context(action.name()).ok_or(ContextEncodingError);
    }
    let env = if needs.has(FactNeeds::ENV) {
        env_value(words, env, needs)
    } else {
        Some(idle.env.clone())
    };
    // Without the arguments, the call of a tool has the context of any.
    let verb = arguments
        .as_ref()
        .map_or(SchemaAction::Named(action.name()), |(verb, _)| *verb);
    let arguments = arguments.map(|(_, arguments)| arguments);
    // The schema accepts every shape of a context (see the tests), so this can only find a defect of ours; a gate pays
    // the microseconds.
    env.map(|env| assemble(words, action, env, needs, arguments))
        .filter(|context| check(words, verb, context).is_ok())
        .ok_or(ContextEncodingError)
}

pub(super) fn check(
    words: &Vocabulary,
    verb: SchemaAction,
    context: &Context,
) -> Result<(), String> {
    let action = words.action(verb).ok_or("no such action")?.uid();
    let result = words
        .core_schema()
        .validate_context(context, action, Extensions::all_available());
    result.map_err(|error| error.to_string())
}

fn scopes(words: &Vocabulary, name: ActionName) -> [[bool; 7]; 2] {
    let resources = [
        &words.tool,
        &words.resource,
        &words.prompt,
        &words.method,
        &words.server,
        &words.client,
        &words.host,
    ];
    [&words.agent, &words.server].map(|principal| {
        resources.map(|resource| {
            let [principal, resource] = [principal, resource].map(|kind| uid(kind, ""));
            let schema = words.core_schema();
            words
                .action(SchemaAction::Named(name))
                .is_some_and(|action| {
                    schema
                        .validate_scope_variables(
                            Some(&principal),
                            Some(action.uid()),
                            Some(&resource),
                        )
                        .is_ok()
                })
        })
    })
}

/// The bits of `shape` say whether `peer`, `by` and `at` are there.
fn env_of(words: &Vocabulary, shape: u8) -> Option<Value> {
    let server = Server::default();
    let consent = Consent {
        by: (shape & 2 != 0).then(String::new),
        at_ms: (shape & 4 != 0).then_some(1),
        ..Consent::default()
    };
    let env = Environment {
        server: &server,
        transport: "",
        protocol: "",
        now_ms: 0,
        peer: (shape & 1 != 0).then_some(Ipv4Addr::LOCALHOST.into()),
        session: SessionState::default(),
        consent,
    };
    env_value(words, &env, FactNeeds::ALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_accepts_every_shape_of_a_context() {
        let words = Vocabulary::get().unwrap();
        let nothing = Nothing::default();
        for name in ActionName::ALL {
            for shape in 0..8 {
                let env = env_of(&words, shape).unwrap();
                let action = Action::bare(name, &nothing);
                let context = assemble(&words, &action, env, FactNeeds::ALL, None);
                check(&words, SchemaAction::Named(name), &context).unwrap();
            }
        }
    }
}
