//! What the server offers: asked of the server itself, or read from a recorded list.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::super::args::ToolsSource;
use super::super::{proxy, report};
use super::ask::{self, AskFault};
use super::place::Place;
use crate::audit::SecretTooShort;
use crate::config::{Config, ConfigErrors};
use crate::loading::{LOCK_FILE, LockFile, Locked, Unfit};
use crate::policy::PolicyErrors;
use crate::wire::{Document, Limits, Value};

/// Everything that the commands start from.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) place: Place,
    pub(super) offered: LockFile,
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
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
    #[error("what the server offers cannot be locked: {}", list(.0))]
    Unfit(Vec<Unfit>),
    #[error("the definition of `{0}` holds a secret of the configuration")]
    Secret(String),
    #[error(transparent)]
    Unhidden(#[from] SecretTooShort),
    #[error("the server could not be asked: {0}")]
    Ask(#[from] AskFault),
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

impl Asked {
    pub(super) fn of(source: &ToolsSource) -> Result<Self, Failure> {
        let config = source.config.as_deref().map(Config::load).transpose();
        let config = config.map_err(Failure::Config)?;
        let dir = config
            .as_ref()
            .and_then(|config| config.policy.dir.as_deref());
        let place = match (&source.lock, dir) {
            (Some(file), _) => Place::of(file),
            (None, Some(dir)) => Place::in_directory(dir),
            (None, None) if config.is_some() => return Err(Failure::NoPlace),
            (None, None) => Place::of(Path::new(LOCK_FILE)),
        };
        let offered = match (&source.from, &config) {
            (Some(file), _) => recorded(file)?,
            (None, Some(config)) => asked(config)?,
            (None, None) => return Err(Failure::NoPlace),
        };
        Ok(Self { place, offered })
    }
}

fn asked(config: &Config) -> Result<LockFile, Failure> {
    let secrets = proxy::upstream_secrets(config)?;
    let told = ask::ask(config, &secrets)?;
    let tools = told
        .tools
        .iter()
        .filter_map(|page| page.result()?.get("tools"));
    let mut lock = locked(tools)?;
    let opened = told.opened.result();
    let instructions = opened.and_then(|result| result.get("instructions"));
    let mut unfit: Vec<Unfit> = lock
        .set_instructions(instructions)
        .err()
        .into_iter()
        .collect();
    let prompts = told
        .prompts
        .iter()
        .filter_map(|page| page.result()?.get("prompts"));
    let prompts = prompts.flat_map(Value::items);
    unfit.extend(prompts.filter_map(|prompt| lock.add_prompt(prompt).err()));
    if !unfit.is_empty() {
        return Err(Failure::Unfit(unfit));
    }
    // A lock is kept where everybody reads it.
    for what in lock.all() {
        let text = lock.said(what).unwrap_or_default();
        if secrets.redact(text) != text {
            return Err(Failure::Secret(match what {
                Locked::Tool(name) | Locked::Prompt(name) => super::lines::shown(name),
                Locked::Instructions => "instructions".to_owned(),
            }));
        }
    }
    Ok(lock)
}

/// A recorded reply to `tools/list`, or its result.
fn recorded(file: &Path) -> Result<LockFile, Failure> {
    let limits = Limits {
        max_bytes: 16 << 20,
        max_nodes: 2_000_000,
        ..Limits::default()
    };
    let bytes = fs::read(file).map_err(|error| Failure::file(file, &error))?;
    let no_list = |why: String| Failure::NoList(file.display().to_string(), why);
    let document = Document::decode(&bytes, &limits).map_err(|error| no_list(error.to_string()))?;
    let root = document.root();
    let result = root.get("result").unwrap_or(root);
    let tools = result.get("tools").filter(|tools| tools.is_array());
    let tools = tools.ok_or_else(|| no_list("it has no array `tools`".to_owned()))?;
    if result.get("nextCursor").is_some_and(|next| !next.is_null()) {
        return Err(no_list("it goes on at another page".to_owned()));
    }
    locked([tools])
}

fn locked<'v>(lists: impl IntoIterator<Item = Value<'v>>) -> Result<LockFile, Failure> {
    let mut lock = LockFile::default();
    let tools = lists.into_iter().flat_map(Value::items);
    let unfit: Vec<Unfit> = tools.filter_map(|tool| lock.add(tool).err()).collect();
    if unfit.is_empty() {
        Ok(lock)
    } else {
        Err(Failure::Unfit(unfit))
    }
}

impl Failure {
    pub(super) fn file(file: &Path, error: &io::Error) -> Self {
        Self::File {
            file: file.display().to_string(),
            error: error.to_string(),
        }
    }

    pub(super) fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Config(errors) => writeln!(out, "{}", report::text(errors)),
            Self::Lock(errors) => writeln!(out, "{}", report::text(errors)),
            Self::File { .. }
            | Self::NoLock(_)
            | Self::NoPlace
            | Self::NoList(..)
            | Self::Unfit(_)
            | Self::Secret(_)
            | Self::Unhidden(_)
            | Self::Ask(_)
            | Self::NoInstructions
            | Self::Unknown { .. }
            | Self::Report(_) => writeln!(out, "error: {self}"),
        }
    }
}

fn list(unfit: &[Unfit]) -> String {
    let told: Vec<String> = unfit.iter().map(ToString::to_string).collect();
    super::lines::shown(&told.join("; "))
}
