//! Files to policy snapshot.
//!
//! Everything is read whole before anything is compiled, and all problems of all files are reported
//! at once. What cannot be read is an error; what is empty permits nothing, and says so.

mod directory;
mod engines;
mod labels;
#[cfg(test)]
mod tests;
mod unclaimed;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

use crate::policy::engines::allowlist::CompiledAllowlist;
use crate::policy::engines::cedar::ToolGroups;
use crate::policy::{
    Labels, OpenTools, PolicyErrors, PolicyProblem, PolicySnapshot, PolicySource, Surfaces,
};

pub use crate::policy::Warnings;
pub use watch::{Cause, OnRemoval, Reload, Taken, Turn, Watch};

use self::directory::Directory;
use self::engines::Kinds;

pub(crate) use self::engines::claims;

/// Where policies come from.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Exact tool names. `None` and an empty list both permit no tool.
    pub allow: Option<Vec<String>>,
    /// Every file below it that some engine claims counts: `*.cedar`, `*.rego`, `*.cel.toml`.
    pub dir: Option<PathBuf>,
    pub other_methods: OtherMethods,
    pub warnings: Warnings,
    /// When the directory is read again.
    pub reload: Reload,
    /// What happens when it then lacks policies.
    pub on_removal: OnRemoval,
}

/// What an agent may do beside calling tools, where there is an allowlist and no directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtherMethods {
    #[default]
    BasePack,
    Deny,
}

/// A snapshot that is fit to be published, and what to say about it.
#[derive(Debug)]
pub struct Loaded {
    pub snapshot: PolicySnapshot,
    /// What an operator should know; nothing here refuses the policies.
    pub notices: Vec<PolicyProblem>,
    pub surfaces: Surfaces,
}

pub fn load(settings: &Settings) -> Result<Loaded, PolicyErrors> {
    compile(settings, read(settings))
}

/// Everything that lies in the directory, read whole.
fn read(settings: &Settings) -> Directory {
    let mut found = Directory::default();
    if let Some(dir) = &settings.dir {
        found.read(dir, &Kinds::default());
    }
    found
}

fn compile(settings: &Settings, mut found: Directory) -> Result<Loaded, PolicyErrors> {
    let mut labels = Labels::default();
    let mut sources = vec![builtin(
        "<core.cedar>",
        include_str!("../policy/builtin/core.cedar"),
    )];
    let mut groups = ToolGroups::default();
    let mut entities = None;
    if let Some(names) = &settings.allow {
        found
            .notices
            .extend(names.iter().filter_map(|name| doubt(name)));
        let allowlist = CompiledAllowlist::of(names);
        groups = allowlist.groups;
        sources.push(allowlist.policy);
        entities = Some(allowlist.entities);
        let only_source = !names.is_empty() && settings.dir.is_none();
        if only_source && settings.other_methods == OtherMethods::BasePack {
            sources.push(builtin(
                "<base.cedar>",
                include_str!("../policy/builtin/base.cedar"),
            ));
        }
    }
    if settings.dir.is_some() {
        sources.append(&mut found.sources);
        labels = labels::read(&found.labels, &mut found.problems);
    }
    let compiled = Kinds::new(&groups, settings.warnings).compile(&sources);
    let compiled = match compiled {
        Ok(compiled) if found.problems.is_empty() => compiled,
        Ok(_) => {
            return Err(PolicyErrors {
                problems: found.problems,
            });
        }
        Err(errors) => {
            found.problems.extend(errors.problems);
            return Err(PolicyErrors {
                problems: found.problems,
            });
        }
    };
    let mut notices = found.notices;
    notices.extend(compiled.notices);
    notices.extend(empty_files(&sources, &compiled.policies));
    if compiled.surfaces.tools == OpenTools::None {
        notices.push(no_tools(settings));
    }
    sources.extend(entities);
    sources.append(&mut found.labels);
    let snapshot = PolicySnapshot::new(compiled.engines, sources, compiled.policies);
    let snapshot = snapshot.with_labels(labels);
    Ok(Loaded {
        snapshot,
        notices,
        surfaces: compiled.surfaces,
    })
}

fn builtin(name: &str, text: &str) -> PolicySource {
    PolicySource {
        name: name.into(),
        text: text.into(),
    }
}

fn empty_files(
    sources: &[PolicySource],
    policies: &[crate::policy::PolicyEntry],
) -> impl Iterator<Item = PolicyProblem> {
    let empty = sources.iter().filter(|source| {
        policies
            .iter()
            .all(|policy| !Arc::ptr_eq(&policy.origin.file, &source.name))
    });
    empty.map(|source| {
        let message = format!("`{}` holds no policy: it permits nothing", source.name);
        PolicyProblem::warning("policy::empty_file", message)
    })
}

fn no_tools(settings: &Settings) -> PolicyProblem {
    let why = match (&settings.allow, &settings.dir) {
        (None, None) => "there is neither an allowlist nor a policy directory",
        (Some(_), None) => "the allowlist is empty and there is no policy directory",
        (_, Some(_)) => "no policy permits it",
    };
    PolicyProblem::warning("policy::no_tools", format!("no tool can be called: {why}"))
}

/// A name in the allowlist that looks as if more was meant than the exact name.
fn doubt(name: &str) -> Option<PolicyProblem> {
    let why = if name.is_empty() {
        "is empty"
    } else if name.contains(['*', '?']) {
        "holds a `*` or `?`, which stand for themselves: names are exact"
    } else if name.trim() != name {
        "begins or ends with white space, which counts: names are exact"
    } else if name.chars().any(char::is_control) {
        "holds a control character; no tool of that name can be called"
    } else {
        return None;
    };
    let message = format!("`{}` in the allowlist {why}", name.escape_debug());
    Some(PolicyProblem::warning("policy::allow", message))
}
