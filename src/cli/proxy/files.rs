//! The files that a configuration names, read as at the start of the gate.

use std::sync::Arc;

use crate::audit::Redactor;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Listen};
use crate::policy::Roots;
use crate::upstream::Concealing;

use super::network;
use super::servers::Upstreams;

/// What would keep the gate from starting, each told with the key that it is about.
pub(in super::super) fn unusable(config: &Config, roots: &Roots) -> Vec<String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let operators = network::operators_token(config);
    let upstreams = Upstreams::both(
        config,
        roots,
        &Redactor::default(),
        &Concealing::default(),
        &clock,
    );
    let entrance = match &config.listen {
        Listen::Http(listen) => network::authenticate(listen).map(drop),
        Listen::Stdio => Ok(()),
    };
    let told = [
        operators.err().map(|cause| cause.to_string()),
        upstreams.err().map(|cause| cause.to_string()),
        entrance.err().map(|cause| cause.to_string()),
    ];
    told.into_iter().flatten().collect()
}
