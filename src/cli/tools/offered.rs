//! What the server offers: asked of the server itself, or read from a recorded list.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::super::args::ToolsSource;
use super::super::proxy;
use super::ask;
use super::failure::{ToolsFailure, refused};
use super::lock_path::LockPath;
use crate::config::Config;
use crate::loading::{self, LOCK_FILE, LockFile, LockedItem, UnlockableDefinition};
use crate::policy::ServerKey;
use crate::wire::{Document, Limits, Value};

/// Everything that the commands start from.
#[derive(Debug)]
pub(super) struct LockInputs {
    pub(super) place: LockPath,
    pub(super) offered: LockFile,
    /// What cannot be locked, and so stays unapproved.
    pub(super) left_out: Vec<LeftOut>,
    /// The keys of several servers, those that are not asked included.
    pub(super) servers: Vec<ServerKey>,
    /// Those that are asked.
    asked: Vec<ServerKey>,
    /// Tools whose permission no label of the policies names, in the order of their names.
    pub(super) unlabelled: Vec<String>,
}

/// What no lock holds, and at which of several servers.
#[derive(Debug, thiserror::Error)]
#[error("{}{why}", server.as_ref().map(|key| format!("at `{key}`: ")).unwrap_or_default())]
pub(super) struct LeftOut {
    server: Option<ServerKey>,
    why: UnlockableDefinition,
}

impl LockInputs {
    /// The lock, if there is one.
    pub(super) fn lock(&self) -> Result<Option<LockFile>, ToolsFailure> {
        self.place.read(&self.servers)
    }

    /// Takes what is locked of servers that are not enabled as what they offer.
    pub(super) fn keep_others(&mut self, found: &LockFile) {
        if !self.servers.is_empty() {
            self.offered.keep_others(found, &self.asked);
        }
    }

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
            (Some(_), Some(config)) if !config.servers.is_empty() => {
                return Err(ToolsFailure::FromOfSeveral);
            }
            (Some(file), _) => recorded(file)?,
            (None, Some(config)) => asked(config)?,
            (None, None) => return Err(ToolsFailure::NoPlace),
        };
        let policies = config.as_ref().map(proxy::policy_settings);
        let labelled = policies.filter(|it| !it.directories().is_empty());
        let labelled = labelled.map(|policies| loading::labelled_tools(&policies));
        let unlabelled = labelled.map(|labelled| {
            let names = offered.names().map(ToString::to_string);
            names.filter(|name| !labelled.contains(name)).collect()
        });
        let keys = |all: Vec<Config>| all.into_iter().filter_map(|config| config.key).collect();
        Ok(Self {
            place,
            offered,
            servers: config
                .iter()
                .flat_map(|config| config.servers.keys().cloned())
                .collect(),
            asked: config
                .as_ref()
                .map(|config| keys(config.each()))
                .unwrap_or_default(),
            unlabelled: unlabelled.unwrap_or_default(),
            left_out,
        })
    }
}

/// Asks each server that is enabled, as a gate reaches it.
fn asked(config: &Config) -> Result<(LockFile, Vec<LeftOut>), ToolsFailure> {
    let mut all = LockFile::default();
    let mut left_out = Vec::new();
    for config in config.each() {
        let ServerAnswer {
            lock,
            left_out: unfit,
            ..
        } = asked_one(&config, Duration::MAX)?;
        all.join(match &config.key {
            Some(key) => lock.of_server(key),
            None => lock,
        });
        left_out.extend(unfit.into_iter().map(|why| LeftOut {
            server: config.key.clone(),
            why,
        }));
    }
    Ok((all, left_out))
}

/// What a server says of itself. The names are the server's own.
pub(in crate::cli) struct ServerAnswer {
    /// The revision of the protocol.
    pub(in crate::cli) revision: String,
    /// How long the handshake took.
    pub(in crate::cli) latency: Duration,
    pub(in crate::cli) lock: LockFile,
    pub(in crate::cli) left_out: Vec<UnlockableDefinition>,
}

/// Asks the server of a view of one server.
pub(in crate::cli) fn asked_one(
    config: &Config,
    longest: Duration,
) -> Result<ServerAnswer, ToolsFailure> {
    let secrets = proxy::upstream_secrets(config)?;
    let told = ask::ask(config, &secrets, longest).map_err(|error| ToolsFailure::Ask {
        server: config.key.clone(),
        error,
    })?;
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
                LockedItem::Instructions(_) => "instructions".to_owned(),
            }));
        }
    }
    Ok(ServerAnswer {
        revision: told.revision,
        latency: told.latency,
        lock,
        left_out,
    })
}

/// A recorded reply to `tools/list`, or its result.
fn recorded(file: &Path) -> Result<(LockFile, Vec<LeftOut>), ToolsFailure> {
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
    let (lock, unfit) = locked([tools]);
    let left_out = unfit.into_iter().map(|why| LeftOut { server: None, why });
    Ok((lock, left_out.collect()))
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
