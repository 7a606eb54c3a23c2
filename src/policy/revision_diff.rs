//! What new policies change of those before them, by name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::snapshot::PolicySnapshot;
use super::source::PolicyEntry;

/// Names that are told of each kind of change; of the others it is said how many there are.
const FEW: usize = 8;

const SAME: &str = "no policy has changed; something beside them has: names of files, labels, definitions or comments";

/// The policies in which two revisions differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevisionDiff {
    gone: BTreeSet<String>,
    new: BTreeSet<String>,
    changed: BTreeSet<String>,
}

impl RevisionDiff {
    pub fn of(old: &PolicySnapshot, new: &PolicySnapshot) -> Self {
        let mut replaced = Self::default();
        replaced.compare_named(old, new);
        replaced.compare_unnamed(old, new);
        replaced
    }

    fn compare_named(&mut self, old: &PolicySnapshot, new: &PolicySnapshot) {
        let (old, new) = (named(old), named(new));
        let lacking = |in_: &BTreeMap<&str, &str>, of: &BTreeMap<&str, &str>| -> Vec<String> {
            let names = of.keys().filter(|name| !in_.contains_key(*name));
            names.map(|name| (*name).to_owned()).collect()
        };
        let changed = old
            .iter()
            .filter(|(name, text)| new.get(*name).is_some_and(|now| now != *text));
        self.gone.extend(lacking(&new, &old));
        self.new.extend(lacking(&old, &new));
        self.changed
            .extend(changed.map(|(name, _)| (*name).to_owned()));
    }

    /// Policies that are called by their line, which any edit moves: one in the same words is the same
    /// one, wherever it stands. Of the others in a file, as many as there were before have changed.
    fn compare_unnamed(&mut self, old: &PolicySnapshot, new: &PolicySnapshot) {
        let (mut then, mut now) = (lacking_words(old, new), lacking_words(new, old));
        let files: BTreeSet<&str> = then.keys().chain(now.keys()).copied().collect();
        for file in files {
            let then = then.remove(file).unwrap_or_default();
            let now = now.remove(file).unwrap_or_default();
            let both = then.len().min(now.len());
            self.gone.extend(then.into_iter().skip(both));
            let (changed, new) = now.split_at(both);
            self.changed.extend(changed.iter().cloned());
            self.new.extend(new.iter().cloned());
        }
    }
}

fn named(of: &PolicySnapshot) -> BTreeMap<&str, &str> {
    let policies = of.policies().iter().filter(|policy| policy.is_named());
    policies.map(|it| (it.id.as_str(), &*it.text)).collect()
}

/// By file, the policies without a name of their own whose words are not among the others'.
fn lacking_words<'s>(
    of: &'s PolicySnapshot,
    others: &PolicySnapshot,
) -> BTreeMap<&'s str, Vec<String>> {
    let mut found: HashMap<_, usize> = HashMap::new();
    for other in unnamed(others) {
        *found.entry((&other.server, &*other.text)).or_default() += 1;
    }
    let mut lacking: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for policy in unnamed(of) {
        if let Some(left @ 1..) = found.get_mut(&(&policy.server, &*policy.text)) {
            *left -= 1;
        } else {
            let name = policy.id.as_str().to_owned();
            lacking.entry(&policy.origin.file).or_default().push(name);
        }
    }
    lacking
}

fn unnamed(of: &PolicySnapshot) -> impl Iterator<Item = &PolicyEntry> {
    of.policies().iter().filter(|policy| !policy.is_named())
}

impl fmt::Display for RevisionDiff {
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
            f.write_str(SAME)
        } else {
            f.write_str(&told.join("; "))
        }
    }
}

fn some(names: &BTreeSet<String>) -> String {
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
    use crate::policy::{PolicyEntry, PolicyId, PolicyOrigin};

    /// Policies by their names and words; one whose name ends in a number is called by its line.
    fn snapshot(policies: &[(&str, &str)]) -> PolicySnapshot {
        let entry = |(id, text): &(&str, &str)| {
            let (file, line) = id.split_once(':').unwrap_or(("a.cedar", "1"));
            PolicyEntry {
                id: PolicyId::new(id),
                origin: PolicyOrigin {
                    file: file.into(),
                    line: line.parse().unwrap(),
                },
                text: (*text).into(),
                server: None,
            }
        };
        PolicySnapshot::new(Vec::new(), Vec::new(), policies.iter().map(entry).collect())
    }

    #[track_caller]
    fn check(old: &[(&str, &str)], new: &[(&str, &str)], expected: &str) {
        let replaced = RevisionDiff::of(&snapshot(old), &snapshot(new));
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
        check(&old, &old, SAME);
    }

    #[test]
    fn policies_that_are_called_by_their_line_are_told_apart_by_their_words() {
        let old = [("a:1", "x"), ("a:3", "y"), ("b:1", "y")];
        check(&old, &[("a:2", "x"), ("a:4", "y"), ("b:1", "y")], SAME);
        check(&old, &[("b:1", "x"), ("b:3", "y"), ("c:1", "y")], SAME);
        check(&old, &[("a:2", "y"), ("b:1", "y")], "gone `a:1`");
        check(
            &old,
            &[("a:2", "x"), ("a:4", "y"), ("a:6", "w"), ("b:1", "z")],
            "new `a:6`; changed `b:1`",
        );
        check(&old, &[("a:1", "x"), ("a:3", "y")], "gone `b:1`");
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
