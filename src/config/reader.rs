//! One pass over one file: what sections ask for, and what they find wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use secrecy::SecretString;

use super::errors::{ConfigError, ConfigReason};
use super::file::ParsedFile;
use super::variables::Variables;

/// Everything that is learned while sections are read.
pub(super) struct ConfigReader<'t> {
    pub(super) written: &'t ParsedFile<'t>,
    pub(super) variables: &'t Variables<'t>,
    pub(super) unset: UnsetVariable,
    pub(super) known: KnownKeys,
    /// The vocabulary of the format, which is public wherever it stands.
    pub(super) words: BTreeSet<&'static str>,
    /// Places of values that reports may show.
    pub(super) shown: Vec<Range<usize>>,
    /// Places of keys that reports must not show.
    pub(super) hidden: Vec<Range<usize>>,
    pub(super) unknown: Vec<UnknownKey>,
    pub(super) problems: Vec<ConfigError>,
    /// Environment variables that took part in some value.
    pub(super) taken: BTreeMap<String, SecretString>,
}

/// What becomes of `${NAME}` where there is no such variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsetVariable {
    /// It is an error that names the field.
    Refused,
    /// Something stands for it, in values that no decision depends on.
    StandIn,
}

/// Every key that sections asked for, by section and key; `*` is a key that authors choose.
pub(super) type KnownKeys = BTreeMap<(String, &'static str), KeyAvailability>;

/// Whether a key can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAvailability {
    Now,
    Later,
}

/// A key that nothing asked for.
#[derive(Debug)]
pub(super) struct UnknownKey {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) place: Range<usize>,
}

impl<'t> ConfigReader<'t> {
    pub(super) fn new(written: &'t ParsedFile<'t>, variables: &'t Variables<'t>) -> Self {
        Self {
            written,
            variables,
            unset: UnsetVariable::Refused,
            known: BTreeMap::new(),
            words: BTreeSet::new(),
            shown: Vec::new(),
            hidden: Vec::new(),
            unknown: Vec::new(),
            taken: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    /// Whether the type of a field was told to be wrong.
    pub(super) fn has_told_of_type(&self, field: &str) -> bool {
        let is_of_type = |reason: &ConfigReason| matches!(reason, ConfigReason::WrongType { .. });
        let mut problems = self.problems.iter();
        problems.any(|it| it.field == field && is_of_type(&it.reason))
    }

    /// What touches a place that the parser could not read is not worth a second report.
    pub(super) fn tell(
        &mut self,
        field: &str,
        place: Option<Range<usize>>,
        reason: ConfigReason,
        help: Option<String>,
    ) {
        if place
            .as_ref()
            .is_some_and(|place| self.written.is_broken(place))
        {
            return;
        }
        let label = if reason.is_missing() {
            "in this section"
        } else {
            "here"
        };
        self.problems.push(ConfigError {
            field: field.to_owned(),
            reason,
            help,
            labels: place.map(|place| (place, label)).into_iter().collect(),
            snippets: None,
        });
    }
}
