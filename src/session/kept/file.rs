//! The file of a journal. Checks its owner, that it is not replaced, and that no other process writes to it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::journal::JournalError;
use super::key_file::KeyFile;
use super::private_files::{
    io_error, is_private, is_the_same, lock, open_error, rewritten, strict,
};
use super::seal::Chain;

/// A journal is written anew at each start, so that one this long is none of ours.
const MAX_BYTES: u64 = 1 << 30;

/// A journal is made shorter when it is this long, and several times as long as it has to be.
const LONG: u64 = 1 << 20;
const TIMES: u64 = 4;

/// How much of it may be read again after each change, and each time that it is looked at: it is read
/// whole when as much as its length has come together.
const READ_AGAIN: u64 = 64 << 10;
const READ_AT_A_LOOK: u64 = 8 << 20;

/// A journal that this process alone writes to.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    pub(super) file: File,
    pub(super) key: KeyFile,
    chain: Chain,
    /// Of all that was written to it.
    digest: Sha256,
    /// What it looked like after this gate wrote to it.
    stamp: Option<Stamp>,
    /// Bytes that may be read to look at all of it; nothing where nothing was written since.
    allowance: Option<u64>,
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
    /// Somebody has written to it.
    Changed,
    Another,
    Nothing,
    /// Its key was removed or changed.
    NoKey,
}

/// Metadata that changes with each write to a file, and that only root can restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    len: u64,
    changed: (i64, i64),
}

impl JournalFile {
    /// Opens one, or begins one, and writes what `renewed` makes of its text in its place.
    ///
    /// # Errors
    /// [`JournalError`] where it is not for this gate alone, not what a gate wrote last with this key, or
    /// cannot be read or written; and those of `renewed`.
    pub(super) fn open(
        path: &Path,
        key: &Path,
        renewed: impl FnOnce(&str) -> Result<String, JournalError>,
    ) -> Result<Self, JournalError> {
        let known = KeyFile::open(key, true)?;
        let begun = created(path).map_err(io_error("open it"))?;
        let is_new = begun.is_some();
        if is_new && known.as_ref().is_some_and(|known| known.count > 0) {
            fs::remove_file(path).map_err(io_error("remove an empty one"))?;
            return Err(JournalError::Gone(key.to_owned()));
        }
        let opened = begun.map_or_else(|| strict().write(true).open(path), Ok);
        let old = opened.map_err(open_error(path))?;
        lock(&old)?;
        is_private(&old)?;
        let (mut key, text) = match (known, is_new) {
            (Some(known), true) => (known, super::journal::written(&[])),
            (None, true) => (KeyFile::begin(key)?, super::journal::written(&[])),
            (known, false) => {
                let text = text_of(&old)?;
                let known = known.ok_or_else(|| JournalError::NoKey(key.to_owned()));
                let known = known.map_err(|missing| refused_at_once(&text).unwrap_or(missing))?;
                let (count, text) = unsealed(&known, &text)?;
                // The last lines may have been written without it.
                (known.written(count), text)
            }
        };
        let (chain, text) = Chain::journal(&key.key, key.count, &renewed(&text)?);
        let (file, len) = rewritten(path, &text, strict().append(true))?;
        key.reach(chain.count).map_err(io_error("write its key"))?;
        Ok(Self {
            path: path.to_owned(),
            stamp: Stamp::of(&file),
            file,
            key,
            chain,
            digest: Sha256::new_with_prefix(&text),
            allowance: Some(0),
            len,
            least: len,
            is_broken: false,
            replaced: Some(old),
        })
    }

    /// Adds lines, and waits until the disk has them.
    ///
    /// # Errors
    /// What the system says; then the lines are not there.
    pub(super) fn append(&mut self, lines: &str) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier line could not be taken back"));
        }
        let mut chain = self.chain.clone();
        let lines = chain.add(lines);
        let written = self.file.write_all(lines.as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        if let Err(cause) = written.and_then(|()| self.key.reach(chain.count)) {
            // Half a line in the middle would make the whole unreadable.
            self.is_broken = self.file.set_len(self.len).is_err();
            self.stamp = Stamp::of(&self.file);
            return Err(cause);
        }
        self.chain = chain;
        self.digest.update(&lines);
        self.len = self.len.saturating_add(lines.len() as u64);
        // Where somebody else wrote at the same time, this is none that it may have.
        self.stamp = Stamp::of(&self.file).filter(|stamp| stamp.len == self.len);
        let allowance = self.allowance.unwrap_or_default();
        self.allowance = Some(allowance.saturating_add(READ_AGAIN));
        Ok(())
    }

    /// Whether most of it says what later lines say again.
    pub(super) fn is_long(&self) -> bool {
        self.len >= LONG.max(self.least.saturating_mul(TIMES))
    }

    pub(super) fn look(&mut self) -> Found {
        match fs::symlink_metadata(&self.path) {
            Err(_) => return Found::Nothing,
            Ok(there) if !is_the_same(&self.file, &there) => return Found::Another,
            Ok(_) => {}
        }
        let is_stamped = self.stamp.is_some() && Stamp::of(&self.file) == self.stamp;
        if !is_stamped || !self.reads_as_written() {
            Found::Changed
        } else if !self.key.is_there() {
            Found::NoKey
        } else {
            Found::Itself
        }
    }

    /// More may be read again from now on.
    pub(super) fn rest(&mut self) {
        if let Some(allowance) = &mut self.allowance {
            *allowance = allowance.saturating_add(READ_AT_A_LOOK);
        }
    }

    #[cfg(test)]
    pub(super) fn stamp_again(&mut self) {
        self.stamp = Stamp::of(&self.file);
    }

    /// What was changed at the same moment as this gate wrote shows by no stamp.
    fn reads_as_written(&mut self) -> bool {
        if self.allowance.is_none_or(|allowance| allowance < self.len) {
            return true;
        }
        self.allowance = None;
        let found = digest_of(&self.file);
        found.is_ok_and(|found| found.finalize() == self.digest.clone().finalize())
    }

    /// Writes all of it anew, in its own place, and its key where that is gone.
    ///
    /// # Errors
    /// [`JournalError`]: then everything is as before.
    pub(super) fn rewrite(&mut self, text: &str) -> Result<(), JournalError> {
        let (chain, text) = Chain::journal(&self.key.key, self.key.count, text);
        let (file, len) = rewritten(&self.path, &text, strict().append(true))?;
        self.replaced = Some(std::mem::replace(&mut self.file, file));
        self.digest = Sha256::new_with_prefix(&text);
        self.stamp = Stamp::of(&self.file);
        self.allowance = Some(0);
        self.chain = chain;
        (self.len, self.least) = (len, len);
        self.is_broken = false;
        let is_there = self.key.is_there();
        let reached = self.key.reach(self.chain.count);
        reached.map_err(io_error("write its key"))?;
        if is_there { Ok(()) } else { self.key.renew() }
    }

    /// The same where something else stands there, or nothing.
    ///
    /// # Errors
    /// [`JournalError`], also where another gate uses what stands there.
    pub(super) fn replace(&mut self, text: &str) -> Result<(), JournalError> {
        let other = match strict().open(&self.path) {
            Ok(other) => Some(other),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            // A link: it is replaced, and what it leads to stays as it is.
            Err(_) if !fs::symlink_metadata(&self.path).is_ok_and(|it| it.is_file()) => None,
            Err(cause) => return Err(io_error("open what stands there")(cause)),
        };
        other.as_ref().map_or(Ok(()), lock)?;
        self.rewrite(text)
    }
}

impl Stamp {
    fn of(file: &File) -> Option<Self> {
        let meta = file.metadata().ok()?;
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            (meta.ctime(), meta.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = {
            let since = meta.modified().ok()?;
            let since = since.duration_since(std::time::UNIX_EPOCH).ok()?;
            let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
            (seconds, i64::from(since.subsec_nanos()))
        };
        Some(Self {
            len: meta.len(),
            changed,
        })
    }
}

fn digest_of(mut file: &File) -> io::Result<Sha256> {
    let mut digest = Sha256::new();
    let mut piece = vec![0; 64 << 10];
    file.seek(SeekFrom::Start(0))?;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(digest);
        }
        digest.update(piece.get(..read).unwrap_or_default());
    }
}

/// What a journal says, and how many lines were ever written, if a gate wrote it with this key, and all of
/// them are there.
///
/// # Errors
/// [`JournalError`] where that is not so.
pub(super) fn unsealed(key: &KeyFile, text: &str) -> Result<(u64, String), JournalError> {
    let (chain, text) = Chain::open(&key.key, text)?;
    if chain.count < key.count {
        return Err(JournalError::Older);
    }
    Ok((chain.count, text))
}

/// Why a text is no journal, whatever its key is.
pub(super) fn refused_at_once(text: &str) -> Option<JournalError> {
    match Chain::open(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &[]), text) {
        Ok(_) | Err(JournalError::Forged(_)) => None,
        Err(refused) => Some(refused),
    }
}

/// All that it holds.
///
/// # Errors
/// [`JournalError`] where it is longer than any journal, or cannot be read.
pub(super) fn text_of(file: &File) -> Result<String, JournalError> {
    let mut text = String::new();
    let length = file.take(MAX_BYTES).read_to_string(&mut text);
    if length.map_err(io_error("read it"))? as u64 >= MAX_BYTES {
        return Err(JournalError::Foreign);
    }
    Ok(text)
}

/// A new file, if there is none.
fn created(path: &Path) -> io::Result<Option<File>> {
    match strict().write(true).create_new(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(cause) => Err(cause),
    }
}
