//! The files of a draft.

use super::observation::Observations;
use super::tool_draft::ToolDraft;
use super::{labels, policies, tests_file};
use crate::policy::ServerKey;

/// The files of a policy directory, by their paths in it.
#[derive(Debug)]
pub struct Draft {
    pub files: Vec<(&'static str, String)>,
}

impl Draft {
    /// Of what passed at these several servers, or at one without a key.
    pub fn of(seen: &Observations, servers: &[ServerKey]) -> Self {
        let tools = seen.tools.iter();
        let drafts: Vec<ToolDraft<'_>> = tools
            .map(|(item, used)| ToolDraft::new(item, used, seen.failed_of(item)))
            .collect();
        let directories = drafts.iter().flat_map(|draft| &draft.directories);
        let roots = labels::root_names(directories.cloned().collect());
        let mut files = vec![
            ("draft.cedar", policies::policies(seen, &drafts, &roots)),
            ("tools.toml", labels::tools(&drafts)),
        ];
        if let Some(text) = labels::roots(&drafts, &roots) {
            files.push(("roots.toml", text));
        }
        let tests = tests_file::tests(seen, &drafts, servers);
        files.push(("tests/draft.toml", tests));
        Self { files }
    }
}
