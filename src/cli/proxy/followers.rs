//! What follows the audit log, beside the standard stream.

use crate::audit::Follower;
use crate::audit::syslog::Syslog;
use crate::config::Config;
use crate::upstream::http::{HttpClientError, other_tls};

use super::traces;

/// The destinations that the configuration names, or what is wrong with one, told with its key. They connect
/// once there is a record.
pub(super) fn named(config: &Config) -> Result<Vec<Box<dyn Follower>>, String> {
    let mut followers: Vec<Box<dyn Follower>> = Vec::new();
    if let Some(syslog) = syslog(config)? {
        followers.push(Box::new(syslog));
    }
    let logs = traces::logs(config).map_err(|cause| format!("`telemetry`: {cause}"))?;
    if let Some(logs) = logs {
        followers.push(Box::new(logs));
    }
    Ok(followers)
}

/// What is wrong with the authorities of a syslog server.
pub(super) fn problem(config: &Config) -> Option<String> {
    syslog(config).err()
}

fn syslog(config: &Config) -> Result<Option<Syslog>, String> {
    let Some(settings) = &config.audit.syslog else {
        return Ok(None);
    };
    let tls = || other_tls(settings.ca_file.as_deref());
    let syslog = Syslog::new(settings.address.clone(), settings.facility, tls);
    let told = |cause: HttpClientError| format!("`audit.syslog.ca_file`: {cause}");
    syslog.map(Some).map_err(told)
}
