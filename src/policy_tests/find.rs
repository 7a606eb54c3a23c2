//! Paths to fixtures, and which policies each of them tests.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::errors::FixtureProblem;
use crate::loading;

/// Which files count.
type FileFilter = fn(&Path) -> bool;

/// A fixture, by the path that reports call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FixtureFile {
    pub(super) fixture: PathBuf,
    /// The directory of the policies that it tests.
    pub(super) pack: Option<PathBuf>,
}

/// Deeper than any tree that people make.
pub(super) const DEEPEST: usize = 16;

/// Where builds and packages put what is not ours.
const FOREIGN: [&str; 2] = ["target", "node_modules"];

/// The fixtures that the paths name: packs, directories of packs or of fixtures, fixtures. In the
/// order of the paths, sorted within each, and each once.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<FixtureFile>, Vec<FixtureProblem>> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        match below(path) {
            Ok(here) if here.is_empty() => problems.push(nothing(path)),
            Ok(mut here) => found.append(&mut here),
            Err(error) => problems.push(unreadable(path, &error)),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(once(found))
}

/// The packs below an unnamed directory: where none are, there is nothing to test.
pub(super) fn find_packs(dir: &Path) -> Result<Vec<FixtureFile>, Vec<FixtureProblem>> {
    let mut found = Vec::new();
    match packs(dir, DEEPEST, &mut found) {
        Ok(()) if found.is_empty() => Err(vec![nothing(dir)]),
        Ok(()) => Ok(found),
        Err(error) => Err(vec![unreadable(dir, &error)]),
    }
}

/// The fixtures of a pack.
pub(super) fn tests_of(pack: &Path) -> io::Result<Vec<FixtureFile>> {
    let tests = pack.join("tests");
    if !tests.is_dir() {
        return Ok(Vec::new());
    }
    let mut fixtures = Vec::new();
    files(&tests, is_fixture, Depth::All, &mut fixtures)?;
    let mut policies = Vec::new();
    files(pack, loading::claims, Depth::Here, &mut policies)?;
    if !fixtures.is_empty() || !policies.is_empty() {
        refuse_unread(&tests, &fixtures)?;
    }
    let found = |fixture| FixtureFile {
        fixture,
        pack: Some(pack.to_owned()),
    };
    Ok(once(fixtures.into_iter().map(found).collect()))
}

/// Whether some policy stands below a directory.
pub(super) fn has_policies(dir: &Path) -> bool {
    let mut found = Vec::new();
    // What cannot be read is for the loader to complain of.
    files(dir, loading::claims, Depth::All, &mut found).is_err() || !found.is_empty()
}

fn is_fixture(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("toml")) && !loading::claims(path)
}

/// Files below `tests/` that nothing reads: a test among them would pass unseen.
#[derive(Debug, thiserror::Error)]
#[error("{}", shown(.0))]
struct UnreadFiles(Vec<PathBuf>);

/// As many as are worth reading.
fn shown(unread: &[PathBuf]) -> String {
    const SHOWN: usize = 8;
    let first = unread.iter().take(SHOWN);
    let first: Vec<_> = first.map(|path| format!("`{}`", path.display())).collect();
    match unread.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// A file that a fixture names is read with it: a recording, a configuration of the gate.
fn refuse_unread(tests: &Path, fixtures: &[PathBuf]) -> io::Result<()> {
    let mut unread = Vec::new();
    files(tests, is_unread, Depth::All, &mut unread)?;
    if !unread.is_empty() {
        // A fixture that cannot be read is reported when it is loaded.
        let contents = fixtures
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok());
        let contents: Vec<String> = contents.collect();
        let is_named = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            contents.iter().any(|text| text.contains(name.as_ref()))
        };
        unread.retain(|path| !is_named(path));
    }
    if unread.is_empty() {
        Ok(())
    } else {
        Err(io::Error::other(UnreadFiles(unread)))
    }
}

/// Neither a fixture, nor a policy, nor a text for people, nor a schema for editors, nor an
/// editor's copy of a fixture that is there.
fn is_unread(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lower = name.to_lowercase();
    let is_aside = [".md", ".cedarschema", ".cedarschema.json"]
        .iter()
        .any(|end| lower.ends_with(end))
        || ["readme", "license", "licence"]
            .iter()
            .any(|start| lower.starts_with(start));
    let is_copy = ["~", ".bak", ".orig", "#"].iter().any(|end| {
        name.strip_suffix(end).is_some_and(|original| {
            let original = path.with_file_name(original.trim_start_matches('#'));
            is_fixture(&original) && original.is_file()
        })
    });
    // A link that leads nowhere holds no test.
    path.is_file() && !is_fixture(path) && !loading::claims(path) && !is_aside && !is_copy
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> FixtureProblem {
    let inner = error.get_ref();
    if let Some(unread) = inner.and_then(|inner| inner.downcast_ref::<UnreadFiles>()) {
        let help = "names of tests end in `.toml`; move other files out of `tests/`, or start \
                    their names with a dot";
        let message = format!("nothing reads {unread}");
        return FixtureProblem::about(path, "test::unrecognized_file", message).with_help(help);
    }
    FixtureProblem::about(path, "test::unreadable", format!("cannot be read: {error}"))
}

fn nothing(path: &Path) -> FixtureProblem {
    FixtureProblem::about(path, "test::nothing_found", "no tests are here").with_help(
        "a pack is a directory with policies and fixtures (`*.toml`) below `tests/`; name packs, \
         directories of packs, or fixtures",
    )
}

fn below(path: &Path) -> io::Result<Vec<FixtureFile>> {
    if !fs::metadata(path)?.is_dir() {
        let pack = pack_of(path);
        let fixture = path.to_owned();
        return Ok(vec![FixtureFile { fixture, pack }]);
    }
    let mut found = Vec::new();
    packs(path, DEEPEST, &mut found)?;
    if found.is_empty() {
        let mut fixtures = Vec::new();
        // Beside policies not everything is a fixture.
        let depth = if has_policies(path) {
            Depth::Here
        } else {
            Depth::All
        };
        files(path, is_fixture, depth, &mut fixtures)?;
        if path.file_name() == Some(OsStr::new("tests")) {
            refuse_unread(path, &fixtures)?;
        }
        found.extend(fixtures.into_iter().map(|fixture| FixtureFile {
            pack: pack_of(&fixture),
            fixture,
        }));
    }
    Ok(found)
}

/// A pack is not searched for further packs: its policies are all that stand below it.
fn packs(dir: &Path, depth: usize, found: &mut Vec<FixtureFile>) -> io::Result<()> {
    let mut tests = tests_of(dir)?;
    if !tests.is_empty() {
        found.append(&mut tests);
        return Ok(());
    }
    for path in entries(dir)? {
        if path.is_dir() && !path.is_symlink() && depth > 0 {
            packs(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

/// The directory above `tests`, or else the nearest one that holds a policy.
pub(super) fn pack_of(fixture: &Path) -> Option<PathBuf> {
    // As it was typed first, so that reports name places as the user does.
    let absolute = std::path::absolute(fixture).ok();
    let ancestors = [Some(fixture.to_owned()), absolute];
    let mut ancestors = ancestors
        .iter()
        .flatten()
        .flat_map(|path| path.ancestors().skip(1));
    ancestors.find_map(|dir| {
        let dir = if dir == Path::new("") {
            Path::new(".")
        } else {
            dir
        };
        if dir.file_name() == Some(OsStr::new("tests")) {
            let parent = dir.parent()?;
            let here = if parent == Path::new("") {
                Path::new(".")
            } else {
                parent
            };
            return Some(here.to_owned());
        }
        let mut policies = Vec::new();
        files(dir, loading::claims, Depth::Here, &mut policies).ok()?;
        (!policies.is_empty()).then(|| dir.to_owned())
    })
}

/// Each file once, under the first of the paths that lead to it.
fn once(mut found: Vec<FixtureFile>) -> Vec<FixtureFile> {
    let mut seen = HashSet::new();
    found.retain(|one| {
        let real = fs::canonicalize(&one.fixture);
        seen.insert(real.unwrap_or_else(|_| one.fixture.clone()))
    });
    found
}

/// How far below a directory files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Here,
    All,
}

/// Files that are wanted, in the order of their paths. Symbolic links are followed as the gate
/// follows them when it loads policies. A tree that is too deep is an error: what is in its depths
/// would silently never run.
fn files(dir: &Path, wanted: FileFilter, depth: Depth, found: &mut Vec<PathBuf>) -> io::Result<()> {
    walk(dir, wanted, depth, &mut Vec::new(), found)
}

/// `above` are the real paths of the directories that are being walked.
fn walk(
    dir: &Path,
    wanted: FileFilter,
    depth: Depth,
    above: &mut Vec<PathBuf>,
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let real = fs::canonicalize(dir)?;
    if above.contains(&real) {
        return Ok(());
    }
    if above.len() > DEEPEST {
        let dir = dir.display();
        return Err(io::Error::other(format!(
            "`{dir}` is more than {DEEPEST} directories deep"
        )));
    }
    above.push(real);
    for path in entries(dir)? {
        if path.is_dir() {
            if depth == Depth::All {
                walk(&path, wanted, depth, above, found)?;
            }
        } else if wanted(&path) {
            found.push(path);
        }
    }
    above.pop();
    Ok(())
}

/// Sorted; without dot-entries and what is not ours.
pub(super) fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && !FOREIGN.contains(&name.as_ref()) {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of empty files.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        dir
    }

    /// Fixtures and their packs, without the directory that all are in.
    #[track_caller]
    fn check(files: &[&str], paths: &[&str], expected: &[(&str, &str)]) {
        let dir = tree(files);
        let below = |path: &Path| {
            let path = path.strip_prefix(dir.path()).unwrap();
            path.to_str().unwrap().replace('\\', "/")
        };
        let paths: Vec<_> = paths.iter().map(|path| dir.path().join(path)).collect();
        let found = find(&paths).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|one| (below(&one.fixture), below(one.pack.as_ref().unwrap())))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(fixture, pack)| ((*fixture).to_owned(), (*pack).to_owned()))
            .collect();
        assert_eq!(found, expected);
    }

    const TWO: [&str; 7] = [
        "p/b/x.cedar",
        "p/b/tests/two.toml",
        "p/b/tests/one.toml",
        "p/b/tests/deep/three.toml",
        "p/a/deep/x.cedar",
        "p/a/tests/t.toml",
        "p/.git/tests/t.toml",
    ];

    const B: [(&str, &str); 3] = [
        ("p/b/tests/deep/three.toml", "p/b"),
        ("p/b/tests/one.toml", "p/b"),
        ("p/b/tests/two.toml", "p/b"),
    ];

    #[test]
    fn a_pack_is_found_by_its_directory_its_parent_its_tests_or_a_test() {
        check(&TWO, &["p/b"], &B);
        let both = [&[("p/a/tests/t.toml", "p/a")], &B[..]].concat();
        check(&TWO, &["p"], &both);
        check(&TWO, &[""], &both);
        check(&TWO, &["p/b/tests"], &B);
        check(&TWO, &["p/b/tests/deep"], &B[..1]);
        check(&TWO, &["p/b/tests/one.toml"], &B[1..2]);
        let deep = "p/b/tests/deep/three.toml";
        check(&TWO, &[deep], &[(deep, "p/b")]);
    }

    #[test]
    fn what_two_paths_name_is_there_once() {
        check(&TWO, &["p/b/tests/two.toml", "p/b"], &[B[2], B[0], B[1]]);
    }

    #[test]
    fn a_fixture_elsewhere_tests_the_nearest_policies_above_it() {
        let files = ["p/x.cedar", "p/q/r/t.toml", "p/q/y.txt"];
        check(&files, &["p/q/r/t.toml"], &[("p/q/r/t.toml", "p")]);
        check(&files, &["p/q/r"], &[("p/q/r/t.toml", "p")]);
        check(&files, &["p/q"], &[("p/q/r/t.toml", "p")]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_circles_end() {
        let dir = tree(&["p/policies/x.cedar", "elsewhere/t.toml"]);
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(dir.path().join(to), dir.path().join(from)).unwrap();
        };
        link("elsewhere", "p/tests");
        link("p", "p/policies/round");
        link("p/policies", "p/policies/again");
        let found = find(&[dir.path().to_owned()]).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].pack, Some(dir.path().join("p")));
        assert!(has_policies(&dir.path().join("p")));
    }

    #[cfg(unix)]
    #[test]
    fn fixtures_below_tests_are_found_once_at_any_depth_and_circles_end() {
        let dir = tree(&["p/x.cedar", "p/tests/a/b/t.toml", "p/tests/z.toml"]);
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(dir.path().join(to), dir.path().join(from)).unwrap();
        };
        link("p/tests/a", "p/tests/a/round");
        link("p/tests/a/b", "p/tests/c");
        let names = |found: Vec<FixtureFile>| -> Vec<String> {
            let below = |one: FixtureFile| one.fixture.strip_prefix(dir.path()).unwrap().to_owned();
            let paths = found.into_iter().map(below);
            paths
                .map(|path| path.to_str().unwrap().to_owned())
                .collect()
        };
        let expected = ["p/tests/a/b/t.toml", "p/tests/z.toml"];
        assert_eq!(names(find(&[dir.path().to_owned()]).unwrap()), expected);
        assert_eq!(names(find_packs(dir.path()).unwrap()), expected);
    }

    #[test]
    fn what_is_too_deep_to_be_run_is_an_error() {
        let deep = format!("p/tests/{}t.toml", "d/".repeat(DEEPEST + 1));
        let dir = tree(&["p/x.cedar", &deep, "p/tests/t.toml"]);
        let problems = find(&[dir.path().join("p")]).unwrap_err();
        assert_eq!(problems[0].code, "test::unreadable");
        assert!(
            problems[0].message.contains("directories deep"),
            "{problems:?}"
        );
    }

    #[test]
    fn a_file_below_tests_that_nothing_reads_is_an_error() {
        let check = |files: &[&str], path: &str, unread: &[&str]| {
            let dir = tree(files);
            let found = find(&[dir.path().join(path)]);
            if unread.is_empty() {
                assert!(found.is_ok(), "{files:?} {found:?}");
                return;
            }
            let problems = found.unwrap_err();
            assert_eq!(problems[0].code, "test::unrecognized_file", "{files:?}");
            for name in unread {
                let name = format!("`{}`", dir.path().join(name).display());
                assert!(problems[0].message.contains(&name), "{problems:?}");
            }
        };
        for name in [
            "a.tml",
            "a.TOML",
            "a.toml.txt",
            "a.toml~",
            "a",
            "deep/a.toml.bak",
            "x.json",
        ] {
            let unread = format!("p/tests/{name}");
            check(&["p/x.cedar", "p/tests/t.toml", &unread], "p", &[&unread]);
            check(
                &["p/x.cedar", "p/tests/t.toml", &unread],
                "p/tests",
                &[&unread],
            );
            // Where it is the only one, its pack is not passed over among others.
            let files = ["p/x.cedar", &unread, "q/x.cedar", "q/tests/t.toml"];
            check(&files, "", &[&unread]);
        }
        let aside = [
            "p/x.cedar",
            "p/tests/t.toml",
            "p/tests/t.toml~",
            "p/tests/README",
            "p/tests/notes.md",
            "p/tests/.hidden.tml",
            "p/tests/y.cedar",
        ];
        check(&aside, "p", &[]);
        let dir = tree(&["p/x.cedar", "p/tests/t.toml", "p/tests/log.jsonl"]);
        assert!(find(&[dir.path().join("p")]).is_err());
        fs::write(dir.path().join("p/tests/t.toml"), "audit = \"log.jsonl\"").unwrap();
        assert!(find(&[dir.path().join("p")]).is_ok());
        // These are no tests of policies.
        check(&["p/x.cedar", "p/tests/t.toml", "tests/main.rs"], "", &[]);
    }

    #[test]
    fn where_nothing_is_the_search_says_so() {
        let dir = tree(&["p/x.cedar", "q/tests/readme.md", "target/p/tests/t.toml"]);
        let check = |path: &str, code: &str| {
            let problems = find(&[dir.path().join(path)]).unwrap_err();
            let codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
            assert_eq!(codes, [code], "{path}");
        };
        check("", "test::nothing_found");
        check("p", "test::nothing_found");
        check("q", "test::nothing_found");
        check("none", "test::unreadable");
        assert!(find_packs(dir.path()).is_err());
        fs::write(dir.path().join("Cargo.toml"), "").unwrap();
        assert!(find_packs(dir.path()).is_err());
        assert!(has_policies(dir.path()));
        assert!(!has_policies(&dir.path().join("q")));
    }
}
