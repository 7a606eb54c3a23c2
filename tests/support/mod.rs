//! Gates, servers, agents and processes, as all these tests start them.

pub(crate) mod attached;
pub(crate) mod chain;
pub(crate) mod fixtures;
pub(crate) mod http;
pub(crate) mod isolation;
pub(crate) mod json;
pub(crate) mod kit;
pub(crate) mod peer;
pub(crate) mod processes;
#[path = "../../src/audit/tests/schema.rs"]
pub(crate) mod schema;
pub(crate) mod serving;
pub(crate) mod setup;
pub(crate) mod transcript;
