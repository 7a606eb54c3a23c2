//! `roots.toml`, `resources.toml` and `prompts.toml`.

use std::collections::HashMap;
use std::ops::Range;

use super::datasets;
use super::file_names::{CODE, id_of};
use super::tools::level;
use crate::policy::table::TomlTable;
use crate::policy::{self, Labels, PolicyProblem, ResourceLabels, Root};

/// What all `roots.toml` together say.
#[derive(Debug, Default)]
pub(super) struct ParsedRoots(Vec<Root>);

/// What all `resources.toml` together say.
#[derive(Debug, Default)]
pub(super) struct ParsedResources {
    unlabelled: Option<ResourceLabels>,
    labels: policy::Resources,
}

/// What all `prompts.toml` together say.
#[derive(Debug, Default)]
pub(super) struct ParsedPrompts(HashMap<String, Vec<String>>);

const ABOUT_PLACES: &str = "an absolute path without `..` beyond the top, escapes, a backslash, or a \
                            name with white space or a quote at an end; or a URI such as \
                            `notes://team`";

const ABOUT_GUISES: &str =
    "as in `virtual = \"/workspace\"`: the path under which agents know the root";

const EXACT: &str = "policies must contain the exact name, in which this is hard to see";

impl ParsedRoots {
    pub(super) fn read(&mut self, mut file: TomlTable<'_, '_>) {
        if let Some(mut roots) = file.table("roots") {
            for (name, place, field) in roots.entries() {
                if self.0.iter().any(|root| root.name == name) {
                    roots.report(
                        place,
                        &format!("the root `{name}` is described twice"),
                        None,
                    );
                    continue;
                }
                if name.trim_matches(falls_off) != name {
                    let message = format!(
                        "the name of the root `{name}` has white space or a quote at an end"
                    );
                    roots.report(place.clone(), &message, Some(EXACT.to_owned()));
                }
                if let Some(table) = roots.inside(field) {
                    self.0.extend(root(&name, place, table));
                }
            }
        }
        file.finish();
    }

    pub(super) fn finish(self, labels: &mut Labels, problems: &mut Vec<PolicyProblem>) {
        let roots = policy::Roots::new(self.0);
        if let Some((one, other)) = roots.twins() {
            let message = format!("the roots `{one}` and `{other}` are the same place");
            problems.push(PolicyProblem::error(CODE, message));
        }
        if let Some((one, other)) = roots.meeting() {
            let message =
                format!("a directory of the root `{one}` could lie in, above or at `{other}`");
            let help =
                "give roots with variables a directory that no other root lies in or contains";
            problems.push(PolicyProblem::error(CODE, message).with_help(help));
        }
        if let Some((one, other)) = roots.mistakable() {
            let message = if one == other {
                format!("agents could take the `virtual` path of the root `{one}` for its own")
            } else {
                format!("agents could take the `virtual` path of the root `{one}` for `{other}`")
            };
            let help = "one path must neither be nor lie in another, whatever their case";
            problems.push(PolicyProblem::error(CODE, message).with_help(help));
        }
        labels.roots = roots;
    }
}

impl ParsedResources {
    pub(super) fn read(&mut self, mut file: TomlTable<'_, '_>) {
        if let Some(field) = file.take("default") {
            let place = field.place.clone();
            if let Some(table) = file.inside(field) {
                let first = self.unlabelled.replace(resource(table));
                if first.is_some() {
                    file.report(place, "`default` is there twice", None);
                }
            }
        }
        if let Some(mut resources) = file.table("resources") {
            for (uri, place, field) in resources.entries() {
                let Some(table) = resources.inside(field) else {
                    continue;
                };
                let labels = resource(table);
                match self.labels.add(&uri, labels) {
                    Ok(()) => {}
                    Err(problem) => {
                        let message = format!("`{uri}` {problem}");
                        resources.report(place, &message, None);
                    }
                }
            }
        }
        file.finish();
    }

    pub(super) fn finish(self, labels: &mut Labels) {
        labels.resources = self
            .labels
            .with_unlabelled(self.unlabelled.unwrap_or_default());
    }
}

impl ParsedPrompts {
    pub(super) fn read(&mut self, mut file: TomlTable<'_, '_>) {
        let server = file.source().server.as_ref();
        if let Some(mut prompts) = file.table("prompts") {
            for (name, place, field) in prompts.entries() {
                let name = id_of(&mut prompts, server, place.clone(), &name);
                let Some(mut table) = prompts.inside(field) else {
                    continue;
                };
                let groups = table.names("groups");
                table.finish();
                if self.0.insert(name.clone(), groups).is_some() {
                    prompts.report(place, &format!("`{name}` is labelled twice"), None);
                }
            }
        }
        file.finish();
    }

    pub(super) fn finish(self, labels: &mut Labels) {
        labels.prompts = self.0;
    }
}

fn falls_off(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`')
}

fn root(name: &str, place: Range<usize>, mut table: TomlTable<'_, '_>) -> Option<Root> {
    let sources = [table.string("path"), table.string("uri")];
    let mut root = match sources {
        [Some((text, at)), None] | [None, Some((text, at))] => match Root::at(name, &text) {
            Ok(root) => Some(root),
            Err(problem) => {
                let help = problem.help().or_else(|| Some(ABOUT_PLACES.to_owned()));
                table.report(at, &format!("`{text}` {problem}"), help);
                None
            }
        },
        [None, None] | [Some(_), Some(_)] => {
            let help = Some("`path` for files, `uri` for other resources".to_owned());
            let message = format!("the root `{name}` needs one place");
            table.report(place, &message, help);
            None
        }
    };
    // Asked for whatever the place is, so that they are known keys.
    let level = level(&mut table).unwrap_or_default();
    let writable = table.boolean("writable").unwrap_or_default();
    let labels = table.names("labels");
    let datasets = datasets::names(&mut table);
    let guise = table.string("virtual");
    if let Some(root) = &mut root {
        root.level = level;
        root.writable = writable;
        root.labels = labels;
        root.datasets = datasets;
        if let Some((text, at)) = guise
            && let Err(problem) = root.seen_as(&text)
        {
            table.report(
                at,
                &format!("`{text}` {problem}"),
                Some(ABOUT_GUISES.to_owned()),
            );
        }
    }
    table.finish();
    root
}

fn resource(mut table: TomlTable<'_, '_>) -> ResourceLabels {
    let labels = ResourceLabels {
        level: level(&mut table),
        labels: table.names("labels"),
        datasets: datasets::names(&mut table),
        groups: table.names("groups"),
    };
    table.finish();
    labels
}
