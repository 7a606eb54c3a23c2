//! Strict audit: 64 callers in one session, each of whose calls waits for its record on disk.

use std::fs::File;
use std::io::Write;
use std::path::Path as FilePath;
use std::time::Duration;

use serde_json::json;

use super::over_http;
use crate::gates::{Audit, Setting};
use crate::http_agent::HttpAgent;
use crate::load::at_once;
use crate::measure::{Failure, median, now, number, quantile};
use crate::messages::{Call, Era};
use crate::paths::WebServer;
use crate::report::{Goal, Report, Section, short, whole};

const CALLERS: u64 = 64;
const TURNS: u32 = 6;

/// The median time, in microseconds, until a record's bytes are on this disk.
fn sync_time(scratch: &FilePath) -> Result<f64, Failure> {
    let mut file = File::create(scratch.join("synced"))?;
    let mut times = Vec::new();
    for _ in 0..100 {
        file.write_all(&[b'x'; 600])?;
        let start = now();
        file.sync_data()?;
        times.push(start.elapsed());
    }
    Ok(median(&times))
}

pub(crate) fn run(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let synced = sync_time(scratch)?;
    let web = WebServer::plain()?;
    let gates = [Setting::PLAIN, Setting::PLAIN.audited(Audit::Strict)];
    let paths = over_http(scratch, &web, &gates)?;
    let call = Call::new(Era::Sessions, 64);
    let mut crowds = Vec::new();
    for path in &paths {
        let first = HttpAgent::open(path.address()?)?;
        let others = (1..CALLERS).map(|nth| first.beside(nth));
        let mut callers: Vec<HttpAgent> = others.collect::<Result<_, _>>()?;
        callers.push(first);
        at_once(&mut callers, &call, time / TURNS / 2)?;
        crowds.push((callers, Vec::new(), Duration::ZERO));
    }
    for _ in 0..TURNS {
        for (callers, times, elapsed) in &mut crowds {
            let start = now();
            times.extend(at_once(callers, &call, time / TURNS)?);
            *elapsed += start.elapsed();
        }
    }
    let mut section = Section::new(
        &format!(
            "strict audit: {CALLERS} callers in one session, HTTP -> HTTP; a sync of this disk takes {synced:.0} us"
        ),
        &["path", "p50 us", "p99 us", "calls/s"],
    );
    for (path, (_, times, elapsed)) in paths.iter().zip(&mut crowds) {
        times.sort_unstable();
        let (p50, p99) = (quantile(times, 0.5), quantile(times, 0.99));
        let rate = number(times.len()) / elapsed.as_secs_f64();
        section.row(
            vec![path.name.clone(), short(p50), short(p99), whole(rate)],
            json!({
                "path": path.name, "p50_us": p50, "p99_us": p99, "calls_per_second": rate,
                "sync_p50_us": synced,
            }),
        );
        if path.name.contains("strict") {
            let what = "strict audit, 64 callers in one session, calls/s";
            report.goal("B1l", what, rate, Goal::Least(8000.0));
        }
    }
    report.add(section)
}
