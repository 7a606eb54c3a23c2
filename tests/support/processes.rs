//! What runs, as Linux tells it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::setup::MARK;

/// Far longer than a killed process needs to go, and shorter than the minute after which the
/// fixture's stubborn processes end by themselves.
const BRIEFLY: Duration = Duration::from_secs(30);

/// The processes that carry a test's mark in their environment or command line, and the launchers
/// beside them, by id and name.
///
/// The gate and its launchers show their environment only to `CAP_SYS_PTRACE`: without it a gate is
/// known by its configuration, and a launcher by its parent or its child. A zombie has none of it and
/// is not among them.
pub(crate) fn marked(mark: &str) -> Vec<(u32, String)> {
    let wanted = format!("{MARK}={mark}");
    let all: Vec<Seen> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| Seen::of(&entry.path()))
        .collect();
    let is_marked = |process: &&Seen| {
        let of = |bytes: &[u8], wanted: &str| {
            let mut words = bytes.split(|byte| *byte == 0);
            words.any(|word| word == wanted.as_bytes())
        };
        let configuration = format!("{mark}/gate.toml");
        of(&process.environment, &wanted) || of(&process.command_line, &configuration)
    };
    let known: Vec<&Seen> = all.iter().filter(is_marked).collect();
    let belongs = |process: &&Seen| {
        let has = |pid: u32| known.iter().any(|it| it.pid == pid);
        let is_above = || known.iter().any(|it| it.parent == process.pid);
        let is_launcher = process.name == "mcp-launch";
        has(process.pid) || is_launcher && (has(process.parent) || is_above())
    };
    let found = all.iter().filter(belongs);
    found.map(|it| (it.pid, it.name.clone())).collect()
}

struct Seen {
    pid: u32,
    parent: u32,
    name: String,
    environment: Vec<u8>,
    command_line: Vec<u8>,
}

impl Seen {
    fn of(process: &Path) -> Option<Self> {
        let pid = process.file_name()?.to_str()?.parse().ok()?;
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        let (front, back) = stat.rsplit_once(')')?;
        Some(Self {
            pid,
            parent: back.split_whitespace().nth(1)?.parse().ok()?,
            name: front.split_once('(')?.1.to_owned(),
            environment: fs::read(process.join("environ")).unwrap_or_default(),
            command_line: fs::read(process.join("cmdline")).unwrap_or_default(),
        })
    }
}

/// Waits until nothing of a test runs any more.
pub(crate) fn all_end(mark: &str) {
    eventually(|| {
        let left = marked(mark);
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("processes were left behind: {left:?}"))
        }
    });
}

/// Waits until a check passes.
pub(crate) fn eventually<T>(mut check: impl FnMut() -> Result<T, String>) -> T {
    const STEP: Duration = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    loop {
        match check() {
            Ok(passed) => return passed,
            Err(problem) => assert!(waited < BRIEFLY, "{problem}"),
        }
        thread::sleep(STEP);
        waited += STEP;
    }
}
