//! What a store answers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// The answer of a store. Most stores have it at once, without a future on the heap.
pub enum Answer<'a, T> {
    Now(Result<T, StoreFault>),
    Later(Pin<Box<dyn Future<Output = Result<T, StoreFault>> + Send + 'a>>),
}

/// It cannot be told what is kept of a session, or not be kept. Nothing passes that depends on it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreFault(String);

impl StoreFault {
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl<'a, T: 'a> Answer<'a, T> {
    /// What comes of the answer, whenever it is there.
    pub fn map<U>(self, make: impl FnOnce(T) -> U + Send + 'a) -> Answer<'a, U> {
        match self {
            Self::Now(result) => Answer::Now(result.map(make)),
            Self::Later(future) => Answer::Later(Box::pin(async move { future.await.map(make) })),
        }
    }

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
