//! What runs elsewhere is what runs here.

use super::tree::{read, texts};

/// A step of a workflow is a script in `.ci/`, with plain words and quoted variables after it, that a script in
/// `scripts` runs or names as unproven.
fn check(workflow: &str, scripts: &str) -> Result<(), String> {
    let steps = workflow.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        // `run:` alone has defaults under it.
        let step = line.strip_prefix("run:").map(str::trim);
        step.filter(|it| !it.is_empty())
    });
    let mut count = 0;
    for step in steps {
        let mut words = step.strip_prefix("bash ").unwrap_or_default().split(' ');
        let path = words.next().unwrap_or_default();
        let is_plain = |word: &str| {
            let word = word.strip_prefix("\"$").and_then(|it| it.strip_suffix('"'));
            word.is_some_and(|it| it.chars().all(|it| it.is_ascii_uppercase() || it == '_'))
        };
        if !path.starts_with(".ci/") || !words.all(is_plain) {
            return Err(format!("`{step}` is no script in `.ci/`"));
        }
        if path != ".ci/run" && !scripts.contains(path) {
            return Err(format!("the checks do not know `{path}`"));
        }
        read(path);
        count += 1;
    }
    if count == 0 {
        return Err("it has no steps".to_owned());
    }
    Ok(())
}

#[test]
fn workflow_steps_are_scripts_that_the_checks_run_or_name() {
    let scripts = read(".ci/run") + &read(".ci/release-check");
    let workflows = texts(&[".github/workflows"]);
    assert!(!workflows.is_empty());
    for (path, text) in workflows {
        check(&text, &scripts).unwrap_or_else(|problem| panic!("{path}: {problem}"));
    }
}

#[test]
fn a_step_that_the_checks_do_not_know_is_a_problem() {
    for (workflow, problem) in [
        (
            "      - run: cargo test",
            "`cargo test` is no script in `.ci/`",
        ),
        (
            "        run: bash .ci/run --quickly",
            "`bash .ci/run --quickly` is no script in `.ci/`",
        ),
        (
            "      - run: bash .ci/advisories",
            "the checks do not know `.ci/advisories`",
        ),
        (
            "        run: bash .ci/run ${{ github.ref }}",
            "`bash .ci/run ${{ github.ref }}` is no script in `.ci/`",
        ),
        ("jobs: {}", "it has no steps"),
    ] {
        assert_eq!(check(workflow, "").unwrap_err(), problem, "{workflow}");
    }
}

#[test]
fn the_checks_measure_the_tests_of_the_code_that_decides() {
    let script = read(".ci/run");
    let mut steps = script.lines();
    assert!(steps.any(|step| step == "step coverage where_possible .ci/coverage"));
}

#[test]
fn the_workflows_and_the_checks_name_one_toolchain() {
    let toolchain = read(".ci/toolchain");
    let version = toolchain
        .lines()
        .find_map(|line| line.strip_prefix("version="));
    let version = version.unwrap();
    for (path, text) in texts(&[".github/workflows"]) {
        let named = text
            .lines()
            .find_map(|line| line.strip_prefix("  RUSTUP_TOOLCHAIN: "));
        assert_eq!(named, Some(version), "{path}");
    }
    let (minor, _) = version.rsplit_once('.').unwrap();
    let promised = format!("rust-version = \"{minor}\"\n");
    assert!(read("Cargo.toml").contains(&promised));
}
