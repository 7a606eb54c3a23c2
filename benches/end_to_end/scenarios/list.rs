//! A list of 1,000 tools, the first time in a session and again: of one server, with 100 policies, and of ten
//! servers at one endpoint.

use std::path::Path as FilePath;
use std::time::Duration;

use serde_json::json;

use super::over_http;
use crate::gates::{Policies, Setting, Transport};
use crate::http_agent::HttpAgent;
use crate::measure::{Failure, median, now};
use crate::messages::Era;
use crate::paths::{Path, WebServer};
use crate::report::{Goal, Report, Section};

const TOOLS: usize = 1000;
/// Of so many servers, each with its part of the tools.
const SERVERS: usize = 10;
/// Lists after the first one of a session.
const AGAIN: usize = 5;

pub(crate) fn run(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let web = WebServer::start(Era::Sessions.revision(), TOOLS)?;
    let many = Setting::PLAIN.judging(Policies::Cedar(100));
    let mut paths = over_http(scratch, &web, &[Setting::PLAIN, many])?;
    let part = WebServer::start(Era::Sessions.revision(), TOOLS / SERVERS)?;
    let all = Setting::PLAIN.judging(Policies::Cedar(1));
    for setting in [all.before(SERVERS), all.unifying(SERVERS)] {
        let gate = Path::gate(scratch, Transport::Http, &part.server(), setting)?;
        paths.push(gate);
    }
    let mut times = vec![(Vec::new(), Vec::new()); paths.len()];
    let until = now() + 2 * time;
    while now() < until {
        for (path, (first, again)) in paths.iter().zip(&mut times) {
            let mut agent = HttpAgent::connect(path.address()?, Era::Sessions)?;
            agent.shake_hands()?;
            let start = now();
            agent.list()?;
            first.push(start.elapsed());
            for _ in 0..AGAIN {
                let start = now();
                agent.list()?;
                again.push(start.elapsed());
            }
            agent.end()?;
        }
    }
    let mut section = Section::new(
        &format!("tools/list of {TOOLS} tools, HTTP -> HTTP, p50"),
        &[
            "path",
            "first ms",
            "+first ms",
            "unchanged ms",
            "+unchanged ms",
        ],
    );
    let mut direct = None;
    for (path, (first, again)) in paths.iter().zip(&times) {
        let (first, again) = (median(first) / 1e3, median(again) / 1e3);
        let (direct_first, direct_again) = *direct.get_or_insert((first, again));
        section.row(
            vec![
                path.name.clone(),
                format!("{first:.2}"),
                format!("{:.2}", first - direct_first),
                format!("{again:.2}"),
                format!("{:.2}", again - direct_again),
            ],
            json!({"path": path.name, "first_ms": first, "unchanged_ms": again}),
        );
    }
    if let [.., (_, part), (_, merged)] = &*times {
        // The servers answer side by side.
        let added = (median(merged) - median(part)) / 1e3;
        let what = format!("unchanged list of {SERVERS} servers over that of one, ms");
        report.goal("B1u", &what, added, Goal::Most(1.0));
    }
    report.add(section)
}
