//! Annotations that have no effect on their policy.

use cedar_policy::Effect;

use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;

pub(super) const ANNOTATION_WITHOUT_EFFECT: Lint = Lint {
    code: "lint::annotation_without_effect",
    about: "`@code` or `@advice` on a permit, which never denies",
    look: annotation_without_effect,
};

/// Annotations that the gate sends with a denial.
const OF_FORBIDS: [&str; 2] = ["code", "advice"];

fn annotation_without_effect(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world
        .policies
        .iter()
        .filter(|it| it.effect == Effect::Permit)
    {
        for (key, annotation) in policy.template.annotations() {
            let key: &str = key.as_ref();
            if OF_FORBIDS.contains(&key) {
                let say = LintMessage {
                    message: format!("`@{key}` on a permit has no effect"),
                    help: "only a `forbid` returns it; move it to the `forbid`, or remove it"
                        .to_owned(),
                    label: "here",
                };
                let lint = &ANNOTATION_WITHOUT_EFFECT;
                found.at(lint, policy, annotation.loc.as_ref(), say);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check};

    #[test]
    fn words_for_the_refused_are_found_on_permits() {
        let lint = "annotation_without_effect";
        for key in ["code", "advice"] {
            let noted = |effect| format!("@{key}(\"x\")\n{}", call(effect, "", ""));
            check(lint, &noted("permit"), 1);
            check(lint, &noted("forbid"), 0);
        }
        check(
            lint,
            &format!("@obligation_annotate(\"x\")\n{}", call("permit", "", "")),
            0,
        );
    }
}
