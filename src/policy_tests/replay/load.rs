//! The file of a recording: where it may be, and what is wrong with it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::super::errors::{FixtureProblem, Source};
use super::super::fixture::Replay;
use super::{Unread, read};

/// A day of a busy gate. More than that is better replayed in parts.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the recording that a test names, `dir` being where its fixture is and `pack` what it tests.
pub(in super::super) fn load(
    replay: &mut Replay,
    source: &Source,
    dir: &Path,
    pack: Option<&Path>,
) -> Result<PathBuf, FixtureProblem> {
    let named = replay.file.get_ref();
    let problem = |message: String| {
        FixtureProblem::new("test::replay", message).at(source, replay.file.span())
    };
    let depth = pack.and_then(|pack| dir.strip_prefix(pack).ok());
    let depth = depth.map_or(0, |below| below.components().count());
    if leaves(Path::new(named), depth) {
        let help =
            "a pack holds all that its tests need: put the recording beside them, or a link to it";
        return Err(problem(format!("`{named}` is outside of the pack")).with_help(help));
    }
    let path = dir.join(named);
    let unreadable = |error: std::io::Error| problem(format!("`{named}` cannot be read: {error}"));
    let meta = fs::metadata(&path).map_err(|error| {
        unreadable(error).with_help("its path is relative to the fixture's directory")
    })?;
    if !meta.is_file() {
        return Err(problem(format!("`{named}` is no file")));
    }
    if meta.len() > MAX_BYTES {
        let help = "replay a part of it: one line is one message, and any lines will do";
        return Err(problem(format!("`{named}` is larger than {MAX_BYTES} bytes")).with_help(help));
    }
    // What is no UTF-8 is no JSON, and so a line that cannot be read.
    let bytes = fs::read(&path).map_err(unreadable)?;
    let recording =
        read(&String::from_utf8_lossy(&bytes)).map_err(|Unread { line, problem: why }| {
            let place = line.map_or(String::new(), |line| format!(", line {line}"));
            problem(format!("`{named}`{place}: {why}")).with_help(
                "a recording is an audit log, or a file with one JSON-RPC message on each line",
            )
        })?;
    replay.recording = Some(recording);
    Ok(path)
}

/// Whether a path leads further up than this many directories, or names a place of its own.
fn leaves(path: &Path, depth: usize) -> bool {
    let mut depth = depth;
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return true,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            Component::Normal(_) => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_pack() {
        let check = |path: &str, depth, expected| {
            assert_eq!(leaves(Path::new(path), depth), expected, "{path} {depth}");
        };
        check("a.jsonl", 0, false);
        check("logs/../a.jsonl", 0, false);
        check("../a.jsonl", 1, false);
        check("../../a.jsonl", 1, true);
        check("../a.jsonl", 0, true);
        check("x/../../a.jsonl", 0, true);
        check("/etc/passwd", 5, true);
    }
}
