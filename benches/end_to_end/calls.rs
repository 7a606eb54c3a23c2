//! Calls over all pairings of transports, on all paths.

use std::path::Path as FilePath;

use super::gates::{Audit, Policies, Setting, Transport};
use super::load::{Load, Outcome, measure};
use super::measure::{Failure, number, quantile};
use super::options::{Options, Pairing, Preset};
use super::paths::{self, Kind, WebServer};
use super::report::{Goal, Report, of_load};

/// Bytes that may be in flight; larger loads are left out.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Bytes a second that an open loop offers at most.
const MOST_BYTES_A_SECOND: f64 = 64.0 * 1024.0 * 1024.0;

/// Servers of a gate before several.
const SERVERS: usize = 8;

/// The gates of one pairing.
fn gates(preset: Preset, pairing: Pairing) -> Vec<Setting> {
    let plain = Setting::PLAIN;
    let many = plain.judging(Policies::Cedar(100));
    match (preset, pairing) {
        (Preset::Quick, _) => vec![plain],
        (Preset::Table, (Transport::Stdio, Transport::Stdio)) => {
            vec![plain.audited(Audit::Off), plain, many]
        }
        (Preset::Table, (Transport::Http, Transport::Http)) => {
            vec![plain, plain.before(SERVERS), plain.unifying(SERVERS), many]
        }
        (Preset::Table, _) => vec![plain, many],
        (Preset::Full, _) => vec![
            plain.audited(Audit::Off),
            plain,
            plain.audited(Audit::Strict),
            many,
        ],
    }
}

/// Fails after all pairings if one of them fails.
pub(crate) fn run(
    options: &Options,
    scratch: &FilePath,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut failed = Vec::new();
    for pairing in &options.pairings {
        let (agent, server) = (pairing.0.name(), pairing.1.name());
        if let Err(cause) = run_pairing(options, *pairing, scratch, report) {
            failed.push(format!("{agent} -> {server}: {cause}"));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(failed.join("; ").into())
}

fn run_pairing(
    options: &Options,
    pairing: Pairing,
    scratch: &FilePath,
    report: &mut Report,
) -> Result<(), Failure> {
    let (agent, server) = pairing;
    let web = WebServer::plain()?;
    let gates = gates(options.preset, pairing);
    // Directories of one pairing's proxies.
    let scratch = tempfile::tempdir_in(scratch)?;
    let mut all = paths::all(scratch.path(), agent, server, &web, &gates)?;
    let title = format!("{} -> {}", agent.name(), server.name());
    for payload in &options.payloads {
        for load in loads(options, *payload) {
            let outcomes = measure(&mut all, load, *payload, options.time)?;
            report.add(of_load(&title, load, *payload, &outcomes))?;
            if *payload == 64 {
                compare(report, pairing, load, &outcomes);
            }
        }
    }
    Ok(())
}

fn loads(options: &Options, payload: usize) -> Vec<Load> {
    let fits = |in_flight: &&usize| in_flight.saturating_mul(payload) <= MOST_BYTES;
    let closed = options.in_flight.iter().filter(fits);
    let open = options
        .rate
        .map(|rate| Load::Open(rate.min(MOST_BYTES_A_SECOND / number(payload.max(1)))));
    closed.copied().map(Load::Closed).chain(open).collect()
}

/// Notes what the goals say of this load.
fn compare(report: &mut Report, (agent, server): Pairing, load: Load, outcomes: &[Outcome]) {
    let named = |name: &str| outcomes.iter().find(|outcome| outcome.name == name);
    let direct = outcomes.iter().find(|outcome| outcome.kind == Kind::Direct);
    let title = format!("{} -> {}", agent.name(), server.name());
    let (id, p50, p99) = match (agent, server) {
        (Transport::Stdio, Transport::Stdio) => ("B1a", 30.0, 120.0),
        (Transport::Http, Transport::Http) => ("B1c", 70.0, 250.0),
        (Transport::Http, Transport::Stdio) | (Transport::Stdio, Transport::Http) => {
            ("B1j", 60.0, 200.0)
        }
    };
    let (Some(direct), Some(gate)) = (direct, named("gate")) else {
        return;
    };
    match (load, id) {
        (Load::Closed(1), _) => {
            let mut note = |id: &str, gate: &Outcome, limits: [f64; 2]| {
                for (share, name, limit) in [(0.5, "p50", limits[0]), (0.99, "p99", limits[1])] {
                    let added = quantile(&gate.times, share) - quantile(&direct.times, share);
                    let what = format!("{title}: added {name}, us");
                    report.goal(id, &what, added, Goal::Most(limit));
                }
            };
            note(id, gate, [p50, p99]);
            if let ("B1a", Some(gate)) = (id, named("gate, 100 policies")) {
                note("B1b", gate, [60.0, 200.0]);
            }
            if let Some(several) = named(&Setting::PLAIN.before(SERVERS).name()) {
                let added = quantile(&several.times, 0.5) - quantile(&gate.times, 0.5);
                let what = format!("{title}: added p50 by several servers, us");
                report.goal("B1s", &what, added, Goal::Most(3.0));
                if let Some(unified) = named(&Setting::PLAIN.unifying(SERVERS).name()) {
                    let added = quantile(&unified.times, 0.5) - quantile(&several.times, 0.5);
                    let what = format!("{title}: added p50 by one endpoint for all, us");
                    report.goal("B1u", &what, added, Goal::Most(10.0));
                }
            }
        }
        (Load::Closed(16), "B1c") => {
            if let Some(nginx) = named("nginx") {
                let what = format!("{title}: calls/s against nginx, 16 in flight");
                report.goal(id, &what, gate.rate() / nginx.rate(), Goal::Least(0.5));
            }
            let processor = named("floor").and_then(Outcome::processor_per_call);
            if let Some((gate, floor)) = gate.processor_per_call().zip(processor) {
                let what = format!("{title}: CPU against the floor, 16 in flight");
                report.goal(id, &what, gate / floor, Goal::Most(2.0));
            }
        }
        (Load::Closed(_) | Load::Open(_), _) => {}
    }
}
