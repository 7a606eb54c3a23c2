//! Names of tools, resources, prompts and methods at their servers.

use crate::policy::ServerKey;

/// Something that a server has, by the server's own name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServerItem {
    /// Which one of several servers has it.
    pub(super) server: Option<ServerKey>,
    pub(super) name: String,
}

impl ServerItem {
    /// The name in policies and labels.
    pub(super) fn id(&self) -> String {
        id_at(self.server.as_ref(), &self.name)
    }
}

pub(super) fn id_at(server: Option<&ServerKey>, name: &str) -> String {
    server.map_or_else(|| name.to_owned(), |key| key.id_of(name))
}
