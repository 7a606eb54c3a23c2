//! The directory of a server's own policies: Cedar, `tools.toml` and `prompts.toml`, with the names that the server
//! has itself.
//!
//! What a file there would say of other servers too is refused.

use std::fs;
use std::path::Path;

use super::directory::Directory;
use super::engines::EngineKinds;
use super::labels;
use super::settings::Settings;
use crate::policy::{PolicyProblem, PolicySource, ServerKey};

/// The code of every file that has no place there.
const FOREIGN: &str = "policy::foreign";

/// What the directory holds.
pub(super) fn read(
    server: &ServerKey,
    dir: &Path,
    settings: &Settings,
    engines: &EngineKinds,
) -> Directory {
    let mut found = Directory::checked(dir, Some(server), engines);
    let of_all = settings.dir.iter().chain(&settings.shadow);
    let within = of_all.filter_map(|all| overlap(dir, all, Same::Refused));
    found.problems.extend(within);
    // Two servers may have the same policies; one's must not be among another's.
    let others = settings.own.iter().filter(|(key, _)| *key != server);
    let within = others.filter_map(|(_, other)| overlap(dir, other, Same::Accepted));
    found.problems.extend(within);
    let files = found.sources.iter().chain(&found.labels);
    let foreign: Vec<_> = files.filter_map(foreign).collect();
    found.problems.extend(foreign);
    found
}

/// What to say where two directories are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Same {
    Accepted,
    Refused,
}

/// The same files would be read for other servers, too.
fn overlap(own: &Path, other: &Path, same: Same) -> Option<PolicyProblem> {
    // A directory that is not there has its own problem.
    let (real, of_others) = (fs::canonicalize(own).ok()?, fs::canonicalize(other).ok()?);
    if same == Same::Accepted && real == of_others {
        return None;
    }
    let overlaps = real.starts_with(&of_others) || of_others.starts_with(&real);
    overlaps.then(|| {
        let message = format!(
            "the policies in `{}` and those of one server in `{}` lie in one another",
            other.display(),
            own.display()
        );
        let help = "give the server's own policies a directory beside the others";
        PolicyProblem::error("policy::overlap", message).with_help(help)
    })
}

fn foreign(source: &PolicySource) -> Option<PolicyProblem> {
    let name: &Path = source.name.as_ref().as_ref();
    let is_cedar = name.extension().is_some_and(|ending| ending == "cedar");
    if is_cedar || labels::are_of_server(source) {
        return None;
    }
    let (message, help) = if labels::claims(name) {
        (
            "is of all servers, and lies among the policies of one",
            "move it into `policy.dir`",
        )
    } else {
        (
            "is not Cedar: only Cedar's policies can be held to one server",
            "write it in Cedar, or move it into `policy.dir`",
        )
    };
    let message = format!("`{}` {message}", source.name);
    Some(PolicyProblem::error(FOREIGN, message).with_help(help))
}
