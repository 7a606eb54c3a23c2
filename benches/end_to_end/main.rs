//! What the gate costs end to end, against no proxy, the least proxy (the floor) and proxies that others wrote.
//!
//! ```sh
//! cargo bench -p benches --bench end_to_end                  # the table of speed: under six minutes
//! cargo bench -p benches --bench end_to_end -- --quick       # calls alone: under a minute
//! cargo bench -p benches --bench end_to_end -- --full        # everything but the soak
//! cargo bench -p benches --bench end_to_end -- --soak 3600   # how memory grows in an hour
//! ```
//!
//! All paths run at the same time and are asked in turns, so that whatever else the machine does falls on all of them
//! alike. Absolute times belong to the machine; differences and ratios within one run travel.
//!
//! # Paths
//!
//! | path | what it is |
//! |---|---|
//! | direct | the server alone, spoken to by the agent's transport |
//! | floor | the least proxy: hyper, one thread, one task a connection, every message decoded, nothing judged |
//! | `nginx`, `haproxy` | HTTP to HTTP, where they are installed |
//! | `socat`, `cat` | stdio to stdio, where they are installed; `cat` is a pipe on both sides of the server |
//! | gate | an allowlist, and audit records in a file, unless its name says otherwise |
//!
//! Agents speak 2025-11-25, over HTTP with a session for each connection, unless a table says otherwise. The server
//! returns the text of the call. Agents, server and proxies are processes of the same machine.
//!
//! # What is measured
//!
//! Without a name, the preset decides; with names, these alone.
//!
//! | option | what it measures |
//! |---|---|
//! | `--calls` | calls over all pairings of stdio and HTTP |
//! | `--memory` | a gate at rest, and 600 idle sessions |
//! | `--head-of-line` | 64 B calls beside 3 MiB calls of the same session, and of another one |
//! | `--strict` | 64 callers in one session, each call waiting for its audit record on disk |
//! | `--agents` | 64 agents without authentication, 2026-07-28, on all processors and on one worker |
//! | `--list` | a list of 1,000 tools, first and unchanged |
//! | `--scale` | 1 to 2,000 idle sessions, 1 to 200 active ones, 1 to 1,000 policies and tools, 64 B to 1 MiB |
//! | `--servers` | calls while servers are added |
//! | `--soak SECONDS` | slopes of memory and of open descriptors |
//!
//! Calls can be chosen: `--pairing stdio-http` (agent, server; may be repeated), `--in-flight 1,16,256`,
//! `--payload 64,1024`, `--rate 2000` (an open loop beside the closed ones) and `--seconds 3` (for each path and load).
//! `--json FILE` has every figure, and `--svg FILE` draws the distributions of latency.
//!
//! On a virtual machine, to wake a halted processor takes longer than a call. `--awake` keeps processors from halting by
//! loops that yield to everything else (`chrt` must be installed); then latencies are those of the programs.
//!
//! In a closed loop each caller waits for its answer before it calls again. In an open loop calls are due at a fixed
//! rate, and a latency counts from when the call was due, so a path that stalls pays for all calls that it delays.
//!
//! # Columns
//!
//! `+p50` and `+p99` are differences to the direct path. `cpu us/call` is the processor time of the proxy's threads, as
//! the scheduler counts it; of nginx and `cat` also that of their workers, and never that of the server.

mod calls;
mod floor;
mod gates;
mod http_agent;
mod http_wire;
mod line_agent;
mod load;
mod measure;
mod messages;
mod options;
mod paths;
mod pause;
mod report;
mod scenarios;
mod server;
mod started;
mod svg;

use std::path::Path as FilePath;

use measure::Failure;
use options::{Idling, Options, Topic};
use report::Report;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    if let Some((first, rest)) = words.split_first() {
        match first.as_str() {
            "serve-http" => return server::serve_http(rest),
            "serve-lines" => return server::serve_lines(rest),
            "floor" => return floor::serve(rest),
            "spin" => loop {
                std::hint::spin_loop();
            },
            _ => {}
        }
    }
    let options = Options::read(&words)?;
    // On a disk, for strict audit.
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut report = Report::begin(options.idling)?;
    let _awake = match options.idling {
        Idling::Halted => Vec::new(),
        Idling::Awake => started::keep_awake()?,
    };
    let mut failed = Vec::new();
    for topic in &options.topics {
        if let Err(cause) = run(*topic, &options, scratch.path(), &mut report) {
            failed.push(format!("{topic:?}: {cause}"));
        }
    }
    report.add_goals()?;
    if let Some(file) = &options.json {
        report.write_json(file)?;
    }
    if let Some(file) = &options.svg {
        report.write_svg(file)?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(failed.join("\n").into())
}

fn run(
    topic: Topic,
    options: &Options,
    scratch: &FilePath,
    report: &mut Report,
) -> Result<(), Failure> {
    let time = options.time;
    match topic {
        Topic::Calls => calls::run(options, scratch, report),
        Topic::Memory => scenarios::memory::run(scratch, report),
        Topic::HeadOfLine => scenarios::head_of_line::run(scratch, time, report),
        Topic::Strict => scenarios::strict::run(scratch, time, report),
        Topic::Agents => scenarios::agents::run(scratch, time, report),
        Topic::List => scenarios::list::run(scratch, time, report),
        Topic::Scale => scenarios::scale::run(scratch, time, report),
        Topic::Servers => scenarios::servers::run(scratch, time, report),
        Topic::Soak => scenarios::soak::run(scratch, options.soak, report),
    }
}
