//! Where it is kept what sessions have read.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::policy::Held;

use super::RatchetKey;

/// Keeps what is held under keys. A join is the only way to write.
///
/// What it must promise: [`raise`](Self::raise) happens at one moment, before which everybody is told
/// `before` and after which `after`, by whatever gate they ask; and once it has answered, nothing that
/// may befall the store takes it back. A store that several gates share needs no more than a place
/// that joins (a script in the database, a `max` in an `UPDATE … RETURNING`), no locks and no
/// transactions.
pub trait RatchetStore: fmt::Debug + Send + Sync {
    /// What is held now; nothing where nobody has raised anything.
    fn held<'a>(&'a self, key: &'a RatchetKey) -> Answer<'a, Arc<Held>>;

    /// Joins what is held with this.
    fn raise<'a>(&'a self, key: &'a RatchetKey, by: &'a Held) -> Answer<'a, Raised>;
}

/// What was held, and what is held from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    pub before: Arc<Held>,
    pub after: Arc<Held>,
}

/// What a store answers. Most know it at once, and nobody pays for those that do not.
pub enum Answer<'a, T> {
    Now(Result<T, StoreFault>),
    Later(Pin<Box<dyn Future<Output = Result<T, StoreFault>> + Send + 'a>>),
}

/// It cannot be told what a session has read, or not be kept. Nothing passes that depends on it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreFault(String);

impl StoreFault {
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl Raised {
    /// Nothing was held before, or this was, and it stays so.
    pub fn unchanged(held: &Arc<Held>) -> Self {
        Self {
            before: Arc::clone(held),
            after: Arc::clone(held),
        }
    }

    /// What comes of joining.
    pub fn joining(held: &Arc<Held>, by: &Held) -> Self {
        if held.covers(by) {
            return Self::unchanged(held);
        }
        Self {
            before: Arc::clone(held),
            after: Arc::new(Held::clone(held).join(by)),
        }
    }
}

impl<T> Answer<'_, T> {
    /// # Errors
    /// [`StoreFault`], whatever it was.
    pub async fn get(self) -> Result<T, StoreFault> {
        match self {
            Self::Now(result) => result,
            Self::Later(future) => future.await,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(result) => f.debug_tuple("Now").field(result).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}
