//! Invalid input: each command reports the problem in a few lines, and none panics.

use std::fs;
use std::path::Path;
use std::process::Command;

const PERMIT: &str = "@id(\"a\") permit (principal, action == Mcp::Action::\"ping\", resource);";
const DEEP: usize = 100_000;

/// The files of a pack, and what `check`, `validate-config` and `test-policy` must say of it.
#[track_caller]
fn check(files: &[(&str, String)], says: &str) {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = dir.path().join("pack").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "tests/t.toml",
        "[[test]]\nname = 'x'\ncall = 'x'\nexpect = 'deny'\n",
    );
    for (file, text) in files {
        write(file, text);
    }
    let config = "upstream.command = ['no-such-program']\npolicy.dir = 'pack'\n";
    fs::write(dir.path().join("gate.toml"), config).unwrap();
    let is_of_tests = files.iter().all(|(file, _)| file.starts_with("tests/"));
    let is_of_rules = |file: &str| {
        [".cedar", ".rego", ".cel.toml"]
            .iter()
            .any(|it| file.ends_with(it))
    };
    if !files.iter().any(|(file, _)| is_of_rules(file)) {
        write("a.cedar", PERMIT);
    }
    let of_tests = if is_of_tests { 2 } else { 3 };
    told(dir.path(), &["check", "pack"], 1, says);
    told(dir.path(), &["test-policy", "pack"], of_tests, says);
    if !is_of_tests {
        told(
            dir.path(),
            &["validate-config", "--config", "gate.toml"],
            1,
            says,
        );
    }
}

#[track_caller]
fn told(dir: &Path, command: &[&str], code: i32, says: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-protector"))
        .args(command)
        .current_dir(dir)
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let start: String = text.chars().take(2000).collect();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {start}");
    assert!(text.contains(says), "{command:?}: {says}: {start}");
    // Snippets of every problem are short, whatever the file is.
    assert!(text.len() < 400_000, "{command:?}: {}", text.len());
    let hidden = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}\u{feff}".contains(c);
    assert!(!text.contains(hidden), "{command:?}: {start:?}");
}

#[test]
fn what_the_files_of_a_configuration_lack_is_told_at_the_key_that_names_them() {
    let check = |more: &str, roots: &str, says: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("pack")).unwrap();
        fs::write(dir.path().join("pack/a.cedar"), PERMIT).unwrap();
        fs::write(dir.path().join("pack/roots.toml"), roots).unwrap();
        let config = format!("policy.dir = 'pack'\nupstream.command = ['cat']\n{more}\n");
        fs::write(dir.path().join("gate.toml"), config).unwrap();
        for says in says {
            let command = &["validate-config", "--config", "gate.toml"];
            told(dir.path(), command, 1, says);
        }
    };
    check(
        "upstream.cwd = '/no/such/place'",
        "",
        &["gate.toml:3:", "upstream.cwd"],
    );
    check(
        "[[upstream.isolated]]\nmin_sensitivity = 'secret'\ncommand = ['no-such-program']",
        "",
        &["gate.toml:5:", "upstream.isolated[0].command"],
    );
    check(
        "[truncation]\nsave = 'own'",
        "",
        &[
            "gate.toml:4:",
            "truncation.save",
            "has no root `own`",
            "help: name such a root: others could read what is saved elsewhere",
        ],
    );
    check(
        "",
        "[roots.own]\npath = '/srv/${principal}'\nwritable = true",
        &["roots.own", "help: confine the server"],
    );
}

fn when(condition: &str) -> (&'static str, String) {
    let policy = format!("permit (principal, action, resource) when {{ {condition} }};");
    ("a.cedar", policy)
}

#[test]
fn what_nests_a_hundred_thousand_deep_is_refused_by_every_command() {
    let deep = |text: &str| text.repeat(DEEP);
    for condition in [
        format!("{}true{}", deep("("), deep(")")),
        deep("!") + "true",
        deep("if true then ") + "true" + &deep(" else true"),
        format!("context{}", deep(".a")),
        deep("true || ") + "true",
    ] {
        check(&[when(&condition)], "policy::too_deep");
    }
    let annotated = deep("@a(\"x\")") + PERMIT;
    check(&[("a.cedar", annotated)], "annotations on one policy");
    let rule = |when: String| format!("[[rule]]\nid = 'x'\neffect = 'permit'\nwhen = '{when}'\n");
    check(&[("a.cel.toml", rule(deep("(")))], "longer than 16384");
    check(&[("a.cel.toml", "x = ".to_owned() + &deep("["))], "recurs");
    let rego = "package mcp\ndecision := ".to_owned();
    check(&[("a.rego", rego + &deep("["))], "brackets in each other");
    for file in ["tools.toml", "agents.toml", "roots.toml", "resources.toml"] {
        let permit = || ("a.cedar", PERMIT.to_owned());
        check(
            &[permit(), (file, "x = ".to_owned() + &deep("["))],
            "recurs",
        );
    }
    check(&[("tools.lock", deep("["))], "deeper than 64");
    check(
        &[("tests/t.toml", "x = ".to_owned() + &deep("["))],
        "recurs",
    );
}

#[test]
fn what_is_ten_megabytes_long_is_refused_by_every_command() {
    let long = || "x".repeat(10_000_000);
    check(&[("a.cedar", format!("// {}", long()))], "larger than");
    check(&[("a.cel.toml", format!("# {}", long()))], "larger than");
    check(&[("a.rego", format!("# {}", long()))], "larger than");
    check(&[("tools.lock", format!("\"{}\"", long()))], "larger than");
    check(&[("roots.toml", format!("# {}", long()))], "larger than");
    check(
        &[("tests/t.toml", format!("# {}", long()))],
        "a test is missing",
    );
}

#[test]
fn a_mistake_that_is_made_a_thousand_times_is_told_often_enough() {
    let policies = |id: &dyn Fn(usize) -> String, action: &str| {
        let policy = |number: usize| {
            format!(
                "@id(\"{}\") permit (principal, action in Mcp::Action::\"{action}\", resource);\n",
                id(number)
            )
        };
        (0..1000).map(policy).collect::<String>()
    };
    let twins = policies(&|_| "same".to_owned(), "call_tool");
    check(&[("a.cedar", twins)], "and 799 more problems");
    let unknown = policies(&|number| number.to_string(), "call_tol");
    check(&[("a.cedar", unknown)], "call_tol");
}

#[test]
fn names_that_hide_turn_or_break_text_are_shown_as_what_they_are() {
    let odd = "a\\\"b\\n\u{202e}\u{200b}\u{430}";
    let policy =
        format!("@id(\"{odd}\") permit (principal, action == Mcp::Action::\"x\", resource);");
    check(&[("a.cedar", policy)], "Mcp::Action");
    let rule = "[[rule]]\nid = \"a\\\"b\\n\\u202e\\u001b[31m\"\neffect = \"permt\"\n";
    check(&[("a.cel.toml", rule.to_owned())], "permt");
    let rego = "package mcp\ndecision := {\"allow\": true} if inptu.\u{202e}\u{200b}\n";
    check(&[("a.rego", rego.to_owned())], "a.rego");
    let tools = "[tools.\"a\\\"b\\n\\u202e\"]\npermision = \"read\"\n";
    let permit = || ("a.cedar", PERMIT.to_owned());
    check(&[permit(), ("tools.toml", tools.to_owned())], "permision");
    let test = "[[test]]\nname = \"a\\nb\\u202e\"\ncal = 'x'\nexpect = 'deny'\n";
    check(&[("tests/t.toml", test.to_owned())], "cal");
}

/// Groups are names and hold no groups: only rules can lead back to themselves.
#[test]
fn rules_in_a_circle_and_a_lock_that_lies_are_refused_by_every_command() {
    let permit = || ("a.cedar", PERMIT.to_owned());
    let lock = format!(
        "{{\"version\":1,\"tools\":[{{\"name\":\"a\",\"sha256\":\"{}\",\
         \"definition\":{{\"inputSchema\":{{\"type\":\"object\"}}}}}}]}}",
        "0".repeat(64)
    );
    check(&[permit(), ("tools.lock", lock)], "sha256");
    let twice = "{\"version\":1,\"tools\":[],\"tools\":[]}".to_owned();
    check(&[permit(), ("tools.lock", twice)], "tools");
    let circle = "package mcp\ndecision := {\"allow\": a}\na if b\nb if a\n".to_owned();
    check(&[("a.rego", circle)], "leads back to itself");
}
