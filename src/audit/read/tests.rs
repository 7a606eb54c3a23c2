use std::io::{self, Cursor, Read, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::cut::{Cutter, READ_BYTES};
use super::parallel::read_cutters;
use super::*;

type Lines = Vec<(usize, u64, Vec<u8>)>;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// The bytes of a file, which has an owner as long as it is open.
struct OpenFile {
    bytes: Cursor<Vec<u8>>,
    _owner: Arc<()>,
}

impl Read for OpenFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(out)
    }
}

#[test]
fn a_file_is_closed_before_its_database_is_opened() {
    let owner = Arc::new(());
    let file = OpenFile {
        bytes: Cursor::new([b"checksumDUCK".as_slice(), &[0; 100]].concat()),
        _owner: Arc::clone(&owner),
    };
    let mut owners = None;
    let _reader = decode::open(file, || {
        owners = Some(Arc::strong_count(&owner));
        Ok(Box::new(io::empty()))
    });
    assert_eq!(owners, Some(1));
}

/// The lines of files that are read in pieces of so many bytes, and the error after them.
fn read_all(files: &[Vec<u8>], read_bytes: usize) -> (Lines, Option<String>) {
    let mut found = Vec::new();
    let cutters = files.iter().cloned().enumerate().map(|(index, file)| {
        let name = format!("file{index}").into();
        match decode::open(Cursor::new(file), || panic!("no database")) {
            Ok(reader) => Ok(Cutter::new(name, index, reader, read_bytes)),
            Err(cause) => Err(ReadError::File { file: name, cause }),
        }
    });
    let map = |piece: &Piece| -> Lines {
        let lines = piece.lines();
        lines
            .map(|(line, text)| (piece.source(), line, text.to_vec()))
            .collect()
    };
    let read = read_cutters(cutters, map, |_, lines| {
        found.extend(lines);
        ControlFlow::<()>::Continue(())
    });
    (found, read.err().map(|error| error.to_string()))
}

/// The lines as they are defined, with no pieces.
fn lines_of(files: &[Vec<u8>]) -> Lines {
    let of_file = |(index, file): (usize, &Vec<u8>)| -> Lines {
        let mut lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
        if lines.last() == Some(&&b""[..]) {
            lines.pop();
        }
        let numbered = (1..).zip(lines);
        numbered
            .map(|(line, text)| (index, line, text.to_vec()))
            .collect()
    };
    files.iter().enumerate().flat_map(of_file).collect()
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_lines_at_the_same_positions(
        files in prop::collection::vec("[ab\n]{0,40}", 0..4),
        read_bytes in 1_usize..50,
    ) {
        let plain: Vec<Vec<u8>> = files.iter().map(|file| file.as_bytes().to_vec()).collect();
        let expected = (lines_of(&plain), None);
        let compress = |with: fn(&[u8]) -> Vec<u8>| -> Vec<Vec<u8>> {
            plain.iter().map(|file| with(file)).collect()
        };
        prop_assert_eq!(&read_all(&plain, read_bytes), &expected);
        prop_assert_eq!(&read_all(&compress(gzip), read_bytes), &expected);
        prop_assert_eq!(&read_all(&compress(zstd), read_bytes), &expected);
    }
}

#[test]
fn members_and_frames_follow_each_other_within_a_file() {
    let (one, two) = (b"one\ntw".as_slice(), b"o\nthree".as_slice());
    let expected = lines_of(&[[one, two].concat()]);
    let skipped = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
    let check = |parts: &[Vec<u8>]| {
        let read = read_all(&[parts.concat()], READ_BYTES);
        assert_eq!(read, (expected.clone(), None));
    };
    check(&[gzip(one), gzip(b""), gzip(two)]);
    check(&[zstd(one), zstd(two)]);
    check(&[
        skipped.clone(),
        zstd(one),
        skipped.clone(),
        zstd(two),
        skipped,
    ]);
}

#[test]
fn a_cut_or_changed_compressed_file_is_an_error_after_its_whole_lines() {
    let text: Vec<u8> = (0..300)
        .flat_map(|n| format!("line {}\n", n * n).into_bytes())
        .collect();
    let all = lines_of(std::slice::from_ref(&text));
    for whole in [gzip(&text), zstd(&text)] {
        for cut in 4..whole.len() {
            let (lines, error) = read_all(&[whole[..cut].to_vec()], 100);
            assert!(all.starts_with(&lines), "{cut}");
            let error = error.unwrap_or_else(|| panic!("{cut} of {}", whole.len()));
            let place = format!("file0:{}: the file cannot be read", lines.len() + 1);
            let nothing = lines.is_empty() && error.starts_with("`file0` cannot be read");
            assert!(nothing || error.starts_with(&place), "{error}");
        }
        for at in 4..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x11;
            let (lines, error) = read_all(&[changed], 100);
            // A header has bytes without a meaning for the text, such as its time.
            assert!(error.is_some() || lines == all, "{at} of {}", whole.len());
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let check = |file: &Path, expected: &str| {
        let sources = [Source::of_argument(file)];
        let read = read(&sources, |_| (), |_, ()| ControlFlow::Break(()));
        let error = read.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains(&file.display().to_string()), "{error}");
    };
    check(directory.path(), "cannot be read");
    check(&directory.path().join("none"), "cannot be read");
    assert_eq!(Source::of_argument(Path::new("-")), Source::StandardInput);
}

/// A zstd frame of blocks of 128 KiB of one byte, whose header asks for a window.
fn bomb(window: u8, blocks: usize) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd\x00".to_vec();
    frame.push(window);
    let header = |last: usize| ((128 << 10) << 3 | 1 << 1 | last).to_le_bytes();
    for block in 1..=blocks {
        frame.extend(&header(usize::from(block == blocks))[..3]);
        frame.push(b'x');
    }
    frame
}

#[test]
fn a_line_and_a_window_have_a_longest_size() {
    let check = |file: Vec<u8>, lines: usize, expected: Option<&str>| {
        let (found, error) = read_all(&[file], READ_BYTES);
        assert_eq!(found.len(), lines, "{expected:?}");
        match (error, expected) {
            (None, None) => {}
            (Some(error), Some(expected)) => assert!(error.contains(expected), "{error}"),
            (error, expected) => panic!("{error:?}, not {expected:?}"),
        }
    };
    let line =
        |bytes: usize| [b"first\n".to_vec(), vec![b'x'; bytes], b"\nlast\n".to_vec()].concat();
    check(line(MAX_LINE_BYTES), 3, None);
    let too_long = Some("file0:2: the line is longer than 16777216 bytes");
    check(line(MAX_LINE_BYTES + 1), 1, too_long);
    check(line(MAX_LINE_BYTES + 2 * READ_BYTES), 1, too_long);
    check(gzip(&line(MAX_LINE_BYTES + 1)), 1, too_long);
    check(bomb(0x38, 4), 1, None);
    check(bomb(0x38, 200), 0, Some("file0:1: the line is longer"));
    check(bomb(0xff, 1), 0, Some("damaged"));
}

#[test]
fn the_fold_may_stop_the_reading() {
    let files: Vec<Vec<u8>> = vec![b"1\n2\n3\n".to_vec(), gzip(b"x")[..12].to_vec()];
    let cutters = files.into_iter().enumerate().map(|(index, file)| {
        let reader = decode::open(Cursor::new(file), || panic!("no database")).unwrap();
        Ok(Cutter::new("file".into(), index, reader, 1))
    });
    let mut seen = 0;
    let read = read_cutters(
        cutters,
        |piece| piece.lines().count(),
        |_, lines| {
            seen += lines;
            if seen == 2 {
                ControlFlow::Break("enough")
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    // The second file, which is cut, is no matter.
    assert_eq!(read.unwrap(), Some("enough"));
}
