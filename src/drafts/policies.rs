//! `draft.cedar`.

use std::collections::BTreeSet;

use super::observation::Observations;
use super::quote;
use super::server_item::ServerItem;
use super::tool_draft::{RootNames, ToolDraft};
use crate::policy::ServerKey;
use crate::wire::KnownMethod;

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
const MOST_RESOURCES: usize = 256;

/// Permits for what passed, and for nothing else.
pub(super) fn policies(seen: &Observations, drafts: &[ToolDraft<'_>], roots: &RootNames) -> String {
    let mut out = String::from(
        "// A draft from an audit log: what passed there is permitted here, as narrowly as its arguments tell.\n\
         // Tools that change something ask a person (`consent` in tools.toml). Each permit is for every agent. Read all\n\
         // of them before you use them.\n",
    );
    for (draft, number) in drafts.iter().zip(1..) {
        out.push_str(&tool(draft, number, roots));
    }
    out.push_str(&resources(
        "draft.resources",
        &seen.resources,
        r#"in [Mcp::Action::"read_resource", Mcp::Action::"list_resource"]"#,
    ));
    out.push_str(&resources(
        "draft.subscriptions",
        &seen.subscriptions,
        r#"== Mcp::Action::"subscribe""#,
    ));
    let prompts = seen.prompts.iter();
    let prompts = prompts.map(|item| format!("Mcp::Prompt::{}", quote::cedar(&item.id())));
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
    out + &methods("Agent", &seen.methods) + &methods("Server", &seen.server_methods)
}

/// Permits for methods of agents to servers, or of servers to agents.
fn methods(principal: &str, seen: &BTreeSet<ServerItem>) -> String {
    let mut out = String::new();
    let known = |item: &ServerItem| METHODS.iter().find(|(known, ..)| *known == item.name);
    let (mut drafted, mut noted) = (BTreeSet::new(), BTreeSet::new());
    for item in seen {
        if let Some((_, action, resource)) = known(item)
            && drafted.insert(action)
        {
            let same = seen
                .iter()
                .filter(|other| known(other).is_some_and(|(_, other, _)| other == action));
            let condition = servers(same).map(|servers| match principal {
                "Server" => format!("[{servers}].contains(principal)"),
                _ => format!("resource in [{servers}]"),
            });
            let resource = match *resource {
                "" => String::new(),
                kind => format!(" is Mcp::{kind}"),
            };
            let action_is = format!("== Mcp::Action::\"{action}\"");
            let id = format!("draft.{action}");
            let conditions = Vec::from_iter(condition);
            out.push_str(&permit(&id, principal, &action_is, &resource, &conditions));
        } else if KnownMethod::from_name(&item.name).is_none() && noted.insert(&item.name) {
            let method = quote::plain(&item.name);
            out.extend([format!(
                "\n// No permit is drafted for {method}, of an extension.\n"
            )]);
        }
    }
    out
}

/// Those of several servers that have these, as entities.
fn servers<'i>(items: impl Iterator<Item = &'i ServerItem>) -> Option<String> {
    let keys: BTreeSet<&ServerKey> = items.filter_map(|item| item.server.as_ref()).collect();
    let keys = keys.iter().map(|key| format!("Mcp::Server::\"{key}\""));
    let keys = keys.collect::<Vec<_>>().join(", ");
    (!keys.is_empty()).then_some(keys)
}

fn tool(draft: &ToolDraft<'_>, number: usize, roots: &RootNames) -> String {
    let mut conditions = Vec::new();
    conditions.extend(paths(draft, roots));
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
    let comment = comment(draft);
    let resource = format!(" == Mcp::Tool::{}", quote::cedar(&draft.item.id()));
    let action = r#"in Mcp::Action::"call_tool""#;
    let id = format!("draft.tool-{number}");
    comment + &permit(&id, "Agent", action, &resource, &conditions)
}

/// Every path in the tool's own directories. A path there may lie in roots of other tools as well.
fn paths(draft: &ToolDraft<'_>, roots: &RootNames) -> Option<String> {
    let entities = |names: Vec<&str>| {
        let names = names.into_iter().map(quote::cedar);
        let names = names.map(|name| format!("Mcp::Root::{name}"));
        names.collect::<Vec<_>>().join(", ")
    };
    let (own, related) = (draft.own_roots(roots), draft.related_roots(roots));
    if own.is_empty() {
        return None;
    }
    let is_shared = related.len() > own.len();
    let (own, related) = (entities(own), entities(related));
    let mut inside =
        format!("!context.targets.outside && [{related}].containsAll(context.targets.roots)");
    if is_shared {
        inside.extend([format!(" &&\n  context.targets.roots.containsAny([{own}])")]);
    }
    Some(match draft.optional_path() {
        None => inside,
        Some(pointer) => format!(
            "(!context.raw_arguments.hasTag({}) || ({inside}))",
            quote::cedar(pointer)
        ),
    })
}

/// What was seen, and what is wider than that.
fn comment(draft: &ToolDraft<'_>) -> String {
    let calls = draft.used.calls;
    let mut comment = format!(
        "\n// {calls} call(s) of {}.",
        quote::plain(&draft.item.id())
    );
    if draft.used.whole < calls {
        comment.push_str(" Not all have recorded arguments, so that none is narrowed.");
    } else if draft.used.is_overfull {
        comment.push_str(" Their arguments are too many to compare, so that none is narrowed.");
    } else {
        let open = draft.open_arguments().map(quote::plain);
        let open = open.collect::<Vec<_>>().join(", ");
        if !open.is_empty() {
            comment.extend([format!(" Any value may stand at {open}.")]);
        }
    }
    if draft.failed > 0 {
        comment.extend([format!(
            "\n// The server answered {} of these calls with an error. They are permitted too: narrow this permit.",
            draft.failed
        )]);
    }
    comment
}

fn list<'t>(texts: impl Iterator<Item = &'t String>) -> String {
    texts
        .map(|text| quote::cedar(text))
        .collect::<Vec<_>>()
        .join(", ")
}

fn resources(id: &str, uris: &BTreeSet<ServerItem>, action: &str) -> String {
    if uris.is_empty() {
        return String::new();
    }
    let number = uris.len();
    let mut comment = String::new();
    let mut conditions = Vec::new();
    if number <= MOST_RESOURCES {
        let uris = uris.iter();
        let uris = uris.map(|uri| format!("Mcp::Resource::{}", quote::cedar(&uri.id())));
        let uris = uris.collect::<Vec<_>>().join(", ");
        conditions.push(format!("[{uris}].contains(resource)"));
    } else {
        comment = format!(
            "\n// {number} resources were used. This permits all of their schemes: narrow it."
        );
        let schemes = uris.iter().filter_map(|uri| uri.name.split_once(':'));
        let schemes: BTreeSet<String> = schemes
            .map(|(scheme, _)| scheme.to_ascii_lowercase())
            .collect();
        conditions.push(format!(
            "[{}].contains(resource.scheme)",
            list(schemes.iter())
        ));
        conditions.extend(servers(uris.iter()).map(|servers| format!("resource in [{servers}]")));
    }
    comment + &permit(id, "Agent", action, " is Mcp::Resource", &conditions)
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
