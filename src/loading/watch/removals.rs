//! What new policies lack of those in force.
//!
//! A file that is being written, or whose writer died, may be valid and incomplete: cut at the end
//! of a rule, it lacks those that follow, and a `forbid` may be among them.

use std::collections::HashSet;

use super::super::directory::of_files;
use super::OnRemoval;
use crate::policy::{PolicyEntry, PolicyProblem, PolicySnapshot, PolicySource};

const CODE: &str = "policy::removed";

const HELP: &str =
    "if that is meant, send SIGHUP to the gate, or set `on_removal = \"accept\"` in `[policy]`";

/// Why `new` must not replace `old`.
pub(super) fn problems(
    old: &PolicySnapshot,
    new: &PolicySnapshot,
    on_removal: OnRemoval,
) -> Vec<PolicyProblem> {
    if has_policies(old) && !has_policies(new) {
        let message = "no policy is left in the directory";
        let help = "policies may go one by one, but the last one not while the gate runs";
        return vec![PolicyProblem::error(CODE, message).with_help(help)];
    }
    match on_removal {
        OnRemoval::Accept => Vec::new(),
        OnRemoval::Keep => policies(old, new)
            .chain(labels(old, new))
            .chain(locked(old, new))
            .collect(),
    }
}

/// Policies that are not there in the same words: of those with an `@id`, the ones whose id is gone;
/// of those that are called by their line, which any edit moves, all if there are fewer than before.
fn policies<'s>(
    old: &'s PolicySnapshot,
    new: &'s PolicySnapshot,
) -> impl Iterator<Item = PolicyProblem> + 's {
    let ids: HashSet<_> = from_files(new).map(|policy| &policy.id).collect();
    let texts: HashSet<_> = from_files(new).map(|policy| &policy.text).collect();
    let unnamed = |of| from_files(of).filter(|policy| !is_named(policy)).count();
    let fewer = unnamed(new) < unnamed(old);
    let is_gone = move |policy: &PolicyEntry| {
        if is_named(policy) {
            !ids.contains(&policy.id)
        } else {
            fewer
        }
    };
    from_files(old)
        .filter(move |policy| !texts.contains(&policy.text) && is_gone(policy))
        .map(|policy| {
            let message = if is_named(policy) {
                let (file, id) = (&policy.origin.file, policy.id.as_str());
                format!("`{file}`: the policy `{id}` is in force and is not there")
            } else {
                format!(
                    "`{}`: this policy is in force and is not there",
                    policy.origin
                )
            };
            PolicyProblem::error(CODE, message).with_help(HELP)
        })
}

/// Files of labels that have gone or were cut.
fn labels<'s>(
    old: &'s PolicySnapshot,
    new: &'s PolicySnapshot,
) -> impl Iterator<Item = PolicyProblem> + 's {
    let is_shorter = |then: &PolicySource, now: &PolicySource| {
        let now = now.text.trim_end();
        now.len() < then.text.trim_end().len() && then.text.starts_with(now)
    };
    of_files(old)
        .filter(|source| super::super::labels::claims(source.name.as_ref().as_ref()))
        .filter(move |then| {
            let now = of_files(new).find(|now| now.name == then.name);
            !then.text.trim().is_empty() && now.is_none_or(|now| is_shorter(then, now))
        })
        .map(|source| {
            let message = format!("`{}`: labels are in force and are not there", source.name);
            PolicyProblem::error(CODE, message).with_help(HELP)
        })
}

/// Tools whose approved definition nobody would compare any more.
fn locked<'s>(
    old: &'s PolicySnapshot,
    new: &'s PolicySnapshot,
) -> impl Iterator<Item = PolicyProblem> + 's {
    let gone = old.lock().tools();
    let gone = gone.filter(|(name, _)| new.lock().tool(name).is_none());
    gone.map(|(name, _)| {
        let name = name.escape_debug();
        let message = format!("`{name}` is locked, and is not in the lock any more");
        PolicyProblem::error(CODE, message).with_help(HELP)
    })
}

fn is_named(policy: &PolicyEntry) -> bool {
    policy.id.as_str() != policy.origin.to_string()
}

fn has_policies(snapshot: &PolicySnapshot) -> bool {
    from_files(snapshot).next().is_some()
}

fn from_files(snapshot: &PolicySnapshot) -> impl Iterator<Item = &PolicyEntry> {
    let policies = snapshot.policies().iter();
    policies.filter(|policy| !policy.origin.file.starts_with('<'))
}
