//! Equality where ranks are ordered.

use cedar_policy::Effect;

use super::expressions::{attribute, equality, long};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;

pub(super) const EQUALITY_ON_LEVEL: Lint = Lint {
    code: "lint::equality_on_level",
    about: "a sensitivity level or trust compared by `==`, which omits higher ones",
    look,
};

/// At either end of the levels, `==` means what an order would mean.
const BETWEEN: std::ops::RangeInclusive<i64> = 1..=2;

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let Some(condition) = policy.condition() else {
            continue;
        };
        for expr in condition.subexpressions() {
            let Some((side, other)) = equality(expr) else {
                continue;
            };
            let (Some(name), Some(value)) = (attribute(side), long(other)) else {
                continue;
            };
            let ranked = match name {
                "level" => BETWEEN.contains(&value),
                "trust" => value > 0,
                _ => false,
            };
            if !ranked {
                continue;
            }
            let order = match (policy.effect, name) {
                (Effect::Forbid, "level") | (Effect::Permit, "trust") => ">=",
                _ => "<=",
            };
            let say = LintMessage {
                message: format!("`{name} == {value}` holds for this one rank only"),
                help: format!(
                    "ranks are ordered; `{name} {order} {value}` is what a {} of this kind \
                     usually means",
                    policy.effect
                ),
                label: "compared here",
            };
            found.at(&EQUALITY_ON_LEVEL, policy, expr.source_loc(), say);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check};

    #[test]
    fn equality_of_ranks_is_found_where_an_order_was_meant() {
        let cases = [
            ("resource.level == 2", 1),
            ("1 == context.env.session.level", 1),
            ("principal.trust == 1", 1),
            ("principal.trust == 1 || resource.level != 2", 2),
            // At the ends, nothing is below or above.
            ("resource.level == 0 || resource.level == 3", 0),
            ("principal.trust == 0", 0),
            ("resource.level >= 2 && resource.level <= 2", 0),
            // No ranks.
            ("context.env.session.calls == 2", 0),
        ];
        for (condition, findings) in cases {
            for effect in ["permit", "forbid"] {
                let policy = call(effect, "", &format!("when {{ {condition} }}"));
                check("equality_on_level", &policy, findings);
            }
        }
    }
}
