//! The packs that come with the gate, each of their files cut wherever it may be.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::super::engines::EXTENSIONS;
use super::super::super::labels;
use super::super::super::load::{compile, read};
use super::*;
use crate::cli::proxy::default_gate_settings;
use crate::policy_tests::{
    self, Actual, Expected, Mutants, NotRun, Report, RunOutcome, TestDecision, WantedCoverage,
};

/// A pack in a directory of its own, and what it says as a whole.
struct Pack {
    dir: tempfile::TempDir,
    whole: crate::policy::PolicySnapshot,
}

impl Pack {
    fn of(pack: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(pack, dir.path());
        let whole = load(&settings(dir.path())).unwrap().snapshot;
        Self { dir, whole }
    }

    /// The files that say something, below the directory.
    fn files(&self) -> Vec<std::path::PathBuf> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.dir.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_policy = EXTENSIONS.iter().any(|end| name.ends_with(end));
            if path.is_file() && (is_policy || labels::claims(&path)) {
                files.push(path);
            }
        }
        files.sort();
        assert!(!files.is_empty());
        files
    }

    /// Whether what lies there would be published in place of the whole.
    fn is_published(&self) -> bool {
        let settings = settings(self.dir.path());
        compile(&settings, read(&settings), Some(&self.whole)).is_ok_and(|loaded| {
            let missed =
                removals::problems(&self.whole, &loaded.snapshot, &[], &[], OnRemoval::Reject);
            missed.is_empty()
        })
    }

    fn tests(&self) -> Result<Report, NotRun> {
        policy_tests::run(&policy_tests::Settings {
            paths: vec![self.dir.path().to_owned()],
            filter: None,
            coverage: WantedCoverage::Untold,
            mutants: Mutants::Untried,
            gate: default_gate_settings(),
            configured: None,
            reads: crate::cli::test_policy::configured,
        })
    }

    /// Tests in which something passes that must not.
    fn opened(&self) -> Vec<String> {
        let report = self.tests().unwrap();
        let tests = report.suites.iter().flat_map(|suite| &suite.tests);
        let passes = |expected: &Expected, got: Option<&Actual>| {
            expected.decision == TestDecision::Deny
                && got.is_some_and(|got| got.decision == TestDecision::Allow)
        };
        tests
            .filter(|test| {
                let steps = test.steps.iter();
                let mut steps = steps.map(|step| (&step.expected, step.got.as_ref()));
                let alone = test.expected.as_ref();
                steps.any(|(expected, got)| passes(expected, got))
                    || alone.is_some_and(|expected| passes(expected, test.got.as_ref()))
            })
            .map(|test| test.name.clone())
            .collect()
    }
}

fn settings(dir: &Path) -> Settings {
    Settings {
        dir: Some(dir.to_owned()),
        ..Settings::default()
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&to).unwrap();
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// Where a text is cut: after each letter, and after the end of its line. Left out is what cannot be
/// parsed, which is refused, and what differs in blanks and comments alone.
fn cuts(file: &Path, text: &str) -> BTreeSet<usize> {
    let extension = file.extension().unwrap();
    let is_whole = |cut: &str| match extension.to_str().unwrap() {
        "cedar" => cut.trim_end().ends_with(';'),
        "rego" => cut.matches('{').count() == cut.matches('}').count(),
        _ => toml::de::DeTable::parse(cut).is_ok(),
    };
    let is_new = |cut: &str| {
        let line = cut.strip_suffix('\n').unwrap_or(cut);
        let last = line.lines().last().unwrap_or_default().trim_start();
        let says = !last.starts_with('#') && !last.starts_with("//");
        says && line.trim_end() == line
    };
    let cut = |at: &usize| text.get(..*at).filter(|cut| is_new(cut) && is_whole(cut));
    (0..text.len()).filter(|at| cut(at).is_some()).collect()
}

/// How many cuts of the pack's files are published; none of them opens anything.
fn check_pack(pack: &Path) -> usize {
    let pack = Pack::of(pack);
    assert_eq!(pack.tests().unwrap().outcome, RunOutcome::Passed);
    let mut published = 0;
    for file in pack.files() {
        let whole = fs::read_to_string(&file).unwrap();
        for first in ["", "# another first line\n"] {
            let first = match file.extension() {
                Some(extension) if extension == "cedar" => first.replace('#', "//"),
                _ => first.to_owned(),
            };
            // Another first line has nothing to do with where in a line a file is cut.
            let is_tried = |cut: &usize| {
                first.is_empty() || whole.get(*cut..).is_some_and(|rest| rest.starts_with('\n'))
            };
            for cut in cuts(&file, &whole).into_iter().filter(is_tried) {
                fs::write(&file, format!("{first}{}", whole.get(..cut).unwrap())).unwrap();
                if !pack.is_published() {
                    continue;
                }
                published += 1;
                let opened = pack.opened();
                assert!(opened.is_empty(), "{file:?} cut at {cut}: {opened:?}");
            }
        }
        fs::write(&file, whole).unwrap();
    }
    assert!(pack.is_published());
    published
}

#[test]
fn no_cut_of_a_packs_file_that_is_published_allows_what_the_pack_denies() {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let packs = fs::read_dir(policies).unwrap();
    let packs: Vec<_> = packs.map(|entry| entry.unwrap().path()).collect();
    let packs: Vec<_> = packs.into_iter().filter(|path| path.is_dir()).collect();
    let published: usize = std::thread::scope(|scope| {
        let packs = packs.iter().map(|pack| {
            // What a gate has: Cedar evaluates recursively.
            let thread = std::thread::Builder::new().stack_size(32 << 20);
            thread.spawn_scoped(scope, || check_pack(pack)).unwrap()
        });
        let packs: Vec<_> = packs.collect();
        packs.into_iter().map(|pack| pack.join().unwrap()).sum()
    });
    // A last line without its end is no less.
    assert!(published >= packs.len(), "{published}");
}
