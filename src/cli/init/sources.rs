//! The clients' files.

use std::env;
use std::path::{Path, PathBuf};

use super::failure::InitFailure;
use crate::clients::{Client, ClientFile, Entry, Os};

/// A client's file with its servers.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) file: ClientFile<'static>,
    pub(super) entries: Vec<Entry>,
}

/// At least one.
pub(super) struct Sources(pub(super) Vec<Source>);

impl Sources {
    /// Those that are named, or else all that are found.
    pub(super) fn of(named: &[PathBuf]) -> Result<Self, InitFailure> {
        let sources = Self::each(named)?;
        let sources = sources.into_iter().collect::<Result<_, _>>()?;
        Ok(Self(sources))
    }

    /// The same, each by itself: one that is no good keeps no other from being read.
    pub(super) fn each(named: &[PathBuf]) -> Result<Vec<Result<Source, InitFailure>>, InitFailure> {
        let sources: Vec<_> = if named.is_empty() {
            let project =
                env::current_dir().map_err(|cause| InitFailure::Path(PathBuf::from("."), cause))?;
            let found = Client::find(Os::this(), &project, &|name| env::var_os(name));
            let opened = found.into_iter().map(|(client, path)| open(path, client));
            opened.collect()
        } else {
            named.iter().map(|path| recognized(path)).collect()
        };
        if sources.is_empty() {
            return Err(InitFailure::NoFiles);
        }
        Ok(sources)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|source| source.path.as_path())
    }
}

fn open(path: PathBuf, client: &'static Client) -> Result<Source, InitFailure> {
    let file = ClientFile::open(&path, client)?;
    let entries = file.entries()?;
    Ok(Source {
        path,
        file,
        entries,
    })
}

/// The first client whose file it can be, and that finds servers in it.
fn recognized(path: &Path) -> Result<Source, InitFailure> {
    let mut failure = None;
    for client in Client::that_may_own(path) {
        match open(path.to_owned(), client) {
            Ok(source) if !source.entries.is_empty() => return Ok(source),
            Ok(_) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.unwrap_or_else(|| InitFailure::NoForm(path.to_owned())))
}

/// `$XDG_CONFIG_HOME/mcp-protector`
pub(super) fn default_directory() -> Result<PathBuf, InitFailure> {
    let directory = |name: &str| {
        let path = PathBuf::from(env::var_os(name)?);
        path.has_root().then_some(path)
    };
    let home = || directory("HOME").or_else(|| directory("USERPROFILE"));
    let config = directory("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")));
    let config = config.ok_or(InitFailure::NoHome)?;
    Ok(config.join("mcp-protector"))
}
