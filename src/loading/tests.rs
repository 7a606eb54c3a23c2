mod manifest;
mod own_policies;
mod reload;

use std::fs;
use std::path::Path;

use miette::Severity;
use tempfile::TempDir;

use super::load::{compile, read};
use super::*;
use crate::policy::fixture::{World, told, tool};
use crate::policy::{
    Action, ActionName, ExtensionMethod, Facts, Host, ListFacts, PolicySnapshot, Principal, Prompt,
    Resource, ResourceFacts, ServerKey, UseTime,
};

const PERMIT_ALL: &str = "@id(\"all\") permit(principal, action, resource);";

#[test]
fn the_builtin_packs_load_without_a_notice() {
    let loaded = load(&allowing(&["echo"])).unwrap();
    assert_eq!(told_notices(&loaded), [""; 0]);
    assert_eq!(
        loaded.surfaces.to_string(),
        "tools: echo; open: resources, prompts, completion, logging, subscriptions; \
         closed: sampling, elicitation, roots"
    );
}

#[test]
fn without_an_allowlist_or_a_directory_only_the_session_lives() {
    let loaded = load(&Settings::default()).unwrap();
    check_open(
        &loaded,
        &["initialize", "ping", "cancel", "notify", "receive_result"],
    );
    check_warns_of_no_tools(&loaded);
}

#[test]
fn an_empty_allowlist_closes_tools_and_nothing_else() {
    let loaded = load(&allowing(&[])).unwrap();
    check_open(
        &loaded,
        &[
            "initialize",
            "ping",
            "set_level",
            "cancel",
            "notify",
            "list_resource",
            "list_prompt",
            "listen",
            "read_resource",
            "subscribe",
            "get_prompt",
            "complete",
            "receive_result",
        ],
    );
    assert_eq!(judged(&loaded, "t"), "nothing");
    check_warns_of_no_tools(&loaded);
    let closed = Settings {
        other_methods: OtherMethods::Deny,
        ..allowing(&[])
    };
    let open = ["initialize", "ping", "cancel", "notify", "receive_result"];
    check_open(&load(&closed).unwrap(), &open);
}

fn check_warns_of_no_tools(loaded: &LoadedPolicies) {
    let notices = told_notices(loaded);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].starts_with("policy::no_tools: no tool can be called"));
}

#[test]
fn an_allowlist_opens_its_tools_and_the_other_methods() {
    let loaded = load(&allowing(&["t"])).unwrap();
    check_open(
        &loaded,
        &[
            "initialize",
            "ping",
            "set_level",
            "cancel",
            "notify",
            "list_tool",
            "list_resource",
            "list_prompt",
            "listen",
            "call_tool",
            "read_resource",
            "subscribe",
            "get_prompt",
            "complete",
            "receive_result",
        ],
    );
    assert_eq!(judged(&loaded, "t"), "allow allowlist");
    assert_eq!(judged(&loaded, "T"), "nothing");
}

#[test]
fn other_methods_can_be_closed() {
    let settings = Settings {
        other_methods: OtherMethods::Deny,
        ..allowing(&["t"])
    };
    let open = [
        "initialize",
        "ping",
        "cancel",
        "notify",
        "list_tool",
        "call_tool",
        "receive_result",
    ];
    check_open(&load(&settings).unwrap(), &open);
}

#[test]
fn an_allowed_name_that_the_enforced_lock_lacks_is_told() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/locked-tools/tools.lock");
    let dir = files(&[("tools.lock", &fs::read_to_string(lock).unwrap())]);
    for (mode, told) in [(Pinning::Enforce, 1), (Pinning::Locked, 0)] {
        let settings = Settings {
            allow: Some(vec!["close_ticket".to_owned(), "cafe".to_owned()]),
            lock: mode,
            ..within(&dir)
        };
        let notices = told_notices(&load(&settings).unwrap());
        let about = |notice: &&String| notice.starts_with("policy::allow: `cafe` in the allowlist");
        assert_eq!(notices.iter().filter(about).count(), told, "{notices:?}");
        assert!(
            !notices.iter().any(|it| it.contains("close_ticket")),
            "{notices:?}"
        );
    }
}

#[test]
fn where_labels_are_required_a_tool_without_one_is_closed_whatever_permits_it() {
    let dir = files(&[
        ("all.cedar", PERMIT_ALL),
        (
            "tools.toml",
            "default.permission = \"read\"\n[tools.a]\npermission = \"read\"\n[tools.b]\nsensitivity = \"public\"\n",
        ),
    ]);
    let settings = Settings {
        allow: Some(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]),
        labels: RequiredLabels::Permission,
        ..within(&dir)
    };
    let loaded = load(&settings).unwrap();
    assert_eq!(judged(&loaded, "a"), "allow all allowlist");
    for name in ["b", "c", "tools.labelled"] {
        assert_eq!(judged(&loaded, name), "deny labels.required");
    }
    let notices = told_notices(&loaded);
    let about = notices
        .iter()
        .filter(|it| it.contains("no label names its permission"));
    assert_eq!(about.count(), 2, "{notices:?}");
    let loaded = load(&Settings {
        labels: RequiredLabels::None,
        ..settings
    });
    assert_eq!(judged(&loaded.unwrap(), "b"), "allow all allowlist");
}

#[test]
fn with_a_directory_policies_alone_decide_beside_the_list() {
    let dir = files(&[(
        "a.cedar",
        r#"@id("b") permit(principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"b");"#,
    )]);
    let loaded = load(&Settings {
        allow: Some(vec!["a".to_owned()]),
        ..within(&dir)
    })
    .unwrap();
    assert_eq!(judged(&loaded, "a"), "allow allowlist");
    assert_eq!(judged(&loaded, "b"), "allow b");
    assert_eq!(judged(&loaded, "c"), "nothing");
    assert_eq!(
        loaded.surfaces.to_string(),
        "tools: a, b; closed: resources, prompts, completion, logging, subscriptions, \
         sampling, elicitation, roots"
    );
}

#[test]
fn a_forbid_closes_what_the_list_and_the_core_permit() {
    let dir = files(&[(
        "a.cedar",
        "@id(\"no\") forbid(principal, action, resource);",
    )]);
    let loaded = load(&Settings {
        allow: Some(vec!["t".to_owned()]),
        ..within(&dir)
    })
    .unwrap();
    assert_eq!(judged(&loaded, "t"), "deny no");
    check_open(&loaded, &[]);
}

#[test]
fn a_directory_that_cannot_be_read_is_an_error() {
    let dir = files(&[]);
    let missing = dir.path().join("missing");
    check_refused(&missing, &["policy::file: `", "missing`: "]);
    let file = dir.path().join("file");
    fs::write(&file, PERMIT_ALL).unwrap();
    check_refused(&file, &["policy::file: `", "file`: "]);
}

#[test]
fn what_is_too_large_or_would_never_end_is_not_read() {
    let dir = files(&[("a.cedar", PERMIT_ALL)]);
    let large = fs::File::create(dir.path().join("b.cedar")).unwrap();
    large.set_len((4 << 20) + 1).unwrap();
    check_refused(
        dir.path(),
        &["policy::file: `", "b.cedar`: larger than 4194304 bytes"],
    );
    fs::remove_file(dir.path().join("b.cedar")).unwrap();
    #[cfg(unix)]
    {
        let fifo = dir.path().join("c.cedar");
        let made = std::process::Command::new("mkfifo").arg(fifo).status();
        assert!(made.unwrap().success());
        let says = "c.cedar`: neither a file nor a directory";
        check_refused(dir.path(), &["policy::file: `", says]);
    }
}

#[test]
fn what_is_empty_permits_nothing_and_says_so() {
    let dir = files(&[]);
    let loaded = load(&within(&dir)).unwrap();
    assert_eq!(judged(&loaded, "t"), "nothing");
    let notices = told_notices(&loaded);
    assert!(
        notices[0].starts_with("policy::empty_dir: `")
            && notices[0].ends_with("holds no policy file")
    );
    assert!(notices[1].starts_with("policy::no_tools"));

    for text in ["", "// permit(principal, action, resource);\n"] {
        let dir = files(&[("a.cedar", text)]);
        let loaded = load(&within(&dir)).unwrap();
        assert_eq!(judged(&loaded, "t"), "nothing");
        let notices = told_notices(&loaded);
        assert!(
            notices[0].contains("a.cedar` holds no policy: it permits nothing"),
            "{notices:?}"
        );
    }
}

#[test]
#[cfg(unix)]
fn dot_entries_are_skipped_and_links_are_followed() {
    let dir = files(&[
        ("real/inner/a.cedar", PERMIT_ALL),
        (".hidden/b.cedar", "nonsense"),
        (".c.cedar", "nonsense"),
        (
            "..data/d.cedar",
            "@id(\"linked\") forbid(principal, action, resource == Mcp::Tool::\"x\");",
        ),
        ("README.md", "permit everything"),
    ]);
    let link = |to: &str, from: &str| {
        std::os::unix::fs::symlink(dir.path().join(to), dir.path().join(from)).unwrap();
    };
    link("..data/d.cedar", "d.cedar");
    let loaded = load(&within(&dir)).unwrap();
    assert_eq!(judged(&loaded, "t"), "allow all");
    assert_eq!(judged(&loaded, "x"), "deny linked");
    assert_eq!(told_notices(&loaded), [""; 0]);

    link("real", "real/inner/loop");
    check_refused(
        dir.path(),
        &["policy::file: `", "loop`: a symbolic link leads back"],
    );
    fs::remove_file(dir.path().join("real/inner/loop")).unwrap();
    link("nowhere", "gone.cedar");
    check_refused(dir.path(), &["policy::file: `", "gone.cedar`: "]);
}

/// What is said of a file of this name beside a policy: notices, or an error with this help.
#[track_caller]
fn check_unread(name: &str, expected: Result<&[&str], &str>) {
    let dir = files(&[("a.cedar", PERMIT_ALL), (name, "forbid")]);
    match (load(&within(&dir)), expected) {
        (Ok(loaded), Ok(notices)) => {
            let told = told_notices(&loaded);
            assert_eq!(told.len(), notices.len(), "{name}: {told:?}");
            for (told, expected) in told.iter().zip(notices) {
                assert!(told.starts_with("policy::unrecognized_file: `"), "{told}");
                assert!(told.contains(name) && told.contains(expected), "{told}");
            }
        }
        (Err(errors), Err(meant)) => {
            let [problem] = &errors.problems[..] else {
                panic!("{errors:?}")
            };
            assert_eq!(problem.code, "policy::unrecognized_file");
            let says = format!("{name}`: no engine reads a file of this name");
            assert!(problem.message.ends_with(&says), "{}", problem.message);
            let help = problem.help.as_deref().unwrap();
            assert!(help.starts_with(meant), "{name}: {help}");
        }
        (Ok(loaded), Err(_)) => panic!("{name}: {:?}", told_notices(&loaded)),
        (Err(errors), Ok(_)) => panic!("{name}: {errors:?}"),
    }
}

#[test]
fn a_file_that_no_engine_reads_is_an_error_unless_it_is_clearly_no_policy() {
    for (name, meant) in [
        ("deny.ceder", "deny.cedar"),
        ("deny.cdear", "deny.cedar"),
        ("deny.Cedars", "deny.cedar"),
        ("deny.CEDAR", "deny.cedar"),
        ("Rules.cedar.txt", "Rules.cedar"),
        ("deny.cedar.bak", "deny.cedar"),
        ("deny.cedar.disabled", "deny.cedar"),
        ("deny.cedar~", "deny.cedar"),
        ("#deny.cedar#", "deny.cedar"),
        ("a.cedar.txt", "a.cedar"),
        ("a.cedar.md", "a.cedar"),
        ("a.cedar.toml", "a.cedar"),
        ("README.ceder", "README.cedar"),
        ("tests/deny.ceder", "deny.cedar"),
        ("é.ceder", "é.cedar"),
        ("A.REGO", "A.rego"),
        ("deny.reg", "deny.rego"),
        ("deny.rego.txt", "deny.rego"),
        ("deny.rego.md", "deny.rego"),
        ("tests/deny.rego~", "deny.rego"),
        ("limits.cel", "limits.cel.toml"),
        ("limits.CEL.TOML", "limits.cel.toml"),
        ("limits.cel.toml.bak", "limits.cel.toml"),
        ("limits.cel.md", "limits.cel.toml"),
    ] {
        check_unread(name, Err(&format!("did you mean `{meant}`?")));
    }
    for name in [
        "deny",
        "deny.txt",
        "deny.policy",
        "rules.json",
        "sub/x",
        "cedar",
    ] {
        check_unread(
            name,
            Err("names of policies end in `.cedar`, `.rego`, `.cel.toml`"),
        );
    }
}

#[test]
fn what_is_clearly_no_policy_may_lie_beside_some() {
    for name in [
        "README",
        "README.txt",
        "LICENSE",
        "sub/story.md",
        "gate.toml",
        "sub/fixture.toml",
        "tests/a.toml",
        "tests/page.html",
        "tests/deep/data",
        "mcp.cedarschema",
        "mcp.cedarschema.json",
        ".deny.ceder",
        ".git/config",
    ] {
        check_unread(name, Ok(&[]));
    }
    for (name, meant) in [
        ("tool.toml", "tools.toml"),
        ("Tools.toml", "tools.toml"),
        ("sub/agent.toml", "agents.toml"),
        ("tool.lock", "tools.lock"),
        ("Tools.lock", "tools.lock"),
    ] {
        check_unread(name, Err(&format!("did you mean `{meant}`?")));
    }
    check_unread("tests/tool.toml", Ok(&[]));
    for name in ["manifest", "Manifest"] {
        check_unread(name, Err("did you mean `MANIFEST`?"));
    }
    check_unread("sub/MANIFEST", Err("names of policies end in"));
    check_unread("tests/MANIFEST", Ok(&[]));
    for name in ["a.cedar~", "a.cedar.bak", "a.cedar.orig", "#a.cedar#"] {
        check_unread(name, Ok(&["is not read, `a.cedar` beside it is"]));
    }
}

const REGO: &str = "package mcp\n\ndecision := {\"allow\": true, \"reasons\": [{\"id\": \"r\"}]} if {\n\
                    \tinput.action == \"call_tool\"\n\tinput.resource.name == \"r\"\n}\n";

const CEL: &str = "[[rule]]\nid = \"c\"\neffect = \"permit\"\nactions = [\"call_tool\"]\n\
                   when = \"resource.name == 'c'\"\n\n\
                   [[rule]]\nid = \"allowed\"\neffect = \"forbid\"\n\
                   when = \"'allow' in resource.groups && principal.trust < 0\"\nactions = [\"call_tool\"]\n";

#[test]
fn engines_decide_together_and_only_those_with_files() {
    let cedar = "@id(\"a\") permit(principal, action == Mcp::Action::\"call_tool\", \
                 resource == Mcp::Tool::\"a\");";
    let dir = files(&[
        ("a.cedar", cedar),
        ("sub/r.rego", REGO),
        ("c.cel.toml", CEL),
    ]);
    let loaded = load(&Settings {
        allow: Some(vec!["listed".to_owned()]),
        ..within(&dir)
    })
    .unwrap();
    for (tool, decision) in [
        ("a", "allow a"),
        ("r", "allow r"),
        ("c", "allow c"),
        ("listed", "allow allowlist"),
        ("x", "nothing"),
    ] {
        assert_eq!(judged(&loaded, tool), decision);
    }
    assert_eq!(
        loaded.surfaces.to_string(),
        "tools: by policy; by policy: resources, prompts, completion, logging, subscriptions, \
         sampling, elicitation, roots"
    );
    assert_eq!(told_notices(&loaded), [""; 0]);
    let id = crate::policy::PolicyId::new("c");
    assert!(loaded.snapshot.policy_source(&id).is_some());

    let dir = files(&[("c.cel.toml", CEL)]);
    let loaded = load(&within(&dir)).unwrap();
    assert_eq!(
        loaded.surfaces.to_string(),
        "tools: by policy; closed: resources, prompts, completion, logging, subscriptions, \
         sampling, elicitation, roots"
    );
    assert!(!format!("{:?}", loaded.snapshot).contains("RegoEngine"));
}

#[test]
fn a_forbid_of_one_engine_closes_what_another_opens() {
    let forbid = "@id(\"no\") forbid(principal, action == Mcp::Action::\"call_tool\", resource);";
    let dir = files(&[("a.cedar", forbid), ("r.rego", REGO), ("c.cel.toml", CEL)]);
    let loaded = load(&within(&dir)).unwrap();
    assert_eq!(judged(&loaded, "r"), "deny no");
    assert_eq!(judged(&loaded, "c"), "deny no");
    assert!(
        loaded
            .surfaces
            .to_string()
            .starts_with("tools: none; by policy: ")
    );
}

#[test]
fn problems_of_all_engines_are_told_at_once() {
    let dir = files(&[
        ("a.cedar", "permit("),
        ("b.rego", "package mcp\ndecision := {"),
        (
            "c.cel.toml",
            "[[rule]]\nid = \"c\"\neffect = \"permit\"\nwhen = \"1 +\"",
        ),
    ]);
    let errors = load(&within(&dir)).unwrap_err();
    let codes: Vec<&str> = errors.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["policy::syntax"; 3]);

    let named = "@id(\"c\") permit(principal, action == Mcp::Action::\"call_tool\", resource);";
    let dir = files(&[("a.cedar", named), ("c.cel.toml", CEL)]);
    let says = "policy::duplicate_id: two policies are called `c`";
    check_refused(dir.path(), &[says]);
}

#[test]
fn large_files_of_every_language_are_refused_at_once() {
    for name in ["a.rego", "a.cel.toml"] {
        let dir = files(&[(name, "")]);
        let large = fs::File::create(dir.path().join(name)).unwrap();
        large.set_len(10 << 20).unwrap();
        check_refused(
            dir.path(),
            &["policy::file: `", "larger than 4194304 bytes"],
        );
    }
}

#[test]
fn all_problems_of_all_files_are_reported_at_once() {
    let dir = files(&[
        ("a.cedar", "permit("),
        (
            "c.cedar",
            "@id(\"\") permit(principal is Mcp::Agent, action, resource) when { principal.nope };",
        ),
    ]);
    fs::write(dir.path().join("b.cedar"), [b'/', b'/', 0xff]).unwrap();
    let errors = load(&within(&dir)).unwrap_err();
    let codes: Vec<&str> = errors.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(
        codes,
        [
            "policy::file",
            "policy::syntax",
            "policy::annotation",
            "policy::type"
        ]
    );
    assert_eq!(
        errors.to_string(),
        "the policies are not usable: 4 problems found"
    );
    assert!(
        errors.problems[0]
            .message
            .ends_with("b.cedar`: not UTF-8 at byte 2")
    );
    let path = dir.path().join("a.cedar").display().to_string();
    assert_eq!(errors.problems[1].source.as_ref().unwrap().name(), path);
}

#[test]
fn several_in_the_head_of_a_policy_get_help_that_shows_a_condition() {
    let check = |head: &str, helped: bool| {
        let dir = files(&[("a.cedar", &format!("@id(\"a\") permit({head});"))]);
        let errors = load(&within(&dir)).unwrap_err();
        let help = errors.problems[0].help.clone().unwrap_or_default();
        assert_eq!(
            help.contains("when { resource in ["),
            helped,
            "{head}: {help}"
        );
    };
    let tools = "[Mcp::Tool::\"a\", Mcp::Tool::\"b\"]";
    let roles = "[Mcp::Role::\"a\", Mcp::Role::\"b\"]";
    check(&format!("principal, action, resource in {tools}"), true);
    check(&format!("principal in {roles}, action, resource"), true);
    check("principal, action, resource ==", false);
    check("principal, action in ?action, resource", false);
}

#[test]
fn a_policy_of_the_gates_own_name_is_refused() {
    let dir = files(&[(
        "a.cedar",
        "@id(\"core.lifecycle\") forbid(principal, action, resource);",
    )]);
    let errors = load(&within(&dir)).unwrap_err();
    assert_eq!(
        errors.problems[0].help.as_deref().unwrap(),
        "the first is at <core.cedar>:4; give each its own `@id`"
    );
}

#[test]
fn the_revision_names_every_text_and_nothing_else() {
    let revision = |settings: &Settings| load(settings).unwrap().snapshot.revision().to_string();
    let one = files(&[("a.cedar", PERMIT_ALL)]);
    let first = revision(&within(&one));
    assert_eq!(first, revision(&within(&one)));
    fs::write(one.path().join("a.cedar"), format!("{PERMIT_ALL}\n")).unwrap();
    assert_ne!(first, revision(&within(&one)));
    assert_ne!(revision(&allowing(&["a"])), revision(&allowing(&["b"])));
    assert_eq!(
        revision(&allowing(&["a", "b"])),
        revision(&allowing(&["b", "a", "b"]))
    );
    assert_ne!(revision(&allowing(&[])), revision(&Settings::default()));
    // Where the directory lies is no part of it, what lies where in it is.
    let texts = [("a.cedar", PERMIT_ALL), ("more/b.cedar", "// none")];
    let (here, there) = (files(&texts), files(&texts));
    assert_eq!(revision(&within(&here)), revision(&within(&there)));
    fs::rename(there.path().join("more"), there.path().join("less")).unwrap();
    assert_ne!(revision(&within(&here)), revision(&within(&there)));
}

#[test]
fn names_that_look_as_if_more_was_meant_are_told() {
    for (name, told) in [
        (
            "read_*",
            "`read_*` in the allowlist holds a `*` or `?`, which stand for themselves",
        ),
        (
            " read",
            "` read` in the allowlist begins or ends with white space",
        ),
        ("", "`` in the allowlist is empty"),
        ("a\nb", "`a\\nb` in the allowlist holds a control character"),
    ] {
        let loaded = load(&allowing(&[name])).unwrap();
        let notices = told_notices(&loaded);
        assert!(notices[0].contains(told), "{notices:?}");
        assert_eq!(judged(&loaded, name), "allow allowlist");
        assert_eq!(judged(&loaded, "read_file"), "nothing");
    }
}

#[test]
fn warnings_become_notices_when_they_are_allowed() {
    let dir = files(&[(
        "a.cedar",
        "@id(\"a\") @owner(\"ann\") permit(principal, action, resource);",
    )]);
    assert!(load(&within(&dir)).is_err());
    let loaded = load(&Settings {
        warnings: WarningMode::Allow,
        ..within(&dir)
    })
    .unwrap();
    assert_eq!(
        told_notices(&loaded),
        ["policy::annotation: unknown annotation `@owner`"]
    );
    assert!(
        loaded
            .notices
            .iter()
            .all(|notice| notice.severity == Severity::Warning)
    );
}

#[test]
fn a_policys_text_can_be_shown() {
    let loaded = load(&allowing(&["t"])).unwrap();
    let written = loaded.snapshot.policies().iter();
    // What labels come to beside the engines has no line.
    for policy in written.filter(|policy| policy.origin.line > 0) {
        let (_, text) = loaded.snapshot.policy_source(&policy.id).unwrap();
        assert!(text.contains(" ("), "{text}");
    }
    let ids: Vec<&str> = loaded
        .snapshot
        .policies()
        .iter()
        .map(|policy| policy.id.as_str())
        .collect();
    assert_eq!(
        ids[..4],
        [
            "core.lifecycle",
            "core.results",
            "builtin.no_egress",
            "allowlist"
        ]
    );
}

#[test]
fn the_starter_pack_answers_servers_as_its_story_says() {
    let pack = pack("starter");
    let world = World::new();
    let ask = |action| told(&pack.snapshot.judge(&world.server_facts(action)));
    let sample = Action::Sample {
        max_tokens: 1,
        include_context: "none",
        tools: false,
        messages: 1,
        bytes: 40,
        system: false,
        agent: &world.agent,
    };
    assert_eq!(ask(sample), "deny starter.no-sampling");
    assert_eq!(ask(Action::ListRoots), "deny starter.no-roots");
    assert_eq!(
        ask(Action::Elicit {
            mode: "form",
            fields: &[],
            host: "",
        }),
        "nothing"
    );
    assert_eq!(ask(Action::Ping), "allow core.lifecycle");
}

#[test]
fn the_starter_pack_does_what_its_story_says() {
    let pack = pack("starter");
    let call = |name: &str, arguments: &[(&str, &str)]| {
        told(
            &pack
                .snapshot
                .judge(&World::new().with(arguments).call(&tool(name))),
        )
    };
    let read = |path: &str| call("read_text_file", &[("/path", path)]);
    assert_eq!(read("/srv/project/src/main.rs"), "allow starter.read");
    assert_eq!(read("notes.txt"), "allow starter.read");
    for hidden in [
        ".env",
        "./a",
        "/srv/.git/config",
        "a/../b",
        "C:\\x\\.ssh\\id",
        "/a/.",
        "~/.ssh",
    ] {
        assert_eq!(read(hidden), "deny starter.no-dotfiles.path", "{hidden}");
    }
    assert_eq!(call("read_text_file", &[]), "nothing");
    assert_eq!(call("read_text_file", &[("/Path", "a")]), "nothing");
    assert_eq!(call("read_text_file", &[("/path/0", "a")]), "nothing");
    let search = |pattern| call("search_files", &[("/path", "/srv"), ("/pattern", pattern)]);
    assert_eq!(search("*.rs"), "allow starter.read");
    assert_eq!(search("**/.env"), "deny starter.no-dotfiles.pattern");
    assert_eq!(
        call("list_allowed_directories", &[]),
        "allow starter.directories"
    );
    assert_eq!(
        call("write_file", &[("/path", "a")]),
        "deny starter.no-writes"
    );
    assert_eq!(
        call("move_file", &[("/source", "a")]),
        "deny starter.no-writes"
    );
    let several = call("read_multiple_files", &[("/paths/0", "a")]);
    assert_eq!(several, "deny starter.one-file-at-a-time");

    let mut strings = World::new();
    let leaf = crate::policy::Leaf::Strings(vec!["/srv/a".into()]);
    strings.arguments.0.push(("/path".to_owned(), leaf));
    let decision = pack.snapshot.judge(&strings.call(&tool("read_text_file")));
    assert_eq!(told(&decision), "deny starter.no-dotfiles.path");

    let shown = shown(
        &pack,
        &[
            "read_file",
            "read_text_file",
            "read_media_file",
            "read_multiple_files",
            "write_file",
            "edit_file",
            "create_directory",
            "list_directory",
            "list_directory_with_sizes",
            "directory_tree",
            "move_file",
            "search_files",
            "get_file_info",
            "list_allowed_directories",
        ],
    );
    assert_eq!(
        shown,
        [
            "read_file",
            "read_text_file",
            "read_media_file",
            "list_directory",
            "list_directory_with_sizes",
            "directory_tree",
            "search_files",
            "get_file_info",
            "list_allowed_directories",
        ]
    );
}

/// Each action that is open may be allowed, and each that is closed is denied.
fn check_open(loaded: &LoadedPolicies, expected: &[&str]) {
    let world = World::new();
    let tool = tool("t");
    let resource = ResourceFacts {
        uri: "file:///a".to_owned(),
        ..ResourceFacts::default()
    };
    let prompt = Prompt::named("p");
    let method = ExtensionMethod::named("vendor/do");
    let host = Host {
        name: "api.example.com".to_owned(),
        port: 443,
    };
    let allowed: Vec<&str> = ActionName::ALL
        .into_iter()
        .filter(|name| {
            let server = Resource::Server(&world.server);
            let (resource, prompt) = (Resource::Resource(&resource), Resource::Prompt(&prompt));
            let result = Action::ReceiveResult {
                received: &world.received,
            };
            let facts: Facts<'_> = match name {
                ActionName::Initialize => world.facts(Action::Initialize, server),
                ActionName::Ping => world.server_facts(Action::Ping),
                ActionName::SetLevel => world.facts(Action::SetLevel, server),
                ActionName::Cancel => world.facts(Action::Cancel, server),
                ActionName::Notify => world.server_facts(Action::Notify { method: "m" }),
                ActionName::ListTool => world.facts(Action::ListTool, Resource::Tool(&tool)),
                ActionName::ListResource => world.facts(Action::ListResource, resource),
                ActionName::ListPrompt => world.facts(Action::ListPrompt, prompt),
                ActionName::Listen => world.facts(Action::Listen, server),
                ActionName::CallTool => world.call(&tool),
                ActionName::ReadResource => world.facts(Action::ReadResource, resource),
                ActionName::Subscribe => world.facts(Action::Subscribe, resource),
                ActionName::GetPrompt => world.facts(
                    Action::GetPrompt {
                        arguments: &world.arguments,
                    },
                    prompt,
                ),
                ActionName::Complete => world.facts(Action::Complete { argument: "a" }, prompt),
                ActionName::Extension => world.facts(
                    Action::Extension {
                        arguments: &world.arguments,
                        targets: &world.targets,
                    },
                    Resource::Method(&method),
                ),
                ActionName::ReceiveResult => world.facts(result, Resource::Tool(&tool)),
                ActionName::Sample => world.server_facts(Action::Sample {
                    max_tokens: 1,
                    include_context: "none",
                    tools: false,
                    messages: 1,
                    bytes: 40,
                    system: false,
                    agent: &world.agent,
                }),
                ActionName::Elicit => world.server_facts(Action::Elicit {
                    mode: "form",
                    fields: &[],
                    host: "",
                }),
                ActionName::ListRoots => world.server_facts(Action::ListRoots),
                ActionName::ConnectHost => Facts {
                    resource: Resource::Host(&host),
                    ..world.server_facts(Action::ConnectHost { isolated: false })
                },
            };
            loaded.snapshot.judge(&facts).is_allow()
        })
        .map(ActionName::as_str)
        .collect();
    assert_eq!(allowed, expected);
    let open: Vec<&str> = loaded
        .surfaces
        .open
        .iter()
        .map(|name| name.as_str())
        .collect();
    assert_eq!(open, expected);
}

fn check_refused(dir: &Path, parts: &[&str]) {
    let settings = Settings {
        dir: Some(dir.to_owned()),
        ..Settings::default()
    };
    let errors = load(&settings).unwrap_err();
    assert_eq!(errors.problems.len(), 1, "{errors:?}");
    let told = format!(
        "{}: {}",
        errors.problems[0].code, errors.problems[0].message
    );
    assert!(parts.iter().all(|part| told.contains(part)), "{told}");
}

fn judged(loaded: &LoadedPolicies, name: &str) -> String {
    told(&loaded.snapshot.judge(&World::new().call(&tool(name))))
}

fn told_notices(loaded: &LoadedPolicies) -> Vec<String> {
    loaded
        .notices
        .iter()
        .map(|notice| format!("{}: {}", notice.code, notice.message))
        .collect()
}

fn allowing(names: &[&str]) -> Settings {
    let names = names.iter().map(ToString::to_string).collect();
    Settings {
        allow: Some(names),
        ..Settings::default()
    }
}

fn within(dir: &TempDir) -> Settings {
    Settings {
        dir: Some(dir.path().to_owned()),
        ..Settings::default()
    }
}

fn files(texts: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in texts {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn pack(name: &str) -> LoadedPolicies {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("policies")
        .join(name);
    let loaded = load(&Settings {
        dir: Some(dir),
        ..Settings::default()
    })
    .unwrap();
    assert_eq!(told_notices(&loaded), [""; 0]);
    loaded
}

fn shown<'n>(loaded: &LoadedPolicies, names: &[&'n str]) -> Vec<&'n str> {
    let world = World::new();
    let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
    let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
    let facts = ListFacts {
        principal: Principal::Agent(&world.agent),
        env: world.env(),
        uses: UseTime::Now,
    };
    let shown = loaded.snapshot.visible(&facts, &items);
    names
        .iter()
        .zip(shown)
        .filter(|(_, shown)| *shown)
        .map(|(name, _)| *name)
        .collect()
}

#[test]
fn a_shadow_policy_is_loaded_beside_the_policies_and_never_in_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let (now, next) = (dir.path().join("now"), dir.path().join("next"));
    for (dir, effect) in [(&now, "permit"), (&next, "forbid")] {
        std::fs::create_dir(dir).unwrap();
        let text = format!("@id(\"it\") {effect}(principal, action, resource);");
        std::fs::write(dir.join("it.cedar"), text).unwrap();
    }
    let settings = Settings {
        dir: Some(now),
        shadow: Some(next.clone()),
        ..Settings::default()
    };
    let loaded = load(&settings).unwrap();
    let shadow = loaded.snapshot.shadow().unwrap();
    let of = |snapshot: &PolicySnapshot| {
        let ids = snapshot.policies().iter();
        ids.filter(|policy| !policy.origin.file.starts_with('<'))
            .map(|policy| policy.text.contains("forbid"))
            .collect::<Vec<_>>()
    };
    assert!(!of(&loaded.snapshot).contains(&true));
    assert!(of(shadow).contains(&true));

    // At the start a broken shadow policy is a mistake to be told; later it is left out.
    std::fs::write(next.join("it.cedar"), "forbid(").unwrap();
    assert!(load(&settings).is_err());
    let loaded = compile(&settings, read(&settings), None).unwrap();
    assert!(loaded.snapshot.shadow().is_none());
    assert_eq!(loaded.shadow.len(), 1);
}

#[test]
fn capabilities_and_overrides_decide() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        (
            "tools.toml",
            "[tools.write]\ncapabilities = [\"fs.write\"]\n[tools.ask]\nconsent = \"always\"\n",
        ),
        (
            "agents.toml",
            "[roles.writer]\ncapabilities = [\"fs\"]\n[agents.ann]\nroles = [\"writer\"]\ndeny = [\"read\"]\n[agents.bob]\nallow = [\"extra\"]\n",
        ),
        (
            "all.cedar",
            "@id(\"all\") permit(principal, action in Mcp::Action::\"call_tool\", resource) when { resource.name != \"extra\" };",
        ),
    ];
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let settings = Settings {
        dir: Some(dir.path().to_owned()),
        ..Settings::default()
    };
    let snapshot = load(&settings).unwrap().snapshot;
    let check = |agent: &str, name: &str, expected: &str| {
        let mut world = World::new();
        world.agent.id = agent.to_owned();
        let decision = snapshot.judge(&world.call(&tool(name)));
        assert_eq!(told(&decision), expected, "{agent} {name}");
    };
    check("ann", "write", "allow all");
    check("bob", "write", "deny capabilities");
    check("ann", "read", "deny agents.ann.deny");
    check("bob", "read", "allow all");
    check("bob", "extra", "allow agents.bob.allow");
    check("ann", "extra", "nothing");
    check("ann", "ask", "deny consent");
}

#[test]
fn servers_of_agents_and_roles_forbid_all_others_and_permit_nothing() {
    let agents = r#"
        [roles.staff]
        not_servers = ["mail"]
        [agents.ann]
        roles   = ["staff"]
        servers = ["crm", "mail"]
        [agents."b\"ob"]
        servers = []
    "#;
    let all = "@id(\"all\") permit (principal, action, resource) unless { resource in Mcp::Server::\"web\" };";
    let dir = files(&[("agents.toml", agents), ("all.cedar", all)]);
    let keys: Vec<_> = ["crm", "mail", "web"]
        .into_iter()
        .filter_map(ServerKey::of)
        .collect();
    let settings = Settings {
        servers: keys.clone(),
        ..within(&dir)
    };
    let snapshot = load(&settings).unwrap().snapshot;
    let check = |agent: &str, role: Option<&str>, key: &str, expected: &str| {
        let mut world = World::new();
        world.agent.id = agent.to_owned();
        world.agent.roles = role.into_iter().map(str::to_owned).collect();
        let key = keys.iter().find(|it| it.as_str() == key).unwrap();
        world.server.key = Some(key.clone());
        world.server.name = key.to_string();
        let own = snapshot.of_server(Some(key));
        let decision = own.judge(&world.call(&tool("read")));
        assert_eq!(told(&decision), expected, "{agent} {role:?} {key}");
        let server = world.server.clone();
        let hello = world.facts(Action::Initialize, Resource::Server(&server));
        let hello = told(&own.judge(&hello));
        let expected_hello = if expected.starts_with("deny") {
            expected
        } else {
            "allow"
        };
        assert!(hello.starts_with(expected_hello), "{agent} {key}: {hello}");
        let is_left = snapshot.labels().leave_server(&world.agent, key);
        assert_eq!(
            is_left,
            !expected.starts_with("deny"),
            "{agent} {role:?} {key}"
        );
    };
    check("ann", None, "crm", "allow all");
    check("ann", None, "mail", "deny roles.staff.not_servers");
    check("ann", None, "web", "deny agents.ann.servers");
    check("b\"ob", None, "crm", "deny agents.b\"ob.servers");
    check("dan", None, "mail", "allow all");
    check("dan", Some("staff"), "mail", "deny roles.staff.not_servers");
    check("dan", Some("staff"), "crm", "allow all");
    check("dan", None, "web", "nothing");
}

#[test]
fn a_policy_without_an_id_is_called_by_its_line_and_a_remark_asks_for_one() {
    let text = "@id(\"a\") permit(principal, action, resource);\nforbid(principal, action, resource)\nwhen { principal is Mcp::Server };\n";
    let dir = files(&[("p.cedar", text)]);
    let loaded = load(&within(&dir)).unwrap();
    let ids: Vec<&str> = loaded
        .snapshot
        .policies()
        .iter()
        .map(|it| it.id.as_str())
        .collect();
    let place = dir.path().join("p.cedar").display().to_string();
    assert!(ids.contains(&format!("{place}:2").as_str()), "{ids:?}");
    let told = loaded
        .notices
        .iter()
        .find(|it| it.code == "policy::no_id")
        .unwrap();
    assert_eq!(
        told.message,
        format!("`{place}` has a policy without an `@id`, known by the line (`{place}:2`)")
    );
    assert_eq!(told.labels.len(), 1);
}

#[test]
fn a_directory_of_other_things_is_told_in_few_words() {
    let check = |files: usize, told: usize, last: Option<&str>| {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..files {
            std::fs::write(dir.path().join(format!("{number}.rs")), "").unwrap();
        }
        let settings = Settings {
            dir: Some(dir.path().to_owned()),
            ..Settings::default()
        };
        let problems = load(&settings).unwrap_err().problems;
        assert_eq!(problems.len(), told, "{problems:#?}");
        let message = &problems.last().unwrap().message;
        assert!(
            last.is_none_or(|last| message.starts_with(last)),
            "{message}"
        );
    };
    check(20, 20, None);
    check(21, 21, Some("and 1 more files"));
    check(150, 21, Some("and 130 more files"));
}

#[test]
fn a_server_gets_the_context_of_all_servers_only_where_the_configuration_lets_it() {
    let dir = tempfile::tempdir().unwrap();
    let policies = "@id(\"all\") permit (principal, action, resource);";
    std::fs::write(dir.path().join("all.cedar"), policies).unwrap();
    let agents = "[agents.a1]\nagentic = true\n\
                  consent = { standing = true, by = \"ben\", until = \"9000-01-01\" }\n";
    std::fs::write(dir.path().join("agents.toml"), agents).unwrap();
    let world = World::new();
    let check = |flow_context: FlowRule, include_context: &str, expected: &str| {
        let settings = Settings {
            dir: Some(dir.path().to_owned()),
            flow: FlowRules {
                flow_context,
                ..FlowRules::default()
            },
            ..Settings::default()
        };
        let loaded = load(&settings).unwrap();
        let sample = Action::Sample {
            max_tokens: 1,
            include_context,
            tools: false,
            messages: 1,
            bytes: 40,
            system: false,
            agent: &world.agent,
        };
        let judged = told(&loaded.snapshot.judge(&world.server_facts(sample)));
        assert_eq!(judged, expected, "{flow_context:?} {include_context}");
    };
    let denied = "deny builtin.flow_context";
    check(FlowRule::Deny, "allServers", denied);
    check(FlowRule::Ask, "allServers", denied);
    check(FlowRule::Off, "allServers", "allow all");
    for narrow in ["thisServer", "none"] {
        check(FlowRule::Deny, narrow, "allow all");
    }
}
