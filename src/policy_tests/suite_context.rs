//! One of the servers of a suite, and what judges its messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gate;
use crate::policy::{Agent, PolicyStore, Server};
use crate::wire::Extensions;

use super::fixture::ServerLists;
use super::listing::ServerCatalog;
use super::recorder::Recorder;

/// A server of a suite, and what judges its messages.
pub(super) struct SuiteContext<'s> {
    /// As they are for this server.
    pub(super) policies: Arc<PolicyStore>,
    pub(super) settings: &'s gate::Settings,
    pub(super) server: &'s Server,
    pub(super) offers: &'s ServerLists,
    pub(super) catalogue: ServerCatalog,
    /// Hears what the rules are asked, but for the handshake that begins a session.
    pub(super) witness: Option<&'s Recorder>,
    /// Methods of extensions that the suite lists.
    pub(super) extensions: &'s Extensions,
    /// By the names that tests use for them.
    pub(super) agents: &'s BTreeMap<String, Agent>,
}
