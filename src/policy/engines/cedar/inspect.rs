//! One look at the conditions of a policy: how deep, what it names, what it would fail on.

use std::collections::BTreeSet;
use std::ops::Range;

use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, Literal, Var};

use super::hints::is_roots;
use super::schema_action::CALL;
use crate::policy::{ActionName, ClaimType};

/// The deepest condition that is accepted, its chains balanced. Cedar evaluates on the stack of the
/// calling thread and gives up where that is short, so a deeper one could decide differently from
/// thread to thread; this fits the 2 MiB of a worker even in a debug build.
pub(super) const MAX_DEPTH: usize = 36;

/// What a policy can look at. What no policy can look at need not be built for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FactNeeds(u32);

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    pub(super) needs: FactNeeds,
    pub(super) faults: Vec<ConditionFault>,
    /// The names of attributes that are written, if the arguments are looked at.
    pub(super) names: BTreeSet<String>,
    /// What is used as a whole, if the arguments are looked at.
    pub(super) wholes: WholeRecordUses,
    /// The claims that are looked for by name.
    pub(super) claims: Vec<ClaimUse>,
    /// Where `call_tool` is compared in a way that leaves out what is in it.
    pub(super) exact_calls: Vec<Option<Range<usize>>>,
}

/// Records that are used otherwise than by looking one of their fields up: compared, or put into
/// something that is.
#[derive(Debug, Clone, Default)]
pub(super) struct WholeRecordUses {
    /// The names that they were looked up by.
    names: BTreeSet<String>,
    /// The context is one of them.
    everything: bool,
}

/// A claim that a condition looks for.
#[derive(Debug)]
pub(super) struct ClaimUse {
    pub(super) name: String,
    /// The type that it is looked up as.
    pub(super) used: Option<ClaimType>,
    pub(super) span: Option<Range<usize>>,
}

#[derive(Debug)]
pub(super) struct ConditionFault {
    pub(super) kind: ConditionFaultKind,
    pub(super) span: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionFaultKind {
    TooDeep,
    /// Looks into an entity that the policy names itself.
    LiteralLookup,
    /// The same, where `context.targets.roots` was meant to be asked.
    RootLookup,
    /// Asks for an argument by what is no JSON pointer.
    NoPointer,
}

impl FactNeeds {
    pub(super) const CONTEXT: Self = Self(1);
    pub(super) const NOW: Self = Self(1 << 1);
    pub(super) const STARTED_AT: Self = Self(1 << 2);
    pub(super) const CONSENT_AT: Self = Self(1 << 3);
    pub(super) const PEER: Self = Self(1 << 4);
    pub(super) const CLIENT: Self = Self(1 << 5);
    pub(super) const SERVER: Self = Self(1 << 6);
    pub(super) const TAGS: Self = Self(1 << 7);
    pub(super) const DECIMAL: Self = Self(1 << 8);
    /// The hierarchy of actions beyond the request's own.
    pub(super) const ACTIONS: Self = Self(1 << 9);
    /// The resource, in the scope or in a condition.
    pub(super) const RESOURCE: Self = Self(1 << 10);
    /// Attributes of the principal, the resource and what they refer to.
    pub(super) const DETAILS: Self = Self(1 << 11);
    /// `context.env`.
    pub(super) const ENV: Self = Self(1 << 12);
    /// `context.targets`.
    pub(super) const TARGETS: Self = Self(1 << 13);
    /// `context.arguments`.
    pub(super) const ARGUMENTS: Self = Self(1 << 14);
    /// The call of one tool by name, or the context as a whole.
    pub(super) const CALL: Self = Self(1 << 15);
    /// `secrets`, of the touch or of a result.
    pub(super) const SECRETS: Self = Self(1 << 16);
    /// `flags` of a tool, a prompt or a result.
    pub(super) const FLAGS: Self = Self(1 << 17);
    /// `context.env.session`.
    pub(super) const SESSION: Self = Self(1 << 18);
    /// `level`, `labels` or `untrusted`, of a session or of something else.
    pub(super) const HELD: Self = Self(1 << 19);
    /// The claims of the agent's token.
    pub(super) const CLAIMS: Self = Self(1 << 20);
    /// `capabilities`, of the agent or of something else.
    pub(super) const CAPABILITIES: Self = Self(1 << 21);
    pub(super) const ALL: Self = Self((1 << 22) - 1);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// INVARIANT: a field or attribute can tell two requests apart only in a policy that writes its
    /// name: as `.name`, in `has`, or as the key of a record literal (strict types let a record be
    /// compared only with one of the very same fields). So what is not named may be left out, or
    /// stand still. Two records of one type that no literal is part of are only in the arguments of
    /// a call, which is what [`WholeRecordUses`] is for.
    fn of_name(name: &str) -> Self {
        match name {
            "env" => Self::ENV,
            "targets" => Self::TARGETS,
            "arguments" => Self::ARGUMENTS,
            "secrets" => Self::SECRETS,
            "flags" => Self::FLAGS.and(Self::DETAILS),
            "now" => Self::NOW,
            "startedAt" => Self::STARTED_AT,
            "at" => Self::CONSENT_AT,
            "peer" => Self::PEER,
            "decimal" => Self::DECIMAL,
            "client" => Self::CLIENT.and(Self::DETAILS),
            "server" => Self::SERVER.and(Self::DETAILS),
            "session" => Self::SESSION,
            "datasets" | "sources" | "untrustedFrom" => Self::HELD,
            "labels" | "level" | "untrusted" => Self::HELD.and(Self::DETAILS),
            "claims" => Self::CLAIMS.and(Self::DETAILS),
            "capabilities" => Self::CAPABILITIES.and(Self::DETAILS),
            "clearance" | "consent" | "hints" | "mime" | "name" | "origin" | "pin" | "port"
            | "scheme" | "trust" | "uri" | "version" => Self::DETAILS,
            _ => Self::default(),
        }
    }
}

/// `condition` is the whole condition of the policy, its scope included.
pub(super) fn inspect(condition: &Expr) -> Inspection {
    let mut findings = Inspection::default();
    findings.visit(condition, 1, ActionMeaning::ForItself);
    if !findings.needs.has(FactNeeds::ARGUMENTS) {
        findings.names.clear();
        findings.wholes = WholeRecordUses::default();
    }
    findings
}

/// What an action in an expression stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActionMeaning {
    ForItself,
    /// It is behind an `in`.
    ForAllInIt,
}

impl ActionMeaning {
    fn of_child(self, parent: &Expr, place: usize) -> Self {
        let kind = parent.expr_kind();
        if let ExprKind::BinaryApp { op, .. } = kind {
            if *op == BinaryOp::In && place == 1 {
                Self::ForAllInIt
            } else {
                Self::ForItself
            }
        } else if let ExprKind::Set(_) = kind {
            self
        } else {
            Self::ForItself
        }
    }
}

impl WholeRecordUses {
    /// Whether a record of this name is used as a whole, or one around it may be.
    pub(super) fn has(&self, name: &str) -> bool {
        self.has_all() || self.names.contains(name)
    }

    /// The arguments altogether are.
    pub(super) fn has_all(&self) -> bool {
        self.everything || self.names.contains("arguments")
    }

    pub(super) fn extend(&mut self, others: &Self) {
        self.names.extend(others.names.iter().cloned());
        self.everything |= others.everything;
    }

    fn add(&mut self, expr: &Expr) {
        if let ExprKind::GetAttr { attr, .. } = expr.expr_kind() {
            self.names.insert(attr.to_string());
        } else if let ExprKind::Var(Var::Context) = expr.expr_kind() {
            self.everything = true;
        }
    }
}

impl Inspection {
    fn visit(&mut self, expr: &Expr, depth: usize, action: ActionMeaning) {
        if depth > MAX_DEPTH {
            // Once is enough, and deeper would be deep for us too.
            if self
                .faults
                .iter()
                .all(|finding| finding.kind != ConditionFaultKind::TooDeep)
            {
                self.add(ConditionFaultKind::TooDeep, expr);
            }
            return;
        }
        self.look_at(expr);
        if action == ActionMeaning::ForItself && is_call_tool(expr) {
            let span = expr.source_loc().map(|loc| loc.start()..loc.end());
            self.exact_calls.push(span);
        }
        for (place, child) in children(expr).into_iter().enumerate() {
            if !looks_up(expr) {
                self.wholes.add(child);
                if matches!(child.expr_kind(), ExprKind::Var(Var::Context)) {
                    self.need(FactNeeds::CALL);
                }
            }
            self.visit(child, depth + 1, action.of_child(expr, place));
        }
    }

    fn look_at(&mut self, expr: &Expr) {
        let kind = expr.expr_kind();
        if let ExprKind::Lit(Literal::EntityUID(uid)) = kind
            && uid.is_action()
            && AsRef::<str>::as_ref(uid.eid()).starts_with(CALL)
        {
            self.need(FactNeeds::CALL);
        } else if let ExprKind::Var(Var::Context) = kind {
            self.need(FactNeeds::CONTEXT);
        } else if let ExprKind::Var(Var::Resource) = kind {
            self.need(FactNeeds::RESOURCE);
        } else if let ExprKind::GetAttr { expr, attr } | ExprKind::HasAttr { expr, attr } = kind {
            self.name(attr);
            self.look_into(expr);
            if let ExprKind::BinaryApp { op, arg1, arg2 } = expr.expr_kind()
                && *op == BinaryOp::GetTag
                && is_claims(arg1)
            {
                let mut types = ClaimType::ALL.into_iter();
                self.claim(arg2, types.find(|of| of.word() == attr));
            }
        } else if let ExprKind::ExtHasAttr { expr, attrs } = kind {
            attrs.iter().for_each(|attr| self.name(attr));
            self.look_into(expr);
        } else if let ExprKind::Record(fields) = kind {
            fields.keys().for_each(|key| self.name(key));
        } else if let ExprKind::BinaryApp { op, arg1, arg2 } = kind {
            if matches!(op, BinaryOp::GetTag | BinaryOp::HasTag) && is_claims(arg1) {
                self.look_into(arg1);
                self.claim(arg2, None);
            } else if matches!(op, BinaryOp::GetTag | BinaryOp::HasTag) {
                self.need(FactNeeds::TAGS);
                self.look_into(arg1);
                self.look_for(arg2);
            } else if *op == BinaryOp::In && is_action(arg1) {
                self.need(FactNeeds::ACTIONS);
            } else if *op == BinaryOp::In && is_roots(arg2) && names_entity(arg1) {
                self.add(ConditionFaultKind::RootLookup, expr);
            } else if *op == BinaryOp::In {
                self.look_into(arg1);
            }
        }
    }

    /// Every argument has a pointer that begins with a slash: any other would be a rule that never
    /// holds. (`""` is the arguments themselves, where there are none.)
    fn look_for(&mut self, tag: &Expr) {
        if let ExprKind::Lit(Literal::String(pointer)) = tag.expr_kind()
            && !pointer.is_empty()
            && !pointer.starts_with('/')
        {
            self.add(ConditionFaultKind::NoPointer, tag);
        }
    }

    /// A claim by the name that the policy writes. Whether one of another name is there only the token
    /// tells.
    fn claim(&mut self, tag: &Expr, used: Option<ClaimType>) {
        if let ExprKind::Lit(Literal::String(name)) = tag.expr_kind() {
            self.claims.push(ClaimUse {
                name: name.to_string(),
                used,
                span: tag.source_loc().map(|loc| loc.start()..loc.end()),
            });
        }
    }

    fn look_into(&mut self, target: &Expr) {
        if names_entity(target) {
            self.add(ConditionFaultKind::LiteralLookup, target);
        }
    }

    fn name(&mut self, attribute: &str) {
        self.need(FactNeeds::of_name(attribute));
        self.names.insert(attribute.to_owned());
    }

    fn need(&mut self, needs: FactNeeds) {
        self.needs = self.needs.and(needs);
    }

    fn add(&mut self, kind: ConditionFaultKind, expr: &Expr) {
        let span = expr.source_loc().map(|loc| loc.start()..loc.end());
        self.faults.push(ConditionFault { kind, span });
    }
}

/// Whether the value may be an entity that the policy names itself. Only the principal, the action,
/// the resource and what they refer to are in the store, so nothing could be looked up in it.
fn names_entity(expr: &Expr) -> bool {
    if let ExprKind::If {
        then_expr,
        else_expr,
        ..
    } = expr.expr_kind()
    {
        names_entity(then_expr) || names_entity(else_expr)
    } else if let ExprKind::GetAttr { expr: record, .. } = expr.expr_kind() {
        // The field does not matter: no author of such a rule needs it.
        builds_record(record) && record.subexpressions().any(is_entity)
    } else {
        is_entity(expr)
    }
}

/// `principal.claims`, and nothing that a policy puts together under that name.
fn is_claims(expr: &Expr) -> bool {
    let ExprKind::GetAttr { expr, attr } = expr.expr_kind() else {
        return false;
    };
    attr == "claims" && matches!(expr.expr_kind(), ExprKind::Var(Var::Principal))
}

fn builds_record(expr: &Expr) -> bool {
    if let ExprKind::If {
        then_expr,
        else_expr,
        ..
    } = expr.expr_kind()
    {
        builds_record(then_expr) || builds_record(else_expr)
    } else if let ExprKind::GetAttr { expr, .. } = expr.expr_kind() {
        builds_record(expr)
    } else {
        matches!(expr.expr_kind(), ExprKind::Record(_))
    }
}

fn is_entity(expr: &Expr) -> bool {
    matches!(expr.expr_kind(), ExprKind::Lit(Literal::EntityUID(_)))
}

fn is_call_tool(expr: &Expr) -> bool {
    matches!(
        expr.expr_kind(),
        ExprKind::Lit(Literal::EntityUID(uid))
            if uid.is_action() && AsRef::<str>::as_ref(uid.eid()) == ActionName::CallTool.as_str()
    )
}

fn looks_up(expr: &Expr) -> bool {
    matches!(
        expr.expr_kind(),
        ExprKind::GetAttr { .. } | ExprKind::HasAttr { .. } | ExprKind::ExtHasAttr { .. }
    )
}

fn is_action(expr: &Expr) -> bool {
    matches!(expr.expr_kind(), ExprKind::Lit(Literal::EntityUID(uid)) if uid.is_action())
}

/// What stands directly in an expression.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match expr.expr_kind() {
        ExprKind::Lit(_) | ExprKind::Var(_) | ExprKind::Slot(_) | ExprKind::Unknown(_) => vec![],
        ExprKind::If {
            test_expr,
            then_expr,
            else_expr,
        } => vec![test_expr, then_expr, else_expr],
        ExprKind::And { left, right } | ExprKind::Or { left, right } => vec![left, right],
        ExprKind::BinaryApp { arg1, arg2, .. } => vec![arg1, arg2],
        ExprKind::UnaryApp { arg, .. } => vec![arg],
        ExprKind::GetAttr { expr, .. }
        | ExprKind::HasAttr { expr, .. }
        | ExprKind::ExtHasAttr { expr, .. }
        | ExprKind::Like { expr, .. }
        | ExprKind::Is { expr, .. } => vec![expr],
        ExprKind::ExtensionFunctionApp { args, .. } | ExprKind::Set(args) => args.iter().collect(),
        ExprKind::Record(fields) => fields.values().collect(),
    }
}

#[cfg(test)]
mod tests {
    use cedar_policy_core::ast::EntityType;

    use super::super::vocabulary::Vocabulary;
    use super::*;

    /// A new attribute must be in the list above, or policies could not see it.
    #[test]
    fn every_attribute_of_an_entity_is_a_detail() {
        let words = Vocabulary::get().unwrap();
        let schema = words.core_schema();
        let types: Vec<&EntityType> = schema.entity_type_names().collect();
        assert!(types.len() > 10);
        for kind in types {
            let attributes = schema.get_entity_type(kind).unwrap().attributes();
            for (name, _) in attributes.iter() {
                assert!(
                    FactNeeds::of_name(name).has(FactNeeds::DETAILS),
                    "{kind} {name}"
                );
            }
        }
    }
}
