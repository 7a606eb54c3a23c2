//! The hooks for pre-commit. `.ci/user-ci` runs them with pre-commit itself.

use std::path::Path;

use regex::Regex;

use crate::user_ci::yaml::{self, text};

#[test]
fn a_change_of_any_file_of_a_pack_sets_off_the_hooks() {
    let hooks = yaml::of_project(".pre-commit-hooks.yaml");
    for hook in hooks.as_array().unwrap() {
        let files = Regex::new(text(hook, "files")).unwrap();
        let mut found = 0;
        for pack in Path::new("policies").read_dir().unwrap() {
            found += check(&pack.unwrap().path(), &files);
        }
        assert!(found > 100, "{found}");
        for path in ["src/main.rs", "README.md", "a.cedar.txt", "tools.locked"] {
            assert!(!files.is_match(path), "{path}");
        }
        for path in [
            "p/MANIFEST",
            "MANIFEST",
            "p/types.cedarschema",
            "p/gate.toml",
        ] {
            assert!(files.is_match(path), "{path}");
        }
    }
}

/// The files of a directory of a pack, each of which sets off a hook, unless it is for people.
fn check(directory: &Path, files: &Regex) -> usize {
    let mut found = 0;
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found += check(&path, files);
        } else if path.extension().is_none_or(|kind| kind != "md") {
            assert!(files.is_match(path.to_str().unwrap()), "{path:?}");
            found += 1;
        }
    }
    found
}
