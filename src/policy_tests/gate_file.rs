//! The configuration of the gate that judges fixtures, and that of one fixture which names its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::errors::{FixtureProblem, FixtureSource};
use super::find::FixtureFile;
use super::pack_paths;
use crate::config::{Config, ConfigError};
use crate::gate;
use crate::loading;
use crate::policy::Server;
use crate::unified::{Alias, View};

/// Policies that a configuration names, in place of those beside each fixture.
#[derive(Debug, Clone)]
pub struct ConfiguredPolicies {
    /// What reports call the configuration.
    pub file: PathBuf,
    pub policies: loading::Settings,
    /// In the order of their keys; at least one.
    pub servers: Vec<ConfiguredServer>,
    /// The endpoint of all servers, if there is one.
    pub unified: Option<ConfiguredEndpoint>,
}

/// The endpoint of all servers.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredEndpoint {
    pub aliases: Arc<[Alias]>,
    /// By their names.
    pub views: BTreeMap<String, View>,
}

/// A server of a configuration, and the gate in front of it.
#[derive(Debug, Clone)]
pub struct ConfiguredServer {
    pub server: Server,
    /// With all its limits.
    pub gate: gate::Settings,
}

impl ConfiguredServer {
    /// The only server of a configuration, or of a gate without any.
    pub fn only(name: String, gate: gate::Settings) -> Self {
        let server = Server {
            name,
            ..Server::default()
        };
        Self { server, gate }
    }
}

/// The meaning of a configuration, by its path.
pub type ConfigLoader = fn(&Config, &Path) -> ConfiguredPolicies;

/// Fixtures are written by hand; a larger file is a mistake.
const MAX_BYTES: u64 = 16 << 20;

/// Reads the configuration that a fixture names. It judges the policies beside the fixture, so that
/// it has to be theirs. The environment has no variables: what a test comes to depends on its pack
/// alone, and no report shows a user's environment.
pub(super) fn load(
    named: &Spanned<String>,
    source: &FixtureSource,
    found: &FixtureFile,
    reads: ConfigLoader,
) -> Result<ConfiguredPolicies, Vec<FixtureProblem>> {
    let name = named.get_ref();
    let problem =
        |message: String| FixtureProblem::new("test::gate", message).at(source, named.span());
    let dir = found.fixture.parent().unwrap_or(Path::new(""));
    if !pack_paths::is_below(Path::new(name), dir, found.pack.as_deref()) {
        let help = "a pack holds all that its tests need, and the gate that they are about";
        let outside = problem(format!("`{name}` is outside of the pack"));
        return Err(vec![outside.with_help(help)]);
    }
    let path = dir.join(name);
    let text = text(&path).map_err(|why| {
        let help = "its path is relative to the fixture's directory";
        vec![problem(format!("`{name}`: {why}")).with_help(help)]
    })?;
    let base = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
    let base = base.parent().unwrap_or(dir);
    let config = Config::parse_offline(&text, &path, base, &|_| None).map_err(|errors| {
        let tell = |error: &ConfigError| {
            let place = error.position();
            let place = place.map_or(String::new(), |(line, _)| format!(", line {line}"));
            let wrong = problem(format!("`{name}`{place}: {error}"));
            match error.advice() {
                Some(advice) => wrong.with_help(advice),
                None => wrong,
            }
        };
        errors.problems().iter().map(tell).collect::<Vec<_>>()
    })?;
    let mut configured = reads(&config, &path);
    if !is_of(configured.policies.dir.as_deref(), found.pack.as_deref()) {
        let help = "a fixture is judged by the policies beside it: name their directory as \
                    `policy.dir`, which is `\".\"` for a configuration that lies among them";
        let others = problem(format!("`{name}` is no configuration of these policies"));
        return Err(vec![others.with_help(help)]);
    }
    // One name for one pack, whichever way it is reached.
    configured.policies.dir.clone_from(&found.pack);
    configured.policies.shadow = None;
    Ok(configured)
}

/// The text of a file, or why there is none.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    if fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
        return Err(format!("larger than {MAX_BYTES} bytes"));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let not_utf8 = |error: std::string::FromUtf8Error| {
        format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to())
    };
    String::from_utf8(bytes).map_err(not_utf8)
}

fn is_of(dir: Option<&Path>, pack: Option<&Path>) -> bool {
    let real = |path: Option<&Path>| fs::canonicalize(path?).ok();
    let (Some(dir), Some(pack)) = (real(dir), real(pack)) else {
        return false;
    };
    dir == pack
}
