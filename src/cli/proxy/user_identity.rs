//! How servers know the user: what the configuration means by it.

use std::iter;
use std::sync::Arc;

use crate::assertion::{Issuer, SigningError};
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::gate::{Audience, UserIdentities, UserIdentity};

/// How servers know users, and the public key by which they check assertions, if there are any.
pub(super) struct IdentitySetup {
    pub(super) identities: Arc<UserIdentities>,
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
        let all = servers(config).map(|identity| known_by(identity, issuer.as_ref()));
        Ok(Self {
            identities: Arc::new(UserIdentities::from_first(all)),
            key_set: issuer.map(|issuer| issuer.key_set().into()),
        })
    }
}

/// The audiences of servers that may have a token of an agent's.
pub(super) fn forwarded(config: &Config) -> Vec<Arc<str>> {
    let audiences = servers(config).filter_map(|identity| match identity {
        config::UserIdentity::Forward { audience } => Some(audience.as_str().into()),
        config::UserIdentity::None
        | config::UserIdentity::Meta { .. }
        | config::UserIdentity::Header { .. } => None,
    });
    audiences.collect()
}

/// Of the open server, then of the isolated ones.
fn servers(config: &Config) -> impl Iterator<Item = &config::UserIdentity> {
    let isolated = config.upstream.isolated.iter();
    iter::once(&config.upstream.identity).chain(isolated.map(|it| &it.server.identity))
}

fn is_signed(identity: &config::UserIdentity) -> bool {
    match identity {
        config::UserIdentity::Meta { .. } | config::UserIdentity::Header { .. } => true,
        config::UserIdentity::None | config::UserIdentity::Forward { .. } => false,
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
        (
            config::UserIdentity::None
            | config::UserIdentity::Meta { .. }
            | config::UserIdentity::Header { .. },
            _,
        ) => UserIdentity::None,
    }
}
