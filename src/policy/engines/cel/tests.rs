use super::super::super::fixture::{World, told, tool};
use super::*;
use crate::policy::PolicySnapshot;

#[test]
fn a_rule_decides() {
    let rules = r#"
[[rule]]
id = "read"
effect = "permit"
actions = ["call_tool"]
when = "resource.name == 'read' && context.arguments.path.startsWith('/srv/')"
"#;
    let world = World::new().with(&[("/path", "/srv/a")]);
    assert_eq!(judged(rules, &world), "allow read");
    let world = World::new().with(&[("/path", "/etc/a")]);
    assert_eq!(judged(rules, &world), "nothing");
    assert_eq!(judged(rules, &World::new()), "fault");
}

fn judged(rules: &str, world: &World) -> String {
    let tool = tool("read");
    told(&snapshot(rules).unwrap().judge(&world.call(&tool)))
}

fn snapshot(rules: &str) -> Result<PolicySnapshot, PolicyErrors> {
    let source = PolicySource {
        name: "t.cel.toml".into(),
        text: rules.into(),
    };
    let compiled = Cel::default().compile(&[source])?;
    Ok(PolicySnapshot::new(
        vec![compiled.engine],
        vec![],
        compiled.policies,
    ))
}
