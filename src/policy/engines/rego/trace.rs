//! Facts to how far every body of every rule comes.
//!
//! Evaluated by the author's own program with more rules beside (`questions.rs`). Nothing of it
//! exists until somebody asks.

use std::sync::Arc;

use regorus::{Engine, Value as Rego};

use super::apart::{Ask, Names, Taken, taken};
use super::functions::segments;
use super::questions::{Bodies, Questions};
use super::tokens::tokens;
use super::{RegoEngine, asked, document, evaluated, on_big_stack, value};
use crate::policy::trace::shortened;
use crate::policy::{Facts, PolicyOutline, PolicySource, PolicyTrace, Sight, Trace, Value};

/// Values of variables that are told.
const MOST_VALUES: usize = 3;

/// Answers by themselves that may fail before no more are asked for: each may take its whole time.
const MOST_FAILURES: usize = 8;

/// The rules of a package, taken apart.
#[derive(Default)]
pub(super) struct Tracer {
    rules: Vec<Taken>,
    /// Nothing where there is no rule to ask about.
    program: Option<Program>,
}

/// The author's program with ours beside.
struct Program {
    engine: Engine,
    all: String,
    each: Vec<String>,
}

/// What each question came to.
type Answers = Vec<Result<Rego, String>>;

impl Tracer {
    fn new(engine: &Engine, sources: &[PolicySource]) -> Self {
        let apart = || {
            // Where some body gives a variable its value behind a use of it, which the engine sorts
            // out, its beginning is no program.
            let apart = Self::of(engine, sources, Bodies::Apart);
            let whole = || Self::of(engine, sources, Bodies::Whole);
            apart.or_else(whole).unwrap_or_default()
        };
        on_big_stack(apart).unwrap_or_default()
    }

    /// Nothing where the questions are no program.
    fn of(engine: &Engine, sources: &[PolicySource], bodies: Bodies) -> Option<Self> {
        let mut engine = engine.clone();
        engine.clear_policy_length_config();
        let modules = engine.get_modules().clone();
        let mut questions = Questions::new(bodies, sources);
        let of_module = |source: &PolicySource| {
            let mut modules = modules.iter();
            modules.find(|module| **module.package.span.source.file() == *source.name)
        };
        let mut names = Names::default();
        for source in sources {
            names.add(source, of_module(source)?);
        }
        let mut rules = Vec::new();
        for (place, source) in sources.iter().enumerate() {
            rules.extend(taken(source, of_module(source)?, &names, &mut questions));
            let text = format!("{}{}", head(source), questions.of_file());
            engine.add_policy(format!("<traced {place}>"), text).ok()?;
        }
        let text = format!("package mcp\n{}", questions.of_all());
        engine.add_policy("<traced>".to_owned(), text).ok()?;
        let program = Program {
            engine,
            all: rule(&questions.all()),
            each: questions.each().map(|name| rule(&name)).collect(),
        };
        // What is wrong with a program, regorus finds when it runs.
        let mut samples = document::samples().into_iter();
        let fails = samples.any(|sample| program.fails_to_begin(value::object(sample)));
        (!fails).then_some(Self {
            rules,
            program: Some(program),
        })
    }

    /// The shapes of all rules.
    pub(super) fn outlines(&self) -> impl Iterator<Item = &Arc<PolicyOutline>> {
        self.rules.iter().map(|rule| &rule.outline)
    }
}

impl RegoEngine {
    pub(super) fn tracer(&self) -> &Tracer {
        self.tracer
            .get_or_init(|| Tracer::new(&self.engine, &self.sources))
    }

    pub(super) fn traced(&self, facts: &Facts<'_>) -> Trace {
        let tracer = self.tracer();
        let said = match asked(facts, &self.groups) {
            Ok(said) => said,
            Err(fault) => {
                return Trace {
                    fault: Some(fault),
                    ..Trace::default()
                };
            }
        };
        let Some(program) = &tracer.program else {
            return Trace::default();
        };
        let answers = program.answers(&value::object(said.clone()), self.limit);
        let rules = tracer.rules.iter();
        Trace {
            policies: rules.map(|rule| rule.trace(&answers, &said)).collect(),
            ..Trace::default()
        }
    }
}

impl Program {
    fn fails_to_begin(&self, input: Rego) -> bool {
        let answer = evaluated(&self.engine, &self.all, input, super::LIMIT);
        answer.is_err_and(|problem| problem.contains("is unsafe"))
    }

    /// All at once; where that fails, each by itself.
    fn answers(&self, input: &Rego, limit: std::time::Duration) -> Answers {
        if let Ok(all) = evaluated(&self.engine, &self.all, input.clone(), limit)
            && let Ok(all) = all.as_array()
            && all.len() == self.each.len()
        {
            return all.iter().cloned().map(Ok).collect();
        }
        let mut failures = 0;
        let each = self.each.iter().map(|rule| {
            if failures > MOST_FAILURES {
                return Err("too much else has failed before it".to_owned());
            }
            let answer = evaluated(&self.engine, rule, input.clone(), limit);
            failures += usize::from(answer.is_err());
            answer
        });
        each.collect()
    }
}

impl Taken {
    fn trace(&self, answers: &Answers, said: &document::Object<'_>) -> PolicyTrace {
        let found = self.asks.iter().map(|asks| match asks {
            Some(ask) => (ask.value(answers), ask.sights(answers, said)),
            None => (Value::True, Vec::new()),
        });
        PolicyTrace::of(Arc::clone(&self.outline), found.collect())
    }
}

impl Ask {
    /// Behind the statements before it; by itself where those do not come so far.
    fn value(&self, answers: &Answers) -> Value {
        let reached = match self.before {
            Some(before) => holds(answers, before) == Value::True,
            None => true,
        };
        match (reached, self.alone) {
            (true, _) => holds(answers, self.so_far),
            (false, Some(alone)) => holds(answers, alone),
            (false, None) => Value::Failed("it needs what stands before it to hold".to_owned()),
        }
    }

    fn sights(&self, answers: &Answers, said: &document::Object<'_>) -> Vec<Sight> {
        let paths = self.paths.iter().map(|path| path.sight(said));
        let rules = self.rules.iter().map(|(rule, place)| Sight {
            what: rule.clone(),
            value: match answers.get(*place) {
                Some(Ok(value)) => first(value).map(|value| shortened(&value.to_string())),
                Some(Err(_)) | None => None,
            },
        });
        let variables = self.variables.iter().filter_map(|name| {
            Some(Sight {
                what: name.clone(),
                value: Some(self.values(answers, name)?),
            })
        });
        paths.chain(rules).chain(variables).collect()
    }

    /// What a variable is where the statement holds, or where it is asked if it never does.
    fn values(&self, answers: &Answers, name: &str) -> Option<String> {
        let places = [Some(self.so_far), self.before];
        let mut places = places.into_iter().flatten();
        places.find_map(|place| {
            let Some(Ok(Rego::Set(solutions))) = answers.get(place) else {
                return None;
            };
            let values = solutions.iter().filter_map(|solution| {
                let value = solution.as_object().ok()?.get(&Rego::from(name))?;
                Some(value.to_string())
            });
            let mut values: Vec<String> = values.collect();
            values.sort();
            values.dedup();
            let more = values.len().saturating_sub(MOST_VALUES);
            values.truncate(MOST_VALUES);
            if more > 0 {
                values.push(format!("{more} more"));
            }
            (!values.is_empty()).then(|| shortened(&values.join(", ")))
        })
    }
}

/// Whether an answer, which is a set, has something in it.
fn holds(answers: &Answers, place: usize) -> Value {
    match answers.get(place) {
        Some(Ok(Rego::Set(solutions))) => Value::of(!solutions.is_empty()),
        Some(Ok(_)) | None => Value::Failed("there is no answer".to_owned()),
        Some(Err(problem)) => Value::Failed(without_place(problem).to_owned()),
    }
}

/// Places in what we wrote ourselves tell an author nothing.
fn without_place(problem: &str) -> &str {
    let is_ours = problem.starts_with("<traced");
    let rest = problem.split_once(": ").filter(|_| is_ours);
    rest.map_or(problem, |(_, rest)| rest)
}

fn first(list: &Rego) -> Option<&Rego> {
    list.as_array().ok()?.first()
}

fn rule(name: &str) -> String {
    format!("data.mcp.{name}")
}

/// The package of a file, and what it imports.
fn head(source: &PolicySource) -> String {
    let tokens = tokens(&source.text);
    let mut head = "package mcp\n".to_owned();
    for segment in segments(&tokens) {
        let (Some(first), Some(last)) = (segment.tokens.first(), segment.tokens.last()) else {
            continue;
        };
        if first.is("import") {
            let span = first.at..last.at + last.text.len();
            head.push_str(source.text.get(span).unwrap_or_default());
            head.push('\n');
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Rego as Kind;
    use super::*;
    use crate::policy::engines::cedar::ToolGroups;
    use crate::policy::fixture::{World, told, told_trace, tool};
    use crate::policy::{EngineKind, PolicySnapshot};

    const PROGRAM: &str = r#"package mcp

import input.context as here
import data.mcp.editors as writers

decision := {"allow": false, "deny": true, "reasons": forbids} if {
	count(forbids) > 0
} else := {"allow": true, "reasons": permits} if {
	count(permits) > 0
}

default editors := false

editors if { some role in input.principal.roles; role == "editor" }

permits contains {"id": "write"} if writers

forbids contains {"id": "outside", "code": "x"} if {
	input.action == "call_tool"
	some path in paths
	path != ""
	not inside(path)
	here.env.transport != "http" with input.context.env.transport as "stdio"
	size := count(path)
	size > 3 # a comment }
}

paths contains input.context.arguments.path

paths contains path if some path in input.context.arguments["more-paths"]

inside(path) if startswith(path, "/srv/")
"#;

    fn snapshot(text: &str) -> PolicySnapshot {
        let source = PolicySource {
            name: "t.rego".into(),
            text: text.into(),
        };
        let compiled = Kind::new(ToolGroups::default()).compile(&[source]);
        let compiled = compiled.unwrap();
        PolicySnapshot::new(vec![compiled.engine], vec![], compiled.policies)
    }

    fn traced(text: &str, world: &World) -> Vec<PolicyTrace> {
        let tool = tool("read");
        let mut traces = snapshot(text).trace(&world.call(&tool));
        let trace = traces.pop().unwrap();
        assert!(trace.fault.is_none(), "{trace:?}");
        trace.policies
    }

    fn all_told(text: &str, world: &World) -> String {
        let told: Vec<String> = traced(text, world).iter().map(told_trace).collect();
        told.join("\n")
    }

    #[test]
    fn each_statement_has_its_value_and_what_it_looked_at() {
        let world = World::new().with(&[("/path", "/etc/passwd")]);
        insta::assert_snapshot!(all_told(PROGRAM, &world));
    }

    #[test]
    fn behind_a_statement_that_is_undefined_nothing_is_asked() {
        insta::assert_snapshot!(all_told(PROGRAM, &World::new()));
    }

    #[test]
    fn a_statement_that_fails_says_why_and_the_others_are_told_all_the_same() {
        let text = r#"package mcp
decision := {"allow": true} if {
	input.resource.name == "read"
	to_number(input.resource.name) == 1
	input.resource.level == 0
}
other if input.resource.level == 0
"#;
        insta::assert_snapshot!(all_told(text, &World::new()));
    }

    #[test]
    fn where_statements_do_not_stand_in_their_order_each_body_is_one_condition() {
        let text = r#"package mcp
decision := {"allow": true} if {
	size > 1
	size = count(input.resource.name)
}
"#;
        insta::assert_snapshot!(all_told(text, &World::new()));
    }

    #[test]
    fn long_bodies_and_names_like_ours_are_told() {
        let statements = vec!["\tinput.resource.level == 0"; 80].join("\n");
        let text = format!(
            "package mcp\ndecision := {{\"allow\": traced0}} if {{\n{statements}\n}}\ntraced0 := true\n"
        );
        let told = traced(&text, &World::new());
        let [whole, other] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!((whole.parts.len(), other.parts.len()), (2, 0));
        assert_eq!((&whole.value, &other.value), (&Value::True, &Value::True));
    }

    fn body() -> impl Strategy<Value = Vec<&'static str>> {
        let statements = [
            "input.resource.name == \"read\"",
            "input.resource.name == \"no\"",
            "not input.context.arguments.no",
            "some x in [1, 2, 3]",
            "x > 2",
            "y := count(input.principal.roles)",
            "y == 0",
            "input.context.arguments.no > 1",
            "every z in [1, 2] { z > 0 }",
            "{z | some z in [1]} == {1}",
            "z = 3",
            "z == 3",
            "to_number(input.action) > 1",
            "f(3)",
            "helper",
        ];
        proptest::sample::subsequence(statements.to_vec(), 1..6).prop_shuffle()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn what_the_statements_of_a_rule_come_to_is_what_it_gives(body in body()) {
            let statements = body.join("\n\t");
            let text = format!(
                "package mcp\ndecision := {{\"allow\": true, \"reasons\": permits}} if count(permits) > 0\n\
                 permits contains {{\"id\": \"p\"}} if {{\n\t{statements}\n}}\n\
                 helper if input.resource.level == 0\nf(x) if x > 2\n"
            );
            let source = PolicySource { name: "t.rego".into(), text: text.as_str().into() };
            // Variables that nothing gives a value are no program.
            if Kind::new(ToolGroups::default()).compile(&[source]).is_ok() {
                let (tool, world) = (tool("read"), World::new());
                let verdict = told(&snapshot(&text).judge(&world.call(&tool)));
                let traces = traced(&text, &world);
                let expected = match traces[1].value {
                    Value::True => "allow p",
                    Value::False => "nothing",
                    Value::Failed(_) => "fault",
                };
                prop_assert_eq!(verdict, expected, "{}", text);
            }
        }
    }
}
