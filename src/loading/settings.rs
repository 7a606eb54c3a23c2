//! Where policies come from, and what happens when they change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::flow::FlowRules;
use super::network::EgressRules;
use crate::policy::{Base, ChangeKinds, ConfiguredClaims, Pinning, ServerKey, WarningMode};

/// Where policies come from.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Exact tool names. `None` and an empty list both permit no tool.
    pub allow: Option<Vec<String>>,
    /// Every file below it that some engine claims counts: `*.cedar`, `*.rego`, `*.cel.toml`.
    pub dir: Option<PathBuf>,
    /// The directories of servers' own policies, of several servers.
    pub own: BTreeMap<ServerKey, PathBuf>,
    /// A shadow policy for the next revision: its files count as those of `dir` do, and what they would
    /// decide is recorded.
    pub shadow: Option<PathBuf>,
    pub other_methods: OtherMethods,
    pub warnings: WarningMode,
    /// What definitions of tools are held to.
    pub lock: Pinning,
    /// Changes that pass where definitions are held to what was seen first.
    pub passing: ChangeKinds,
    /// What the configuration says of claims; `None` where there is none.
    pub claims: Option<Arc<ConfiguredClaims>>,
    /// When the directory is read again.
    pub reload: Reload,
    /// What happens when it then lacks policies.
    pub on_policy_removal: OnRemoval,
    /// Whether tools need a label that names their permission.
    pub labels: RequiredLabels,
    /// From where the server resolves relative paths, as far as labels do not say.
    pub base: Option<Base>,
    /// How far tools that connect may reach, by what the session has read.
    pub network: EgressRules,
    /// What may flow from one of several servers to another.
    pub flow: FlowRules,
    /// What servers may connect to through the egress proxy, each as `host:port`.
    pub egress: Vec<String>,
    /// The keys of several servers: names of their tools begin with them.
    pub servers: Vec<ServerKey>,
}

impl Settings {
    /// Whether there are policies in files.
    pub(super) fn has_files(&self) -> bool {
        self.dir.is_some() || !self.own.is_empty()
    }

    /// Whether anything is read from files, the shadow policy included.
    pub fn reads_files(&self) -> bool {
        self.has_files() || self.shadow.is_some()
    }

    /// The directories of the policies, each with the server whose own they are.
    pub fn directories(&self) -> Vec<(Option<&ServerKey>, &Path)> {
        let all = self.dir.iter().map(|dir| (None, dir.as_path()));
        let own = self.own.iter();
        all.chain(own.map(|(key, dir)| (Some(key), dir.as_path())))
            .collect()
    }
}

/// Which labels tools need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequiredLabels {
    #[default]
    None,
    /// `permission` in `tools.toml`.
    Permission,
}

/// What an agent may do beside calling tools, where there is an allowlist and no directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtherMethods {
    #[default]
    Allow,
    Deny,
}

/// When policies are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reload {
    /// After a change, and on request.
    #[default]
    Watch,
    /// On request.
    Off,
}

/// What happens when what changed lacks policies that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnRemoval {
    /// The gate keeps the policies in force: a half-written file looks the same.
    #[default]
    Reject,
    /// The gate applies the new policies.
    Apply,
}
