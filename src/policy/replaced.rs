//! What new policies change of those before them, by name.

use std::collections::BTreeMap;
use std::fmt;

use super::snapshot::PolicySnapshot;

/// Names that are told of each kind of change; of the others it is said how many there are.
const FEW: usize = 8;

/// The policies in which two revisions differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    gone: Vec<String>,
    new: Vec<String>,
    changed: Vec<String>,
}

impl Replaced {
    pub fn of(old: &PolicySnapshot, new: &PolicySnapshot) -> Self {
        let (old, new) = (texts(old), texts(new));
        let lacking = |in_: &BTreeMap<&str, &str>, of: &BTreeMap<&str, &str>| -> Vec<String> {
            let names = of.keys().filter(|name| !in_.contains_key(*name));
            names.map(|name| (*name).to_owned()).collect()
        };
        let changed = old
            .iter()
            .filter(|(name, text)| new.get(*name).is_some_and(|now| now != *text));
        Self {
            gone: lacking(&new, &old),
            new: lacking(&old, &new),
            changed: changed.map(|(name, _)| (*name).to_owned()).collect(),
        }
    }
}

fn texts(of: &PolicySnapshot) -> BTreeMap<&str, &str> {
    let policies = of.policies().iter();
    policies.map(|it| (it.id.as_str(), &*it.text)).collect()
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("gone", &self.gone),
            ("new", &self.new),
            ("changed", &self.changed),
        ];
        let told = kinds.into_iter().filter(|(_, names)| !names.is_empty());
        let told: Vec<String> = told
            .map(|(kind, names)| format!("{kind} {}", some(names)))
            .collect();
        if told.is_empty() {
            f.write_str("each policy is as before, labels, definitions or comments are not")
        } else {
            f.write_str(&told.join("; "))
        }
    }
}

fn some(names: &[String]) -> String {
    let shown = names.iter().take(FEW);
    let shown: Vec<String> = shown
        .map(|name| format!("`{}`", name.escape_debug()))
        .collect();
    let more = names.len().saturating_sub(FEW);
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Origin, PolicyEntry, PolicyId};

    fn snapshot(policies: &[(&str, &str)]) -> PolicySnapshot {
        let entry = |(id, text): &(&str, &str)| PolicyEntry {
            id: PolicyId::new(id),
            origin: Origin {
                file: "a.cedar".into(),
                line: 1,
            },
            text: (*text).into(),
        };
        PolicySnapshot::new(Vec::new(), Vec::new(), policies.iter().map(entry).collect())
    }

    #[track_caller]
    fn check(old: &[(&str, &str)], new: &[(&str, &str)], expected: &str) {
        let replaced = Replaced::of(&snapshot(old), &snapshot(new));
        assert_eq!(replaced.to_string(), expected);
    }

    #[test]
    fn policies_that_are_gone_new_or_changed_are_named() {
        let old = [("deny-secrets", "a"), ("read", "b"), ("write", "c")];
        check(
            &old,
            &[("read", "b"), ("write", "c")],
            "gone `deny-secrets`",
        );
        check(
            &old,
            &[("ask", "a"), ("read", "b2"), ("write", "c")],
            "gone `deny-secrets`; new `ask`; changed `read`",
        );
        check(&[], &[("a\n", "")], "new `a\\n`");
        check(
            &old,
            &old,
            "each policy is as before, labels, definitions or comments are not",
        );
    }

    #[test]
    fn of_many_some_are_named() {
        let names: Vec<String> = (10..30).map(|number| number.to_string()).collect();
        let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        check(
            &many,
            &[],
            "gone `10`, `11`, `12`, `13`, `14`, `15`, `16`, `17` and 12 more",
        );
    }
}
