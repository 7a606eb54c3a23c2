//! Tools that are not there because of what their names look like.
//!
//! Who reads a name does not compare bytes: neither people nor models tell `read_file` from one with
//! a Cyrillic letter. So an agent never sees two names that look alike, and, unless it is asked
//! for, none outside ASCII. What it may not see anyway is no look-alike, since it cannot be mistaken.

use std::collections::HashMap;

use crate::guard::Look;
use crate::policy::{PolicySnapshot, Resource};
use crate::session::{Catalogue, PageItem, Traversal};

use super::decide::visible_in;
use super::identify::Scene;
use super::pin::Pins;
use super::settings::ToolNames;
use super::understand::Circumstances;

/// Why a tool is not there because of its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misleading {
    #[error("its name is not ASCII")]
    NotAscii,
    #[error("its name looks like `{}`", .0.escape_default())]
    LooksLike(String),
}

/// What is asked of names, and of whom.
#[derive(Clone, Copy)]
pub(super) struct Readers<'r> {
    pub(super) snapshot: &'r PolicySnapshot,
    pub(super) pins: Pins<'r>,
    pub(super) scene: &'r Scene,
    pub(super) now: Circumstances,
}

impl Readers<'_> {
    /// Whether a tool that is offered, and that policies would show, is not there.
    pub(super) fn misled(&self, name: &str) -> Option<Misleading> {
        if self.is_approved(name) {
            return None;
        }
        if self.is_foreign(name) {
            return Some(Misleading::NotAscii);
        }
        let others = self.pins.session.state().tools.look_alikes(name);
        self.seen_of(others).map(Misleading::LooksLike)
    }

    /// Those among items of a page of a list, all of which policies show, that are not there.
    pub(super) fn misled_by_page<'i>(
        &self,
        shown: &[&'i PageItem],
        has_look_alikes: bool,
        at: Traversal<'_>,
    ) -> Vec<(&'i PageItem, Misleading)> {
        let mut misleading = Vec::new();
        let mut left: Vec<&PageItem> = Vec::with_capacity(shown.len());
        for item in shown {
            if self.is_foreign(&item.name) && !self.is_approved(&item.name) {
                misleading.push((*item, Misleading::NotAscii));
            } else {
                left.push(item);
            }
        }
        let mut alike: HashMap<Look, Vec<&str>> = HashMap::new();
        if has_look_alikes {
            for item in &left {
                for look in looks(item) {
                    alike.entry(look).or_default().push(&item.name);
                }
            }
        }
        for item in left {
            let beside = looks(item).find_map(|look| {
                let group = alike.get(&look)?.iter();
                group.copied().find(|other| *other != item.name)
            });
            let like = beside.map(str::to_owned).or_else(|| {
                let session = self.pins.session;
                let earlier = session.state().tools.earlier_look_alikes(at, item);
                self.seen_of(earlier)
            });
            if let Some(other) = like.filter(|_| !self.is_approved(&item.name)) {
                misleading.push((item, Misleading::LooksLike(other)));
            }
        }
        misleading
    }

    /// One of these names that the agent sees. Of very many it is not asked which.
    fn seen_of(&self, mut others: Vec<String>) -> Option<String> {
        if others.len() > Catalogue::MANY {
            return others.pop();
        }
        others.retain(|other| self.is_approved(other) || !self.is_foreign(other));
        others.into_iter().find(|other| {
            let tool = self.pins.tool(other, self.snapshot);
            let item = [Resource::Tool(&tool)];
            let session = self.pins.session;
            visible_in(session, self.snapshot, self.scene, self.now, &item) == [true]
        })
    }

    /// What the host has approved by name is what it is.
    fn is_approved(&self, name: &str) -> bool {
        self.snapshot.lock().tool(name).is_some()
    }

    fn is_foreign(&self, name: &str) -> bool {
        self.pins.names == ToolNames::Ascii && !name.is_ascii()
    }
}

fn looks(item: &PageItem) -> impl Iterator<Item = Look> {
    let offered = item.definition.as_ref();
    offered.into_iter().flat_map(|it| it.looks.each())
}
