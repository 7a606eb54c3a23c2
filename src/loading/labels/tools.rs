//! `tools.toml`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::file_names::id_of;
use super::pointers::pointers;
use super::{datasets, destinations};
use crate::policy::table::TomlTable;
use crate::policy::{Base, ConsentRule, LEVELS, Labels, Permissions, ServerKey, ToolLabels};

/// The deepest capability, `a.b.c…`.
const MAX_PARTS: usize = 8;

const CONSENT: &[(&str, ConsentRule)] = &[
    ("never", ConsentRule::Never),
    ("always", ConsentRule::Always),
    ("once_per_session", ConsentRule::OncePerSession),
];

/// What all `tools.toml` together say.
#[derive(Debug, Default)]
pub(super) struct Tools {
    labels: HashMap<String, (ToolLabels, String)>,
    unlabelled: HashMap<Option<ServerKey>, (ToolLabels, String)>,
    /// Those whose permission a label names.
    permitted: BTreeSet<String>,
}

/// One thing that a tool may do.
#[derive(Debug, Clone, Copy)]
enum Permission {
    Read,
    Write,
    Connect,
}

impl Tools {
    pub(super) fn read(&mut self, mut root: TomlTable<'_, '_>) {
        let file = root.source().name.to_string();
        let server = root.source().server.as_ref();
        if let Some(field) = root.take("default") {
            let place = field.place.clone();
            if let Some(table) = root.inside(field) {
                let labels = tool(table);
                if !labels.destinations.is_empty() {
                    let message = "`destinations` approves nothing of tools without labels";
                    let help = "write it at each tool: other tools may use the same argument for something else";
                    root.report(place.clone(), message, Some(help.to_owned()));
                }
                match self.unlabelled.entry(server.cloned()) {
                    Entry::Vacant(entry) => drop(entry.insert((labels, file.clone()))),
                    Entry::Occupied(entry) => twice(&mut root, place, "default", &entry.get().1),
                }
            }
        }
        if let Some(mut tools) = root.table("tools") {
            for (name, place, field) in tools.entries() {
                let name = id_of(&mut tools, server, place.clone(), &name);
                if let Some((_, first)) = self.labels.get(&name) {
                    twice(&mut tools, place, &name, first);
                } else if let Some(table) = tools.inside(field) {
                    if table.has("permission") {
                        self.permitted.insert(name.clone());
                    }
                    self.labels.insert(name, (tool(table), file.clone()));
                }
            }
        }
        root.finish();
    }

    /// Yields the tools whose permission a label names.
    pub(super) fn finish(self, labels: &mut Labels) -> BTreeSet<String> {
        let tools = self.labels.into_iter();
        labels.tools = tools.map(|(name, (labels, _))| (name, labels)).collect();
        for (server, (unlabelled, _)) in self.unlabelled {
            match server {
                Some(server) => drop(labels.unlabelled_at.insert(server, unlabelled)),
                None => labels.unlabelled = unlabelled,
            }
        }
        self.permitted
    }
}

fn twice(table: &mut TomlTable<'_, '_>, place: Range<usize>, name: &str, first: &str) {
    let message = format!("`{name}` is labelled twice");
    table.report(place, &message, Some(format!("the first time in {first}")));
}

fn tool(mut table: TomlTable<'_, '_>) -> ToolLabels {
    let labels = ToolLabels {
        permissions: permissions(&mut table),
        capabilities: capabilities(&mut table, "capabilities"),
        level: level(&mut table).unwrap_or_default(),
        destructive: table.boolean("destructive"),
        idempotent: table.boolean("idempotent").unwrap_or_default(),
        urls: pointers(&mut table, "urls"),
        hosts: pointers(&mut table, "hosts"),
        paths: paths(&mut table),
        base: base(&mut table),
        groups: table.names("groups"),
        consent: consent(&mut table),
        labels: table.names("labels"),
        datasets: datasets::names(&mut table),
        datasets_by: datasets::by_arguments(&mut table),
        untrusted: table.boolean("untrusted"),
        destinations: Vec::new(),
    };
    let destinations = destinations::by_arguments(&mut table, &labels);
    table.finish();
    ToolLabels {
        destinations,
        ..labels
    }
}

/// Without any, the worst case stands.
fn permissions(table: &mut TomlTable<'_, '_>) -> Permissions {
    let words = [
        ("read", Permission::Read),
        ("write", Permission::Write),
        ("connect", Permission::Connect),
    ];
    if let Some(place) = table.empty_array("permission") {
        let help = "a tool that only looks has `permission = \"read\"`, others `\"write\"`, \
                    `\"connect\"` or several; without the key a tool may do all three";
        table.report(place, "`permission` names nothing", Some(help.to_owned()));
    }
    let given = table.strings("permission");
    if given.is_empty() {
        return Permissions::default();
    }
    let mut permissions = Permissions {
        read: false,
        write: false,
        connect: false,
    };
    for (text, place) in given {
        match table.word_of(&text, place, &words) {
            Some(Permission::Read) => permissions.read = true,
            Some(Permission::Write) => permissions.write = true,
            Some(Permission::Connect) => permissions.connect = true,
            None => {}
        }
    }
    permissions
}

pub(super) fn capabilities(table: &mut TomlTable<'_, '_>, key: &'static str) -> Vec<String> {
    let mut names = Vec::new();
    for (name, place) in table.strings(key) {
        let part = |part: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            !part.is_empty() && part.chars().all(allowed)
        };
        if name.split('.').all(part) && name.split('.').count() <= MAX_PARTS {
            names.push(name);
        } else {
            let message = format!("`{name}` is no name of a capability");
            let help = format!(
                "up to {MAX_PARTS} parts of letters, digits, `-` and `_` with dots between them, \
                 such as `fs.write`"
            );
            table.report(place, &message, Some(help));
        }
    }
    names
}

pub(super) fn level(table: &mut TomlTable<'_, '_>) -> Option<i64> {
    table.word("sensitivity", &LEVELS)
}

fn consent(table: &mut TomlTable<'_, '_>) -> ConsentRule {
    table.word("consent", CONSENT).unwrap_or_default()
}

/// An empty array says that no argument is a path, which is more than saying nothing.
fn paths(table: &mut TomlTable<'_, '_>) -> Option<Vec<String>> {
    let pointers = pointers(table, "paths");
    table.has("paths").then_some(pointers)
}

fn base(table: &mut TomlTable<'_, '_>) -> Option<Base> {
    let (text, place) = table.string("base")?;
    match Base::at(&text) {
        Ok(base) => Some(base),
        Err(problem) => {
            let message = format!("`{text}` {problem}");
            let help =
                "the directory from which the server resolves relative paths, such as `/srv/work`";
            table.report(place, &message, Some(help.to_owned()));
            None
        }
    }
}
