//! A log that a gate writes and rotates meanwhile.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::cut::Cutter;
use super::follow::{FollowError, FollowedFile, read_error};
use super::source::{ReadError, Source};
use crate::audit::compression::compressed_name;
use crate::audit::rotation::{OlderFile, older_files};

/// The lines of a log, in their order over all its files.
///
/// After an error, lines of the file may be given again.
#[derive(Debug)]
pub struct LogTail {
    path: PathBuf,
    /// Ended files that are still to be read.
    ended: VecDeque<OlderFile>,
    /// `None` while the path names no file.
    current: Option<FollowedFile>,
    /// The time of the newest ended file when `current` was opened.
    newest: Option<Timestamp>,
}

impl LogTail {
    /// Begins with the file that the path names.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (ended, current) = look(path)?;
        Ok(Self {
            path: path.to_owned(),
            newest: ended.last().map(|file| file.time),
            ended: VecDeque::new(),
            current: Some(current.ok_or(ErrorKind::NotFound)?),
        })
    }

    /// Begins with the newest file whose first line is known, or if none is, with the oldest.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open_after(path: &Path, is_known: &dyn Fn(&[u8]) -> bool) -> io::Result<Self> {
        let mut tail = Self::open(path)?;
        if let Some(current) = &mut tail.current
            && current.first_line()?.is_some_and(|line| is_known(&line))
        {
            return Ok(tail);
        }
        for file in one_of_each(older_files(path)).into_iter().rev() {
            if tail.newest.is_some_and(|newest| file.time <= newest) {
                let line = first_line(&file)?;
                tail.ended.push_front(file);
                if line.is_some_and(|line| is_known(&line)) {
                    break;
                }
            }
        }
        Ok(tail)
    }

    /// Goes so many bytes back from the end of the present file, and to the next line there. Whether that is
    /// the start of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn seek_back(&mut self, bytes: u64) -> io::Result<bool> {
        let current = self.current.as_mut();
        current.map_or(Ok(true), |current| current.seek_back(bytes))
    }

    /// Gives each line that has its line feed and was not given yet.
    ///
    /// # Errors
    /// A file cannot be read, or `take` failed.
    pub fn read_lines<E>(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), FollowError<E>> {
        loop {
            while let Some(file) = self.ended.front() {
                read_ended(file, take)?;
                self.ended.pop_front();
            }
            let error = |cause| read_error(&self.path, cause);
            let Some(current) = &mut self.current else {
                let (ended, current) = look(&self.path).map_err(error)?;
                self.go_on(ended, current, None);
                if self.ended.is_empty() && self.current.is_none() {
                    return Ok(());
                }
                continue;
            };
            // Before the read, so that the read is the last one of a file that has ended.
            let has_ended = current.has_successor().map_err(error)?;
            current.read_lines(take)?;
            if !has_ended {
                return Ok(());
            }
            let first = current.first_line().map_err(error)?;
            let (ended, next) = look(&self.path).map_err(error)?;
            self.go_on(ended, next, first.as_deref());
        }
    }

    /// Goes on with the files after the one that begins with this line.
    fn go_on(
        &mut self,
        ended: Vec<OlderFile>,
        current: Option<FollowedFile>,
        last_read: Option<&[u8]>,
    ) {
        let newest = ended.last().map(|file| file.time);
        let later = ended
            .into_iter()
            .filter(|file| Some(file.time) > self.newest);
        let mut later = one_of_each(later.collect());
        let is_read = |file: &OlderFile| {
            last_read.is_some_and(|line| first_line(file).ok().flatten().as_deref() == Some(line))
        };
        let unread = later.iter().position(is_read).map_or(0, |read| read + 1);
        self.ended = later.split_off(unread).into();
        self.current = current;
        self.newest = newest.max(self.newest);
    }
}

/// The ended files, and the one that came after them.
fn look(path: &Path) -> io::Result<(Vec<OlderFile>, Option<FollowedFile>)> {
    loop {
        let before = older_files(path);
        let current = match FollowedFile::open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // If another one ended meanwhile, this may not be the one after it.
        let after = older_files(path);
        let newest = |files: &[OlderFile]| files.last().map(|file| file.time);
        if newest(&before) == newest(&after) {
            return Ok((after, current));
        }
    }
}

/// Until a gate removes a file that it compressed, both are there.
fn one_of_each(mut files: Vec<OlderFile>) -> Vec<OlderFile> {
    files.dedup_by_key(|file| file.time);
    files
}

fn first_line(file: &OlderFile) -> io::Result<Option<Vec<u8>>> {
    let mut first = None;
    let read = read_ended(file, &mut |line| {
        first = Some(line.to_vec());
        Err(())
    });
    match read {
        Err(FollowError::Read { cause, .. }) => Err(cause),
        Err(FollowError::Ended(error)) => Err(io::Error::other(error)),
        Ok(()) | Err(FollowError::Line { .. } | FollowError::LineTooLong { .. }) => Ok(first),
    }
}

/// Gives all lines of a file that has ended, whether or not it was compressed meanwhile.
fn read_ended<E>(
    file: &OlderFile,
    take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), FollowError<E>> {
    let forms = [file.path.clone(), compressed_name(&file.path)];
    let forms = forms.map(Source::File).into_iter().enumerate();
    for (index, source) in forms {
        let mut cutter = match Cutter::open(index, &source) {
            Ok(cutter) => cutter,
            Err(ReadError::File { cause, .. }) if cause.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        while let Some(piece) = cutter.next_piece()? {
            for (number, line) in piece.lines() {
                take(line).map_err(|problem| {
                    let place = piece.position(number).to_string();
                    FollowError::Line { place, problem }
                })?;
            }
        }
        return Ok(());
    }
    let file = file.path.display();
    tracing::warn!("the audit file `{file}` was removed before its records were read");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::fs;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::audit::compression::compress_all;
    use crate::audit::file::FileSink;
    use crate::audit::rotation::{FileForm, Rotation};
    use crate::audit::sink::{Lane, Sync};
    use crate::clock::SystemClock;

    /// A log of small files, and what a tail of it has given.
    struct Followed {
        directory: tempfile::TempDir,
        gate: Lane,
        written: Vec<String>,
    }

    impl Followed {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let rotation = Rotation {
                max_size: Some(20),
                max_age: None,
            };
            let clock = Arc::new(SystemClock::new());
            let sink = FileSink::open(&directory.path().join("log"), rotation, clock).unwrap();
            Self {
                directory,
                gate: Lane::new(Box::new(sink)),
                written: Vec::new(),
            }
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join("log")
        }

        fn write(&mut self) {
            let line = format!("line {}", self.written.len());
            let text = format!("{line}\n");
            self.gate.deliver(text.as_bytes(), Sync::Wanted).unwrap();
            self.gate.next();
            self.written.push(line);
        }
    }

    fn read(tail: &mut LogTail) -> Vec<String> {
        let mut lines = Vec::new();
        let read = tail.read_lines::<Infallible>(&mut |line| {
            lines.push(String::from_utf8(line.to_vec()).unwrap());
            Ok(())
        });
        read.unwrap();
        lines
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Write(usize),
        Read,
        Compress,
        /// Another tail, which knows the lines that were given.
        Begin,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn each_line_is_given_once_and_in_order_over_any_rotations(
            steps in prop::collection::vec(prop_oneof![
                (1_usize..12).prop_map(Step::Write),
                Just(Step::Read),
                Just(Step::Compress),
                Just(Step::Begin),
            ], 1..20),
        ) {
            let mut log = Followed::new();
            let mut tail = LogTail::open(&log.path()).unwrap();
            let mut given: Vec<String> = Vec::new();
            for step in steps.into_iter().chain([Step::Read]) {
                match step {
                    Step::Write(lines) => (0..lines).for_each(|_| log.write()),
                    Step::Compress => compress_all(&log.path()),
                    Step::Begin => {
                        let is_known = |line: &[u8]| given.iter().any(|it| it.as_bytes() == line);
                        tail = LogTail::open_after(&log.path(), &is_known).unwrap();
                    }
                    Step::Read => {
                        let lines = read(&mut tail);
                        // Those of a file that was known in part.
                        let new = lines.into_iter().filter(|line| !given.contains(line));
                        given.extend(new.collect::<Vec<_>>());
                        prop_assert_eq!(&given, &log.written);
                    }
                }
            }
        }
    }

    #[test]
    fn a_running_tail_gives_no_line_twice() {
        let mut log = Followed::new();
        let mut tail = LogTail::open(&log.path()).unwrap();
        let mut given = Vec::new();
        for lines in [1, 2, 3, 30, 1, 0, 40] {
            (0..lines).for_each(|_| log.write());
            given.extend(read(&mut tail));
            assert_eq!(given, log.written);
        }
    }

    #[test]
    fn a_tail_begins_with_the_newest_file_that_is_known() {
        let mut log = Followed::new();
        (0..10).for_each(|_| log.write());
        compress_all(&log.path());
        let from = |known: &str| {
            let is_known = |line: &[u8]| line == known.as_bytes();
            let mut tail = LogTail::open_after(&log.path(), &is_known).unwrap();
            read(&mut tail)
        };
        // Three lines have more than 20 bytes.
        assert_eq!(from("line 3"), log.written[3..]);
        assert_eq!(from("line 9"), log.written[9..]);
        // No first line of a file, so nothing is known.
        assert_eq!(from("line 4"), log.written);
        assert_eq!(from(""), log.written);
    }

    #[test]
    fn a_damaged_file_is_an_error_until_it_is_gone() {
        let mut log = Followed::new();
        (0..4).for_each(|_| log.write());
        // The gate's own thread compresses it too.
        let older = loop {
            compress_all(&log.path());
            let [older] = &older_files(&log.path())[..] else {
                continue;
            };
            if older.form == FileForm::Compressed {
                break older.path.clone();
            }
        };
        let mut tail = LogTail::open_after(&log.path(), &|_| false).unwrap();
        fs::write(&older, b"\x28\xb5\x2f\xfd").unwrap();
        for _ in 0..2 {
            let error = tail.read_lines::<Infallible>(&mut |_| Ok(())).unwrap_err();
            assert!(error.to_string().contains("zstd"), "{error}");
        }
        fs::remove_file(older).unwrap();
        assert_eq!(read(&mut tail), ["line 3"]);
    }

    #[test]
    fn a_log_that_is_not_there_is_an_error_at_the_start_alone() {
        let mut log = Followed::new();
        LogTail::open(&log.directory.path().join("other")).unwrap_err();
        let mut tail = LogTail::open(&log.path()).unwrap();
        fs::remove_file(log.path()).unwrap();
        assert_eq!(read(&mut tail), Vec::<String>::new());
        log.write();
        assert_eq!(read(&mut tail), ["line 0"]);
    }
}
