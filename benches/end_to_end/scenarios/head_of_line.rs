//! Small calls of one session beside 3 MiB calls of the same session, against alone; and beside those of another one.

use std::path::Path as FilePath;
use std::time::Duration;

use serde_json::json;

use super::over_http;
use crate::gates::Setting;
use crate::http_agent::HttpAgent;
use crate::measure::{Failure, median, now, number, quantile};
use crate::messages::{Call, Era};
use crate::paths::{Path, WebServer};
use crate::report::{Goal, Report, Section, short};

const LARGE: usize = 3 * 1024 * 1024;
const TURNS: u32 = 6;

/// The agents of one path, and the times of the small calls.
struct Crowd {
    name: String,
    small: HttpAgent,
    same_session: HttpAgent,
    other_session: HttpAgent,
    alone: Vec<Duration>,
    beside_same: Vec<Duration>,
    beside_other: Vec<Duration>,
    large_calls: usize,
}

impl Crowd {
    fn open(path: &Path) -> Result<Self, Failure> {
        let small = HttpAgent::open(path.address()?)?;
        Ok(Self {
            name: path.name.clone(),
            same_session: small.beside(1)?,
            small,
            other_session: HttpAgent::open(path.address()?)?,
            alone: Vec::new(),
            beside_same: Vec::new(),
            beside_other: Vec::new(),
            large_calls: 0,
        })
    }

    fn turn(&mut self, (small, large): (&Call, &Call), time: Duration) -> Result<(), Failure> {
        let until = now() + time;
        self.alone.extend(self.small.calls_until(small, until)?);
        let (times, calls) = beside(
            &mut self.small,
            &mut self.same_session,
            (small, large),
            time,
        )?;
        self.beside_same.extend(times);
        self.large_calls += calls;
        let (times, _) = beside(
            &mut self.small,
            &mut self.other_session,
            (small, large),
            time,
        )?;
        self.beside_other.extend(times);
        Ok(())
    }
}

/// The times of the small calls, and the number of large ones.
fn beside(
    agent: &mut HttpAgent,
    other: &mut HttpAgent,
    (small, large): (&Call, &Call),
    time: Duration,
) -> Result<(Vec<Duration>, usize), Failure> {
    let until = now() + time;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || other.calls_until(large, until));
        let times = agent.calls_until(small, until)?;
        let calls = other.join().map_err(|_| "an agent panicked")??;
        Ok((times, calls.len()))
    })
}

pub(crate) fn run(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let web = WebServer::plain()?;
    let paths = over_http(scratch, &web, &[Setting::PLAIN])?;
    let mut crowds: Vec<Crowd> = paths.iter().map(Crowd::open).collect::<Result<_, _>>()?;
    let calls = (
        &Call::new(Era::Sessions, 64),
        &Call::new(Era::Sessions, LARGE),
    );
    for _ in 0..TURNS {
        for crowd in &mut crowds {
            crowd.turn(calls, time / TURNS)?;
        }
    }
    let mut section = Section::new(
        "head of line: 64 B calls beside 3 MiB calls, HTTP -> HTTP",
        &[
            "path",
            "alone p50 us",
            "same session p50 us",
            "x alone",
            "p90 us",
            "p99 us",
            "other session p50 us",
            "x alone",
            "3 MiB calls/s",
        ],
    );
    for crowd in &mut crowds {
        crowd.beside_same.sort_unstable();
        let (alone, same, other) = (
            median(&crowd.alone),
            median(&crowd.beside_same),
            median(&crowd.beside_other),
        );
        let (p90, p99) = (
            quantile(&crowd.beside_same, 0.9),
            quantile(&crowd.beside_same, 0.99),
        );
        let large = number(crowd.large_calls) / time.as_secs_f64();
        section.row(
            vec![
                crowd.name.clone(),
                short(alone),
                short(same),
                short(same / alone),
                short(p90),
                short(p99),
                short(other),
                short(other / alone),
                short(large),
            ],
            json!({
                "path": crowd.name, "alone_p50_us": alone, "same_session_p50_us": same,
                "same_session_times_alone": same / alone, "same_session_p90_us": p90, "same_session_p99_us": p99,
                "other_session_p50_us": other, "other_session_times_alone": other / alone,
                "large_calls_per_second": large,
            }),
        );
        if crowd.name == "gate" {
            let what = "small calls beside 3 MiB calls of the session, p50 against alone";
            report.goal("B1k", what, same / alone, Goal::Most(1.5));
        }
    }
    report.add(section)
}
