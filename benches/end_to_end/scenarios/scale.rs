//! What a call costs by the number of sessions, policies and tools, and by the size of its text.

use std::path::Path as FilePath;
use std::time::Duration;

use serde_json::json;

use super::over_http;
use crate::gates::{Policies, Setting, Transport};
use crate::http_agent::HttpAgent;
use crate::load::{Load, measure};
use crate::measure::{Failure, quantile};
use crate::messages::Era;
use crate::paths::{Path, WebServer};
use crate::report::{Report, Section, of_load, short};

pub(crate) fn run(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    idle_sessions(scratch, time, report)?;
    let web = WebServer::plain()?;
    let mut paths = over_http(scratch, &web, &[Setting::PLAIN])?;
    for active in [1, 8, 32, 100, 200] {
        let load = Load::Closed(active);
        let outcomes = measure(&mut paths, load, 64, time)?;
        report.add(of_load(
            "scale, active sessions, HTTP -> HTTP",
            load,
            64,
            &outcomes,
        ))?;
    }
    for payload in [64, 1024, 16_384, 65_536, 262_144, 1_048_576] {
        let outcomes = measure(&mut paths, Load::Closed(1), payload, time)?;
        report.add(of_load(
            "scale, payload, HTTP -> HTTP",
            Load::Closed(1),
            payload,
            &outcomes,
        ))?;
    }
    let gates = [1, 10, 100, 1000].map(|count| Setting::PLAIN.judging(Policies::Cedar(count)));
    let mut paths = over_http(scratch, &web, &gates)?;
    let outcomes = measure(&mut paths, Load::Closed(1), 64, time)?;
    report.add(of_load(
        "scale, policies, HTTP -> HTTP",
        Load::Closed(1),
        64,
        &outcomes,
    ))?;
    tools(scratch, time, report)
}

/// One session calls, and others do nothing.
fn idle_sessions(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let web = WebServer::plain()?;
    let mut paths = over_http(scratch, &web, &[Setting::PLAIN])?;
    let gate = paths.last().ok_or("no gate")?.address()?.to_owned();
    let mut section = Section::new(
        "scale, idle sessions: 64 B, one at a time, HTTP -> HTTP",
        &[
            "sessions",
            "p50 us",
            "+p50 us",
            "p99 us",
            "cpu us/call",
            "RSS KiB",
        ],
    );
    let mut open = 0;
    for sessions in [1, 10, 100, 500, 1000, 2000] {
        while open + 1 < sessions {
            drop(HttpAgent::open(&gate)?);
            open += 1;
        }
        let outcomes = measure(&mut paths, Load::Closed(1), 64, time)?;
        let (Some(direct), Some(gate)) = (outcomes.first(), outcomes.last()) else {
            continue;
        };
        let (p50, p99) = (quantile(&gate.times, 0.5), quantile(&gate.times, 0.99));
        let added = p50 - quantile(&direct.times, 0.5);
        let processor = gate.processor_per_call().unwrap_or(0.0);
        let resident = gate.resident.unwrap_or(0);
        section.row(
            vec![
                sessions.to_string(),
                short(p50),
                short(added),
                short(p99),
                short(processor),
                resident.to_string(),
            ],
            json!({
                "sessions": sessions, "p50_us": p50, "added_p50_us": added, "p99_us": p99,
                "processor_us_per_call": processor, "resident_kib": resident,
            }),
        );
    }
    report.add(section)
}

/// Servers with more and more tools.
fn tools(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let plain = WebServer::plain()?;
    let mut paths = over_http(scratch, &plain, &[])?;
    let mut servers = Vec::new();
    for count in [1, 10, 100, 1000] {
        let web = WebServer::start(Era::Sessions.revision(), count)?;
        let setting = Setting::PLAIN.judging(Policies::Cedar(10));
        let mut gate = Path::gate(scratch, Transport::Http, &web.server(), setting)?;
        gate.name = format!("gate, tools: {count}");
        paths.push(gate);
        servers.push(web);
    }
    let outcomes = measure(&mut paths, Load::Closed(1), 64, time)?;
    report.add(of_load(
        "scale, tools, HTTP -> HTTP",
        Load::Closed(1),
        64,
        &outcomes,
    ))
}
