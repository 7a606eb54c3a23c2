//! Words that belong to one machine and not to the project.

use crate::tree;

const PLACES: [&str; 14] = [
    "src",
    "docs",
    "tests",
    "policies",
    "fixtures",
    "benches",
    ".ci",
    ".github",
    "action.yml",
    "packaging",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "pyproject.toml",
];

/// Written by tools, with the addresses of where each package came from.
const LOCK_FILES: [&str; 3] = ["Cargo.lock", "package-lock.json", "uv.lock"];

// In halves, so that this file does not hold them. Home directories are not among them: examples
// may need one that is nobody's.
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

const REGISTRY_HOSTS: [&str; 7] = [
    concat!("crates", ".io"),
    concat!("py", "pi.org"),
    concat!("python", "hosted.org"),
    concat!("registry.npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("proxy.", "golang.org"),
    concat!("deb.", "debian.org"),
];

fn problems(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let machine = MACHINE_PATHS
            .iter()
            .filter(|word| begins_a_path(line, word));
        let hosts = REGISTRY_HOSTS.iter().filter(|word| line.contains(*word));
        for word in machine.chain(hosts) {
            problems.push(format!("{path}:{}: {word}", number + 1));
        }
    }
    problems
}

/// Not `https://example.com/home/`, and not `~/work/`.
fn begins_a_path(line: &str, word: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "._-~/}]*".contains(c);
    line.match_indices(word)
        .any(|(at, _)| !line.split_at(at).0.ends_with(goes_on))
}

#[test]
fn nothing_names_a_machine_or_a_registry() {
    let problems: Vec<String> = tree::texts(&PLACES)
        .iter()
        .filter(|(path, _)| !LOCK_FILES.iter().any(|lock| path.ends_with(lock)))
        .flat_map(|(path, text)| problems(path, text))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_name_of_a_machine_or_a_registry_is_found() {
    let [work, root] = MACHINE_PATHS;
    let check =
        |line: String, found: usize| assert_eq!(problems("f", &line).len(), found, "{line}");
    check(format!("in `{work}main`"), 1);
    check(format!("cd {root}x && cat {work}y"), 2);
    check(format!("https://example.com{root}x"), 0);
    check(format!("from {}", REGISTRY_HOSTS[0]), 1);
    check("a workspace at /workspace/x".to_owned(), 0);
}
