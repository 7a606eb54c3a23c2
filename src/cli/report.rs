//! Tells authors what is wrong with their files: on stderr, all of it, with places and advice.

use std::io::Write as _;

use crate::config::ConfigErrors;
use crate::findings::visible;
use crate::policy::PolicyErrors;

/// What is wrong with a configuration.
pub fn configuration(errors: &ConfigErrors) {
    tell(errors);
}

/// The same in one line, for the log.
pub fn in_short(errors: &ConfigErrors) -> String {
    let first = errors.problems().first();
    let first = first.map(|problem| format!("; the first: {problem}"));
    visible(&format!("{errors}{}", first.unwrap_or_default()))
}

/// What is wrong with policies.
pub fn policies(errors: &PolicyErrors) {
    tell(errors);
}

/// What is wrong with anything else.
pub fn tell(diagnostic: &dyn miette::Diagnostic) {
    // A closed stderr has no reader; the exit code remains.
    let _ = writeln!(std::io::stderr(), "{}", text(diagnostic));
}

/// The same, for a gate that runs and must not wait for the reader of stderr.
pub fn text(diagnostic: &dyn miette::Diagnostic) -> String {
    let plain = rendered(diagnostic, miette::GraphicalTheme::unicode_nocolor());
    // A snippet shows an author's text, which may hold what deceives its reader, or tells a terminal
    // what to do. Colours would hide its origin.
    if plain.contains(commands) {
        return visible(&shortened(&escaped(&plain)));
    }
    let report = match colours() {
        Colours::Shown => rendered(diagnostic, miette::GraphicalTheme::unicode()),
        Colours::None => plain,
    };
    visible(&shortened(&report))
}

fn rendered(diagnostic: &dyn miette::Diagnostic, theme: miette::GraphicalTheme) -> String {
    let handler = miette::GraphicalReportHandler::new_themed(theme);
    let mut report = String::new();
    if handler.render_report(&mut report, diagnostic).is_err() {
        report = diagnostic.to_string();
    }
    report
}

/// What a terminal does not show, but does.
fn commands(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if commands(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Letters of one line of a report. A snippet shows whole lines of a file, and a file may be one
/// line of megabytes.
const MOST: usize = 500;

fn shortened(report: &str) -> String {
    let line = |line: &str| match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    };
    report.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colours {
    Shown,
    None,
}

/// Only for terminals, and never against <https://no-color.org>.
fn colours() -> Colours {
    use std::io::IsTerminal as _;
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stderr().is_terminal() && !plain {
        Colours::Shown
    } else {
        Colours::None
    }
}
