//! The program, its streams and its exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const POLICIES: &str = r#"
@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
"#;

const TESTS: &str = "
[[test]]
name = 'reading is allowed'
call = 'read'
expect = 'allow'
[[test]]
name = 'writing is not'
call = 'write'
expect = 'deny'
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A pack in a directory of its own.
fn pack(policies: &str, tests: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("pack/tests")).unwrap();
    fs::write(dir.path().join("pack/p.cedar"), policies).unwrap();
    fs::write(dir.path().join("pack/tests/t.toml"), tests).unwrap();
    fs::write(
        dir.path().join("gate.toml"),
        "upstream.command = ['no-such-program']\npolicy.dir = 'pack'\n",
    )
    .unwrap();
    dir
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcp-protector"))
        .arg("test-policy")
        .args(arguments)
        .current_dir(dir)
        .env_remove("NO_COLOR")
        .env_remove("RUST_LOG")
        .output()
        .unwrap()
}

/// The exit code, what stands on standard output, and what stands on standard error.
fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn the_packs_of_today_and_those_of_the_last_release_pass_their_tests() {
    let packs = ["policies", "tests/contracts/published/policies"];
    // Before the first release, none are published (`tests/contracts/published.rs`).
    for directory in packs.into_iter().filter(|it| root().join(it).exists()) {
        let (code, out, err) = told(&run(root(), &[directory]));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
        assert!(out.ends_with(", 0 failed\n"), "{out}");
    }
}

#[test]
fn results_are_on_standard_output_and_obstacles_on_standard_error() {
    let passing = pack(POLICIES, TESTS);
    let (code, out, err) = told(&run(passing.path(), &[]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let expected = "t  ./pack/tests/t.toml\n  ✓ reading is allowed\n  ✓ writing is not\n\n\
                    2 tests in 1 suite: 2 passed, 0 failed\n";
    assert_eq!(out.replace('\\', "/"), expected);

    let failing = pack(POLICIES, &TESTS.replace("'deny'", "'allow'"));
    let (code, out, err) = told(&run(failing.path(), &["pack"]));
    assert_eq!((code, err.as_str()), (Some(1), ""));
    assert!(
        out.contains("✗ writing is not") && !out.contains('\u{1b}'),
        "{out}"
    );

    let cases = [
        (POLICIES, "suit = 'x'", 2, "did you mean `suite`?"),
        ("permit (principal", TESTS, 3, "policy::syntax"),
    ];
    for (policies, tests, expected, words) in cases {
        let broken = pack(policies, tests);
        let (code, out, err) = told(&run(broken.path(), &["pack"]));
        assert_eq!((code, out.as_str()), (Some(expected), ""), "{err}");
        assert!(err.contains(words), "{err}");
        let (code, out, err) = told(&run(broken.path(), &["pack", "--format", "json"]));
        assert_eq!((code, err.as_str()), (Some(expected), ""), "{out}");
        assert!(out.contains(words), "{out}");
    }
    let (code, out, err) = told(&run(passing.path(), &["--filter", "nothing"]));
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(
        err.contains("no suite, test or agent has `nothing` in its name"),
        "{err}"
    );
}

#[test]
fn a_configuration_is_tested_without_starting_what_it_names() {
    let dir = pack(POLICIES, TESTS);
    let (code, out, err) = told(&run(dir.path(), &["--config", "gate.toml"]));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let (code, _, err) = told(&run(dir.path(), &["--config", "gate.tml"]));
    assert_eq!(code, Some(2), "{err}");
}

#[test]
fn the_same_tests_give_the_same_bytes() {
    let documents: Vec<_> = (0..2)
        .map(|_| run(root(), &["policies", "--format", "json"]).stdout)
        .collect();
    assert!(documents[0].len() > 1_000);
    assert!(documents[0] == documents[1]);
}

#[test]
fn what_is_short_is_told_on_standard_error_and_in_the_formats_that_have_a_place() {
    let dir = pack(
        POLICIES,
        "[[test]]\nname = 'x'\ncall = 'write'\nexpect = 'deny'\n",
    );
    for format in ["junit", "tap", "github", "sarif"] {
        let asked = ["pack", "--format", format, "--min-coverage", "100"];
        let (code, out, err) = told(&run(dir.path(), &asked));
        assert_eq!(code, Some(4), "{format}: {out}{err}");
        assert!(
            err.contains("never held") && err.contains("`read`"),
            "{format}: {err}"
        );
        assert!(!out.contains("never held"), "{format}: {out}");

        let (code, out, err) = told(&run(dir.path(), &["pack", "--format", format, "--mutate"]));
        assert_eq!(code, Some(1), "{format}: {out}{err}");
        assert!(err.contains("no test notices"), "{format}: {err}");
        assert!(out.contains("no test notices"), "{format}: {out}");

        let (code, _, err) = told(&run(dir.path(), &["pack", "--format", format]));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{format}");
    }
    // Where there is a place, standard error has nothing.
    for format in ["human", "json"] {
        let asked = ["pack", "--format", format, "--coverage", "--mutate"];
        let (code, out, err) = told(&run(dir.path(), &asked));
        assert_eq!((code, err.as_str()), (Some(1), ""), "{format}: {out}");
        assert!(out.contains("missing"), "{format}: {out}");
    }
}
