//! The files that a configuration names, read as at the start of the gate.

use std::sync::Arc;

use crate::audit::{self, Redactor};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Listen};
use crate::memory::Memory;
use crate::policy::Roots;
use crate::session::OnDisk;
use crate::upstream::{Concealing, StartError};

use super::certificates::ListenerCertificates;
use super::own_roots::OwnRootsNeed;
use super::servers::Upstreams;
use super::{among_policies, exposed, flight, followers, network};

/// What would keep the gate from starting, each told with the key that it is about.
pub(in super::super) fn unusable(config: &Config, roots: &Roots) -> Vec<String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let operators = network::operators_token(config);
    let upstreams = Upstreams::all(
        config,
        roots,
        &Redactor::default(),
        &Concealing::default(),
        &clock,
        &Memory::default(),
    );
    let entrance = match &config.listen {
        Listen::Http(listen) => network::authenticate(config, listen).map(drop),
        Listen::Stdio | Listen::Local => Ok(()),
    };
    let servers = match &upstreams {
        Ok((open, isolated)) => starts(open, isolated),
        Err(_) => Vec::new(),
    };
    let told = [
        operators.err().map(|cause| cause.to_string()),
        upstreams.err(),
        entrance.err().map(|cause| cause.to_string()),
        ListenerCertificates::of(config).and_then(|it| it.err().map(|cause| cause.to_string())),
        log(config),
        signing_key(config),
        followers::problem(config),
        flight::problem(config),
        super::settings::digests(&config.audit).err(),
        journal(config),
    ];
    let own = OwnRootsNeed::by(config).lacking(roots);
    let exposed = exposed::files(config, roots);
    told.into_iter()
        .flatten()
        .chain(servers)
        .chain(own)
        .chain(exposed)
        .chain(among_policies::files(config))
        .collect()
}

/// Whether the certificate that agents see is one that they soon refuse.
pub(in super::super) fn certificate_expires_soon(config: &Config) -> bool {
    let certificates = ListenerCertificates::of(config).and_then(Result::ok);
    certificates.is_some_and(|it| it.expires_soon())
}

/// What no start of a server would get past.
fn starts(open: &Upstreams, isolated: &[Upstreams]) -> Vec<String> {
    // What keeps it from being confined is told by whoever looks at sandboxes.
    let told = |of: &Upstreams| {
        let cause = of.check().err();
        let cause = cause.filter(|it| !matches!(it, StartError::Sandbox(_)));
        cause.map(|cause| of.told(&cause))
    };
    let all = std::iter::once(open).chain(isolated);
    all.filter_map(told).collect()
}

fn log(config: &Config) -> Option<String> {
    let cause = audit::check_file(config.audit.file.as_deref()?).err()?;
    Some(format!("`audit.file`: {cause}"))
}

fn signing_key(config: &Config) -> Option<String> {
    let path = config.audit.signing_key_file.as_deref()?;
    let cause = audit::check_signing_key(path).err()?;
    let path = path.display();
    Some(format!("`audit.signing_key_file`: `{path}` {cause}"))
}

fn journal(config: &Config) -> Option<String> {
    let ratchet = &config.ratchet;
    let (file, key) = ratchet.journal()?;
    let cause = OnDisk::check(file, &key, ratchet.max_sessions).err()?;
    Some(format!("`ratchet.file`: {cause}"))
}
