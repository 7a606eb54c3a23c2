//! What the guards of contents cost on the whole path, each beside the same exchange without it.
//!
//! ```sh
//! cargo bench -p benches --bench guards
//! ```
//!
//! A call and its reply, a list, or a question of the server's and its answer, through
//! `Gate::handle` as in the benchmark `decide`: both judged, two records queued, nothing written.
//! `off` is the configuration without the guard; what stands beside it is all that the guard adds.
//! A sandbox costs nothing here: the kernel holds it, and the gate does no more than to start it.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

#[expect(dead_code, reason = "shared with other benchmarks")]
mod rig;

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mcp_protector::audit::{self, Audit, Redactor};
use mcp_protector::clock::SystemClock;
use mcp_protector::gate::{
    Asking, Disk, Excerpts, Gate, Level, Rates, Settings, Symlinks, Talk, ToolNames,
};
use mcp_protector::loading::{self, Pinning};
use mcp_protector::policy::PolicyStore;
use mcp_protector::wire::{Side, Stream};
use tempfile::TempDir;

use rig::End;

const ALL: &str = "@id(\"all\") permit(principal, action, resource);\n";

const CANONICAL: &str =
    "@id(\"all\") @obligation_canonical(\"paths\") permit(principal, action, resource);\n";

/// A gate, and what passes it.
struct Case {
    /// What is set up stays until the end.
    dirs: Vec<TempDir>,
    gate: Gate,
    talk: Talk<End, End>,
    exchange: Exchange,
}

/// A request, and the members of the answer. `from` is who asks.
struct Exchange {
    from: Side,
    request: String,
    answer: String,
}

fn call(arguments: &str, answer: &str) -> Exchange {
    named_call("write_file", arguments, answer)
}

fn named_call(tool: &str, arguments: &str, answer: &str) -> Exchange {
    Exchange {
        from: Side::Agent,
        request: format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        ),
        answer: answer.to_owned(),
    }
}

fn text_of(bytes: usize) -> String {
    let line = "a line of a log that nobody reads to its end\\n";
    let text = line.repeat(bytes / line.len() + 1);
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// A directory of policies: `rules`, and the files beside them.
fn policies(rules: &str, files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("bench.cedar"), rules).expect("a file");
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    dir
}

fn case(
    runtime: &tokio::runtime::Runtime,
    dir: &Path,
    lock: Pinning,
    change: impl FnOnce(&mut Settings),
    tools: &str,
    exchange: Exchange,
) -> Case {
    let loaded = loading::load(&loading::Settings {
        dir: Some(dir.to_owned()),
        lock,
        ..loading::Settings::default()
    });
    let store = Arc::new(PolicyStore::new(loaded.expect("policies").snapshot));
    let log = audit::Settings {
        file: None,
        stream: audit::Stream::None,
        durability: audit::Durability::Async,
        on_fault: audit::OnFault::Deny,
        checkpoints: None,
        rotation: audit::Rotation::default(),
    };
    let clock = Arc::new(SystemClock::new());
    let audit = Audit::open(&log, Vec::new(), clock, Redactor::default()).expect("a log");
    let mut settings = rig::settings(Rates::default());
    change(&mut settings);
    let gate = Gate::new(store, audit, Arc::new(SystemClock::new()), settings);
    let talk = runtime.block_on(rig::ready_with(&gate, tools));
    Case {
        dirs: Vec::new(),
        gate,
        talk,
        exchange,
    }
}

impl Case {
    fn in_dir(mut self, dir: TempDir) -> Self {
        self.dirs.push(dir);
        self
    }

    /// One exchange; yields what came of it.
    async fn pass(&self) -> String {
        let Exchange {
            from,
            request,
            answer,
        } = &self.exchange;
        let (asked, asking, answering) = match from {
            Side::Agent => (&self.talk.upstream, &self.talk.agent, Side::Upstream),
            Side::Upstream => (&self.talk.agent, &self.talk.upstream, Side::Agent),
        };
        self.hear(*from, request).await;
        let sent = asked.take();
        let id = sent.split("\"id\":").nth(1);
        let id = id.and_then(|rest| rest.split([',', '}']).next());
        let id = id.expect("a request arrives");
        let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#);
        self.hear(answering, &reply).await;
        let came = asking.take();
        assert!(came.contains("\"result\""), "it is answered: {came}");
        came
    }

    async fn hear(&self, from: Side, frame: &str) {
        let heard = self
            .gate
            .handle(&self.talk, from, Stream::MAIN, frame.as_bytes());
        heard.await.expect("an agent");
    }
}

const OK: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

const ROOTS: &str = "[roots.data]\npath = \"/srv/data\"\nwritable = true\n";

const VIRTUAL: &str =
    "[roots.data]\npath = \"/srv/data\"\nvirtual = \"/workspace\"\nwritable = true\n";

const TOOLS: &str =
    "[tools.write_file]\npermission = \"write\"\npaths = [\"/path\"]\nuntrusted = false\n";

const WRITES: &str = r#"{"name":"write_file","inputSchema":{}}"#;

fn paths(runtime: &tokio::runtime::Runtime) -> Vec<(&'static str, Case)> {
    let arguments = r#"{"path":"/srv/data/notes/../plan.txt","content":"x"}"#;
    let turned = r#"{"path":"/workspace/plan.txt","content":"x"}"#;
    let with = |rules, roots, arguments| {
        let dir = policies(rules, &[("roots.toml", roots), ("tools.toml", TOOLS)]);
        let exchange = call(arguments, OK);
        case(
            runtime,
            dir.path(),
            Pinning::Locked,
            |_| {},
            WRITES,
            exchange,
        )
        .in_dir(dir)
    };
    let bare = policies(ALL, &[]);
    let off = case(
        runtime,
        bare.path(),
        Pinning::Locked,
        |_| {},
        WRITES,
        call(arguments, OK),
    );
    vec![
        ("off", off.in_dir(bare)),
        ("labelled", with(ALL, ROOTS, arguments)),
        ("canonical", with(CANONICAL, ROOTS, arguments)),
        ("virtual root", with(CANONICAL, VIRTUAL, turned)),
    ]
}

/// The kernel's directories are asked, on a thread that may wait.
fn links(runtime: &tokio::runtime::Runtime) -> Vec<(&'static str, Case)> {
    let on = |links| {
        let dir = policies(ALL, &[]);
        let data = tempfile::tempdir().expect("a directory");
        let place = fs::canonicalize(data.path()).expect("a place");
        fs::write(place.join("plan.txt"), "x").expect("a file");
        let roots = format!(
            "[roots.data]\npath = \"{}\"\nwritable = true\n",
            place.display()
        );
        fs::write(dir.path().join("roots.toml"), roots).expect("a file");
        fs::write(dir.path().join("tools.toml"), TOOLS).expect("a file");
        let arguments = format!(
            r#"{{"path":"{}","content":"x"}}"#,
            place.join("plan.txt").display()
        );
        let change = |settings: &mut Settings| settings.terms.guards.symlinks = links;
        let exchange = call(&arguments, OK);
        let known = case(
            runtime,
            dir.path(),
            Pinning::Locked,
            change,
            WRITES,
            exchange,
        );
        known.in_dir(dir).in_dir(data)
    };
    vec![
        ("off", on(Symlinks::AsWritten)),
        ("on the disk", on(Symlinks::Resolve(Disk::Local))),
    ]
}

fn locks(runtime: &tokio::runtime::Runtime) -> Vec<(&'static str, Case)> {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/locked-tools");
    let tools = locked_definitions(&pack.join("tools.lock"));
    let exchange = || named_call("find_tickets", r#"{"words":"late","limit":10}"#, OK);
    let bare = policies(ALL, &[]);
    let off = case(
        runtime,
        bare.path(),
        Pinning::Off,
        |_| {},
        &tools,
        exchange(),
    );
    let on = |mode| case(runtime, &pack, mode, |_| {}, &tools, exchange());
    let first = policies(ALL, &[]);
    let seen = case(
        runtime,
        first.path(),
        Pinning::TrustOnFirstUse,
        |_| {},
        &tools,
        exchange(),
    );
    vec![
        ("off", off.in_dir(bare)),
        ("first use", seen.in_dir(first)),
        ("tools.lock", on(Pinning::Enforce)),
    ]
}

/// The definitions in a lock, as a server lists them.
fn locked_definitions(lock: &Path) -> String {
    let text = fs::read_to_string(lock).expect("a lock");
    let lock: serde_json::Value = text.parse().expect("JSON");
    let tools = lock.get("tools").and_then(|tools| tools.as_array());
    let defined = tools.expect("tools").iter().map(|tool| {
        let mut definition = tool.get("definition").expect("a definition").clone();
        let name = tool.get("name").expect("a name").clone();
        let members = definition.as_object_mut().expect("an object");
        members.insert("name".to_owned(), name);
        definition.to_string()
    });
    defined.collect::<Vec<_>>().join(",")
}

/// A thousand tools, of which every tenth is named beyond ASCII.
fn names(runtime: &tokio::runtime::Runtime) -> Vec<(&'static str, Case)> {
    let list = |foreign: &str| {
        let mut tools = String::new();
        for number in 0..1_000 {
            let comma = if number == 0 { "" } else { "," };
            let letter = if number % 10 == 0 { foreign } else { "a" };
            let _ = write!(
                tools,
                r#"{comma}{{"name":"re{letter}d_{number}","inputSchema":{{"type":"object"}}}}"#
            );
        }
        tools
    };
    let with = |names, foreign| {
        let dir = policies(ALL, &[]);
        let exchange = Exchange {
            from: Side::Agent,
            request: r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
            answer: format!(r#"{{"tools":[{}]}}"#, list(foreign)),
        };
        let change = |settings: &mut Settings| settings.terms.guards.tool_names = names;
        let mode = Pinning::Locked;
        case(runtime, dir.path(), mode, change, WRITES, exchange).in_dir(dir)
    };
    vec![
        ("any name, ASCII", with(ToolNames::Any, "a")),
        ("ASCII names, ASCII", with(ToolNames::Ascii, "a")),
        ("any name, Cyrillic", with(ToolNames::Any, "\u{430}")),
        ("ASCII names, Cyrillic", with(ToolNames::Ascii, "\u{430}")),
    ]
}

fn excerpts(runtime: &tokio::runtime::Runtime) -> Vec<(&'static str, Case)> {
    let with = |over: Option<usize>, bytes| {
        let dir = policies(ALL, &[]);
        let change = |settings: &mut Settings| {
            settings.terms.guards.excerpts = over.map(|over| Excerpts {
                save: None,
                over,
                keep: 16 << 20,
                tools: [].into(),
                resources: [].into(),
                prompts: [].into(),
            });
        };
        let exchange = call(r#"{"path":"a"}"#, &text_of(bytes));
        case(
            runtime,
            dir.path(),
            Pinning::Locked,
            change,
            WRITES,
            exchange,
        )
        .in_dir(dir)
    };
    vec![
        ("off, 1 KiB", with(None, 1 << 10)),
        ("short, 1 KiB", with(Some(32 << 10), 1 << 10)),
        ("off, 256 KiB", with(None, 256 << 10)),
        ("shortened, 256 KiB", with(Some(32 << 10), 256 << 10)),
    ]
}

/// What a server asks of the agent's user.
fn questions(runtime: &tokio::runtime::Runtime) -> Vec<(&'static str, Case)> {
    let form = r#"{"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"How shall it be sent?","requestedSchema":{"type":"object","properties":{"street":{"type":"string","title":"Street"},"number":{"type":"integer"},"express":{"type":"boolean"},"country":{"type":"string","enum":["de","fr","us"]},"remark":{"type":"string","description":"What the driver should know"}},"required":["street"]}}}"#;
    let with = |level| {
        let dir = policies(ALL, &[]);
        let change = |settings: &mut Settings| {
            settings.terms.guards.asking = Asking {
                secrets: level,
                ..Asking::default()
            };
        };
        let exchange = Exchange {
            from: Side::Upstream,
            request: form.to_owned(),
            answer: r#"{"action":"accept","content":{"street":"a"}}"#.to_owned(),
        };
        case(
            runtime,
            dir.path(),
            Pinning::Locked,
            change,
            WRITES,
            exchange,
        )
        .in_dir(dir)
    };
    vec![("off", with(Level::Off)), ("strict", with(Level::Strict))]
}

type Cases = fn(&tokio::runtime::Runtime) -> Vec<(&'static str, Case)>;

fn guards(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let groups: [(&str, Cases); 6] = [
        ("paths", paths),
        ("links", links),
        ("locks", locks),
        ("names", names),
        ("excerpts", excerpts),
        ("questions", questions),
    ];
    for (name, cases) in groups {
        let mut group = criterion.benchmark_group(name);
        for (name, case) in cases(&runtime) {
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                bencher.iter(|| black_box(runtime.block_on(case.pass())));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, guards);
criterion_main!(benches);
