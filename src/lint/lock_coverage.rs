//! Tools that a lock should know and does not.

use cedar_policy::Effect;
use cedar_policy_core::ast::Literal;

use super::allowlist;
use super::expressions::literal;
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use super::names::{is, misspelt};
use crate::policy::PolicyProblem;

pub(super) const NOT_LOCKED: Lint = Lint {
    code: "lint::not_locked",
    about: "a tool that policies or labels name and `tools.lock` lacks",
    look,
};

pub(super) const HELP: &str = "its definition may change unnoticed, and its arguments have no \
                    types: `mcp-protector tools lock` or `tools approve` adds it";

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    let lock = &world.given.lock;
    // Without a lock, definitions need no approval.
    if lock.is_empty() {
        return;
    }
    let message = |name: &str| format!("`{}` is not in `tools.lock`", name.escape_debug());
    for name in world.given.allow.iter().flatten() {
        if lock.tool(name).is_some() {
            continue;
        }
        let problem = PolicyProblem::warning(NOT_LOCKED.code, message(name)).with_help(HELP);
        let configuration = world.given.configuration.as_ref();
        let place = configuration.and_then(|it| Some((it, allowlist::place(it, name)?)));
        found.add(
            &NOT_LOCKED,
            match place {
                Some((file, place)) => problem.in_source(file).at(place, "allowed here"),
                None => problem,
            },
        );
    }
    let is_misspelt = misspelt(world);
    let permits = world.policies.iter();
    for policy in permits.filter(|policy| policy.effect == Effect::Permit) {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            let Some(Literal::EntityUID(uid)) = literal(expr) else {
                continue;
            };
            let eid: &str = uid.eid().as_ref();
            if is(uid, "Tool") && lock.tool(eid).is_none() && !is_misspelt(eid) {
                let say = LintMessage {
                    message: message(eid),
                    help: HELP.to_owned(),
                    label: "permitted here",
                };
                let own = uid.loc().or_else(|| expr.source_loc());
                let own = own.filter(|loc| (loc.start()..loc.end()) != policy.span);
                found.at(&NOT_LOCKED, policy, own, say);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fixture::{call, check_in, locking, source};
    use super::super::material::Material;

    #[test]
    fn a_permitted_tool_that_the_lock_lacks_is_found() {
        let policy =
            |effect, name: &str| call(effect, &format!("resource == Mcp::Tool::\"{name}\""), "");
        let check = |locked: &[&str], policy: &str, allow: Option<&str>, findings| {
            let material = Material {
                policies: vec![source("p/x.cedar", policy)],
                lock: Arc::new(locking(locked)),
                allow: allow.map(|name| vec![name.to_owned()]),
                ..Material::default()
            };
            check_in("not_locked", &material, findings);
        };
        check(&["a"], &policy("permit", "b"), None, 1);
        check(&["read_file"], &policy("permit", "raed_file"), None, 0);
        check(&["a"], &policy("permit", "a"), None, 0);
        check(&["a"], &policy("forbid", "b"), None, 0);
        check(&[], &policy("permit", "b"), None, 0);
        check(&["a"], "", Some("b"), 1);
        check(&["a"], "", Some("a"), 0);
        let set = call(
            "permit",
            "",
            "when { [Mcp::Tool::\"a\", Mcp::Tool::\"b\"].contains(resource) }",
        );
        check(&["a"], &set, None, 1);
        check(&["a", "b"], &set, None, 0);
    }
}
