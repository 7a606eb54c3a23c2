//! Policies on what one of several servers has.

use super::*;
use crate::policy::ServerKey;

#[test]
fn an_id_that_begins_with_the_key_of_no_server_is_an_error() {
    let check = |keys: &[&str], text: &str, expected: &[&str]| {
        let cedar = Cedar {
            servers: keys.iter().filter_map(|key| ServerKey::of(key)).collect(),
            warnings: WarningMode::Allow,
            ..Cedar::default()
        };
        let text = format!("@id(\"t\") {text};");
        let errors = cedar.compile(&[source(&text)]).err();
        let told = errors.into_iter().flat_map(|errors| errors.problems);
        let told: Vec<_> = told
            .map(|problem| {
                let label = problem.labels.first().unwrap();
                let place = label.offset()..label.offset() + label.len();
                format!("{}: {}", problem.code, text.get(place).unwrap())
            })
            .collect();
        assert_eq!(told, expected, "{text}");
    };
    let both = &["crm", "mail"][..];
    let none = |id: &str| format!("policy::no_server: {id}");
    let send = none(r#"Mcp::Tool::"send""#);
    let at_scope = r#"forbid (principal, action, resource == Mcp::Tool::"send")"#;
    check(&[], at_scope, &[]);
    check(both, at_scope, &[&send]);
    check(both, &at_scope.replace("send", "mail/send"), &[]);
    check(
        both,
        r#"forbid (principal, action == Mcp::Action::"call_tool", resource is Mcp::Tool) when { [Mcp::Tool::"crm/a", Mcp::Tool::"send"].contains(resource) }"#,
        &[&send],
    );
    check(
        both,
        r#"forbid (principal, action == Mcp::Action::"call_tool", resource is Mcp::Tool) unless { resource == Mcp::Tool::"send" || resource == Mcp::Tool::"send" }"#,
        &[&send],
    );
    for kind in ["Prompt", "Resource", "Method"] {
        let id = format!(r#"Mcp::{kind}::"crmm/a""#);
        let text = format!("forbid (principal, action, resource == {id})");
        check(both, &text, &[&none(&id)]);
        check(both, &text.replace("crmm", "crm"), &[]);
    }
    let server = r#"forbid (principal, action == Mcp::Action::"call_tool", resource in Mcp::Server::"crmm")"#;
    check(both, server, &[&none(r#"Mcp::Server::"crmm""#)]);
    check(both, &server.replace("crmm", "crm"), &[]);
    check(&[], server, &[]);
    check(
        both,
        r#"forbid (principal, action == Mcp::Action::"call_tool", resource in Mcp::ToolGroup::"send")"#,
        &[],
    );
}
