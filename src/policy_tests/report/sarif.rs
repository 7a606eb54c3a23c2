//! Failed tests as SARIF 2.1.0.

use std::io::{self, Write};

use super::failure::FAILED;
use super::{Report, short};
use crate::findings::{self, Rule, Tool};

impl Report {
    /// One result for each failed test and each shortfall, or for each thing that kept tests from
    /// running.
    pub fn sarif(&self, out: &mut dyn Write) -> io::Result<()> {
        let failed = Rule {
            code: FAILED.to_owned(),
            about: "a policy test whose message did not become what it should".to_owned(),
            help_uri: None,
        };
        let tool = Tool {
            rules: std::iter::once(failed).chain(short::rules()).collect(),
        };
        findings::sarif(&tool, &self.findings(), out)
    }
}
