//! The text for the reader: at most 80 columns, with colours on terminals.

use std::io::Write;

use super::failure::DemoFailure;
use crate::policy_tests::Paint;

const COLUMNS: usize = 80;
/// The column at which the text of a row begins.
const INDENT: usize = 12;
/// The most rows of JSON that the page shows of one message.
const MAX_ROWS: usize = 5;

/// Standard output.
pub(super) struct DemoPage<'o> {
    out: &'o mut dyn Write,
    paint: Paint,
}

/// A colour, as a parameter of SGR (ECMA-48).
#[derive(Debug, Clone, Copy)]
pub(super) enum TerminalColour {
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
}

impl<'o> DemoPage<'o> {
    pub(super) fn new(out: &'o mut dyn Write, paint: Paint) -> Self {
        Self { out, paint }
    }

    pub(super) fn heading(&mut self, title: &str) -> Result<(), DemoFailure> {
        let rule = COLUMNS.saturating_sub(title.chars().count() + 4);
        let line = format!("── {title} {}", "─".repeat(rule));
        self.line(&format!("\n{}", self.coloured(TerminalColour::Bold, &line)))
    }

    /// A paragraph over the whole width.
    pub(super) fn paragraph(&mut self, text: &str) -> Result<(), DemoFailure> {
        for row in wrap(text, COLUMNS, &[' ']) {
            self.line(row.trim_end())?;
        }
        self.line("")
    }

    /// Words beside a label.
    pub(super) fn row(&mut self, label: &str, text: &str) -> Result<(), DemoFailure> {
        self.rows(label, &wrap(text, COLUMNS - INDENT, &[' ']))
    }

    /// Lines beside a label, as they are.
    pub(super) fn lines(&mut self, label: &str, text: &str) -> Result<(), DemoFailure> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        self.rows(label, &lines)
    }

    /// Words beside a label, of which the first has a colour.
    pub(super) fn verdict(
        &mut self,
        label: &str,
        (colour, word): (TerminalColour, &str),
        rest: &str,
    ) -> Result<(), DemoFailure> {
        let mut rows = wrap(&format!("{word} {rest}"), COLUMNS - INDENT, &[' ']);
        if let Some(first) = rows.first_mut() {
            *first = first.replacen(word, &self.coloured(colour, word), 1);
        }
        self.rows(label, &rows)
    }

    /// JSON beside a label; of long JSON the beginning.
    pub(super) fn json(&mut self, label: &str, text: &str) -> Result<(), DemoFailure> {
        let mut rows = wrap(text, COLUMNS - INDENT, &[',', '{', ' ']);
        if rows.len() > MAX_ROWS {
            rows.truncate(MAX_ROWS - 1);
            rows.push(format!("[…] {} bytes in all", text.len()));
        }
        self.rows(label, &rows)
    }

    /// The text of a policy.
    pub(super) fn policy(&mut self, text: &str) -> Result<(), DemoFailure> {
        let lines = text.lines();
        let rows = lines.map(|line| self.coloured(TerminalColour::Dim, &format!("│ {line}")));
        let rows: Vec<String> = rows.collect();
        self.rows("", &rows)
    }

    pub(super) fn line(&mut self, text: &str) -> Result<(), DemoFailure> {
        writeln!(self.out, "{text}").map_err(DemoFailure::Output)
    }

    pub(super) fn failed(&mut self, failure: &DemoFailure) -> Result<(), DemoFailure> {
        let word = self.coloured(TerminalColour::Red, "FAILED");
        self.line(&format!("\n{word}: {failure}"))
    }

    fn rows(&mut self, label: &str, rows: &[String]) -> Result<(), DemoFailure> {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        for (label, row) in labels.zip(rows) {
            self.line(format!("{label:<INDENT$}{row}").trim_end())?;
        }
        Ok(())
    }

    fn coloured(&self, colour: TerminalColour, text: &str) -> String {
        match self.paint {
            Paint::Plain => text.to_owned(),
            Paint::Coloured => format!("\u{1b}[{}m{text}\u{1b}[0m", colour as u8),
        }
    }
}

/// Rows of at most `columns`, each cut after one of `ends` if the row has one beyond its first third.
fn wrap(text: &str, columns: usize, ends: &[char]) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    for letter in text.chars() {
        if row.chars().count() == columns {
            let cut = row.rfind(ends).map(|at| at + 1);
            let rest = match cut.filter(|cut| letter != ' ' && *cut > columns / 3) {
                Some(cut) => row.split_off(cut),
                None => String::new(),
            };
            rows.push(std::mem::replace(&mut row, rest));
        }
        if !(row.is_empty() && letter == ' ') {
            row.push(letter);
        }
    }
    rows.push(row);
    rows
}
