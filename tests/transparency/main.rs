//! Through a gate that permits everything, agent and server read the very bytes that they read
//! without one. (Real servers: `tests/real_servers`.)

#[cfg(test)]
#[path = "../support/chain.rs"]
mod chain;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod everything;
#[cfg(test)]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[cfg(test)]
#[path = "../support/peer.rs"]
mod peer;
#[cfg(test)]
#[path = "../../fixtures/servers/vendor/script.rs"]
mod script;
#[cfg(test)]
#[path = "../support/serving.rs"]
mod serving;
#[cfg(test)]
#[path = "../support/setup.rs"]
mod setup;
#[cfg(test)]
#[path = "../support/transcript.rs"]
mod transcript;
