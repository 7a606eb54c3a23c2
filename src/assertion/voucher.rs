//! The assertions of one user for one server.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::issuer::{Issuer, LIFETIME_SECONDS, SigningError, User};

/// An assertion serves for this long; then there is another one. What remains of its life is time for
/// messages on their way.
const USED_SECONDS: i64 = LIFETIME_SECONDS / 2;

/// Makes the assertions of one user for one server. It keeps the latest one, since a signature costs
/// more than most messages do.
pub struct Voucher {
    issuer: Arc<Issuer>,
    audience: Arc<str>,
    user: User,
    latest: Mutex<Option<Issued>>,
}

struct Issued {
    at: i64,
    text: Arc<str>,
}

impl Voucher {
    pub fn new(issuer: Arc<Issuer>, audience: Arc<str>, user: User) -> Self {
        Self {
            issuer,
            audience,
            user,
            latest: Mutex::default(),
        }
    }

    /// Whether it is for this server, and its user is still this one.
    pub fn is_for(&self, audience: &str, principal: &str, roles: &[String]) -> bool {
        *self.audience == *audience && self.user.principal == principal && self.user.roles == roles
    }

    /// An assertion that is good for another minute at least.
    ///
    /// # Errors
    /// [`SigningError`] without random numbers.
    pub fn assertion(&self) -> Result<Arc<str>, SigningError> {
        let now = self.issuer.now();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back makes another one, too: `iat` must not be in the future.
        let is_fresh = |it: &&Issued| (0..USED_SECONDS).contains(&now.saturating_sub(it.at));
        if let Some(issued) = latest.as_ref().filter(is_fresh) {
            return Ok(Arc::clone(&issued.text));
        }
        let text: Arc<str> = self.issuer.sign(&self.audience, &self.user, now)?.into();
        *latest = Some(Issued {
            at: now,
            text: Arc::clone(&text),
        });
        Ok(text)
    }
}

impl PartialEq for Voucher {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.issuer, &other.issuer)
            && self.audience == other.audience
            && self.user == other.user
    }
}

impl Eq for Voucher {}

impl fmt::Debug for Voucher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voucher")
            .field("audience", &self.audience)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
