use super::super::checked_policies::CheckBasis;
use super::super::fixture::{World, tool};
use super::super::lock::Lock;
use super::*;

#[test]
fn rules_that_may_look_by_a_computed_name_are_taken_to_look_for_everything() {
    for text in [
        "deny if input.context.targets.outside",
        "when = \"context.result.bytes > 5 && resource.name == 't'\"",
        "x := input_of.results",
        "",
    ] {
        assert_eq!(
            RequiredDetectors::named_in([text]),
            RequiredDetectors::NOTHING,
            "{text}"
        );
    }
    for text in [
        "some k; input.context.targets[k] == 1",
        "contains(json.marshal(input), `x`)",
        "t := input.context.targets",
        "context.targets.exists(k, k == 'a') && context.targets == {}",
        "context[\"tou\" + \"ch\"].outside",
        "input.context.result[\"\\u0073ecrets\"]",
        "context.?targets",
        "walk(input.context, [p, v])",
    ] {
        assert_eq!(
            RequiredDetectors::named_in([text]),
            RequiredDetectors::ALL,
            "{text}"
        );
    }
    let named = RequiredDetectors::named_in(["context.targets.secrets.size() > 0"]);
    assert_eq!((named.secrets, named.flags), (true, false));
}

/// An engine and its kind that say nothing beside verdicts.
#[derive(Debug)]
struct Plain;

impl RuleEngine for Plain {
    fn name(&self) -> EngineName {
        EngineName("plain")
    }

    fn judge(&self, _: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(Verdict::Abstain)
    }

    fn visible(
        &self,
        _: &ListFacts<'_>,
        _: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        Vec::new()
    }
}

impl EngineKind for Plain {
    fn name(&self) -> EngineName {
        EngineName("plain")
    }

    fn claims(&self, _: &Path) -> bool {
        false
    }

    fn compile(&self, _: &[PolicySource]) -> Result<CompiledPolicies, PolicyErrors> {
        Err(PolicyErrors { problems: vec![] })
    }
}

#[test]
fn an_engine_that_cannot_tell_is_taken_to_depend_on_everything() {
    let (world, tool) = (World::new(), tool("t"));
    let engine: Box<dyn RuleEngine> = Box::new(Plain);
    assert!(engine.trace(&world.call(&tool)).is_none());
    assert!(engine.mutants().is_empty());
    assert!(engine.outlines().is_empty());
    assert_eq!(engine.shows(), ListMode::WhatMayBeUsed);
    assert_eq!(engine.looks_for(), RequiredDetectors::ALL);
    assert_eq!(
        engine.lists_by(ActionName::ListTool),
        ListDependency::Moment
    );
    let checked = engine.checked().under(&Lock::default());
    assert!(!checked(
        "permit(principal, action, resource);",
        CheckBasis::Base
    ));
    let question = world.question(ActionName::CallTool, Resource::Tool(&tool));
    assert_eq!(engine.outlook(&question), PartialDecision::OPEN);
    assert_eq!(Plain.lost(&[], &[]), [""; 0]);
}

fn named(names: &[&str]) -> ExposedTools {
    ExposedTools::Named(names.iter().map(ToString::to_string).collect())
}

fn surfaces(tools: ExposedTools, open: &[ActionName], closed: &[ActionName]) -> ExposedActions {
    ExposedActions {
        tools,
        open: open.to_vec(),
        by_policy: vec![ActionName::Sample],
        closed: closed.to_vec(),
    }
}

#[test]
fn two_engines_leave_open_what_neither_closes() {
    use ActionName::{CallTool, Complete, GetPrompt, Sample};
    let check = |one: ExposedTools, other: ExposedTools, expected: ExposedTools| {
        for (one, other) in [(&one, &other), (&other, &one)] {
            let both = surfaces(one.clone(), &[GetPrompt], &[]);
            let both = both.and(surfaces(other.clone(), &[Complete, GetPrompt], &[]));
            assert_eq!(both.tools, expected);
            assert_eq!(both.open, [GetPrompt, Complete]);
            assert_eq!(both.by_policy, [Sample]);
            let closed = both.and(surfaces(one.clone(), &[], &[CallTool, GetPrompt, Sample]));
            assert_eq!(closed.tools, ExposedTools::None);
            assert_eq!(closed.open, [Complete]);
            assert!(closed.by_policy.is_empty());
        }
    };
    check(ExposedTools::None, ExposedTools::None, ExposedTools::None);
    check(ExposedTools::None, named(&["a"]), named(&["a"]));
    check(
        ExposedTools::ByPolicy,
        named(&["a"]),
        ExposedTools::ByPolicy,
    );
    check(
        ExposedTools::ByPolicy,
        ExposedTools::None,
        ExposedTools::ByPolicy,
    );
    check(
        named(&["b", "a"]),
        named(&["c", "b"]),
        named(&["a", "b", "c"]),
    );
}

/// Takes so many bytes and no more.
struct Short(usize);

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[test]
fn one_line_says_what_is_open_and_how_many_tools_it_does_not_name() {
    use fmt::Write as _;
    let check = |tools: ExposedTools, expected: &str| {
        let surfaces = surfaces(tools, &[ActionName::GetPrompt], &[]);
        let line = surfaces.to_string();
        let rest = "; open: prompts; by policy: sampling; \
                    closed: resources, completion, logging, subscriptions, elicitation, roots";
        assert_eq!(line, format!("{expected}{rest}"));
        for length in 0..=line.len() {
            let written = write!(Short(length), "{surfaces}");
            assert_eq!(written.is_ok(), length == line.len(), "{length}");
        }
    };
    check(ExposedTools::None, "tools: none");
    check(ExposedTools::ByPolicy, "tools: by policy");
    check(named(&["a", "b"]), "tools: a, b");
    let names = vec!["t"; MOST_TOLD];
    let line = format!("tools: {}", names.join(", "));
    check(named(&names), &line);
    let more = [names, vec!["u", "v"]].concat();
    check(named(&more), &format!("{line} and 2 more"));
}
