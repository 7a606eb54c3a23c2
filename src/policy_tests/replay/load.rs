//! The file of a recording: where it may be, and what is wrong with it.

use std::fs;
use std::path::Path;

use super::super::errors::{FixtureProblem, FixtureSource};
use super::super::fixture::Replay;
use super::super::pack_paths::is_below;
use super::read::{RecordingError, read};

/// A day of a busy gate. More than that is better replayed in parts.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the recording that a test names, `dir` being where its fixture is and `pack` what it tests.
pub(in super::super) fn load_recording(
    replay: &mut Replay,
    source: &FixtureSource,
    dir: &Path,
    pack: Option<&Path>,
) -> Result<(), Box<FixtureProblem>> {
    let named = replay.file.get_ref();
    let problem = |message: String| {
        FixtureProblem::new("test::replay", message).at(source, replay.file.span())
    };
    if !is_below(Path::new(named), dir, pack) {
        let help =
            "a pack holds all that its tests need: put the recording beside them, or a link to it";
        let outside = problem(format!("`{named}` is outside of the pack"));
        return Err(Box::new(outside.with_help(help)));
    }
    let path = dir.join(named);
    let unreadable = |error: std::io::Error| problem(format!("`{named}` cannot be read: {error}"));
    let meta = fs::metadata(&path).map_err(|error| {
        let help = "its path is relative to the fixture's directory";
        Box::new(unreadable(error).with_help(help))
    })?;
    if !meta.is_file() {
        return Err(Box::new(problem(format!("`{named}` is no file"))));
    }
    if meta.len() > MAX_BYTES {
        let help = "replay a part of it: one line is one message, and any lines will do";
        let large = problem(format!("`{named}` is larger than {MAX_BYTES} bytes"));
        return Err(Box::new(large.with_help(help)));
    }
    // What is no UTF-8 is no JSON, and so a line that cannot be read.
    let bytes = fs::read(&path).map_err(|error| Box::new(unreadable(error)))?;
    let recording = read(&String::from_utf8_lossy(&bytes)).map_err(|unread| {
        let RecordingError { line, problem: why } = unread;
        let place = line.map_or(String::new(), |line| format!(", line {line}"));
        let help = "a recording is an audit log, or a file with one JSON-RPC message on each line";
        Box::new(problem(format!("`{named}`{place}: {why}")).with_help(help))
    })?;
    replay.recording = Some(recording);
    Ok(())
}
