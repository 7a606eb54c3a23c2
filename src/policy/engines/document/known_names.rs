//! The names that documents have.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{DocumentNode, samples};
use crate::policy::suggest::{did_you_mean, list};

/// The names below a name, over all documents that there can be; nothing below what is no object,
/// or an object of an agent's making.
#[derive(Debug, Default)]
pub(in super::super) struct KnownNames(BTreeMap<Cow<'static, str>, KnownNames>);

/// A name that no document has, and what was perhaps meant.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct UnknownName {
    pub(in super::super) message: String,
    pub(in super::super) help: String,
}

impl KnownNames {
    pub(in super::super) fn get() -> &'static Self {
        static KNOWN: LazyLock<KnownNames> = LazyLock::new(|| {
            let mut known = KnownNames::default();
            for sample in samples() {
                for (name, node) in sample {
                    known.0.entry(name).or_default().learn(node);
                }
            }
            known
        });
        &KNOWN
    }

    /// What is known below a name; `None` where anything goes.
    pub(in super::super) fn below(&self, name: &str) -> Result<Option<&Self>, UnknownName> {
        if self.0.is_empty() {
            return Ok(None);
        }
        if let Some(found) = self.0.get(name) {
            return Ok(Some(found));
        }
        let help = did_you_mean(name, self.0.keys().map(AsRef::as_ref))
            .unwrap_or_else(|| format!("known here: {}", list(self.0.keys())));
        Err(UnknownName {
            message: format!("nothing is called `{}` here", name.escape_debug()),
            help,
        })
    }

    fn learn(&mut self, node: DocumentNode<'static>) {
        if let DocumentNode::Object(members) = node {
            for (name, node) in members {
                self.0.entry(name).or_default().learn(node);
            }
        }
    }
}
