//! The report of a replay, for people and for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::tally::{Group, Members, Tally};
use crate::findings::printable;
use crate::policy_tests::ReplayedDecision;

/// The version of the report for programs.
const SCHEMA: u32 = 1;

/// The decisions of a log beside those of the policies.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct ReplayReport {
    schema: u32,
    revision: String,
    /// Records whose decision stays.
    same: u64,
    changed: u64,
    unknown: u64,
    #[serde(skip)]
    untold_denials: u64,
    /// Records that are no decisions, because a gate was killed while it wrote them.
    half_lines: u64,
    changes: Vec<GroupReport>,
    unjudged: Vec<GroupReport>,
}

/// Records that are told together.
#[derive(Debug, Serialize)]
struct GroupReport {
    count: u64,
    about: String,
    was: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<&'static str>,
    /// The policies that make the difference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<String>,
    /// Why there is no decision of today.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    example: ExampleReport,
}

/// The first record of a group.
#[derive(Debug, Serialize)]
struct ExampleReport {
    file: String,
    line: u64,
    seq: u64,
}

impl ReplayReport {
    /// The largest groups come first.
    pub(super) fn new(revision: &str, tally: Tally) -> Self {
        let mut report = Self {
            schema: SCHEMA,
            revision: revision.to_owned(),
            same: tally.same,
            changed: tally.other_changed,
            unknown: tally.other_unknown,
            untold_denials: tally.other_denied,
            half_lines: tally.half_lines,
            changes: Vec::new(),
            unjudged: Vec::new(),
        };
        for (group, members) in tally.groups {
            let (total, list) = if group.is_change() {
                (&mut report.changed, &mut report.changes)
            } else {
                (&mut report.unknown, &mut report.unjudged)
            };
            *total += members.count;
            list.push(GroupReport::new(group, members));
        }
        for list in [&mut report.changes, &mut report.unjudged] {
            list.sort_by_key(|group| std::cmp::Reverse(group.count));
        }
        report
    }

    pub(super) fn changes(&self) -> bool {
        self.changed > 0
    }

    /// Whether something that was allowed would be denied.
    pub(in crate::cli) fn denies(&self) -> bool {
        self.untold_denials > 0 || self.changes.iter().any(|group| group.now == Some("deny"))
    }

    pub(in crate::cli) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} decisions stay, {} change, {} cannot be judged; revision {}",
            self.same, self.changed, self.unknown, self.revision
        )?;
        if !self.changes.is_empty() {
            writeln!(out, "\nChanges:")?;
        }
        for group in &self.changes {
            let by = match group.policies.as_slice() {
                [] => "no policy permits it".to_owned(),
                policies => format!("by {}", policies.join(", ")),
            };
            let now = group.now.unwrap_or_default();
            let decision = format!("{} -> {now}", group.was);
            group.write(out, &format!("{decision:<16}"), &by)?;
        }
        if !self.unjudged.is_empty() {
            writeln!(out, "\nNot judged:")?;
        }
        for group in &self.unjudged {
            group.write(out, "", group.why.as_deref().unwrap_or_default())?;
        }
        let told = |list: &[GroupReport]| list.iter().map(|group| group.count).sum::<u64>();
        let untold = self.changed + self.unknown - told(&self.changes) - told(&self.unjudged);
        if untold > 0 {
            writeln!(out, "\n{untold} more, of too many groups to tell")?;
        }
        if self.half_lines > 0 {
            writeln!(
                out,
                "\nskipped {} half line(s), of gates that were killed",
                self.half_lines
            )?;
        }
        Ok(())
    }
}

impl GroupReport {
    fn new(group: Group, members: Members) -> Self {
        let example = members.example;
        let (now, policies, why) = match group.now {
            ReplayedDecision::Changed(policies) => (Some(group.was.other().word()), policies, None),
            ReplayedDecision::Unknown(why) => (None, Vec::new(), Some(why)),
            ReplayedDecision::Same => (None, Vec::new(), None),
        };
        Self {
            count: members.count,
            about: group.about,
            was: group.was.word(),
            now,
            policies,
            why,
            example: ExampleReport {
                file: example.at.file.to_string(),
                line: example.at.line,
                seq: example.seq,
            },
        }
    }

    fn write(&self, out: &mut dyn Write, decision: &str, because: &str) -> io::Result<()> {
        let ExampleReport { file, line, seq } = &self.example;
        writeln!(
            out,
            "{:>8}  {decision}{}: {}",
            self.count,
            printable(&self.about),
            printable(because)
        )?;
        writeln!(
            out,
            "          such as {}:{line} (seq {seq})",
            printable(file)
        )
    }
}
