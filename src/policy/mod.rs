//! Judges facts; knows nothing of MCP transports, files or time.
//!
//! Facts go in, a decision comes out. Engines give a verdict each, `combine` makes one decision of
//! them: a fault denies, a deny beats an allow, silence denies. Nothing here does
//! I/O, reads a clock or remembers anything, so the same facts and revision give the same decision.

mod action;
mod agent;
mod change_kinds;
mod checked_policies;
mod claims;
mod combine;
mod datasets;
mod decision;
mod engine;
pub mod engines;
mod errors;
mod facts;
#[cfg(test)]
pub(crate) mod fixture;
mod labels;
mod leaves;
mod location;
mod lock;
mod message_facts;
mod mutant;
mod numbers;
mod observe;
mod one_of_several;
mod options;
mod partial;
mod percent_escapes;
mod revision_diff;
mod sampling;
mod sensitivity;
mod server_key;
mod shape;
mod snapshot;
mod source;
mod store;
pub(crate) mod suggest;
pub(crate) mod table;
mod trace;
mod uris;

pub use action::{Action, ActionName, Nothing};
pub use change_kinds::{ChangeKind, ChangeKinds};
pub use checked_policies::{CheckBasis, CheckedPolicies};
pub use claims::{ClaimMismatch, ClaimType, ClaimValue, Claims, ConfiguredClaims, TokenGrants};
pub use combine::combine;
pub use datasets::{DATASET_NAMES, MOST_DATASETS, UNKNOWN_DATASET, is_dataset};
pub use decision::{
    AllowDecision, Decision, Denial, DenialCause, EngineFault, EngineName, EscalationTarget,
    FaultKind, Obligation, OnDeny, PolicyId, PolicyOrigin, Reason, Verdict,
};
pub use engine::{
    CompiledPolicies, EngineKind, ExposedActions, ExposedTools, ListDependency, ListFacts,
    ListMode, RequiredDetectors, RuleEngine, UseTime, Visibility, WarningMode,
};
pub use errors::{PolicyErrors, PolicyProblem};
pub use facts::{
    Agent, Client, Consent, ConsentRule, Environment, ExtensionMethod, Facts, Hints, Host,
    Permissions, Pin, Principal, Prompt, Resource, ResourceFacts, SamplingTerms, Server,
    SessionState, StandingConsent, Tool,
};
pub use labels::{
    AgentLabels, AllOwnDirectories, ApprovedDestination, Base, BaseProblem, CanonicalPathError,
    CanonicalPaths, DatasetsBy, Destination, DestinationSyntax, Holder, Labels, OwnDirectory,
    ResourceLabels, ResourceProblem, Resources, Root, RootProblem, Roots, ServerSet,
    TemplateProblem, ToolLabels, UNREADABLE_DESTINATION, UNREADABLE_HOST, VirtualPathError,
    host_in, host_named, opened_as, page_host, spelled_like,
};
pub use lock::{
    ARGUMENTS as LOCKED_ARGUMENTS, DRIFT as LOCK_DRIFT, DefinitionFingerprint, Lock, LockedPrompt,
    LockedTexts, LockedTool, PROMPT_DRIFT as LOCK_PROMPT_DRIFT, Pinning,
};
pub use message_facts::{Arguments, Leaf, Received, Targets};
pub use mutant::{Mutant, MutantKind, MutantRule};
pub use observe::{Evaluation, ListEvaluation, Observer};
pub use options::options;
pub use partial::{AgentFacts, PartialDecision, PartialRequest, Tristate};
pub use revision_diff::RevisionDiff;
pub use sampling::{AGENTIC as SAMPLING_AGENTIC, APPROVED as SAMPLING_APPROVED};
pub use sensitivity::{LEVELS, MAX_LEVEL, SessionSensitivity};
pub use server_key::{SERVER_KEYS, ServerKey, UNKNOWN_SERVER};
pub use shape::{
    Member, MismatchKind, Presence, RecordShape, Scalar, TypeMismatch, UntypedMember, ValueShape,
};
pub use snapshot::{Listing, PolicySnapshot, Revision};
pub use source::{PolicyEntry, PolicySource};
pub use store::PolicyStore;
pub use trace::{
    AttributeRead, ConditionPart, PartKind, PartTrace, PartValue, PolicyOutline, PolicyTrace,
    RuleEffect, Trace,
};
pub use uris::{NonCanonicalUri, canonical_template, canonical_uri, with_plain_slashes};

/// The file of the rules that `[ratchet.network]` comes to. What they close the gate hides itself.
pub const RATCHET_FILE: &str = "<ratchet.cedar>";

/// The file of the rules of `[flow]`.
pub const FLOW_FILE: &str = "<flow.cedar>";
