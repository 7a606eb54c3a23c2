//! The text of a configuration: that of its file, and after it those of the servers' own files.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use secrecy::zeroize::Zeroizing;
use toml::de::DeValue;
use toml::{Table, Value};

use super::conceal::TextPiece;
use super::errors::{ConfigError, ConfigErrors, ConfigReason};
use super::file::{self, ParsedFile, base_of};
use crate::policy::ServerKey;

/// The last line of a server's file that a program has written whole.
pub const END_OF_SERVER: &str = "# end";

/// Maximum number of servers of one gate.
pub(super) const MAX_SERVERS: usize = 32;

/// The text of a configuration, which may hold secrets. The files of servers are pieces of it: a place in one of them is a
/// place in the whole.
#[derive(Clone)]
pub struct ConfigText {
    text: Zeroizing<String>,
    files: Vec<ServerFile>,
}

/// The file of one server as it would be.
#[derive(Debug, Clone, Copy)]
pub struct ServerFileChange<'c> {
    pub file: &'c Path,
    /// `None`: it is removed.
    pub text: Option<&'c str>,
}

/// A file with one server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServerFile {
    path: PathBuf,
    key: ServerKey,
    place: Range<usize>,
}

impl ConfigText {
    /// Without files of servers.
    pub(super) fn new(text: String) -> Self {
        Self {
            text: Zeroizing::new(text),
            files: Vec::new(),
        }
    }

    /// Reads a file, and the files of servers in the directory that it names.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigErrors> {
        Self::read_changed(path, None)
    }

    /// The same, as it would be with a change of the file of one server.
    pub(super) fn read_changed(
        path: &Path,
        change: Option<&ServerFileChange<'_>>,
    ) -> Result<Self, ConfigErrors> {
        let mut whole = Self::new(file::read(path)?);
        let Some(dir) = whole.servers_dir(path) else {
            return Ok(whole);
        };
        let unlisted = |error: std::io::Error| {
            let reason = ConfigReason::Unreadable(error.to_string());
            let help = "`servers_dir` names it: make the directory, or remove the key";
            ConfigErrors::about_file(&dir, reason, help)
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(&dir).map_err(unlisted)? {
            let file = entry.map_err(unlisted)?.path();
            let name = file.file_name().unwrap_or_default().as_encoded_bytes();
            if name.ends_with(b".toml") && !name.starts_with(b".") {
                files.push(file);
            }
        }
        if let Some(change) = change {
            files.retain(|file| file != change.file);
            files.extend(change.text.map(|_| change.file.to_owned()));
        }
        if files.len() > MAX_SERVERS {
            let reason = ConfigReason::Invalid("expected at most 32 servers");
            return Err(ConfigErrors::about_file(
                &dir,
                reason,
                "one file for each server",
            ));
        }
        files.sort();
        for file in files {
            let changed = change.filter(|change| change.file == file);
            let text = match changed.and_then(|change| change.text) {
                Some(text) => text.to_owned(),
                None => read_server(&file)?,
            };
            whole.append(path, file, &text)?;
        }
        Ok(whole)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The directory of servers' files that this text names. The reader of keys reports a key that is wrong.
    pub(super) fn servers_dir(&self, path: &Path) -> Option<PathBuf> {
        let table: Table = self.text().parse().ok()?;
        let named = table.get("servers_dir").and_then(Value::as_str)?;
        (!named.is_empty()).then(|| base_of(path).join(named))
    }

    /// Every piece of the text, in order.
    pub(super) fn pieces(&self, path: &Path) -> Vec<TextPiece> {
        let piece = |start, path: &Path| TextPiece {
            start,
            name: path.display().to_string(),
        };
        let files = self.files.iter();
        let files = files.map(|file| piece(file.place.start, &file.path));
        std::iter::once(piece(0, path)).chain(files).collect()
    }

    /// Whether the file of a server says that it is whole, or is gone: nothing of it is cut.
    pub(super) fn is_whole(
        &self,
        before: &Self,
        key: &str,
        is_gone: impl FnOnce() -> bool,
    ) -> bool {
        let file_in = |text: &Self| text.files.iter().position(|it| it.key.as_str() == key);
        match file_in(self) {
            Some(at) => self.files.get(at).is_some_and(|it| {
                let text = self.text().get(it.place.clone()).unwrap_or_default();
                text.trim_end().lines().last() == Some(END_OF_SERVER)
            }),
            None => file_in(before).is_some() && is_gone(),
        }
    }

    /// Whether the file of this place ends after it.
    pub(super) fn ends_after(&self, place: &Range<usize>) -> bool {
        let starts = self.files.iter().map(|file| file.place.start);
        let next = starts.filter(|start| *start >= place.end).min();
        // The line break before it is of neither.
        let end = next.map_or(self.text.len(), |next| next.saturating_sub(1));
        let rest = self.text().get(place.end..end);
        !rest.is_some_and(|it| it.contains('\n'))
    }

    /// Adds the file of one server, which has to be readable by itself: a piece that is cut must not change the meaning
    /// of another.
    fn append(&mut self, path: &Path, file: PathBuf, text: &str) -> Result<(), ConfigErrors> {
        let key = self.check(path, &file, text)?;
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(text);
        self.files.push(ServerFile {
            path: file,
            key,
            place: start..self.text.len(),
        });
        Ok(())
    }

    fn check(&self, path: &Path, file: &Path, text: &str) -> Result<ServerKey, ConfigErrors> {
        let origin = file.display().to_string();
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let Some(key) = ServerKey::of(&stem) else {
            let reason = ConfigReason::Invalid("is not named by the key of a server");
            let help = "a lower-case letter and up to 31 more, digits and `-`, as in `files.toml`";
            return Err(ConfigErrors::about_file(file, reason, help));
        };
        let written = ParsedFile::parse(text);
        let refuse = |problems| {
            let piece = TextPiece {
                start: 0,
                name: origin.clone(),
            };
            written.errors(text, &[piece], problems)
        };
        if !written.problems.is_empty() {
            return Err(refuse(written.problems.clone()));
        }
        let table = format!("servers.{key}");
        // What stands above all headers would be of the file before.
        let mut lines = text.lines().map(str::trim_start);
        let first = lines.find(|line| !(line.is_empty() || line.starts_with('#')));
        let begins = first.is_some_and(|line| line.starts_with('['));
        let has_its_table = written.table.iter().any(|(name, value)| {
            let DeValue::Table(servers) = value.get_ref() else {
                return false;
            };
            *name.get_ref() == "servers" && servers.contains_key(key.as_str())
        });
        let without_table = || {
            let reason = ConfigReason::Unusable(format!("has no table `[{table}]`"));
            let help = format!("`{stem}.toml` has the server `{key}`");
            ConfigErrors::about_file(file, reason, &help)
        };
        if !has_its_table {
            return Err(without_table());
        }
        let is_of_it = |path: &str| {
            path == "servers" || path == table || path.starts_with(&format!("{table}."))
        };
        let entries = written.outline.entries.iter();
        let others = entries.filter(|entry| !is_of_it(&entry.path));
        let mut others: Vec<_> = others
            .map(|entry| {
                let reason = ConfigReason::Elsewhere("configuring anything but its server");
                let help =
                    format!("`{stem}.toml` has `[{table}]` alone; write the rest into `gate.toml`");
                let mut problem = ConfigError::without_place(&entry.path, reason, &help);
                problem.labels = vec![(entry.key.clone(), "here")];
                problem
            })
            .collect();
        others.sort_by_key(|problem| problem.labels.first().map(|(place, _)| place.start));
        if !others.is_empty() {
            return Err(refuse(others));
        }
        if !begins {
            return Err(without_table());
        }
        let before: Table = self.text().parse().unwrap_or_default();
        let servers = before.get("servers").and_then(Value::as_table);
        if servers.is_some_and(|servers| servers.contains_key(key.as_str())) {
            let reason = ConfigReason::Unusable(format!(
                "has the server `{key}`, and so has `{}`",
                path.display()
            ));
            return Err(ConfigErrors::about_file(
                file,
                reason,
                "remove one of the two",
            ));
        }
        Ok(key)
    }
}

fn read_server(file: &Path) -> Result<String, ConfigErrors> {
    // To read a pipe could take for ever.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        let reason = ConfigReason::Unreadable("it is not a file".to_owned());
        let help = "put a file in its place, or remove it";
        return Err(ConfigErrors::about_file(file, reason, help));
    }
    file::read(file)
}

impl PartialEq for ConfigText {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() && self.files == other.files
    }
}

impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfigText")
    }
}
