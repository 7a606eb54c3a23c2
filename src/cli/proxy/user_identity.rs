//! How servers know the user: what the configuration means by it.

use std::iter;
use std::sync::Arc;

use crate::assertion::{Issuer, SigningError};
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::gate::{Audience, UserIdentities, UserIdentity};
use crate::identity::KeptTokens;

/// What signs assertions, and the public key by which servers check them, if there are any.
pub(super) struct IdentitySetup {
    issuer: Option<Arc<Issuer>>,
    pub(super) key_set: Option<Arc<str>>,
}

impl IdentitySetup {
    /// # Errors
    /// [`SigningError`] where no key can be made.
    pub(super) fn of(config: &Config, clock: &Arc<dyn Clock>) -> Result<Self, SigningError> {
        let issuer = servers(config)
            .any(is_signed)
            .then(|| Issuer::new(Arc::clone(clock)).map(Arc::new))
            .transpose()?;
        Ok(Self {
            key_set: issuer.as_ref().map(|issuer| issuer.key_set().into()),
            issuer,
        })
    }

    /// How the instances of the server of one of [`Config::each`] know users.
    pub(super) fn identities(&self, config: &Config) -> Arc<UserIdentities> {
        let all = servers(config).map(|identity| known_by(identity, self.issuer.as_ref()));
        Arc::new(UserIdentities::from_first(all))
    }
}

/// The audiences of servers that may have a token of an agent's.
pub(super) fn forwarded(config: &Config) -> Vec<Arc<str>> {
    let audiences = servers(config).filter_map(|identity| match identity {
        config::UserIdentity::Forward { audience } => Some(audience.as_str().into()),
        config::UserIdentity::None
        | config::UserIdentity::Meta { .. }
        | config::UserIdentity::Header { .. }
        | config::UserIdentity::Exchange => None,
    });
    audiences.collect()
}

/// The tokens of agents that the gate needs beyond their request.
pub(super) fn kept(config: &Config) -> KeptTokens {
    let is_exchanged =
        |identity: &config::UserIdentity| *identity == config::UserIdentity::Exchange;
    if servers(config).any(is_exchanged) {
        KeptTokens::All
    } else {
        KeptTokens::ForServers
    }
}

/// Whether what the gate made at its start is enough for the servers of this configuration too.
pub(super) fn is_made_for(started: &Config, config: &Config) -> bool {
    let audiences = forwarded(started);
    let is_forwarded = |audience: &Arc<str>| audiences.contains(audience);
    let signs = servers(started).any(is_signed);
    let keeps = kept(started) == KeptTokens::All || kept(config) == KeptTokens::ForServers;
    let signs = signs || !servers(config).any(is_signed);
    forwarded(config).iter().all(is_forwarded) && signs && keeps
}

/// Of the open server, then of the isolated ones.
fn servers(config: &Config) -> impl Iterator<Item = &config::UserIdentity> {
    config.upstreams().flat_map(|open| {
        let isolated = open.isolated.iter();
        iter::once(&open.identity).chain(isolated.map(|it| &it.server.identity))
    })
}

fn is_signed(identity: &config::UserIdentity) -> bool {
    match identity {
        config::UserIdentity::Meta { .. } | config::UserIdentity::Header { .. } => true,
        config::UserIdentity::None
        | config::UserIdentity::Forward { .. }
        | config::UserIdentity::Exchange => false,
    }
}

fn known_by(identity: &config::UserIdentity, issuer: Option<&Arc<Issuer>>) -> UserIdentity {
    let audience = |name: &str, issuer: &Arc<Issuer>| Audience {
        name: name.into(),
        issuer: Arc::clone(issuer),
    };
    match (identity, issuer) {
        (config::UserIdentity::Meta { audience: name }, Some(issuer)) => {
            UserIdentity::Meta(audience(name, issuer))
        }
        (config::UserIdentity::Header { audience: name }, Some(issuer)) => {
            UserIdentity::Header(audience(name, issuer))
        }
        (config::UserIdentity::Forward { audience }, _) => {
            UserIdentity::Forward(audience.as_str().into())
        }
        (config::UserIdentity::Exchange, _) => UserIdentity::Exchange,
        (
            config::UserIdentity::None
            | config::UserIdentity::Meta { .. }
            | config::UserIdentity::Header { .. },
            _,
        ) => UserIdentity::None,
    }
}
