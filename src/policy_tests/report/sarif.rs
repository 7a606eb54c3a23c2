//! Failed tests as SARIF 2.1.0.

use std::io::{self, Write};

use super::Report;
use super::failure::FAILED;
use crate::findings::{self, Rule, Tool};

impl Report {
    /// One result for each failed test, or for each thing that kept tests from running.
    pub fn sarif(&self, out: &mut dyn Write) -> io::Result<()> {
        let failed = Rule {
            code: FAILED.to_owned(),
            about: "a policy test whose message did not become what it should".to_owned(),
            help_uri: None,
        };
        let tool = Tool {
            rules: vec![failed],
        };
        findings::sarif(&tool, &self.findings(), out)
    }
}
