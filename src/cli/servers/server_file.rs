//! The file of one server: its new text, and how it is written.

use std::fs;
use std::io;
use std::path::PathBuf;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::failure::ServersFailure;
use crate::cli::args::ServerLaunch;
use crate::cli::atomic_write::{self, Readers};
use crate::config::END_OF_SERVER;
use crate::policy::ServerKey;

/// A change of the file.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) enum ServerEdit<'e> {
    Add(&'e ServerLaunch),
    /// The whole table of a server that may be there already.
    Put(&'e Table),
    Update(&'e ServerLaunch),
    Remove,
    Enable,
    Disable,
}

/// A file as it is, and as it is to be.
#[derive(Debug)]
pub(in crate::cli) struct EditedFile {
    pub(in crate::cli) path: PathBuf,
    pub(in crate::cli) before: Option<String>,
    /// `None`: it is removed.
    pub(in crate::cli) after: Option<String>,
    readers: Readers,
}

impl EditedFile {
    pub(super) fn of(
        path: PathBuf,
        key: &ServerKey,
        edit: ServerEdit<'_>,
    ) -> Result<Self, ServersFailure> {
        let before = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(ServersFailure::file(&path, error)),
        };
        let document = match (edit, &before) {
            (ServerEdit::Add(_), Some(_)) => {
                let (key, file) = (key.clone(), path);
                return Err(ServersFailure::Exists { key, file });
            }
            (ServerEdit::Add(_), None) | (ServerEdit::Put(_), _) => Some(new_document(key)),
            (_, None) => {
                let (key, file) = (key.clone(), path);
                return Err(ServersFailure::Absent { key, file });
            }
            (ServerEdit::Remove, Some(_)) => None,
            (ServerEdit::Update(_) | ServerEdit::Enable | ServerEdit::Disable, Some(text)) => {
                // A parser's own words could show a secret.
                Some(text.parse().unwrap_or_default())
            }
        };
        let Some(mut document) = document else {
            return Ok(Self {
                path,
                before,
                after: None,
                readers: Readers::AsBefore,
            });
        };
        let servers = document.get_mut("servers");
        let servers = servers.and_then(Item::as_table_like_mut);
        let table = servers.and_then(|servers| servers.get_mut(key.as_str()));
        let Some(table) = table.and_then(Item::as_table_like_mut) else {
            let (key, file) = (key.clone(), path);
            return Err(ServersFailure::NoTable { key, file });
        };
        change(table, edit);
        // An operator may have put secrets anywhere, also into a URL.
        let has_secrets = matches!(edit, ServerEdit::Put(_))
            || ["env", "auth"].iter().any(|name| table.contains_key(name));
        Ok(Self {
            path,
            before,
            after: Some(ended(document.to_string())),
            readers: if has_secrets {
                Readers::Owner
            } else {
                Readers::AsBefore
            },
        })
    }

    /// Whole or not at all, unless the file has changed since it was read.
    pub(in crate::cli) fn write(&self) -> Result<(), ServersFailure> {
        let now = fs::read_to_string(&self.path).ok();
        if now != self.before {
            return Err(ServersFailure::Changed(self.path.clone()));
        }
        let written = match &self.after {
            Some(text) => atomic_write::write_for(&self.path, text, self.readers),
            None => fs::remove_file(&self.path),
        };
        written.map_err(|error| ServersFailure::file(&self.path, error))
    }
}

fn new_document(key: &ServerKey) -> DocumentMut {
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(key.as_str(), Item::Table(Table::new()));
    let mut document = DocumentMut::new();
    document.insert("servers", Item::Table(servers));
    document
}

fn change(table: &mut dyn TableLike, edit: ServerEdit<'_>) {
    match edit {
        ServerEdit::Add(launch) | ServerEdit::Update(launch) => {
            if let Some(url) = &launch.url {
                for name in ["command", "env", "cwd"] {
                    table.remove(name);
                }
                set(table, "url", Value::from(url.as_str()));
            }
            if !launch.command.is_empty() {
                for name in ["url", "auth"] {
                    table.remove(name);
                }
                let words: Array = launch.command.iter().map(String::as_str).collect();
                set(table, "command", Value::Array(words));
            }
            if !launch.env.is_empty() && !table.contains_key("env") {
                table.insert("env", Item::Table(Table::new()));
            }
            let variables = table.get_mut("env").and_then(Item::as_table_like_mut);
            if let Some(variables) = variables {
                for (name, value) in &launch.env {
                    set(variables, name, Value::from(value.as_str()));
                }
            }
        }
        ServerEdit::Put(whole) => {
            for (name, item) in whole {
                table.insert(name, item.clone());
            }
        }
        ServerEdit::Enable => {
            table.remove("enabled");
        }
        ServerEdit::Disable => set(table, "enabled", Value::from(false)),
        ServerEdit::Remove => {}
    }
}

/// Comments beside the value stay.
fn set(table: &mut dyn TableLike, name: &str, mut value: Value) {
    match table.get_mut(name) {
        Some(item) => {
            if let Some(before) = item.as_value() {
                *value.decor_mut() = before.decor().clone();
            }
            *item = Item::Value(value);
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
}

/// With the line that says that it is whole.
fn ended(mut text: String) -> String {
    if text.trim_end().lines().last() != Some(END_OF_SERVER) {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(END_OF_SERVER);
        text.push('\n');
    }
    text
}
