//! What is drafted for one tool.

use std::collections::{BTreeMap, BTreeSet};

use super::argument_effects::ArgumentEffects;
use super::effects::Effects;
use super::narrowing::{Narrowing, directories, lies_in};
use super::observation::ToolUse;
use super::server_item::ServerItem;

/// The sensitivity from which on the gate keeps sessions from tools that connect.
const CLOSED_FROM: i64 = 2;

/// Names of roots, by their directories.
pub(super) type RootNames = BTreeMap<String, String>;

/// A tool that is to be permitted.
#[derive(Debug)]
pub(super) struct ToolDraft<'o> {
    pub(super) item: &'o ServerItem,
    pub(super) used: &'o ToolUse,
    /// Calls that the server answered with an error.
    pub(super) failed: u64,
    pub(super) reads: bool,
    pub(super) connects: bool,
    /// It would connect, but was allowed where a tool that connects is closed.
    pub(super) is_called_when_closed: bool,
    /// By the places of the arguments; none is open.
    pub(super) narrowed: BTreeMap<&'o str, Narrowing>,
    /// Those of its paths.
    pub(super) directories: BTreeSet<String>,
}

impl<'o> ToolDraft<'o> {
    pub(super) fn new(item: &'o ServerItem, used: &'o ToolUse, failed: u64) -> Self {
        // A path that a call may lack has to be the only one, for a missing one counts as outside.
        let optional = |pointer: &str| {
            used.arguments
                .get(pointer)
                .is_some_and(|it| it.calls < used.calls)
        };
        let paths = used
            .arguments
            .iter()
            .filter(|(_, argument)| matches!(Narrowing::of(argument, used), Narrowing::Paths(_)));
        let is_only = paths.count() == 1;
        let is_usable = |pointer: &str| !optional(pointer) || (is_only && !pointer.contains("/*"));
        let narrowed = used.arguments.iter().map(|(pointer, argument)| {
            let narrowing = Narrowing::of(argument, used);
            (pointer.as_str(), narrowing)
        });
        // What is text in one call and a list in another has no label that fits both.
        let is_mixed = |pointer: &str| {
            let lies_below = |below: &str, above: &str| {
                let rest = below.strip_prefix(above);
                rest.is_some_and(|rest| rest.starts_with('/'))
            };
            let mut others = used.arguments.keys();
            others.any(|other| lies_below(other, pointer) || lies_below(pointer, other))
        };
        let mut narrowed: BTreeMap<&str, Narrowing> = narrowed
            .filter(|(pointer, _)| !is_mixed(pointer))
            .filter(|(pointer, narrowing)| match narrowing {
                Narrowing::Open => false,
                Narrowing::Hosts(_) => !pointer.is_empty(),
                Narrowing::Paths(_) => !pointer.is_empty() && is_usable(pointer),
                // A policy can ask for one value at one place.
                Narrowing::Values(_) => !pointer.is_empty() && !pointer.contains("/*"),
            })
            .collect();
        let paths: BTreeSet<&String> = used
            .arguments
            .iter()
            .filter(|(pointer, _)| {
                matches!(narrowed.get(pointer.as_str()), Some(Narrowing::Paths(_)))
            })
            .flat_map(|(_, argument)| &argument.values)
            .collect();
        let directories = directories(&paths);
        if directories.is_none() {
            narrowed.retain(|_, narrowing| !matches!(narrowing, Narrowing::Paths(_)));
        }
        let effects = Effects::of_name(&item.name).with_arguments(of_arguments(used));
        let has_hosts = narrowed
            .values()
            .any(|it| matches!(it, Narrowing::Hosts(_)));
        let connects = has_hosts || effects.connects;
        // Or what was allowed would be denied.
        let is_closed = used.level >= CLOSED_FROM;
        Self {
            item,
            used,
            failed: failed.min(used.calls),
            reads: effects.reads,
            connects: connects && !is_closed,
            is_called_when_closed: connects && is_closed,
            narrowed,
            directories: directories.unwrap_or_default(),
        }
    }

    /// Places of arguments that may have any value.
    pub(super) fn open_arguments(&self) -> impl Iterator<Item = &'o str> {
        let places = self.used.arguments.keys().map(String::as_str);
        places.filter(|pointer| !self.narrowed.contains_key(pointer))
    }

    /// Places of arguments that are paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&'o str, &BTreeSet<String>)> {
        self.narrowed
            .iter()
            .filter_map(|(pointer, narrowing)| match narrowing {
                Narrowing::Paths(paths) => Some((*pointer, paths)),
                Narrowing::Hosts(_) | Narrowing::Values(_) | Narrowing::Open => None,
            })
    }

    /// Places of arguments that are URLs, with their hosts.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&'o str, &BTreeSet<String>)> {
        self.narrowed
            .iter()
            .filter_map(|(pointer, narrowing)| match narrowing {
                Narrowing::Hosts(hosts) => Some((*pointer, hosts)),
                Narrowing::Paths(_) | Narrowing::Values(_) | Narrowing::Open => None,
            })
    }

    /// Places of arguments that have few values.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'o str, &BTreeSet<String>)> {
        self.narrowed
            .iter()
            .filter_map(|(pointer, narrowing)| match narrowing {
                Narrowing::Values(values) => Some((*pointer, values)),
                Narrowing::Paths(_) | Narrowing::Hosts(_) | Narrowing::Open => None,
            })
    }

    /// The names of its own roots.
    pub(super) fn own_roots<'r>(&self, all: &'r RootNames) -> Vec<&'r str> {
        let own = |directory: &String| self.directories.contains(directory);
        named(all, own)
    }

    /// The names of those roots that a path in one of its own may lie in, too.
    pub(super) fn related_roots<'r>(&self, all: &'r RootNames) -> Vec<&'r str> {
        let related = |directory: &String| {
            let mut own = self.directories.iter();
            own.any(|own| lies_in(own, directory) || lies_in(directory, own))
        };
        named(all, related)
    }

    /// The place of the path that some calls lack.
    pub(super) fn optional_path(&self) -> Option<&'o str> {
        let lacks = |pointer: &&str| {
            let argument = self.used.arguments.get(*pointer);
            argument.is_some_and(|argument| argument.calls < self.used.calls)
        };
        self.paths().map(|(pointer, _)| pointer).find(lacks)
    }

    /// Whether a person is asked about each call.
    pub(super) fn asks(&self) -> bool {
        !self.reads
    }
}

/// By the names of the arguments that were seen, at any depth.
fn of_arguments(used: &ToolUse) -> ArgumentEffects {
    let pointers = used.arguments.keys();
    let names = pointers.flat_map(|pointer| pointer.split('/'));
    let names = names.filter(|name| !name.is_empty() && *name != "*");
    ArgumentEffects::of_names(names)
}

fn named(roots: &RootNames, which: impl Fn(&String) -> bool) -> Vec<&str> {
    let found = roots.iter().filter(|(directory, _)| which(directory));
    found.map(|(_, name)| name.as_str()).collect()
}
