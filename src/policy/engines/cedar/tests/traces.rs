//! What a trace tells of each part.

use super::*;
use crate::policy::fixture::{World, told_trace, tool};
use crate::policy::{PartValue, PolicyTrace};

const WORKSPACE: &str = r#"
@id("workspace")
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read_file")
when { resource.level != 3 }
unless {
  context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path") has string &&
  (context.raw_arguments.getTag("/path").string like "/srv/*" || resource in Mcp::Permission::"read") &&
  !(context.raw_arguments.getTag("/path").string like "*/../*" || context.env.now > datetime("2030-01-01"))
};
"#;

#[test]
fn each_part_has_its_text_its_value_and_what_it_looked_at() {
    let world = World::new().with(&[("/path", "/etc/passwd")]);
    insta::assert_snapshot!(told_parts(WORKSPACE, &world));
}

#[test]
fn what_is_missing_is_told_as_missing() {
    insta::assert_snapshot!(told_parts(WORKSPACE, &World::new()));
}

#[test]
fn a_part_that_fails_says_why() {
    let text = r#"@id("p") permit (principal, action, resource)
        when { context.env.session.calls + 9223372036854775807 > 0 || true };"#;
    let mut world = World::new();
    world.session.calls = 1;
    insta::assert_snapshot!(told_parts(text, &world));
}

#[test]
fn chains_deeper_than_any_stack_are_flat_parts() {
    let chain = vec![r#"resource == Mcp::Tool::"x""#; 100].join(" ||\n");
    let text = format!(
        "permit (principal, action == Mcp::Action::\"call_tool\", resource) when {{ {chain} }};"
    );
    let traced = traced(&text, &World::new());
    assert_eq!(traced.parts.len(), 3 + 2 + 100);
    assert_eq!(traced.value, PartValue::False);
}

#[test]
fn policies_about_other_actions_are_not_traced_and_those_about_other_tools_are() {
    let text = r#"
        permit (principal, action == Mcp::Action::"get_prompt", resource);
        @id("other") permit (principal, action, resource == Mcp::Tool::"other");"#;
    let traced = traced(text, &World::new());
    assert_eq!(traced.outline.id.as_str(), "other");
    assert!(!traced.in_scope());
}

fn traced(text: &str, world: &World) -> PolicyTrace {
    let tool = tool("read_file");
    let mut traces = snapshot(text).trace(&world.call(&tool));
    let trace = traces.pop().unwrap();
    let [policy] = &trace.policies[..] else {
        panic!("{trace:?}")
    };
    policy.clone()
}

fn told_parts(text: &str, world: &World) -> String {
    told_trace(&traced(text, world))
}
