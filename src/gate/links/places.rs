//! Where the texts of paths lead on a disk.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;

use crate::policy::{opened_as, spelled_like};

/// As many links as Linux follows for one path.
const MOST_LINKS: usize = 40;

/// Bytes of a path, as on Linux.
const LONGEST: usize = 4096;

/// The most paths of one message that the gate follows. It treats each path of a message with more as one
/// that cannot be followed.
const MOST_PATHS: usize = 256;

/// What stands at a path.
pub(super) enum Stands {
    Link(String),
    /// Anything else.
    There,
    Nothing,
    /// It cannot be told.
    Unclear,
}

/// What was found of each text; `None` if that cannot be told.
pub(super) type Found = BTreeMap<String, Option<Places>>;

/// Where one text can lead, as far as that is elsewhere than it says.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) all: Vec<String>,
    /// Where it leads with `..` undone first.
    pub(super) in_one_spelling: Option<String>,
    /// By the own path of a root that is a link, where the text names its real directory and no root has it.
    pub(super) known_as: Option<String>,
}

/// Where texts lead; nothing if there are too many.
pub(super) fn all_places(
    texts: BTreeSet<String>,
    roots: &[String],
    look: &dyn Fn(&str) -> Stands,
) -> Found {
    if texts.len() > MOST_PATHS {
        return Found::new();
    }
    let roots: Vec<(&str, Option<String>)> = roots
        .iter()
        .map(|root| (root.as_str(), resolved(root, look)))
        .collect();
    let found = texts.into_iter().map(|text| {
        let places = places_of(&text, &roots, look);
        (text, places)
    });
    found.collect()
}

/// Where one text leads, if that is elsewhere than it says; the most likely place first.
fn places_of(
    text: &str,
    roots: &[(&str, Option<String>)],
    look: &dyn Fn(&str) -> Stands,
) -> Option<Places> {
    let opened = opened_as(text);
    let own = opened.first().and_then(|path| spelled_like(path, text));
    let mut places = Places::default();
    let reals = opened.iter().map(|path| resolved(path, look));
    let reals: Vec<String> = reals.collect::<Option<_>>()?;
    let is_real = reals.iter().all(|real| spelled_like(real, text) == own);
    for (reading, real) in reals.into_iter().enumerate() {
        let named = in_words_of_roots(real, roots);
        if is_real && let Some(place) = named.first() {
            let place = spelled_like(place, text);
            places.known_as = place.filter(|place| own.as_ref() != Some(place));
        }
        for (nearness, place) in named.into_iter().enumerate() {
            let place = spelled_like(&place, text)?;
            if own.as_ref() == Some(&place) || places.all.contains(&place) {
                continue;
            }
            if (reading, nearness) == (0, 0) {
                places.in_one_spelling = Some(place.clone());
            }
            places.all.push(place);
        }
    }
    Some(places)
}

/// A place as the host calls it: of a root that is a link itself, or lies behind one, by the root's own path.
fn in_words_of_roots(place: String, roots: &[(&str, Option<String>)]) -> Vec<String> {
    let mut named = Vec::new();
    for (root, real) in roots {
        let Some(real) = real.as_deref().filter(|real| real != root) else {
            continue;
        };
        if let Some(below) = below(&place, real) {
            named.push((real.len(), format!("{}{below}", root.trim_end_matches('/'))));
        }
    }
    named.sort_by_key(|(depth, _)| Reverse(*depth));
    let is_known = roots.iter().any(|(root, _)| below(&place, root).is_some());
    let own = (is_known || named.is_empty()).then_some(place);
    own.into_iter()
        .chain(named.into_iter().map(|(_, place)| place))
        .collect()
}

/// What leads from a directory to what lies in it; empty for itself.
fn below<'p>(place: &'p str, directory: &str) -> Option<&'p str> {
    let rest = place.strip_prefix(directory.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Where a path leads once every link on its way is followed, as the kernel does. What does not exist is
/// where it would come to be. `None` where that cannot be told.
fn resolved(path: &str, look: &dyn Fn(&str) -> Stands) -> Option<String> {
    if path.len() > LONGEST {
        return None;
    }
    let mut todo = names_of(path);
    let mut done: Vec<String> = Vec::new();
    let mut links = 0..MOST_LINKS;
    // How deep the first name is of which nothing exists.
    let mut nothing_from = usize::MAX;
    while let Some(name) = todo.pop() {
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                done.pop();
                if done.len() < nothing_from {
                    nothing_from = usize::MAX;
                }
                continue;
            }
            _ => done.push(name),
        }
        if done.len() > nothing_from {
            continue;
        }
        let here = format!("/{}", done.join("/"));
        // What lies there is another for each process.
        if here.len() > LONGEST || here.starts_with("/proc/") {
            return None;
        }
        match look(&here) {
            Stands::There => {}
            Stands::Nothing => nothing_from = done.len(),
            Stands::Unclear => return None,
            Stands::Link(target) => {
                links.next()?;
                if target.is_empty() || target.len() > LONGEST {
                    return None;
                }
                if target.starts_with('/') {
                    done.clear();
                } else {
                    done.pop();
                }
                todo.extend(names_of(&target));
            }
        }
    }
    Some(format!("/{}", done.join("/")))
}

/// The names of a path, the first one last.
fn names_of(path: &str) -> Vec<String> {
    path.split('/').rev().map(str::to_owned).collect()
}

pub(super) fn on_disk(path: &str) -> Stands {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            let target = fs::read_link(path).map(|it| it.into_os_string().into_string());
            match target {
                Ok(Ok(target)) => Stands::Link(target),
                Ok(Err(_)) | Err(_) => Stands::Unclear,
            }
        }
        Ok(_) => Stands::There,
        Err(error) => {
            let nothing = [ErrorKind::NotFound, ErrorKind::NotADirectory];
            if nothing.contains(&error.kind()) {
                Stands::Nothing
            } else {
                Stands::Unclear
            }
        }
    }
}

pub(super) fn said(links: &BTreeMap<String, String>, path: &str) -> Stands {
    let target = links.get(path);
    target.map_or(Stands::There, |target| Stands::Link(target.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    fn links(links: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = links
            .iter()
            .map(|(at, to)| ((*at).to_owned(), (*to).to_owned()));
        owned.collect()
    }

    #[test]
    fn a_path_leads_where_the_kernel_would_go() {
        let many: Vec<(String, String)> = (0..=MOST_LINKS)
            .map(|it| (format!("/many/{it}"), format!("{}", it + 1)))
            .collect();
        let mut disk = links(&[
            ("/srv/work/lnk", "/srv/work/customers"),
            ("/srv/work/near", "customers/./x"),
            ("/srv/work/up", "../secret"),
            ("/srv/work/two", "lnk/a"),
            ("/srv/work/self", "self"),
            ("/srv/work/one", "other"),
            ("/srv/work/other", "one"),
            ("/srv/work/out", "/proc/self/root/srv"),
            ("/srv/work/none", ""),
            ("/top", "/"),
        ]);
        disk.extend(many);
        let check = |path: &str, expected: Option<&str>| {
            let found = resolved(path, &|at| said(&disk, at));
            assert_eq!(found.as_deref(), expected, "{path}");
        };
        check("/srv/work/a", Some("/srv/work/a"));
        check("/", Some("/"));
        check("/srv/work/lnk", Some("/srv/work/customers"));
        check("/srv/work/lnk/new", Some("/srv/work/customers/new"));
        check("/srv/work/lnk/../a", Some("/srv/work/a"));
        check("/srv/work/near/../../b", Some("/srv/work/b"));
        check("/srv/work/up/a", Some("/srv/secret/a"));
        check("/srv/work/two/b", Some("/srv/work/customers/a/b"));
        check("/top/srv/work/lnk", Some("/srv/work/customers"));
        check("/../../srv", Some("/srv"));
        check("/srv/work/self/a", None);
        check("/srv/work/one", None);
        check("/srv/work/out", None);
        check("/srv/work/none", None);
        check("/proc/self", None);
        check("/many/1", Some(&format!("/many/{}", MOST_LINKS + 1)));
        check("/many/0", None);
        check(&"/a".repeat(LONGEST), None);
    }

    #[test]
    fn a_root_that_is_a_link_is_called_by_its_own_name() {
        let check = |text: &str, roots: &[&str], disk: &[(&str, &str)], expected: &[&str]| {
            let disk = links(disk);
            let roots: Vec<String> = roots.iter().map(ToString::to_string).collect();
            let texts = BTreeSet::from([text.to_owned()]);
            let found = all_places(texts, &roots, &|at| said(&disk, at));
            assert_eq!(places(&found, text).unwrap(), expected, "{text}");
        };
        let work: (&str, &str) = ("/srv/work", "/data/w");
        check("/srv/work/a", &["/srv/work"], &[work], &[]);
        check("/data/w/a", &["/srv/work"], &[work], &["/srv/work/a"]);
        check("/srv/work/a", &["/"], &[work], &["/data/w/a"]);
        let inner = ("/data/w/l", "/data/w/c");
        check(
            "/srv/work/l/a",
            &["/srv/work"],
            &[work, inner],
            &["/srv/work/c/a"],
        );
        // A root behind a root.
        let roots = ["/srv/work", "/data/w/c"];
        check("/srv/work/c/a", &roots, &[work], &["/data/w/c/a"]);
        let roots = ["/data/w", "/srv/cust"];
        let cust = ("/srv/cust", "/data/w/c");
        check("/data/w/c/a", &roots, &[cust], &["/srv/cust/a"]);
        check("/data/w/cx", &roots, &[cust], &[]);
    }

    #[test]
    fn what_stands_for_a_path_is_where_it_leads_with_dots_undone_first() {
        let disk = links(&[("/srv/deep", "/data/x/y"), ("/srv/a", "/data/a")]);
        let check = |text: &str, all: &[&str], one: Option<&str>| {
            let places = places_of(text, &[], &|at| said(&disk, at)).unwrap();
            assert_eq!(places.all, all, "{text}");
            assert_eq!(places.in_one_spelling.as_deref(), one, "{text}");
        };
        check("/srv/b", &[], None);
        check("/srv/a", &["/data/a"], Some("/data/a"));
        check("/srv/deep/../b", &["/data/x/b"], None);
        check("/srv/deep/../a", &["/data/a", "/data/x/a"], Some("/data/a"));
        check(
            "file:///srv/a/b",
            &["file:///data/a/b"],
            Some("file:///data/a/b"),
        );
    }

    #[test]
    fn of_too_many_paths_none_is_followed() {
        let texts = |count: usize| (0..count).map(|it| format!("/srv/{it}")).collect();
        let looked = |count| all_places(texts(count), &[], &|_| Stands::There).len();
        assert_eq!(looked(MOST_PATHS), MOST_PATHS);
        assert_eq!(looked(MOST_PATHS + 1), 0);
    }
}
