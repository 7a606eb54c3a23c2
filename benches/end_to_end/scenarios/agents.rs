//! Many agents without authentication, in the revision without sessions, that ask more than a gate can do.

use std::path::Path as FilePath;
use std::time::Duration;

use serde_json::json;

use super::over_http;
use crate::gates::Setting;
use crate::http_agent::HttpAgent;
use crate::load::at_once;
use crate::measure::{Failure, now, number, quantile};
use crate::messages::{Call, Era};
use crate::paths::WebServer;
use crate::report::{Report, Section, short, whole};

const AGENTS: usize = 64;
const TURNS: u32 = 6;

pub(crate) fn run(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let web = WebServer::start(Era::Stateless.revision(), 1)?;
    let gates = [Setting::PLAIN, Setting::PLAIN.on(1)];
    let paths = over_http(scratch, &web, &gates)?;
    let call = Call::new(Era::Stateless, 64);
    let mut crowds = Vec::new();
    for path in &paths {
        let agents = (0..AGENTS).map(|_| HttpAgent::connect(path.address()?, Era::Stateless));
        let mut agents: Vec<HttpAgent> = agents.collect::<Result<_, Failure>>()?;
        at_once(&mut agents, &call, time / TURNS / 2)?;
        crowds.push((agents, Vec::new(), Duration::ZERO, Duration::ZERO));
    }
    for _ in 0..TURNS {
        for (path, (agents, times, elapsed, processor)) in paths.iter().zip(&mut crowds) {
            let (before, start) = (path.proxy.spent(), now());
            times.extend(at_once(agents, &call, time / TURNS)?);
            *elapsed += start.elapsed();
            *processor += path.proxy.spent().since(&before);
        }
    }
    let mut section = Section::new(
        &format!("many agents: {AGENTS} without authentication, 2026-07-28, 64 B, HTTP -> HTTP"),
        &[
            "path",
            "p50 us",
            "p99 us",
            "calls/s",
            "cores",
            "calls/CPU second",
        ],
    );
    for (path, (_, times, elapsed, processor)) in paths.iter().zip(&mut crowds) {
        times.sort_unstable();
        let (p50, p99) = (quantile(times, 0.5), quantile(times, 0.99));
        let rate = number(times.len()) / elapsed.as_secs_f64();
        let cores = processor.as_secs_f64() / elapsed.as_secs_f64();
        let (shown_cores, shown_calls) = if processor.is_zero() {
            ("-".to_owned(), "-".to_owned())
        } else {
            (format!("{cores:.2}"), whole(rate / cores))
        };
        section.row(
            vec![
                path.name.clone(),
                short(p50),
                short(p99),
                whole(rate),
                shown_cores,
                shown_calls,
            ],
            json!({
                "path": path.name, "p50_us": p50, "p99_us": p99, "calls_per_second": rate,
                "cores": cores, "calls_per_cpu_second": rate / cores,
            }),
        );
    }
    report.add(section)
}
