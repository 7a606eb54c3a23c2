//! What new policies lack of those in force.
//!
//! A file that is being written, or whose writer died, may be valid and incomplete: cut at the end
//! of a rule, it lacks those that follow, and a `forbid` may be among them; cut in a rule of CEL or
//! Rego, or in labels, it lacks what narrows or closes. So all that is in force has to be there.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::super::directory::of_files;
use super::super::engines::EngineKinds;
use super::super::labels::claims;
use super::super::lock;
use super::super::settings::OnRemoval;
use crate::policy::{PolicyEntry, PolicyProblem, PolicySnapshot, PolicySource, ServerKey};

const CODE: &str = "policy::removed";

const HELP: &str = "if that is meant, send SIGHUP to the gate, set `on_policy_removal = \"apply\"` in `[policy]`, or \
     write a `MANIFEST` with the policies: `mcp-protector policy manifest DIR`";

/// Why `new` must not replace `old`. `directories` are those that hold the new ones, each by the server whose own they
/// are, and `servers` those that there are: a server that was removed needs no policies of its own.
pub(super) fn problems(
    old: &PolicySnapshot,
    new: &PolicySnapshot,
    directories: &[(Option<&ServerKey>, &Path)],
    servers: &[ServerKey],
    on_policy_removal: OnRemoval,
) -> Vec<PolicyProblem> {
    let help = "policies may go one by one, but the last one not while the gate runs";
    let none_left = |message: String| PolicyProblem::error(CODE, message).with_help(help);
    if has_policies(old) && !has_policies(new) {
        return vec![none_left("no policy is left in the directory".to_owned())];
    }
    let has_some = |of, server| from_files(of).any(|policy| policy.server.as_ref() == server);
    let emptied = directories
        .iter()
        .filter(|(server, _)| has_some(old, *server) && !has_some(new, *server));
    let emptied: Vec<_> = emptied
        .map(|(_, dir)| none_left(format!("no policy is left in `{}`", dir.display())))
        .collect();
    if !emptied.is_empty() {
        return emptied;
    }
    match on_policy_removal {
        OnRemoval::Reject if !new.has_manifest() => {
            let unlisted = "`MANIFEST` was there, and is not there any more".to_owned();
            let unlisted = old.has_manifest().then(|| missed(unlisted));
            unlisted
                .into_iter()
                .chain(gone(old, new, servers))
                .collect()
        }
        OnRemoval::Reject | OnRemoval::Apply => Vec::new(),
    }
}

/// What `new` lacks because its manifest says so.
pub(super) fn meant(
    old: &PolicySnapshot,
    new: &PolicySnapshot,
    servers: &[ServerKey],
) -> Vec<PolicyProblem> {
    if !new.has_manifest() {
        return Vec::new();
    }
    gone(old, new, servers)
        .map(|problem| {
            let message = format!("{}, as `MANIFEST` says", problem.message);
            PolicyProblem::warning(CODE, message)
        })
        .collect()
}

fn gone<'s>(
    old: &'s PolicySnapshot,
    new: &'s PolicySnapshot,
    servers: &'s [ServerKey],
) -> impl Iterator<Item = PolicyProblem> + 's {
    let stays = |server: &Option<ServerKey>| server.as_ref().is_none_or(|it| servers.contains(it));
    policies(old, new)
        .filter(move |policy| stays(&policy.server))
        .map(policy_is_gone)
        .chain(parts(old, new, stays))
        .chain(labels(old, new, stays))
        .chain(locked(old, new))
}

/// Policies that are not there in the same words: of those with an `@id`, the ones whose id is gone;
/// of those that are called by their line, which any edit moves, all if there are fewer than before.
fn policies<'s>(
    old: &'s PolicySnapshot,
    new: &'s PolicySnapshot,
) -> impl Iterator<Item = &'s PolicyEntry> {
    // The same words are another policy at another server.
    let id = |policy: &'s PolicyEntry| (&policy.server, &policy.id);
    let words = |policy: &'s PolicyEntry| (&policy.server, &policy.text);
    let ids: HashSet<_> = from_files(new).map(id).collect();
    let texts: HashSet<_> = from_files(new).map(words).collect();
    let unnamed = |of| -> HashMap<&Option<ServerKey>, usize> {
        let mut counts = HashMap::new();
        for policy in from_files(of).filter(|policy| !policy.is_named()) {
            *counts.entry(&policy.server).or_default() += 1;
        }
        counts
    };
    let (then, now) = (unnamed(old), unnamed(new));
    let is_gone = move |policy: &'s PolicyEntry| {
        if policy.is_named() {
            !ids.contains(&id(policy))
        } else {
            now.get(&policy.server) < then.get(&policy.server)
        }
    };
    from_files(old).filter(move |policy| !texts.contains(&words(policy)) && is_gone(policy))
}

fn policy_is_gone(policy: &PolicyEntry) -> PolicyProblem {
    missed(if policy.is_named() {
        let (file, id) = (&policy.origin.file, policy.id.as_str());
        format!("`{file}`: the policy `{id}` is in force and is not there")
    } else {
        let origin = &policy.origin;
        format!("`{origin}`: this policy is in force and is not there")
    })
}

/// Parts of rules that have gone, though the rules are there.
fn parts(
    old: &PolicySnapshot,
    new: &PolicySnapshot,
    stays: impl Fn(&Option<ServerKey>) -> bool,
) -> impl Iterator<Item = PolicyProblem> {
    let sources = |of: &PolicySnapshot| -> Vec<PolicySource> {
        let all = of_files(of).filter(|source| stays(&source.server));
        all.cloned().collect()
    };
    let lost = EngineKinds::default().lost(&sources(old), &sources(new));
    lost.into_iter().map(missed)
}

/// What files of labels do not say any more, and a lock that has gone.
fn labels(
    old: &PolicySnapshot,
    new: &PolicySnapshot,
    stays: impl Fn(&Option<ServerKey>) -> bool,
) -> impl Iterator<Item = PolicyProblem> {
    let files = |of| -> (Vec<&PolicySource>, Vec<&PolicySource>) {
        of_files(of)
            .filter(|source| claims(source.name.as_ref().as_ref()) && stays(&source.server))
            .partition(|source| lock::claims(source.name.as_ref().as_ref()))
    };
    let (locks, old) = files(old);
    let (new_locks, new) = files(new);
    let lost = super::super::labels::lost(&old, &new);
    let gone = locks
        .into_iter()
        .filter(move |then| !new_locks.iter().any(|now| now.name == then.name))
        .map(|lock| format!("`{}`: labels are in force and are not there", lock.name));
    let all: Vec<String> = lost.into_iter().chain(gone).collect();
    all.into_iter().map(missed)
}

/// Approved definitions that would not be compared any more.
fn locked(old: &PolicySnapshot, new: &PolicySnapshot) -> impl Iterator<Item = PolicyProblem> {
    let tools = old.lock().tools().map(|(name, _)| name);
    let gone = tools.filter(|name| new.lock().tool(name).is_none());
    let prompts = |of: &PolicySnapshot| -> Vec<String> {
        let words = of.lock().words().into_iter();
        words
            .flat_map(|words| words.prompts.keys().cloned())
            .collect()
    };
    let now = prompts(new);
    let then = prompts(old);
    let prompts = then.iter().filter(|name| !now.contains(name));
    let mut told: Vec<String> = gone
        .chain(prompts.map(String::as_str))
        .map(|name| {
            let name = name.escape_debug();
            format!("`{name}` is locked, and is not in the lock any more")
        })
        .collect();
    if old.lock().words().is_some() && new.lock().words().is_none() {
        told.push("the lock says nothing of prompts and instructions any more".to_owned());
    }
    told.into_iter().map(missed)
}

fn missed(message: String) -> PolicyProblem {
    PolicyProblem::error(CODE, message).with_help(HELP)
}

fn has_policies(snapshot: &PolicySnapshot) -> bool {
    from_files(snapshot).next().is_some()
}

fn from_files(snapshot: &PolicySnapshot) -> impl Iterator<Item = &PolicyEntry> {
    let policies = snapshot.policies().iter();
    policies.filter(|policy| !policy.origin.file.starts_with('<'))
}
