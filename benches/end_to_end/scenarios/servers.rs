//! Calls of one session while servers are added, against the same session while none is.

use std::fs;
use std::path::Path as FilePath;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::gates::{Setting, Transport};
use crate::http_agent::HttpAgent;
use crate::measure::{Failure, now, quantile};
use crate::messages::{Call, Era};
use crate::paths::{Path, WebServer};
use crate::report::{Report, Section, short};

const TURNS: usize = 6;
/// From one new file to the next: the gate waits until files are unchanged for a moment.
const PACE: Duration = Duration::from_secs(2);

pub(crate) fn run(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let web = WebServer::plain()?;
    let own = scratch.join("servers-added");
    fs::create_dir(&own)?;
    let gate = Path::gate(
        &own,
        Transport::Http,
        &web.server(),
        Setting::PLAIN.before(1),
    )?;
    let home = fs::read_dir(&own)?
        .next()
        .ok_or("the gate has no files")??;
    let directory = home.path().join("servers.d");
    let mut agent = HttpAgent::open(gate.address()?)?;
    let call = Call::new(Era::Sessions, 64);
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    let mut added = 0;
    for _ in 0..TURNS {
        quiet.extend(agent.calls_until(&call, now() + time)?);
        let until = now() + time;
        let (times, keys) = thread::scope(|scope| {
            let adding = scope.spawn(|| add(&directory, &web.address, added, until));
            let times = agent.calls_until(&call, until)?;
            let keys = adding.join().map_err(|_| "adding panicked")??;
            Ok::<_, Failure>((times, keys))
        })?;
        busy.extend(times);
        added = keys;
    }
    quiet.sort_unstable();
    busy.sort_unstable();
    thread::sleep(PACE);
    // Each is there.
    let all = gate.address()?.trim_end_matches("s0");
    for number in 0..added {
        HttpAgent::connect(&format!("{all}added{number}"), Era::Sessions)?.shake_hands()?;
    }
    let mut section = Section::new(
        "calls while servers are added: 64 B, one at a time, HTTP -> HTTP",
        &["servers", "calls", "p50 us", "p99 us", "p99.9 us"],
    );
    for (what, times) in [("as they are", &quiet), ("one more every 2 s", &busy)] {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| quantile(times, share));
        section.row(
            vec![
                what.to_owned(),
                times.len().to_string(),
                short(p50),
                short(p99),
                short(p999),
            ],
            json!({"servers": what, "p50_us": p50, "p99_us": p99, "p999_us": p999, "added": added}),
        );
    }
    report.add(section)
}

/// Writes one file after the other until then; yields the number of all.
fn add(
    directory: &FilePath,
    address: &str,
    mut added: usize,
    until: std::time::Instant,
) -> Result<usize, Failure> {
    while now() + PACE < until {
        let text = format!("[servers.added{added}]\nurl = \"http://{address}/mcp\"\n# end\n");
        let file = directory.join(format!("added{added}.toml"));
        let written = file.with_extension("new");
        fs::write(&written, text)?;
        fs::rename(&written, &file)?;
        added += 1;
        thread::sleep(PACE);
    }
    Ok(added)
}
