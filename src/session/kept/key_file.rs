//! The key of a journal, and how many lines were written with it.
//!
//! It is a separate file, so that a process can have access to the journal and none to the key or the
//! number.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ring::hmac;
use secrecy::zeroize::Zeroizing;

use super::journal::JournalError;
use super::private_files::{io_error, is_the_same, rewritten, strict};
use super::seal::{bytes, hex};

const KEY_BYTES: usize = 32;

/// Digits of the number, so that it is written over in its place.
const DIGITS: usize = 20;

#[derive(Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
    file: File,
    /// Its first line.
    text: Zeroizing<String>,
    pub(super) key: hmac::Key,
    /// Lines that were written with it.
    pub(super) count: u64,
}

impl KeyFile {
    /// The key that is there, if there is one.
    ///
    /// # Errors
    /// [`JournalError::Key`] where it is not for its owner alone, or none that a gate wrote.
    pub(super) fn open(path: &Path, is_written: bool) -> Result<Option<Self>, JournalError> {
        let told = |problem: String| JournalError::Key(path.to_owned(), problem);
        let file = match strict().write(is_written).open(path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) if fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) => {
                return Err(told("is a link".to_owned()));
            }
            Err(cause) => return Err(told(format!("cannot be opened: {cause}"))),
        };
        is_secret(&file).map_err(|problem| told(problem.to_owned()))?;
        let text = read(&file).map_err(|cause| told(format!("cannot be read: {cause}")))?;
        let parsed = parsed(&text).ok_or_else(|| told("is none that a gate wrote".to_owned()))?;
        let (text, key, count) = parsed;
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            text,
            key,
            count,
        }))
    }

    /// A new one, where there is none.
    ///
    /// # Errors
    /// [`JournalError`] where there is no place for it, or no random numbers.
    pub(super) fn begin(path: &Path) -> Result<Self, JournalError> {
        let mut bits = Zeroizing::new([0; KEY_BYTES]);
        let random = getrandom::fill(&mut *bits);
        random.map_err(|cause| io_error("make its key")(cause.into()))?;
        let text = Zeroizing::new(hex(&*bits));
        let (file, _) = rewritten(path, &self::text(&text, 0), strict().write(true))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            text,
            key: hmac::Key::new(hmac::HMAC_SHA256, &*bits),
            count: 0,
        })
    }

    /// So many lines are on the disk. It is not synced: a number that is behind them hides nothing but what
    /// was written last before a machine lost its power.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn reach(&mut self, count: u64) -> io::Result<()> {
        let place = u64::try_from(self.text.len()).unwrap_or_default();
        self.file.seek(SeekFrom::Start(place.saturating_add(1)))?;
        write!(self.file, "{count:0DIGITS$}")?;
        self.count = count;
        Ok(())
    }

    /// The same, where the journal has more lines than it knows of.
    pub(super) fn written(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// Whether it still stands there as it was written.
    pub(super) fn is_there(&self) -> bool {
        let there = fs::symlink_metadata(&self.path);
        there.is_ok_and(|there| is_the_same(&self.file, &there))
            && read(&self.file).is_ok_and(|there| *there == *text(&self.text, self.count))
    }

    /// Writes it anew, in its place.
    ///
    /// # Errors
    /// [`JournalError`], then it is as before.
    pub(super) fn renew(&mut self) -> Result<(), JournalError> {
        let text = text(&self.text, self.count);
        (self.file, _) = rewritten(&self.path, &text, strict().write(true))?;
        Ok(())
    }
}

fn text(key: &str, count: u64) -> Zeroizing<String> {
    Zeroizing::new(format!("{key}\n{count:0DIGITS$}\n"))
}

fn parsed(text: &str) -> Option<(Zeroizing<String>, hmac::Key, u64)> {
    let (key, count) = text.strip_suffix('\n')?.split_once('\n')?;
    let bits = Zeroizing::new(bytes(key).filter(|bits| bits.len() == KEY_BYTES)?);
    let count = Some(count).filter(|it| it.len() == DIGITS)?.parse().ok()?;
    let sealing = hmac::Key::new(hmac::HMAC_SHA256, &bits);
    Some((Zeroizing::new(key.to_owned()), sealing, count))
}

fn read(mut file: &File) -> io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(256));
    file.seek(SeekFrom::Start(0))?;
    file.take(200).read_to_string(&mut text)?;
    Ok(text)
}

/// A process that can read the key can write a valid journal. Another owner could have read it.
#[cfg(unix)]
fn is_secret(file: &File) -> Result<(), &'static str> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata().map_err(|_| "cannot be looked at")?;
    let own = rustix::process::geteuid().as_raw();
    if !meta.is_file() {
        Err("is no file")
    } else if meta.uid() != own && meta.uid() != 0 {
        Err("belongs to another user, who can seal whatever they like")
    } else if meta.mode() & 0o077 != 0 {
        Err("can be read or written by other users: if none has, remove their access (`chmod 600`)")
    } else {
        Ok(())
    }
}

#[cfg(not(unix))]
fn is_secret(file: &File) -> Result<(), &'static str> {
    let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
    is_file.then_some(()).ok_or("is no file")
}
