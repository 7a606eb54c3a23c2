//! What follows the audit log, beside the standard stream.

use crate::audit::Follower;
use crate::audit::syslog::Syslog;
use crate::config::{self, Config};
use crate::upstream::http::{HttpClientError, other_tls};

/// The destinations that the configuration names. They connect once there is a record.
pub(super) fn named(config: &Config) -> Result<Vec<Box<dyn Follower>>, HttpClientError> {
    let mut followers: Vec<Box<dyn Follower>> = Vec::new();
    if let Some(settings) = &config.audit.syslog {
        followers.push(Box::new(syslog(settings)?));
    }
    Ok(followers)
}

/// What is wrong with the authorities of a server, told with their key.
pub(super) fn problem(config: &Config) -> Option<String> {
    let cause = named(config).err()?;
    Some(format!("`audit.syslog.ca_file`: {cause}"))
}

fn syslog(settings: &config::Syslog) -> Result<Syslog, HttpClientError> {
    let tls = || other_tls(settings.ca_file.as_deref());
    Syslog::new(settings.address.clone(), settings.facility, tls)
}
