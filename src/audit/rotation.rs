//! Rotation of the audit file: when it ends, and the names of older files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::chain::LineHash;
use super::disk::directory_of;
use super::read::{Piece, Source, read};

/// The time in the name of an older file.
const TIME: &str = "%Y%m%dT%H%M%S.%6fZ";

/// The ending of the name of a compressed file.
pub(super) const COMPRESSED: &str = ".zst";

/// Bytes at the beginning of a file that have the time of its first record.
const HEAD: usize = 256;

/// When a file ends and the next one begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotation {
    /// In bytes.
    pub max_size: Option<u64>,
    /// Since the first record.
    pub max_age: Option<Duration>,
}

impl Rotation {
    pub(super) fn is_off(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a file of this length, whose first record has this time, has ended.
    pub(super) fn is_due(&self, length: u64, first: Option<Timestamp>, now: Timestamp) -> bool {
        let is_large = self.max_size.is_some_and(|most| length >= most);
        let age = first.and_then(|first| Duration::try_from(now.duration_since(first)).ok());
        let is_old = age.zip(self.max_age).is_some_and(|(age, most)| age >= most);
        length > 0 && (is_large || is_old)
    }
}

/// The time of the first record of a file.
pub(super) fn first_time(file: &mut File) -> io::Result<Option<Timestamp>> {
    let mut head = Vec::with_capacity(HEAD);
    file.rewind()?;
    file.take(HEAD as u64).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let rest = head.split_once("\"timestamp\":\"");
    let time = rest.and_then(|(_, rest)| rest.split_once('"'));
    Ok(time.and_then(|(time, _)| time.parse().ok()))
}

/// The name of a file that ended at this time: `audit-20261127T061500.123456Z.jsonl`. In the order of their
/// names, older files come first and the current one last.
pub(super) fn older_name(path: &Path, time: Timestamp) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(time.strftime(&format!("-{TIME}")).to_string());
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// The name of the file that ends now. It comes after all older ones, also if the clock went back.
pub(super) fn next_older_name(path: &Path, now: Timestamp) -> PathBuf {
    let newest = older_files(path).pop();
    let after = newest.and_then(|newest| newest.time.checked_add(Duration::from_micros(1)).ok());
    older_name(path, after.map_or(now, |after| after.max(now)))
}

/// The time in a name that [`older_name`] gave. `None` for other files, and compressed ones.
fn older_time(path: &Path, name: &OsStr) -> Option<Timestamp> {
    let ending = match path.extension() {
        Some(extension) => format!(".{}", extension.to_str()?),
        None => String::new(),
    };
    let time = name
        .to_str()?
        .strip_prefix(path.file_stem()?.to_str()?)?
        .strip_prefix('-')?
        .strip_suffix(&ending)?;
    let time = DateTime::strptime(TIME, time)
        .ok()?
        .to_zoned(TimeZone::UTC)
        .ok()?
        .timestamp();
    // Exactly, and not in another spelling.
    (older_name(path, time).file_name()? == name).then_some(time)
}

/// Whether a gate gave a file its name when it rotated the log.
pub fn is_rotated(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let log = name.and_then(|name| {
        let (stem, rest) = name.rsplit_once('-')?;
        let (_, ending) = rest.split_once('Z')?;
        Some((format!("{stem}{ending}"), name))
    });
    log.is_some_and(|(log, name)| older_time(Path::new(&log), OsStr::new(name)).is_some())
}

/// A file of the log that a gate has rotated.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OlderFile {
    pub(super) time: Timestamp,
    pub(super) path: PathBuf,
    pub(super) form: FileForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileForm {
    Plain,
    Compressed,
}

/// The older files of a log, the newest last.
pub(super) fn older_files(path: &Path) -> Vec<OlderFile> {
    let Ok(entries) = fs::read_dir(directory_of(path)) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let older = names.filter_map(|name| {
        let plain = name.to_str()?.strip_suffix(COMPRESSED);
        let form = plain.map_or(FileForm::Plain, |_| FileForm::Compressed);
        let time = older_time(path, plain.map_or(&name, OsStr::new))?;
        let path = path.with_file_name(&name);
        Some(OlderFile { time, path, form })
    });
    let mut older: Vec<_> = older.collect();
    older.sort();
    older
}

/// The files of a log, oldest first: those that a gate has rotated, and the log itself.
pub fn log_files(path: &Path) -> Vec<PathBuf> {
    let older = older_files(path).into_iter().map(|older| older.path);
    older.chain([path.to_owned()]).collect()
}

/// The last line of the newest older file, which a new file continues.
pub(super) fn last_older_line(path: &Path) -> Option<LineHash> {
    let newest = older_files(path).pop()?;
    let mut last = None;
    // The last line with a line feed, as of a file that is not compressed.
    let lines = |piece: &Piece| piece.last_whole_line().map(LineHash::of);
    let read: Result<Option<()>, _> = read(&[Source::File(newest.path)], lines, |_, line| {
        last = line.or(last);
        ControlFlow::Continue(())
    });
    if let Err(error) = read {
        tracing::warn!("the audit file continues no older one: {error}");
        return None;
    }
    last
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use ruzstd::encoding::CompressionLevel;

    use super::super::compression::{
        compress_all, compress_file, compressed_name, unfinished_name,
    };
    use super::super::file::FileSink;
    use super::super::read::{self, Source};
    use super::super::sink::{Lane, Sync};
    use super::*;
    use crate::clock::Clock;

    /// A clock that moves by a millisecond at each look, so that no two files have one name.
    #[derive(Debug, Default)]
    struct Moving(AtomicI64);

    impl Clock for Moving {
        fn now(&self) -> Timestamp {
            Timestamp::from_millisecond(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    struct Log {
        directory: tempfile::TempDir,
        clock: Arc<Moving>,
    }

    impl Log {
        fn new() -> Self {
            Self {
                directory: tempfile::tempdir().unwrap(),
                clock: Arc::default(),
            }
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join("audit.jsonl")
        }

        fn gate(&self, rotation: Rotation) -> Lane {
            let clock = Arc::clone(&self.clock);
            Lane::new(Box::new(
                FileSink::open(&self.path(), rotation, clock).unwrap(),
            ))
        }

        /// The names of all files, in their order, once older ones are compressed.
        fn names(&self) -> Vec<String> {
            loop {
                compress_all(&self.path());
                let entries = fs::read_dir(self.directory.path()).unwrap();
                let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                let mut names: Vec<_> = names.collect();
                names.sort();
                // The threads of gates may not have finished.
                let is_done = |name: &String| !name.ends_with("Z.jsonl") && !name.starts_with('.');
                if names.iter().all(is_done) {
                    return names;
                }
                std::thread::yield_now();
            }
        }

        /// All lines, in the order of the files' names.
        fn lines(&self) -> Vec<String> {
            let names = self.names().into_iter();
            let sources = names.map(|name| Source::File(self.directory.path().join(name)));
            let sources: Vec<_> = sources.collect();
            let mut all = Vec::new();
            let lines = |piece: &read::Piece| {
                let lines = piece.lines().map(|(_, line)| line.to_vec());
                lines
                    .map(|line| String::from_utf8(line).unwrap())
                    .collect::<Vec<_>>()
            };
            let read: Option<()> = read::read(&sources, lines, |_, lines| {
                all.extend(lines);
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(read, None);
            all
        }
    }

    fn append(lane: &mut Lane, text: &str) {
        lane.deliver(text.as_bytes(), Sync::Wanted).unwrap();
        lane.next();
    }

    fn of_size(bytes: u64) -> Rotation {
        Rotation {
            max_size: Some(bytes),
            max_age: None,
        }
    }

    #[test]
    fn a_file_that_is_large_enough_ends_and_is_compressed_and_no_line_is_lost() {
        let log = Log::new();
        let mut gate = log.gate(of_size(10));
        let lines: Vec<_> = (0..20).map(|number| format!("line {number}")).collect();
        for line in &lines {
            append(&mut gate, &format!("{line}\n"));
        }
        assert_eq!(log.lines(), lines);
        let names = log.names();
        // Two lines have more than ten bytes.
        assert_eq!(names.len(), 10, "{names:?}");
        assert_eq!(names.last().unwrap(), "audit.jsonl");
        let form = |name: &String| {
            name.starts_with("audit-19700101T0000") && name.ends_with("Z.jsonl.zst")
        };
        assert!(names.iter().rev().skip(1).all(form), "{names:?}");
        // Without limits nothing ends.
        let log = Log::new();
        let mut gate = log.gate(Rotation::default());
        for line in &lines {
            append(&mut gate, line);
        }
        assert_eq!(log.names(), ["audit.jsonl"]);
    }

    #[test]
    fn a_file_whose_first_record_is_old_enough_ends_and_the_age_survives_a_restart() {
        let rotation = Rotation {
            max_size: None,
            max_age: Some(Duration::from_mins(1)),
        };
        let log = Log::new();
        let record = |text: &str| {
            format!(
                "{{\"timestamp\":\"{}\",\"text\":\"{text}\"}}",
                log.clock.now()
            )
        };
        let (first, second, third) = (record("first"), record("second"), record("third"));
        append(&mut log.gate(rotation.clone()), &format!("{first}\n"));
        log.clock.0.fetch_add(59_900, Ordering::Relaxed);
        append(&mut log.gate(rotation.clone()), &format!("{second}\n"));
        assert_eq!(log.names().len(), 1);
        log.clock.0.fetch_add(100, Ordering::Relaxed);
        let mut gate = log.gate(rotation);
        append(&mut gate, &format!("{third}\n"));
        append(&mut gate, &format!("{third}\n"));
        assert_eq!(log.names().len(), 2);
        assert_eq!(log.lines(), [first, second, third.clone(), third]);
    }

    #[test]
    fn gates_that_share_a_file_go_on_in_the_same_new_one() {
        let log = Log::new();
        let mut gates: Vec<_> = (0..3).map(|_| log.gate(of_size(20))).collect();
        let lines: Vec<_> = (0..60).map(|number| format!("line {number}")).collect();
        for (number, line) in lines.iter().enumerate() {
            append(&mut gates[number % 3], &format!("{line}\n"));
        }
        assert_eq!(log.lines(), lines);
        // The same with all of them at once, where only each gate's own order is known.
        let log = Log::new();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                let mut gate = log.gate(of_size(50));
                scope.spawn(move || {
                    for number in 0..50 {
                        append(&mut gate, &format!("{name} {number}\n"));
                    }
                });
            }
        });
        let lines = log.lines();
        for name in ["a ", "b ", "c "] {
            let own: Vec<_> = lines.iter().filter(|line| line.starts_with(name)).collect();
            let expected: Vec<_> = (0..50).map(|number| format!("{name}{number}")).collect();
            assert_eq!(own, expected.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_file_that_cannot_be_renamed_grows_on() {
        let log = Log::new();
        // A name of 250 bytes has no room for a time.
        let path = log.directory.path().join("a".repeat(250));
        let clock: Arc<dyn Clock> = Arc::<Moving>::default();
        let sink = FileSink::open(&path, of_size(1), clock).unwrap();
        let mut gate = Lane::new(Box::new(sink));
        for line in ["one\n", "two\n", "three\n"] {
            append(&mut gate, line);
        }
        assert_eq!(fs::read_to_string(path).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(fs::read_dir(log.directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_path_that_is_no_file_is_an_error_until_it_is_free() {
        let log = Log::new();
        let mut gate = log.gate(of_size(1));
        append(&mut gate, "one\n");
        fs::remove_file(log.path()).unwrap();
        fs::create_dir(log.path()).unwrap();
        gate.deliver(b"two\n", Sync::Wanted).unwrap_err();
        fs::remove_dir(log.path()).unwrap();
        append(&mut gate, "two\n");
        assert_eq!(log.lines(), ["two"]);
    }

    #[test]
    fn a_gate_that_opened_an_empty_file_knows_the_age_of_what_others_wrote() {
        let rotation = Rotation {
            max_size: None,
            max_age: Some(Duration::from_mins(1)),
        };
        let log = Log::new();
        let (mut first, mut second) = (log.gate(rotation.clone()), log.gate(rotation));
        let record = format!("{{\"timestamp\":\"{}\"}}", log.clock.now());
        append(&mut first, &format!("{record}\n"));
        log.clock.0.fetch_add(120_000, Ordering::Relaxed);
        append(&mut second, "later\n");
        assert_eq!(log.names().len(), 2);
        assert_eq!(log.lines(), [record.as_str(), "later"]);
    }

    #[test]
    fn a_compression_that_fails_leaves_nothing_behind() {
        let log = Log::new();
        // A directory cannot be read.
        let older = older_name(&log.path(), Timestamp::UNIX_EPOCH);
        fs::create_dir(&older).unwrap();
        compress_file(&older).unwrap_err();
        let left = fs::read_dir(log.directory.path()).unwrap();
        assert_eq!(left.count(), 1);
    }

    #[test]
    fn what_a_killed_gate_left_is_compressed_by_the_next_one() {
        let log = Log::new();
        let older = older_name(&log.path(), Timestamp::UNIX_EPOCH);
        let compressed = compressed_name(&older);
        let unfinished = unfinished_name(&compressed);
        for left in ["nothing", "a part", "all of it", "all of it, damaged"] {
            fs::write(&older, "one\ntwo\n").unwrap();
            match left {
                "a part" => fs::write(&unfinished, "longer than what is written over it").unwrap(),
                "all of it" => {
                    let whole = &b"one\ntwo\n"[..];
                    let whole = ruzstd::encoding::compress_to_vec(whole, CompressionLevel::Fastest);
                    fs::write(&compressed, whole).unwrap();
                }
                "all of it, damaged" => fs::write(&compressed, "no zstd").unwrap(),
                _ => {}
            }
            append(&mut log.gate(of_size(1 << 20)), "");
            assert_eq!(
                log.names(),
                [
                    compressed.file_name().unwrap().to_str().unwrap(),
                    "audit.jsonl"
                ]
            );
            assert_eq!(log.lines(), ["one", "two"], "{left}");
        }
    }

    #[test]
    fn a_file_is_not_replaced_by_another_of_its_name() {
        // Somebody decompresses an older file while a gate looks for files to compress.
        let log = Log::new();
        let older = older_name(&log.path(), Timestamp::UNIX_EPOCH);
        let compressed = compressed_name(&older);
        let whole = &b"one\ntwo\n"[..];
        let whole = ruzstd::encoding::compress_to_vec(whole, CompressionLevel::Fastest);
        fs::write(&compressed, &whole).unwrap();
        fs::write(&older, "one\n").unwrap();
        let error = compress_file(&older).unwrap_err().to_string();
        assert!(error.contains("differs"), "{error}");
        assert_eq!(fs::read(&compressed).unwrap(), whole);
        assert_eq!(fs::read(&older).unwrap(), b"one\n");
        assert!(!unfinished_name(&compressed).exists());
    }

    #[test]
    fn names_follow_each_other_also_if_the_clock_goes_back() {
        let log = Log::new();
        log.clock.0.store(86_400_000, Ordering::Relaxed);
        let mut gate = log.gate(of_size(1));
        append(&mut gate, "one\n");
        append(&mut gate, "two\n");
        log.clock.0.store(0, Ordering::Relaxed);
        append(&mut gate, "three\n");
        append(&mut gate, "four\n");
        assert_eq!(log.lines(), ["one", "two", "three", "four"]);
    }

    #[test]
    fn a_new_file_continues_the_newest_older_one() {
        let log = Log::new();
        let mut gate = log.gate(of_size(1));
        for line in ["one\n", "two\n", "three\n"] {
            append(&mut gate, line);
        }
        drop(gate);
        log.names();
        fs::remove_file(log.path()).unwrap();
        let open = || log.gate(of_size(1)).last_line();
        assert_eq!(open(), Some(LineHash::of(b"two")));
        fs::write(log.path(), "four\n").unwrap();
        assert_eq!(open(), Some(LineHash::of(b"four")));
        // Of an older file that cannot be read, nothing is continued.
        fs::write(log.path(), "").unwrap();
        let newest = log.names().into_iter().rev().nth(1).unwrap();
        fs::write(log.directory.path().join(newest), "no zstd").unwrap();
        assert_eq!(open(), None);
    }

    #[test]
    fn only_names_that_a_gate_gave_are_of_older_files() {
        let path = Path::new("/var/log/audit.jsonl");
        let older = older_name(path, Timestamp::UNIX_EPOCH);
        assert_eq!(
            older,
            Path::new("/var/log/audit-19700101T000000.000000Z.jsonl")
        );
        for (name, expected) in [
            ("audit-19700101T000000.000000Z.jsonl", true),
            ("audit-19700101T000000.000000Z.jsonl.zst", false),
            ("audit-19700101T000000.000000Z.jsonl.zst.tmp", false),
            ("audit-19700101T000000.000000Z", false),
            ("audit-19700101T000000Z.jsonl", false),
            ("audit-19700132T000000.000000Z.jsonl", false),
            ("audit-19700101-000000.000000Z.jsonl", false),
            ("other-19700101T000000.000000Z.jsonl", false),
            ("audit.jsonl", false),
            ("audit-notes.jsonl", false),
            ("", false),
        ] {
            assert_eq!(
                older_time(path, OsStr::new(name)).is_some(),
                expected,
                "{name}"
            );
        }
        for (name, expected) in [
            ("logs/audit-19700101T000000.000000Z.jsonl", true),
            ("a-b-19700101T000000.000000Z", true),
            ("audit-19700101T000000.000000Z.jsonl.zst", false),
            ("audit.jsonl", false),
            ("audit-Z.jsonl", false),
        ] {
            assert_eq!(is_rotated(Path::new(name)), expected, "{name}");
        }
        // A log without an ending.
        let older = older_name(Path::new("audit"), Timestamp::UNIX_EPOCH);
        assert!(
            older_time(Path::new("audit"), older.as_os_str()).is_some(),
            "{}",
            older.display()
        );
    }
}
