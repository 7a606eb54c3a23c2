//! The whole way from text to settings, as authors meet it.

mod annotated;
mod changes;
mod claims;
mod extensions;
mod files;
mod isolated;
mod meaning;
mod mistakes;
mod network;
mod offline;
mod published;
mod published_http;
mod ratchet;
mod reports;
mod sandbox;
mod secrets;
mod servers;
mod telemetry;
mod token_exchange;
mod unreadable;
mod user_identity;

use std::ffi::OsString;
use std::path::Path;

use super::{Config, ConfigErrors};

/// A secret that must never be seen.
const CANARY: &str = "canary-7d1f";

fn variables(name: &str) -> Option<OsString> {
    let value = match name {
        "PATH" => "/usr/bin",
        "HOME" => "/home/ada",
        "LD_PRELOAD" => "/tmp/evil.so",
        "EMPTY" => "",
        "TOOL" => "read_file,write_file",
        "TIMEOUT" => "2m",
        "SIZE" => "64KiB",
        "STRICT" => "strict",
        "ARGUMENTS" => "--a --b",
        "SECRET" => CANARY,
        "TOKEN" => "a-token-of-20-bytes!",
        _ => return None,
    };
    Some(value.into())
}

fn parse(text: &str) -> Result<Config, ConfigErrors> {
    Config::parse(
        text,
        Path::new("gate.toml"),
        Path::new("/etc/gate"),
        &variables,
    )
}

#[track_caller]
fn valid(text: &str) -> Config {
    parse(text).unwrap_or_else(|errors| panic!("{text}\n{}", render(&errors)))
}

/// A valid file with these lines in front of its `[upstream]`.
#[track_caller]
fn valid_with(text: &str) -> Config {
    valid(&format!("upstream.command = [\"server\"]\n{text}"))
}

/// A report as a terminal without colours shows it.
fn render(diagnostic: &dyn miette::Diagnostic) -> String {
    let mut report = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut report, diagnostic)
        .expect("a report renders");
    report
}

/// Each expected problem is `line message`, or only the message where there is no line.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let problems = match parse(text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors
            .problems()
            .iter()
            .map(|problem| match problem.position() {
                Some((line, _)) => format!("{line} {problem}"),
                None => problem.to_string(),
            })
            .collect(),
    };
    assert_eq!(problems, expected, "\n{text}");
}

/// The same with a valid `[upstream]` in front, on line 1.
#[track_caller]
fn check_rest(text: &str, expected: &[&str]) {
    check(
        &format!("upstream.command = [\"server\"]\n{text}"),
        expected,
    );
}
