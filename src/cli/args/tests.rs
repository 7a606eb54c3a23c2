use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::*;
use crate::config::OtherMethods;

fn parse_line(line: &str) -> Result<Command, NothingToDo> {
    // `""` is an empty argument, as a shell would pass it.
    let words = line.split_whitespace().map(|word| word.replace("\"\"", ""));
    parse(std::iter::once("mcp-protector".to_owned()).chain(words)).map(|cli| cli.command)
}

fn proxy(line: &str) -> ProxyArgs {
    let command = parse_line(line).unwrap_or_else(|nothing| panic!("{}", nothing.message));
    let Command::Proxy(args) = command else {
        panic!("{line}: {command:?}")
    };
    args
}

#[track_caller]
fn refused(line: &str, kind: ErrorKind, exit: Exit) {
    let nothing = parse_line(line).expect_err(line);
    assert_eq!(
        (nothing.message.kind(), nothing.exit),
        (kind, exit),
        "{line}"
    );
}

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_shows_an_example() {
    for command in Cli::command().get_subcommands_mut() {
        let help = command.render_help().to_string();
        let example = format!("mcp-protector {} ", command.get_name());
        assert!(help.contains("Example"), "{help}");
        assert!(
            help.rsplit("Example")
                .next()
                .is_some_and(|it| it.contains(&example)),
            "{help}"
        );
    }
}

#[test]
fn examples_in_the_help_are_accepted() {
    let mut seen = 0;
    for command in Cli::command().get_subcommands_mut() {
        let help = command.render_help().to_string();
        let examples = help
            .lines()
            .filter_map(|line| line.strip_prefix("  mcp-protector "));
        for example in examples {
            let example = example.split(" && ").next().expect("one command");
            parse_line(example).unwrap_or_else(|nothing| panic!("{}", nothing.message));
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn names_in_an_allowlist_are_separated_by_commas_or_repeated() {
    let cases: [(&str, Option<&[&str]>); 6] = [
        (
            "proxy --allow a,b --allow c -- server",
            Some(&["a", "b", "c"]),
        ),
        ("proxy --allow=a -- server", Some(&["a"])),
        ("proxy --allow \"\" -- server", Some(&[])),
        ("proxy --allow= -- server", Some(&[])),
        ("proxy --allow a,,b, -- server", Some(&["a", "b"])),
        ("proxy --policies p -- server", None),
    ];
    for (line, expected) in cases {
        let config = proxy(line).settings().expect(line);
        let allow = config.policy.allow.as_deref();
        let allow = allow.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(allow.as_deref(), expected, "{line}");
    }
}

#[test]
fn an_allowlist_leaves_other_methods_as_they_are_unless_it_says_otherwise() {
    let cases = [
        ("proxy --allow a -- server", OtherMethods::Allow),
        (
            "proxy --allow a --other-methods allow -- server",
            OtherMethods::Allow,
        ),
        (
            "proxy --other-methods deny --allow a -- server",
            OtherMethods::Deny,
        ),
    ];
    for (line, expected) in cases {
        let config = proxy(line).settings().expect(line);
        assert_eq!(config.policy.other_methods, expected, "{line}");
    }
    let conflict = ErrorKind::ArgumentConflict;
    let without_effect = "proxy --allow a --policies p --other-methods deny -- server";
    refused(without_effect, conflict, Exit::Invalid);
    let unknown = "proxy --allow a --other-methods close -- server";
    refused(unknown, ErrorKind::InvalidValue, Exit::Invalid);
}

#[test]
fn what_follows_the_dashes_is_the_servers() {
    let args = proxy("proxy --allow a --audit log -- npx -y --config x --allow b -- c");
    assert_eq!(
        args.command,
        ["npx", "-y", "--config", "x", "--allow", "b", "--", "c"]
    );
    assert_eq!(args.audit.as_deref(), Some(Path::new("log")));
    assert_eq!(args.allow.as_deref(), Some(["a".to_owned()].as_slice()));
}

#[test]
fn a_file_and_a_command_line_exclude_each_other() {
    let conflict = ErrorKind::ArgumentConflict;
    for line in [
        "proxy --config gate.toml -- server",
        "proxy --config gate.toml --allow a",
        "proxy --config gate.toml --policies p",
        "proxy --config gate.toml --audit log",
        "proxy --config gate.toml --env TOKEN",
        "proxy --config gate.toml --other-methods deny",
    ] {
        refused(line, conflict, Exit::Invalid);
    }
}

#[test]
fn nothing_is_permitted_by_leaving_something_out() {
    let missing = ErrorKind::MissingRequiredArgument;
    for line in [
        "proxy",
        "proxy --allow a",
        "proxy -- server",
        "proxy --audit log -- server",
    ] {
        refused(line, missing, Exit::Invalid);
    }
    refused("validate-config", missing, Exit::Invalid);
}

#[test]
fn wrong_usage_never_looks_like_a_gate_that_broke_down_or_a_test_that_failed() {
    refused(
        "proxy --alow a -- server",
        ErrorKind::UnknownArgument,
        Exit::Invalid,
    );
    refused(
        "validate-config --config f --format x",
        ErrorKind::InvalidValue,
        Exit::Invalid,
    );
    refused(
        "test-policy --format junk",
        ErrorKind::InvalidValue,
        Exit::TestsNotRun,
    );
    refused(
        "check --fromat json",
        ErrorKind::UnknownArgument,
        Exit::NotChecked,
    );
    refused(
        "check p --config gate.toml",
        ErrorKind::ArgumentConflict,
        Exit::NotChecked,
    );
    refused(
        "valdate-config",
        ErrorKind::InvalidSubcommand,
        Exit::Invalid,
    );
    let help = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    refused("", help, Exit::Invalid);
}

#[test]
fn help_and_version_are_successes() {
    for line in ["--help", "help proxy", "proxy --help", "test-policy -h"] {
        refused(line, ErrorKind::DisplayHelp, Exit::Success);
    }
    refused("--version", ErrorKind::DisplayVersion, Exit::Success);
}

#[test]
fn test_policy_takes_paths_and_options() {
    let line = "test-policy packs/a packs/b --config gate.toml --format json --filter x";
    let Ok(Command::TestPolicy(args)) = parse_line(line) else {
        panic!("{line}")
    };
    assert_eq!(args.paths, ["packs/a", "packs/b"].map(PathBuf::from));
    assert_eq!(args.config, Some(PathBuf::from("gate.toml")));
    assert_eq!(
        (args.format, args.filter.as_deref()),
        (TestFormat::Json, Some("x"))
    );
}
