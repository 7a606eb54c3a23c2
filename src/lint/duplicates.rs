//! What is there twice.

use std::collections::HashMap;

use super::expressions::{ChainPart, Sign, chains, parts};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use crate::policy::engines::cedar::PolicyTree;

pub(super) const DUPLICATE_CONDITION: Lint = Lint {
    code: "lint::duplicate_condition",
    about: "a repeated condition in a chain of `&&` or `||`, or of the scope",
    look: conditions,
};

pub(super) const DUPLICATE_POLICY: Lint = Lint {
    code: "lint::duplicate_policy",
    about: "a policy that is equal to another one",
    look: policies,
};

fn conditions(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let whole = policy.template.condition();
        report(policy, &parts(&whole, Sign::Holds), found);
        let Some(condition) = policy.condition() else {
            continue;
        };
        for (at, _, parts) in chains(condition) {
            if !std::ptr::eq(at, condition) || !is_conjunction(&parts, condition) {
                report(policy, &parts, found);
            }
        }
    }
}

/// Whether the parts are what the whole policy has already been read as.
fn is_conjunction(found: &[ChainPart<'_>], condition: &cedar_policy_core::ast::Expr) -> bool {
    let whole = parts(condition, Sign::Holds);
    whole.len() == found.len()
        && whole
            .iter()
            .zip(found)
            .all(|(one, other)| one.is_same(other))
}

fn report(policy: &PolicyTree<'_>, parts: &[ChainPart<'_>], found: &mut LintFindings) {
    for (at, part) in parts.iter().enumerate() {
        let earlier = parts.iter().take(at).any(|earlier| earlier.is_same(part));
        let loc = part.expr.source_loc();
        let loc = loc.filter(|loc| (loc.start()..loc.end()) != policy.span);
        if earlier && loc.is_some() {
            let say = LintMessage {
                message: "this condition stands here twice".to_owned(),
                help: "take it out; if something else was meant, this is the place".to_owned(),
                label: "again",
            };
            found.at(&DUPLICATE_CONDITION, policy, loc, say);
        }
    }
}

fn policies(world: &LintContext<'_>, found: &mut LintFindings) {
    // By scope, so that ten thousand policies need no hundred million comparisons.
    let mut earlier: HashMap<String, Vec<&PolicyTree<'_>>> = HashMap::new();
    for policy in world.policies {
        let of_scope = earlier.entry(scope(policy)).or_default();
        if let Some(same) = of_scope.iter().find(|other| is_same(policy, other)) {
            let say = LintMessage {
                message: format!("this policy says what `{}` says", same.id),
                help: format!("that one is at {}; one of them is enough", same.origin),
                label: "again",
            };
            found.at(&DUPLICATE_POLICY, policy, None, say);
        }
        of_scope.push(policy);
    }
}

fn scope(policy: &PolicyTree<'_>) -> String {
    let template = policy.template;
    // The same words at another server are another policy.
    let server = policy.source.server.as_ref().map(ToString::to_string);
    format!(
        "{} {} {} {} {}",
        server.unwrap_or_default(),
        policy.effect,
        template.principal_constraint(),
        template.action_constraint(),
        template.resource_constraint()
    )
}

/// Of two policies with one scope.
fn is_same(one: &PolicyTree<'_>, other: &PolicyTree<'_>) -> bool {
    match (one.condition(), other.condition()) {
        (Some(one), Some(other)) => one.eq_shape(other),
        (None, None) => true,
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check};

    #[test]
    fn a_condition_that_stands_twice_is_found() {
        let cases = [
            (
                "when { resource.hints.readOnly && principal.trust > 1 && resource.hints.readOnly }",
                1,
            ),
            (
                "when { resource.hints.readOnly } when { resource.hints.readOnly }",
                1,
            ),
            (
                "when { resource.hints.readOnly } unless { !resource.hints.readOnly }",
                1,
            ),
            ("when { principal.trust > 1 || principal.trust > 1 }", 1),
            (
                "when { principal.trust > 1 || !(resource.hints.readOnly && resource.hints.readOnly) }",
                1,
            ),
            ("when { principal is Mcp::Agent }", 1),
            ("when { principal.trust > 1 || principal.trust > 2 }", 0),
            (
                "when { resource.hints.readOnly && (principal.trust > 1 || resource.hints.readOnly) }",
                0,
            ),
            (
                "when { context.raw_arguments.hasTag(\"/a\") } unless { context.raw_arguments.getTag(\"/a\") has string }",
                0,
            ),
        ];
        for (rest, findings) in cases {
            check("duplicate_condition", &call("permit", "", rest), findings);
        }
    }

    #[test]
    fn a_policy_that_says_the_same_is_found() {
        let one = call("permit", "", "when { resource.hints.readOnly }");
        let other = |policy: &str| policy.replace("@id(\"x\")", "@id(\"y\")");
        let check = |second: &str, findings| {
            check(
                "duplicate_policy",
                &format!("{one}{}", other(second)),
                findings,
            );
        };
        check(&one, 1);
        check(&one.replace(" && ", "&&\n"), 1);
        check(&one.replace("permit", "forbid"), 0);
        check(&one.replace("readOnly", "openWorld"), 0);
        check(&one.replace("is Mcp::Agent", "in Mcp::Role::\"a\""), 0);
        check(&call("permit", "", ""), 0);
    }
}
