//! The command as its users meet it.

use std::fs;
use std::path::Path;

use clap::ValueEnum as _;
use serde_json::Value;

use super::*;
use crate::cli::args::{CheckFormat, PolicyArgs, PolicyCommand};
use crate::lint::ALL;
use crate::policy::engines::cedar::BASE_SCHEMA;

const PAGE: &str = include_str!("../../../docs/lints.md");

/// A directory with files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn args(paths: &[&Path]) -> CheckArgs {
    CheckArgs {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        config: None,
        format: CheckFormat::Json,
        ignore: Vec::new(),
    }
}

fn run_with(args: &CheckArgs) -> (Exit, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = run(args, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (exit, text(out), text(err))
}

fn run_policy_with(command: PolicyCommand) -> (Exit, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = run_policy(&PolicyArgs { command }, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (exit, text(out), text(err))
}

/// The exit, and the codes of what was found.
fn codes(args: &CheckArgs) -> (Exit, Vec<String>) {
    let (exit, out, err) = run_with(args);
    assert_eq!((err.as_str(), out.matches('\n').count()), ("", 1), "{out}");
    let report: Value = out.parse().unwrap();
    let schema = include_str!("../../../docs/schema/check.schema.json");
    let schema: Value = schema.parse().unwrap();
    jsonschema::validate(&schema, &report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let code = |finding: &Value| finding["code"].as_str().unwrap().to_owned();
    (exit, findings.iter().map(code).collect())
}

#[track_caller]
fn check(files: &[(&str, &str)], exit: Exit, expected: &[&str]) {
    let dir = directory(files);
    let found = codes(&args(&[dir.path()]));
    let expected = expected.iter().map(ToString::to_string).collect();
    assert_eq!(found, (exit, expected), "{files:?}");
}

const GOOD: &str = "@id(\"read\")\npermit (principal is Mcp::Agent, action in Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"read\");\n";
const TEST: &str = "[[test]]\nname = 'x'\ncall = 'read'\nexpect = 'allow'\n";

#[test]
fn the_exit_says_whether_something_was_found() {
    let exact = GOOD.replace("action in", "action ==");
    let nameless = GOOD.replace("@id(\"read\")\n", "");
    check(&[("p.cedar", GOOD)], Exit::Success, &[]);
    check(
        &[("p.cedar", GOOD), ("tests/t.toml", TEST)],
        Exit::Success,
        &[],
    );
    check(
        &[("p.cedar", &exact)],
        Exit::Findings,
        &["lint::exact_call"],
    );
    check(
        &[("p.cedar", &nameless)],
        Exit::Findings,
        &["policy::no_id"],
    );
    check(
        &[("p.cedar", "permit (")],
        Exit::Findings,
        &["policy::syntax"],
    );
    check(
        &[("readme.txt", "")],
        Exit::NotChecked,
        &["check::nothing_found"],
    );
    let (exit, found) = codes(&args(&[]));
    assert_eq!(
        (exit, found),
        (Exit::NotChecked, vec!["check::nothing_named".to_owned()])
    );
    let (exit, found) = codes(&args(&[Path::new("no/such/path")]));
    assert_eq!(
        (exit, found),
        (Exit::NotChecked, vec!["test::unreadable".to_owned()])
    );
}

#[test]
fn packs_are_found_in_whatever_language_they_are() {
    let rego = ("rego/p.rego", "package mcp\n\ndecision := :=\n");
    let cel = ("cel/p.cel.toml", "[[rule]\n");
    let cedar = ("cedar/p.cedar", GOOD);
    let syntax = "policy::syntax";
    let found = Exit::Findings;
    check(&[cedar, rego, cel], found, &[syntax, syntax]);
    check(&[rego], found, &[syntax]);
    check(&[cel], found, &[syntax]);
    let beside = ("cedar/tests/t.toml", TEST);
    check(&[cedar, beside, cel], found, &[syntax]);
    // What only bears the name of a policy.
    check(
        &[("rego/p.rego/readme.txt", "")],
        Exit::NotChecked,
        &["check::nothing_found"],
    );
}

#[test]
fn policies_labels_and_tests_are_told_of_at_once() {
    check(
        &[
            ("p.cedar", &GOOD.replace("Mcp::Tool", "Mcp::Tol")),
            (
                "q.cedar",
                "@id(\"q\") permit (principal, action == Mcp::Action::\"ping\", resource) when { context.env.session.level == 1 };",
            ),
            ("tools.toml", "[tools.x]\npermision = 'read'\n"),
            ("tests/t.toml", &TEST.replace("expect", "expct")),
        ],
        Exit::Findings,
        // A fixture that cannot be read shows nothing about which tools are tested.
        &[
            "policy::labels",
            "policy::type",
            "lint::equality_on_level",
            "test::required",
            "test::unknown_key",
        ],
    );
}

#[test]
fn a_broken_lock_and_a_wrong_type_hide_nothing_else() {
    let typed = "@id(\"t\") permit (principal, action == Mcp::Action::\"call_tool/read\", resource) when { context.arguments.path == \"a\" };\n";
    let wrong = GOOD.replace("Mcp::Tool", "Mcp::Tol");
    let nameless = GOOD.replace("@id(\"read\")\n", "");
    let labels = ("tools.toml", "[tools.x]\npermision = 'read'\n");
    let texts = format!("{wrong}{typed}{nameless}");
    check(
        &[("p.cedar", &texts), labels, ("tools.lock", "{}")],
        Exit::Findings,
        // The lock lacks two keys; whether the typed policy is right is unknown.
        &[
            "policy::lock",
            "policy::lock",
            "policy::labels",
            "policy::type",
        ],
    );
    check(
        &[("p.cedar", &format!("{wrong}{nameless}"))],
        Exit::Findings,
        &["policy::type"],
    );
    check(
        &[("p.cedar", GOOD), ("tools.lock", "{")],
        Exit::Findings,
        &["policy::lock"],
    );
}

#[test]
fn a_mark_before_the_first_letter_is_named() {
    let marked = format!("\u{feff}{GOOD}");
    for file in [
        "p.cedar",
        "p.rego",
        "p.cel.toml",
        "tools.toml",
        "tools.lock",
    ] {
        let dir = directory(&[("good.cedar", GOOD), (file, &marked)]);
        let (exit, out, _) = run_with(&args(&[dir.path()]));
        assert_eq!(exit, Exit::Findings, "{file}");
        let report: Value = out.parse().unwrap();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{out}");
        let message = findings[0]["message"].as_str().unwrap();
        assert!(message.contains("byte order mark"), "{out}");
    }
}

#[test]
fn no_control_character_reaches_a_terminal_from_a_snippet() {
    let text = GOOD.replace("\"read\";", "\"re\0ad\u{1b}[2J\u{7f}\u{9b}\";");
    let text = text + "@id(\"\0\u{1b}[2J\u{7f}\u{9b}\") permit (;\n";
    let dir = directory(&[("p.cedar", &text)]);
    let mut args = args(&[dir.path()]);
    args.format = CheckFormat::Human;
    let (exit, _, err) = run_with(&args);
    assert_eq!(exit, Exit::Findings);
    assert!(err.contains("\\u{0}"), "{err:?}");
    let raw = |c: char| c.is_control() && c != '\n';
    assert!(!err.contains(raw), "{err:?}");
}

#[test]
fn warnings_that_are_allowed_are_told_and_do_not_count() {
    let config = "[upstream]\ncommand = ['x']\n[policy]\ndir = 'p'\nallow_warnings = true\n";
    let dir = directory(&[
        ("gate.toml", config),
        ("p/p.cedar", &GOOD.replace("action in", "action ==")),
    ]);
    let found = vec!["lint::exact_call".to_owned()];
    assert_eq!(
        codes(&args(&[&dir.path().join("p")])),
        (Exit::Findings, found.clone())
    );
    let mut args = args(&[]);
    args.config = Some(dir.path().join("gate.toml"));
    assert_eq!(codes(&args), (Exit::Success, found));
    fs::write(dir.path().join("p/q.cedar"), "permit (").unwrap();
    assert_eq!(codes(&args).0, Exit::Findings);
}

#[test]
fn a_configuration_names_what_is_checked() {
    let config = "[upstream]\ncommand = ['x']\n[policy]\ndir = 'p'\nallow = ['read_*']\n";
    let dir = directory(&[
        ("gate.toml", config),
        ("p/p.cedar", GOOD),
        ("p/tests/t.toml", &format!("allow = ['read_*']\n{TEST}")),
    ]);
    let mut args = args(&[]);
    let file = dir.path().join("gate.toml");
    args.config = Some(file.clone());
    assert_eq!(
        codes(&args),
        (Exit::Findings, vec!["policy::allow".to_owned()])
    );
    let (_, out, _) = run_with(&args);
    let report: Value = out.parse().unwrap();
    let place = &report["findings"][0];
    assert_eq!(
        (&place["line"], &place["column"]),
        (&5.into(), &10.into()),
        "{out}"
    );

    let allowlist = PolicyCommand::Allowlist {
        config: file.clone(),
    };
    let (exit, out, _) = run_policy_with(allowlist.clone());
    assert_eq!(exit, Exit::Success);
    assert!(
        out.contains("@id(\"allowlist\")") && out.contains("\"read_*\""),
        "{out}"
    );
    fs::write(&file, config.replace("allow = ['read_*']\n", "")).unwrap();
    let (exit, _, told) = run_policy_with(allowlist);
    assert_eq!(exit, Exit::NotChecked);
    assert!(told.contains("check::no_allowlist"), "{told}");
    fs::write(&file, "[upstrem]\n").unwrap();
    assert_eq!(codes(&args).0, Exit::NotChecked);
    let schema = |config: Option<&Path>| {
        run_policy_with(PolicyCommand::Schema {
            dir: None,
            config: config.map(Path::to_owned),
        })
    };
    assert_eq!(schema(Some(&file)).0, Exit::NotChecked);
    fs::write(&file, config).unwrap();
    for config in [None, Some(&*file)] {
        let (exit, out, _) = schema(config);
        assert_eq!((exit, out.as_str()), (Exit::Success, BASE_SCHEMA));
    }
}

#[test]
fn a_configuration_says_what_its_server_and_its_own_secrets_are_called() {
    let config = "[upstream]\nname = 'files'\ncommand = ['x']\n[policy]\ndir = 'p'\n\
        [guards.secret_rules.own-badge]\nkeywords = ['badge']\npattern = 'badge-[0-9]{9}'\n";
    let rule = |id: &str, server: &str, secret: &str| {
        format!(
            "@id(\"{id}\") forbid (principal, action in Mcp::Action::\"call_tool\", resource in \
             Mcp::Server::\"{server}\") when {{ context.targets.secrets.contains(\"{secret}\") }};\n"
        )
    };
    let good = rule("a", "files", "own-badge");
    let bad = rule("b", "flies", "own-bagde");
    let dir = directory(&[
        ("gate.toml", config),
        ("p/p.cedar", &format!("{GOOD}{good}{bad}")),
    ]);
    let mut args = args(&[]);
    args.config = Some(dir.path().join("gate.toml"));
    assert_eq!(codes(&args).1, ["lint::unknown_name", "lint::unknown_word"]);
    // Without it the name of the server and the custom secret rules are unknown.
    args.config = None;
    args.paths = vec![dir.path().join("p")];
    assert_eq!(codes(&args).1, ["lint::unknown_word", "lint::unknown_word"]);
}

#[test]
fn what_the_gate_says_is_known() {
    let found = |action: &str, condition: &str, expected: &[&str]| {
        let policy = format!(
            "@id(\"f\") forbid (principal, action == Mcp::Action::\"{action}\", resource) when \
             {{ {condition} }};\n"
        );
        let exit = if expected.is_empty() {
            Exit::Success
        } else {
            Exit::Findings
        };
        check(&[("p.cedar", &format!("{GOOD}{policy}"))], exit, expected);
    };
    let method = |name: &str| format!("context.method == \"{name}\"");
    let unknown = ["lint::unknown_word"];
    found("notify", &method("notifications/progress"), &[]);
    found("notify", &method("tasks/list"), &[]);
    found("notify", &method("notifications/progres"), &unknown);
    found("notify", &method("notifications/cancelled"), &unknown);
    found("notify", &method("tools/call"), &unknown);
    let flag = |name: &str| format!("context.result.flags.contains(\"{name}\")");
    found("receive_result", &flag("exfiltration"), &[]);
    found("receive_result", &flag("instruct"), &unknown);
    let secret = |name: &str| format!("context.result.secrets.contains(\"{name}\")");
    found("receive_result", &secret("rsa-private-key"), &[]);
    found("receive_result", &secret("private-key-of-rsa"), &unknown);
}

#[test]
fn what_is_allowed_is_not_found_and_an_unknown_name_is_an_error() {
    let exact = GOOD.replace("action in", "action ==");
    let allowed = |names: &str, text: &str| format!("@lint_ignore(\"{names}\")\n{text}");
    let found = |text: &str, exit: Exit, expected: &[&str]| {
        check(&[("p.cedar", text)], exit, expected);
    };
    found(&allowed("exact_call", &exact), Exit::Success, &[]);
    found(&allowed("lint::exact_call", &exact), Exit::Success, &[]);
    let both = exact
        .replace("\"read\";", "\"read_*\";")
        .replace("Tool::\"read\"", "Tool::\"read_*\"");
    found(
        &allowed("exact_call, glob_literal", &both),
        Exit::Success,
        &[],
    );
    found(
        &allowed("exact_call", &both),
        Exit::Findings,
        &["lint::glob_literal"],
    );
    let unknown = "lint::unknown_lint";
    found(
        &allowed("exact_call, glob_literal", GOOD),
        Exit::Findings,
        &[unknown, unknown],
    );
    found(&allowed("exact_cal", GOOD), Exit::Findings, &[unknown]);
    found(&allowed("", GOOD), Exit::Findings, &[unknown]);

    let dir = directory(&[("p.cedar", &exact)]);
    let mut args = args(&[dir.path()]);
    args.ignore = vec!["exact_call".to_owned()];
    assert_eq!(codes(&args), (Exit::Success, Vec::new()));
    args.ignore.push("exact_cal".to_owned());
    assert_eq!(codes(&args), (Exit::NotChecked, vec![unknown.to_owned()]));
}

/// Shipped packs and everything that documents them are as good as we ask others to be.
#[test]
fn no_lint_finds_anything_in_the_shipped_packs() {
    let packs = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let args = args(&[packs.as_path()]);
    let (exit, out, _) = run_with(&args);
    assert_eq!(exit, Exit::Success, "{out}");
    let report: Value = out.parse().unwrap();
    let checked = report["checked"].as_array().unwrap();
    assert!(checked.len() > 1, "{out}");
    for pack in checked {
        let args = CheckArgs {
            config: Some(Path::new(pack.as_str().unwrap()).join("gate.toml")),
            ..self::args(&[])
        };
        let (exit, out, _) = run_with(&args);
        assert_eq!(exit, Exit::Success, "{out}");
    }
}

/// What no compiler or lint may fall over, in every format.
#[test]
fn whatever_policies_hold_ends_with_a_report() {
    let wide = |condition: String| {
        format!("@id(\"x\") permit (principal, action, resource) when {{ {condition} }};")
    };
    let texts = [
        wide(format!("{}true{}", "(".repeat(5000), ")".repeat(5000))),
        wide(format!("{}true{}", "(".repeat(60), ")".repeat(60))),
        wide(format!("{}true", "!(true) && ".repeat(250))),
        wide(format!("{}true", "true || ".repeat(5000))),
        wide(format!(
            "{}principal == principal",
            "if true then false else ".repeat(60)
        )),
        wide(format!("[{}].contains(1)", vec!["1"; 20_000].join(","))),
        wide("\"\u{202e}a\\u{0}\\n`\" == \"%25::error::\"".to_owned()),
        "@id(\"a\u{202e},:%\\r\\n::error::x\")\npermit (principal, action, resource);".to_owned(),
        "permit (principal, action, resource);\n".repeat(200),
        "\u{feff}permit".to_owned(),
        "@id(".repeat(5000),
    ];
    for text in &texts {
        let dir = directory(&[("p.cedar", text)]);
        for format in CheckFormat::value_variants() {
            let mut args = args(&[dir.path()]);
            args.format = *format;
            let (exit, out, err) = run_with(&args);
            assert_ne!(exit, Exit::NotChecked, "{format:?} {text:.80}");
            let told = if *format == CheckFormat::Human {
                &err
            } else {
                &out
            };
            let silent = *format == CheckFormat::Github && exit == Exit::Success;
            assert_eq!(told.is_empty(), silent, "{format:?} {text:.80}");
            let raw = |c: char| c == '\u{202e}' || c.is_control() && c != '\n';
            assert!(
                *format == CheckFormat::Human || !told.contains(raw),
                "{format:?}"
            );
        }
    }
}

#[test]
fn a_sarif_log_keeps_to_its_schema() {
    let schema = include_str!("../../../tests/support/sarif/sarif-schema-2.1.0.json");
    let mut schema: Value = schema.parse().unwrap();
    // A stray bracket: it is no regular expression by ECMA-262, and we write no language.
    for of in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][of]["properties"]["language"];
        let pattern = language.as_object_mut().unwrap().remove("pattern");
        assert_eq!(pattern.unwrap(), "^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$");
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let names = GOOD
        .replace("action in", "action ==")
        .replace("\"read\"", "\"r\u{e9}\u{202e}d\"");
    let odd = directory(&[("a b%,é.cedar", &names), ("q.cedar", "permit (")]);
    let clean = directory(&[("p.cedar", GOOD)]);
    for (dir, least) in [
        (odd.path(), 2),
        (clean.path(), 0),
        (Path::new("no/such"), 1),
    ] {
        let mut args = args(&[dir]);
        args.format = CheckFormat::Sarif;
        let (_, out, _) = run_with(&args);
        let log: Value = out.parse().unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&log)
            .map(|it| it.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{out}");
        let run = &log["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert!(results.len() >= least, "{out}");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"], "{out}");
        }
    }
    // The schema itself says what is wrong.
    assert!(!validator.is_valid(&serde_json::json!({"version": "2.1.0", "runs": [{}]})));
}

/// Files of one section of the page: those for both cases, and those of one.
fn snippets(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(fence), false) => {
                let title = fence
                    .split_once("title=\"")
                    .and_then(|(_, it)| it.strip_suffix('"'));
                found.push((title.unwrap_or_default().to_owned(), String::new()));
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                let text = &mut found.last_mut().unwrap().1;
                text.push_str(line);
                text.push('\n');
            }
            (None, false) => {}
        }
    }
    found
}

#[test]
fn the_page_has_a_row_and_a_section_for_each_lint_that_shows_it() {
    let mut sections = PAGE.split("\n### ");
    let head = sections.next().unwrap();
    let mut named = Vec::new();
    for section in sections {
        let (name, text) = section.split_once('\n').unwrap();
        let lint = Lint::named(name).unwrap_or_else(|| panic!("no lint is called {name}"));
        let row = format!("|[`{name}`](#{name})|{}|", lint.about);
        assert!(head.contains(&row), "{row}");
        named.push(lint.name());
        let files = snippets(text);
        for (case, found) in [("bad", true), ("good", false)] {
            let of_case = files
                .iter()
                .filter_map(|(title, text)| match title.split_once('/') {
                    Some((of, file)) if of == "bad" || of == "good" => {
                        (of == case).then_some((file, text))
                    }
                    _ => Some((title.as_str(), text)),
                });
            let of_case: Vec<(&str, &str)> =
                of_case.map(|(file, text)| (file, text.as_str())).collect();
            let dir = directory(&of_case);
            let file = dir.path().join("gate.toml");
            let args = if file.exists() {
                CheckArgs {
                    config: Some(file),
                    ..args(&[])
                }
            } else {
                args(&[dir.path()])
            };
            let (_, codes) = codes(&args);
            // Besides, Cedar warns of mixed scripts, and some snippets permit no tool.
            let is_expected = |code: &String| {
                code.starts_with("lint::")
                    || ["policy::no_tools", "policy::type"].contains(&code.as_str())
            };
            assert!(codes.iter().all(is_expected), "{name} {case}: {codes:?}");
            assert_eq!(
                codes.iter().any(|code| code == lint.code),
                found,
                "{name} {case}: {codes:?}"
            );
        }
    }
    let all: Vec<&str> = ALL.iter().map(|lint| lint.name()).collect();
    assert_eq!(named, all);
    assert_eq!(head.matches("\n|[`").count(), all.len());
    assert!(all.is_sorted(), "{all:?}");
}

#[test]
fn what_the_page_shows_before_its_lints_works() {
    let (head, _) = PAGE.split_once("\n### ").unwrap();
    let (mut commands, mut files) = (0, 0);
    for (title, text) in snippets(head) {
        if title.is_empty() {
            for command in text.lines() {
                let command = command.split(" #").next().unwrap();
                let parsed = crate::cli::args::parse(command.split_whitespace());
                assert!(parsed.is_ok(), "{command}");
                commands += 1;
            }
            continue;
        }
        files += 1;
        let file = title.strip_prefix("allowed/").unwrap();
        check(&[(file, &text)], Exit::Success, &[]);
    }
    assert_eq!((commands, files), (3, 1));
}

#[test]
fn a_report_that_cannot_be_written_is_no_success() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let dir = directory(&[("p.cedar", GOOD)]);
    for format in CheckFormat::value_variants() {
        let mut args = args(&[dir.path()]);
        args.format = *format;
        let exit = run(&args, &mut Full, &mut Full);
        let silent = *format == CheckFormat::Github;
        // Where nothing is found there is nothing to annotate.
        assert_eq!(exit == Exit::Success, silent, "{format:?}");
    }
    let schema = PolicyCommand::Schema {
        dir: None,
        config: None,
    };
    let schema = PolicyArgs { command: schema };
    assert_eq!(run_policy(&schema, &mut Full, &mut Full), Exit::NotChecked);
}

#[test]
fn a_manifest_is_written_for_policies_that_are_in_order_and_then_checked() {
    let dir = directory(&[("p.cedar", GOOD)]);
    let file = dir.path().join("MANIFEST");
    let write = |dir: &Path, format: CheckFormat| {
        run_policy_with(PolicyCommand::Manifest {
            dir: dir.to_owned(),
            format,
        })
    };
    let (exit, out, told) = write(dir.path(), CheckFormat::Human);
    assert_eq!((exit, out.as_str()), (Exit::Success, ""), "{told}");
    assert_eq!(told, format!("{}: written\n", file.display()));
    assert_eq!(codes(&args(&[dir.path()])), (Exit::Success, vec![]));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.ends_with("  p.cedar\n"), "{text}");

    fs::write(dir.path().join("p.cedar"), format!("{GOOD}// changed\n")).unwrap();
    let stale = codes(&args(&[dir.path()]));
    assert_eq!(stale, (Exit::Findings, vec!["policy::manifest".to_owned()]));

    fs::write(dir.path().join("p.cedar"), "permit").unwrap();
    let (exit, out, _) = write(dir.path(), CheckFormat::Json);
    assert_eq!(exit, Exit::Findings);
    assert!(out.contains("policy::syntax"), "{out}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    let (exit, out, _) = write(&dir.path().join("none"), CheckFormat::Json);
    assert_eq!(exit, Exit::Findings);
    assert!(out.contains("policy::file"), "{out}");
}

#[test]
fn what_cannot_be_checked_says_nothing_of_tests() {
    let dir = directory(&[("a.txt", "")]);
    for path in [dir.path().join("none"), dir.path().to_owned()] {
        let human = CheckArgs {
            format: CheckFormat::Human,
            ..args(&[&path])
        };
        let (exit, out, told) = run_with(&human);
        assert_eq!((exit, out.as_str()), (Exit::NotChecked, ""), "{told}");
        assert!(!told.contains("tests cannot run"), "{told}");
        assert!(told.contains(&*path.to_string_lossy()), "{told}");
    }
}

#[test]
fn what_is_told_of_a_locked_tool_has_its_line_and_can_be_done_without() {
    let lock = locking(r#"{"properties":{"x":{},"z":{"type":"string"}},"type":"object"}"#);
    let tests = TEST.replace("'read'", "'other'");
    let (lock, tests) = (("tools.lock", &*lock), ("tests/t.toml", &*tests));
    // No policy reads arguments by their types.
    check(
        &[("p.cedar", GOOD), lock, tests],
        Exit::Findings,
        &["lint::untested_tool"],
    );
    let typed = GOOD
        .replace(
            "in Mcp::Action::\"call_tool\"",
            "== Mcp::Action::\"call_tool/read\"",
        )
        .replace(
            ");",
            ") unless { context.arguments has z && context.arguments.z == \"a\" };",
        );
    let dir = directory(&[("p.cedar", &typed), lock, tests]);
    let mut args = args(&[dir.path()]);
    let (exit, out, _) = run_with(&args);
    assert_eq!(exit, Exit::Findings, "{out}");
    let report: Value = out.parse().unwrap();
    let findings = report["findings"].as_array().unwrap();
    for code in ["policy::untyped", "lint::untested_tool"] {
        let finding = findings.iter().find(|it| it["code"] == code);
        let finding = finding.unwrap_or_else(|| panic!("{code}: {out}"));
        let file = finding["file"].as_str().unwrap();
        assert!(file.ends_with("tools.lock"), "{finding}");
        assert_eq!(finding["line"], 4, "{finding}");
    }
    args.format = CheckFormat::Sarif;
    let (_, out, _) = run_with(&args);
    let log: Value = out.parse().unwrap();
    for result in log["runs"][0]["results"].as_array().unwrap() {
        assert!(result["locations"][0].is_object(), "{result}");
    }
    args.format = CheckFormat::Github;
    let (_, out, _) = run_with(&args);
    assert!(out.lines().all(|line| line.contains("file=")), "{out}");

    args.format = CheckFormat::Json;
    args.ignore = vec!["policy::untyped".to_owned(), "untested_tool".to_owned()];
    assert_eq!(codes(&args), (Exit::Success, Vec::new()));
    args.ignore = vec!["policy::syntax".to_owned()];
    assert_eq!(codes(&args).0, Exit::NotChecked);
}

/// A lock of the tool `read` on the fourth line; the schema is canonical.
fn locking(schema: &str) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    let definition = format!("{{\"inputSchema\":{schema}}}");
    let named = format!("{{\"inputSchema\":{schema},\"name\":\"read\"}}");
    let digest = sha2::Sha256::digest(named);
    let digest = digest.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    format!(
        "{{\n\"version\": 1,\n\"tools\": [\n{{\"name\": \"read\", \"sha256\": \"{digest}\", \"definition\": {definition}}}\n]}}\n"
    )
}

#[test]
fn what_is_of_another_type_says_what_to_write_instead() {
    let lock =
        locking(r#"{"properties":{"head":{"type":"number"}},"required":["head"],"type":"object"}"#);
    let check = |action: &str, condition: &str, says: &str| {
        let policy = format!(
            "@id(\"a\") permit (principal is Mcp::Agent, action == Mcp::Action::\"{action}\", resource) when {{ {condition} }};"
        );
        let dir = directory(&[("p.cedar", &policy), ("tools.lock", &lock)]);
        let (_, out, _) = run_with(&args(&[dir.path()]));
        let report: Value = out.parse().unwrap();
        let findings = report["findings"].as_array().unwrap();
        let wrong = findings.iter().find(|it| it["code"] == "policy::type");
        let help = wrong.map(|it| it["help"].to_string()).unwrap_or_default();
        assert!(help.contains(says), "{condition}: {out}");
    };
    check(
        "call_tool/read",
        "context.arguments.head > 100",
        "greaterThan(decimal(",
    );
    check(
        "call_tool",
        "context.raw_arguments[\"/path\"] == \"x\"",
        "getTag",
    );
}

#[test]
fn several_servers_are_checked_together_and_what_concerns_one_names_it() {
    let policies = r#"
        @id("tools")
        permit (principal is Mcp::Agent, action in Mcp::Action::"call_tool", resource is Mcp::Tool)
        when { [Mcp::Tool::"crm/read", Mcp::Tool::"mail/send"].contains(resource) };
        @id("named")
        forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"crm/read")
        when { resource.name == "read" && context.env.session.calls > 3 };
    "#;
    let labels = "
        tools.'crm/read' = { permission = 'read', sensitivity = 'confidential' }
        tools.'mail/send' = { permission = ['write', 'connect'] }
        tools.'mail/read' = { permission = 'read' }
    ";
    let tests = "
        [[test]]
        name = 'nothing is sent after reading'
        steps = [
          { server = 'crm', call = 'read', expect = 'allow' },
          { server = 'mail', call = 'send', expect = 'deny' },
        ]
    ";
    let gate = "
        listen = { transport = 'http', port = 3000 }
        policy.dir = 'policies'
        servers.crm.command = ['crm']
        servers.mail.command = ['mail']
    ";
    let dir = directory(&[
        ("policies/p.cedar", policies),
        ("policies/tools.toml", labels),
        ("policies/tests/t.toml", tests),
        ("gate.toml", gate),
    ]);
    let args = CheckArgs {
        config: Some(dir.path().join("gate.toml")),
        ..args(&[])
    };
    let (exit, out, _) = run_with(&args);
    let report: Value = out.parse().unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let found: Vec<_> = findings
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap_or_default();
            (
                text("code"),
                format!("{} {}", text("message"), text("help")),
            )
        })
        .collect();
    let codes: Vec<&str> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(exit, Exit::Findings);
    assert_eq!(
        codes,
        ["network::unlimited", "lint::untested_tool"],
        "{found:#?}"
    );
    assert!(
        found[0].1.contains("`servers.crm.sandbox.network`"),
        "{found:#?}"
    );
    assert!(
        found[1].1.contains("no test names `mail/read`"),
        "{found:#?}"
    );
}

#[test]
fn a_configuration_is_told_which_policies_the_gate_adds_to_its_own() {
    let check = |more: &str, expected: &[(&str, Option<&str>)]| {
        let text =
            format!("listen.transport = \"http\"\nlisten.port = 3000\npolicy.allow = []\n{more}");
        let dir = directory(&[("gate.toml", &text)]);
        let mut args = CheckArgs {
            config: Some(dir.path().join("gate.toml")),
            ..args(&[])
        };
        let (_, out, _) = run_with(&args);
        let report: Value = out.parse().unwrap();
        let told = report["builtin_policies"].as_array().unwrap().iter();
        let told: Vec<_> = told
            .map(|it| (it["id"].as_str().unwrap(), it["key"].as_str()))
            .filter(|(id, _)| {
                !["core.", "base.", "sampling."]
                    .iter()
                    .any(|it| id.starts_with(it))
            })
            .collect();
        assert_eq!(told, expected, "{more}");
        args.format = CheckFormat::Human;
        let (_, _, err) = run_with(&args);
        for (id, key) in expected {
            let line = format!("\n  {id} (`{}`): ", key.unwrap());
            assert!(err.contains(&line), "{err}");
        }
        assert!(
            err.contains("built-in policies in force:\n  core.lifecycle: "),
            "{err}"
        );
    };
    let egress = ("builtin.no_egress", Some("ratchet.network"));
    let flow_in = ("builtin.flow_in", Some("flow.flow_in"));
    let context = ("builtin.flow_context", Some("flow.flow_context"));
    check("upstream.command = [\"a\"]\n", &[egress]);
    let several = "servers.crm.command = [\"a\"]\nservers.mail.command = [\"b\"]\n";
    check(several, &[egress, flow_in, context]);
    let off = "flow = { flow_in = \"off\", flow_context = \"off\" }\nratchet.network = { confidential = \"full\", secret = \"full\" }\n";
    check(&format!("{several}{off}"), &[]);
    let walls = "servers.mail.clearance = \"public\"\nflow.from.crm.to = []\n";
    let out = ("builtin.flow_out", Some("flow.flow_out"));
    let wall = ("builtin.walls", Some("flow.from"));
    check(
        &format!("{several}{walls}"),
        &[egress, out, flow_in, context, wall],
    );
}

#[test]
fn packs_without_a_configuration_have_no_list_of_the_gates_policies() {
    let dir = directory(&[("p.cedar", "permit (principal, action, resource);")]);
    let (_, out, _) = run_with(&args(&[dir.path()]));
    let report: Value = out.parse().unwrap();
    assert!(
        report["findings"].is_array() && report["builtin_policies"].is_null(),
        "{report}"
    );
}
