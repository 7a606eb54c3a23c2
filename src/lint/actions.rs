//! Which calls `call_tool` means.

use cedar_policy_core::ast::{ActionConstraint, BinaryOp, EntityUID, ExprKind, Literal, Var};

use super::expressions::literal;
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;

pub(super) const EXACT_CALL: Lint = Lint {
    code: "lint::exact_call",
    about: "`action == Mcp::Action::\"call_tool\"`, which omits calls with an action of their own",
    look,
};

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        if let ActionConstraint::Eq(uid) = policy.template.action_constraint()
            && is_call(uid)
        {
            let written = policy
                .source
                .text
                .get(policy.span.clone())
                .unwrap_or_default();
            let at = written
                .find("\"call_tool\"")
                .map(|at| policy.span.start + at);
            let problem = problem();
            let problem = match (uid.loc(), at) {
                (Some(loc), _) => policy.point(problem, Some(loc), "here"),
                (None, Some(at)) => problem.in_source(policy.source).at(at..at + 11, "here"),
                (None, None) => policy.locate(problem, "in this policy"),
            };
            found.about(&EXACT_CALL, policy, problem);
        }
        let Some(condition) = policy.condition() else {
            continue;
        };
        for expr in condition.subexpressions() {
            if let ExprKind::BinaryApp {
                op: BinaryOp::Eq,
                arg1,
                arg2,
            } = expr.expr_kind()
                && matches!(arg1.expr_kind(), ExprKind::Var(Var::Action))
                && let Some(Literal::EntityUID(uid)) = literal(arg2)
                && is_call(uid)
            {
                found.at(&EXACT_CALL, policy, expr.source_loc(), say());
            }
        }
    }
}

fn problem() -> crate::policy::PolicyProblem {
    let LintMessage { message, help, .. } = say();
    crate::policy::PolicyProblem::warning(EXACT_CALL.code, message).with_help(help)
}

fn say() -> LintMessage {
    LintMessage {
        message: "`==` holds for calls of tools without types of their own only".to_owned(),
        help: "write `action in Mcp::Action::\"call_tool\"`, which is every call".to_owned(),
        label: "here",
    }
}

fn is_call(uid: &EntityUID) -> bool {
    let name: &str = uid.eid().as_ref();
    uid.is_action() && name == "call_tool"
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check};

    #[test]
    fn calls_that_are_named_exactly_are_found() {
        let lint = "exact_call";
        let policy = call("permit", "", "when { principal.trust > 1 }");
        check(lint, &policy, 0);
        check(lint, &policy.replace("action in", "action =="), 1);
        check(
            lint,
            &policy.replace(
                "action in Mcp::Action::\"call_tool\"",
                "action == Mcp::Action::\"list_tool\"",
            ),
            0,
        );
        let condition = "when { action == Mcp::Action::\"call_tool\" || principal.trust > 1 }";
        check(lint, &call("permit", "", condition), 1);
        check(lint, &call("permit", "", &condition.replace("==", "in")), 0);
    }
}
