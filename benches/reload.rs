//! New policies while a million calls are decided: how soon 1,000 changed policies are in force, what
//! a call pays for it, and that each decision belongs to one whole revision.
//!
//! ```sh
//! cargo bench -p benches --bench reload
//! cargo bench -p benches --bench reload -- 100000     # calls
//! ```
//!
//! The directory is exchanged by a rename, as a deployment does it. Every call goes through
//! `Gate::handle`; its record must name the revision in whose words it was decided, or the program
//! fails.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark tells what it measured, and has nothing to measure if it cannot be set up"
)]

mod rig;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_protector::audit::{Audit, Decision, Kind, MemoryRecords};
use mcp_protector::clock::SystemClock;
use mcp_protector::gate::{Besides, Gate, Rates, Talk};
use mcp_protector::loading::{self, NoSource, ReloadOutcome, Watch};
use mcp_protector::policy::PolicyStore;
use mcp_protector::wire::{Side, Stream};

use rig::End;

const POLICIES: usize = 1_000;

/// How long policies stay as they are.
const BETWEEN: Duration = Duration::from_millis(1_500);

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let calls: u64 = arguments
        .next()
        .and_then(|count| count.parse().ok())
        .unwrap_or(1_000_000);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run(calls));
}

async fn run(calls: u64) {
    let place = tempfile::tempdir().expect("a directory");
    let link = place.path().join("policies");
    deploy(place.path(), &link, 0);
    let settings = loading::Settings {
        dir: Some(link.clone()),
        ..loading::Settings::default()
    };
    let loaded = loading::load(&settings).expect("policies");
    let store = Arc::new(PolicyStore::new(loaded.snapshot));
    let mut watch = Watch::<NoSource>::start(settings, None, Arc::clone(&store)).expect("a thread");
    let (audit, kept) = Audit::keeping();
    let settings = rig::settings(Rates::default());
    let gate = Gate::new(store, audit, Arc::new(SystemClock::new()), settings);
    let talk = rig::ready(&gate).await;

    let mut told = Told::default();
    told.revision(&gate, 0);
    kept.take();
    let (mut changed_at, mut number) = (Instant::now(), 0);
    let mut waiting = false;
    let (mut in_force, mut paused) = (Vec::new(), Vec::new());
    let mut took = Vec::with_capacity(usize::try_from(calls).expect("a number"));
    let begun = Instant::now();
    for id in 0..calls {
        let start = Instant::now();
        call(&gate, &talk, id).await;
        took.push(start.elapsed());
        told.check(&kept);
        if !waiting && changed_at.elapsed() > BETWEEN {
            number += 1;
            deploy(place.path(), &link, number);
            (changed_at, waiting) = (Instant::now(), true);
        }
        // As the gate does it: whatever has come is taken between two messages.
        let turn = tokio::time::timeout(Duration::ZERO, watch.next());
        if id % 16 == 0
            && let Ok(Some(turn)) = turn.await
        {
            let found = turn.found.expect("both directories are valid");
            let start = Instant::now();
            let recorded = gate.record_new("fixture", found.loaded.snapshot, Besides::default());
            gate.put_in_force(recorded.await.expect("an audit"));
            paused.push(start.elapsed());
            let _ = turn.done.send(ReloadOutcome::InForce);
            in_force.push(changed_at.elapsed());
            told.revision(&gate, number);
            (changed_at, waiting) = (Instant::now(), false);
        }
    }
    let all = begun.elapsed();
    took.sort_unstable();
    in_force.sort_unstable();
    paused.sort_unstable();
    println!(
        "{calls} calls in {all:.1?}, {} revisions of {POLICIES} policies",
        told.by_revision.len()
    );
    println!(
        "each decision in the words of its revision: {} permitted, {} denied",
        told.permitted, told.denied
    );
    println!(
        "a call: p50 {:.1?}, p99 {:.1?}, longest {:.1?}",
        at(&took, 50),
        at(&took, 99),
        at(&took, 100)
    );
    println!(
        "from the rename to being in force: p50 {:.0?}, longest {:.0?}",
        at(&in_force, 50),
        at(&in_force, 100)
    );
    println!(
        "what the change itself takes between two messages: longest {:.1?}",
        at(&paused, 100)
    );
    assert!(
        in_force.len() > 1 && told.permitted > 0 && told.denied > 0,
        "nothing changed"
    );
}

fn at(sorted: &[Duration], percent: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get(last * percent / 100)
        .copied()
        .unwrap_or_default()
}

/// What each revision says of the one call, and what was decided.
#[derive(Default)]
struct Told {
    by_revision: HashMap<String, usize>,
    permitted: u64,
    denied: u64,
}

impl Told {
    fn revision(&mut self, gate: &Gate, number: usize) {
        self.by_revision.insert(gate.revision().to_string(), number);
    }

    fn check(&mut self, kept: &MemoryRecords) {
        let mut decided = 0;
        for record in kept.take() {
            if record.kind != Kind::ToolCall {
                continue;
            }
            decided += 1;
            let revision = record.revision.expect("a revision");
            let number = self
                .by_revision
                .get(revision.as_str())
                .expect("a revision that was in force");
            let policies: Vec<&str> = record
                .policies
                .iter()
                .map(mcp_protector::audit::Text::as_str)
                .collect();
            // Of odd revisions, the last of all the policies forbids.
            if number.is_multiple_of(2) {
                assert_eq!(
                    (record.decision, policies),
                    (Some(Decision::Allow), vec!["all"])
                );
                self.permitted += 1;
            } else {
                assert_eq!(
                    (record.decision, policies),
                    (Some(Decision::Block), vec!["last"])
                );
                self.denied += 1;
            }
        }
        assert_eq!(decided, 1, "one decision for each call");
    }
}

/// A new directory, and the link to it exchanged.
fn deploy(place: &Path, link: &Path, number: usize) {
    let dir = place.join(number.to_string());
    fs::create_dir(&dir).expect("a directory");
    let guards = (2..POLICIES).map(|guard| {
        format!(
            "@id(\"guard-{guard}\") forbid(principal, action in Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"tool_{guard}\") when {{ context.raw_arguments.hasTag(\"/path\") && context.raw_arguments.getTag(\"/path\") has string && context.raw_arguments.getTag(\"/path\").string like \"/secret{guard}/*\" }};\n"
        )
    });
    let first = "@id(\"all\") permit(principal, action, resource);\n".to_owned();
    let last = format!(
        "@id(\"last\") forbid(principal, action in Mcp::Action::\"call_tool\", resource) when {{ {} }};\n",
        if number.is_multiple_of(2) {
            "context.raw_arguments.hasTag(\"/never\")"
        } else {
            "true"
        }
    );
    let text: String = std::iter::once(first).chain(guards).chain([last]).collect();
    fs::write(dir.join("all.cedar"), text).expect("a file");
    let new = place.join("new");
    std::os::unix::fs::symlink(&dir, &new).expect("a link");
    fs::rename(&new, link).expect("a rename");
}

async fn call(gate: &Gate, talk: &Talk<End, End>, id: u64) {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write_file","arguments":{{"path":"/srv/notes.txt"}}}}}}"#
    );
    gate.handle(talk, Side::Agent, Stream::MAIN, call.as_bytes())
        .await
        .expect("an agent");
    let sent = talk.upstream.take();
    if !sent.is_empty() {
        let minted = sent
            .split("\"id\":")
            .nth(1)
            .and_then(|rest| rest.split(',').next());
        let reply = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#,
            minted.expect("an id")
        );
        gate.handle(talk, Side::Upstream, Stream::MAIN, reply.as_bytes())
            .await
            .expect("an agent");
    }
    assert!(
        talk.agent.take().contains(&format!("\"id\":{id},")),
        "every call is answered"
    );
}
