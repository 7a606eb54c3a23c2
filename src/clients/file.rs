//! A client's file on disk, and the backup beside it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::client::Client;
use super::entries::read;
use super::entry::{Attachment, Entry, Launch};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};
use super::wrapping::{unwrap, wrap};

/// In bytes. The largest known files are those in which Claude Code keeps its history too.
const MAX_FILE: u64 = 16 << 20;

const BACKUP: &str = ".before-mcp-protector";

const BOM: &str = "\u{feff}";

/// A file as it is, and as it was before it was wrapped.
#[derive(Debug)]
pub struct ClientFile<'c> {
    client: &'c Client,
    path: PathBuf,
    text: String,
    backup: Option<String>,
    original: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    Written,
    /// It was so already.
    None,
}

impl<'c> ClientFile<'c> {
    pub fn open(path: &Path, client: &'c Client) -> Result<Self, ClientErrors> {
        let text = content(path)?;
        let beside = beside(path);
        let backup = if beside.symlink_metadata().is_ok() {
            Some(content(&beside)?)
        } else {
            None
        };
        let original = backup.as_ref().map(|backup| {
            let name = path.display().to_string();
            let (mark, plain) = split_bom(&text);
            unwrap(&name, plain, split_bom(backup).1, client).map(|text| format!("{mark}{text}"))
        });
        Ok(Self {
            client,
            path: path.to_owned(),
            original: original.unwrap_or_else(|| Ok(text.clone()))?,
            backup,
            text,
        })
    }

    /// The servers, as they were before the file was wrapped.
    pub fn entries(&self) -> Result<Vec<Entry>, ClientErrors> {
        read(&self.name(), split_bom(&self.original).1, self.client)
    }

    /// Starts from the text before any wrapping: twice is as good as once, and an entry that is not
    /// named is as it was. The backup is there before the file changes.
    pub fn wrap(&self, attachments: &[Attachment]) -> Result<FileChange, ClientErrors> {
        let (mark, plain) = split_bom(&self.original);
        let wrapped = wrap(&self.name(), plain, self.client, attachments)?;
        let wrapped = format!("{mark}{wrapped}");
        if wrapped == self.text {
            return Ok(FileChange::None);
        }
        self.replaceable()?;
        if self.backup.as_ref() != Some(&self.original) {
            write(&beside(&self.path), &self.original, None)
                .map_err(|error| cannot(&beside(&self.path), "written", &error))?;
        }
        self.replace(&wrapped)
    }

    /// As it was before [`Self::wrap`] with these, which may have been wrapped too; its backup as well.
    pub fn undo(&self, attachments: &[Attachment]) -> Result<(), ClientErrors> {
        let now = Self::open(&self.path, self.client)?;
        let (mark, plain) = split_bom(&self.original);
        let wrapped = wrap(&self.name(), plain, self.client, attachments)?;
        if now.text != format!("{mark}{wrapped}") {
            return Err(changed(&self.path).into());
        }
        now.replace(&self.text)?;
        let beside = beside(&self.path);
        let done = match &self.backup {
            Some(backup) => write(&beside, backup, None),
            None => fs::remove_file(&beside),
        };
        done.map_err(|error| cannot(&beside, "restored", &error).into())
    }

    /// The text before it was wrapped; then the backup goes.
    pub fn unwrap(&self) -> Result<FileChange, ClientErrors> {
        if self.backup.is_none() {
            return self.has_no_backup();
        }
        let change = if self.original == self.text {
            FileChange::None
        } else {
            self.replace(&self.original)?
        };
        let backup = beside(&self.path);
        fs::remove_file(&backup).map_err(|error| cannot(&backup, "removed", &error))?;
        Ok(change)
    }

    fn has_no_backup(&self) -> Result<FileChange, ClientErrors> {
        let is_attached = |entry: &Entry| matches!(entry.launch, Ok(Launch::Attached { .. }));
        if !self.entries()?.iter().any(is_attached) {
            return Ok(FileChange::None);
        }
        let what = format!("{}: has no backup", self.name());
        let help = format!(
            "write the entries by hand, or copy the former file to `{}` and try again",
            beside(&self.path).display()
        );
        Err(ClientProblem::new(ProblemKind::File, what, help).into())
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn replace(&self, text: &str) -> Result<FileChange, ClientErrors> {
        let metadata = self.replaceable()?;
        write(&self.path, text, Some(&metadata))
            .map_err(|error| cannot(&self.path, "written", &error))?;
        Ok(FileChange::Written)
    }

    /// Not if the client wrote it meanwhile.
    fn replaceable(&self) -> Result<Metadata, ClientProblem> {
        let metadata = regular(&self.path)?;
        if metadata.permissions().readonly() {
            let help = "make it writable, if it may change";
            return Err(problem(&self.path, "is read-only", help));
        }
        if content(&self.path)? != self.text {
            return Err(changed(&self.path));
        }
        Ok(metadata)
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(BACKUP);
    path.with_file_name(name)
}

fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix(BOM) {
        Some(plain) => (BOM, plain),
        None => ("", text),
    }
}

/// A whole file or none, with the mode of the former one, or else for its owner alone.
fn write(path: &Path, text: &str, former: Option<&Metadata>) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".mcp-protector-")
        .tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    if let Some(former) = former {
        file.as_file().set_permissions(former.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn content(path: &Path) -> Result<String, ClientProblem> {
    let found = regular(path)?;
    let file = open(path).map_err(|error| cannot(path, "read", &error))?;
    let opened = file
        .metadata()
        .map_err(|error| cannot(path, "read", &error))?;
    if !is_same(&found, &opened) {
        return Err(changed(path));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| cannot(path, "read", &error))?;
    if bytes.len() as u64 > MAX_FILE {
        let help = "name the file in which the client keeps its servers";
        return Err(problem(path, "is larger than 16 MiB", help));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let line = line.unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', line).count() + 1;
        let what = format!("{}:{line}: is not UTF-8", path.display());
        let help = "save the file as UTF-8".to_owned();
        ClientProblem::new(ProblemKind::Syntax, what, help)
    })
}

/// What has become a link or a pipe since it was looked at is neither followed nor waited for.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}

#[cfg(unix)]
fn is_same(found: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino()) == (opened.dev(), opened.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, opened: &Metadata) -> bool {
    opened.is_file()
}

/// A link is not followed: what looks like a project's file could be another of this user. Nor is a file
/// of another user replaced by one of this user.
fn regular(path: &Path) -> Result<Metadata, ClientProblem> {
    let metadata = path
        .symlink_metadata()
        .map_err(|error| cannot(path, "read", &error))?;
    if metadata.is_symlink() {
        let help = "name the file that it leads to, or put a file in its place";
        return Err(problem(path, "is a link", help));
    }
    if !metadata.is_file() {
        return Err(problem(path, "is not a file", "name a client's file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            let help = "run this command as the owner of the file";
            return Err(problem(path, "belongs to another user", help));
        }
    }
    Ok(metadata)
}

fn changed(path: &Path) -> ClientProblem {
    problem(path, "changed meanwhile", "close the client, and try again")
}

fn cannot(path: &Path, done: &str, error: &io::Error) -> ClientProblem {
    let help = "check the path, and that you may write in its directory";
    problem(path, &format!("cannot be {done}: {error}"), help)
}

fn problem(path: &Path, what: &str, help: &str) -> ClientProblem {
    let what = format!("{}: {what}", path.display());
    ClientProblem::new(ProblemKind::File, what, help.to_owned())
}
