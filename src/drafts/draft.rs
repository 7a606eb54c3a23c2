//! The files of a draft.

use super::observation::Observations;
use super::tool_draft::ToolDraft;
use super::{labels, policies, tests_file};

/// The files of a policy directory, by their paths in it.
#[derive(Debug)]
pub struct Draft {
    pub files: Vec<(&'static str, String)>,
}

impl Draft {
    pub fn of(seen: &Observations) -> Self {
        let tools = seen.tools.iter();
        let drafts: Vec<ToolDraft<'_>> = tools
            .map(|(name, used)| ToolDraft::new(name, used, seen.failed_of(name)))
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
        files.push(("tests/draft.toml", tests_file::tests(seen, &drafts)));
        Self { files }
    }
}
