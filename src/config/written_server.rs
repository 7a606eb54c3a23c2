//! Where each server is written, and how.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::config_text::ConfigText;
use super::env_file::EnvFile;
use super::errors::ConfigErrors;
use super::file::{self, ParsedFile, base_of};
use super::load::concealed;
use super::reader::{ConfigReader, UnsetVariable};
use super::resolve::resolve;
use super::settings::ConfigFile;
use crate::policy::ServerKey;

/// A server as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenServer {
    pub file: PathBuf,
    /// The first line, from 1.
    pub line: usize,
    /// Its lines, without what may be secret.
    pub text: String,
}

/// A configuration whose servers are to be changed: it may be wrong as a whole.
#[derive(Debug)]
pub struct ServerFiles {
    path: PathBuf,
    text: ConfigText,
}

impl ServerFiles {
    /// Reads the file of the configuration alone.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> Result<Self, ConfigErrors> {
        Ok(Self {
            path: path.to_owned(),
            text: ConfigText::new(file::read(path)?),
        })
    }

    /// The file of a server, if the configuration names a directory for them.
    pub fn file_of(&self, key: &ServerKey) -> Option<PathBuf> {
        let dir = self.text.servers_dir(&self.path)?;
        Some(dir.join(format!("{key}.toml")))
    }

    /// The line on which the configuration itself has a server.
    pub fn line_of(&self, key: &ServerKey) -> Option<usize> {
        let written = written(&self.path, &self.text, key);
        written.map(|server| server.line)
    }
}

impl ConfigFile {
    /// A server of this file, or of the files of servers.
    pub fn written(&self, key: &ServerKey) -> Option<WrittenServer> {
        written(self.path(), self.text(), key)
    }
}

fn written(path: &Path, text: &ConfigText, key: &ServerKey) -> Option<WrittenServer> {
    let base = base_of(path);
    let parsed = ParsedFile::parse(text.text());
    // What is shown does not depend on values.
    let variables = EnvFile::of(text.text(), &base, UnsetVariable::StandIn).unwrap_or_default();
    let look_up = |name: &str| variables.get(name).or_else(|| std::env::var_os(name));
    let mut reading = ConfigReader::new(&parsed, &look_up);
    reading.unset = UnsetVariable::StandIn;
    resolve(&mut reading, &base);
    let shown = concealed(&text.pieces(path), text.text(), &parsed, &reading);
    let table = format!("servers.{key}");
    let below = format!("{table}.");
    let is_of_it = |path: &str| path == table || path.starts_with(&below);
    let entries = parsed.outline.entries.iter();
    let entries = entries.filter(|entry| is_of_it(&entry.path));
    let places = entries.flat_map(|entry| {
        let end = entry.value.end.max(entry.key.end);
        let start = entry.key.start.min(entry.value.start);
        let inside = text.text().get(start..end).unwrap_or_default();
        let breaks = inside.match_indices('\n');
        let lines = breaks.map(move |(at, _)| start + at + 1);
        std::iter::once(start).chain(lines).collect::<Vec<_>>()
    });
    let lines = places.filter_map(|place| {
        let (file, line, text) = shown.line(place)?;
        Some(((file, line), text))
    });
    let lines: BTreeMap<(&str, usize), &str> = lines.collect();
    let ((file, line), _) = lines.first_key_value()?;
    let text: Vec<&str> = lines.values().copied().collect();
    Some(WrittenServer {
        file: PathBuf::from(file),
        line: *line,
        text: text.join("\n"),
    })
}
