//! Judges facts; knows nothing of MCP transports, files or time.
//!
//! Facts go in, a decision comes out. Engines give a verdict each, `combine` makes one decision of
//! them: a fault denies, a deny beats an allow, silence denies. Nothing here does
//! I/O, reads a clock or remembers anything, so the same facts and revision give the same decision.

mod action;
mod checked;
mod combine;
mod decision;
mod engine;
pub mod engines;
mod errors;
mod facts;
#[cfg(test)]
pub(crate) mod fixture;
mod held;
mod labels;
mod leaves;
mod location;
mod lock;
mod lock_words;
mod mutant;
mod numbers;
mod observe;
mod options;
mod outlook;
mod replaced;
mod shape;
mod snapshot;
mod store;
pub(crate) mod suggest;
pub(crate) mod table;
mod trace;
mod uris;

pub use action::{Action, ActionName, Nothing};
pub use checked::{Against, Checked};
pub use combine::combine;
pub use decision::{
    Allowance, Decision, Denial, DenialCause, EngineFault, FaultKind, Obligation, OnDeny, Origin,
    PolicyId, Raise, Reason, Verdict,
};
pub use engine::{
    Compiled, EngineKind, EngineName, ListFacts, ListsBy, LooksFor, OpenTools, RuleEngine, Shows,
    Surfaces, Uses, Visibility, Warnings,
};
pub use errors::{PolicyErrors, PolicyProblem};
pub use facts::{
    Agent, Arguments, Client, Consent, Environment, ExtensionMethod, Facts, Hints, Leaf,
    Permissions, Pin, Principal, Prompt, Received, Resource, ResourceFacts, Server, SessionState,
    Targets, Tool,
};
pub use held::Held;
pub use labels::{
    AgentLabels, CanonicalPaths, ConsentRule, GuiseProblem, Labels, MAX_LEVEL, ResourceLabels,
    ResourceProblem, Resources, Root, RootProblem, Roots, ToolLabels, UNREADABLE_HOST, Uncanonical,
    host_in, host_named, opened_as, page_host, spelled_like,
};
pub use lock::{
    ARGUMENTS as LOCKED_ARGUMENTS, DRIFT as LOCK_DRIFT, Fingerprint, Lock, LockedTool,
    PROMPT_DRIFT as LOCK_PROMPT_DRIFT, Pinning,
};
pub use lock_words::{LockedPrompt, LockedWords};
pub use mutant::{Mutant, MutantKind, MutantRule};
pub use observe::{Judged, Listed, Observer};
pub use options::options;
pub use outlook::{Chance, ClientIs, OpenQuestion, Outlook};
pub use replaced::Replaced;
pub use shape::{Member, Misfit, Presence, Problem, Record, Scalar, Shape, Untyped};
pub use snapshot::{Listing, PolicyEntry, PolicySnapshot, PolicySource, Revision};
pub use store::PolicyStore;
pub use trace::{
    Part, PartKind, PartTrace, PolicyOutline, PolicyTrace, RuleEffect, Sight, Trace, Value,
};
pub use uris::{Odd, canonical_template, canonical_uri, with_plain_slashes};

/// The file of the rules that `[ratchet.network]` comes to. What they close the gate hides itself.
pub const RATCHET_FILE: &str = "<ratchet.cedar>";
