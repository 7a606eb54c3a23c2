//! `agents.toml` and `tools.toml`: what the host says of agents and tools.
//!
//! Every key is known or an error, and all problems of all files are reported at once.

mod agents;
mod table;
#[cfg(test)]
mod tests;
mod tools;

use std::path::Path;

use toml::de::DeTable;

use self::agents::Agents;
use self::table::Table;
use self::tools::Tools;
use super::lock;
use crate::policy::{Labels, PolicyProblem, PolicySource};

const AGENTS: &str = "agents.toml";
const TOOLS: &str = "tools.toml";

/// The code of every problem with labels.
const CODE: &str = "policy::labels";

/// The lock of the tools among them.
pub(super) fn claims(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == AGENTS || name == TOOLS || name == lock::FILE)
}

/// The file of labels that an author may have had in mind with a name in lower case.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let near = |file: &&str| strsim::osa_distance(name, file) <= 1;
    [AGENTS, TOOLS, lock::FILE].into_iter().find(near)
}

pub(super) fn read(sources: &[PolicySource], problems: &mut Vec<PolicyProblem>) -> Labels {
    let (mut tools, mut agents) = (Tools::default(), Agents::default());
    let is_lock = |source: &&PolicySource| lock::claims(source.name.as_ref().as_ref());
    for source in sources.iter().filter(|source| !is_lock(source)) {
        let root = match DeTable::parse(&source.text) {
            Ok(root) => root,
            Err(error) => {
                let problem = PolicyProblem::error(CODE, error.message()).in_source(source);
                problems.push(match error.span() {
                    Some(span) => problem.at(span, "here"),
                    None => problem,
                });
                continue;
            }
        };
        let root = Table::root(source, root.get_ref(), problems);
        if source.name.ends_with(TOOLS) {
            tools.read(root);
        } else {
            agents.read(root);
        }
    }
    let mut labels = Labels::default();
    tools.finish(&mut labels);
    agents.finish(&mut labels);
    labels
}
