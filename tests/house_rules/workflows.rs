//! What runs elsewhere is what runs here.

use super::tree::{read, texts};

/// A step of a workflow is a script in `.ci/` that `.ci/run` runs too, or names as unproven.
fn check(workflow: &str, script: &str) -> Result<(), String> {
    let steps = workflow.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        line.strip_prefix("run:").map(str::trim)
    });
    let mut count = 0;
    for step in steps {
        let path = step.strip_prefix("bash ").unwrap_or_default();
        if !path.starts_with(".ci/") || path.contains(' ') {
            return Err(format!("`{step}` is no script in `.ci/`"));
        }
        if path != ".ci/run" && !script.contains(path) {
            return Err(format!("`.ci/run` does not know `{path}`"));
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
    let script = read(".ci/run");
    let workflows = texts(&[".github/workflows"]);
    assert!(!workflows.is_empty());
    for (path, text) in workflows {
        check(&text, &script).unwrap_or_else(|problem| panic!("{path}: {problem}"));
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
            "`.ci/run` does not know `.ci/advisories`",
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
