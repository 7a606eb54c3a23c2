//! Fixtures that are read and not run.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

use super::errors::{FixtureErrors, FixtureProblem};
use super::find;
use super::gate_file::{ConfigLoader, ConfiguredPolicies};
use super::load;
use super::servers::SuiteServer;
use crate::loading;

/// What the tests of one directory say of themselves.
#[derive(Debug, Default)]
pub struct Survey {
    /// What keeps them from running, but for what is wrong with the policies.
    pub problems: Vec<FixtureProblem>,
    /// The tools that the upstream of some test offers; `None` where there are no tests, or none
    /// that can be read.
    pub tools: Option<BTreeSet<String>>,
}

/// Reads the tests beside some policies.
pub fn survey(pack: &Path, configured: Option<&ConfiguredPolicies>, reads: ConfigLoader) -> Survey {
    match find::tests_of(pack) {
        Ok(tests) if tests.is_empty() => return Survey::default(),
        Ok(_) => {}
        Err(error) => {
            return Survey {
                problems: vec![find::unreadable(pack, &error)],
                tools: None,
            };
        }
    }
    match load::load(&[pack.join("tests")], configured, reads) {
        Ok(suites) => {
            let servers = suites.into_iter().flat_map(|suite| suite.servers);
            let offered = servers.flat_map(|SuiteServer { server, offers, .. }| {
                let tools = offers.tools.into_iter();
                tools.map(move |tool| server.id_of(&tool).into_owned())
            });
            Survey {
                problems: Vec::new(),
                tools: Some(offered.collect()),
            }
        }
        Err(problems) => Survey {
            problems: problems.fixtures,
            tools: None,
        },
    }
}

/// The packs that paths name: directories with policies or tests in them, those that are below a
/// directory, or the one that a file is part of. Each once, in the order of the paths.
///
/// # Errors
/// A path that cannot be read, or that leads to none.
pub fn packs(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FixtureErrors> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        let before = found.len();
        match below(path, find::DEEPEST, &mut found) {
            Ok(()) if found.len() == before => problems.push(nothing(path)),
            Ok(()) => {}
            Err(error) => problems.push(find::unreadable(path, &error)),
        }
    }
    if !problems.is_empty() {
        return Err(FixtureErrors { problems });
    }
    let mut seen = BTreeSet::new();
    found.retain(|pack| {
        let real = std::fs::canonicalize(pack);
        seen.insert(real.unwrap_or_else(|_| pack.clone()))
    });
    Ok(found)
}

fn below(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        found.extend(find::pack_of(path));
        return Ok(());
    }
    let entries = find::entries(path)?;
    let is_policy = |path: &PathBuf| loading::claims(path) && !path.is_dir();
    if entries.iter().any(is_policy) || !find::tests_of(path)?.is_empty() {
        found.push(path.to_owned());
        return Ok(());
    }
    for path in entries {
        if path.is_dir() && !path.is_symlink() && depth > 0 {
            below(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

/// The packs that these paths name and that have no tests, without those whose policies some test loads.
pub(super) fn untested(paths: &[PathBuf], loaded: &[&Path]) -> Vec<PathBuf> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let loaded: Vec<PathBuf> = loaded.iter().filter_map(|dir| real(dir)).collect();
    let mut seen = BTreeSet::new();
    // A path that names no pack may name fixtures.
    let named = paths.iter().map(|path| packs(slice::from_ref(path)));
    let mut named: Vec<PathBuf> = named.filter_map(Result::ok).flatten().collect();
    named.retain(|pack| {
        if find::tests_of(pack).is_ok_and(|tests| !tests.is_empty()) {
            return false;
        }
        let is_new = |pack: PathBuf| {
            let is_loaded = loaded.iter().any(|dir| pack.starts_with(dir));
            !is_loaded && seen.insert(pack)
        };
        real(pack).is_some_and(is_new)
    });
    named
}

fn nothing(path: &Path) -> FixtureProblem {
    FixtureProblem::about(path, "check::nothing_found", "no policies are here").with_help(
        "name directories with policies, or directories of such; or a configuration with \
         `--config`",
    )
}
