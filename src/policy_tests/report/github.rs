//! Workflow commands of GitHub: an annotation for each failed test, and for each shortfall.

use std::io::{self, Write};

use super::Report;
use crate::findings;

impl Report {
    /// Nothing where nothing failed.
    pub fn github(&self, out: &mut dyn Write) -> io::Result<()> {
        findings::github(&self.findings(), out)
    }
}
