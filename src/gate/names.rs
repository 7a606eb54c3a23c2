//! Tools that are not there because of what their names look like.
//!
//! Who reads a name does not compare bytes: neither people nor models tell `read_file` from one with
//! a Cyrillic letter. So of the tools that policies open without naming them an agent never sees one
//! that looks like another, and, unless it is asked for, none outside ASCII. What it may not see
//! anyway is no look-alike, since it cannot be mistaken. A name in the allowlist or the lock is there.

use std::collections::HashMap;

use crate::guard::NameSkeleton;
use crate::policy::{PolicySnapshot, Resource};
use crate::session::{Catalogue, Page, PageItem, Traversal};

use super::classified::Scene;
use super::permit::visible_in;
use super::pin::Pins;
use super::query::Circumstances;
use super::settings::ToolNames;

const MAX_LOOK_ALIKES: usize = Catalogue::MAX_LOOK_ALIKES;

/// Why a tool is not there because of its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misleading {
    #[error("its name is not ASCII")]
    NotAscii,
    #[error("its name looks like `{}`", .0.escape_default())]
    LooksLike(String),
}

impl Misleading {
    /// A stable word for it, in records.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::NotAscii => "not_ascii",
            Self::LooksLike(_) => "look_alike",
        }
    }
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
        let others = self.pins.session.state().lists.tools.look_alikes(name);
        self.seen_of(others).map(Misleading::LooksLike)
    }

    /// Those among items of a page of a list that are not there, of all that policies show.
    pub(super) fn misled_by_page<'i>(
        &self,
        page: &Page,
        shown: &[&'i PageItem],
        at: Traversal<'_>,
    ) -> Vec<(&'i PageItem, Misleading)> {
        let (foreign, left): (Vec<&PageItem>, Vec<&PageItem>) = shown
            .iter()
            .partition(|item| self.is_foreign(&item.name) && !self.is_approved(&item.name));
        let mut misleading: Vec<(&PageItem, Misleading)> = foreign
            .into_iter()
            .map(|item| (item, Misleading::NotAscii))
            .collect();
        // Most lists: nothing on the page looks alike, and no page was before it.
        let follows = self.pins.session.state().lists.tools.goes_on(at);
        if !page.has_look_alikes && !follows {
            return misleading;
        }
        let (seen, offered) = if page.has_look_alikes {
            (groups(left.iter().copied()), groups(&page.items))
        } else {
            (Groups::new(), Groups::new())
        };
        for item in left {
            if self.is_approved(&item.name) {
                continue;
            }
            let earlier = self
                .pins
                .session
                .state()
                .lists
                .tools
                .earlier_look_alikes(at, item);
            let beside = beside(item, &offered, MAX_LOOK_ALIKES.saturating_add(1));
            // A call asks as much: what it would refuse is not shown.
            let is_crowd = beside.len().saturating_add(earlier.len()) > MAX_LOOK_ALIKES;
            let like = if is_crowd {
                beside
                    .into_iter()
                    .next()
                    .or_else(|| earlier.into_iter().next())
            } else {
                let seen = beside_one(item, &seen);
                seen.or_else(|| self.seen_of(earlier))
            };
            if let Some(other) = like {
                misleading.push((item, Misleading::LooksLike(other)));
            }
        }
        misleading
    }

    /// One of these names that the agent sees. Of a crowd it is not asked which.
    fn seen_of(&self, mut others: Vec<String>) -> Option<String> {
        if others.len() > MAX_LOOK_ALIKES {
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

    /// A tool that the host has named byte for byte is there, whatever its name looks like.
    fn is_approved(&self, name: &str) -> bool {
        self.snapshot.lock().tool(name).is_some() || self.snapshot.labels().allowed.contains(name)
    }

    fn is_foreign(&self, name: &str) -> bool {
        self.pins.names == ToolNames::Ascii && !name.is_ascii()
    }
}

/// Names by what they look like; of each look no more than tell that it is a crowd.
type Groups<'i> = HashMap<NameSkeleton, Vec<&'i str>>;

/// An item itself, and one look-alike too many.
const CROWD: usize = MAX_LOOK_ALIKES + 2;

fn groups<'i>(items: impl IntoIterator<Item = &'i PageItem>) -> Groups<'i> {
    let mut groups = Groups::new();
    for item in items {
        for look in looks(item) {
            let group = groups.entry(look).or_default();
            if group.len() < CROWD && !group.contains(&&*item.name) {
                group.push(&item.name);
            }
        }
    }
    groups
}

/// Other names of these groups that look like an item, each once and no more than `most`.
fn beside(item: &PageItem, groups: &Groups<'_>, most: usize) -> Vec<String> {
    let alike = looks(item).filter_map(|look| groups.get(&look)).flatten();
    let mut others: Vec<String> = Vec::new();
    for other in alike.filter(|other| **other != item.name) {
        if others.len() >= most {
            break;
        }
        if !others.iter().any(|known| known == other) {
            others.push((*other).to_owned());
        }
    }
    others
}

fn beside_one(item: &PageItem, groups: &Groups<'_>) -> Option<String> {
    beside(item, groups, 1).into_iter().next()
}

fn looks(item: &PageItem) -> impl Iterator<Item = NameSkeleton> {
    let offered = item.definition.as_ref();
    offered.into_iter().flat_map(|it| it.looks.each())
}
