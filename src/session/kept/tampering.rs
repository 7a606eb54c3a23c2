//! What becomes of a journal that others change.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::policy::SessionSensitivity;

use super::{JournalError, OnDisk, SessionKey, SessionStore};

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("ratchet")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("key")
    }

    fn open(&self) -> Result<OnDisk, JournalError> {
        OnDisk::open(&self.path(), &self.key(), 10)
    }

    fn check(&self) -> Result<(), JournalError> {
        OnDisk::check(&self.path(), &self.key(), 10)
    }

    /// A journal in which two sessions have read something, closed.
    async fn written(&self) -> Vec<u8> {
        let store = self.open().unwrap();
        raise(&store, "a", 2).await;
        raise(&store, "b", 3).await;
        drop(store);
        fs::read(self.path()).unwrap()
    }

    #[track_caller]
    fn is_refused(&self, expected: &str) {
        // A check changes nothing, so that opening the journal afterwards fails the same way.
        let told = [self.check().unwrap_err(), self.open().unwrap_err()];
        for told in told.map(|it| it.to_string()) {
            assert!(told.contains(expected), "{told}");
        }
    }

    async fn levels(&self) -> (i64, i64) {
        self.check().unwrap();
        let store = self.open().unwrap();
        let level = async |name| {
            let key = SessionKey::of(name, None);
            store.kept(&key).get().await.unwrap().held.level
        };
        (level("a").await, level("b").await)
    }
}

async fn raise(store: &OnDisk, name: &str, level: i64) {
    let key = SessionKey::of(name, None);
    store
        .raise(&key, &SessionSensitivity::at(level))
        .get()
        .await
        .unwrap();
}

fn write_into(path: &Path, at: usize, text: &[u8]) {
    use std::io::{Seek as _, SeekFrom};
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(u64::try_from(at).unwrap()))
        .unwrap();
    file.write_all(text).unwrap();
}

#[tokio::test]
async fn what_others_write_to_the_journal_of_a_running_gate_is_written_over_from_memory() {
    type Change = fn(&Place, &[u8]);
    let ways: [(&str, Change); 9] = [
        ("truncated", |place, _| {
            let file = fs::OpenOptions::new().write(true).open(place.path());
            file.unwrap().set_len(0).unwrap();
        }),
        ("cut", |place, _| {
            let file = fs::OpenOptions::new().write(true).open(place.path());
            file.unwrap().set_len(150).unwrap();
        }),
        ("edited", |place, _| {
            let text = fs::read_to_string(place.path()).unwrap();
            let at = text.find("\"level\":2").unwrap();
            write_into(&place.path(), at, b"\"level\":0");
        }),
        ("replayed", |place, old| {
            fs::write(place.path(), old).unwrap();
        }),
        ("longer", |place, _| {
            let file = fs::OpenOptions::new().append(true).open(place.path());
            file.unwrap().write_all(b"{}\n").unwrap();
        }),
        ("replaced", |place, old| {
            fs::remove_file(place.path()).unwrap();
            fs::write(place.path(), old).unwrap();
        }),
        ("removed", |place, _| fs::remove_file(place.path()).unwrap()),
        ("key removed", |place, _| {
            fs::remove_file(place.key()).unwrap();
        }),
        ("key changed", |place, _| {
            write_into(&place.key(), 0, b"0000");
        }),
    ];
    for (way, change) in ways {
        for is_seen_by_a_look in [true, false] {
            let place = Place::new();
            let store = place.open().unwrap();
            let old = fs::read(place.path()).unwrap();
            raise(&store, "a", 2).await;
            change(&place, &old);
            if is_seen_by_a_look {
                store.look();
            } else {
                raise(&store, "c", 1).await;
            }
            raise(&store, "b", 3).await;
            drop(store);
            assert_eq!(place.levels().await, (2, 3), "{way}");
        }
    }
}

#[tokio::test]
async fn a_change_that_no_stamp_shows_is_found_by_the_digest() {
    let place = Place::new();
    let store = place.open().unwrap();
    raise(&store, "a", 2).await;
    let text = fs::read_to_string(place.path()).unwrap();
    let at = text.find("\"level\":2").unwrap();
    write_into(&place.path(), at, b"\"level\":0");
    // As in the same tick of the file system's clock.
    store.forgets_the_stamp();
    store.look();
    drop(store);
    assert_eq!(place.levels().await.0, 2);
}

#[tokio::test]
async fn a_journal_that_is_not_what_a_gate_wrote_last_is_refused_at_the_start() {
    let place = Place::new();
    let first = place.written().await;
    let second = place.written().await;
    assert_ne!(first, second);
    let text = String::from_utf8(second.clone()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (changed, expected) in [
        (first, "an older copy"),
        (lines[..2].concat().into_bytes(), "missing at its end"),
        (lines[0].as_bytes().to_vec(), "missing at its end"),
        (
            text.replace("\"level\":2", "\"level\":1").into_bytes(),
            "line 2 ",
        ),
        (
            [lines[0], lines[2], lines[1]].concat().into_bytes(),
            "line 2 ",
        ),
        (Vec::new(), "empty"),
    ] {
        fs::write(place.path(), &changed).unwrap();
        place.is_refused(expected);
    }
    fs::remove_file(place.path()).unwrap();
    place.is_refused("it is gone");
    assert!(!place.path().exists());
    fs::write(place.path(), &second).unwrap();
    assert_eq!(place.levels().await, (2, 3));
    let key = fs::read(place.key()).unwrap();
    fs::remove_file(place.key()).unwrap();
    place.is_refused("is gone, so that the lines cannot be verified");
    // Another key.
    let other = Place::new();
    drop(other.open().unwrap());
    fs::copy(other.key(), place.key()).unwrap();
    place.is_refused("line 1 ");
    fs::write(place.key(), &key[..20]).unwrap();
    place.is_refused("is none that a gate wrote");
    fs::write(place.key(), &key).unwrap();
    assert_eq!(place.levels().await, (2, 3));
    // An operator who wants an empty journal removes both files.
    fs::remove_file(place.path()).unwrap();
    fs::remove_file(place.key()).unwrap();
    assert_eq!(place.levels().await, (0, 0));
}

#[tokio::test]
async fn a_gate_that_was_killed_before_its_key_knew_of_the_last_line_begins_again() {
    let place = Place::new();
    let store = place.open().unwrap();
    raise(&store, "a", 2).await;
    let behind = fs::read(place.key()).unwrap();
    raise(&store, "b", 3).await;
    drop(store);
    fs::write(place.key(), behind).unwrap();
    assert_eq!(place.levels().await, (2, 3));
}

#[cfg(unix)]
#[tokio::test]
async fn links_pipes_and_keys_that_others_can_read_are_refused() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let place = Place::new();
    place.written().await;
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(place.path()), mode(place.key())), (0o600, 0o600));
    fs::set_permissions(place.key(), fs::Permissions::from_mode(0o640)).unwrap();
    place.is_refused("can be read or written by other users");
    fs::set_permissions(place.key(), fs::Permissions::from_mode(0o600)).unwrap();
    for (path, expected) in [(place.path(), "it is a link"), (place.key(), "is a link")] {
        let moved = path.with_extension("moved");
        fs::rename(&path, &moved).unwrap();
        symlink(&moved, &path).unwrap();
        place.is_refused(expected);
        fs::rename(&moved, &path).unwrap();
    }
    // What stands where the gate writes anew is not written to.
    let outside = place.directory.path().join("outside");
    fs::write(&outside, "mine").unwrap();
    symlink(&outside, place.directory.path().join("ratchet.new")).unwrap();
    assert_eq!(place.levels().await, (2, 3));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
}
