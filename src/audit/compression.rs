//! Compression of the files of the log that a gate has rotated.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _, Write};
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress};
use sha2::{Digest as _, Sha256};

use super::disk::{is_at, private_options, sync_directory, without_locks};
use super::rotation::{COMPRESSED, FileForm, older_files};

/// Compresses the older files of a log on a thread of its own.
pub(super) fn compress_older(path: &Path) {
    let path = path.to_owned();
    let started = std::thread::Builder::new()
        .name("audit-compress".into())
        .spawn(move || compress_all(&path));
    if let Err(error) = started {
        tracing::warn!("older audit files cannot be compressed: {error}");
    }
}

/// Compresses the older files of a log, those too that an earlier gate did not finish.
pub(super) fn compress_all(path: &Path) {
    let older = older_files(path).into_iter();
    for older in older.filter(|older| older.form == FileForm::Plain) {
        if let Err(error) = compress_file(&older.path) {
            let older = older.path.display();
            tracing::warn!("the audit file `{older}` cannot be compressed: {error}");
        }
    }
}

/// Replaces a file by its compressed form, once that was read back and compared.
pub(super) fn compress_file(path: &Path) -> io::Result<()> {
    let compressed = compressed_name(path);
    let unfinished = unfinished_name(&compressed);
    let Some(mut target) = begin_locked(&unfinished)? else {
        return Ok(());
    };
    let written = compress_to(path, &compressed, &mut target);
    match written {
        Ok(true) => fs::rename(&unfinished, &compressed)?,
        // What was written would take the place of records.
        Ok(false) => fs::remove_file(&unfinished)?,
        Err(error) => {
            fs::remove_file(&unfinished)?;
            let is_gone = error.kind() == io::ErrorKind::NotFound;
            return if is_gone { Ok(()) } else { Err(error) };
        }
    }
    sync_directory(path);
    fs::remove_file(path)?;
    sync_directory(path);
    Ok(())
}

/// Whether the target has the compressed form. It needs none if a gate was killed before it removed the file.
fn compress_to(path: &Path, compressed: &Path, target: &mut File) -> io::Result<bool> {
    let file = private_options().open(path)?;
    if let Ok(there) = private_options().open(compressed)
        && let Ok(there) = read_back(&there)
    {
        return if digest_of(&file)? == there {
            Ok(false)
        } else {
            let problem = "its compressed form is there, and differs";
            Err(io::Error::new(io::ErrorKind::AlreadyExists, problem))
        };
    }
    let written = write_compressed(&file, target)?;
    target.set_permissions(file.metadata()?.permissions())?;
    target.sync_all()?;
    target.rewind()?;
    if read_back(target)? != written {
        let problem = "the compressed form differs from the file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(true)
}

/// Makes a file and locks it. `None` if another gate does the same.
fn begin_locked(path: &Path) -> io::Result<Option<File>> {
    loop {
        match private_options().write(true).create_new(true).open(path) {
            Ok(file) => return Ok(try_lock_named(&file, path)?.then_some(file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let Ok(left) = private_options().open(path) else {
            return Ok(None);
        };
        if !try_lock_named(&left, path)? {
            return Ok(None);
        }
        // The gate that began it was killed.
        fs::remove_file(path)?;
    }
}

/// Locks the file if no other process has, and if it still has this name.
fn try_lock_named(file: &File, path: &Path) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(is_at(file, path)),
        Err(fs::TryLockError::WouldBlock) => Ok(false),
        Err(fs::TryLockError::Error(error)) => without_locks(error).map(|()| true),
    }
}

/// A name that no pattern of log files matches.
pub(super) fn unfinished_name(compressed: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(compressed.file_name().unwrap_or_default());
    name.push(".tmp");
    compressed.with_file_name(name)
}

pub(super) fn compressed_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(COMPRESSED);
    name.into()
}

type FileDigest = [u8; 32];

/// Compresses a file and returns the digest of its content.
fn write_compressed(file: &File, target: &mut File) -> io::Result<FileDigest> {
    let mut source = Content {
        file: BufReader::new(file),
        digest: Sha256::new(),
        error: None,
    };
    let mut drain = Drain {
        file: target,
        error: None,
    };
    compress(&mut source, &mut drain, CompressionLevel::Fastest);
    match source.error.or(drain.error) {
        Some(error) => Err(error),
        None => Ok(source.digest.finalize().into()),
    }
}

fn digest_of(file: &File) -> io::Result<FileDigest> {
    let mut digest = Sha256::new();
    digest_all(&mut BufReader::new(file), &mut digest)?;
    Ok(digest.finalize().into())
}

fn read_back(compressed: &File) -> io::Result<FileDigest> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut content = StreamingDecoder::new(BufReader::new(compressed))
        .map_err(|error| invalid(error.to_string()))?;
    let mut digest = Sha256::new();
    digest_all(&mut content, &mut digest)?;
    Ok(digest.finalize().into())
}

fn digest_all(content: &mut dyn Read, digest: &mut Sha256) -> io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => digest.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The compressor panics on an error of its reader or writer. These two keep the error and report none.
struct Content<'f> {
    file: BufReader<&'f File>,
    digest: Sha256,
    error: Option<io::Error>,
}

impl Read for &mut Content<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(bytes) {
                Ok(read) => {
                    self.digest.update(bytes.get(..read).unwrap_or_default());
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    return Ok(0);
                }
            }
        }
    }
}

struct Drain<'f> {
    file: &'f mut File,
    error: Option<io::Error>,
}

impl Write for &mut Drain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.error.is_none() {
            self.error = self.file.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
