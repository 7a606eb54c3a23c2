//! Tools that policies permit and required labels close.

use std::collections::BTreeSet;

use cedar_policy::Effect;
use cedar_policy_core::ast::{
    EntityReference, EntityUID, ExprKind, Literal, PrincipalOrResourceConstraint, Var,
};
use toml::de::DeTable;

use super::expressions::literal;
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use super::names::{is, misspelt};
use crate::policy::engines::cedar::PolicyTree;
use crate::policy::{ActionName, PolicyProblem};

pub(super) const CLOSED_TOOL: Lint = Lint {
    code: "lint::closed_tool",
    about: "a permitted tool without a `permission` label, where `require_labels` closes it",
    look,
};

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    let Some(labelled) = &world.given.labelled else {
        return;
    };
    // The loader tells of those in the allowlist.
    let allowed = world.given.allow.iter().flatten();
    let mut told: BTreeSet<String> = allowed.chain(labelled).cloned().collect();
    let permits: Vec<&PolicyTree<'_>> = world
        .policies
        .iter()
        .filter(|it| it.effect == Effect::Permit && it.is_on(ActionName::CallTool))
        .collect();
    let is_misspelt = misspelt(world);
    for policy in &permits {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            let Some(Literal::EntityUID(uid)) = literal(expr) else {
                continue;
            };
            let name: &str = uid.eid().as_ref();
            if !is(uid, "Tool") || is_misspelt(name) || !told.insert(name.to_owned()) {
                continue;
            }
            let say = LintMessage {
                message: message(name),
                help: help(name),
                label: "named here",
            };
            let own = uid.loc().or_else(|| expr.source_loc());
            let own = own.filter(|loc| (loc.start()..loc.end()) != policy.span);
            found.at(&CLOSED_TOOL, policy, own, say);
        }
    }
    let said = world.given.said.tools.keys().map(String::as_str);
    let locked = world.given.lock.tools().map(|(name, _)| name);
    let known: BTreeSet<&str> = said.chain(locked).collect();
    for name in known.into_iter().filter(|name| !told.contains(*name)) {
        if permits.iter().any(|policy| reaches(world, policy, name)) {
            found.add(&CLOSED_TOOL, at_labels(world, name));
        }
    }
}

/// Whether a policy permits a tool that it does not name, as far as its scope tells: a condition on the
/// resource may keep it out.
fn reaches(world: &LintContext<'_>, policy: &PolicyTree<'_>, tool: &str) -> bool {
    use PrincipalOrResourceConstraint as C;
    let is_on_resource = policy.condition().is_some_and(|condition| {
        let mut all = condition.subexpressions();
        all.any(|it| matches!(it.expr_kind(), ExprKind::Var(Var::Resource)))
    });
    let is_in = |group: &EntityReference| match group {
        EntityReference::EUID(uid) => is_part(world, uid, tool),
        EntityReference::Slot(_) => false,
    };
    let is_in_scope = match policy.template.resource_constraint().as_inner() {
        C::Any => true,
        C::Is(kind) => kind.to_string() == "Mcp::Tool",
        C::In(group) | C::IsIn(_, group) => is_in(group),
        C::Eq(_) => false,
    };
    is_in_scope && !is_on_resource
}

/// Whether a tool is in what policies name by `in`, also without a label of its permission.
fn is_part(world: &LintContext<'_>, of: &EntityUID, tool: &str) -> bool {
    let said = &world.given.said;
    let permissions = said.permissions(tool);
    let name: &str = of.eid().as_ref();
    match of.entity_type().to_string().as_str() {
        "Mcp::Server" => true,
        "Mcp::Permission" => match name {
            "read" => permissions.read,
            "write" => permissions.write,
            _ => permissions.connect,
        },
        "Mcp::Capability" => said.capabilities(tool).iter().any(|it| {
            let rest = it.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }),
        "Mcp::ToolGroup" => {
            let labels = said.tools.get(tool);
            labels.is_some_and(|labels| labels.groups.iter().any(|it| it == name))
        }
        _ => false,
    }
}

fn message(tool: &str) -> String {
    format!(
        "`{}` cannot be called: no label names its permission, and `require_labels` is true",
        tool.escape_debug()
    )
}

fn help(tool: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let key = if !tool.is_empty() && tool.bytes().all(is_bare) {
        tool.to_owned()
    } else {
        toml::Value::from(tool).to_string()
    };
    format!(
        "write `permission = \"read\"`, `\"write\"` or `\"connect\"`, or several of them in a list, below \
         `[tools.{key}]` in `tools.toml`"
    )
}

/// The finding at what `tools.toml` or the lock says of the tool.
fn at_labels(world: &LintContext<'_>, tool: &str) -> PolicyProblem {
    let problem = PolicyProblem::warning(CLOSED_TOOL.code, message(tool)).with_help(help(tool));
    for source in world.label_files("tools.toml") {
        // The loader reports the mistakes of the file.
        let Ok(file) = DeTable::parse(&source.text) else {
            continue;
        };
        let tools = file.get_ref().get("tools");
        let tools = tools.and_then(|it| it.get_ref().as_table());
        if let Some((key, _)) = tools.and_then(|it| it.get_key_value(tool)) {
            return problem
                .in_source(source)
                .at(key.span(), "without a permission");
        }
    }
    let Some(locked) = world.given.lock.tool(tool) else {
        return problem;
    };
    let mut sources = world.label_files("tools.lock");
    match sources.find(|source| source.name == locked.origin.file) {
        Some(source) => problem.on_line(source, locked.origin.line, "locked here"),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fixture::{call, check_in, found, locking, source};
    use super::super::material::Material;
    use crate::policy::{Labels, ToolLabels};

    /// A policy, the tools of the lock, those of `tools.toml`, and those whose permission a label names.
    fn material(policy: &str, locked: &[&str], said: &[&str], labelled: &[&str]) -> Material {
        let mut labels = Labels::default();
        for name in said {
            let groups = vec!["files".to_owned()];
            let label = ToolLabels {
                groups,
                ..ToolLabels::default()
            };
            labels.tools.insert((*name).to_owned(), label);
        }
        let lines: Vec<String> = said.iter().map(|it| format!("[tools.{it}]")).collect();
        let toml = lines.join("\n");
        Material {
            policies: vec![source("p/x.cedar", policy)],
            labels: vec![source("p/tools.toml", &toml)],
            said: labels,
            lock: Arc::new(locking(locked)),
            labelled: Some(labelled.iter().map(ToString::to_string).collect()),
            ..Material::default()
        }
    }

    #[test]
    fn a_permitted_tool_that_required_labels_close_is_found_once() {
        let named = call("permit", "resource == Mcp::Tool::\"a\"", "");
        let set = "when { [Mcp::Tool::\"a\", Mcp::Tool::\"b\"].contains(resource) }";
        let in_set = call("permit", "", set);
        let all = call("permit", "resource is Mcp::Tool", "");
        let to = |scope: &str| call("permit", &format!("resource in Mcp::{scope}"), "");
        let check = |policy: &str, locked: &[&str], said: &[&str], labelled: &[&str], findings| {
            let material = material(policy, locked, said, labelled);
            check_in("closed_tool", &material, findings);
            let material = Material {
                labelled: None,
                ..material
            };
            check_in("closed_tool", &material, 0);
        };
        check(&named, &[], &[], &[], 1);
        check(&named, &["a"], &["a"], &[], 1);
        check(&named, &["a"], &["a"], &["a"], 0);
        check(&named.replace("permit", "forbid"), &[], &[], &[], 0);
        check(&named, &["b"], &["c"], &["a"], 0);
        check(&in_set, &[], &[], &["b"], 1);
        check(&in_set, &["c"], &[], &["b"], 1);
        check(&all, &["a"], &["b", "c"], &["c"], 2);
        check(&all, &[], &[], &[], 0);
        // Without a label, a tool counts as one that writes and connects.
        check(&to("Permission::\"write\""), &["a"], &[], &[], 1);
        check(&to("Permission::\"read\""), &["a"], &[], &[], 0);
        check(&to("ToolGroup::\"files\""), &["a"], &["b"], &[], 1);
        check(&to("Capability::\"fs\""), &["a"], &["b"], &[], 0);
    }

    #[test]
    fn what_is_found_has_its_place_and_what_to_write() {
        let all = call("permit", "resource is Mcp::Tool", "");
        let said = found("closed_tool", &material(&all, &[], &["a"], &[]));
        assert_eq!(said[0].labels[0].inner().offset(), 7, "{said:?}");
        let help = said[0].help.as_deref().unwrap();
        assert!(help.contains("below `[tools.a]`"), "{help}");
        let odd = call("permit", "resource == Mcp::Tool::\"a b\"", "");
        let said = found("closed_tool", &material(&odd, &[], &[], &[]));
        let help = said[0].help.as_deref().unwrap();
        assert!(help.contains("below `[tools.\"a b\"]`"), "{help}");
    }

    #[test]
    fn the_loader_tells_of_tools_in_the_allowlist() {
        let all = call("permit", "resource is Mcp::Tool", "");
        let material = Material {
            allow: Some(vec!["a".to_owned()]),
            ..material(&all, &["a"], &[], &[])
        };
        check_in("closed_tool", &material, 0);
    }
}
