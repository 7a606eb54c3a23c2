//! What the server offers: asked of the server itself, or read from a recorded list.

use std::fs;
use std::path::Path;

use super::super::args::ToolsSource;
use super::super::proxy;
use super::ask;
use super::failure::{ToolsFailure, refused};
use super::lock_path::LockPath;
use crate::config::Config;
use crate::loading::{self, LOCK_FILE, LockFile, LockedItem, UnlockableDefinition};
use crate::wire::{Document, Limits, Value};

/// Everything that the commands start from.
#[derive(Debug)]
pub(super) struct LockInputs {
    pub(super) place: LockPath,
    pub(super) offered: LockFile,
    /// What cannot be locked, and so stays unapproved.
    pub(super) left_out: Vec<UnlockableDefinition>,
    /// Tools whose permission no label of the policies names, in the order of their names.
    pub(super) unlabelled: Vec<String>,
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
        let labelled = dir.map(loading::labelled_tools);
        let unlabelled = labelled.map(|labelled| {
            let names = offered.names().map(ToString::to_string);
            names.filter(|name| !labelled.contains(name)).collect()
        });
        Ok(Self {
            place,
            offered,
            unlabelled: unlabelled.unwrap_or_default(),
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
