//! The documents, and what stands in them.

use std::fs;
use std::path::{Path, PathBuf};

/// Tested beside the code that they describe.
const ELSEWHERE: [&str; 4] = [
    "docs/config-schema.md",
    "docs/audit-log-schema.md",
    "docs/policy-guide.md",
    "docs/lints.md",
];

/// One document.
pub(crate) struct Page {
    /// From the root of the project.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) language: String,
    /// Of the fence, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every document, by path.
pub(crate) fn all() -> Vec<Page> {
    let top = ["README.md", "SECURITY.md", "CONTRIBUTING.md"];
    let mut paths: Vec<PathBuf> = top.map(PathBuf::from).into();
    for pack in fs::read_dir(root().join("policies")).unwrap() {
        paths.push(
            Path::new("policies")
                .join(pack.unwrap().file_name())
                .join("README.md"),
        );
    }
    for directory in ["docs", "docs/decisions"] {
        for entry in fs::read_dir(root().join(directory)).unwrap() {
            let name = entry.unwrap().file_name();
            if Path::new(&name)
                .extension()
                .is_some_and(|kind| kind == "md")
            {
                paths.push(Path::new(directory).join(name));
            }
        }
    }
    paths.sort();
    let read = |path: PathBuf| Page {
        text: fs::read_to_string(root().join(&path)).unwrap(),
        path: path.to_str().unwrap().to_owned(),
    };
    paths.into_iter().map(read).collect()
}

/// The documents whose snippets are tested here.
pub(crate) fn ours() -> Vec<Page> {
    let mut pages = all();
    pages.retain(|page| !ELSEWHERE.contains(&page.path.as_str()));
    assert!(pages.len() > 3, "the documents were not found");
    pages
}

impl Page {
    /// Fenced blocks (CommonMark §4.5), without the indentation of their fence.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<(usize, Block)> = None;
        for (number, line) in self.text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let fence = line.trim().strip_prefix("```");
            match (open.take(), fence) {
                (None, None) => {}
                (None, Some(language)) => {
                    let block = Block {
                        language: language.to_owned(),
                        line: number + 1,
                        text: String::new(),
                    };
                    open = Some((indent, block));
                }
                (Some((_, block)), Some("")) => blocks.push(block),
                (Some((indent, mut block)), _) => {
                    block.text += line.get(indent..).unwrap_or_default();
                    block.text.push('\n');
                    open = Some((indent, block));
                }
            }
        }
        assert!(open.is_none(), "{}: a block has no end", self.path);
        blocks
    }

    /// The text between the blocks.
    pub(crate) fn prose(&self) -> String {
        let mut prose = String::new();
        let mut inside = false;
        for line in self.text.lines() {
            let fence = line.trim().starts_with("```");
            inside ^= fence;
            if !inside && !fence {
                prose += line;
            }
            prose.push('\n');
        }
        prose
    }
}

#[test]
fn blocks_are_found_with_their_language_and_place() {
    let page = Page {
        path: "p".to_owned(),
        text: "a `b`\n```sh\nx\n\ny\n```\n1. c\n   ```\n   z\n   ```\nd\n".to_owned(),
    };
    let block = |language: &str, line, text: &str| Block {
        language: language.to_owned(),
        line,
        text: text.to_owned(),
    };
    assert_eq!(
        page.blocks(),
        [block("sh", 2, "x\n\ny\n"), block("", 8, "z\n")]
    );
    assert_eq!(
        page.prose().split_whitespace().collect::<Vec<_>>(),
        ["a", "`b`", "1.", "c", "d"]
    );
}
