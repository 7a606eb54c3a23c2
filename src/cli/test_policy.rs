//! `test-policy`: runs policy tests offline, through the decisions that the gate itself makes.

mod progress;
mod replay;
mod single_run;
mod watch;

use std::io::{self, Write};

pub(super) use replay::{ReplayFailure, ReplayReport, replay_logs};
pub use single_run::configured;
pub(super) use single_run::{any_server, paint};

use super::args::TestPolicyArgs;
use super::exit::Exit;
use single_run::run_once;

/// Runs the tests that the arguments name. Reports of results go to `stdout`; in the format for
/// people, what keeps the tests from running goes to standard error.
pub fn run(args: &TestPolicyArgs, stdout: &mut dyn Write) -> Exit {
    if !args.replay.is_empty() {
        replay::run(args, stdout, &mut io::stderr())
    } else if args.watch {
        watch::watch(args, stdout)
    } else {
        run_once(args, stdout)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::cli::args::TestFormat;

    const POLICIES: &str = r#"
        @id("read")
        permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
    "#;

    const PASSING: &str = "[[test]]\nname = 'x'\ncall = 'read'\nexpect = 'allow'\n";

    /// A pack, and a configuration beside it that names its policies.
    fn pack(policies: &str, tests: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("pack/tests")).unwrap();
        fs::write(dir.path().join("pack/p.cedar"), policies).unwrap();
        fs::write(dir.path().join("pack/tests/t.toml"), tests).unwrap();
        dir
    }

    fn run_with(path: Option<&Path>, config: Option<&Path>, format: TestFormat) -> (Exit, String) {
        let args = TestPolicyArgs {
            paths: path.map(Path::to_owned).into_iter().collect(),
            config: config.map(Path::to_owned),
            format,
            filter: None,
            coverage: false,
            min_coverage: None,
            mutate: false,
            replay: Vec::new(),
            watch: false,
        };
        let mut out = Vec::new();
        let exit = run(&args, &mut out);
        (exit, String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_exit_code_says_what_came_of_the_tests() {
        let failing = PASSING.replace("allow", "deny");
        let cases = [
            (POLICIES, PASSING, Exit::Success, "passed"),
            (POLICIES, &failing, Exit::TestsFailed, "failed"),
            (POLICIES, "suite = 'x'", Exit::TestsNotRun, "not_run"),
            (
                "permit (",
                PASSING,
                Exit::PoliciesInvalid,
                "policies_invalid",
            ),
        ];
        for (policies, tests, expected, outcome) in cases {
            let dir = pack(policies, tests);
            let (exit, human) = run_with(Some(dir.path()), None, TestFormat::Human);
            assert_eq!(exit, expected, "{policies} {tests}");
            // Errors that prevent tests go to standard error.
            assert_eq!(human.is_empty(), expected.code() > 1, "{human}");
            let (exit, json) = run_with(Some(dir.path()), None, TestFormat::Json);
            assert_eq!(exit, expected, "{policies} {tests}");
            assert!(
                json.starts_with(&format!("{{\"schema\":1,\"outcome\":\"{outcome}\"")),
                "{json}"
            );
            assert_eq!(json.matches('\n').count(), 1);
        }
        let (exit, _) = run_with(Some(Path::new("no/such/path")), None, TestFormat::Human);
        assert_eq!(exit, Exit::TestsNotRun);
    }

    #[test]
    fn a_configuration_says_what_is_tested_and_under_which_limits() {
        let dir = pack(POLICIES, PASSING);
        let config = dir.path().join("gate.toml");
        let check = |text: &str, expected: Exit| {
            fs::write(&config, format!("upstream.command = ['x']\n{text}")).unwrap();
            let (exit, out) = run_with(None, Some(&config), TestFormat::Json);
            assert_eq!(exit, expected, "{text}: {out}");
            out
        };
        let dir_key = "policy.dir = 'pack'\n";
        check(dir_key, Exit::Success);
        check("policy.allow = ['read']\n", Exit::TestsNotRun);
        let out = check("policy.dri = 'pack'\n", Exit::TestsNotRun);
        assert!(out.contains("config::unknown_key"), "{out}");
        let long = format!(
            "[[test]]\nname = 'x'\ncall = 'read'\nargs.a = '{}'\nexpect = 'allow'",
            "x".repeat(1024)
        );
        fs::write(dir.path().join("pack/tests/t.toml"), long).unwrap();
        check(dir_key, Exit::Success);
        let out = check(
            &format!("{dir_key}limits.max_message_bytes = 1024"),
            Exit::TestsFailed,
        );
        assert!(out.contains("\"reason\":\"too_long\""), "{out}");
    }

    #[test]
    fn a_report_that_cannot_be_written_is_no_success() {
        #[derive(Debug)]
        struct FullOutput;
        impl Write for FullOutput {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let dir = pack(POLICIES, PASSING);
        let args = TestPolicyArgs {
            paths: vec![dir.path().to_owned()],
            config: None,
            format: TestFormat::Human,
            filter: None,
            coverage: false,
            min_coverage: None,
            mutate: false,
            replay: Vec::new(),
            watch: false,
        };
        assert_eq!(run(&args, &mut FullOutput), Exit::TestsNotRun);
    }
}
