//! What rules come to when most of the context is not known.
//!
//! As in `visible.rs`, the evaluator leaves a rest of each condition. Here the rest is also asked
//! whether it can fail: what is said to be allowed in every context must not fail in one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cedar_policy_core::ast::{
    BinaryOp, Context, Effect, Entity, EntityUIDEntry, Expr, ExprKind, PartialValue, Request,
    UnaryOp, Unknown, Value,
};
use cedar_policy_core::entities::Entities;
use cedar_policy_core::evaluator::{EvaluationError, Evaluator};
use cedar_policy_core::extensions::Extensions;
use cedar_policy_core::pst::SmolStr;

use super::engine::CedarEngine;
use super::entities::{principal_entities, resource_entities};
use super::inspect::FactNeeds;
use super::judge::with_entities;
use super::possible_values::PossibleValues;
use super::rules::CompiledRule;
use super::schema_action::SchemaAction;
use super::subjects::Subject;
use super::typed::{self, RecordReads};
use super::value::{datetime, literal, strings};
use super::vocabulary::Vocabulary;
use super::{arguments, context};
use crate::policy::leaves::Leaves;
use crate::policy::{
    ActionName, AgentFacts, EngineFault, PartialDecision, PartialRequest, SessionState, Tristate,
};

/// The name of what is not known until the end.
const NOW: &str = "now";

impl CedarEngine {
    /// What cannot even be asked may come to anything.
    pub(super) fn outlook_of(&self, question: &PartialRequest<'_>) -> PartialDecision {
        let words = &*self.words;
        let principal = Subject::of_principal(words, question.principal);
        let resource =
            Subject::of_resource(words, &self.groups, question.server, question.resource);
        let verb = resource.schema_action(words, question.action);
        let rules = self.rules.candidates(verb, &principal, &resource);
        if rules.is_empty() {
            return PartialDecision::SILENT;
        }
        let fits = self
            .idle
            .fits(question.action, question.principal, question.resource);
        let action = words.action(verb).filter(|_| fits);
        let message = self.known_message(question, verb);
        let entities = self.known_entities(question, &principal, &resource);
        let entities =
            entities.and_then(|known| with_entities(known, message.arguments.into_iter()));
        let Some((action, entities)) = action.zip(entities.ok()) else {
            return PartialDecision::OPEN;
        };
        let [principal, action, resource] = [&principal.uid, action.uid(), &resource.uid]
            .map(|uid| EntityUIDEntry::known(uid.clone(), None));
        let asks_for_peer = self.rules.needs().has(FactNeeds::PEER);
        let peer = if asks_for_peer {
            Peer::Asked
        } else {
            Peer::Unasked
        };
        let context = open_context(question, verb, peer, &message.fields);
        let request = Request::new_unchecked(principal, action, resource, Some(context));
        let evaluator = Evaluator::new(request, &entities, Extensions::all_available());
        let now = question.now_ms.and_then(datetime);
        let rules = rules.into_iter();
        rules
            .map(|rule| outlook(&evaluator, rule, now.as_ref(), question.agent))
            .fold(message.misfit, PartialDecision::and)
    }

    /// What cannot be said of a message in Cedar's words is as unknown as what is not recorded.
    fn known_message(&self, question: &PartialRequest<'_>, verb: SchemaAction) -> KnownMessage {
        self.message_of(question, verb).unwrap_or(KnownMessage {
            fields: BTreeMap::new(),
            arguments: None,
            // Arguments that are not of the types of the lock are denied, whatever rules say.
            misfit: match verb {
                SchemaAction::Named(_) => PartialDecision::SILENT,
                SchemaAction::Call(_) => denied(Tristate::Sometimes),
            },
        })
    }

    fn message_of(
        &self,
        question: &PartialRequest<'_>,
        verb: SchemaAction,
    ) -> Option<KnownMessage> {
        let (words, needs) = (&*self.words, FactNeeds::ALL);
        let action = question.message?;
        let sent = action.arguments();
        let record = match words.arguments_of(verb) {
            Some(record) => {
                let leaves = Leaves::of(sent)?;
                Some(typed::value(record, &leaves, RecordReads::of(&self.rules)).ok()?)
            }
            None => None,
        };
        let arguments = match sent {
            Some(sent) => Some(Arc::new(arguments::entity(words, sent, needs)?)),
            None => None,
        };
        Some(KnownMessage {
            fields: context::message_fields(words, action, needs, record),
            arguments,
            misfit: PartialDecision::SILENT,
        })
    }

    fn known_entities(
        &self,
        question: &PartialRequest<'_>,
        principal: &Subject,
        resource: &Subject,
    ) -> Result<Entities, EngineFault> {
        let (words, needs) = (&*self.words, FactNeeds::ALL);
        let own = principal_entities(words, principal, question.principal, needs);
        let asked = resource_entities(words, resource, question.server, question.resource, needs);
        with_entities(words.actions.clone(), own.chain(asked))
    }
}

/// What is known of a message.
struct KnownMessage {
    /// Of its context.
    fields: BTreeMap<SmolStr, Value>,
    arguments: Option<Arc<Entity>>,
    /// What its arguments come to by themselves.
    misfit: PartialDecision,
}

/// Whether a rule reads the peer's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Asked,
    Unasked,
}

/// A record of what is known, and of unknowns.
fn open_context(
    question: &PartialRequest<'_>,
    verb: SchemaAction,
    peer: Peer,
    message: &BTreeMap<SmolStr, Value>,
) -> Context {
    let unknown = |name: &'static str| Expr::unknown(Unknown::new_untyped(name));
    let known = |value: Option<Value>, name| value.map_or_else(|| unknown(name), Expr::from);
    let env = ["protocol", "consent", NOW].map(|name| (name, unknown(name)));
    let transport = known(question.transport.map(literal), "transport");
    let read = [
        ("level", question.level.map(literal)),
        ("datasets", question.datasets.map(strings)),
    ];
    let session = if read.iter().all(|(_, value)| value.is_none()) {
        unknown("session")
    } else {
        let others = [
            "labels",
            "untrusted",
            "sources",
            "untrustedFrom",
            "calls",
            "startedAt",
        ];
        let others = others.map(|name| (name.into(), unknown(name)));
        let read = read.map(|(name, value)| (name.into(), known(value, name)));
        Expr::record_arc(Arc::new(others.into_iter().chain(read).collect()))
    };
    let env = env
        .into_iter()
        .chain([("transport", transport), ("session", session)]);
    let env = env.map(|(name, value)| (name.into(), value));
    // Only over HTTP there is a peer, and a record cannot say that a field is perhaps there.
    let env = match (question.transport, peer) {
        (Some("stdio"), _) | (_, Peer::Unasked) => Expr::record_arc(Arc::new(env.collect())),
        (_, Peer::Asked) => unknown("env"),
    };
    let mut fields = BTreeMap::from([("env".into(), env)]);
    for name in beside_env(question.action, verb) {
        let value = known(message.get(*name).cloned(), name);
        fields.insert((*name).into(), without_copies(value));
    }
    Context::RestrictedResidual(Arc::new(fields))
}

/// The same, where it is unknown what arguments repeat: only the gate that got the results knew.
fn without_copies(value: Expr) -> Expr {
    const COPIED: &str = "copiedFrom";
    let ExprKind::Record(fields) = value.expr_kind() else {
        return value;
    };
    if !fields.contains_key(COPIED) {
        return value;
    }
    let mut fields = BTreeMap::clone(fields);
    let unknown = Expr::unknown(Unknown::new_untyped(COPIED));
    fields.insert(COPIED.into(), unknown);
    Expr::record_arc(Arc::new(fields))
}

/// What is in a context beside `env`.
fn beside_env(action: ActionName, verb: SchemaAction) -> &'static [&'static str] {
    match action {
        ActionName::CallTool if verb.call().is_some() => &["targets", "raw_arguments", "arguments"],
        ActionName::CallTool | ActionName::Extension => &["targets", "raw_arguments"],
        ActionName::GetPrompt => &["raw_arguments"],
        ActionName::Complete => &["argument"],
        ActionName::ReceiveResult => &["result"],
        ActionName::Sample => &[
            "maxTokens",
            "includeContext",
            "tools",
            "messages",
            "bytes",
            "system",
        ],
        ActionName::Elicit => &["mode", "fields", "host"],
        ActionName::Notify => &["method"],
        ActionName::ConnectHost => &["isolated"],
        ActionName::Initialize
        | ActionName::Ping
        | ActionName::SetLevel
        | ActionName::Cancel
        | ActionName::ListTool
        | ActionName::ListResource
        | ActionName::ListPrompt
        | ActionName::Listen
        | ActionName::ReadResource
        | ActionName::Subscribe
        | ActionName::ListRoots => &[],
    }
}

/// A record of unknowns, but for what the session has read.
pub(super) fn open_but_for_held(
    words: &Vocabulary,
    held: &SessionState,
    action: ActionName,
    verb: SchemaAction,
) -> Context {
    let unknown = |name: &'static str| (name.into(), Expr::unknown(Unknown::new_untyped(name)));
    let known = [
        ("level", literal(held.level)),
        ("labels", strings(&held.labels)),
        ("datasets", strings(&held.datasets)),
        ("untrusted", literal(held.untrusted)),
        ("sources", context::servers(words, &held.sources)),
        (
            "untrustedFrom",
            context::servers(words, &held.untrusted_from),
        ),
    ];
    let known = known.map(|(name, value)| (name.into(), Expr::from(value)));
    let session = known.into_iter().chain(["calls", "startedAt"].map(unknown));
    let session = Expr::record_arc(Arc::new(session.collect()));
    let others = ["transport", "protocol", "consent", NOW].map(unknown);
    let env = others.into_iter().chain([("session".into(), session)]);
    let env = Expr::record_arc(Arc::new(env.collect()));
    let names = beside_env(action, verb).iter().map(|name| unknown(name));
    let fields = names.chain([("env".into(), env)]);
    Context::RestrictedResidual(Arc::new(fields.collect()))
}

/// The moment comes second: a record that holds a datetime is one that Cedar takes nothing out of
/// while something else in it is not known.
fn remainder(
    evaluator: &Evaluator<'_>,
    rule: &CompiledRule,
    now: Option<&Value>,
) -> Result<PartialValue, Box<EvaluationError>> {
    let interpret = |condition: &Expr| {
        let value = evaluator.partial_interpret(condition, &rule.slots);
        value.map_err(Box::new)
    };
    match (interpret(&rule.condition)?, now) {
        (PartialValue::Residual(rest), Some(now)) => {
            let moment = HashMap::from([(NOW.into(), now.clone())]);
            interpret(&rest.substitute(&moment))
        }
        (done, _) => Ok(done),
    }
}

fn outlook(
    evaluator: &Evaluator<'_>,
    rule: &CompiledRule,
    now: Option<&Value>,
    agent: AgentFacts,
) -> PartialDecision {
    // What was left out of the entities must not be taken for what was sent.
    let open: &[FactNeeds] = match agent {
        AgentFacts::Known => &[],
        AgentFacts::OfRecord => &[FactNeeds::CLIENT, FactNeeds::CLAIMS],
        AgentFacts::OfRecordWithoutGrants => &[
            FactNeeds::CLIENT,
            FactNeeds::CLAIMS,
            FactNeeds::CAPABILITIES,
        ],
    };
    if open.iter().any(|open| rule.needs.has(*open)) {
        return PartialDecision::OPEN;
    }
    let (outcomes, fails) = match remainder(evaluator, rule, now) {
        Ok(PartialValue::Value(value)) => (PossibleValues::of_value(&value), Tristate::Never),
        Ok(PartialValue::Residual(rest)) => {
            let fails = if can_fail(&rest) {
                Tristate::Sometimes
            } else {
                Tristate::Never
            };
            (PossibleValues::of(&rest), fails)
        }
        Err(_) => return PartialDecision::SILENT.and(denied(Tristate::Always)),
    };
    let holds = match (outcomes.truth, outcomes.falsehood) {
        (true, false) if fails == Tristate::Never => Tristate::Always,
        (true, _) => Tristate::Sometimes,
        (false, true) => Tristate::Never,
        // It cannot come to anything but a failure.
        (false, false) => return denied(Tristate::Always),
    };
    match rule.effect {
        Effect::Permit => PartialDecision {
            permitted: holds,
            forbidden: fails,
        },
        // A forbid that cannot be false denies, whether it holds or fails.
        Effect::Forbid if !outcomes.falsehood => denied(Tristate::Always),
        Effect::Forbid => denied(holds.max(fails)),
    }
}

fn denied(forbidden: Tristate) -> PartialDecision {
    PartialDecision {
        permitted: Tristate::Never,
        forbidden,
    }
}

/// INVARIANT: the types of policies are checked strictly when they are loaded, so that only sums and
/// functions on texts can fail; what else could was refused then.
fn can_fail(rest: &Expr) -> bool {
    rest.subexpressions().any(|part| {
        let kind = part.expr_kind();
        if let ExprKind::BinaryApp { op, .. } = kind {
            matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
        } else if let ExprKind::UnaryApp { op, .. } = kind {
            *op == UnaryOp::Neg
        } else {
            matches!(kind, ExprKind::ExtensionFunctionApp { .. })
        }
    })
}
