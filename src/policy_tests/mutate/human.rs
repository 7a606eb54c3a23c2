//! Survivors as people read them: a change as a diff, and the test that is missing.

use std::io::{self, Write};

use super::{Mutation, Survivor};
use crate::findings::printable;

impl Mutation {
    pub(in super::super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let of = self.policies.as_deref().unwrap_or("the allowlist");
        let of = printable(of);
        let (noticed, tried, invalid) = (self.noticed, self.tried, self.invalid);
        if tried == 0 {
            let kind = if self.not_mutated.is_empty() {
                "policies to change"
            } else {
                "policies in Cedar"
            };
            write!(out, "changes of {of}: none was tried, for there are no {kind}")?;
        } else {
            write!(out, "changes of {of}: {noticed} of {tried} noticed")?;
        }
        if invalid > 0 {
            write!(out, ", {invalid} more would not be valid policies")?;
        }
        if !self.excused.is_empty() {
            write!(out, ", {} that no test can notice", self.excused.len())?;
        }
        writeln!(out)?;
        for file in &self.not_mutated {
            let file = printable(file);
            writeln!(out, "  {file}  is not mutated: only policies in Cedar are")?;
        }
        for excused in &self.excused {
            let (file, policy) = (printable(&excused.file), printable(&excused.policy));
            let (line, kind) = (excused.line, excused.kind);
            let reason = printable(excused.reason.as_deref().unwrap_or_default());
            writeln!(
                out,
                "  {file}:{line}  `{policy}`, {kind}, excused: {reason}"
            )?;
        }
        for needless in &self.needless {
            let (file, why) = (printable(&needless.file), printable(&needless.why));
            let line = needless.line;
            writeln!(out, "  {file}:{line}  the comment excuses nothing: {why}")?;
        }
        for survivor in &self.survivors {
            survivor.write(out)?;
        }
        Ok(())
    }
}

impl Survivor {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = printable(&self.file);
        writeln!(
            out,
            "  {file}:{}  `{}`, {}",
            self.line,
            printable(&self.policy),
            self.kind
        )?;
        writeln!(out, "    - {}", printable(&self.before))?;
        match &self.after {
            Some(after) => writeln!(out, "    + {}", printable(after))?,
            None => writeln!(out, "    + (gone)")?,
        }
        writeln!(
            out,
            "    no test notices; missing: {}",
            printable(&self.missing)
        )?;
        if let Some(near) = &self.near {
            let (file, name) = (printable(&near.file), printable(&near.name));
            writeln!(out, "    begin with `{name}`, {file}:{}", near.line)?;
        }
        Ok(())
    }
}
