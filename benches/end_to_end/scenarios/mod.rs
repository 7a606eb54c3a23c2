//! Loads of one kind each, beside plain calls.

pub(crate) mod agents;
pub(crate) mod head_of_line;
pub(crate) mod list;
pub(crate) mod memory;
pub(crate) mod scale;
pub(crate) mod servers;
pub(crate) mod soak;
pub(crate) mod strict;

use std::path::Path as FilePath;

use super::gates::{Setting, Transport};
use super::measure::Failure;
use super::paths::{Path, WebServer};

/// The server alone, the floor and these gates, all over HTTP.
fn over_http(scratch: &FilePath, web: &WebServer, gates: &[Setting]) -> Result<Vec<Path>, Failure> {
    let mut paths = vec![
        Path::direct(Transport::Http, web)?,
        Path::floor(Transport::Http, &web.server())?,
    ];
    for setting in gates {
        let gate = Path::gate(scratch, Transport::Http, &web.server(), *setting)?;
        paths.push(gate);
    }
    Ok(paths)
}
