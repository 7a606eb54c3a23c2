//! How often something may happen, and where it is kept how often it has.

mod bucket;
mod memory;

use std::fmt;
use std::time::Duration;

use super::Answer;

pub use bucket::Rate;
pub use memory::Tokens;

/// Keeps tokens, by what they are counted for, and has a time of its own by which they come back.
///
/// What it must promise: a token is taken from each of the buckets or from none, at one moment, by
/// whatever gates they are asked for; in no stretch of time more than the burst and what the rate makes
/// of it. A bucket is one number, the time at which it is full again, so that a store that several gates
/// share needs no more than one script in its database. Nothing is ever given back.
pub trait TokenStore: fmt::Debug + Send + Sync {
    /// Takes one token from each bucket, or none from any, and says when it could.
    fn take<'a>(&'a self, buckets: Buckets<'a>) -> Answer<'a, Result<(), Empty>>;

    /// Whether one could be taken from each, as far as that is known without asking anybody. It takes
    /// none, and nothing depends on it but that a flood need not be judged; who cannot tell says yes.
    fn look(&self, buckets: Buckets<'_>) -> Result<(), Empty>;
}

/// The buckets that concern a request, each by what it is counted for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Buckets<'b> {
    /// Of all requests together.
    pub global: Option<&'b Rate>,
    /// Of all requests of this principal's.
    pub principal: Option<(&'b str, &'b Rate)>,
    /// Of all calls of this tool.
    pub tool: Option<(&'b str, &'b Rate)>,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Global,
    Principal,
    Tool,
}

/// Nothing was taken: one can be had after this time, if nobody else takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Empty {
    pub limit: Limit,
    pub wait: Duration,
}
