//! The file of a journal: whose it is, and that it stays there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::journal::JournalError;

/// A journal is written anew at each start, so that one this long is none of ours.
const MAX_BYTES: u64 = 1 << 30;

/// A journal is made shorter when it is this long, and several times as long as it has to be.
const LONG: u64 = 1 << 20;
const TIMES: u64 = 4;

/// A journal that this process alone writes to.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    pub(super) file: File,
    /// Bytes that hold whole lines.
    len: u64,
    /// As many as it had when it was written anew.
    least: u64,
    /// What could not be written could not be taken back either.
    is_broken: bool,
    /// Holds the lock of the file that this one replaced: somebody may have opened that meanwhile.
    replaced: Option<File>,
}

/// What stands where the journal was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Itself,
    Another,
    Nothing,
}

impl JournalFile {
    /// Opens one, or begins one, and writes what `renewed` makes of its text in its place.
    ///
    /// # Errors
    /// [`JournalError`] where it is not for this gate alone, or cannot be read or written; and those of
    /// `renewed`.
    pub(super) fn open(
        path: &Path,
        renewed: impl FnOnce(&str) -> Result<String, JournalError>,
    ) -> Result<Self, JournalError> {
        let begun = created(path).map_err(io_error("open it"))?;
        let is_new = begun.is_some();
        let opened = begun.map_or_else(|| writable().open(path), Ok);
        let mut old = opened.map_err(io_error("open it"))?;
        lock(&old)?;
        is_private(&old)?;
        let mut text = String::new();
        if is_new {
            text = super::journal::written(&[]);
        } else {
            let length = (&mut old).take(MAX_BYTES).read_to_string(&mut text);
            if length.map_err(io_error("read it"))? as u64 >= MAX_BYTES {
                return Err(JournalError::Foreign);
            }
        }
        let (file, len) = rewritten(path, &renewed(&text)?)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            len,
            least: len,
            is_broken: false,
            replaced: Some(old),
        })
    }

    /// Adds a line, and waits until the disk has it.
    ///
    /// # Errors
    /// What the system says; then the line is not there.
    pub(super) fn append(&mut self, line: &str) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier line could not be taken back"));
        }
        let written = self.file.write_all(line.as_bytes());
        if let Err(cause) = written.and_then(|()| self.file.sync_data()) {
            // Half a line in the middle would make the whole unreadable.
            let back = self.file.set_len(self.len);
            let back = back.and_then(|()| self.file.seek(SeekFrom::Start(self.len)));
            self.is_broken = back.is_err();
            return Err(cause);
        }
        self.len = self.len.saturating_add(line.len() as u64);
        Ok(())
    }

    /// Whether most of it says what later lines say again.
    pub(super) fn is_long(&self) -> bool {
        self.len >= LONG.max(self.least.saturating_mul(TIMES))
    }

    pub(super) fn look(&self) -> Found {
        match fs::symlink_metadata(&self.path) {
            Ok(there) if is_the_same(&self.file, &there) => Found::Itself,
            Ok(_) => Found::Another,
            Err(_) => Found::Nothing,
        }
    }

    /// Writes all of it anew, in its own place.
    ///
    /// # Errors
    /// [`JournalError`]: then everything is as before.
    pub(super) fn rewrite(&mut self, text: &str) -> Result<(), JournalError> {
        let (file, len) = rewritten(&self.path, text)?;
        self.replaced = Some(std::mem::replace(&mut self.file, file));
        (self.len, self.least) = (len, len);
        self.is_broken = false;
        Ok(())
    }

    /// The same where something else stands there, or nothing.
    ///
    /// # Errors
    /// [`JournalError`], also where another gate uses what stands there.
    pub(super) fn replace(&mut self, text: &str) -> Result<(), JournalError> {
        let other = match File::open(&self.path) {
            Ok(other) => Some(other),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(io_error("open what stands there")(cause)),
        };
        other.as_ref().map_or(Ok(()), lock)?;
        self.rewrite(text)
    }
}

#[cfg(unix)]
fn is_the_same(file: &File, there: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata()
        .is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn is_the_same(_: &File, there: &fs::Metadata) -> bool {
    there.is_file()
}

fn io_error(what: &'static str) -> impl Fn(io::Error) -> JournalError {
    move |cause| JournalError::Io { what, cause }
}

/// For its owner alone.
fn writable() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A new file, if there is none.
fn created(path: &Path) -> io::Result<Option<File>> {
    match writable().create_new(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(cause) => Err(cause),
    }
}

fn lock(file: &File) -> Result<(), JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(fs::TryLockError::WouldBlock) => Err(JournalError::Locked),
        Err(fs::TryLockError::Error(cause)) => Err(io_error("lock it")(cause)),
    }
}

/// Whoever can write to it can lower what it says.
#[cfg(unix)]
pub(super) fn is_private(file: &File) -> Result<(), JournalError> {
    use std::os::unix::fs::PermissionsExt;
    let meta = file.metadata().map_err(io_error("look at it"))?;
    if !meta.is_file() {
        return Err(JournalError::Foreign);
    }
    if meta.permissions().mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(JournalError::Writable)
    }
}

#[cfg(not(unix))]
pub(super) fn is_private(_: &File) -> Result<(), JournalError> {
    Ok(())
}

/// A text in the place of the journal before it.
fn rewritten(path: &Path, text: &str) -> Result<(File, u64), JournalError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    let write = || -> io::Result<File> {
        let mut file = writable().create(true).open(&beside)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(file)
    };
    let file = write().map_err(io_error("write beside it"))?;
    lock(&file)?;
    is_private(&file)?;
    fs::rename(&beside, path).map_err(io_error("replace it"))?;
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    // Where directories cannot be opened, a rename is as lasting as it can be.
    if let Ok(parent) = File::open(parent.unwrap_or(Path::new("."))) {
        parent.sync_all().map_err(io_error("sync its directory"))?;
    }
    Ok((file, text.len() as u64))
}
