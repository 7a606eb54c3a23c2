//! What the most costly messages cost the gate, whatever a message is about.
//!
//! ```sh
//! cargo bench -p benches --bench worst
//! ```
//!
//! Each kind of message, from an agent and from a server, holds as much as the limits let it of what is
//! costly: text that grows when it is folded, words of credentials, invisible characters, numbers,
//! names, levels, and places. All guards are on, 100 policies ask for arguments, and the tool has
//! labels and eight roots. Printed are the CPU milliseconds of the thread for one message, the most
//! costly first; 100 is the most that one may cost.
//!
//! ```sh
//! cargo bench -p benches --bench worst -- --search
//! ```
//!
//! looks for contents that cost more than those, in a result and in a call.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]
#![expect(clippy::print_stdout, reason = "figures are what this is for")]

#[expect(dead_code, reason = "shared with other benchmarks")]
mod rig;
mod search;

use std::fmt::Write as _;
use std::fs;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mcp_protector::audit::{self, Audit, Redactor};
use mcp_protector::clock::SystemClock;
use mcp_protector::gate::{
    Asking, Cleaning, Gate, Guards, Level, Rates, Secrets, Settings, Talk, Texts, Treatment,
};
use mcp_protector::guard::secrets::SecretRules;
use mcp_protector::guard::text::StrippedTags;
use mcp_protector::loading;
use mcp_protector::policy::PolicyStore;
use mcp_protector::wire::{Side, Stream};

use rig::End;

/// Bytes of what fills a message, a little below the limit of 4 MiB.
const ROOM: usize = 4_000_000;

/// Values of a message, a little below the limit of 50,000.
const VALUES: usize = 47_500;

/// Bytes of the messages in which contents are searched for, and their kinds.
const SEARCHED: usize = 1_000_000;
const SEARCHED_IN: [&str; 2] = ["log message", "call, argument"];

/// How often each message is measured: the least counts, since other programs can only add to it.
const TIMES: usize = 3;

/// To compile them costs more than any message.
static RULES: LazyLock<Arc<SecretRules>> = LazyLock::new(|| Arc::new(SecretRules::builtin()));

/// The most that one message may cost.
const MOST: Duration = Duration::from_millis(100);

/// CPU time of this thread, from Linux.
fn cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// Texts that are costly when they are repeated, by their names.
const TEXTS: [(&str, &str); 30] = [
    ("a", "a"),
    ("U+FDFA", "\u{fdfa}"),
    ("invisible", "\u{200b}"),
    ("accents", "e\u{301}\u{323}"),
    ("look-alikes", "\u{430}a"),
    ("escapes", "\\u0430"),
    ("controls", "\\u001b[3m"),
    ("tags", "\u{e0041}"),
    ("token=", "token=a1B2c3D4e5F6 "),
    ("password", "password: \\\"x"),
    ("session", "sessiontoken=IQoJ"),
    ("AKIA", "AKIAIOSFODNN7EXAMPLE/"),
    ("key blocks", "-----BEGIN PRIVATE KEY-----"),
    ("base64", "YUhSMGNITTZMeTlsZUdGdGNHeGxMbU52YlE9PQ=="),
    (
        "base64 with ends",
        "YUhSMGNITTZMeTlsZUdGdGNHeGxMbU52YlE9PQ ",
    ),
    ("four ways", "VVVV"),
    ("hex", "746f6b656e3d6131423263334434653546"),
    ("percent", "%25%32%35"),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9."),
    ("URLs", "https://user:pass@a/ "),
    ("addresses", "[::ffff:10.0.0.1] "),
    ("names", "a/"),
    ("up", "../"),
    ("braces", "{a{"),
    ("markup", "<a href=\\\"x\\\">"),
    ("links", "![a](http://b/c)"),
    ("emails", "a.b@c.example "),
    ("cards", "4111 1111 1111 1111 "),
    ("quotes", "\\\"\\\\\\\""),
    ("numbers in text", "1.234e5 "),
];

/// What may stand in place of a value of a message, by its name.
fn fillers() -> Vec<(&'static str, String)> {
    let mut fillers: Vec<(&str, String)> = Vec::new();
    for (name, text) in TEXTS {
        fillers.push((name, format!("\"{}\"", text.repeat(ROOM / text.len()))));
    }
    let list = |item: &dyn Fn(usize) -> String, most: usize| {
        let mut list = String::from("[");
        for number in 0..most {
            let item = item(number);
            if list.len() + item.len() + 2 > ROOM {
                break;
            }
            let comma = if number == 0 { "" } else { "," };
            write!(list, "{comma}{item}").expect("text");
        }
        list.push(']');
        list
    };
    let of_text = |text: &'static str, times: usize| {
        move |number: usize| format!("\"/srv/data/{number}{}\"", text.repeat(times))
    };
    fillers.push(("numbers", list(&|number| format!("{number}e99"), VALUES)));
    fillers.push(("lists", list(&|_| "[]".to_owned(), VALUES)));
    fillers.push(("paths of 240", list(&of_text("/a", 115), VALUES)));
    fillers.push(("paths of 4,096", list(&of_text("\u{fdfa}", 1_360), VALUES)));
    fillers.push(("texts", list(&of_text("", 0), VALUES)));
    fillers.push(("members", {
        let all = list(&|number| format!("\"name{number}\":{number}"), VALUES);
        format!("{{{}}}", all.trim_matches(['[', ']']))
    }));
    fillers.push(("like members", {
        let all = list(
            &|number| format!("\"Nam\u{435}{number}\":\"\u{fdfa}\""),
            VALUES,
        );
        format!("{{{}}}", all.trim_matches(['[', ']']))
    }));
    fillers.push(("deep members", {
        let one = format!("{}1{}", "{\"a\":".repeat(50), "}".repeat(50));
        list(&|_| one.clone(), VALUES / 51)
    }));
    fillers.push(("tools", list(&|number| format!(r#"{{"name":"tool_{number}","description":"token={number}","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string"}}}}}}}}"#), VALUES / 8)));
    fillers.push((
        "blocks",
        list(
            &|number| format!(r#"{{"type":"text","text":"token={number}"}}"#),
            VALUES / 3,
        ),
    ));
    fillers.push((
        "resources",
        list(
            &|number| format!(r#"{{"uri":"doc://a/{number}","name":"a{number}"}}"#),
            VALUES / 3,
        ),
    ));
    fillers
}

/// Kinds of messages. `@` is what fills one.
const KINDS: [(Side, &str, &str); 46] = [
    (
        Side::Agent,
        "call, argument",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/srv/data/a","content":@}}}"#,
    ),
    (
        Side::Agent,
        "call, path",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{"path":@}}}"#,
    ),
    (
        Side::Agent,
        "call, URL",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/srv/data/a","url":@}}}"#,
    ),
    (
        Side::Agent,
        "call, arguments",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":@}}"#,
    ),
    (
        Side::Agent,
        "call, denied",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"denied","arguments":{"path":@}}}"#,
    ),
    (
        Side::Agent,
        "call, name",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":@,"arguments":{}}}"#,
    ),
    (
        Side::Agent,
        "call, _meta",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/srv/data/a"},"_meta":{"a":@}}}"#,
    ),
    (
        Side::Agent,
        "call, traceparent",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/srv/data/a"},"_meta":{"traceparent":@}}}"#,
    ),
    (
        Side::Agent,
        "id",
        r#"{"jsonrpc":"2.0","id":@,"method":"ping"}"#,
    ),
    (
        Side::Agent,
        "method",
        r#"{"jsonrpc":"2.0","id":9,"method":@}"#,
    ),
    (
        Side::Agent,
        "unknown member",
        r#"{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":@}}"#,
    ),
    (
        Side::Agent,
        "tools/list",
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"cursor":@}}"#,
    ),
    (
        Side::Agent,
        "initialize",
        r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":@,"clientInfo":{"name":"a","version":"1"}}}"#,
    ),
    (
        Side::Agent,
        "clientInfo",
        r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":@,"version":"1"}}}"#,
    ),
    (
        Side::Agent,
        "resources/read",
        r#"{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":@}}"#,
    ),
    (
        Side::Agent,
        "resources/subscribe",
        r#"{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":@}}"#,
    ),
    (
        Side::Agent,
        "prompts/get",
        r#"{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"a","arguments":{"a":@}}}"#,
    ),
    (
        Side::Agent,
        "prompts/get, arguments",
        r#"{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"a","arguments":@}}"#,
    ),
    (
        Side::Agent,
        "completion/complete",
        r#"{"jsonrpc":"2.0","id":9,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":@}}}"#,
    ),
    (
        Side::Agent,
        "completion of a template",
        r#"{"jsonrpc":"2.0","id":9,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":@},"argument":{"name":"b","value":"c"}}}"#,
    ),
    (
        Side::Agent,
        "logging/setLevel",
        r#"{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":@}}"#,
    ),
    (
        Side::Agent,
        "subscriptions/listen",
        r#"{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":@}}}"#,
    ),
    (
        Side::Agent,
        "tasks/get",
        r#"{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":@}}"#,
    ),
    (
        Side::Agent,
        "cancelled",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9,"reason":@}}"#,
    ),
    (
        Side::Agent,
        "progress",
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":@,"progress":1}}"#,
    ),
    (
        Side::Agent,
        "unknown notification",
        r#"{"jsonrpc":"2.0","method":"notifications/a","params":@}"#,
    ),
    (
        Side::Agent,
        "answer to sampling",
        r#"{"jsonrpc":"2.0","id":#,"result":{"role":"assistant","model":"m","content":{"type":"text","text":@}}}"#,
    ),
    (
        Side::Agent,
        "answer to a form",
        r#"{"jsonrpc":"2.0","id":#,"result":{"action":"accept","content":{"a":@}}}"#,
    ),
    (
        Side::Agent,
        "answer to roots/list",
        r#"{"jsonrpc":"2.0","id":#,"result":{"roots":@}}"#,
    ),
    (
        Side::Agent,
        "error",
        r#"{"jsonrpc":"2.0","id":#,"error":{"code":-1,"message":@}}"#,
    ),
    (
        Side::Upstream,
        "result, text",
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":@}]}}"#,
    ),
    (
        Side::Upstream,
        "result, content",
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":@}}"#,
    ),
    (
        Side::Upstream,
        "result, structured",
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[],"structuredContent":{"a":@}}}"#,
    ),
    (
        Side::Upstream,
        "result, image",
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"image","mimeType":"image/png","data":@}]}}"#,
    ),
    (
        Side::Upstream,
        "result, error",
        r#"{"jsonrpc":"2.0","id":#,"error":{"code":-1,"message":@,"data":1}}"#,
    ),
    (
        Side::Upstream,
        "result, _meta",
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[],"_meta":{"a":@}}}"#,
    ),
    (
        Side::Upstream,
        "list",
        r#"{"jsonrpc":"2.0","id":#,"result":{"tools":@}}"#,
    ),
    (
        Side::Upstream,
        "list, description",
        r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"a","description":@,"inputSchema":{"type":"object"}}]}}"#,
    ),
    (
        Side::Upstream,
        "list, schema",
        r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"write_file","inputSchema":{"type":"object","properties":@}}]}}"#,
    ),
    (
        Side::Upstream,
        "list, enum",
        r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"enum":@}}}}]}}"#,
    ),
    (
        Side::Upstream,
        "sampling",
        r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":@}}],"maxTokens":1}}"#,
    ),
    (
        Side::Upstream,
        "a form",
        r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":@,"requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}"#,
    ),
    (
        Side::Upstream,
        "a form, fields",
        r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"a","requestedSchema":{"type":"object","properties":@}}}"#,
    ),
    (
        Side::Upstream,
        "log message",
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":@}}"#,
    ),
    (
        Side::Upstream,
        "resource updated",
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":@}}"#,
    ),
    (
        Side::Upstream,
        "progress of a call",
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":@}}"#,
    ),
];

/// The request that a reply of this kind answers, from the other side.
fn asked(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "answer to sampling" | "error" => {
            r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#
        }
        "answer to a form" => {
            r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"a","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}"#
        }
        "answer to roots/list" => r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#,
        "list" | "list, description" | "list, schema" | "list, enum" => {
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#
        }
        _ if kind.starts_with("result") => {
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/srv/data/a"}}}"#
        }
        _ => return None,
    })
}

fn policies() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let mut rules = "@id(\"all\") permit(principal, action, resource) unless { resource == Mcp::Tool::\"denied\" };\n".to_owned();
    for number in 0..100 {
        writeln!(rules, "@id(\"no-{number}\") forbid(principal, action in Mcp::Action::\"call_tool\", resource) when {{ context.raw_arguments.hasTag(\"/path\") && context.raw_arguments.getTag(\"/path\") has string && context.raw_arguments.getTag(\"/path\").string like \"/secret{number}/*\" && context.targets.outside }};").expect("text");
    }
    fs::write(dir.path().join("a.cedar"), rules).expect("a file");
    let tools = "[tools.write_file]\npermission = \"write\"\npaths = [\"/path\", \"/path/*\"]\nurls = [\"/url\"]\n[tools.denied]\npermission = \"read\"\npaths = [\"/path\"]\n";
    fs::write(dir.path().join("tools.toml"), tools).expect("a file");
    let mut roots = String::new();
    for number in 0..7 {
        writeln!(
            roots,
            "[roots.r{number}]\npath = \"/srv/data/r{number}/{{a,b}}\"\n"
        )
        .expect("text");
    }
    roots = roots.replace("/{a,b}", "");
    roots.push_str(
        "[roots.data]\npath = \"/srv/data\"\nwritable = true\n[roots.doc]\nuri = \"doc://a\"\n",
    );
    fs::write(dir.path().join("roots.toml"), roots).expect("a file");
    dir
}

fn settings() -> Settings {
    let mut settings = rig::settings(Rates::default());
    settings.terms.guards = Guards {
        arguments: Level::Strict,
        results: Level::Strict,
        secrets: Some(Secrets {
            sent: Level::Warn,
            received: Treatment::Redact,
            rules: Arc::clone(&RULES),
        }),
        texts: Texts {
            definitions: Cleaning::Clean,
            content: Cleaning::Clean,
            definition_tags: StrippedTags::All,
            longest: 4096,
            ..Texts::default()
        },
        asking: Asking {
            secrets: Level::Strict,
            ..Asking::default()
        },
        uris: Level::Strict,
        ..Guards::default()
    };
    settings
}

const TOOLS: &str = r#"{"name":"write_file","inputSchema":{"type":"object","properties":{"path":{},"content":{},"url":{}}},"outputSchema":{"type":"object"}},{"name":"denied","inputSchema":{"type":"object"}}"#;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let dir = policies();
    let load = || {
        let loaded = loading::load(&loading::Settings {
            dir: Some(dir.path().to_owned()),
            ..loading::Settings::default()
        });
        Arc::new(PolicyStore::new(loaded.expect("policies").snapshot))
    };
    let store = load();
    if std::env::args().any(|it| it == "--search") {
        let mut cost = |text: &str| {
            let filler = format!("\"{}\"", text.repeat(SEARCHED / text.len()));
            let kinds = KINDS
                .iter()
                .filter(|(_, kind, _)| SEARCHED_IN.contains(kind));
            let costs = kinds.map(|(from, kind, message)| {
                runtime.block_on(cost(&store, *from, kind, message, &filler))
            });
            costs.sum()
        };
        let pieces = TEXTS.map(|(_, text)| text);
        for (cost, text) in search::search(&pieces, &mut cost) {
            println!("{:8.1} ms for 1 MB: {text:?}", cost.as_secs_f64() * 1e3);
        }
        return;
    }
    let fillers = fillers();
    // As `cargo bench -p benches --bench worst -- "log message: hex"`.
    let wanted = std::env::args().skip(1).find(|it| !it.starts_with('-'));
    let wanted = wanted.unwrap_or_default();
    let mut costs = Vec::new();
    for (from, kind, message) in KINDS {
        for (filler, text) in &fillers {
            if !format!("{kind}: {filler}").contains(&wanted) {
                continue;
            }
            let each = || runtime.block_on(cost(&store, from, kind, message, text));
            let least = (0..TIMES).map(|_| each()).min();
            costs.push((least.unwrap_or_default(), kind, *filler));
        }
    }
    costs.sort_unstable_by(|one, other| other.cmp(one));
    let above = costs.iter().filter(|(cost, ..)| *cost > MOST).count();
    println!(
        "{} messages, {above} above {} ms of CPU",
        costs.len(),
        MOST.as_millis()
    );
    for (cost, kind, filler) in costs.iter().take(60) {
        println!("{:8.1} ms  {kind}: {filler}", cost.as_secs_f64() * 1e3);
    }
}

/// The CPU time of one message in a session of its own.
async fn cost(
    store: &Arc<PolicyStore>,
    from: Side,
    kind: &str,
    message: &str,
    filler: &str,
) -> Duration {
    let log = audit::Settings {
        file: None,
        stream: audit::Stream::None,
        durability: audit::Durability::Async,
        on_fault: audit::OnFault::Deny,
        checkpoints: None,
        rotation: audit::Rotation::default(),
    };
    let clock = Arc::new(SystemClock::new());
    let audit = Audit::open(&log, Vec::new(), clock.clone(), Redactor::default()).expect("a log");
    let gate = Gate::new(Arc::clone(store), audit, clock, settings());
    let talk: Talk<End, End> = rig::ready_with(&gate, TOOLS).await;
    let mut id = String::from("7");
    if let Some(asked) = asked(kind) {
        let other = if from == Side::Agent {
            Side::Upstream
        } else {
            Side::Agent
        };
        gate.handle(&talk, other, Stream::MAIN, asked.as_bytes())
            .await
            .expect("an agent");
        let sent = if from == Side::Agent {
            talk.agent.take()
        } else {
            talk.upstream.take()
        };
        let number = sent
            .split("\"id\":")
            .nth(1)
            .and_then(|rest| rest.split([',', '}']).next());
        assert!(number.is_some(), "{kind}: not asked: {sent}");
        number.unwrap_or_default().clone_into(&mut id);
    }
    let message = message.replacen('#', &id, 1).replacen('@', filler, 1);
    let before = cpu();
    gate.handle(&talk, from, Stream::MAIN, message.as_bytes())
        .await
        .expect("an agent");
    cpu().saturating_sub(before)
}
