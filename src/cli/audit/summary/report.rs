//! The summary, for people and as JSON.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::figures::{Figures, KEY_SEPARATOR, LEVELS};
use super::tally::{Histogram, Tally, TallyValue as _};
use crate::audit::Decision;
use crate::findings::printable;

/// A summary. Each list begins with the largest number.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    records: u64,
    decisions: BTreeMap<&'static str, u64>,
    denials: Vec<Denial>,
    agents: Vec<Count>,
    tools: Vec<ToolDurations>,
    /// The number of sessions by their highest level.
    sessions: BTreeMap<&'static str, u64>,
    redactions: Vec<Count>,
    consents: Vec<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unused_policies: Option<Vec<String>>,
    /// The records of keys that a table did not keep.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    others: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
struct Denial {
    reason: String,
    target: String,
    policies: Vec<String>,
    count: u64,
}

#[derive(Debug, Serialize)]
struct Count {
    name: String,
    count: u64,
}

#[derive(Debug, Serialize)]
struct ToolDurations {
    tool: String,
    calls: u64,
    p50_us: u64,
    p99_us: u64,
}

impl Report {
    /// The report, with at most `top` rows in each list. The ids of policies are sorted.
    pub(super) fn of(figures: Figures, policies: Option<Vec<String>>, top: usize) -> Self {
        let others = [
            ("denials", figures.denials.others),
            ("agents", figures.agents.others),
            ("tools", figures.tools.others),
            ("sessions", figures.sessions.others),
            ("redactions", figures.redactions.others),
            ("consents", figures.consents.others),
        ];
        let mut sessions = BTreeMap::new();
        for level in figures.sessions.values.values() {
            if let Some(name) = LEVELS.get(level.0) {
                *sessions.entry(*name).or_default() += 1;
            }
        }
        let unused_policies = policies.map(|policies| {
            let numbered = policies.into_iter().enumerate();
            let unused = numbered.filter(|(index, _)| !figures.used_policies.contains(index));
            unused.map(|(_, id)| id).collect()
        });
        let decisions = Decision::ALL.map(Decision::as_str).into_iter();
        Self {
            records: figures.records,
            decisions: decisions.zip(figures.decisions).collect(),
            denials: largest(figures.denials, top).map(Denial::of).collect(),
            agents: largest(figures.agents, top).map(Count::of).collect(),
            tools: slowest(figures.tools, top),
            sessions,
            redactions: largest(figures.redactions, top).map(Count::of).collect(),
            consents: largest(figures.consents, top).map(Count::of).collect(),
            unused_policies,
            others: others.into_iter().filter(|(_, count)| *count > 0).collect(),
        }
    }

    pub(super) fn write_tables(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "records: {}", self.records)?;
        self.heading("decisions", out)?;
        for (decision, count) in &self.decisions {
            writeln!(out, "{count:>12}  {decision}")?;
        }
        self.heading("denials", out)?;
        for it in &self.denials {
            let policies = it.policies.join(", ");
            let [reason, target, policies] =
                [&it.reason, &it.target, &policies].map(|text| cell(text));
            let count = it.count;
            writeln!(out, "{count:>12}  {target:<40}  {reason:<28}  {policies}")?;
        }
        self.heading("agents", out)?;
        write_counts(&self.agents, out)?;
        self.heading("tools", out)?;
        for it in &self.tools {
            let (tool, calls) = (cell(&it.tool), it.calls);
            let [p50, p99] = [it.p50_us, it.p99_us].map(milliseconds);
            writeln!(out, "{calls:>12}  {tool:<40}  p50 {p50:>12}  p99 {p99:>12}")?;
        }
        self.heading("sessions", out)?;
        for (level, count) in LEVELS
            .iter()
            .filter_map(|it| self.sessions.get_key_value(it))
        {
            writeln!(out, "{count:>12}  {level}")?;
        }
        self.heading("redactions", out)?;
        write_counts(&self.redactions, out)?;
        self.heading("consents", out)?;
        write_counts(&self.consents, out)?;
        if let Some(unused) = &self.unused_policies {
            self.heading("unused_policies", out)?;
            for id in unused {
                writeln!(out, "              {}", printable(id))?;
            }
        }
        Ok(())
    }

    fn heading(&self, table: &str, out: &mut dyn Write) -> io::Result<()> {
        let title = match table {
            "denials" => "denials by target, reason and policies",
            "agents" => "agents with most denials",
            "tools" => "slowest tools, with their calls",
            "sessions" => "sessions by highest sensitivity",
            "redactions" => "redactions by rule",
            "consents" => "consents by event",
            "unused_policies" => "policies that no record names",
            other => other,
        };
        writeln!(out, "\n{title}")?;
        match self.others.get(table) {
            Some(others) => writeln!(
                out,
                "{others:>12}  others, of more names than a table keeps"
            ),
            None => Ok(()),
        }
    }
}

impl Denial {
    fn of((key, count): (String, u64)) -> Self {
        let mut parts = key.split(KEY_SEPARATOR).map(str::to_owned);
        Self {
            reason: parts.next().unwrap_or_default(),
            target: parts.next().unwrap_or_default(),
            policies: parts.collect(),
            count,
        }
    }
}

impl Count {
    fn of((name, count): (String, u64)) -> Self {
        Self { name, count }
    }
}

fn largest(tally: Tally<u64>, top: usize) -> impl Iterator<Item = (String, u64)> {
    let mut all: Vec<(String, u64)> = tally.values.into_iter().collect();
    // Stable: equal counts stay in the order of their names.
    all.sort_by_key(|(_, count)| Reverse(*count));
    all.into_iter().take(top)
}

fn slowest<const KEYS: usize>(tools: Tally<Histogram, KEYS>, top: usize) -> Vec<ToolDurations> {
    let of = |(tool, durations): (String, Histogram)| ToolDurations {
        tool,
        calls: durations.count(),
        p50_us: durations.quantile(50),
        p99_us: durations.quantile(99),
    };
    let mut all: Vec<ToolDurations> = tools.values.into_iter().map(of).collect();
    all.sort_by_key(|it| Reverse(it.p99_us));
    all.truncate(top);
    all
}

fn write_counts(counts: &[Count], out: &mut dyn Write) -> io::Result<()> {
    for it in counts {
        writeln!(out, "{:>12}  {}", it.count, cell(&it.name))?;
    }
    Ok(())
}

fn cell(text: &str) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        printable(text)
    }
}

fn milliseconds(microseconds: u64) -> String {
    format!("{}.{:03} ms", microseconds / 1000, microseconds % 1000)
}
