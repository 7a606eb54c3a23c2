//! A server gets what it was given, and nothing else (threat P3).

use std::collections::BTreeSet;
use std::process::Command;

use mcp_protector::upstream::{ChildProcess, DEFAULT_INHERITED, StartError};

use crate::processes::support::{Gate, Server, gate_program, python, run, settings};

/// Writes names and values, sorted, one a line, and then `end`.
const SHOW_ENVIRONMENT: &str = "import os\nfor n in sorted(os.environb): print((n + b'=' + os.environb[n]).decode())\nprint('end')";

/// The environment of a server behind a gate with the environment `ours`.
fn environment(ours: &[(&str, &str)], options: &[&str]) -> BTreeSet<String> {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(gate_program());
    command
        .env_clear()
        .env("PATH", path)
        .envs(ours.iter().copied());
    command
        .arg("gate")
        .args(options)
        .arg("--")
        .args(python(SHOW_ENVIRONMENT));
    let mut gate = Gate::spawn(&mut command);
    let lines = std::iter::from_fn(|| Some(gate.line()).filter(|line| line != "end"));
    // Python itself sets this one where no locale is set.
    lines
        .filter(|line| line != "LC_CTYPE=C.UTF-8" && !line.starts_with("PATH="))
        .collect()
}

fn check(ours: &[(&str, &str)], options: &[&str], expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(environment(ours, options), expected);
}

#[test]
fn what_makes_programs_run_other_code_is_not_inherited() {
    let dangerous = [
        ("LD_PRELOAD", ""),
        ("LD_LIBRARY_PATH", "/nowhere"),
        ("NODE_OPTIONS", "--require=/nowhere"),
        ("PYTHONPATH", "/nowhere"),
        ("BASH_ENV", "/nowhere"),
        ("ENV", "/nowhere"),
    ];
    check(&dangerous, &[], &[]);
}

#[test]
fn secrets_of_the_gate_are_not_inherited() {
    check(
        &[("AWS_SECRET_ACCESS_KEY", "x"), ("GITHUB_TOKEN", "x")],
        &[],
        &[],
    );
}

#[test]
fn only_harmless_variables_are_inherited() {
    check(
        &[("HOME", "/home/a"), ("LANG", "C.UTF-8"), ("TZ", "UTC")],
        &[],
        &["HOME=/home/a", "LANG=C.UTF-8", "TZ=UTC"],
    );
    assert!(!DEFAULT_INHERITED.iter().any(|name| name.starts_with("LD_")));
}

#[test]
fn exported_shell_functions_are_not_inherited() {
    check(&[("TERM", "() { :; }; echo injected")], &[], &[]);
}

#[test]
fn a_secret_reaches_the_server_that_it_is_named_for() {
    check(
        &[("TOKEN", "ours")],
        &["--env", "TOKEN=theirs"],
        &["TOKEN=theirs"],
    );
    check(
        &[("HOME", "/ours")],
        &["--env", "HOME=/theirs"],
        &["HOME=/theirs"],
    );
}

#[test]
fn a_secret_is_in_no_debug_output() {
    let mut settings = settings(vec!["cat".to_owned()]);
    settings
        .env
        .insert("TOKEN".to_owned(), "hidden-value".into());
    assert!(!format!("{settings:?}").contains("hidden-value"));
    run(async {
        let server = Server::start(settings);
        let debug = format!("{:?} {:?}", server.sender, server.events);
        assert!(
            debug.contains("TOKEN") && !debug.contains("hidden-value"),
            "{debug}"
        );
        server.sender.stop().await;
    });
}

#[test]
fn arguments_are_literal() {
    run(async {
        let arguments = [
            "$(touch /tmp/x)",
            "`id`",
            "a b",
            "",
            "*",
            ";",
            "--",
            "-x",
            "\\",
            "\"'",
            "é\n",
        ];
        let mut command = python("import sys; print(ascii(sys.argv[1:]))");
        command.extend(arguments.map(str::to_owned));
        let mut server = Server::start(settings(command));
        let expected = r#"['$(touch /tmp/x)', '`id`', 'a b', '', '*', ';', '--', '-x', '\\', '"\'', '\xe9\n']"#;
        assert_eq!(server.line().await, expected);
        server.sender.stop().await;
    });
}

/// Writes the numbers of its open descriptors.
const SHOW_DESCRIPTORS: &str = "import os
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
print([fd for fd in range(100) if is_open(fd)])";

/// What [`SHOW_DESCRIPTORS`] writes when `through` starts it with three descriptors too many.
fn descriptors(through: &[&str]) -> String {
    let leak = "exec 3</dev/null 7<>/dev/null 9</proc/self/status; exec \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", leak, "sh"])
        .args(through)
        .args(python(SHOW_DESCRIPTORS));
    Gate::spawn(&mut command).line()
}

#[test]
fn the_server_has_three_descriptors_whatever_the_gate_was_given() {
    let gate = gate_program();
    assert_eq!(
        descriptors(&[gate.to_str().unwrap(), "gate", "--"]),
        "[0, 1, 2]"
    );
}

#[test]
fn without_a_launcher_the_server_has_the_descriptors_that_the_gate_was_given_and_none_of_its_own() {
    let gate = gate_program();
    let through = [gate.to_str().unwrap(), "gate", "--without-launcher", "--"];
    let given = descriptors(&[]);
    assert!(given.contains('7'), "{given}");
    assert_eq!(descriptors(&through), given);
}

#[test]
fn a_server_runs_in_its_directory_and_a_relative_program_is_looked_up_there() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("server");
        std::fs::write(&program, "#!/bin/sh\npwd -P\ncat\n").unwrap();
        make_executable(&program);
        let mut settings = settings(vec!["./server".to_owned()]);
        settings.cwd = Some(directory.path().to_owned());
        let mut server = Server::start(settings);
        assert_eq!(
            server.line().await,
            directory.path().canonicalize().unwrap().to_str().unwrap()
        );
        server.sender.stop().await;
    });
}

fn make_executable(program: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_command_that_cannot_be_started_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    let plain = plain.to_str().unwrap();
    let directory = directory.path().to_str().unwrap();
    let check = |command: &[&str], expected: &str| {
        let command = command.iter().map(ToString::to_string).collect();
        let error = ChildProcess::start(settings(command)).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("`upstream.command`") && text.contains(expected),
            "{text}"
        );
    };
    check(&[], "is empty");
    check(
        &["no-such-program"],
        "`no-such-program` was not found in PATH",
    );
    check(&["/no/such/program"], "`/no/such/program` was not found");
    check(&[plain], "is not an executable file");
    check(&[directory], "is not an executable file");
    check(&["sh -c 'exit 0'"], "was not found in PATH");
}

#[test]
fn a_directory_and_a_variable_that_cannot_be_are_named() {
    let mut nowhere = settings(vec!["cat".to_owned()]);
    nowhere.cwd = Some("/no/such/directory".into());
    let error = ChildProcess::start(nowhere).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`upstream.cwd`: `/no/such/directory` is not a directory"
    );

    for name in ["", "A=B", "A\0B"] {
        let mut odd = settings(vec!["cat".to_owned()]);
        odd.env.insert(name.to_owned(), "value".into());
        let error = ChildProcess::start(odd).unwrap_err();
        assert!(
            matches!(error, StartError::VariableName { .. }),
            "{name:?}: {error}"
        );
    }
}

#[test]
fn a_gate_whose_command_cannot_be_started_says_so_and_exits_with_2() {
    for server in ["/no/such/program", "no-such-program"] {
        let mut gate = Gate::start(&[], &[server]);
        assert_eq!(gate.wait().code(), Some(2));
        let complaints = gate.complaints();
        assert!(complaints.contains("`upstream.command`"), "{complaints}");
    }
}
