//! Coverage as people read it: what is missing, and the test that would bring it.

use std::io::{self, Write};

use super::super::suggest;
use super::{ConditionCoverage, Coverage, RuleCoverage, Seen};
use crate::findings::printable;

impl Coverage {
    /// Writes the sum, and everything that no test has seen.
    pub(in super::super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let of = self.policies.as_deref().unwrap_or("the allowlist");
        writeln!(
            out,
            "coverage of {}: {} % ({} of {})",
            printable(of),
            self.percent,
            self.covered,
            self.total
        )?;
        for rule in &self.rules {
            rule.write(out)?;
        }
        if !self.untested_actions.is_empty() {
            let actions = suggest::list(&self.untested_actions);
            writeln!(
                out,
                "  no test asks for {actions}, which policies are about"
            )?;
        }
        if !self.untested_tools.is_empty() {
            let tools = suggest::list(&self.untested_tools);
            writeln!(out, "  no test calls {}", printable(&tools))?;
        }
        Ok(())
    }
}

impl RuleCoverage {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let missing: Vec<(&ConditionCoverage, &str)> = self
            .conditions
            .iter()
            .filter_map(|condition| Some((condition, condition.missing()?)))
            .collect();
        if self.seen == Seen::Decided && missing.is_empty() {
            return Ok(());
        }
        let (id, file) = (printable(&self.id), printable(&self.file));
        writeln!(out, "  {} `{id}`  {file}:{}", self.effect, self.line)?;
        let (decision, what) = if self.is_permit() {
            ("allow", "what it is meant for")
        } else {
            ("deny", "what nothing else denies")
        };
        match self.seen {
            Seen::Decided => {}
            Seen::Held => writeln!(
                out,
                "      held, but decided no test: something else did; send {what} and nothing forbids"
            )?,
            Seen::Never if self.is_rule() => writeln!(
                out,
                "      decided no test: send a message that it decides, and name it in `policies`"
            )?,
            Seen::Never => writeln!(
                out,
                "      never held: send {what}, with `expect = {{ decision = \"{decision}\", policies = [\"{id}\"] }}`"
            )?,
        }
        for (condition, missing) in missing {
            let text = printable(&condition.text);
            writeln!(out, "      line {}: {missing}: `{text}`", condition.line)?;
        }
        Ok(())
    }
}

impl ConditionCoverage {
    fn missing(&self) -> Option<&'static str> {
        match (self.seen_true, self.seen_false) {
            (true, true) => None,
            (true, false) => Some("never false"),
            (false, true) => Some("never true"),
            (false, false) => Some("never asked, for what stands before it settled the matter"),
        }
    }
}
