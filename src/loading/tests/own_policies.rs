//! Policies that are one server's own, in front of several.

use super::*;
use crate::policy::ServerKey;

const READS: &str = r#"
@id("reads")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
"#;

/// Two servers: what lies in `all` is of both, the rest of one.
fn key(key: &str) -> ServerKey {
    ServerKey::of(key).unwrap()
}

fn several(all: &[(&str, &str)], crm: &[(&str, &str)], mail: &[(&str, &str)]) -> Several {
    let dirs = [all, crm, mail].map(files);
    let settings = Settings {
        dir: Some(dirs[0].path().to_owned()),
        own: [
            (key("crm"), dirs[1].path().to_owned()),
            (key("mail"), dirs[2].path().to_owned()),
        ]
        .into(),
        servers: vec![key("crm"), key("mail")],
        warnings: WarningMode::Allow,
        ..Settings::default()
    };
    Several {
        settings,
        _dirs: dirs,
    }
}

struct Several {
    settings: Settings,
    _dirs: [TempDir; 3],
}

impl Several {
    fn load(&self) -> LoadedPolicies {
        load(&self.settings).unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    /// What is wrong, with what helps.
    fn problems(&self) -> Vec<String> {
        let errors = load(&self.settings).map(drop).unwrap_err();
        let told = errors.problems.iter();
        told.map(|it| {
            let help = it.help.as_deref().unwrap_or_default();
            format!("{}: {} [{help}]", it.code, it.message)
        })
        .collect()
    }
}

fn world(key: &str) -> World {
    let mut world = World::new();
    world.server.name = key.to_owned();
    world.server.key = ServerKey::of(key);
    world
}

/// The decision about a call of a tool at a server.
fn call(loaded: &LoadedPolicies, key: &str, name: &str) -> String {
    let world = world(key);
    let own = loaded.snapshot.of_server(ServerKey::of(key).as_ref());
    told(&own.judge(&world.call(&tool(name))))
}

#[test]
fn a_servers_own_policies_have_its_own_names_and_hold_at_no_other() {
    let open = r#"@id("open") permit (principal, action, resource);"#;
    let group = r#"@id("group") permit (principal, action, resource in Mcp::ServerGroup::"g");"#;
    let role = r#"@id("role") permit (principal == Mcp::Agent::"a1", action, resource);"#;
    let typed = r#"@id("typed") permit (principal, action, resource is Mcp::Tool);"#;
    let asked = r#"
        @id("asked") permit (principal, action, resource)
        when { resource is Mcp::Tool && resource == Mcp::Tool::"read" };"#;
    for (text, reads, writes) in [
        (READS, "allow crm/reads", "nothing"),
        (open, "allow crm/open", "allow crm/open"),
        (group, "allow crm/group", "allow crm/group"),
        (role, "allow crm/role", "allow crm/role"),
        (typed, "allow crm/typed", "allow crm/typed"),
        (asked, "allow crm/asked", "nothing"),
    ] {
        let several = several(&[], &[("a.cedar", text)], &[]);
        let loaded = several.load();
        let at = |key: &str, name: &str| {
            let mut world = world(key);
            world.server.groups = vec!["g".to_owned()];
            told(&loaded.snapshot.judge(&world.call(&tool(name))))
        };
        assert_eq!(at("crm", "read"), reads, "{text}");
        assert_eq!(at("crm", "write"), writes, "{text}");
        for name in ["read", "write", "crm/read"] {
            assert_eq!(at("mail", name), "nothing", "{text}");
        }
    }
}

#[test]
fn a_servers_own_policy_permits_nothing_else_whatever_the_message_is() {
    let open = r#"@id("open") permit (principal, action, resource);"#;
    let several = several(&[], &[("a.cedar", open)], &[]);
    let loaded = several.load();
    let (prompt, resource) = (Prompt::default(), ResourceFacts::default());
    let method = ExtensionMethod::default();
    let tool = tool("t");
    let check = |key: &str, expected: bool| {
        let world = world(key);
        let is = |facts: &Facts<'_>| {
            let decision = loaded.snapshot.judge(facts);
            decision
                .reasons()
                .iter()
                .any(|it| it.policy.as_str() == "crm/open")
        };
        let nothing = crate::policy::Nothing::default();
        for (action, resource) in [
            (ActionName::Initialize, Resource::Server(&world.server)),
            (ActionName::ListTool, Resource::Tool(&tool)),
            (ActionName::CallTool, Resource::Tool(&tool)),
            (ActionName::ReadResource, Resource::Resource(&resource)),
            (ActionName::GetPrompt, Resource::Prompt(&prompt)),
            (ActionName::Extension, Resource::Method(&method)),
            (ActionName::ReceiveResult, Resource::Tool(&tool)),
        ] {
            let facts = world.facts(Action::bare(action, &nothing), resource);
            assert_eq!(is(&facts), expected, "{key} {action:?}");
        }
        for action in [ActionName::Elicit, ActionName::ListRoots, ActionName::Ping] {
            let facts = world.server_facts(Action::bare(action, &nothing));
            assert_eq!(is(&facts), expected, "{key} {action:?}");
        }
    };
    check("crm", true);
    check("mail", false);
}

#[test]
fn servers_may_have_the_same_policies_of_their_own() {
    let same = [
        ("a.cedar", READS),
        ("tools.toml", "[tools.read]\npermission = \"read\"\n"),
    ];
    let loaded = several(&[], &same, &same).load();
    assert_eq!(call(&loaded, "crm", "read"), "allow crm/reads");
    assert_eq!(call(&loaded, "mail", "read"), "allow mail/reads");
}

#[test]
fn what_is_forbidden_for_all_servers_stays_forbidden() {
    let never = r#"@id("never") forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"crm/read");"#;
    let own = r#"@id("no") forbid (principal, action == Mcp::Action::"call_tool", resource);"#;
    let open = r#"@id("open") permit (principal, action == Mcp::Action::"call_tool", resource);"#;
    let loaded = several(&[("n.cedar", never)], &[("a.cedar", READS)], &[]).load();
    assert_eq!(call(&loaded, "crm", "read"), "deny never");
    let loaded = several(&[("o.cedar", open)], &[("a.cedar", own)], &[]).load();
    assert_eq!(call(&loaded, "crm", "read"), "deny crm/no");
    assert_eq!(call(&loaded, "mail", "read"), "allow open");
}

#[test]
fn labels_of_a_server_are_of_what_it_has() {
    let reads = r#"
        @id("reads") permit (
          principal, action == Mcp::Action::"call_tool", resource in Mcp::Permission::"read"
        );"#;
    let labels = "[tools.look]\npermission = \"read\"\n[default]\npermission = \"read\"\n";
    let loaded = several(
        &[
            ("r.cedar", reads),
            (
                "tools.toml",
                "[tools.\"mail/look\"]\npermission = \"write\"\n",
            ),
        ],
        &[("tools.toml", labels)],
        &[],
    )
    .load();
    assert_eq!(call(&loaded, "crm", "look"), "allow reads");
    assert_eq!(call(&loaded, "crm", "other"), "allow reads");
    assert_eq!(call(&loaded, "mail", "look"), "nothing");
    assert_eq!(call(&loaded, "mail", "other"), "nothing");
}

#[test]
fn what_a_servers_own_files_say_of_others_is_an_error() {
    let check = |name: &str, text: &str, expected: &str| {
        let problems = several(&[], &[(name, text)], &[]).problems();
        let told = problems.first().cloned().unwrap_or_default();
        let dir = problems.first().and_then(|it| {
            let (_, rest) = it.split_once('`')?;
            rest.split_once(&format!("/{name}"))
                .map(|(dir, _)| dir.to_owned())
        });
        let told = dir.map_or(told.clone(), |dir| told.replace(&dir, "DIR"));
        assert_eq!(told, expected, "{name}: {text}");
    };
    let permit = |resource: &str| {
        format!(
            "@id(\"x\") permit (principal, action == Mcp::Action::\"call_tool\", resource {resource});"
        )
    };
    check(
        "a.cedar",
        &permit("== Mcp::Tool::\"mail/send\""),
        "policy::foreign: `mail/send` begins with the key of a server: the policies of `crm` have the names \
         that it has itself [write it into a policy of `policy.dir`, which is of all servers]",
    );
    check(
        "a.cedar",
        &permit("== Mcp::Tool::\"crm/read\""),
        "policy::foreign: `crm/read` begins with the key of a server: the policies of `crm` have the names \
         that it has itself [write `read`]",
    );
    check(
        "a.cedar",
        &permit("in Mcp::Server::\"mail\""),
        "policy::foreign: a policy of `crm` says nothing of the server `mail` [write it into a policy of \
         `policy.dir`, which is of all servers]",
    );
    check(
        "tools.toml",
        "[tools.\"crm/read\"]\npermission = \"write\"\n",
        "policy::labels: `crm/read` begins with `crm/`: labels of one server have its own names [write `read`]",
    );
    check(
        "agents.toml",
        "[agents.bot]\nroles = [\"r\"]\n",
        "policy::foreign: `DIR/agents.toml` is of all servers, and lies among the policies of one [move it \
         into `policy.dir`]",
    );
    check(
        "a.rego",
        "package mcp\n",
        "policy::foreign: `DIR/a.rego` is not Cedar: only Cedar's policies can be held to one server [write \
         it in Cedar, or move it into `policy.dir`]",
    );
}

#[test]
fn a_condition_may_ask_what_was_read_at_other_servers() {
    let text = r#"
        @id("own") permit (principal, action == Mcp::Action::"call_tool", resource)
        unless { context.env.session.sources.contains(Mcp::Server::"mail") };"#;
    let loaded = several(&[], &[("a.cedar", text)], &[]).load();
    assert_eq!(call(&loaded, "crm", "read"), "allow crm/own");
}

#[test]
fn directories_that_lie_in_one_another_are_an_error() {
    let mut several = several(&[("x/a.cedar", READS)], &[], &[("x/a.cedar", READS)]);
    let all = several.settings.dir.clone().unwrap();
    let mail = several.settings.own.values().next_back().unwrap().clone();
    for own in [all.join("x"), all.clone(), mail.join("x")] {
        several
            .settings
            .own
            .insert(ServerKey::of("crm").unwrap(), own);
        let problems = several.problems();
        assert!(
            problems.iter().any(|it| it.starts_with("policy::overlap")),
            "{problems:?}"
        );
    }
}

#[test]
fn a_trace_has_the_policies_of_the_server_alone() {
    let same = [("a.cedar", READS)];
    let loaded = several(&[], &same, &same).load();
    let world = world("crm");
    let tool = tool("read");
    let traces = loaded.snapshot.trace(&world.call(&tool));
    let ids: Vec<_> = traces
        .iter()
        .flat_map(|trace| &trace.policies)
        .map(|it| (it.outline.id.as_str(), it.value.clone()))
        .filter(|(id, _)| id.ends_with("/reads"))
        .collect();
    assert_eq!(ids, [("crm/reads", crate::policy::PartValue::True)]);
}

/// The lock of a server whose tool `find` has an argument of this type.
fn locked(of: &str, kind: &str) -> LockFile {
    let tool = format!(
        r#"{{"name":"find","inputSchema":{{"type":"object","properties":{{"id":{{"type":"{kind}"}}}},"required":["id"],"additionalProperties":false}}}}"#
    );
    let document = crate::wire::Document::decode(tool.as_bytes(), &crate::wire::Limits::default());
    let mut file = LockFile::default();
    file.add(document.unwrap().root()).unwrap();
    file.of_server(&key(of))
}

#[test]
fn a_servers_own_policies_are_checked_with_the_arguments_of_its_own_tools() {
    let mut lock = locked("crm", "string");
    lock.join(locked("mail", "integer"));
    let lock = lock.text();
    let text = |condition: &str| {
        format!(
            r#"@id("own") permit (principal, action in [Mcp::Action::"call_tool"], resource)
            when {{ context has arguments && {condition} }};"#
        )
    };
    let own = text(r#"context.arguments.id == "a""#);
    let several_with = |crm: &[(&str, &str)], all: &[(&str, &str)]| several(all, crm, &[]);
    several_with(&[("a.cedar", &own)], &[("tools.lock", &lock)]).load();
    // The type is that of its own tool, and in a policy of all servers there are two.
    let wrong = text("context.arguments.id == 1");
    let problems = several_with(&[("a.cedar", &wrong)], &[("tools.lock", &lock)]).problems();
    assert!(problems[0].starts_with("policy::type"), "{problems:?}");
    let problems = several_with(&[], &[("tools.lock", &lock), ("a.cedar", &own)]).problems();
    assert!(problems[0].starts_with("policy::type"), "{problems:?}");
}

#[test]
fn a_servers_own_call_tool_is_each_of_its_calls_unless_a_lock_types_one() {
    let at = |of: &str| {
        let lock = locked(of, "string").text();
        several(&[("tools.lock", &lock)], &[("a.cedar", READS)], &[])
    };
    assert_eq!(call(&at("mail").load(), "crm", "read"), "allow crm/reads");
    let problems = at("crm").problems();
    assert!(
        problems[0].starts_with("policy::exact_call"),
        "{problems:?}"
    );
}

#[test]
fn what_is_wrong_with_a_servers_own_policies_is_told_in_its_names() {
    let mut lock = locked("crm", "string");
    lock.join(locked("mail", "string"));
    let lock = lock.text();
    let check = |text: &str, expected: &str| {
        let several = several(&[("tools.lock", &lock)], &[("a.cedar", text)], &[]);
        let problems = several.problems();
        assert!(problems[0].contains(expected), "{problems:?}");
        let told = problems.join("\n");
        assert!(!told.contains("crm/") && !told.contains("mail/"), "{told}");
    };
    let permit = |action: &str, condition: &str| {
        format!("@id(\"x\") permit (principal, action {action}, resource) when {{ {condition} }};")
    };
    check(
        &permit("== Mcp::Action::\"call_tool/fin\"", "true"),
        "did you mean `Mcp::Action::\"call_tool/find\"`?",
    );
    check(
        &permit(
            "== Mcp::Action::\"call_tool/find\"",
            "context.arguments.name == \"a\"",
        ),
        "policy::type",
    );
    check(
        &format!("{READS}{READS}"),
        "two policies are called `reads`",
    );
}

/// Two servers with one directory of policies of their own.
fn sharing(files: &[(&str, &str)]) -> Several {
    let mut several = several(&[], files, &[]);
    let crm = several.settings.own.get(&key("crm")).unwrap().clone();
    several.settings.own.insert(key("mail"), crm);
    several
}

#[test]
fn what_is_wrong_in_a_directory_of_two_servers_is_told_once() {
    let wrong = r#"@id("x") permit (principal, action, resource) when { context.nope };"#;
    for files in [
        [("a.cedar", wrong)],
        [("a.cedar", "permit (")],
        [("agents.toml", "")],
        [("a.cedra", "")],
    ] {
        let problems = sharing(&files).problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
    let nameless = "permit (principal, action, resource);";
    let loaded = sharing(&[("a.cedar", nameless)]).load();
    let told = loaded
        .notices
        .iter()
        .filter(|it| it.code == "policy::no_id");
    let told: Vec<_> = told.map(|it| it.message.as_str()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(!told[0].contains("crm//"), "{told:?}");
}

#[test]
fn a_change_in_a_directory_of_two_servers_is_one_change() {
    let mutants = |several: &Several| {
        let all = several.load().snapshot.mutants();
        let own = all.iter().filter(|it| !it.rule.file.starts_with('<'));
        own.map(|it| format!("{:?} {:?} {}", it.kind, it.span, it.rule.policy))
            .collect::<Vec<_>>()
    };
    let alone = mutants(&several(&[], &[("a.cedar", READS)], &[]));
    assert!(!alone.is_empty());
    assert_eq!(mutants(&sharing(&[("a.cedar", READS)])), alone);
}
