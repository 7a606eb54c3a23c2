//! A thousand cases against the pack `starter`: how long the program takes from its start to its
//! report.
//!
//! ```sh
//! cargo bench -p benches --bench test_policy
//! cargo bench -p benches --bench test_policy -- 10000     # cases
//! cargo test -p benches --bench test_policy               # without optimizations
//! ```
//!
//! Every other case is denied, and no two send the same. Each is a session of its own, through the
//! gate's own path; the program fails if one does not pass.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark tells what it measured, and has nothing to measure if it cannot be set up"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The best of so many runs is told: others share the machine.
const RUNS: usize = 3;

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let cases: usize = arguments
        .next()
        .and_then(|count| count.parse().ok())
        .unwrap_or(1_000);
    let pack = tempfile::tempdir().expect("a directory");
    write_pack(pack.path(), cases);
    for more in [&[][..], &["--coverage"]] {
        let took = (0..RUNS).map(|_| run(pack.path(), cases, more));
        let best = took.min_by(f64::total_cmp).unwrap_or_default();
        let what = more.first().unwrap_or(&"");
        println!("{cases} cases in {best:.3} s {what}");
    }
}

fn write_pack(pack: &Path, cases: usize) {
    let starter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/starter");
    for entry in fs::read_dir(starter).expect("the pack") {
        let path = entry.expect("an entry").path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            fs::copy(&path, pack.join(name)).expect("a copy");
        }
    }
    let mut tests = String::new();
    for case in 0..cases {
        let (dot, expected) = [("", "allow"), (".", "deny")]
            .into_iter()
            .nth(case % 2)
            .unwrap_or_default();
        writeln!(
            tests,
            "[[test]]\nname = 'case {case}'\ncall = 'read_text_file'\n\
             args = {{ path = '/srv/{dot}file-{case}' }}\nexpect = '{expected}'"
        )
        .expect("memory");
    }
    fs::create_dir(pack.join("tests")).expect("a directory");
    fs::write(pack.join("tests/cases.toml"), tests).expect("a file");
}

/// Seconds.
fn run(pack: &Path, cases: usize, more: &[&str]) -> f64 {
    let before = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_gate"))
        .arg("test-policy")
        .arg(pack)
        .args(more)
        .output()
        .expect("the program");
    let took = before.elapsed().as_secs_f64();
    let told = String::from_utf8_lossy(&output.stdout);
    let passed = format!("{cases} passed, 0 failed");
    assert!(output.status.success() && told.contains(&passed), "{told}");
    took
}
