//! Whether arguments, and structured results, are what the tool's definition says.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::audit::{Finding, Guard};
use crate::guard::{
    AmbiguousName, ArgumentNames, SchemaProblem, ToolSchemas, Violation, check_argument_names,
};
use crate::policy::{DefinitionFingerprint, Labels};
use crate::session::{Offered, Session, Target};
use crate::wire::{Document, KnownMethod, Limits, Message, Side, Value};

use super::classified::Role;
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook, Leaving, Step};
use super::permit::Allowed;
use super::query::Understood;
use super::rejection::{INTERNAL, Property, Rejection};
use super::settings::{Guards, Level};
use super::stage::Stage;
use super::stop::Stop;

/// How a message is not what a definition says.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    #[error("the arguments are not what the tool's `inputSchema` asks for: {0}")]
    Arguments(Violation),
    #[error("the arguments cannot be checked, because of the tool's `inputSchema`: {0}")]
    Schema(SchemaProblem),
    #[error(transparent)]
    Names(AmbiguousName),
    #[error("it shows a credential ({0}), which must not be sent to the server")]
    Secret(String),
    #[error("the arguments cannot be checked: the tool's definition is not kept")]
    NotKept,
}

impl Unfit {
    /// A stable word for it, in records.
    fn code(&self) -> &'static str {
        match self {
            Self::Arguments(_) => "arguments",
            Self::Names(_) => "ambiguous_argument",
            Self::Secret(_) => "secret_outbound",
            Self::Schema(_) | Self::NotKept => "schema",
        }
    }
}

impl From<Unfit> for Rejection {
    fn from(unfit: Unfit) -> Self {
        let for_models = matches!(unfit, Unfit::Arguments(_));
        let rejection = Self::invalid_params(Stage::Guard, unfit.code(), unfit);
        if for_models {
            rejection.with_properties(&[Property::ReadByModels])
        } else {
            rejection
        }
    }
}

/// The requester learns no more of it: the words are the server's.
fn bad_result(problem: String) -> Rejection {
    Rejection::new(Stage::Guard, "result", INTERNAL, problem)
}

/// The schemas of all tools, by definition, as long as some session knows the tool: a thousand
/// sessions with one server keep them once.
#[derive(Debug, Default)]
pub(super) struct KnownSchemas(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_definition: HashMap<DefinitionFingerprint, Weak<ToolSchemas>>,
    /// What those weigh that were added, some of which nobody may know any more.
    bytes: usize,
    /// How many were added, or refused, since those were looked for that nobody knows any more.
    since: usize,
}

/// The most that is kept of all tools, in bytes, as far as that can be told before they are compiled.
const MOST: usize = 256 << 20;

impl KnownSchemas {
    /// `None` when too much is known already.
    pub(super) fn of(
        &self,
        print: DefinitionFingerprint,
        definition: Value<'_>,
    ) -> Option<Arc<ToolSchemas>> {
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
        self.since = self.since.saturating_add(1);
        // Each look costs as much as there are, so it comes as seldom as there are many.
        if self.since > self.by_definition.len() / 2 + 64 {
            self.by_definition
                .retain(|_, schemas| schemas.strong_count() > 0);
            let left = self.by_definition.values().filter_map(Weak::upgrade);
            self.bytes = left.map(|schemas| schemas.weight()).sum();
            self.since = 0;
        }
        let with = self.bytes.checked_add(bytes).filter(|sum| *sum <= MOST)?;
        self.bytes = with;
        Some(())
    }
}

/// Checks calls and their results against the schemas of the tool.
#[derive(Debug)]
pub(super) struct SchemaGuard;

impl Filter for SchemaGuard {
    fn check(&self, cx: &RequestContext<'_>, sent: Option<&Message>) -> Result<Vec<Finding>, Stop> {
        let (understood, session, guards) = (&cx.understood, cx.session, &cx.terms.guards);
        let mut findings = check(understood, session, guards, cx.snapshot.labels())?;
        if let Some(sent) = sent {
            findings.extend(check_call(understood, sent, session, guards)?);
        }
        Ok(findings)
    }

    /// A placeholder is not what every schema allows.
    fn on_leaving<'f>(
        &'f self,
        cx: &'f mut RequestContext<'_>,
        leaving: &'f Leaving<'_>,
    ) -> Hook<'f> {
        if leaving.is_edited {
            let (understood, guards) = (&cx.understood, &cx.terms.guards);
            let findings = check_edited(understood, leaving.sent.line(), cx.limits, guards)?;
            cx.trail.found(findings);
        }
        Flow::DONE
    }

    fn on_allowed<'f>(&'f self, cx: &'f mut RequestContext<'_>, _: &'f Allowed) -> Hook<'f, Step> {
        cx.trail.about.offered = offered(&cx.understood.target, cx.session, &cx.terms.guards);
        Flow::CONTINUE
    }
}

/// Checks what a message says of a tool against the tool's definition, and tells what is only to be
/// recorded.
///
/// # Errors
/// When it does not fit, or that cannot be told, and the guard is strict.
fn check(
    understood: &Understood<'_>,
    session: &Session,
    guards: &Guards,
    labels: &Labels,
) -> Result<Vec<Finding>, Rejection> {
    if let Some(name) = understood.called_tool() {
        check_names(name, understood.identified.message, session, labels)?;
        return check_call(understood, understood.identified.message, session, guards);
    }
    if let Some((offered, result)) =
        result_of_call(understood).filter(|_| guards.results != Level::Off)
    {
        let fit = result_fits(offered, result);
        return held(fit, guards.results, Guard::Results, bad_result);
    }
    Ok(Vec::new())
}

/// What a call's arguments are called, whatever the guard of arguments is set to: policies have judged
/// the names that were sent, and the server must read the same.
fn check_names(
    name: &str,
    message: &Message,
    session: &Session,
    labels: &Labels,
) -> Result<(), Rejection> {
    let params = message.params();
    let Some(arguments) = params.and_then(|params| params.get("arguments")) else {
        return Ok(());
    };
    let offered = session.state().lists.tools.defined(name);
    let schemas = offered.and_then(|offered| offered.schemas);
    let unknown = ArgumentNames::default();
    let declared = schemas.as_ref().map_or(&unknown, |it| it.argument_names());
    let labelled = ArgumentNames::of_pointers(labels.argument_pointers(name));
    check_argument_names(arguments, declared, &labelled)
        .map_err(|ambiguous| Unfit::Names(ambiguous).into())
}

/// The same for a call, by the message that holds its arguments.
fn check_call(
    understood: &Understood<'_>,
    message: &Message,
    session: &Session,
    guards: &Guards,
) -> Result<Vec<Finding>, Rejection> {
    let Some(name) = understood
        .called_tool()
        .filter(|_| guards.arguments != Level::Off)
    else {
        return Ok(Vec::new());
    };
    let params = message.params();
    let arguments = params.and_then(|params| params.get("arguments"));
    let fit = arguments_fit(name, arguments, session);
    held(fit, guards.arguments, Guard::Arguments, Rejection::from)
}

/// What comes of a check at this level: nothing, a finding, or a refusal.
fn held<P: Display>(
    fit: Result<(), P>,
    level: Level,
    guard: Guard,
    refusal: fn(P) -> Rejection,
) -> Result<Vec<Finding>, Rejection> {
    match (fit, level) {
        (Err(problem), Level::Strict) => Err(refusal(problem)),
        (Err(problem), Level::Warn | Level::Off) => {
            let detail = problem.to_string().into();
            let code = refusal(problem).reason().into();
            Ok(vec![Finding {
                guard,
                code,
                detail,
            }])
        }
        (Ok(()), Level::Strict | Level::Warn | Level::Off) => Ok(Vec::new()),
    }
}

fn arguments_fit(name: &str, arguments: Option<Value<'_>>, session: &Session) -> Result<(), Unfit> {
    let offered = session.state().lists.tools.defined(name);
    let schemas = offered.and_then(|offered| offered.schemas);
    let schemas = schemas.ok_or(Unfit::NotKept)?;
    let schema = schemas.input().map_err(|it| Unfit::Schema(it.clone()))?;
    schema.check_arguments(arguments).map_err(Unfit::Arguments)
}

/// What the upstream says came of a call.
fn result_of_call<'u>(understood: &'u Understood<'_>) -> Option<(Option<&'u Offered>, Value<'u>)> {
    let (Role::Reply(taken), Target::Tool(_), Side::Upstream) = (
        &understood.identified.role,
        &understood.target,
        understood.identified.from,
    ) else {
        return None;
    };
    let told = [KnownMethod::ToolsCall, KnownMethod::TasksResult];
    let result = understood.identified.message.result()?;
    told.contains(&taken.exchange.method)
        .then_some((taken.exchange.about.offered.as_ref(), result))
}

fn result_fits(offered: Option<&Offered>, result: Value<'_>) -> Result<(), String> {
    let schemas = offered.and_then(|offered| offered.schemas.as_ref());
    let schemas = schemas.ok_or("it cannot be checked: the tool's definition is not kept")?;
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

/// The same for a result that something was taken out of, as it would be sent. What was not right before
/// is told already.
fn check_edited(
    understood: &Understood<'_>,
    line: &str,
    limits: &Limits,
    guards: &Guards,
) -> Result<Vec<Finding>, Rejection> {
    let result = result_of_call(understood).filter(|(offered, result)| {
        let is_structured = result.get("structuredContent").is_some();
        guards.results != Level::Off && is_structured && result_fits(*offered, *result).is_ok()
    });
    let Some((offered, _)) = result else {
        return Ok(Vec::new());
    };
    let edited = Document::decode(line.as_bytes(), limits);
    let fit = edited
        .map_err(|error| error.to_string())
        .and_then(|edited| {
            let result = edited.root().get("result");
            result_fits(offered, result.ok_or("it is no result any more")?)
        })
        .map_err(|problem| format!("without what must not leave, {problem}"));
    held(fit, guards.results, Guard::Results, bad_result)
}

/// The definition by which the result of a request is to be checked: that which the tool had when it
/// was called, whatever the server says of it before it answers.
fn offered(target: &Target, session: &Session, guards: &Guards) -> Option<Offered> {
    // What is shortened has to fit all the same.
    let is_needed = guards.results != Level::Off || guards.excerpts.is_some();
    match target {
        Target::Tool(name) if is_needed => session.state().lists.tools.defined(name),
        Target::Tool(_)
        | Target::Resource(_)
        | Target::Prompt(_)
        | Target::Method(_)
        | Target::Server => None,
    }
}
