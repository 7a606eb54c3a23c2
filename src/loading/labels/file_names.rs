//! The files of labels, by their names.

use std::ops::Range;
use std::path::Path;

use super::super::lock;
use crate::policy::table::TomlTable;
use crate::policy::{PolicySource, ServerKey};

pub const AGENTS: &str = "agents.toml";
pub(super) const TOOLS: &str = "tools.toml";
pub(super) const ROOTS: &str = "roots.toml";
pub(super) const RESOURCES: &str = "resources.toml";
pub(super) const PROMPTS: &str = "prompts.toml";
const ALL: [&str; 5] = [AGENTS, TOOLS, ROOTS, RESOURCES, PROMPTS];

/// The code of every problem with labels.
pub(super) const CODE: &str = "policy::labels";

/// The lock of the tools among them.
pub(in crate::loading) fn claims(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| ALL.iter().any(|file| name == *file) || name == lock::FILE)
}

/// Whether a file says nothing but of what one server has.
pub(in crate::loading) fn are_of_server(source: &PolicySource) -> bool {
    [TOOLS, PROMPTS].contains(&file_name(source))
}

/// Whether a file says who agents are.
pub(in crate::loading) fn is_of_agents(source: &PolicySource) -> bool {
    file_name(source) == AGENTS
}

/// The file of labels that an author may have had in mind with a name in lower case.
pub(in crate::loading) fn meant(name: &str) -> Option<&'static str> {
    let near = |file: &&str| strsim::osa_distance(name, file) <= 1;
    ALL.into_iter().chain([lock::FILE]).find(near)
}

/// The id of what a file labels. Among the labels of one server, names are its own.
pub(super) fn id_of(
    table: &mut TomlTable<'_, '_>,
    server: Option<&ServerKey>,
    place: Range<usize>,
    name: &str,
) -> String {
    let Some(key) = server else {
        return name.to_owned();
    };
    if let Some(own) = key.name_in(name) {
        let (name, own) = (name.escape_debug(), own.escape_debug());
        let message =
            format!("`{name}` begins with `{key}/`: labels of one server have its own names");
        table.report(place, &message, Some(format!("write `{own}`")));
    }
    key.id_of(name)
}

pub(super) fn file_name(source: &PolicySource) -> &str {
    source.name.rsplit(['/', '\\']).next().unwrap_or_default()
}
