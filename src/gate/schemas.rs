//! Whether arguments, and structured results, are what the tool's definition says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::guard::{SchemaProblem, ToolSchemas, Violation};
use crate::policy::Fingerprint;
use crate::session::{Offered, Session, Target};
use crate::wire::{KnownMethod, Side, Value};

use super::decide::called_tool;
use super::identify::Role;
use super::inspect;
use super::refuse::Refusal;
use super::understand::Understood;

/// What happens where a message is not what a guard asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// It is not looked at.
    #[default]
    Off,
    /// It passes, and its record tells.
    Warn,
    /// It is refused.
    Strict,
}

/// How strictly tools and their callers are held to the tools' definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guards {
    /// Arguments of calls, by `inputSchema`.
    pub arguments: Level,
    /// `structuredContent` of results, by `outputSchema`.
    pub results: Level,
}

/// How a message is not what a definition says.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error("the arguments are not what the tool's `inputSchema` asks for: {0}")]
    Arguments(Violation),
    #[error("the arguments cannot be checked, because of the tool's `inputSchema`: {0}")]
    Schema(SchemaProblem),
    #[error(
        "the arguments cannot be checked: the definitions of all tools are too large to be kept"
    )]
    NotKept,
}

/// The schemas of all tools, by definition, as long as some session knows the tool: a thousand
/// sessions with one server keep them once.
#[derive(Debug, Default)]
pub(super) struct KnownSchemas(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_definition: HashMap<Fingerprint, Weak<ToolSchemas>>,
    /// What those weigh that were added, some of which nobody may know any more.
    bytes: usize,
}

/// The most that is kept of all tools, in bytes of their schemas' text.
const MOST: usize = 64 << 20;

impl Guards {
    pub(super) fn is_off(self) -> bool {
        self == Self::default()
    }
}

impl KnownSchemas {
    /// `None` when too much is known already.
    pub(super) fn of(&self, print: Fingerprint, definition: Value<'_>) -> Option<Arc<ToolSchemas>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.by_definition.get(&print);
        if let Some(schemas) = found.and_then(Weak::upgrade) {
            return Some(schemas);
        }
        let schemas = Arc::new(ToolSchemas::of(definition));
        known.make_room(schemas.weight())?;
        known.by_definition.insert(print, Arc::downgrade(&schemas));
        Some(schemas)
    }
}

impl Known {
    fn make_room(&mut self, bytes: usize) -> Option<()> {
        if self.bytes.saturating_add(bytes) > MOST {
            self.by_definition
                .retain(|_, schemas| schemas.strong_count() > 0);
            let left = self.by_definition.values().filter_map(Weak::upgrade);
            self.bytes = left.map(|schemas| schemas.weight()).sum();
        }
        self.bytes = self.bytes.saturating_add(bytes);
        (self.bytes <= MOST).then_some(())
    }
}

/// Checks what a message says of a tool against the tool's definition, and tells what is only to be
/// recorded.
///
/// # Errors
/// When it does not fit, or that cannot be told, and the guard is strict.
pub(super) fn check(
    understood: &Understood<'_>,
    session: &Session,
    guards: Guards,
) -> Result<Vec<String>, Refusal> {
    if let (Some(name), false) = (called_tool(understood), guards.arguments == Level::Off) {
        let params = understood.identified.message.params();
        let arguments = params.and_then(|params| params.get("arguments"));
        return match (arguments_fit(name, arguments, session), guards.arguments) {
            (Err(unfit), Level::Strict) => Err(Refusal::Unfit(unfit)),
            (Err(unfit), Level::Warn | Level::Off) => Ok(vec![format!("arguments: {unfit}")]),
            (Ok(()), _) => Ok(Vec::new()),
        };
    }
    if let (Some((name, result)), false) =
        (result_of_call(understood), guards.results == Level::Off)
    {
        return match (result_fits(name, result, session), guards.results) {
            (Err(problem), Level::Strict) => Err(inspect::bad(&problem)),
            (Err(problem), Level::Warn | Level::Off) => Ok(vec![format!("results: {problem}")]),
            (Ok(()), _) => Ok(Vec::new()),
        };
    }
    Ok(Vec::new())
}

fn arguments_fit(name: &str, arguments: Option<Value<'_>>, session: &Session) -> Result<(), Unfit> {
    let offered = session.state().tools.defined(name);
    let schemas = match offered {
        // A task goes on whose tool is no longer there.
        None => return Ok(()),
        Some(Offered { schemas: None, .. }) => return Err(Unfit::NotKept),
        Some(Offered {
            schemas: Some(schemas),
            ..
        }) => schemas,
    };
    let schema = schemas.input().map_err(|it| Unfit::Schema(it.clone()))?;
    schema.check_arguments(arguments).map_err(Unfit::Arguments)
}

/// What the upstream says came of a call.
fn result_of_call<'u>(understood: &'u Understood<'_>) -> Option<(&'u str, Value<'u>)> {
    let (Role::Reply(taken), Target::Tool(name), Side::Upstream) = (
        &understood.identified.role,
        &understood.target,
        understood.identified.from,
    ) else {
        return None;
    };
    let told = [KnownMethod::ToolsCall, KnownMethod::TasksResult];
    let result = understood.identified.message.result()?;
    told.contains(&taken.exchange.method)
        .then_some((&**name, result))
}

fn result_fits(name: &str, result: Value<'_>, session: &Session) -> Result<(), String> {
    let offered = session.state().tools.defined(name);
    let Some(schemas) = offered.and_then(|offered| offered.schemas) else {
        return Ok(());
    };
    let Some(schema) = schemas.output() else {
        return Ok(());
    };
    let schema = schema.map_err(|problem| {
        format!("it cannot be checked, because of the tool's `outputSchema`: {problem}")
    })?;
    match result.get("structuredContent") {
        Some(content) => schema.check(content).map_err(|violation| {
            format!(
                "its `structuredContent` is not what the tool's `outputSchema` says: {violation}"
            )
        }),
        // What is no final result, or a failure, has none.
        None if result.get("content").is_none() => Ok(()),
        None if result.get("isError").and_then(Value::as_bool) == Some(true) => Ok(()),
        None => Err("it has no `structuredContent`, and the tool has an `outputSchema`".to_owned()),
    }
}
