//! What the server offers: asked of the server itself, or read from a recorded list.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::super::args::ToolsSource;
use super::super::{proxy, report};
use super::ask::{self, ListError};
use super::lock_path::LockPath;
use crate::audit::SecretTooShort;
use crate::config::{Config, ConfigErrors};
use crate::loading::{LOCK_FILE, LockFile, LockedItem, UnlockableDefinition};
use crate::policy::PolicyErrors;
use crate::wire::{Document, JsonErrorKind, Limits, Value};

/// Everything that the commands start from.
#[derive(Debug)]
pub(super) struct LockInputs {
    pub(super) place: LockPath,
    pub(super) offered: LockFile,
    /// What cannot be locked, and so stays unapproved.
    pub(super) left_out: Vec<UnlockableDefinition>,
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ToolsFailure {
    #[error("the configuration is not usable")]
    Config(ConfigErrors),
    #[error("the lock is not usable")]
    Lock(PolicyErrors),
    #[error("`{file}`: {error}")]
    File { file: String, error: String },
    #[error("there is no `{0}` yet: `tools lock` makes it")]
    NoLock(String),
    #[error("the configuration names no policy directory: say `--lock FILE`")]
    NoPlace,
    #[error("`{0}` is no list of tools: {1}")]
    NoList(String, String),
    #[error("the definition of `{0}` holds a secret of the configuration")]
    Secret(String),
    #[error(transparent)]
    Unhidden(#[from] SecretTooShort),
    #[error("the server could not be asked: {0}")]
    Ask(#[from] ListError),
    #[error("neither the lock nor the server has instructions")]
    NoInstructions,
    #[error("no {kind} is called `{name}`{}", nearest.as_ref().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default())]
    Unknown {
        kind: &'static str,
        name: String,
        nearest: Option<String>,
    },
    #[error("the report could not be written: {0}")]
    Report(#[from] io::Error),
}

impl LockInputs {
    pub(super) fn of(source: &ToolsSource) -> Result<Self, ToolsFailure> {
        let config = source.config.as_deref().map(Config::load).transpose();
        let config = config.map_err(ToolsFailure::Config)?;
        let dir = config
            .as_ref()
            .and_then(|config| config.policy.dir.as_deref());
        let place = match (&source.lock, dir) {
            (Some(file), _) => LockPath::of(file),
            (None, Some(dir)) => LockPath::in_directory(dir),
            (None, None) if config.is_some() => return Err(ToolsFailure::NoPlace),
            (None, None) => LockPath::of(Path::new(LOCK_FILE)),
        };
        let (offered, left_out) = match (&source.from, &config) {
            (Some(file), _) => recorded(file)?,
            (None, Some(config)) => asked(config)?,
            (None, None) => return Err(ToolsFailure::NoPlace),
        };
        Ok(Self {
            place,
            offered,
            left_out,
        })
    }
}

/// Asks the server, as a gate reaches it.
pub(in crate::cli) fn asked(
    config: &Config,
) -> Result<(LockFile, Vec<UnlockableDefinition>), ToolsFailure> {
    let secrets = proxy::upstream_secrets(config)?;
    let told = ask::ask(config, &secrets)?;
    let tools = told
        .tools
        .iter()
        .filter_map(|page| page.result()?.get("tools"));
    let (mut lock, mut left_out) = locked(tools);
    let opened = told.opened.result();
    let instructions = opened.and_then(|result| result.get("instructions"));
    left_out.extend(lock.set_instructions(instructions).err());
    let prompts = told
        .prompts
        .iter()
        .filter_map(|page| page.result()?.get("prompts"));
    let prompts = prompts.flat_map(Value::items);
    let unfit: Vec<UnlockableDefinition> = prompts
        .filter_map(|prompt| lock.add_prompt(prompt).err())
        .collect();
    for name in unfit.iter().filter_map(UnlockableDefinition::name) {
        lock.adopt(LockedItem::Prompt(name), &LockFile::default());
    }
    left_out.extend(unfit);
    // A lock is public.
    for what in lock.all() {
        let text = lock.said(what).unwrap_or_default();
        if secrets.redact(text) != text {
            return Err(ToolsFailure::Secret(match what {
                LockedItem::Tool(name) | LockedItem::Prompt(name) => super::lines::shown(name),
                LockedItem::Instructions => "instructions".to_owned(),
            }));
        }
    }
    Ok((lock, left_out))
}

/// A recorded reply to `tools/list`, or its result.
fn recorded(file: &Path) -> Result<(LockFile, Vec<UnlockableDefinition>), ToolsFailure> {
    let limits = Limits {
        max_bytes: 16 << 20,
        max_nodes: 2_000_000,
        ..Limits::default()
    };
    let bytes = fs::read(file).map_err(|error| ToolsFailure::file(file, &error))?;
    let no_list = |why: String| ToolsFailure::NoList(file.display().to_string(), why);
    let document = Document::decode(&bytes, &limits)
        .map_err(|error| no_list(refused(&error, Some(&error.kind), &bytes)))?;
    let root = document.root();
    let result = root.get("result").unwrap_or(root);
    let tools = result.get("tools").filter(|tools| tools.is_array());
    let tools = tools.ok_or_else(|| no_list("it has no array `tools`".to_owned()))?;
    if result.get("nextCursor").is_some_and(|next| !next.is_null()) {
        return Err(no_list("it goes on at another page".to_owned()));
    }
    Ok(locked([tools]))
}

/// What can be locked, and what cannot: of what is defined in two ways neither is approved.
fn locked<'v>(lists: impl IntoIterator<Item = Value<'v>>) -> (LockFile, Vec<UnlockableDefinition>) {
    let mut lock = LockFile::default();
    let tools = lists.into_iter().flat_map(Value::items);
    let unfit: Vec<UnlockableDefinition> = tools.filter_map(|tool| lock.add(tool).err()).collect();
    for name in unfit.iter().filter_map(UnlockableDefinition::name) {
        lock.adopt(LockedItem::Tool(name), &LockFile::default());
    }
    (lock, unfit)
}

/// Why a text is no message, and whose definition makes it none. The gate passes no such list either.
pub(super) fn refused(error: &impl ToString, kind: Option<&JsonErrorKind>, text: &[u8]) -> String {
    let mut why = error.to_string();
    if let Some(JsonErrorKind::ControlInKey { .. }) = kind {
        let tools = with_controls_in_keys(text);
        let tools: Vec<String> = tools.iter().map(|name| format!("`{name}`")).collect();
        if !tools.is_empty() {
            why = format!("{why}, in the definition of {}", tools.join(", "));
        }
    }
    super::lines::shown(&why)
}

/// The names of such tools in a reply to `tools/list`, or in its result.
fn with_controls_in_keys(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let Ok(root) = text.parse::<serde_json::Value>() else {
        return Vec::new();
    };
    let result = root.get("result").unwrap_or(&root);
    let tools = result.get("tools").and_then(serde_json::Value::as_array);
    let odd = tools
        .into_iter()
        .flatten()
        .filter(|tool| has_controls(tool));
    let names = odd.map(|tool| tool.get("name").and_then(serde_json::Value::as_str));
    names
        .map(|name| name.unwrap_or_default().to_owned())
        .collect()
}

fn has_controls(value: &serde_json::Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if let Some(object) = value.as_object() {
            if object.keys().any(|key| key.contains(char::is_control)) {
                return true;
            }
            open.extend(object.values());
        }
        open.extend(value.as_array().into_iter().flatten());
    }
    false
}

impl ToolsFailure {
    pub(super) fn file(file: &Path, error: &io::Error) -> Self {
        Self::File {
            file: file.display().to_string(),
            error: error.to_string(),
        }
    }

    pub(in crate::cli) fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Config(errors) => writeln!(out, "{}", report::text(errors)),
            Self::Lock(errors) => writeln!(out, "{}", report::text(errors)),
            Self::File { .. }
            | Self::NoLock(_)
            | Self::NoPlace
            | Self::NoList(..)
            | Self::Secret(_)
            | Self::Unhidden(_)
            | Self::Ask(_)
            | Self::NoInstructions
            | Self::Unknown { .. }
            | Self::Report(_) => writeln!(out, "error: {self}"),
        }
    }
}
