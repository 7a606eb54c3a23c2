//! What the author of a policy reads.

use std::fmt::Write as _;

use miette::{GraphicalReportHandler, GraphicalTheme};

use super::*;
use crate::policy::Lock;
use crate::policy::fixture::World;

#[test]
fn all_problems_of_all_files_are_told_with_their_place() {
    let texts = [
        r#"// Two mistakes in types.
permit(principal, action == Mcp::Action::"call_tol", resource);
@id("deep")
forbid(principal, action == Mcp::Action::"call_tool", resource)
when { resource.hint.destructive };
"#,
        r#"@id("path")
forbid(principal, action == Mcp::Action::"call_tool", resource)
when { context.raw_arguments.getTag("/path").string like "/etc/*" };
"#,
    ];
    insta::assert_snapshot!(report(&texts));
}

#[test]
fn a_syntax_error_is_told_beside_other_problems() {
    let texts = [
        "permit(principal, action, resource) when { principal.trust > };\n",
        "@id(\"x\")\npermit(principal, action, resource);\n\n@id(\"x\")\nforbid(principal, action, resource);\n",
        "@advise(\"no\")\n@obligation_anotate(\"seen\")\nforbid(principal, action, resource);\n",
        "permit(principal == ?principal, action, resource);\n",
    ];
    insta::assert_snapshot!(report(&texts));
}

#[test]
fn annotations_that_promise_too_much_are_refused() {
    for (annotation, expected) in [
        ("@obligation_annotate(\"x\")", None),
        (
            "@obligation_annotate",
            Some("`@obligation_annotate` needs a text"),
        ),
        (
            "@obligation(\"redact\")",
            Some("unknown obligation `@obligation`"),
        ),
        (
            "@obligation_redact(\"pii\")",
            Some("unknown obligation `@obligation_redact`"),
        ),
        ("@id(\"\")", Some("`@id` is empty")),
        ("@id", Some("`@id` is empty")),
        ("@advice(\"x\") @code(\"y\")", None),
        (
            "@requires_consent(\"yes\")",
            Some("`@requires_consent` takes no value"),
        ),
        (
            "@on_deny(\"ask_consent\")",
            Some("unknown annotation `@on_deny`"),
        ),
        (
            "@requires_consent",
            Some("`@requires_consent` on a `permit` has no effect"),
        ),
        ("@obligation_canonical(\"paths\")", None),
        ("@obligation_canonical(\"uris\")", None),
        ("@obligation_canonical(\"paths uris\")", None),
        (
            "@obligation_canonical(\"paths urls\")",
            Some("`@obligation_canonical` does not know `paths urls`"),
        ),
        (
            "@obligation_canonical(\"urls\")",
            Some("`@obligation_canonical` does not know `urls`"),
        ),
        (
            "@obligation_canonical",
            Some("`@obligation_canonical` does not know ``"),
        ),
        ("@add_label(\"pii finance\")", None),
        ("@add_label", Some("`@add_label` needs the labels")),
        ("@raise_sensitivity(\"secret\")", None),
        (
            "@raise_sensitivity(\"public\")",
            Some("`@raise_sensitivity` does not know `public`"),
        ),
        ("@obligation_strip_meta(\"a b/c\")", None),
        (
            "@obligation_strip_meta(\" \")",
            Some("`@obligation_strip_meta` needs the keys to strip"),
        ),
        ("@owner(\"ann\")", Some("unknown annotation `@owner`")),
    ] {
        let text = format!("{annotation} permit(principal, action, resource);");
        let expected: Vec<String> = expected
            .into_iter()
            .map(|text| format!("policy::annotation: {text}"))
            .collect();
        assert_eq!(problems(&[&text]), expected, "{annotation}");
    }
    let forbid = "@obligation_annotate(\"x\") forbid(principal, action, resource);";
    assert_eq!(
        problems(&[forbid]),
        ["policy::annotation: an obligation on a `forbid` would never be carried out"]
    );
}

#[test]
fn an_argument_gets_help_with_the_form_that_works() {
    let check = |condition: &str, pointer: &str| {
        let text = format!(
            "permit(principal, action == Mcp::Action::\"call_tool\", resource) when {{ {condition} }};"
        );
        let errors = Cedar::default().compile(&[source(&text)]).err().unwrap();
        let help = errors.problems[0].help.as_deref().unwrap_or_default();
        let form = format!(
            "write `context.raw_arguments.hasTag({pointer}) && context.raw_arguments.getTag({pointer}) has string && \
             context.raw_arguments.getTag({pointer}).string`"
        );
        assert!(help.contains(&form), "{condition}: {help}");
        let whole = format!(
            "permit(principal, action == Mcp::Action::\"call_tool\", resource) when {{ {} == \"a\" }};",
            form.trim_start_matches("write ").trim_matches('`')
        );
        assert!(problems(&[&whole]).is_empty(), "{whole}");
    };
    check("context.raw_arguments.path like \"/srv/*\"", "\"/path\"");
    check("context.raw_arguments[\"/path\"] == \"a\"", "\"/path\"");
    check("context.raw_arguments has path", "\"/path\"");
    check("context.raw_arguments[\"a/b\"] == 1", "\"/a~1b\"");
    check("context.arguments.path like \"/srv/*\"", "\"/path\"");
    check("context.arguments.options.depth == 1", "\"/options/depth\"");
}

#[test]
fn an_annotation_is_marked_where_it_stands() {
    let text = "@id(\"a\")\n@owner(\"ann\")\npermit(principal, action, resource);";
    let errors = Cedar::default().compile(&[source(text)]).err().unwrap();
    let label = &errors.problems[0].labels[0];
    let marked = text
        .get(label.offset()..label.offset() + label.len())
        .unwrap();
    assert_eq!(marked, "@owner(\"ann\")");
}

#[test]
fn warnings_refuse_unless_they_are_allowed() {
    for text in [
        "@owner(\"ann\") permit(principal, action, resource);",
        "permit(principal, action, resource) when { false };",
        "permit(principal == Mcp::Agent::\"\u{430}dmin\", action, resource);",
        "permit(principal is Mcp::Server, action == Mcp::Action::\"call_tool\", resource);",
    ] {
        assert!(!problems(&[text]).is_empty(), "{text}");
        let cedar = Cedar {
            warnings: WarningMode::Allow,
            ..Cedar::default()
        };
        let compiled = cedar.compile(&[source(text)]).unwrap();
        assert!(!compiled.notices.is_empty(), "{text}");
        assert_eq!(compiled.notices[0].severity, Severity::Warning);
    }
}

#[test]
fn what_nothing_was_found_in_is_not_checked_again() {
    let sound = "permit(principal, action, resource);";
    let warned = "permit(principal, action, resource) when { false };";
    let wrong = "permit(principal, action, resource) when { principal.nme == \"x\" };";
    let cedar = Cedar {
        warnings: WarningMode::Allow,
        ..Cedar::default()
    };
    let compiled = cedar.compile(&numbered(&[sound, warned])).unwrap();
    let known = compiled.engine.checked().under(&Lock::default());
    assert!(known(sound, CheckBasis::Base));
    assert!(!known(warned, CheckBasis::Base));
    assert!(!known(wrong, CheckBasis::Base));
    // What it is told is believed, or nothing would be spared.
    let told = CheckedPolicies::new(&Arc::default(), [wrong.into()].into());
    let cedar = Cedar {
        checked: vec![told],
        ..Cedar::default()
    };
    assert!(cedar.compile(&[source(wrong)]).is_ok());
    assert!(cedar.compile(&[source(warned)]).is_err());
}

#[test]
fn equal_ids_are_refused_with_both_places() {
    let policy = "@id(\"same\")\npermit(principal, action, resource);";
    let Err(errors) = Cedar::default().compile(&numbered(&[policy, policy])) else {
        panic!("accepted")
    };
    assert_eq!(errors.problems.len(), 1);
    let problem = &errors.problems[0];
    assert_eq!(problem.message, "two policies are called `same`");
    assert_eq!(problem.source.as_ref().unwrap().name(), "1.cedar");
    assert!(
        problem
            .help
            .as_ref()
            .unwrap()
            .starts_with("the first is at 0.cedar:1")
    );
    // A number in a file's name is no place of another file's.
    let ids = [
        "@id(\"1.cedar:1\") permit(principal, action, resource);",
        "permit(principal, action, resource);",
    ];
    assert_eq!(
        problems(&ids),
        ["policy::duplicate_id: two policies are called `1.cedar:1`"]
    );
}

#[test]
fn what_is_open_is_what_permits_name() {
    for (text, expected) in [
        ("", "tools: none; closed: ALL"),
        (
            "permit(principal, action, resource);",
            "tools: by policy; open: ALL",
        ),
        (
            r#"permit(principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"b");
               permit(principal, action == Mcp::Action::"call_tool", resource in Mcp::ToolGroup::"allow")
               when { context.targets.outside };"#,
            "tools: a, b; closed: ALL",
        ),
        (
            r#"permit(principal, action, resource);
               forbid(principal, action == Mcp::Action::"call_tool", resource);
               forbid(principal, action in Mcp::Action::"use", resource is Mcp::Prompt);"#,
            "tools: none; open: ALL",
        ),
        (
            r#"permit(principal, action in Mcp::Action::"server_request", resource);"#,
            "tools: none; open: sampling, elicitation, roots; \
             closed: resources, prompts, completion, logging, subscriptions",
        ),
    ] {
        let all =
            "resources, prompts, completion, logging, subscriptions, sampling, elicitation, roots";
        let mut cedar = Cedar {
            warnings: WarningMode::Allow,
            ..Cedar::default()
        };
        cedar.groups.add("a", "allow");
        let surfaces = cedar.compile(&[source(text)]).unwrap().surfaces;
        assert_eq!(surfaces.to_string(), expected.replace("ALL", all), "{text}");
    }
}

/// An empty allowlist's group and a world without policies permit nothing at all.
#[test]
fn no_policies_permit_nothing() {
    for text in ["", "\n\n", "// permit(principal, action, resource);\n"] {
        let world = World::new();
        let server = crate::policy::Resource::Server(&world.server);
        let facts = world.facts(crate::policy::Action::Initialize, server);
        assert_eq!(judged(text, &facts), "nothing");
    }
}

/// What is left out of a request may only be seen by its name. A record whose fields are optional
/// cannot be compared with one that leaves some out, because strict types must be the same.
#[test]
fn records_are_compared_only_with_all_their_fields_named() {
    for condition in [
        r#"context.raw_arguments.hasTag("/n") && context.raw_arguments.getTag("/n") == { long: 5, text: "5" }"#,
        r#"context.raw_arguments.hasTag("/n") && [{ long: 5 }].contains(context.raw_arguments.getTag("/n"))"#,
        r#"context.env.consent == { granted: true, scope: "" }"#,
        r#"context.env == { transport: "", protocol: "", now: context.env.now,
            session: context.env.session, consent: context.env.consent }"#,
        "context == { env: context.env }",
    ] {
        let text = format!(
            r#"forbid(principal, action == Mcp::Action::"call_tool", resource) when {{ {condition} }};"#
        );
        let problems = problems(&[&text]);
        assert!(
            problems[0].ends_with("are not compatible"),
            "{condition} {problems:?}"
        );
    }
}

fn report(texts: &[&str]) -> String {
    let Err(errors) = Cedar::default().compile(&numbered(texts)) else {
        panic!("accepted")
    };
    let mut text = String::new();
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    for problem in &errors.problems {
        handler.render_report(&mut text, problem).unwrap();
        writeln!(text).unwrap();
    }
    text
}

#[test]
fn an_argument_is_called_by_a_json_pointer() {
    let guard = |tag: &str| {
        format!(
            r#"@id("g") forbid(principal, action == Mcp::Action::"call_tool", resource) when {{ context.raw_arguments.hasTag("{tag}") }};"#
        )
    };
    let told = problems(&[&guard("path")]);
    let expected =
        "policy::invalid_json_pointer: no argument is called by a name without a slash before it";
    assert_eq!(told, [expected]);
    for pointer in ["/path", "", "/", "/a b"] {
        assert_eq!(problems(&[&guard(pointer)]), [""; 0], "{pointer}");
    }
}
