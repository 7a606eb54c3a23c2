//! What is kept beyond the end of the gate: a journal of raises.
//!
//! One line for each raise, synced to the disk before what raised goes anywhere. Opening it writes
//! it anew with one line for each key.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::policy::Held;

use super::journal::{self, JournalError, line, read};
use super::{Answer, InMemory, Raised, RatchetKey, RatchetStore, StoreFault};

/// A journal is written anew at each start, so that one this long is none of ours.
const MAX_BYTES: u64 = 1 << 30;

/// In a file.
#[derive(Debug)]
pub struct OnDisk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    memory: InMemory,
    journal: Mutex<Journal>,
}

#[derive(Debug)]
struct Journal {
    file: File,
    /// Bytes that hold whole lines.
    len: u64,
    /// What could not be written could not be taken back either.
    is_broken: bool,
    /// Holds the lock of the file that this one replaced: somebody may have opened that meanwhile.
    _replaced: File,
}

impl OnDisk {
    /// Opens a journal, or begins one, for so many keys.
    ///
    /// # Errors
    /// [`JournalError`] where it cannot be read to its end, or not be written. Only a last line
    /// without its end is left out: what it was to raise has not gone anywhere.
    pub fn open(path: &Path, most: usize) -> Result<Self, JournalError> {
        let mut old = opened(path).map_err(io_error("open it"))?;
        lock(&old)?;
        is_private(&old)?;
        let mut text = String::new();
        let length = (&mut old).take(MAX_BYTES).read_to_string(&mut text);
        if length.map_err(io_error("read it"))? as u64 >= MAX_BYTES {
            return Err(JournalError::Foreign);
        }
        let memory = InMemory::holding(most);
        read(&text, &memory)?;
        let all = memory.all();
        if all.len() > most {
            return Err(JournalError::Full(most));
        }
        let (file, len) = rewritten(path, &all)?;
        let journal = Journal {
            file,
            len,
            is_broken: false,
            _replaced: old,
        };
        Ok(Self(Arc::new(Inner {
            memory,
            journal: Mutex::new(journal),
        })))
    }
}

impl RatchetStore for OnDisk {
    fn held<'a>(&'a self, key: &'a RatchetKey) -> Answer<'a, Arc<Held>> {
        Answer::Now(Ok(self.0.memory.get(key)))
    }

    fn raise<'a>(&'a self, key: &'a RatchetKey, by: &'a Held) -> Answer<'a, Raised> {
        let held = self.0.memory.get(key);
        if held.covers(by) {
            return Answer::Now(Ok(Raised::unchanged(&held)));
        }
        let (inner, key, by) = (Arc::clone(&self.0), key.clone(), by.clone());
        // A disk may take milliseconds, in which others can go on.
        let raised = tokio::task::spawn_blocking(move || inner.raise(&key, &by));
        let failed = |_| StoreFault::new("the thread that writes has failed");
        Answer::Later(Box::pin(async move { raised.await.map_err(failed)? }))
    }
}

impl Inner {
    fn raise(&self, key: &RatchetKey, by: &Held) -> Result<Raised, StoreFault> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.memory.get(key);
        if held.covers(by) {
            return Ok(Raised::unchanged(&held));
        }
        let line = line(key, &Held::clone(&held).join(by));
        journal
            .append(&line)
            .map_err(|cause| StoreFault::new(format!("the journal cannot be written: {cause}")))?;
        // INVARIANT: the lock is held, so that `before` is what nobody has raised meanwhile.
        Ok(self.memory.join(key, by))
    }
}

impl Journal {
    fn append(&mut self, line: &str) -> io::Result<()> {
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
}

fn io_error(what: &'static str) -> impl Fn(io::Error) -> JournalError {
    move |cause| JournalError::Io { what, cause }
}

fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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
fn is_private(file: &File) -> Result<(), JournalError> {
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
fn is_private(_: &File) -> Result<(), JournalError> {
    Ok(())
}

/// The journal written anew, with one line for each key, in the place of the one before.
fn rewritten(path: &Path, all: &[(RatchetKey, Arc<Held>)]) -> Result<(File, u64), JournalError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    let text = journal::written(all);
    let write = || -> io::Result<File> {
        let mut file = opened(&beside)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ratchet::journal::TITLE;

    fn key(session: Option<&str>) -> RatchetKey {
        RatchetKey::of("a\"\n\u{202e}b", session)
    }

    fn open(path: &Path) -> OnDisk {
        OnDisk::open(path, 10).unwrap()
    }

    #[tokio::test]
    async fn what_was_raised_is_held_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let by = Held {
            level: 2,
            labels: ["pii".to_owned(), "\u{0}\"".to_owned()].into(),
            untrusted: true,
        };
        let store = open(&path);
        let raised = store.raise(&key(None), &by).get().await.unwrap();
        assert!(raised.before.is_nothing() && *raised.after == by);
        store.raise(&key(None), &Held::at(3)).get().await.unwrap();
        store
            .raise(&key(Some("")), &Held::at(1))
            .get()
            .await
            .unwrap();
        assert!(matches!(OnDisk::open(&path, 10), Err(JournalError::Locked)));
        drop(store);
        for _ in 0..2 {
            let store = open(&path);
            let held = store.held(&key(None)).get().await.unwrap();
            assert_eq!(*held, by.clone().join(&Held::at(3)));
            assert_eq!(store.0.memory.get(&key(Some(""))).level, 1);
            assert!(
                store
                    .0
                    .memory
                    .get(&RatchetKey::of("other", None))
                    .is_nothing()
            );
            // One line for each key, and the title.
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
        }
    }

    #[test]
    fn a_line_without_its_end_is_left_out_and_any_other_that_is_unreadable_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let good = line(&RatchetKey::of("a", None), &Held::at(2));
        let check = |text: String, expected: Result<i64, &str>| {
            fs::write(&path, &text).unwrap();
            is_private_now(&path);
            let told = OnDisk::open(&path, 10)
                .map(|store| store.0.memory.get(&RatchetKey::of("a", None)).level)
                .map_err(|error| error.to_string());
            assert_eq!(told, expected.map_err(str::to_owned), "{text}");
        };
        check(String::new(), Ok(0));
        check(format!("{TITLE}\n{good}"), Ok(2));
        check(format!("{TITLE}\n{good}{{\"princ"), Ok(2));
        check(format!("{TITLE}\n{good}{}", good.trim_end()), Ok(2));
        check("hello\n".to_owned(), Err("it is no journal of a ratchet"));
        check(good.clone(), Err("it is no journal of a ratchet"));
        let told = |line: &str, problem: &str| {
            let told = format!("line 2 is not one that a gate wrote: {problem}");
            check(format!("{TITLE}\n{line}\n{good}"), Err(&told));
        };
        told("", "it is no JSON");
        told("{}", "it names no `principal`");
        told(
            r#"{"principal":"a","level":4,"labels":[]}"#,
            "its `level` is none of 0 to 3",
        );
        told(r#"{"principal":"a","level":1}"#, "it has no `labels`");
        told(
            r#"{"principal":"a","session":1,"level":1,"labels":[]}"#,
            "its `session` is no text",
        );
        told(
            r#"{"principal":"a","level":1,"labels":[1]}"#,
            "a label is no text",
        );
        told(
            r#"{"principal":"a","level":1,"labels":"pii"}"#,
            "its `labels` are no list",
        );
        told(
            r#"{"principal":"a","level":1,"labels":[],"untrusty":true}"#,
            "it says more than that",
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_that_others_may_write_to_is_not_believed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        drop(open(&path));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        assert!(matches!(
            OnDisk::open(&path, 10),
            Err(JournalError::Writable)
        ));
    }

    #[tokio::test]
    async fn more_sessions_than_there_is_room_for_refuse_to_start_and_raise_nobody_down() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        for name in ["a", "b", "c"] {
            let key = RatchetKey::of(name, None);
            store.raise(&key, &Held::at(1)).get().await.unwrap();
        }
        drop(store);
        assert!(matches!(OnDisk::open(&path, 2), Err(JournalError::Full(2))));
        let store = OnDisk::open(&path, 3).unwrap();
        let late = RatchetKey::of("d", None);
        assert_eq!(*store.held(&late).get().await.unwrap(), Held::highest());
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_not_held_and_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        // A file that is open for reading takes no line.
        store.0.journal.lock().unwrap().file = File::open(&path).unwrap();
        let fault = store
            .raise(&key(None), &Held::at(1))
            .get()
            .await
            .unwrap_err();
        assert!(fault.to_string().contains("cannot be written"), "{fault}");
        assert!(store.0.memory.get(&key(None)).is_nothing());
    }

    fn is_private_now(path: &Path) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        #[cfg(not(unix))]
        let _ = path;
    }
}
