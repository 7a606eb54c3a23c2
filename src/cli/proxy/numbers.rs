//! What tells one server from all others that a gate has had.

use std::collections::BTreeMap;

use crate::agent::http::Endpoint;
use crate::config::Config;
use crate::policy::ServerKey;

/// The numbers of one server.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerNumber {
    pub(super) endpoint: Endpoint,
    /// How many servers with its key were there before it.
    pub(super) generation: usize,
}

/// The numbers that servers had.
#[derive(Debug)]
pub(super) struct Numbers {
    endpoints: usize,
    generations: BTreeMap<ServerKey, usize>,
}

impl Numbers {
    /// The endpoint of all servers is the first, and views follow it.
    pub(super) fn after_views(config: &Config) -> Self {
        Self {
            endpoints: config.views.len(),
            generations: BTreeMap::new(),
        }
    }

    /// Those of a server that comes.
    pub(super) fn next(&mut self, key: Option<&ServerKey>) -> ServerNumber {
        self.endpoints = self.endpoints.saturating_add(1);
        let generation = key.map_or(0, |key| {
            let next = self.generations.entry(key.clone()).or_default();
            let generation = *next;
            *next = next.saturating_add(1);
            generation
        });
        ServerNumber {
            endpoint: Endpoint(self.endpoints),
            generation,
        }
    }
}
