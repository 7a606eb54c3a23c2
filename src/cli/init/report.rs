//! What people read of it.

use std::io::{self, Write};
use std::path::Path;

use super::gate_text::{GATE_FILE, GateServers};
use super::listing::Listing;
use super::wrapping::WrappedFiles;
use crate::cli::tools;
use crate::clients::FileChange;
use crate::drafts::ToxicFlow;
use crate::findings::printable;

/// Rows of the table, and names of tools in a cell.
const MAX_ROWS: usize = 20;
const MAX_NAMES: usize = 3;

/// Lines of one kind, of names that servers choose.
const MAX_LINES: usize = 20;

pub(super) struct InitReport<'t> {
    pub(super) dir: &'t Path,
    pub(super) servers: &'t GateServers,
    pub(super) listing: &'t Listing,
}

impl InitReport<'_> {
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for key in self.servers.keys() {
            let failed = self.listing.failed.iter().find(|(failed, _)| failed == key);
            if let Some((_, why)) = failed {
                let why = tools::shown(why);
                writeln!(out, "{key}: written with `enabled = false`: {why}")?;
            } else {
                let [reads, writes, connects, denied] = self.listing.servers.counts(key);
                writeln!(
                    out,
                    "{key}: {reads} tool(s) read, {writes} write and ask a person, {connects} of these connect, {denied} denied"
                )?;
            }
        }
        for line in self.listing.remarks.iter().take(MAX_LINES) {
            writeln!(out, "{line}")?;
        }
        more(self.listing.remarks.len(), MAX_LINES, out)?;
        self.flows(out)
    }

    fn flows(&self, out: &mut dyn Write) -> io::Result<()> {
        let flows = self.listing.servers.toxic_flows();
        if flows.is_empty() {
            return writeln!(
                out,
                "\nNo private data, untrusted content and way out come together."
            );
        }
        let cell = |(key, names): &(String, Vec<String>)| {
            let first = names.iter().take(MAX_NAMES).map(|name| tools::shown(name));
            let mut cell = format!("{key}: {}", first.collect::<Vec<_>>().join(", "));
            let more = names.len().saturating_sub(MAX_NAMES);
            if more > 0 {
                cell.extend([format!(", {more} more")]);
            }
            cell
        };
        let row = |flow: &ToxicFlow| [&flow.private, &flow.untrusted, &flow.sends].map(cell);
        let heads = [
            "reads private data",
            "reads what strangers write",
            "sends out",
        ];
        let rows = flows.iter().take(MAX_ROWS).map(row);
        let rows: Vec<[String; 3]> = std::iter::once(heads.map(str::to_owned))
            .chain(rows)
            .collect();
        let width = |column: fn(&[String; 3]) -> &String| {
            rows.iter()
                .map(|row| column(row).chars().count())
                .max()
                .unwrap_or_default()
        };
        let (first, second) = (width(|[cell, ..]| cell), width(|[_, cell, _]| cell));
        writeln!(
            out,
            "\nTogether these servers can leak: who writes what the model reads can have it send private data out."
        )?;
        for [private, untrusted, sends] in &rows {
            writeln!(out, "  {private:first$} | {untrusted:second$} | {sends}")?;
        }
        more(flows.len(), MAX_ROWS, out)?;
        writeln!(
            out,
            "The policies deny the tools of the third column after one of the first, in the same session."
        )
    }

    pub(super) fn next(&self, out: &mut dyn Write) -> io::Result<()> {
        let dir = printable(&self.dir.display().to_string());
        writeln!(out, "\nwrote {dir}\n")?;
        writeln!(
            out,
            "Next: check each label in {dir}/policies/tools.toml, then\n  \
             mcp-protector check --config {dir}/{GATE_FILE}\n  \
             mcp-protector test-policy --config {dir}/{GATE_FILE}"
        )
    }
}

/// One more command, for a configuration that no client uses yet.
pub(super) fn wrap_later(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "  mcp-protector init --wrap    (with the same `--from` and `--dir`)"
    )
}

fn more(count: usize, shown: usize, out: &mut dyn Write) -> io::Result<()> {
    match count.saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more"),
    }
}

pub(super) fn wrapped(wrapped: &WrappedFiles<'_>, out: &mut dyn Write) -> io::Result<()> {
    for wrapped in &wrapped.0 {
        let file = printable(&wrapped.source.path.display().to_string());
        match wrapped.change {
            FileChange::Written => writeln!(out, "{file} leads through the gate")?,
            FileChange::None => writeln!(out, "{file} is as it was")?,
        }
    }
    writeln!(
        out,
        "Restart the clients. `mcp-protector init --unwrap` restores their files."
    )
}

pub(super) fn restored(path: &Path, change: FileChange, out: &mut dyn Write) -> io::Result<()> {
    let file = printable(&path.display().to_string());
    match change {
        FileChange::Written => writeln!(out, "{file} is as it was before"),
        FileChange::None => writeln!(out, "{file} does not lead through the gate"),
    }
}
