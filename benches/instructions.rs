//! How many instructions the hot paths take, compared with those of `benches/instructions.txt`.
//!
//! ```sh
//! cargo bench -p benches --bench instructions            # fails where a path takes over a tenth more
//! cargo bench -p benches --bench instructions -- update  # takes today's numbers for the next comparison
//! ```
//!
//! Counted by valgrind, which must be installed: the numbers depend neither on the machine's speed nor on what else it
//! does. A path runs so often and twice as often; the difference is what it takes without its setup.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up has nothing to measure; to tell it is what it is for"
)]

mod calls;
mod rig;

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::process::Command;

use mcp_protector::gate::Rates;
use mcp_protector::guard::secrets::SecretRules;
use mcp_protector::guard::text::{TextRules, sanitize};
use mcp_protector::policy::PolicySnapshot;
use mcp_protector::wire::{Limits, Message};
use tokio::runtime::Builder;

type Failure = Box<dyn std::error::Error>;

struct HotPath {
    name: &'static str,
    /// The runs of the first count.
    runs: u64,
    run: fn(u64),
}

const fn path(name: &'static str, runs: u64, run: fn(u64)) -> HotPath {
    HotPath { name, runs, run }
}

const PATHS: [HotPath; 7] = [
    path("decode 1 KiB", 2_000, decode),
    path("call, allowlist", 400, |count| call(0, count)),
    path("call, 1 policy", 400, |count| call(1, count)),
    path("call, 100 policies", 400, |count| call(3, count)),
    path("tools/list of 1,000, unchanged", 10, list),
    path("sanitize 64 KiB", 20, clean),
    path("secrets in 64 KiB", 20, secrets),
];

/// The numbers that a path is compared with, a line each.
const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *words.as_slice() {
        ["run", path, count] => {
            let mut paths = PATHS.iter();
            let path = paths.find(|it| it.name == path).ok_or("no such path")?;
            (path.run)(count.parse()?);
            Ok(())
        }
        [] => compare(&counted()?),
        ["update"] => {
            let counted = counted()?;
            let lines = counted
                .iter()
                .map(|(path, count)| format!("{count:>12} {path}\n"));
            Ok(fs::write(KNOWN, lines.collect::<String>())?)
        }
        _ => Err("say nothing, or `update`".into()),
    }
}

/// Fails where a path takes over a tenth more than it took.
fn compare(counted: &BTreeMap<&str, u64>) -> Result<(), Failure> {
    let known = fs::read_to_string(KNOWN)?;
    let known: BTreeMap<&str, &str> = known
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .map(|(count, path)| (path, count))
        .collect();
    let mut more = Vec::new();
    for (path, count) in counted {
        let before: u64 = known
            .get(path)
            .ok_or(format!("`{path}` has no number: `update`"))?
            .parse()?;
        println!("{path:<32}{count:>12}{before:>12}");
        if *count * 10 > before * 11 {
            more.push(*path);
        }
    }
    if more.is_empty() {
        return Ok(());
    }
    Err(format!("over a tenth more instructions: {}", more.join("; ")).into())
}

fn counted() -> Result<BTreeMap<&'static str, u64>, Failure> {
    let count = |path: &HotPath| {
        let once = instructions(path.name, path.runs)?;
        let twice = instructions(path.name, 2 * path.runs)?;
        Ok((path.name, twice.saturating_sub(once) / path.runs))
    };
    PATHS.iter().map(count).collect()
}

/// What the first thread takes to run a path so often. Others, such as that of the audit log, take more or less by
/// when they wake up.
fn instructions(path: &str, count: u64) -> Result<u64, Failure> {
    let directory = tempfile::tempdir()?;
    let out = directory.path().join("counts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["run", path, &count.to_string()])
        .output()
        .map_err(|error| format!("valgrind cannot be started: {error}"))?;
    let first = fs::read_to_string(directory.path().join("counts-01")).unwrap_or_default();
    let totals = first.lines().find_map(|line| line.strip_prefix("totals: "));
    let told = String::from_utf8_lossy(&output.stderr);
    let totals = totals.ok_or_else(|| format!("valgrind did not count: {told}"))?;
    Ok(totals.trim().parse()?)
}

fn decode(count: u64) {
    let call = calls::call("1");
    for _ in 0..count {
        drop(black_box(Message::decode(
            black_box(call.as_bytes()),
            &Limits::default(),
        )));
    }
}

/// A call and its reply through a gate, both judged and recorded.
fn call(snapshot: usize, count: u64) {
    let call = calls::call("1");
    let result = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    let snapshot = calls::snapshots().swap_remove(snapshot).1;
    within_gate(snapshot, async |gate, talk| {
        for _ in 0..count {
            black_box(calls::answered(gate, talk, &call, result).await);
        }
    });
}

fn list(count: u64) {
    let result = calls::listing(1_000);
    let snapshot = calls::snapshots().swap_remove(3).1;
    within_gate(snapshot, async |gate, talk| {
        // The first time is another path.
        for _ in 0..=count {
            black_box(calls::list(gate, talk, &result).await);
        }
    });
}

fn within_gate(
    snapshot: PolicySnapshot,
    run: impl AsyncFnOnce(&mcp_protector::gate::Gate, &mcp_protector::gate::Talk<rig::End, rig::End>),
) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (gate, talk) = calls::ready_within(snapshot, rig::settings(Rates::default())).await;
        run(&gate, &talk).await;
    });
}

fn prose() -> String {
    "Before it is read, it should be known what it says, and to whom it says it.\n".repeat(862)
}

fn clean(count: u64) {
    let text = prose();
    for _ in 0..count {
        black_box(sanitize(black_box(&text), TextRules::CONTENT));
    }
}

fn secrets(count: u64) {
    let (text, rules) = (prose(), SecretRules::builtin());
    for _ in 0..count {
        black_box(rules.find(black_box(&text)));
    }
}
