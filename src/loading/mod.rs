//! Files to policy snapshot.
//!
//! Everything is read whole before anything is compiled, and all problems of all files are reported
//! at once. What cannot be read is an error; what is empty permits nothing, and says so.

mod builtin_policies;
mod claim_names;
mod directory;
mod egress;
mod engines;
mod flow;
mod labels;
mod load;
mod load_report;
mod lock;
mod manifest;
mod network;
mod own_policies;
mod settings;
mod several;
mod source_name;
#[cfg(test)]
mod tests;
mod unrecognized_files;
mod watch;

pub use self::flow::{FlowRule, FlowRules};
pub use self::labels::AGENTS as AGENTS_FILE;
pub use self::load::{
    LoadedPolicies, PolicySurvey, agents_files, doubt, labelled_tools, load, load_changed,
    load_with_labels, manifest, survey,
};
pub use self::lock::{
    FILE as LOCK_FILE, LockFile, LockedItem, UnlockableDefinition, pretty, push_quoted,
};
pub use self::manifest::FILE as MANIFEST_FILE;
pub use self::network::{EgressReach, EgressRules};
pub use self::settings::{OnRemoval, OtherMethods, Reload, RequiredLabels, Settings};
pub use crate::policy::{Pinning, WarningMode};
pub use builtin_policies::{BUILTIN_POLICIES, BuiltinPolicy, builtin_policies};
pub use source_name::source_name;
pub use watch::{
    LoadedSource, NoSource, PathChanges, ReloadAttempt, ReloadCause, ReloadError, ReloadOutcome,
    Source, SourceSettings, WakeReason, Waker, Watch, holds_back,
};

pub(crate) use self::engines::claims;
