//! What the host says, beside the rules: `agents.toml`, `tools.toml`, `roots.toml`, `resources.toml`
//! and `prompts.toml`.
//!
//! Every key is known or an error, and all problems of all files are reported at once.

mod agents;
mod label_rules;
mod removed_labels;
mod resource_files;
#[cfg(test)]
mod tests;
mod tools;

use std::path::Path;

pub(super) use self::label_rules::LabelRules;
pub(super) use self::removed_labels::lost;

use self::agents::Agents;
use self::resource_files::{ParsedPrompts, ParsedResources, ParsedRoots};
use self::tools::Tools;
use super::lock;
use crate::policy::table::{self, TomlTable};
use crate::policy::{Labels, PolicyProblem, PolicySource};

const AGENTS: &str = "agents.toml";
const TOOLS: &str = "tools.toml";
const ROOTS: &str = "roots.toml";
const RESOURCES: &str = "resources.toml";
const PROMPTS: &str = "prompts.toml";
const ALL: [&str; 5] = [AGENTS, TOOLS, ROOTS, RESOURCES, PROMPTS];

/// How sensitive something is: the words of the files, and the levels of policies.
const LEVELS: &[(&str, i64)] = &[
    ("public", 0),
    ("internal", 1),
    ("confidential", 2),
    ("secret", 3),
];

/// The code of every problem with labels.
const CODE: &str = "policy::labels";

/// The lock of the tools among them.
pub(super) fn claims(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| ALL.iter().any(|file| name == *file) || name == lock::FILE)
}

/// The file of labels that an author may have had in mind with a name in lower case.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let near = |file: &&str| strsim::osa_distance(name, file) <= 1;
    ALL.into_iter().chain([lock::FILE]).find(near)
}

/// The labels, and the rules that they come to.
pub(super) fn read(
    sources: &[PolicySource],
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
            _ => agents.read(root),
        }
    }
    let mut labels = Labels::default();
    tools.finish(&mut labels);
    roots.finish(&mut labels, problems);
    resources.finish(&mut labels);
    prompts.finish(&mut labels);
    let overrides = agents.finish(&mut labels);
    let compiled = LabelRules::of(&labels, overrides);
    (labels, compiled)
}

fn file_name(source: &PolicySource) -> &str {
    source.name.rsplit(['/', '\\']).next().unwrap_or_default()
}
