//! What else was asked of the tests, beside whether they pass.

use super::super::coverage;
use super::super::load::Suite;
use super::super::run::{Coverage, Settings};
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
            Coverage::Untold => return Some(()),
            Coverage::Told => 0,
            Coverage::AtLeast(percent) => usize::from(percent),
        };
        self.coverage = coverage::measure(suites, &settings.gate)?;
        let too_low = self.coverage.iter().any(|pack| pack.percent < least);
        if self.outcome == Outcome::Passed && too_low {
            self.outcome = Outcome::CoverageTooLow;
        }
        Some(())
    }
}
