//! The files of this project.

use std::fs;
use std::path::{Path, PathBuf};

/// Neither ours nor text.
const SKIPPED: [&str; 7] = [
    "target",
    "node_modules",
    "__pycache__",
    ".git",
    "corpus",
    "artifacts",
    ".venv",
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the project, by its path from the root.
pub(crate) fn read(path: &str) -> String {
    let text = fs::read_to_string(root().join(path));
    text.unwrap_or_else(|error| panic!("cannot read `{path}`: {error}"))
}

/// Path from the root, with `/`, and text of every text file below the directories that exist.
pub(crate) fn texts(directories: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for directory in directories {
        collect(&root().join(directory), &mut found);
    }
    found.sort();
    found
        .into_iter()
        .filter_map(|path| {
            let text = String::from_utf8(fs::read(&path).unwrap()).ok()?;
            let path = path
                .strip_prefix(root())
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/");
            Some((path, text))
        })
        .collect()
}

/// Every Rust file of the project.
pub(crate) fn rust() -> Vec<(String, String)> {
    let mut files = texts(&["src", "tests", "fixtures", "benches"]);
    files.retain(|(path, _)| {
        Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "rs")
    });
    assert!(files.len() > 10, "the source tree was not found");
    files
}

fn collect(path: &Path, found: &mut Vec<PathBuf>) {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if path.is_dir() && !SKIPPED.contains(&name) {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    } else if path.is_file() {
        found.push(path.to_owned());
    }
}
