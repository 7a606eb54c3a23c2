//! A gate under load for long: how its memory and its open descriptors grow.
//!
//! 500 calls a second on sessions that stay, and each second a session that begins, calls and ends.

use std::path::Path as FilePath;
use std::time::Duration;

use serde_json::json;

use crate::gates::{Setting, Transport};
use crate::http_agent::HttpAgent;
use crate::load::{Callers, Load};
use crate::measure::{Failure, now, number, slope};
use crate::messages::{Call, Era};
use crate::paths::{Path, WebServer};
use crate::report::{Report, Section, short};

const LOAD: Load = Load::Open(500.0);
const SLICE: Duration = Duration::from_secs(1);

pub(crate) fn run(scratch: &FilePath, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let web = WebServer::plain()?;
    let mut path = Path::gate(scratch, Transport::Http, &web.server(), Setting::PLAIN)?;
    let address = path.address()?.to_owned();
    let call = Call::new(Era::Sessions, 64);
    let mut callers = Callers::open(&mut path.entry, LOAD)?;
    let (mut memory, mut descriptors) = (Vec::new(), Vec::new());
    let start = now();
    while start.elapsed() < time {
        callers.turn(LOAD, &call, SLICE)?;
        let mut passing = HttpAgent::open(&address)?;
        passing.call(&call)?;
        passing.end()?;
        let hours = start.elapsed().as_secs_f64() / 3600.0;
        memory.push((hours, number(path.proxy.resident().unwrap_or(0))));
        descriptors.push((hours, number(path.proxy.descriptors().unwrap_or(0))));
    }
    callers.end()?;
    let mut section = Section::new(
        &format!(
            "soak: {} s, 500 calls/s, HTTP -> HTTP; lines of least squares, without the first tenth",
            time.as_secs()
        ),
        &["what", "first", "last", "an hour"],
    );
    for (what, points) in [("RSS KiB", memory), ("open descriptors", descriptors)] {
        let warm = points.get(points.len() / 10..).unwrap_or_default();
        let (_, first) = warm.first().ok_or("too short")?;
        let (_, last) = warm.last().ok_or("too short")?;
        let rise = slope(warm);
        section.row(
            vec![
                what.to_owned(),
                short(*first),
                short(*last),
                format!("{rise:+.1}"),
            ],
            json!({"what": what, "per_hour": rise, "points_hours": points}),
        );
    }
    report.add(section)
}
