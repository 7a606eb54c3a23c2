//! `draft.cedar`.

use std::collections::BTreeSet;

use super::labels::RootNames;
use super::observation::Observations;
use super::quote;
use super::tool_draft::ToolDraft;

/// The action of a method of agents about the server, and of servers about the client. What is not here needs no
/// permit, or is not drafted.
const METHODS: [(&str, &str, &str); 9] = [
    ("logging/setLevel", "set_level", "Server"),
    ("subscriptions/listen", "listen", "Server"),
    ("resources/list", "list_resource", "Resource"),
    ("resources/templates/list", "list_resource", "Resource"),
    ("prompts/list", "list_prompt", "Prompt"),
    ("completion/complete", "complete", ""),
    ("sampling/createMessage", "sample", "Client"),
    ("elicitation/create", "elicit", "Client"),
    ("roots/list", "list_roots", "Client"),
];

/// The most resources that are named; of more, schemes are.
const MOST_RESOURCES: usize = 32;

/// Permits for what passed, and for nothing else.
pub(super) fn policies(seen: &Observations, drafts: &[ToolDraft<'_>], roots: &RootNames) -> String {
    let mut out = String::from(
        "// A draft from an audit log: what passed there is permitted here, as narrowly as its arguments tell.\n\
         // Tools that change something ask a person (`consent` in tools.toml). Read each policy before you use it.\n",
    );
    for (draft, number) in drafts.iter().zip(1..) {
        out.push_str(&tool(draft, number, roots));
    }
    out.push_str(&resources(&seen.resources));
    let prompts = seen
        .prompts
        .iter()
        .map(|name| format!("Mcp::Prompt::{}", quote::cedar(name)));
    let prompts = prompts.collect::<Vec<_>>().join(", ");
    if !prompts.is_empty() {
        out.push_str(&permit(
            "draft.prompts",
            "Agent",
            r#"in [Mcp::Action::"get_prompt", Mcp::Action::"list_prompt"]"#,
            " is Mcp::Prompt",
            &[format!("[{prompts}].contains(resource)")],
        ));
    }
    let agents = seen.methods.iter().map(|method| ("Agent", method));
    let servers = seen.server_methods.iter().map(|method| ("Server", method));
    let mut drafted = BTreeSet::new();
    for (principal, method) in agents.chain(servers) {
        let known = METHODS.iter().find(|(known, _, _)| known == method);
        if let Some((_, action, resource)) = known
            && drafted.insert(action)
        {
            let resource = match *resource {
                "" => String::new(),
                kind => format!(" is Mcp::{kind}"),
            };
            let action_is = format!("== Mcp::Action::\"{action}\"");
            let id = format!("draft.{action}");
            out.push_str(&permit(&id, principal, &action_is, &resource, &[]));
        }
    }
    out
}

fn tool(draft: &ToolDraft<'_>, number: usize, roots: &RootNames) -> String {
    let mut conditions = Vec::new();
    let roots = draft.roots(roots);
    if !roots.is_empty() {
        let roots = roots
            .into_iter()
            .map(|name| format!("Mcp::Root::{}", quote::cedar(name)));
        let roots = roots.collect::<Vec<_>>().join(", ");
        conditions.push(match draft.optional_path() {
            None => "!context.targets.outside".to_owned(),
            Some(pointer) => format!(
                "(!context.raw_arguments.hasTag({}) || !context.targets.outside)",
                quote::cedar(pointer)
            ),
        });
        conditions.push(format!("[{roots}].containsAll(context.targets.roots)"));
    }
    let hosts: BTreeSet<&String> = draft.hosts().flat_map(|(_, hosts)| hosts).collect();
    if !hosts.is_empty() {
        let hosts = list(hosts.into_iter());
        conditions.push(format!("[{hosts}].containsAll(context.targets.hosts)"));
    }
    for (pointer, values) in draft.values() {
        let (pointer, values) = (quote::cedar(pointer), list(values.iter()));
        conditions.push(format!("context.raw_arguments.hasTag({pointer})"));
        conditions.push(format!(
            "context.raw_arguments.getTag({pointer}) has string"
        ));
        conditions.push(format!(
            "[{values}].contains(context.raw_arguments.getTag({pointer}).string)"
        ));
    }
    let calls = draft.used.calls;
    let unseen = if draft.used.whole < calls {
        ", whose arguments are not all recorded: none is narrowed"
    } else {
        ""
    };
    let comment = format!(
        "\n// {calls} call(s) of {}{unseen}.",
        quote::plain(draft.name)
    );
    let resource = format!(" == Mcp::Tool::{}", quote::cedar(draft.name));
    let action = r#"in Mcp::Action::"call_tool""#;
    let id = format!("draft.tool-{number}");
    comment + &permit(&id, "Agent", action, &resource, &conditions)
}

fn list<'t>(texts: impl Iterator<Item = &'t String>) -> String {
    texts
        .map(|text| quote::cedar(text))
        .collect::<Vec<_>>()
        .join(", ")
}

fn resources(uris: &BTreeSet<String>) -> String {
    if uris.is_empty() {
        return String::new();
    }
    let condition = if uris.len() <= MOST_RESOURCES {
        let uris = uris
            .iter()
            .map(|uri| format!("Mcp::Resource::{}", quote::cedar(uri)));
        format!(
            "[{}].contains(resource)",
            uris.collect::<Vec<_>>().join(", ")
        )
    } else {
        let schemes = uris.iter().filter_map(|uri| uri.split_once(':'));
        let schemes: BTreeSet<String> = schemes
            .map(|(scheme, _)| scheme.to_ascii_lowercase())
            .collect();
        format!("[{}].contains(resource.scheme)", list(schemes.iter()))
    };
    permit(
        "draft.resources",
        "Agent",
        r#"in [Mcp::Action::"read_resource", Mcp::Action::"list_resource", Mcp::Action::"subscribe"]"#,
        " is Mcp::Resource",
        &[condition],
    )
}

fn permit(
    id: &str,
    principal: &str,
    action: &str,
    resource: &str,
    conditions: &[String],
) -> String {
    let head = format!(
        "\n@id({})\npermit (\n  principal is Mcp::{principal},\n  action {action},\n  resource{resource}\n)",
        quote::cedar(id)
    );
    match conditions {
        [] => head + ";\n",
        _ => format!("{head}\nwhen\n{{\n  {}\n}};\n", conditions.join(" &&\n  ")),
    }
}
