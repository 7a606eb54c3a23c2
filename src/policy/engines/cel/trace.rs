//! Facts to what every part of every rule comes to.
//!
//! The parts are cut out of the text and evaluated one by one, each with all the steps that a message
//! has: of what nobody asked for, the steps are nobody's either. Nothing of this exists until
//! somebody asks.

use std::sync::Arc;

use cel::Context;

use super::super::document::{self, Object, Path};
use super::bound::{Bounded, bounded};
use super::file::Rule;
use super::judge::{truth, unsayable};
use super::meter::{env, metered};
use super::patterns::{Collected, Patterns};
use super::sights::paths;
use super::written::{When, Written, written};
use super::{CelEngine, on_big_stack};
use crate::policy::{
    EngineFault, Facts, Part, PartKind, PolicyOutline, PolicySource, PolicyTrace, Trace, Value,
};

/// The rules of an engine, taken apart.
#[derive(Debug, Default)]
pub(super) struct Tracer {
    rules: Vec<Traced>,
    patterns: Patterns,
}

/// One rule, taken apart.
#[derive(Debug)]
struct Traced {
    outline: Arc<PolicyOutline>,
    /// What each part asks; nothing for those that have parts in them.
    asks: Vec<Option<Ask>>,
}

#[derive(Debug)]
struct Ask {
    condition: Bounded,
    paths: Vec<Path>,
}

impl Tracer {
    /// Nothing where a text cannot be taken apart: the compiler has accepted them all.
    pub(super) fn new(sources: &[PolicySource], rules: &[Rule]) -> Self {
        let read = || {
            let mut patterns = Collected::default();
            let written = sources.iter().flat_map(|source| written(source, rules));
            let rules = written.map(|rule| traced(&rule, &mut patterns));
            Self {
                rules: rules.collect(),
                patterns: patterns.finish(),
            }
        };
        on_big_stack(read).unwrap_or_default()
    }

    /// The shapes of all rules.
    pub(super) fn outlines(&self) -> impl Iterator<Item = &Arc<PolicyOutline>> {
        self.rules.iter().map(|rule| &rule.outline)
    }
}

impl CelEngine {
    pub(super) fn tracer(&self) -> &Tracer {
        self.tracer
            .get_or_init(|| Tracer::new(&self.sources, &self.rules))
    }

    pub(super) fn traced(&self, facts: &Facts<'_>) -> Trace {
        self.trace_all(facts).unwrap_or_else(|fault| Trace {
            fault: Some(fault),
            ..Trace::default()
        })
    }

    fn trace_all(&self, facts: &Facts<'_>) -> Result<Trace, EngineFault> {
        let tracer = self.tracer();
        let action = facts.action.name();
        let rules = tracer.rules.iter();
        let about: Vec<&Traced> = rules
            .filter(|rule| rule.outline.actions.contains(&action))
            .collect();
        if about.is_empty() {
            return Ok(Trace::default());
        }
        // What is no rule's own, such as steps that all together used up.
        if let Err(fault) = self.verdict(facts)
            && fault.policy.is_none()
        {
            return Err(fault);
        }
        let said = document::of(facts, &self.groups).map_err(|error| unsayable(&error))?;
        let policies = self.with_context(facts, |context| {
            let patterns = &tracer.patterns;
            let rules = about.iter();
            rules
                .map(|rule| rule.trace(context, patterns, &said))
                .collect()
        })?;
        Ok(Trace {
            policies,
            ..Trace::default()
        })
    }
}

impl Traced {
    fn trace(
        &self,
        context: &Context<'_, '_>,
        patterns: &Patterns,
        said: &Object<'_>,
    ) -> PolicyTrace {
        let found = self.asks.iter().map(|asks| {
            let Some(ask) = asks else {
                return (Value::True, Vec::new());
            };
            let truth = metered(|| patterns.during(|| truth(&ask.condition, context)));
            let value = match truth {
                Ok(Ok(truth)) => Value::of(truth),
                Ok(Err(why)) => Value::Failed(why),
                Err(exhausted) => Value::Failed(exhausted.to_string()),
            };
            let saw = ask.paths.iter().map(|path| path.sight(said));
            (value, saw.collect())
        });
        PolicyTrace::of(Arc::clone(&self.outline), found.collect())
    }
}

fn traced(rule: &Written, patterns: &mut Collected) -> Traced {
    let outline = &rule.outline;
    let Some(when) = &rule.when else {
        return Traced {
            outline: Arc::clone(outline),
            asks: outline.parts.iter().map(|_| None).collect(),
        };
    };
    let parts = when.parts.iter();
    let asks: Option<Vec<Option<Ask>>> = parts
        .map(|part| match part.kind {
            PartKind::Condition => ask(when.text(part), patterns).map(Some),
            PartKind::Scope
            | PartKind::When
            | PartKind::Unless
            | PartKind::All
            | PartKind::Any
            | PartKind::Not
            | PartKind::If => Some(None),
        })
        .collect();
    match asks {
        Some(asks) => Traced {
            outline: Arc::clone(outline),
            asks: std::iter::once(None).chain(asks).collect(),
        },
        // Cut where the parser does not cut: then it is one condition.
        None => whole(outline, when, patterns),
    }
}

fn whole(outline: &Arc<PolicyOutline>, when: &When, patterns: &mut Collected) -> Traced {
    let parts: Vec<Part> = outline.parts.iter().take(1).cloned().collect();
    let span = outline.parts.get(1).map(|part| part.span.clone());
    let condition = Part {
        kind: PartKind::Condition,
        span: span.unwrap_or_default(),
        parent: Some(0),
        children: Vec::new(),
    };
    Traced {
        outline: Arc::new(PolicyOutline {
            id: outline.id.clone(),
            origin: outline.origin.clone(),
            effect: outline.effect,
            actions: outline.actions.clone(),
            source: Arc::clone(&outline.source),
            span: outline.span.clone(),
            parts: parts.into_iter().chain([condition]).collect(),
        }),
        asks: vec![None, ask(&when.text, patterns)],
    }
}

fn ask(text: &str, patterns: &mut Collected) -> Option<Ask> {
    let tree = env().ok()?.parser().parse(text).ok()?;
    let paths = paths(&tree);
    Some(Ask {
        condition: bounded(tree, patterns).ok()?,
        paths,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Cel;
    use super::*;
    use crate::policy::fixture::{World, told, told_trace, tool};
    use crate::policy::{EngineKind, PolicySnapshot};

    fn snapshot(when: &str) -> PolicySnapshot {
        let text = format!(
            "[[rule]]\nid = 'p'\neffect = 'permit'\nactions = ['call_tool', 'use']\nwhen = \"\"\"{when}\"\"\"\n"
        );
        let source = PolicySource {
            name: "t.cel.toml".into(),
            text: text.into(),
        };
        let compiled = Cel::default().compile(&[source]).unwrap();
        PolicySnapshot::new(vec![compiled.engine], vec![], compiled.policies)
    }

    fn traced(when: &str, world: &World) -> PolicyTrace {
        let tool = tool("read");
        let mut traces = snapshot(when).trace(&world.call(&tool));
        let trace = traces.pop().unwrap();
        let [policy] = &trace.policies[..] else {
            panic!("{trace:?}")
        };
        policy.clone()
    }

    const WORKSPACE: &str = r"
has(context.arguments.path) && type(context.arguments.path) == string &&
(context.arguments.path.matches('^/srv/') || 'read' in resource.permissions) &&
!(context.arguments['path'] in ['/srv/x'] || principal.roles.exists(role, role == context.env.transport)) &&
(resource.level > 1 ? principal.trust > 0 : context.arguments.paths.all(path, path != ''))
";

    #[test]
    fn each_part_of_a_condition_has_its_value_and_what_it_looked_at() {
        let world = World::new().with(&[("/path", "/srv/a")]);
        insta::assert_snapshot!(told_trace(&traced(WORKSPACE, &world)));
    }

    #[test]
    fn what_nobody_asked_may_be_missing() {
        insta::assert_snapshot!(told_trace(&traced(WORKSPACE, &World::new())));
    }

    #[test]
    fn a_rule_without_a_condition_has_no_parts_and_one_about_another_action_no_trace() {
        let rules = "[[rule]]\nid = 'a'\neffect = 'forbid'\n[[rule]]\nid = 'b'\neffect = 'permit'\nactions = ['ping']\n";
        let source = PolicySource {
            name: "t.cel.toml".into(),
            text: rules.into(),
        };
        let compiled = Cel::default().compile(&[source]).unwrap();
        let (tool, world) = (tool("read"), World::new());
        let trace = compiled.engine.trace(&world.call(&tool)).unwrap();
        let told: Vec<String> = trace.policies.iter().map(told_trace).collect();
        assert_eq!(told, ["a True"]);
    }

    #[test]
    fn steps_that_all_rules_used_up_together_are_a_fault_of_none() {
        let list = vec!["'x'"; 40].join(", ");
        let when = format!(
            "[{list}].all(a, [{list}].all(b, [{list}].all(c, [{list}].all(d, a == b || c == d))))"
        );
        let (tool, world) = (tool("read"), World::new());
        let mut traces = snapshot(&when).trace(&world.call(&tool));
        let trace = traces.pop().unwrap();
        assert!(trace.fault.is_some() && trace.policies.is_empty());
    }

    /// Conditions that hold, do not, fail, are no booleans, or take long.
    fn expression() -> impl Strategy<Value = String> {
        let leaves = [
            "true",
            "false",
            "resource.name == 'read'",
            "!action.contains('list')",
            "context.arguments.no",
            "has(context.arguments.no)",
            "resource.level",
            "[1, 2].exists(x, x > 1 && x < 3 || x == 9)",
            "'a && b'.matches('b$')",
            "!resource.hints.readOnly == true",
            "resource.name // && no\n != '||'",
        ];
        let leaves: Vec<String> = leaves.into_iter().map(str::to_owned).collect();
        proptest::sample::select(leaves).prop_recursive(4, 12, 3, |inner| {
            let three = (inner.clone(), inner.clone(), inner.clone());
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} && {b}")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}\n|| ({b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) && !({b})")),
                inner.prop_map(|a| format!("!!({a})")),
                three.prop_map(|(a, b, c)| format!("({a}) ? ({b}) : {c}")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn what_the_parts_of_a_rule_in_cel_come_to_is_the_verdict(when in expression()) {
            let (tool, world) = (tool("read"), World::new());
            let verdict = told(&snapshot(&when).judge(&world.call(&tool)));
            let expected = match traced(&when, &world).value {
                Value::True => "allow p",
                Value::False => "nothing",
                Value::Failed(_) => "fault",
            };
            prop_assert_eq!(verdict, expected);
        }
    }
}
