//! `Cargo.toml`: every dependency says why it is there.

use crate::tree;

fn problems(manifest: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut in_table = false;
    let mut before = "";
    for line in manifest.lines().map(str::trim) {
        let commented = before.starts_with('#');
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            in_table = header.ends_with("dependencies");
            // `[dependencies.name]`
            if header
                .rsplit_once('.')
                .is_some_and(|(table, _)| table.ends_with("dependencies"))
                && !commented
            {
                problems.push(header.to_owned());
            }
        } else if in_table && !commented && !line.starts_with('#') {
            problems.extend(line.split_once('=').map(|(name, _)| name.trim().to_owned()));
        }
        before = line;
    }
    problems
}

#[test]
fn every_dependency_says_why_it_is_there() {
    for manifest in ["Cargo.toml", "fixtures/Cargo.toml", "benches/Cargo.toml"] {
        let problems = problems(&tree::read(manifest));
        assert!(
            problems.is_empty(),
            "{manifest}: without a comment on the line above: {problems:?}"
        );
    }
}

#[test]
fn a_dependency_without_a_reason_is_found() {
    let check = |manifest: &str, expected: &[&str]| assert_eq!(problems(manifest), expected);
    check(
        "[package]\nname = \"x\"\n[dependencies]\n# Why = this.\na = \"1\"\n",
        &[],
    );
    check("[dependencies]\n# Why.\na = \"1\"\nb = \"1\"\n", &["b"]);
    check(
        "[target.'cfg(unix)'.dependencies]\n\nb = \"1\"\n[features]\nx = []\n",
        &["b"],
    );
    check(
        "[dev-dependencies.c]\nversion = \"1\"\n",
        &["dev-dependencies.c"],
    );
}
