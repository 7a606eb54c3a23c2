//! What else was asked of the tests, beside whether they pass.

use super::super::coverage::{self, WantedCoverage};
use super::super::load::Suite;
use super::super::mutate::{self, Mutants, Mutation};
use super::super::run::Settings;
use super::{Outcome, Report};

impl Report {
    /// Adds what the tests have seen of the policies, if that is wanted. `None` if the gate that
    /// judges has failed.
    pub(in super::super) fn add_coverage(
        &mut self,
        suites: &[Suite],
        settings: &Settings,
    ) -> Option<()> {
        let least = match settings.coverage {
            WantedCoverage::Untold => return Some(()),
            WantedCoverage::Told => 0,
            WantedCoverage::AtLeast(percent) => usize::from(percent),
        };
        self.least = least;
        self.coverage = coverage::measure(suites, &settings.gate)?;
        let too_low = self.coverage.iter().any(|pack| pack.percent < least);
        if self.outcome == Outcome::Passed && too_low {
            self.outcome = Outcome::CoverageTooLow;
        }
        Some(())
    }

    /// Adds which changes of the policies the tests notice, if that is wanted. Tests that fail
    /// anyway notice nothing. `None` if the gate that judges has failed.
    pub(in super::super) fn add_mutation(
        &mut self,
        suites: &[Suite],
        settings: &Settings,
    ) -> Option<()> {
        if settings.mutants == Mutants::Untried {
            return Some(());
        }
        if self.outcome == Outcome::Failed {
            self.untried = true;
            return Some(());
        }
        self.mutation = mutate::mutate(suites, &settings.gate)?;
        let survived = |pack: &Mutation| !pack.is_complete();
        if self.outcome == Outcome::Passed && self.mutation.iter().any(survived) {
            self.outcome = Outcome::MutantsSurvived;
        }
        Some(())
    }
}
