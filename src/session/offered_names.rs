//! The names of one list, how its pages define them, and which of them look alike.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::guard::{NameSkeleton, NameSkeletons};

use super::pages::Offered;

/// Names, and how the pages of one list define them.
#[derive(Debug, Default)]
pub(super) struct Names {
    defined: HashMap<String, Definition>,
    alike: HashMap<NameSkeleton, Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Definition {
    One(Offered),
    /// Pages disagree: whoever saw one of them does not know what would be called.
    Conflicting,
}

impl Names {
    pub(super) fn get(&self, name: &str) -> Option<&Definition> {
        self.defined.get(name)
    }

    pub(super) fn len(&self) -> usize {
        self.defined.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.defined.keys()
    }

    pub(super) fn clear(&mut self) {
        self.defined.clear();
        self.alike.clear();
    }

    /// A page that follows the others defines a name.
    pub(super) fn meet(&mut self, name: String, offered: Offered) {
        let looks = offered.looks;
        let defined = Definition::One(offered);
        match self.defined.entry(name) {
            Entry::Vacant(vacant) => {
                note(&mut self.alike, looks, vacant.key());
                vacant.insert(defined);
            }
            Entry::Occupied(mut occupied) if *occupied.get() != defined => {
                occupied.insert(Definition::Conflicting);
            }
            Entry::Occupied(_) => {}
        }
    }

    /// A page defines a name of which it is not known what came before it.
    pub(super) fn meet_anywhere(&mut self, name: String, offered: Offered) {
        if let Entry::Vacant(vacant) = self.defined.entry(name) {
            note(&mut self.alike, offered.looks, vacant.key());
            vacant.insert(Definition::One(offered));
        }
    }

    /// Other names that look so.
    pub(super) fn look_alikes(
        &self,
        name: &str,
        looks: NameSkeletons,
    ) -> impl Iterator<Item = &String> {
        let groups = looks.each().filter_map(|look| self.alike.get(&look));
        groups.flatten().filter(move |other| *other != name)
    }
}

fn note(alike: &mut HashMap<NameSkeleton, Vec<String>>, looks: NameSkeletons, name: &str) {
    for look in looks.each() {
        alike.entry(look).or_default().push(name.to_owned());
    }
}
