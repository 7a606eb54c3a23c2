//! Fixtures and policies as authors write them, from files to reports.

mod broken;
mod changed;
mod configured;
mod conversations;
mod coverage;
mod extensions;
mod formats;
mod gates;
mod guide;
mod judged;
mod matrices;
mod mutate;
mod packs;
mod replays;
mod reports;
mod runs;
mod servers;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::cli::proxy::default_gate_settings;
use crate::gate;

/// A pack in a directory of its own.
pub(super) struct Pack(TempDir);

impl Pack {
    /// A pack with one file of policies and one of tests.
    pub(super) fn new(policies: &str, tests: &str) -> Self {
        let pack = Self(tempfile::tempdir().unwrap());
        if !policies.is_empty() {
            pack.write("policies.cedar", policies);
        }
        pack.write("tests/tests.toml", tests);
        pack
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn run(&self) -> Result<Report, NotRun> {
        run(&settings(&[self.path()]))
    }

    /// A text without the directory's name.
    pub(super) fn nameless(&self, text: &str) -> String {
        text.replace(&*self.path().to_string_lossy(), "pack")
    }
}

/// The host lets servers use the model of the agent that every test has.
pub(super) const AGENTIC: &str = "[agents.stdio]\nagentic = true\n\
     consent = { standing = true, by = 'ada', until = '2100-01-01' }\n";

pub(super) fn settings(paths: &[&Path]) -> Settings {
    Settings {
        paths: paths.iter().map(|path| PathBuf::from(*path)).collect(),
        filter: None,
        coverage: WantedCoverage::Untold,
        mutants: Mutants::Untried,
        gate: default_gate(),
        configured: None,
        reads: crate::cli::test_policy::configured,
    }
}

pub(super) fn default_gate() -> gate::Settings {
    default_gate_settings()
}
