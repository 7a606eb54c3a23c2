//! From the text of a file to its tree.

use std::collections::HashSet;

use super::client::Format;
use super::document::{Node, Source};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};
use super::{json, toml, yaml};

/// The whole file; `None` where there is nothing in it.
pub(super) fn parse(source: Source<'_>, format: Format) -> Result<Option<Node>, ClientErrors> {
    let root = match format {
        Format::Json => json::parse(source),
        Format::Toml => toml::parse(source),
        Format::Yaml => yaml::parse(source),
    }?;
    let mut problems = Vec::new();
    if let Some(root) = &root {
        duplicates(source, root, &mut problems);
    }
    ClientErrors::none_of(problems)?;
    Ok(root)
}

/// Programs differ in which of two equal keys they take: a wrapped server beside an unwrapped one.
fn duplicates(source: Source<'_>, node: &Node, problems: &mut Vec<ClientProblem>) {
    let mut seen = HashSet::new();
    for field in node.fields() {
        if !seen.insert(&field.key) {
            problems.push(source.problem(
                field.key_at.start,
                ProblemKind::DuplicateKey,
                &format!("`{}` is there twice", field.key.escape_debug()),
                "remove or rename one of the two",
            ));
        }
    }
    for child in node.children() {
        duplicates(source, child, problems);
    }
}
