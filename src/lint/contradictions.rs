//! Conditions that exclude each other.

use std::borrow::Cow;

use cedar_policy_core::ast::{
    ActionConstraint, BinaryOp, EntityType, EntityUID, Expr, ExprKind, Literal, Pattern, UnaryOp,
    Var,
};

use super::expressions::{
    ChainOperator, ChainPart, Sign, chains, equality, literal, membership, parts, path, truth,
};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use super::names::is;
use super::ranges::{Range, compared, domain};
use crate::policy::ServerKey;
use crate::policy::engines::cedar::PolicyTree;

pub(super) const NEVER_MATCHES: Lint = Lint {
    code: "lint::never_matches",
    about: "a policy that no message can match, because its conditions exclude each other",
    look,
};

pub(super) const CONSTANT_CONDITION: Lint = Lint {
    code: "lint::constant_condition",
    about: "a part of a condition that is always true or always false",
    // Found in the same look as the other.
    look: |_, _| {},
};

/// What a part of a chain says of one subject.
struct Claim<'e> {
    subject: &'e Expr,
    says: Constraint<'e>,
}

enum Constraint<'e> {
    OneOf(Vec<&'e Literal>),
    NoneOf(Vec<&'e Literal>),
    Within(Range),
    Like(&'e Pattern, Sign),
    Is(&'e EntityType, Sign),
    /// Of a set: whether anything is in it.
    Holds(SetContent),
}

/// Whether there is anything in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetContent {
    Something,
    Nothing,
}

/// Why a chain cannot hold: the part that shows it, in words.
struct Clash<'e> {
    at: &'e Expr,
    why: Cow<'static, str>,
}

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        // With the scope, whose parts are expressions like any other.
        let whole = policy.template.condition();
        let whole = parts(&whole, Sign::Holds);
        let clash = other_tool(policy, &whole).or_else(|| clash(&whole));
        if let Some(clash) = &clash {
            let what = match policy.effect {
                cedar_policy::Effect::Permit => "permits",
                cedar_policy::Effect::Forbid => "forbids",
            };
            let say = LintMessage {
                message: format!("this policy {what} nothing: {}", clash.why),
                help: "no message can match it; if one of several was meant, write `||` or a set"
                    .to_owned(),
                label: "never together with the rest",
            };
            found.at(&NEVER_MATCHES, policy, place(policy, clash.at), say);
        }
        let Some(condition) = policy.condition() else {
            continue;
        };
        if truth(condition).is_some() {
            written_out(policy, condition, found);
        }
        for (at, chain, parts) in chains(condition) {
            let constants = parts.iter().filter(|part| truth(part.expr).is_some());
            constants.for_each(|part| written_out(policy, part.expr, found));
            // The policy as a whole has been told of.
            if clash.is_some() && chain == ChainOperator::All && std::ptr::eq(at, condition) {
                continue;
            }
            constant(policy, chain, &parts, found);
        }
    }
}

/// A policy on the calls of some tools whose resource is another one: each tool's calls are an action
/// of its own.
fn other_tool<'e>(policy: &PolicyTree<'_>, parts: &[ChainPart<'e>]) -> Option<Clash<'e>> {
    let actions: Vec<&EntityUID> = match policy.template.action_constraint() {
        ActionConstraint::Any => return None,
        ActionConstraint::In(uids) => uids.iter().map(AsRef::as_ref).collect(),
        ActionConstraint::Eq(uid) => vec![uid.as_ref()],
    };
    let called: Option<Vec<&str>> = actions.into_iter().map(tool_called).collect();
    let called = called?;
    for part in parts.iter().filter(|part| part.sign == Sign::Holds) {
        let asked: Option<(&Expr, Vec<&Literal>)> =
            match (equality(part.expr), membership(part.expr)) {
                (Some((subject, value)), _) => literal(value).map(|value| (subject, vec![value])),
                (None, Some((subject, items))) => {
                    let items: Option<Vec<&Literal>> = items.iter().map(literal).collect();
                    items.map(|items| (subject, items))
                }
                (None, None) => None,
            };
        let Some((subject, values)) = asked else {
            continue;
        };
        let is_tool = matches!(path(subject), Some((Var::Resource, rest)) if rest.is_empty() || rest == ["name"]);
        let named: Option<Vec<&str>> = values.iter().map(|value| tool_named(value)).collect();
        let Some(named) = named.filter(|named| is_tool && !named.is_empty()) else {
            continue;
        };
        let is_called = |name: &str| {
            called
                .iter()
                .any(|id| *id == name || own_name(id) == Some(name))
        };
        if named.iter().all(|name| !is_called(name)) {
            let list = |tools: &[&str]| {
                let quoted = tools
                    .iter()
                    .map(|tool| format!("`{}`", tool.escape_debug()));
                quoted.collect::<Vec<_>>().join(", ")
            };
            let why = format!(
                "the action is the call of {}, and the resource is {}",
                list(&called),
                list(&named)
            );
            return Some(Clash {
                at: part.expr,
                why: why.into(),
            });
        }
    }
    None
}

/// The tool whose call an action is.
fn tool_called(action: &EntityUID) -> Option<&str> {
    let id: &str = action.eid().as_ref();
    id.strip_prefix("call_tool/")
}

/// What a server calls that which policies name so, if that begins with the key of one of several.
fn own_name(id: &str) -> Option<&str> {
    let (key, name) = id.split_once('/')?;
    ServerKey::of(key).map(|_| name)
}

fn tool_named(value: &Literal) -> Option<&str> {
    match value {
        Literal::EntityUID(uid) => Some(uid.eid().as_ref()),
        Literal::String(name) => Some(name),
        Literal::Bool(_) | Literal::Long(_) => None,
    }
}

fn constant(
    policy: &PolicyTree<'_>,
    chain: ChainOperator,
    parts: &[ChainPart<'_>],
    found: &mut LintFindings,
) {
    let Some(clash) = clash(parts) else {
        return;
    };
    let (message, help) = match chain {
        ChainOperator::All => (
            format!("this part never holds: {}", clash.why),
            "if one of several was meant, write `||` or a set",
        ),
        ChainOperator::Any => (
            format!("this part always holds: it fails only where {}", clash.why),
            "to exclude several values, join the comparisons by `&&`, or negate a set",
        ),
    };
    let say = LintMessage {
        message,
        help: help.to_owned(),
        label: "together with the rest",
    };
    found.at(&CONSTANT_CONDITION, policy, place(policy, clash.at), say);
}

fn written_out(policy: &PolicyTree<'_>, expr: &Expr, found: &mut LintFindings) {
    let say = LintMessage {
        message: format!("`{expr}` is no condition"),
        help: "take it out, or write the condition that belongs here".to_owned(),
        label: "always the same",
    };
    found.at(&CONSTANT_CONDITION, policy, place(policy, expr), say);
}

/// The place of an expression, unless it is one of the scope's, which have the whole policy's.
fn place<'e>(
    policy: &PolicyTree<'_>,
    expr: &'e Expr,
) -> Option<&'e cedar_policy_core::parser::Loc> {
    expr.source_loc()
        .filter(|loc| (loc.start()..loc.end()) != policy.span)
}

/// The first part that cannot hold beside the ones before it.
fn clash<'e>(parts: &[ChainPart<'e>]) -> Option<Clash<'e>> {
    let claims: Vec<Option<Claim<'e>>> = parts.iter().map(Claim::of).collect();
    for (at, part) in parts.iter().enumerate() {
        let clash = |why| Clash { at: part.expr, why };
        let claim = claims.get(at).and_then(Option::as_ref);
        if let Some(why) = claim.and_then(Claim::impossible) {
            return Some(clash(why));
        }
        for (earlier, before) in parts.iter().zip(&claims).take(at) {
            if earlier.sign != part.sign && earlier.expr.eq_shape(part.expr) {
                return Some(clash("one condition must hold and must not".into()));
            }
            if let (Some(before), Some(claim)) = (before, claim)
                && (before.clashes(claim)
                    || before.is_not_called(claim)
                    || claim.is_not_called(before))
            {
                return Some(clash(
                    "two conditions on one value exclude each other".into(),
                ));
            }
        }
    }
    None
}

impl<'e> Claim<'e> {
    fn of(part: &ChainPart<'e>) -> Option<Self> {
        let claim = |subject, says| Some(Self { subject, says });
        let values = |values: Vec<&'e Literal>| match part.sign {
            Sign::Holds => Constraint::OneOf(values),
            Sign::Fails => Constraint::NoneOf(values),
        };
        if let Some((subject, value)) = equality(part.expr) {
            return claim(subject, values(vec![literal(value)?]));
        }
        if let Some((subject, items)) = membership(part.expr) {
            let items: Option<Vec<&Literal>> = items.iter().map(literal).collect();
            return claim(subject, values(items?));
        }
        if let Some((subject, range)) = compared(part) {
            return claim(subject, Constraint::Within(range));
        }
        if let ExprKind::Like { expr, pattern } = part.expr.expr_kind() {
            return claim(expr, Constraint::Like(pattern, part.sign));
        }
        if let ExprKind::Is { expr, entity_type } = part.expr.expr_kind() {
            return claim(expr, Constraint::Is(entity_type, part.sign));
        }
        let (set, anything) = filled(part)?;
        claim(set, Constraint::Holds(anything))
    }

    fn clashes(&self, other: &Self) -> bool {
        self.subject.eq_shape(other.subject)
            && (self.says.excludes(&other.says) || other.says.excludes(&self.says))
    }

    /// Whether this says which tools or prompts there may be, and the other that their name is
    /// another one.
    fn is_not_called(&self, other: &Self) -> bool {
        let name = matches!(path(other.subject), Some((Var::Resource, path)) if path == ["name"]);
        let (true, ExprKind::Var(Var::Resource), Constraint::OneOf(values)) =
            (name, self.subject.expr_kind(), &self.says)
        else {
            return false;
        };
        let called = |value: &&Literal| match value {
            Literal::EntityUID(uid) if is(uid, "Tool") || is(uid, "Prompt") => {
                let id: &str = uid.eid().as_ref();
                let mut names = std::iter::once(id).chain(own_name(id));
                names.any(|name| other.says.takes(&Literal::String(name.into())))
            }
            Literal::EntityUID(_) | Literal::Bool(_) | Literal::Long(_) | Literal::String(_) => {
                true
            }
        };
        !values.iter().any(called)
    }

    /// What the subject cannot be, whatever else is said.
    fn impossible(&self) -> Option<Cow<'static, str>> {
        let domain = domain(self.subject)?;
        let none = match &self.says {
            Constraint::OneOf(values) => values.iter().all(|value| !within(value, domain)),
            Constraint::Within(range) => range.within(domain).is_empty(),
            Constraint::NoneOf(_)
            | Constraint::Like(..)
            | Constraint::Is(..)
            | Constraint::Holds(_) => false,
        };
        let Range { low, high } = domain;
        none.then(|| match high {
            3 => "levels go from 0 to 3".into(),
            _ => format!("it is never below {low}").into(),
        })
    }
}

impl Constraint<'_> {
    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OneOf(values), _) => values.iter().all(|value| !other.takes(value)),
            (Self::Within(one), Self::Within(other)) => one.within(*other).is_empty(),
            (Self::Is(one, Sign::Holds), Self::Is(other, Sign::Holds)) => one != other,
            (Self::Holds(one), Self::Holds(other)) => one != other,
            (
                Self::NoneOf(_) | Self::Within(_) | Self::Like(..) | Self::Is(..) | Self::Holds(_),
                _,
            ) => false,
        }
    }

    fn takes(&self, value: &Literal) -> bool {
        match self {
            Self::OneOf(values) => values.contains(&value),
            Self::NoneOf(values) => !values.contains(&value),
            Self::Within(range) => within(value, *range),
            Self::Like(pattern, sign) => match value {
                Literal::String(text) => pattern.wildcard_match(text) == (*sign == Sign::Holds),
                Literal::Bool(_) | Literal::Long(_) | Literal::EntityUID(_) => true,
            },
            Self::Is(kind, sign) => match value {
                Literal::EntityUID(uid) => (uid.entity_type() == *kind) == (*sign == Sign::Holds),
                Literal::Bool(_) | Literal::Long(_) | Literal::String(_) => true,
            },
            Self::Holds(_) => true,
        }
    }
}

/// A set of which a part says whether anything is in it.
fn filled<'e>(part: &ChainPart<'e>) -> Option<(&'e Expr, SetContent)> {
    match (part.expr.expr_kind(), part.sign) {
        (
            ExprKind::UnaryApp {
                op: UnaryOp::IsEmpty,
                arg,
            },
            sign,
        ) => {
            let anything = match sign {
                Sign::Holds => SetContent::Nothing,
                Sign::Fails => SetContent::Something,
            };
            Some((arg, anything))
        }
        (
            ExprKind::BinaryApp {
                op: BinaryOp::Contains | BinaryOp::ContainsAny,
                arg1,
                ..
            },
            Sign::Holds,
        ) => Some((arg1, SetContent::Something)),
        _ => None,
    }
}

fn within(value: &Literal, range: Range) -> bool {
    match value {
        Literal::Long(value) => range.holds(*value),
        Literal::Bool(_) | Literal::String(_) | Literal::EntityUID(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fixture::{call, check, check_in, source};
    use super::super::material::Material;
    use crate::policy::{DefinitionFingerprint, Lock, LockedTool, PolicyOrigin, RecordShape};

    /// How often a condition is found to be impossible for the whole policy, and in a part.
    #[track_caller]
    fn when(condition: &str, never: usize, constant: usize) {
        for effect in ["permit", "forbid"] {
            let policy = call(effect, "", &format!("when {{ {condition} }}"));
            check("never_matches", &policy, never);
            check("constant_condition", &policy, constant);
        }
    }

    #[test]
    fn conditions_that_exclude_each_other_are_found() {
        for condition in [
            "resource.name == \"a\" && resource.name == \"b\"",
            "\"a\" == resource.name && resource.name like \"b*\"",
            "resource.name == \"ab\" && !(resource.name like \"a*\")",
            "[\"a\", \"b\"].contains(resource.name) && resource.name == \"c\"",
            "[\"a\", \"b\"].contains(resource.name) && [\"c\"].contains(resource.name)",
            "resource.name == \"a\" && resource.name != \"a\"",
            "resource.hints.readOnly && principal.trust > 1 && !resource.hints.readOnly",
            "principal.trust > 3 && principal.trust < 3",
            "principal.trust > 2 && !(principal.trust >= 3)",
            "principal.trust == 2 && principal.trust >= 3",
            "resource == Mcp::Tool::\"a\" && resource == Mcp::Tool::\"b\"",
            "resource.level > 3",
            "resource.level == 4",
            "context.env.session.level < 0",
            "context.targets.bytes < 0",
            "context.targets.level > 3",
            "resource == Mcp::Tool::\"a\" && resource.name == \"b\"",
            "resource == Mcp::Tool::\"crm/a\" && resource.name == \"b\"",
            "resource.name like \"b*\" && resource == Mcp::Tool::\"a\"",
            "[Mcp::Tool::\"a\", Mcp::Tool::\"b\"].contains(resource) && resource.name == \"c\"",
            "context.targets.hosts.isEmpty() && context.targets.hosts.contains(\"a.example\")",
            "context.targets.hosts.containsAny([\"a.example\"]) && context.targets.hosts.isEmpty()",
            "context.targets.hosts.isEmpty() && !context.targets.hosts.isEmpty()",
            "context.env.now < datetime(\"2026-01-01\") && context.env.now > datetime(\"2027-01-01\")",
            "context.env.now >= datetime(\"2026-01-02T00:00:00Z\") && \
             !(context.env.now > datetime(\"2026-01-01T23:59:59.999Z\"))",
            "!(resource.level <= 3)",
            "!(resource.name != \"a\" || resource.name != \"b\")",
        ] {
            when(condition, 1, 0);
        }
    }

    #[test]
    fn the_call_of_one_tool_is_never_about_another() {
        let check = |action: &str, resource: &str, condition: &str, findings| {
            let policy = call("forbid", resource, condition);
            let policy = policy.replace("action in Mcp::Action::\"call_tool\"", action);
            let material = Material {
                policies: vec![source("p/x.cedar", &policy)],
                lock: locked(),
                ..Material::default()
            };
            check_in("never_matches", &material, findings);
        };
        let a = "action == Mcp::Action::\"call_tool/a\"";
        let both = "action in [Mcp::Action::\"call_tool/a\", Mcp::Action::\"call_tool/b\"]";
        let is = |name: &str| format!("resource == Mcp::Tool::\"{name}\"");
        check(a, &is("b"), "", 1);
        check(a, &is("a"), "", 0);
        check(a, "resource", "", 0);
        check(a, "resource", &format!("when {{ {} }}", is("b")), 1);
        check(a, "resource", "when { resource.name == \"b\" }", 1);
        check(
            a,
            "resource",
            "when { [\"b\", \"c\"].contains(resource.name) }",
            1,
        );
        check(
            a,
            "resource",
            "when { [\"b\", \"a\"].contains(resource.name) }",
            0,
        );
        check(a, "resource", "unless { resource.name == \"b\" }", 0);
        check(both, &is("b"), "", 0);
        check(both, &is("c"), "", 1);
        let more = "action in [Mcp::Action::\"call_tool/a\", Mcp::Action::\"list_tool\"]";
        check(more, &is("b"), "", 0);
        check("action in Mcp::Action::\"call_tool\"", &is("b"), "", 0);
    }

    fn locked() -> Arc<Lock> {
        let tool = |name: &str| {
            let tool = LockedTool {
                fingerprint: DefinitionFingerprint::of("", ""),
                definition: "{}".into(),
                arguments: Ok(RecordShape::default()),
                origin: PolicyOrigin {
                    file: "tools.lock".into(),
                    line: 1,
                },
            };
            (name.to_owned(), tool)
        };
        Arc::new(Lock::new([tool("a"), tool("b")].into()))
    }

    #[test]
    fn conditions_that_can_hold_together_are_not() {
        for condition in [
            "resource.name == \"a\" || resource.name == \"b\"",
            "resource.name == \"a\" && context.env.protocol == \"b\"",
            "resource.name == \"ab\" && resource.name like \"a*\"",
            "[\"a\", \"b\"].contains(resource.name) && resource.name == \"b\"",
            "[\"a\", \"b\"].contains(resource.name) && resource.name != \"b\"",
            "principal.trust > 2 && principal.trust <= 3",
            "principal.trust >= 3 && principal.trust <= 3",
            "principal.trust > 1 && resource.level < 1",
            "resource.level >= 3",
            "context.env.transport == \"http\" || principal.trust > 1",
            "[\"always\", \"ask\"].contains(resource.consent)",
            "resource == Mcp::Tool::\"a\" && resource.name == \"a\"",
            "resource == Mcp::Tool::\"crm/a\" && resource.name == \"a\"",
            "[Mcp::Tool::\"a\", Mcp::Tool::\"b\"].contains(resource) && resource.name == \"b\"",
            "resource.server == Mcp::Server::\"a\" && resource.name == \"b\"",
            "context.targets.hosts.isEmpty() && context.targets.secrets.contains(\"jwt\")",
            "context.targets.hosts.isEmpty() && !context.targets.hosts.contains(\"a.example\")",
            "[\"a.example\"].containsAll(context.targets.hosts) && context.targets.hosts.isEmpty()",
            "context.env.now > datetime(\"2026-01-01\") && context.env.now < datetime(\"2027-01-01\")",
            "context.env.now > datetime(\"2027-01-01T00:00:00+0100\") && \
             context.env.now < datetime(\"2026-01-01\")",
            "principal.trust > 3",
            "principal.trust < 0",
            "!(resource.level > 2)",
        ] {
            when(condition, 0, 0);
        }
    }

    #[test]
    fn the_scope_is_part_of_the_condition() {
        let policy = |rest: &str| call("permit", "resource == Mcp::Tool::\"a\"", rest);
        check(
            "never_matches",
            &policy("when { [Mcp::Tool::\"b\", Mcp::Tool::\"c\"].contains(resource) }"),
            1,
        );
        check(
            "never_matches",
            &policy("unless { resource == Mcp::Tool::\"a\" }"),
            1,
        );
        check(
            "never_matches",
            &policy("when { [Mcp::Tool::\"a\", Mcp::Tool::\"c\"].contains(resource) }"),
            0,
        );
    }

    #[test]
    fn parts_that_never_or_always_hold_are_found() {
        when(
            "principal.trust > 1 && (resource.name != \"a\" || resource.name != \"b\")",
            0,
            1,
        );
        when(
            "principal.trust > 1 || resource.name == \"a\" && resource.name == \"b\"",
            0,
            1,
        );
        when(
            "principal.trust > 1 && !(resource.level > 3 && principal.trust > 2)",
            0,
            1,
        );
        when("principal.trust > 1 || true", 0, 1);
        when("true && !(principal.trust > 1 && true)", 0, 2);
        when("true", 0, 1);
        when(
            "principal.trust > 1 && (resource.name == \"a\" || resource.name != \"b\")",
            0,
            0,
        );
        let policy = call(
            "forbid",
            "",
            "unless { resource.name == \"a\" && resource.name == \"b\" }",
        );
        check("constant_condition", &policy, 1);
    }
}
