//! Lists whose changes an agent without a session can hear of, and who hears of them.

use crate::wire::{Id, KnownMethod, Stream};

/// A stream on which the agent hears of lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub(super) id: Id,
    pub(super) stream: Stream,
    pub(super) lists: Vec<KnownMethod>,
}

/// A list whose changes can be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) capability: &'static str,
    /// The member of `notifications` by which an agent asks for it.
    pub(super) flag: &'static str,
    pub(super) changed: KnownMethod,
}

pub(super) const LISTS: [List; 3] = [
    List {
        capability: "tools",
        flag: "toolsListChanged",
        changed: KnownMethod::ToolsListChanged,
    },
    List {
        capability: "prompts",
        flag: "promptsListChanged",
        changed: KnownMethod::PromptsListChanged,
    },
    List {
        capability: "resources",
        flag: "resourcesListChanged",
        changed: KnownMethod::ResourcesListChanged,
    },
];
