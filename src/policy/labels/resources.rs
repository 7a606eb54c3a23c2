//! What the host says of resources, by their URIs.

use std::collections::{HashMap, HashSet};

use super::super::facts::ResourceFacts;
use super::super::location::{Containment, Location};
use super::super::uris;
use super::join;
use super::roots::{Root, RootPosition, Roots};
use crate::policy::{MAX_LEVEL, UNKNOWN_DATASET};

/// All that is said of resources.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    by_place: HashMap<Location, ResourceLabels>,
    /// The same places without regard to case, as some servers look them up.
    folded: HashSet<Location>,
    /// One place of each host and port, of schemes that are servers' own.
    hosts: Vec<Location>,
    unlabelled: ResourceLabels,
}

/// What the host says of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceLabels {
    /// 0 public, 1 internal, 2 confidential, 3 secret; that of its root if nothing is said.
    pub level: Option<i64>,
    pub labels: Vec<String>,
    pub datasets: Vec<String>,
    pub groups: Vec<String>,
}

/// Why a resource cannot be labelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResourceProblem {
    #[error("is no URI that all readers take for the same resource")]
    Unclear,
    #[error("is labelled twice")]
    Twice,
}

impl Resources {
    /// With what is said of resources that are neither named nor in a root.
    #[must_use]
    pub fn with_unlabelled(self, unlabelled: ResourceLabels) -> Self {
        Self { unlabelled, ..self }
    }

    pub fn add(&mut self, uri: &str, labels: ResourceLabels) -> Result<(), ResourceProblem> {
        let place = Location::of_uri(uri).ok_or(ResourceProblem::Unclear)?;
        self.folded.insert(place.folded());
        let host = place.top();
        if host.own_scheme().is_some() && !self.hosts.contains(&host) {
            self.hosts.push(host);
        }
        match self.by_place.insert(place, labels) {
            None => Ok(()),
            Some(_) => Err(ResourceProblem::Twice),
        }
    }

    /// The highest level of any.
    pub fn highest_level(&self) -> i64 {
        let all = self.by_place.values().chain([&self.unlabelled]);
        all.filter_map(|labels| labels.level).max().unwrap_or(0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_place.is_empty() && self.unlabelled == ResourceLabels::default()
    }

    /// A URI that readers disagree on may be any resource, also the most sensitive one.
    pub(super) fn describe(&self, roots: &Roots, facts: &ResourceFacts) -> Option<ResourceFacts> {
        if self.is_empty() && roots.is_empty() {
            return None;
        }
        let Some(readings) = uris::readings(&facts.uri) else {
            return Some(self.described(roots, facts));
        };
        let [one, other] = readings.map(|uri| {
            let read = ResourceFacts {
                uri,
                ..facts.clone()
            };
            ResourceFacts {
                uri: facts.uri.clone(),
                ..self.described(roots, &read)
            }
        });
        Some(if one == other {
            one
        } else {
            self.unsure(roots, facts.clone())
        })
    }

    /// It may be the most sensitive of all.
    fn unsure(&self, roots: &Roots, mut facts: ResourceFacts) -> ResourceFacts {
        facts.level = MAX_LEVEL;
        let named = roots.iter().map(|root| &root.datasets);
        if named.chain(self.datasets()).any(|names| !names.is_empty()) {
            facts.datasets = vec![UNKNOWN_DATASET.to_owned()];
        }
        facts
    }

    /// What is said of data sets.
    pub(super) fn datasets(&self) -> impl Iterator<Item = &Vec<String>> {
        let all = self.by_place.values().chain([&self.unlabelled]);
        all.map(|labels| &labels.datasets)
    }

    fn described(&self, roots: &Roots, facts: &ResourceFacts) -> ResourceFacts {
        let mut facts = facts.clone();
        let mut found = self.find(roots, &facts.uri);
        if let (Some((None, root)), Some(known)) = (&found, &facts.known_as)
            && root.is_outside()
        {
            found = self.find(roots, known);
        }
        let Some((named, root)) = found else {
            return self.unsure(roots, facts);
        };
        facts.roots = root.names().map(str::to_owned).collect();
        let in_root = (!root.is_outside()).then(|| root.level());
        let below = root.level_below();
        let labels = match (named, in_root) {
            (Some(labels), _) => labels,
            (None, None) => &self.unlabelled,
            (None, Some(_)) => &NOTHING,
        };
        facts.level = match named.and_then(|labels| labels.level) {
            Some(level) => level,
            // A server may answer with all that lies in a directory.
            None => below.max(in_root.or(labels.level).unwrap_or(facts.level)),
        };
        join(&mut facts.labels, &labels.labels);
        let of_roots: Vec<String> = root.labels().cloned().collect();
        join(&mut facts.labels, &of_roots);
        join(&mut facts.groups, &labels.groups);
        join(&mut facts.datasets, &labels.datasets);
        let of_roots: Vec<String> = match named.and_then(|labels| labels.level) {
            Some(_) => root.datasets().cloned().collect(),
            // As of levels.
            None => root.datasets_within().cloned().collect(),
        };
        join(&mut facts.datasets, &of_roots);
        facts
    }

    /// What is said of one that is named, or lies in a root.
    pub(super) fn known(&self, roots: &Roots, uri: &str) -> Option<ResourceFacts> {
        if self.is_empty() && roots.is_empty() {
            return None;
        }
        // A part of it is what it is part of.
        let (whole, _) = uri.split_once('#').unwrap_or((uri, ""));
        let readings = uris::readings(whole).map_or_else(|| vec![whole.to_owned()], Vec::from);
        let mut all = readings
            .iter()
            .filter_map(|reading| self.known_as(roots, reading));
        let first = all.next()?;
        Some(all.fold(first, |mut one, other| {
            one.level = one.level.max(other.level);
            join(&mut one.labels, &other.labels);
            join(&mut one.datasets, &other.datasets);
            one
        }))
    }

    /// The same of one reading. What may be named, or may lie in a root, may be the most sensitive.
    fn known_as(&self, roots: &Roots, uri: &str) -> Option<ResourceFacts> {
        Location::of_uri(uri)?;
        let facts = ResourceFacts {
            uri: uri.to_owned(),
            ..ResourceFacts::default()
        };
        match self.find(roots, uri) {
            Some((None, root)) if root.is_outside() => None,
            // `described` gives what is unsure the highest level.
            Some(_) | None => Some(self.described(roots, &facts)),
        }
    }

    /// What is said of all that a template could name, whatever is put in place of its expressions: of
    /// what lies below the last slash before the first of them, and of what that lies in. A completion
    /// shows which of them exist.
    pub(super) fn within_reach(&self, roots: &Roots, template: &str) -> ResourceLabels {
        let mut all = ResourceLabels::default();
        let Some((head, _)) = template.split_once('{') else {
            return all;
        };
        // Where not even the authority stands fast, it could be anywhere.
        let path = head.split_once("://").map(|(_, rest)| rest);
        let top = path.and_then(|path| path.contains('/').then(|| head.rfind('/'))?);
        let top = top.and_then(|at| Location::of_uri(head.get(..=at)?));
        let is_reached = |place: &Location| {
            let top = top.as_ref();
            top.is_none_or(|top| {
                place.below(top) != Containment::No || top.below(place) != Containment::No
            })
        };
        for root in roots.iter().filter(|root| is_reached(root.location())) {
            all.level = all.level.max(Some(root.level));
            join(&mut all.labels, &root.labels);
            join(&mut all.datasets, &root.datasets);
        }
        let named = self.by_place.iter().filter(|(place, _)| is_reached(place));
        for (_, labels) in named {
            all.level = all.level.max(labels.level);
            join(&mut all.labels, &labels.labels);
            join(&mut all.datasets, &labels.datasets);
        }
        all
    }

    /// Whether a server could take a URI for another resource of a scheme that the host says something of.
    pub(super) fn may_be_another(&self, roots: &Roots, uri: &str) -> bool {
        let readings = uris::readings(uri).map_or_else(|| vec![uri.to_owned()], Vec::from);
        let mut places = readings.iter().filter_map(|it| Location::of_uri(it));
        places.any(|place| self.is_doubtful(roots, &place))
    }

    /// Whether a place could be a labelled one, or one in a root, that is written otherwise: with an escaped
    /// delimiter, without a host where that has one or with one where that has none, or with another port.
    /// Only of schemes of which something is said; what is said of the very place, or of a root that it
    /// lies in, holds.
    fn is_doubtful(&self, roots: &Roots, place: &Location) -> bool {
        let Some(scheme) = place.own_scheme() else {
            return false;
        };
        let known = || self.hosts.iter().chain(roots.iter().map(Root::location));
        let is_said = |place: &Location| self.by_place.contains_key(place);
        if is_said(place) || is_said(&place.without_query()) {
            return false;
        }
        if place.holds_delimiters() {
            return known().any(|known| known.own_scheme() == Some(scheme));
        }
        roots.find(place).is_nowhere() && known().any(|known| place.could_be_of(known))
    }

    /// `None` where it is not sure which resource is meant.
    fn find<'r>(
        &self,
        roots: &'r Roots,
        uri: &str,
    ) -> Option<(Option<&ResourceLabels>, RootPosition<'r>)> {
        let place = Location::of_uri(uri)?;
        if self.is_doubtful(roots, &place) {
            return None;
        }
        let root = Some(roots.find(&place)).filter(|root| !root.is_unsure())?;
        let named = self.by_place.get(&place);
        // What is said of a resource holds for whatever a query selects in it.
        let named = named.or_else(|| self.by_place.get(&place.without_query()));
        let alike = named.is_none() && self.folded.contains(&place.folded());
        (!alike).then_some((named, root))
    }
}

const NOTHING: ResourceLabels = ResourceLabels {
    level: None,
    labels: Vec::new(),
    datasets: Vec::new(),
    groups: Vec::new(),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_with_what_lies_below_it_has_the_level_of_both() {
        let mut outer = Root::at("outer", "doc://a/b").unwrap();
        outer.level = 1;
        let mut inner = Root::at("inner", "doc://a/b/c/d").unwrap();
        inner.level = 2;
        let roots = Roots::new(vec![outer, inner]);
        let mut resources = Resources::default();
        let index = ResourceLabels {
            level: Some(0),
            ..ResourceLabels::default()
        };
        resources.add("doc://a/b/c", index).unwrap();
        let check = |uri: &str, level: i64| {
            let facts = ResourceFacts {
                uri: uri.to_owned(),
                ..ResourceFacts::default()
            };
            let facts = resources.describe(&roots, &facts).unwrap();
            assert_eq!(facts.level, level, "{uri}");
        };
        check("doc://a/b", 2);
        check("doc://a", 2);
        check("doc://a/b/x", 1);
        check("doc://a/b/c/d", 2);
        check("doc://a/x", 0);
        // It is said of the very URI.
        check("doc://a/b/c", 0);
    }

    #[test]
    fn a_resource_is_what_the_host_says_of_its_place() {
        let (roots, resources) = host();
        let check = |uri: &str, expected: &str| {
            let facts = ResourceFacts {
                uri: uri.to_owned(),
                ..ResourceFacts::default()
            };
            let facts = resources.describe(&roots, &facts).unwrap();
            let words = [facts.roots, facts.labels, facts.groups, facts.datasets].concat();
            assert_eq!(
                format!("{} {}", words.join(" "), facts.level),
                expected,
                "{uri}"
            );
        };
        check("notes://team/a", "team internal-use handbook 1");
        check(
            "notes://team/salaries",
            "team pii internal-use hr payroll handbook 3",
        );
        check(
            "notes://TEAM/x/../salaries",
            "team pii internal-use hr payroll handbook 3",
        );
        check("notes://others/a", " 2");
        check(
            "notes://team/salaries?year=1",
            "team pii internal-use hr payroll handbook 3",
        );
        check(
            "notes://team/salaries?",
            "team pii internal-use hr payroll handbook 3",
        );
        check("notes://others/a%2fb", " 2");
        check("notes://team/a%2fb", "team internal-use handbook 1");
        // It may be any of them.
        check("notes://team/salaries%2fb?", "team internal-use handbook 1");
        check("notes://team/Salaries", "? 3");
        check("notes://team/x y", "? 3");
        check("NOT A URI", "? 3");
    }

    #[test]
    fn what_could_be_another_spelling_of_a_labelled_resource_has_the_highest_level() {
        let mut labelled = Resources::default();
        let public = || ResourceLabels {
            level: Some(0),
            ..ResourceLabels::default()
        };
        labelled.add("notes://team/hr", public()).unwrap();
        let in_root = Roots::new(vec![Root::at("team", "notes://team").unwrap()]);
        for (roots, resources) in [
            (Roots::default(), labelled),
            (in_root, Resources::default()),
        ] {
            let check = |uri: &str, level: i64| {
                let facts = ResourceFacts {
                    uri: uri.to_owned(),
                    ..ResourceFacts::default()
                };
                let facts = resources.describe(&roots, &facts).unwrap();
                assert_eq!(facts.level, level, "{uri} {roots:?}");
                let doubtful = resources.may_be_another(&roots, uri);
                assert_eq!(doubtful, level > 0, "{uri} {roots:?}");
            };
            check("notes://team/hr", 0);
            check("notes://team/x", 0);
            check("notes://team/hr?year=1", 0);
            check("notes://others/hr", 0);
            check("mail:team/hr", 0);
            check("mail://team/hr%3Fx", 0);
            check("https://team:8443/hr", 0);
            check("notes:team/hr", 3);
            check("notes:hr", 3);
            check("notes:/team/hr", 3);
            check("notes:///team/hr", 3);
            check("notes://team:80/hr", 3);
            check("notes://team/hr%3Fx", 3);
            check("notes://team/hr%23x", 3);
            check("notes://others/hr%23x", 3);
        }
    }

    #[test]
    fn what_is_said_of_the_very_place_holds_however_it_is_written() {
        let mut resources = Resources::default();
        let uris = [
            "notes:hr",
            "notes://team/hr",
            "notes://team:80/hr",
            "notes://team/a%3Fb",
        ];
        for (level, uri) in uris.into_iter().enumerate() {
            let labels = ResourceLabels {
                level: i64::try_from(level).ok(),
                ..ResourceLabels::default()
            };
            resources.add(uri, labels).unwrap();
        }
        for (level, uri) in uris.into_iter().enumerate() {
            let known = resources.known(&Roots::default(), uri).unwrap();
            assert_eq!(Some(known.level), i64::try_from(level).ok(), "{uri}");
        }
        let known = resources
            .known(&Roots::default(), "notes://team/x")
            .unwrap();
        assert_eq!(known.level, 3);
    }

    #[test]
    fn a_template_reaches_what_could_be_put_into_it() {
        let (roots, resources) = host();
        let check = |template: &str, expected: (Option<i64>, &[&str])| {
            let reached = resources.within_reach(&roots, template);
            let labels: Vec<&str> = reached.labels.iter().map(String::as_str).collect();
            assert_eq!((reached.level, labels.as_slice()), expected, "{template}");
        };
        let all = (Some(3), &["internal-use", "pii"][..]);
        let nothing = (None, &[][..]);
        check("notes://team/{note}", all);
        check("notes://team/{+note}", all);
        check("notes://team/sal{note}", all);
        check("notes://TEAM/{note}", all);
        check("notes://{team}/a", all);
        check("notes://{team}", all);
        check("{+uri}", all);
        check("urn:{x}", all);
        check("notes://team/sub/{note}", (Some(1), &["internal-use"]));
        check("notes://others/{note}", nothing);
        check("file:///{path}", nothing);
        // Without an expression it is what it names.
        check("notes://team/salaries", nothing);
    }

    fn host() -> (Roots, Resources) {
        let labels = vec!["internal-use".to_owned()];
        let mut root = Root::at("team", "notes://team").unwrap();
        root.level = 1;
        root.labels = labels;
        root.datasets = vec!["handbook".to_owned()];
        let mut resources = Resources::default().with_unlabelled(ResourceLabels {
            level: Some(2),
            ..ResourceLabels::default()
        });
        let salaries = ResourceLabels {
            level: Some(3),
            labels: vec!["pii".to_owned()],
            datasets: vec!["payroll".to_owned()],
            groups: vec!["hr".to_owned()],
        };
        let mut add = |uri: &str| resources.add(uri, salaries.clone());
        assert_eq!(add("notes://team/salaries"), Ok(()));
        assert_eq!(add("notes://team/./salaries"), Err(ResourceProblem::Twice));
        assert_eq!(add("not a uri"), Err(ResourceProblem::Unclear));
        (Roots::new(vec![root]), resources)
    }
}
