//! What the host says, beside the rules: `agents.toml`, `tools.toml`, `roots.toml`, `resources.toml`
//! and `prompts.toml`.
//!
//! Every key is known or an error, and all problems of all files are reported at once.

mod agents;
mod datasets;
mod destinations;
mod file_names;
mod label_rules;
mod pointers;
mod removed_labels;
mod resource_files;
mod server_sets;
mod standing;
#[cfg(test)]
mod tests;
mod tools;

pub use self::file_names::AGENTS;
pub(super) use self::file_names::{are_of_server, claims, is_of_agents, meant};
pub(super) use self::label_rules::LabelRules;
pub(super) use self::removed_labels::lost;

use self::agents::Agents;
use self::file_names::{CODE, PROMPTS, RESOURCES, ROOTS, TOOLS, file_name};
use self::resource_files::{ParsedPrompts, ParsedResources, ParsedRoots};
use self::tools::Tools;
use super::lock;
use crate::policy::table::{self, TomlTable};
use crate::policy::{Labels, PolicyProblem, PolicySource, ServerKey, TokenGrants};

/// The labels, and the rules that they come to.
pub(super) fn read(
    sources: &[PolicySource],
    (tokens, servers): (TokenGrants, Option<&[ServerKey]>),
    problems: &mut Vec<PolicyProblem>,
) -> (Labels, LabelRules) {
    let mut tools = Tools::default();
    let mut agents = Agents::default();
    let mut roots = ParsedRoots::default();
    let mut resources = ParsedResources::default();
    let mut prompts = ParsedPrompts::default();
    let is_lock = |source: &&PolicySource| lock::claims(source.name.as_ref().as_ref());
    for source in sources.iter().filter(|source| !is_lock(source)) {
        let Some(root) = table::parse(source, CODE, problems) else {
            continue;
        };
        let root = TomlTable::new(source, CODE, root.get_ref(), problems);
        match file_name(source) {
            TOOLS => tools.read(root),
            ROOTS => roots.read(root),
            RESOURCES => resources.read(root),
            PROMPTS => prompts.read(root),
            _ => agents.read(root, servers),
        }
    }
    let mut labels = Labels {
        tokens,
        ..Labels::default()
    };
    let labelled = tools.finish(&mut labels);
    roots.finish(&mut labels, problems);
    resources.finish(&mut labels);
    prompts.finish(&mut labels);
    datasets::bound(&labels, problems);
    let overrides = agents.finish(&mut labels);
    let compiled = LabelRules {
        labelled,
        ..LabelRules::of(&labels, overrides)
    };
    (labels, compiled)
}
