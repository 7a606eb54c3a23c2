//! What lints look at.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::policy::engines::cedar::PolicyTree;
use crate::policy::{Labels, Lock, PolicySource};

/// The texts of one directory, or of one configuration, and what is known beside them.
#[derive(Debug, Default)]
pub struct Material {
    /// Files of policies.
    pub policies: Vec<PolicySource>,
    /// `agents.toml` and `tools.toml`.
    pub labels: Vec<PolicySource>,
    /// What those say.
    pub said: Labels,
    /// Tools whose permission a label names, where the others are closed.
    pub labelled: Option<BTreeSet<String>>,
    /// The approved definitions of tools.
    pub lock: Arc<Lock>,
    /// Exact tool names that are permitted beside the policies.
    pub allow: Option<Vec<String>>,
    /// The configuration that names them.
    pub configuration: Option<PolicySource>,
    /// Tools that some test calls or lists; `None` where there are no tests to go by.
    pub tested: Option<BTreeSet<String>>,
    /// What the gate may say.
    pub words: KnownWords,
    /// What the configuration calls its server.
    pub server: Option<String>,
    /// When it is looked at: milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// Words that the gate fills in, of each kind; an empty set means that they are unknown.
#[derive(Debug, Default)]
pub struct KnownWords {
    /// Kinds of credentials.
    pub secrets: BTreeSet<String>,
    /// What instructs a model, or hides.
    pub flags: BTreeSet<String>,
    /// What the action `notify` is about.
    pub methods: BTreeSet<String>,
}

/// The same, with the policies read.
pub(super) struct LintContext<'m> {
    pub(super) policies: &'m [PolicyTree<'m>],
    pub(super) given: &'m Material,
}

impl LintContext<'_> {
    /// Whether some file of labels is called so.
    pub(super) fn has(&self, file: &str) -> bool {
        self.label_files(file).next().is_some()
    }

    pub(super) fn label_files(&self, file: &str) -> impl Iterator<Item = &PolicySource> {
        let labels = self.given.labels.iter();
        labels.filter(move |source| source.name.ends_with(file))
    }
}
