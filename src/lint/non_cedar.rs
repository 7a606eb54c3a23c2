//! What is said of rules in other languages than Cedar, whose files are read as far as they are plain.

use super::findings::{Lint, LintFindings};
use super::material::LintContext;
use crate::policy::PolicyProblem;
use crate::policy::engines::{OpenRule, open_permits};

pub(super) fn unconditional(
    lint: &'static Lint,
    world: &LintContext<'_>,
    found: &mut LintFindings,
) {
    for OpenRule { source, place } in open_permits(&world.given.policies) {
        let message = "every agent may call every tool, with any arguments";
        let help = "say on what condition: which tools, by their names or capabilities, or whose \
                    calls";
        let problem = PolicyProblem::warning(lint.code, message);
        let problem = problem.with_help(help).in_source(source);
        found.add(lint, problem.at(place, "nothing narrows this"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{found, source};
    use super::super::material::Material;

    #[track_caller]
    fn check(name: &str, text: &str, findings: usize) {
        let material = Material {
            policies: vec![source(name, text)],
            ..Material::default()
        };
        let found = found("unconditional_permit", &material);
        assert_eq!(found.len(), findings, "{text}\n{found:#?}");
    }

    #[test]
    fn a_rule_in_cel_that_nothing_narrows_is_found() {
        let rule = |rest: &str, findings| {
            let text = format!("[[rule]]\nid = 'x'\n{rest}\n");
            check("p/x.cel.toml", &text, findings);
        };
        rule("effect = 'permit'", 1);
        rule("effect = 'permit'\nwhen = ' true '", 1);
        rule("effect = 'permit'\nactions = ['call_tool']", 1);
        rule("effect = 'permit'\nactions = ['ping', 'use']", 1);
        rule("effect = 'forbid'", 0);
        rule("effect = 'permit'\nactions = ['list_tool']", 0);
        rule("effect = 'permit'\nwhen = \"action == 'ping'\"", 0);
        rule("effect = 'permit'\nwhen = 5", 0);
        rule("effect = ", 0);
        check("p/x.toml", "[[rule]]\nid = 'x'\neffect = 'permit'\n", 0);
    }

    #[test]
    fn a_decision_in_rego_that_nothing_narrows_is_found() {
        let program = |rules: &str, findings| {
            check("p/x.rego", &format!("package mcp\n\n{rules}\n"), findings);
        };
        let all = "{\"allow\": true, \"reasons\": [{\"id\": \"a\"}]}";
        program(&format!("decision := {all}"), 1);
        program(&format!("default decision := {all}"), 1);
        program(&format!("decision = {all} if true"), 1);
        program(&format!("decision := {all} if {{ true }}"), 1);
        program(
            "decision := {\"deny\": denied, \"allow\": true}\n\ndenied if input.x",
            1,
        );
        program(
            "decision := {\"deny\": true, \"allow\": false} if input.x\nelse := {\"allow\": true}",
            1,
        );
        program("default allow := true\n\ndecision := {\"allow\": allow}", 1);
        program(&format!("decision := {all} if input.action == \"ping\""), 0);
        program("decision := {\"allow\": true, \"deny\": true}", 0);
        program("decision := {\"allow\": false}", 0);
        program(
            "decision := {\"reasons\": [{\"allow\": true}], \"allow\": false}",
            0,
        );
        program("decision := {\"allow\": allow}\n\nallow if input.x", 0);
        program(
            "decision := {\"allow\": allow}\n\nallow := true if input.x",
            0,
        );
        program(&format!("other := {all}"), 0);
        program(
            &format!("decision := {all} if input.x else := {{\"allow\": false}}"),
            0,
        );
    }
}
