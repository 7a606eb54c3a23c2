//! All rules in force, frozen.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::combine::combine;
use super::decision::{Decision, EngineFault, Origin, PolicyId};
use super::engine::{ListFacts, RuleEngine, Visibility};
use super::facts::{Facts, Resource};

/// One revision of the policy. A message is judged, and its reply too, by one snapshot.
#[derive(Debug)]
pub struct PolicySnapshot {
    revision: Revision,
    engines: Vec<Box<dyn RuleEngine>>,
    sources: Vec<PolicySource>,
    policies: Vec<PolicyEntry>,
}

/// The SHA-256 digest over the names and texts of all sources, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Revision(Arc<str>);

/// One text that rules were compiled from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySource {
    /// The path as the user would write it, or `<…>` for what is built in or compiled.
    pub name: Arc<str>,
    pub text: Arc<str>,
}

/// Which items of a list may be shown, and what went wrong while finding out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// One for each item, in order.
    pub shown: Vec<bool>,
    /// What hid an item because an engine could not tell.
    pub faults: Vec<EngineFault>,
}

/// Where a policy's text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyEntry {
    pub id: PolicyId,
    pub origin: Origin,
    /// The policy's own text, annotations included.
    pub text: Arc<str>,
}

impl PolicySnapshot {
    pub fn new(
        engines: Vec<Box<dyn RuleEngine>>,
        sources: Vec<PolicySource>,
        policies: Vec<PolicyEntry>,
    ) -> Self {
        Self {
            revision: Revision::of(&sources),
            engines,
            sources,
            policies,
        }
    }

    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    pub fn sources(&self) -> &[PolicySource] {
        &self.sources
    }

    pub fn policies(&self) -> &[PolicyEntry] {
        &self.policies
    }

    pub fn judge(&self, facts: &Facts<'_>) -> Decision {
        combine(self.engines.iter().map(|engine| engine.judge(facts)))
    }

    /// For each item of a list, whether to show it. See [`PolicySnapshot::listing`] for the faults.
    pub fn visible(&self, facts: &ListFacts<'_>, items: &[Resource<'_>]) -> Vec<bool> {
        self.listing(facts, items).shown
    }

    /// An item is shown when some engine could permit a use of it and none hides it. A fault hides.
    pub fn listing(&self, facts: &ListFacts<'_>, items: &[Resource<'_>]) -> Listing {
        let mut hidden = vec![false; items.len()];
        let mut wanted = vec![false; items.len()];
        let mut faults = Vec::new();
        for engine in &self.engines {
            // An engine that answers too little must not show what it did not answer for.
            let missing = std::iter::repeat_with(|| Ok(Visibility::Hidden));
            let answers = engine.visible(facts, items).into_iter().chain(missing);
            for ((hidden, wanted), answer) in hidden.iter_mut().zip(&mut wanted).zip(answers) {
                match answer {
                    Ok(Visibility::Shown) => *wanted = true,
                    Ok(Visibility::Hidden) => *hidden = true,
                    Ok(Visibility::Abstain) => {}
                    Err(fault) => {
                        *hidden = true;
                        faults.push(fault);
                    }
                }
            }
        }
        let shown = hidden
            .into_iter()
            .zip(wanted)
            .map(|(hidden, wanted)| wanted && !hidden);
        Listing {
            shown: shown.collect(),
            faults,
        }
    }

    /// Where a policy is written, and its text.
    pub fn policy_source(&self, id: &PolicyId) -> Option<(&Origin, &str)> {
        let entry = self.policies.iter().find(|entry| entry.id == *id)?;
        Some((&entry.origin, &entry.text))
    }
}

impl Revision {
    /// Each name and text is preceded by its length, so that moving bytes from one file to another
    /// gives another revision.
    fn of(sources: &[PolicySource]) -> Self {
        let mut digest = Sha256::new();
        for part in sources
            .iter()
            .flat_map(|source| [&source.name, &source.text])
        {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        let mut hex = String::with_capacity(64);
        for byte in digest.finalize() {
            hex.extend(
                [byte >> 4, byte & 15]
                    .into_iter()
                    .filter_map(|nibble| char::from_digit(u32::from(nibble), 16)),
            );
        }
        Self(hex.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_snapshot_has_the_digest_of_nothing() {
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Revision::of(&[]).as_str(), expected);
    }

    #[test]
    fn bytes_that_move_between_files_change_the_revision() {
        let split = |a: &str, b: &str| Revision::of(&[source("a", a), source("b", b)]);
        assert_ne!(split("permit", "forbid"), split("permitf", "orbid"));
        assert_ne!(
            Revision::of(&[source("ab", "c")]),
            Revision::of(&[source("a", "bc")])
        );
        assert_eq!(split("x", "y"), split("x", "y"));
    }

    fn source(name: &str, text: &str) -> PolicySource {
        PolicySource {
            name: name.into(),
            text: text.into(),
        }
    }
}
