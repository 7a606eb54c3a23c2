//! `tools.toml` and `roots.toml`.

use std::collections::BTreeSet;

use super::quote;
use super::tool_draft::{RootNames, ToolDraft};

/// What tools do, as far as names and arguments tell.
pub(super) fn tools(drafts: &[ToolDraft<'_>]) -> String {
    let mut out = String::from(
        "# What each tool does, guessed from its name and its arguments: correct it. `read`, `write` and `connect`\n\
         # say what it may do; without them a tool counts as the worst.\n",
    );
    for draft in drafts {
        let mut permissions = vec![if draft.reads { "read" } else { "write" }];
        if draft.connects {
            permissions.push("connect");
        }
        let list = |texts: &mut dyn Iterator<Item = &str>| {
            texts.map(quote::toml).collect::<Vec<_>>().join(", ")
        };
        out.extend([format!("\n[tools.{}]\n", quote::toml(&draft.item.id()))]);
        let permissions = list(&mut permissions.into_iter());
        out.extend([format!("permission = [{permissions}]\n")]);
        let paths = list(&mut draft.paths().map(|(pointer, _)| pointer));
        if !paths.is_empty() {
            out.extend([format!("paths      = [{paths}]\n")]);
        }
        let urls = list(&mut draft.hosts().map(|(pointer, _)| pointer));
        if !urls.is_empty() {
            out.extend([format!("urls       = [{urls}]\n")]);
        }
        if draft.is_called_when_closed {
            out.push_str(
                "# It seems to connect. With that label it would be closed to sessions that have read confidential data,\n\
                 # which have called it.\n",
            );
        }
        if draft.asks() {
            out.push_str("consent    = \"always\"\n");
        }
    }
    out
}

/// The directories and files that were seen. `None` if none was.
pub(super) fn roots(drafts: &[ToolDraft<'_>], roots: &RootNames) -> Option<String> {
    if roots.is_empty() {
        return None;
    }
    let mut out = String::from("# Directories and files that arguments of allowed calls named.\n");
    for (directory, name) in roots {
        let is_written = drafts
            .iter()
            .any(|draft| !draft.reads && draft.own_roots(roots).contains(&name.as_str()));
        let uses = |draft: &&ToolDraft<'_>| draft.own_roots(roots).contains(&name.as_str());
        let failing = drafts.iter().filter(|draft| draft.failed > 0);
        let failing = failing
            .filter(uses)
            .map(|draft| quote::plain(&draft.item.id()));
        let failing = failing.collect::<Vec<_>>().join(", ");
        out.push('\n');
        if !failing.is_empty() {
            out.extend([format!(
                "# The server answered some calls of {failing} with an error. Remove this root if only those named it.\n"
            )]);
        }
        out.extend([format!("[roots.{}]\n", quote::toml(name))]);
        out.extend([format!("path     = {}\n", quote::toml(directory))]);
        out.extend([format!("writable = {is_written}\n")]);
    }
    Some(out)
}

/// A name for each directory: its path without the first slash, and a number where another has that name.
pub(super) fn root_names(directories: BTreeSet<String>) -> RootNames {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || "-_.".contains(character) {
            character
        } else {
            '-'
        }
    };
    let mut taken = BTreeSet::new();
    let named = directories.into_iter().map(|directory| {
        let name: String = directory
            .trim_start_matches('/')
            .chars()
            .map(plain)
            .collect();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let name = free.find(|name| taken.insert(name.clone())).unwrap_or(name);
        (directory, name)
    });
    named.collect()
}
