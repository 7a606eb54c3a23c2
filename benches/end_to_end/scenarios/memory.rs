//! What a gate keeps when nothing happens, and what it keeps of each idle session.

use std::path::Path as FilePath;
use std::time::Duration;

use serde_json::json;

use crate::gates::{Server, Setting, Transport};
use crate::http_agent::HttpAgent;
use crate::measure::{Failure, number};
use crate::paths::{Path, WebServer};
use crate::report::{Goal, Report, Section, short};

const SESSIONS: usize = 600;
/// The first sessions also make what all of them share.
const FIRST: usize = 20;

pub(crate) fn run(scratch: &FilePath, report: &mut Report) -> Result<(), Failure> {
    let web = WebServer::plain()?;
    let http = Path::gate(scratch, Transport::Http, &web.server(), Setting::PLAIN)?;
    let stdio = Path::gate(scratch, Transport::Stdio, &Server::Started, Setting::PLAIN)?;
    std::thread::sleep(Duration::from_millis(500));
    let (http_idle, stdio_idle) = (idle(&http), idle(&stdio));
    let several = Setting::PLAIN.before(2);
    let several = Path::gate(scratch, Transport::Http, &web.server(), several)?;
    let session = of_session(&http)?;
    let session_of_several = of_session(&several)?;
    let unified = Setting::PLAIN.unifying(2);
    let unified = Path::gate(scratch, Transport::Http, &web.server(), unified)?;
    let session_of_unified = of_session(&unified)?;
    let mut section = Section::new("memory of a gate", &["what", "KiB"]);
    for (what, kib) in [
        ("HTTP -> HTTP, idle", http_idle),
        ("stdio -> stdio, idle after a handshake", stdio_idle),
        ("each idle HTTP session", session),
        (
            "each idle session at one of two servers",
            session_of_several,
        ),
        (
            "each idle session at the endpoint of two servers",
            session_of_unified,
        ),
    ] {
        let data = json!({"what": what, "kib": kib, "sessions": SESSIONS});
        section.row(vec![what.to_owned(), short(kib)], data);
    }
    report.goal(
        "B1g",
        "idle over HTTP, MiB",
        http_idle / 1024.0,
        Goal::Most(20.0),
    );
    report.goal(
        "B1g",
        "an idle HTTP session, KiB",
        session,
        Goal::Most(96.0),
    );
    report.add(section)
}

/// KiB that are in memory.
fn idle(path: &Path) -> f64 {
    number(path.proxy.resident().unwrap_or(0))
}

/// Those of each session: its connection closes, and it stays.
fn of_session(gate: &Path) -> Result<f64, Failure> {
    let open = || HttpAgent::open(gate.address()?).map(drop);
    (0..FIRST).try_for_each(|_| open())?;
    let before = idle(gate);
    (0..SESSIONS).try_for_each(|_| open())?;
    std::thread::sleep(Duration::from_millis(500));
    Ok((idle(gate) - before) / number(SESSIONS))
}
