//! The host's map of places: named roots, with what lies in each.

use super::super::location::{Containment, Location};
use super::super::sensitivity::MAX_LEVEL;
use super::holder::Holder;
use super::templates::{AllOwnDirectories, OwnDirectory, Template, TemplateProblem};

/// All roots, the outer ones before those that lie in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    all: Vec<Root>,
    /// The directory of its holder in which a server is started.
    started_in: Option<String>,
}

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
    ownership: Ownership,
}

/// Whose a root is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ownership {
    Common,
    /// Each principal or session has one of its own: nothing lies in it before it is known whose is meant,
    /// and its location is the directory that all of them lie in.
    Each(Template),
    /// It is the one of some principal or session.
    Own(OwnDirectory),
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootProblem {
    #[error("is neither an absolute path nor a URI that all readers take for the same place")]
    Place,
    #[error(transparent)]
    Template(#[from] TemplateProblem),
}

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
        let own = roots.iter().find_map(Root::own);
        Self {
            started_in: own.map(|(_, directory)| directory.path()),
            all: roots,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The names, the outer roots first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|root| root.name.as_str())
    }

    /// Those that have a place, the outer ones first: without those of which each holder has its own.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        let placed = |root: &&Root| !matches!(root.ownership, Ownership::Each(_));
        self.all.iter().filter(placed)
    }

    /// Those of which each principal or session has its own.
    pub fn of_each(&self) -> impl Iterator<Item = &Root> {
        let of_each = |root: &&Root| matches!(root.ownership, Ownership::Each(_));
        self.all.iter().filter(of_each)
    }

    /// The same roots for one holder, which has its own of those that each has.
    ///
    /// # Errors
    /// [`RootProblem`] where its own would have no place.
    pub fn of_holder(&self, holder: &Holder) -> Result<Self, RootProblem> {
        let roots = self.all.iter().map(|root| root.of_holder(holder));
        Ok(Self::new(roots.collect::<Result<_, _>>()?))
    }

    /// The directories of all holders, of a root of which each has its own.
    pub fn of_all(&self, name: &str) -> Option<AllOwnDirectories> {
        self.all.iter().find_map(|root| match &root.ownership {
            Ownership::Each(template) if root.name == name => Some(template.of_all()),
            Ownership::Each(_) | Ownership::Common | Ownership::Own(_) => None,
        })
    }

    /// The directories that are this holder's own, the outer ones first.
    pub fn own(&self) -> impl Iterator<Item = (&Root, &OwnDirectory)> {
        self.all.iter().filter_map(Root::own)
    }

    /// The directory of its holder in which a server is started, unless it has a working directory: the
    /// outermost, and of several the first by name.
    pub fn started_in(&self) -> Option<&str> {
        self.started_in.as_deref()
    }

    /// Two roots of which one could lie in, above or at the other, and a variable says where.
    pub fn meeting(&self) -> Option<(&str, &str)> {
        self.of_each().find_map(|root| {
            let mut others = self.all.iter().filter(|other| other.name != root.name);
            let other = others.find(|other| root.could_meet(other))?;
            Some((root.name.as_str(), other.name.as_str()))
        })
    }

    /// Two roots at one place.
    pub fn twins(&self) -> Option<(&str, &str)> {
        let mut pairs = self.all.iter().enumerate().flat_map(|(at, one)| {
            let rest = self.all.iter().skip(at + 1);
            rest.map(move |other| (one, other))
        });
        let is_one = |one: &Root, other: &Root| {
            one.location == other.location && one.ownership == other.ownership
        };
        let (one, other) = pairs.find(|(one, other)| is_one(one, other))?;
        Some((&one.name, &other.name))
    }

    pub(super) fn find(&self, location: &Location) -> RootPosition<'_> {
        let mut place = RootPosition {
            roots: Vec::new(),
            below: Vec::new(),
            unsure: false,
        };
        for root in self.iter() {
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
        let (ownership, location) = match Template::of(place).transpose()? {
            Some(template) => {
                let location = Location::of_path(&template.above());
                (Ownership::Each(template), location)
            }
            None => (Ownership::Common, Location::of(place)),
        };
        Ok(Self {
            name: name.to_owned(),
            location: location.ok_or(RootProblem::Place)?,
            level: 0,
            writable: false,
            labels: Vec::new(),
            datasets: Vec::new(),
            guise: None,
            ownership,
        })
    }

    fn of_holder(&self, holder: &Holder) -> Result<Self, RootProblem> {
        let mut root = self.clone();
        let Ownership::Each(template) = &self.ownership else {
            return Ok(root);
        };
        let directory = template.of_holder(holder);
        let location = Location::of_path(&directory.path());
        root.location = location.ok_or(RootProblem::Place)?;
        root.ownership = Ownership::Own(directory);
        if let Some(shown) = self.guise.as_ref().and_then(|guise| guise.place.path()) {
            root.seen_as(&shown).map_err(|_| RootProblem::Place)?;
        }
        Ok(root)
    }

    fn own(&self) -> Option<(&Self, &OwnDirectory)> {
        match &self.ownership {
            Ownership::Own(directory) => Some((self, directory)),
            Ownership::Common | Ownership::Each(_) => None,
        }
    }

    fn could_meet(&self, other: &Self) -> bool {
        let Ownership::Each(template) = &self.ownership else {
            return false;
        };
        match (&other.ownership, other.location.path()) {
            (Ownership::Each(other), _) => template.could_meet(other),
            (Ownership::Common | Ownership::Own(_), Some(path)) => template.could_meet_path(&path),
            (Ownership::Common | Ownership::Own(_), None) => false,
        }
    }

    pub(super) fn location(&self) -> &Location {
        &self.location
    }

    /// Where it is, if it is a place of files: for one of which each holder has its own, the directory that
    /// all of them lie in.
    pub fn path(&self) -> Option<String> {
        self.location.path()
    }

    /// Whether all of it lies in the other.
    pub fn lies_in(&self, other: &Self) -> bool {
        self.location.below(&other.location) == Containment::Yes
    }
}

impl RootProblem {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Place => None,
            Self::Template(problem) => Some(problem.help()),
        }
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
