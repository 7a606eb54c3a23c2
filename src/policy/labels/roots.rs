//! The host's map of places: named roots, with what lies in each.

use super::super::location::{Containment, Location};
use super::super::sensitivity::MAX_LEVEL;

/// All roots, the outer ones before those that lie in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots(Vec<Root>);

/// A place and everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub name: String,
    location: Location,
    /// 0 public, 1 internal, 2 confidential, 3 secret.
    pub level: i64,
    /// Whether what lies in it may be changed.
    pub writable: bool,
    /// What kinds of data lie in it.
    pub labels: Vec<String>,
    /// Private data sets that lie in it.
    pub datasets: Vec<String>,
    /// How agents know it, if otherwise.
    pub(super) guise: Option<VirtualPath>,
}

/// How a root is called on either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VirtualPath {
    pub(super) place: Location,
    /// What stands in texts for the root's own path, and what is written in its place: as a path, and as
    /// the path of a URI where that is spelled otherwise.
    pub(super) spellings: Vec<(String, String)>,
}

/// Why a text is no place for a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is neither an absolute path nor a URI that all readers take for the same place")]
pub struct RootProblem;

/// Where one location lies.
#[derive(Debug)]
pub(super) struct RootPosition<'r> {
    /// The outermost first.
    roots: Vec<&'r Root>,
    /// Those that lie in it, or may: a call that reads, walks or moves all of it reaches them.
    below: Vec<&'r Root>,
    /// It may also lie in one that is spelled differently.
    unsure: bool,
}

impl Roots {
    pub fn new(mut roots: Vec<Root>) -> Self {
        roots.sort_by(|one, other| {
            let key = |root: &Root| (root.location.depth(), root.name.clone());
            key(one).cmp(&key(other))
        });
        Self(roots)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, the outer roots first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|root| root.name.as_str())
    }

    /// The outer ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        self.0.iter()
    }

    /// Two roots at one place.
    pub fn twins(&self) -> Option<(&str, &str)> {
        let mut pairs = self.0.iter().enumerate().flat_map(|(at, one)| {
            let rest = self.0.iter().skip(at + 1);
            rest.map(move |other| (one, other))
        });
        let (one, other) = pairs.find(|(one, other)| one.location == other.location)?;
        Some((&one.name, &other.name))
    }

    pub(super) fn find(&self, location: &Location) -> RootPosition<'_> {
        let mut place = RootPosition {
            roots: Vec::new(),
            below: Vec::new(),
            unsure: false,
        };
        for root in &self.0 {
            match location.below(&root.location) {
                Containment::Yes => place.roots.push(root),
                Containment::Perhaps => place.unsure = true,
                Containment::No if root.location.below(location) != Containment::No => {
                    place.below.push(root);
                }
                Containment::No => {}
            }
        }
        place
    }
}

impl Root {
    /// # Errors
    /// [`RootProblem`] when `place` is neither an absolute path nor a URI, or is one that readers
    /// disagree on.
    pub fn at(name: &str, place: &str) -> Result<Self, RootProblem> {
        Ok(Self {
            name: name.to_owned(),
            location: Location::of(place).ok_or(RootProblem)?,
            level: 0,
            writable: false,
            labels: Vec::new(),
            datasets: Vec::new(),
            guise: None,
        })
    }

    pub(super) fn location(&self) -> &Location {
        &self.location
    }

    /// Where it is, if it is a place of files.
    pub fn path(&self) -> Option<String> {
        self.location.path()
    }

    /// Whether all of it lies in the other.
    pub fn lies_in(&self, other: &Self) -> bool {
        self.location.below(&other.location) == Containment::Yes
    }
}

impl<'r> RootPosition<'r> {
    /// In no root, or in one that cannot be determined.
    pub(super) fn is_outside(&self) -> bool {
        self.unsure || self.roots.is_empty()
    }

    /// In no root under any reading of the path.
    pub(super) fn is_nowhere(&self) -> bool {
        !self.unsure && self.roots.is_empty()
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.unsure
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.roots.iter().map(|root| root.name.as_str())
    }

    /// What lies in several has all their labels.
    pub(super) fn labels(&self) -> impl Iterator<Item = &String> {
        self.roots.iter().flat_map(|root| &root.labels)
    }

    /// The roots that it lies in, and those that lie in it: a call that reads all of it reads that as well.
    pub(super) fn within(self) -> impl Iterator<Item = &'r Root> {
        self.roots.into_iter().chain(self.below)
    }

    /// The data sets in it: of the roots that it lies in, and of those that lie in it.
    pub(super) fn datasets_within(&self) -> impl Iterator<Item = &String> {
        let all = self.roots.iter().chain(&self.below);
        all.flat_map(|root| &root.datasets)
    }

    /// The data sets of the roots that it lies in.
    pub(super) fn datasets(&self) -> impl Iterator<Item = &String> {
        self.roots.iter().flat_map(|root| &root.datasets)
    }

    /// The innermost root decides.
    pub(super) fn level(&self) -> i64 {
        if self.unsure {
            return MAX_LEVEL;
        }
        self.roots.last().map_or(0, |root| root.level)
    }

    /// The highest of what lies in it; 0 if nothing does.
    pub(super) fn level_below(&self) -> i64 {
        let levels = self.below.iter().map(|root| root.level);
        levels.max().unwrap_or(0)
    }

    pub(super) fn is_writable(&self) -> bool {
        let here = self.roots.last().is_some_and(|root| root.writable);
        here && !self.unsure && self.below.iter().all(|root| root.writable)
    }
}
