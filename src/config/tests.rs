//! The whole way from text to settings, as authors meet it.

use std::ffi::OsString;
use std::path::Path;

use super::{Config, ConfigErrors};

fn variables(name: &str) -> Option<OsString> {
    match name {
        "PATH" => Some("/usr/bin".into()),
        "TOKEN" => Some(CANARY.into()),
        _ => None,
    }
}

/// A secret that must never be seen.
const CANARY: &str = "canary-7d1f";

fn parse(text: &str) -> Result<Config, ConfigErrors> {
    Config::parse(
        text,
        Path::new("gate.toml"),
        Path::new("/etc/gate"),
        &variables,
    )
}

#[test]
fn the_smallest_configuration_has_every_default() {
    let config = parse("[upstream]\ncommand = [\"server\"]\n").expect("valid");
    assert_eq!(config.upstream.command, ["server"]);
}
