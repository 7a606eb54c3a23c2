//! The actions of a schema: those of every gate, and one for each tool whose arguments have types.

use crate::policy::ActionName;

/// How the id of an action begins that is the call of one tool.
pub(super) const CALL: &str = "call_tool/";

/// An action of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SchemaAction {
    Named(ActionName),
    /// The call of one tool. It is in `call_tool`.
    Call(CallIndex),
}

/// A tool whose arguments have types, by its place among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CallIndex(pub(super) usize);

impl SchemaAction {
    /// The action of every gate that this is, or is in.
    pub(super) fn name(self) -> ActionName {
        match self {
            Self::Named(name) => name,
            Self::Call(_) => ActionName::CallTool,
        }
    }

    pub(super) fn call(self) -> Option<CallIndex> {
        match self {
            Self::Named(_) => None,
            Self::Call(call) => Some(call),
        }
    }
}
