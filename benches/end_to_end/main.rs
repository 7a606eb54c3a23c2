//! first cut
mod floor;
mod gates;
mod http_agent;
mod http_wire;
mod line_agent;
mod load;
mod measure;
mod messages;
mod paths;
mod pause;
mod report;
mod server;
mod started;
mod svg;

use std::time::Duration;
use measure::Failure;
use gates::{Setting, Transport, Policies};
use load::Load;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let Some((first, rest)) = words.split_first() {
        match first.as_str() {
            "serve-http" => return server::serve_http(rest),
            "serve-lines" => return server::serve_lines(rest),
            "floor" => return floor::serve(rest),
            _ => {}
        }
    }
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let web = paths::WebServer::plain()?;
    let mut report = report::Report::default();
    for (a, s) in [(Transport::Http, Transport::Http), (Transport::Stdio, Transport::Stdio), (Transport::Http, Transport::Stdio), (Transport::Stdio, Transport::Http)] {
        let gates = [Setting::PLAIN, Setting::PLAIN.judging(Policies::Cedar(100))];
        let mut all = paths::all(scratch.path(), a, s, &web, &gates)?;
        for load in [Load::Closed(1), Load::Closed(16), Load::Open(2000.0)] {
            let outcomes = load::measure(&mut all, load, 64, Duration::from_secs(1))?;
            report.add(report::of_load(&format!("{} -> {}", a.name(), s.name()), load, 64, &outcomes))?;
        }
    }
    report.write_json("/tmp/driver.json".as_ref())?;
    report.write_svg("/tmp/driver.svg".as_ref())?;
    Ok(())
}
