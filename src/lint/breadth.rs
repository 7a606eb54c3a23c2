//! Policies that permit too much, or nothing.

use std::collections::HashMap;

use cedar_policy::Effect;
use cedar_policy_core::ast::{EntityReference, EntityUID, PrincipalOrResourceConstraint};

use super::expressions::{ChainPart, Sign, parts, truth};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use super::names::is;
use super::non_cedar;
use super::ranges::{Range, compared, domain};
use crate::policy::engines::cedar::PolicyTree;
use crate::policy::{ActionName, PolicySource, ToolLabels};

pub(super) const UNCONDITIONAL_PERMIT: Lint = Lint {
    code: "lint::unconditional_permit",
    about: "an unconditional permit of tools that write or connect, for every agent",
    look: unconditional,
};

pub(super) const PERMITS_NOTHING: Lint = Lint {
    code: "lint::permits_nothing",
    about: "policies that only forbid, without an allowlist",
    look: nothing,
};

pub(super) const SHADOWED_PERMIT: Lint = Lint {
    code: "lint::shadowed_permit",
    about: "a permit that a `forbid` always overrides",
    look: shadowed,
};

/// What is dangerous by its name, as a part of a capability such as `net.http` or `fs.write`.
const DANGEROUS: [&str; 12] = [
    "connect", "delete", "exec", "execute", "mail", "net", "network", "process", "send", "shell",
    "spawn", "write",
];

/// What holds such parts.
const HOLD_DANGER: [&str; 2] = ["fs", "db"];

fn unconditional(world: &LintContext<'_>, found: &mut LintFindings) {
    non_cedar::unconditional(&UNCONDITIONAL_PERMIT, world, found);
    for policy in world.policies {
        let principal = policy.template.principal_constraint().as_inner();
        let resource = policy.template.resource_constraint().as_inner();
        let is_open = policy.effect == Effect::Permit
            && policy.condition().is_none_or(|it| truth(it) == Some(true))
            && policy.is_on(ActionName::CallTool)
            && is_anybody(principal)
            && reaches_danger(world, resource)
            && !is_guarded(world, resource);
        if !is_open {
            continue;
        }
        let say = LintMessage {
            message: "every agent may call tools that write or connect, with any arguments"
                .to_owned(),
            help: "name a role, tools or a capability in the scope, or add a condition; \
                   `resource in Mcp::Permission::\"read\"` with `unless` for the other two leaves \
                   tools that only read"
                .to_owned(),
            label: "nothing narrows this",
        };
        found.at(&UNCONDITIONAL_PERMIT, policy, None, say);
    }
}

fn nothing(world: &LintContext<'_>, found: &mut LintFindings) {
    let allows = world
        .given
        .allow
        .as_ref()
        .is_some_and(|names| !names.is_empty());
    let permits = world.policies.iter().any(|it| it.effect == Effect::Permit);
    let (false, false, Some(first)) = (allows, permits, world.policies.first()) else {
        return;
    };
    if world.given.policies.iter().any(|it| may_permit(world, it)) {
        return;
    }
    let say = LintMessage {
        message: "no policy permits anything: all of these only forbid".to_owned(),
        help: "what nothing permits is denied; add a `permit`, or an allowlist in the \
               configuration"
            .to_owned(),
        label: "the first of them",
    };
    found.at(&PERMITS_NOTHING, first, None, say);
}

/// A file that says more than is known here: in another language, or with a mistake in it, which is
/// told when it is compiled.
fn may_permit(world: &LintContext<'_>, source: &PolicySource) -> bool {
    if !source.name.ends_with(".cedar") {
        return true;
    }
    let mut trees = world.policies.iter();
    let mut lines = source.text.lines().map(str::trim_start);
    let is_written = lines.any(|line| !line.starts_with("//") && line.contains("permit"));
    is_written && trees.all(|tree| !std::ptr::eq(tree.source, source))
}

fn shadowed(world: &LintContext<'_>, found: &mut LintFindings) {
    let of = |effect| world.policies.iter().filter(move |it| it.effect == effect);
    // Most forbids name one resource, and can cover no permit of another.
    let mut wide: Vec<&PolicyTree<'_>> = Vec::new();
    let mut narrow: HashMap<&EntityUID, Vec<&PolicyTree<'_>>> = HashMap::new();
    for forbid in of(Effect::Forbid) {
        match only(forbid) {
            Some(uid) => narrow.entry(uid).or_default().push(forbid),
            None => wide.push(forbid),
        }
    }
    for policy in of(Effect::Permit) {
        let same = only(policy).and_then(|uid| narrow.get(uid));
        let mut forbids = wide.iter().chain(same.into_iter().flatten());
        let server = |of: &PolicyTree<'_>| of.source.server.clone();
        let applies =
            |forbid: &PolicyTree<'_>| server(forbid).is_none() || server(forbid) == server(policy);
        let covering = |forbid: &&&PolicyTree<'_>| applies(forbid) && covers(world, forbid, policy);
        let Some(forbid) = forbids.find(covering) else {
            continue;
        };
        let say = LintMessage {
            message: format!("this permits nothing: `{}` forbids all of it", forbid.id),
            help: format!(
                "a `forbid` wins over every `permit`; narrow the one at {}, or take this out",
                forbid.origin
            ),
            label: "never permits",
        };
        found.at(&SHADOWED_PERMIT, policy, None, say);
    }
}

/// The one resource that a scope names by `==`.
fn only<'p>(policy: &PolicyTree<'p>) -> Option<&'p EntityUID> {
    match policy.template.resource_constraint().as_inner() {
        PrincipalOrResourceConstraint::Eq(reference) => uid(reference),
        PrincipalOrResourceConstraint::Any
        | PrincipalOrResourceConstraint::In(_)
        | PrincipalOrResourceConstraint::Is(_)
        | PrincipalOrResourceConstraint::IsIn(..) => None,
    }
}

/// Whether a forbid matches whatever a permit matches, as far as their texts show it: its scope is
/// at least as wide, and each of its conditions is also one of the permit's.
fn covers(world: &LintContext<'_>, forbid: &PolicyTree<'_>, permit: &PolicyTree<'_>) -> bool {
    let actions = !permit.actions.is_empty() && forbid.is_on_all_of(permit);
    let (wide, narrow) = (forbid.template, permit.template);
    let (principal, resource) = types(&permit.actions);
    actions
        && is_within(
            world,
            wide.principal_constraint().as_inner(),
            narrow.principal_constraint().as_inner(),
            principal,
        )
        && is_within(
            world,
            wide.resource_constraint().as_inner(),
            narrow.resource_constraint().as_inner(),
            resource,
        )
        && conditions_cover(forbid, permit)
}

fn conditions_cover(forbid: &PolicyTree<'_>, permit: &PolicyTree<'_>) -> bool {
    let Some(condition) = forbid.condition() else {
        return true;
    };
    // A condition of one may be the scope of the other.
    let permitting = permit.template.condition();
    let permitting = parts(&permitting, Sign::Holds);
    let is_there = |part: &ChainPart<'_>| permitting.iter().any(|other| other.is_same(part));
    let is_implied = |part: &ChainPart<'_>| is_there(part) || is_within_range(part, &permitting);
    parts(condition, Sign::Holds).iter().all(is_implied)
}

/// Whether a forbid's comparison with a number holds wherever those of a permit with it do.
fn is_within_range(forbidding: &ChainPart<'_>, permitting: &[ChainPart<'_>]) -> bool {
    let Some((subject, forbidden)) = compared(forbidding) else {
        return false;
    };
    let ranges = permitting.iter().filter_map(compared);
    let of_subject = ranges.filter(|(other, _)| other.eq_shape(subject));
    let known = domain(subject).unwrap_or(Range::ALL);
    let left = of_subject.fold(known, |left, (_, range)| left.within(range));
    !left.is_beyond(forbidden)
}

fn is_within(
    world: &LintContext<'_>,
    wide: &PrincipalOrResourceConstraint,
    narrow: &PrincipalOrResourceConstraint,
    only: Option<&str>,
) -> bool {
    use PrincipalOrResourceConstraint as C;
    match wide {
        C::Any => true,
        C::Is(kind) => match narrow {
            C::Any | C::In(_) => only.is_some_and(|only| kind.to_string() == only),
            C::Is(other) | C::IsIn(other, _) => kind == other,
            C::Eq(one) => uid(one).is_some_and(|uid| uid.entity_type() == &**kind),
        },
        C::In(EntityReference::EUID(group)) => match narrow {
            C::In(other) | C::IsIn(_, other) => uid(other) == Some(group),
            C::Eq(one) => {
                uid(one).is_some_and(|uid| uid == &**group || is_labelled(world, uid, group))
            }
            C::Any | C::Is(_) => false,
        },
        C::Eq(_) | C::IsIn(..) | C::In(EntityReference::Slot(_)) => wide == narrow,
    }
}

/// Whether `tools.toml` puts a tool into a permission or a capability.
fn is_labelled(world: &LintContext<'_>, tool: &EntityUID, group: &EntityUID) -> bool {
    let (name, group_name): (&str, &str) = (tool.eid().as_ref(), group.eid().as_ref());
    let Some(labels) = world.given.said.tools.get(name) else {
        return false;
    };
    if tool.entity_type().to_string() != "Mcp::Tool" {
        return false;
    }
    match group.entity_type().to_string().as_str() {
        "Mcp::Permission" => match group_name {
            "read" => labels.permissions.read,
            "write" => labels.permissions.write,
            "connect" => labels.permissions.connect,
            _ => false,
        },
        "Mcp::Capability" => has_capability(labels, group_name),
        _ => false,
    }
}

/// The only types of principal and resource that some actions have, where there is one.
fn types(actions: &[ActionName]) -> (Option<&'static str>, Option<&'static str>) {
    let all = |these: &[ActionName]| actions.iter().all(|it| these.contains(it));
    let of_server = [
        ActionName::Sample,
        ActionName::Elicit,
        ActionName::ListRoots,
        ActionName::ConnectHost,
    ];
    let either = [
        ActionName::Ping,
        ActionName::Cancel,
        ActionName::Notify,
        ActionName::Extension,
    ];
    let principal = if all(&of_server) {
        Some("Mcp::Server")
    } else {
        let by_agents = |it: &ActionName| !of_server.contains(it) && !either.contains(it);
        actions.iter().all(by_agents).then_some("Mcp::Agent")
    };
    let tools = [ActionName::CallTool, ActionName::ListTool];
    let resource = if all(&tools) {
        Some("Mcp::Tool")
    } else {
        all(&[ActionName::ConnectHost]).then_some("Mcp::Host")
    };
    (principal, resource)
}

fn is_anybody(principal: &PrincipalOrResourceConstraint) -> bool {
    use PrincipalOrResourceConstraint as C;
    matches!(principal, C::Any | C::Is(_))
}

/// All tools, or all that write or connect, or all of a capability that is there to do so.
fn reaches_danger(world: &LintContext<'_>, resource: &PrincipalOrResourceConstraint) -> bool {
    use PrincipalOrResourceConstraint as C;
    let dangerous = |group: &EntityReference| {
        uid(group).is_some_and(|uid| {
            let (kind, name): (String, &str) = (uid.entity_type().to_string(), uid.eid().as_ref());
            match kind.as_str() {
                "Mcp::Server" => true,
                "Mcp::Permission" => name != "read",
                "Mcp::Capability" => is_dangerous(world, name),
                _ => false,
            }
        })
    };
    match resource {
        C::Any => true,
        C::Is(kind) => kind.to_string() == "Mcp::Tool",
        C::In(group) | C::IsIn(_, group) => dangerous(group),
        C::Eq(_) => false,
    }
}

/// Whether what a capability permits is narrowed by forbids on the same, or on what writes or connects.
fn is_guarded(world: &LintContext<'_>, permitted: &PrincipalOrResourceConstraint) -> bool {
    let Some(capability) = group(permitted).filter(|uid| is(uid, "Capability")) else {
        return false;
    };
    world.policies.iter().any(|policy| {
        let is_about = group(policy.template.resource_constraint().as_inner()).is_some_and(|uid| {
            let (wide, narrow): (&str, &str) = (uid.eid().as_ref(), capability.eid().as_ref());
            let acts = is(uid, "Permission") && wide != "read";
            acts || is(uid, "Capability") && is_part_of(narrow, wide)
        });
        policy.effect == Effect::Forbid
            && policy.condition().is_some_and(|it| truth(it).is_none())
            && policy.is_on(ActionName::CallTool)
            && is_anybody(policy.template.principal_constraint().as_inner())
            && is_about
    })
}

/// What a scope names by `in`.
fn group(scope: &PrincipalOrResourceConstraint) -> Option<&EntityUID> {
    use PrincipalOrResourceConstraint as C;
    match scope {
        C::In(group) | C::IsIn(_, group) => uid(group),
        C::Any | C::Is(_) | C::Eq(_) => None,
    }
}

/// By its name, or by what `tools.toml` says of the tools in it.
fn is_dangerous(world: &LintContext<'_>, capability: &str) -> bool {
    let said = &world.given.said;
    let mut labels = said.all_tools();
    let by_name = HOLD_DANGER.contains(&capability)
        || capability.split('.').any(|part| DANGEROUS.contains(&part));
    by_name
        || labels.any(|tool| {
            let acts = tool.permissions.write || tool.permissions.connect;
            acts && has_capability(tool, capability)
        })
}

/// Whether a tool is in a capability; `fs.write` is also `fs`.
fn has_capability(tool: &ToolLabels, group: &str) -> bool {
    let mut all = tool.capabilities.iter();
    all.any(|capability| is_part_of(capability, group))
}

fn is_part_of(capability: &str, of: &str) -> bool {
    let rest = capability.strip_prefix(of);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn uid(reference: &EntityReference) -> Option<&EntityUID> {
    match reference {
        EntityReference::EUID(uid) => Some(uid),
        EntityReference::Slot(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check, check_in, found, source};
    use super::super::material::Material;
    use crate::policy::{Labels, Permissions, ToolLabels};

    #[test]
    fn a_permit_that_nothing_narrows_is_found() {
        let lint = "unconditional_permit";
        for resource in [
            "resource",
            "resource is Mcp::Tool",
            "resource in Mcp::Permission::\"write\"",
            "resource is Mcp::Tool in Mcp::Permission::\"connect\"",
            "resource in Mcp::Capability::\"net\"",
            "resource in Mcp::Capability::\"net.http\"",
            "resource in Mcp::Capability::\"exec\"",
            "resource is Mcp::Tool in Mcp::Capability::\"fs.write\"",
            "resource in Mcp::Capability::\"fs\"",
        ] {
            check(lint, &call("permit", resource, ""), 1);
            check(lint, &call("permit", resource, "when { true }"), 1);
            check(lint, &call("forbid", resource, ""), 0);
            check(
                lint,
                &call("permit", resource, "when { principal.trust > 1 }"),
                0,
            );
            check(
                lint,
                &call("permit", resource, "unless { resource.hints.destructive }"),
                0,
            );
            let role = call("permit", resource, "");
            check(
                lint,
                &role.replace("is Mcp::Agent", "in Mcp::Role::\"a\""),
                0,
            );
            let listing = call("permit", resource, "");
            check(lint, &listing.replace("call_tool", "list_tool"), 0);
        }
        check(lint, "@id(\"x\") permit (principal, action, resource);", 1);
        for resource in [
            "resource == Mcp::Tool::\"write_file\"",
            "resource in Mcp::Permission::\"read\"",
            "resource in Mcp::Capability::\"fs.read\"",
            "resource in Mcp::Capability::\"network-of-friends\"",
            "resource in Mcp::ToolGroup::\"allow\"",
        ] {
            check(lint, &call("permit", resource, ""), 0);
        }
    }

    #[test]
    fn a_capability_is_as_dangerous_as_what_the_host_says_of_its_tools() {
        let writes = Permissions {
            read: true,
            write: true,
            connect: false,
        };
        let reads = Permissions {
            write: false,
            ..writes
        };
        let with = |permissions, capability: &str, findings| {
            let tool = ToolLabels {
                permissions,
                capabilities: vec!["notes.all".to_owned()],
                ..ToolLabels::default()
            };
            let mut said = Labels::default();
            said.tools.insert("t".to_owned(), tool);
            let scope = format!("resource in Mcp::Capability::\"{capability}\"");
            let material = Material {
                policies: vec![source("p/x.cedar", &call("permit", &scope, ""))],
                said,
                ..Material::default()
            };
            check_in("unconditional_permit", &material, findings);
        };
        with(writes, "notes.all", 1);
        with(writes, "notes", 1);
        with(writes, "note", 0);
        with(reads, "notes", 0);
    }

    #[test]
    fn a_capability_that_a_forbid_narrows_is_not_found() {
        let permit = call("permit", "resource in Mcp::Capability::\"net.http\"", "");
        let beside = |resource: &str, condition: &str, findings| {
            let forbid = call("forbid", resource, condition).replace("@id(\"x\")", "@id(\"no\")");
            check(
                "unconditional_permit",
                &format!("{permit}{forbid}"),
                findings,
            );
        };
        let unless = "unless { [\"a.example\"].containsAll(context.targets.hosts) }";
        beside("resource in Mcp::Permission::\"connect\"", unless, 0);
        beside("resource in Mcp::Capability::\"net\"", unless, 0);
        beside("resource in Mcp::Capability::\"net.http\"", unless, 0);
        beside("resource in Mcp::Capability::\"net.http.get\"", unless, 1);
        beside("resource in Mcp::Capability::\"fs\"", unless, 1);
        beside("resource in Mcp::Permission::\"read\"", unless, 1);
        beside("resource in Mcp::Capability::\"net\"", "", 1);
        beside("resource == Mcp::Tool::\"a\"", unless, 1);
        // What narrows all tools was not meant for these.
        beside("resource", unless, 1);
        let other = call("permit", "resource in Mcp::Permission::\"connect\"", "");
        let forbid = call("forbid", "resource in Mcp::Permission::\"connect\"", unless);
        let forbid = forbid.replace("@id(\"x\")", "@id(\"no\")");
        check("unconditional_permit", &format!("{other}{forbid}"), 1);
    }

    #[test]
    fn policies_that_only_forbid_are_found() {
        let lint = "permits_nothing";
        let forbid = call("forbid", "", "");
        let second = forbid.replace("@id(\"x\")", "@id(\"y\")");
        check(lint, &format!("{forbid}{second}"), 1);
        check(
            lint,
            &format!("{forbid}{}", second.replace("forbid", "permit")),
            0,
        );
        check(lint, "// nothing\n", 0);
        // Whatever permits may stand in a file that cannot be read here.
        let with = |name: &str, text: &str, findings| {
            let material = Material {
                policies: vec![source("p/x.cedar", &forbid), source(name, text)],
                ..Material::default()
            };
            assert_eq!(found(lint, &material).len(), findings, "{text}");
        };
        with(
            "p/y.cedar",
            "@id(\"y\") permit (principal, action, resource",
            0,
        );
        with(
            "p/y.cedar",
            "@id(\"y\") forbid (principal, action, resource",
            1,
        );
        with("p/y.cedar", "// all that is permitted\n", 1);
        with("p/y.rego", "package mcp", 0);
        with("p/y.cel.toml", "[[rule]]", 0);
        let beside = |names: &[&str]| Material {
            policies: vec![source("x.cedar", &forbid)],
            allow: Some(names.iter().map(ToString::to_string).collect()),
            ..Material::default()
        };
        check_in(lint, &beside(&["a"]), 0);
        check_in(lint, &beside(&[]), 1);
    }

    /// Whether a permit is found beside a forbid, both on calls of tools.
    #[track_caller]
    fn shadow(forbid: (&str, &str), permit: (&str, &str), findings: usize) {
        let forbid = call("forbid", forbid.0, forbid.1).replace("@id(\"x\")", "@id(\"no\")");
        let permit = call("permit", permit.0, permit.1);
        let tool = ToolLabels {
            permissions: Permissions {
                read: true,
                write: true,
                connect: false,
            },
            capabilities: vec!["fs.write".to_owned()],
            ..ToolLabels::default()
        };
        let mut said = Labels::default();
        said.tools.insert("w".to_owned(), tool);
        let material = Material {
            policies: vec![source("p/x.cedar", &format!("{permit}{forbid}"))],
            said,
            ..Material::default()
        };
        check_in("shadowed_permit", &material, findings);
    }

    #[test]
    fn a_permit_that_a_forbid_covers_is_found() {
        let tool = "resource == Mcp::Tool::\"a\"";
        let labelled = "resource == Mcp::Tool::\"w\"";
        let read_only = "when { resource.hints.readOnly }";
        let both = "when { resource.hints.readOnly && principal.trust > 1 }";
        shadow(("", ""), (tool, ""), 1);
        shadow(("resource is Mcp::Tool", ""), ("", read_only), 1);
        shadow((tool, ""), (tool, both), 1);
        shadow(("", read_only), (tool, both), 1);
        shadow(
            ("", "unless { resource.hints.readOnly }"),
            (tool, "when { !resource.hints.readOnly }"),
            1,
        );
        shadow(
            ("resource in Mcp::Capability::\"a\"", ""),
            ("resource in Mcp::Capability::\"a\"", read_only),
            1,
        );
        shadow(
            ("resource in Mcp::Permission::\"write\"", ""),
            (labelled, ""),
            1,
        );
        shadow(
            ("resource in Mcp::Capability::\"fs\"", ""),
            (labelled, ""),
            1,
        );
        // A bound within another one.
        let at_least = |level: i64| format!("when {{ resource.level >= {level} }}");
        let (one, two) = (at_least(1), at_least(2));
        shadow(("", &one), (tool, &two), 1);
        shadow(("", &one), (tool, "when { resource.level == 2 }"), 1);
        shadow(
            ("", "when { resource.level > 0 && resource.level < 3 }"),
            (
                tool,
                "when { resource.level >= 1 && !(resource.level >= 3) }",
            ),
            1,
        );
        // There is no level below.
        shadow(("", "when { resource.level >= 0 }"), (tool, ""), 1);
        // Something is left.
        shadow(("", &two), (tool, &one), 0);
        shadow(("", "when { resource.level >= 1 }"), (tool, ""), 0);
        shadow(("", "when { principal.trust >= 0 }"), (tool, ""), 0);
        shadow(("", &one), (tool, "when { principal.trust >= 2 }"), 0);
        shadow(("", &one), (tool, "unless { resource.level >= 2 }"), 0);
        shadow(("", both), (tool, read_only), 0);
        shadow((tool, ""), ("", ""), 0);
        shadow((tool, ""), ("resource == Mcp::Tool::\"b\"", ""), 0);
        shadow(
            ("", "unless { resource.hints.readOnly }"),
            (tool, read_only),
            0,
        );
        shadow(
            ("resource in Mcp::Permission::\"connect\"", ""),
            (labelled, ""),
            0,
        );
        shadow(
            ("resource in Mcp::Permission::\"write\"", ""),
            (tool, ""),
            0,
        );
        shadow(
            ("resource in Mcp::Capability::\"f\"", ""),
            (labelled, ""),
            0,
        );
    }

    #[test]
    fn a_forbid_of_other_actions_or_principals_covers_nothing() {
        let text = |principal: &str, action: &str| {
            format!(
                "{}@id(\"no\") forbid (principal {principal}, action {action}, resource);",
                call("permit", "", "when { principal.trust > 1 }")
            )
        };
        let lint = "shadowed_permit";
        check(lint, &text("", ""), 1);
        check(lint, &text("is Mcp::Agent", "in Mcp::Action::\"use\""), 1);
        check(lint, &text("", "== Mcp::Action::\"list_tool\""), 0);
        check(lint, &text("in Mcp::Role::\"a\"", ""), 0);
    }
}
