//! What the arguments of a call reach for.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::super::location::Location;
use super::super::message_facts::{Arguments, Leaf, Targets};
use super::ToolLabels;
use super::hosts::{self, UNREADABLE_HOST};
use super::roots::Roots;
use crate::policy::MAX_LEVEL;

/// The most hosts that are told one by one; of more, one is unreadable, which no list contains.
const MOST_HOSTS: usize = 256;

/// URLs and hosts of a call that are read.
const MOST_HOST_TEXTS: usize = 1024;

/// Paths of a call that are looked at.
pub(super) const MAX_PATHS: usize = 256;

/// Bytes of all paths of a call together.
pub(super) const MAX_PATHS_BYTES: usize = 64 * 1024;

impl ToolLabels {
    /// `targets` is what is known without labels.
    pub(super) fn targets(
        &self,
        roots: &Roots,
        arguments: &Arguments<'_>,
        targets: &Targets,
    ) -> Targets {
        let mut targets = targets.clone();
        let unreadable = || UNREADABLE_HOST.to_owned();
        let urls = found(arguments, &self.urls).map(|text| (text, HostSyntax::Url));
        let hosts = found(arguments, &self.hosts).map(|text| (text, HostSyntax::Host));
        for (read, (text, reader)) in urls.chain(hosts).enumerate() {
            if read >= MOST_HOST_TEXTS {
                targets.hosts.push(unreadable());
                break;
            }
            let host = text.as_deref().and_then(|text| match reader {
                HostSyntax::Url => hosts::host_in(text),
                HostSyntax::Host => hosts::host_named(text),
            });
            targets.hosts.push(host.unwrap_or_else(unreadable));
        }
        targets.hosts.sort();
        targets.hosts.dedup();
        if targets.hosts.len() > MOST_HOSTS {
            targets.hosts.truncate(MOST_HOSTS);
            targets.hosts.push(unreadable());
        }
        self.find_destinations(&mut targets, arguments);
        match &self.paths {
            Some(pointers) => self.reach(&mut targets, roots, arguments, pointers),
            None => beyond(&mut targets),
        }
        targets
    }

    /// The arguments that are paths, a relative one as it lies in `base`. `None` for what is no text.
    pub(super) fn paths_among<'a>(
        &'a self,
        roots: &'a Roots,
        arguments: &'a Arguments<'a>,
    ) -> impl Iterator<Item = (Pointer<'a>, Option<Cow<'a, str>>)> {
        let pointers = self.paths.as_deref().unwrap_or_default();
        let found = found_at(arguments, pointers);
        let place = |text| match &self.base {
            Some(base) => base.resolve(roots, text),
            None => text,
        };
        found.map(move |(pointer, text)| (pointer, text.map(place)))
    }

    /// Which roots the paths lie in. A call that names none of the paths that it could name reaches for
    /// whatever the server takes in their place.
    fn reach(
        &self,
        targets: &mut Targets,
        roots: &Roots,
        arguments: &Arguments<'_>,
        pointers: &[String],
    ) {
        let among = self.paths_among(roots, arguments).take(MAX_PATHS + 1);
        let paths: Vec<Option<Cow<'_, str>>> = among.map(|(_, text)| text).collect();
        targets.outside = false;
        // Nothing that may be changed is named where nothing is.
        targets.writable = !paths.is_empty();
        targets.level = 0;
        if paths.is_empty() && !pointers.is_empty() {
            return beyond(targets);
        }
        if !are_few(paths.iter().map(Option::as_deref)) {
            return beyond(targets);
        }
        let mut reached = BTreeSet::new();
        for path in paths {
            let path = path.as_deref();
            let path = path.map(|path| targets.known_as.get(path).map_or(path, String::as_str));
            let place = path.and_then(Location::of_file);
            let place = place.map(|place| roots.find(&place));
            let Some(place) = place.filter(|place| !place.is_outside()) else {
                beyond(targets);
                continue;
            };
            reached.extend(place.names().map(str::to_owned));
            targets.level = targets.level.max(place.level()).max(place.level_below());
            targets.writable &= place.is_writable();
        }
        targets.roots = reached.into_iter().collect();
        if targets.astray {
            beyond(targets);
        }
    }
}

/// How a text names a host.
#[derive(Clone, Copy)]
enum HostSyntax {
    Url,
    Host,
}

/// Whether the paths of a call are within the bounds: no more than [`MAX_PATHS`], and no more than
/// [`MAX_PATHS_BYTES`] together. Beyond them the gate looks at none.
pub(super) fn are_few<'t>(paths: impl Iterator<Item = Option<&'t str>>) -> bool {
    let mut bytes = 0_usize;
    for (index, path) in paths.enumerate() {
        bytes = bytes.saturating_add(path.map_or(0, str::len));
        if index >= MAX_PATHS || bytes > MAX_PATHS_BYTES {
            return false;
        }
    }
    true
}

fn beyond(targets: &mut Targets) {
    targets.outside = true;
    targets.writable = false;
    targets.level = MAX_LEVEL;
}

/// The texts at the pointers: one, or an array of them. `None` for whatever else is there, also for an
/// object: a server may read its keys.
fn found<'a>(
    arguments: &'a Arguments<'a>,
    pointers: &'a [String],
) -> impl Iterator<Item = Option<Cow<'a, str>>> {
    found_at(arguments, pointers).map(|(_, text)| text)
}

/// The JSON pointer of a text: that of a labelled place, and what leads on from there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pointer<'a> {
    place: &'a str,
    rest: &'a str,
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.rest)
    }
}

/// The same, with the pointer of each.
pub(super) fn found_at<'a>(
    arguments: &'a Arguments<'a>,
    pointers: &'a [String],
) -> impl Iterator<Item = (Pointer<'a>, Option<Cow<'a, str>>)> {
    pointers.iter().flat_map(|pointer| at(arguments, pointer))
}

/// The same at one pointer.
pub(super) fn texts_at<'a>(
    arguments: &'a Arguments<'a>,
    pointer: &str,
) -> Vec<Option<Cow<'a, str>>> {
    let found = at(arguments, pointer).into_iter();
    found.map(|(_, text)| text).collect()
}

/// What lies at or below one place, with what leads further down.
type LeavesBelow<'a> = Vec<(&'a str, &'a Leaf<'a>)>;

fn at<'a>(arguments: &'a Arguments<'a>, pointer: &str) -> Vec<(Pointer<'a>, Option<Cow<'a, str>>)> {
    let mut places: BTreeMap<&'a str, LeavesBelow<'a>> = BTreeMap::new();
    let mut found = Vec::new();
    for (name, leaf) in &arguments.0 {
        match stands(name, pointer) {
            LeafPosition::At(rest) => {
                let place = name.strip_suffix(rest).unwrap_or(name);
                places.entry(place).or_default().push((rest, leaf));
            }
            // A server that takes one thing for an array of one reads it.
            LeafPosition::BeforeMembers if !holds_members(leaf) => {
                let (place, rest) = (name.as_str(), "");
                found.push((Pointer { place, rest }, None));
            }
            LeafPosition::BeforeMembers | LeafPosition::Elsewhere => {}
        }
    }
    for (place, inside) in places {
        let texts = texts(inside).into_iter();
        found.extend(texts.map(|(rest, text)| (Pointer { place, rest }, text)));
    }
    found
}

/// Where a leaf stands, as seen from a pointer.
enum LeafPosition<'a> {
    /// There, or below: with what leads to it from there.
    At(&'a str),
    /// On the way, where each member is meant.
    BeforeMembers,
    Elsewhere,
}

/// `*` is each item of an array, and each member of an object.
fn stands<'a>(name: &'a str, pointer: &str) -> LeafPosition<'a> {
    let mut rest = name;
    let mut means_each = false;
    for step in pointer.split('/').skip(1) {
        means_each |= step == "*";
        let Some(after) = rest.strip_prefix('/') else {
            return if means_each {
                LeafPosition::BeforeMembers
            } else {
                LeafPosition::Elsewhere
            };
        };
        let end = after.find('/').unwrap_or(after.len());
        let Some((this, below)) = after.split_at_checked(end) else {
            return LeafPosition::Elsewhere;
        };
        if step != "*" && step != this {
            return LeafPosition::Elsewhere;
        }
        rest = below;
    }
    LeafPosition::At(rest)
}

fn holds_members(leaf: &Leaf<'_>) -> bool {
    match leaf {
        // The items of arrays are leaves of their own.
        Leaf::Strings(_) | Leaf::Array | Leaf::EmptyArray | Leaf::EmptyObject => true,
        Leaf::String(_) | Leaf::Number(_) | Leaf::Bool(_) | Leaf::Null => false,
    }
}

fn texts<'a>(inside: LeavesBelow<'a>) -> Vec<(&'a str, Option<Cow<'a, str>>)> {
    let is_array = inside.iter().any(|(rest, leaf)| {
        let array = matches!(leaf, Leaf::Strings(_) | Leaf::Array | Leaf::EmptyArray);
        rest.is_empty() && array
    });
    let is_item = |rest: &str| {
        let number = rest.strip_prefix('/');
        number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
    };
    let text = |(rest, leaf): (&'a str, &'a Leaf<'a>)| match leaf {
        // Its items are leaves of their own.
        Leaf::Strings(_) | Leaf::Array | Leaf::EmptyArray if rest.is_empty() => None,
        Leaf::String(text) if rest.is_empty() || is_array && is_item(rest) => {
            Some((rest, Some(Cow::Borrowed(&**text))))
        }
        Leaf::String(_)
        | Leaf::Strings(_)
        | Leaf::Array
        | Leaf::EmptyArray
        | Leaf::EmptyObject
        | Leaf::Number(_)
        | Leaf::Bool(_)
        | Leaf::Null => Some((rest, None)),
    };
    inside.into_iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::World;
    use super::super::Base;
    use super::super::roots::Root;
    use super::*;

    #[test]
    fn hosts_are_found_where_labels_say_and_spelled_in_one_way() {
        let check = |argument: (&str, &str), hosts: &[&str]| {
            let world = listed(&[argument]);
            let labels = ToolLabels {
                urls: vec!["/url".to_owned()],
                hosts: vec!["/host".to_owned()],
                ..ToolLabels::default()
            };
            let targets = labels.targets(&Roots::default(), &world.arguments, &world.targets);
            assert_eq!(targets.hosts, hosts, "{argument:?}");
        };
        check(
            ("/url", "https://Docs.Example.com:8080/a?b"),
            &["docs.example.com"],
        );
        check(
            ("/url", "https://docs.example.com@evil.com/"),
            &["evil.com"],
        );
        check(("/url", "https://docs.example.com\\@evil.com/"), &["?"]);
        check(("/url", "http://127.1/"), &["127.0.0.1"]);
        check(("/url", "http://2130706433/"), &["127.0.0.1"]);
        check(("/url", "http://[::ffff:10.0.0.1]/"), &["10.0.0.1"]);
        check(("/url", "http://evil.com./"), &["evil.com"]);
        check(
            ("/url", "http://b\u{fc}cher.example/"),
            &["xn--bcher-kva.example"],
        );
        check(("/url/0", "http://a.com/"), &["a.com"]);
        check(("/url", "file:///etc/passwd"), &["?"]);
        check(("/url", "data:text/plain,x"), &["?"]);
        check(("/url", "not a url"), &["?"]);
        check(("/url", "https://docs.exa\tmple.com/"), &["?"]);
        check(("/url", " https://docs.example.com/"), &["?"]);
        check(("/url", "gopher://EVIL.com/"), &["evil.com"]);
        check(("/host", "EVIL.com."), &["evil.com"]);
        check(("/host", "[::1]"), &["::1"]);
        check(("/host", "a b"), &["?"]);
        check(("/urls", "http://a.com/"), &[]);
        check(("/other", "http://a.com/"), &[]);
    }

    #[test]
    fn of_too_many_hosts_one_is_unreadable() {
        let check = |hosts: usize, told: usize, readable: bool| {
            let names: Vec<(String, String)> = (0..hosts)
                .map(|host| (format!("/url/{host}"), format!("https://h{host}.example/")))
                .collect();
            let arguments: Vec<(&str, &str)> = names
                .iter()
                .map(|(name, url)| (name.as_str(), url.as_str()))
                .collect();
            let mut world = World::new().with(&arguments);
            world.arguments.0.push(("/url".to_owned(), Leaf::Array));
            let labels = ToolLabels {
                urls: vec!["/url".to_owned()],
                ..ToolLabels::default()
            };
            let targets = labels.targets(&Roots::default(), &world.arguments, &world.targets);
            assert_eq!(targets.hosts.len(), told, "{hosts}");
            let unreadable = targets.hosts.iter().any(|host| host == UNREADABLE_HOST);
            assert_eq!(!unreadable, readable, "{hosts}");
        };
        check(MOST_HOSTS, MOST_HOSTS, true);
        check(MOST_HOSTS + 1, MOST_HOSTS + 1, false);
        check(4 * MOST_HOSTS, MOST_HOSTS + 1, false);
    }

    #[test]
    fn paths_are_found_in_the_roots_that_they_lie_in() {
        let check = |arguments: &[(&str, &str)], expected: &str| {
            let world = listed(arguments);
            let labels = ToolLabels {
                paths: Some(vec!["/path".to_owned(), "/more".to_owned()]),
                ..ToolLabels::default()
            };
            let targets = labels.targets(&roots(), &world.arguments, &world.targets);
            let mut told = targets.roots.join(" ");
            if targets.outside {
                told += " outside";
            }
            if targets.writable {
                told += " writable";
            }
            assert_eq!(
                format!("{told} {}", targets.level),
                expected,
                "{arguments:?}"
            );
        };
        check(&[("/path", "/srv/data/a")], "data writable 1");
        check(&[("/path", "/srv/data/hr/a")], "data hr 2");
        check(&[("/path", "file:///srv/data/hr")], "data hr 2");
        check(
            &[("/path", "/srv/data/a"), ("/more/0", "/srv/data/hr/a")],
            "data hr 2",
        );
        check(&[("/path", "/srv/data/../data/a")], "data writable 1");
        // A call that walks or moves it also reaches the inner root.
        check(&[("/path", "/srv/data")], "data 2");
        check(&[("/path", "/srv/data/.")], "data 2");
        check(
            &[("/path", "/srv/data/a"), ("/more/0", "/srv/data/")],
            "data 2",
        );
        check(&[("/path", "/srv/data/h")], "data writable 1");
        check(&[("/path", "/srv/data/deep/x")], "data deep writable 1");
        check(&[("/path", "/srv/data/deep")], "data deep 2");
        check(&[("/path", "/srv/data/deep/IN")], "data deep 2");
        check(&[("/path", "/srv/data/deep/in/er/a")], "data deep inner 2");
        check(&[("/path", "/srv/data/deep/in/a")], "data deep writable 1");
        // Some servers take white space and quotes away from the ends.
        check(&[("/path", "/srv/data/hr\"")], " outside 3");
        check(&[("/path", "/srv/data/hr ")], " outside 3");
        check(&[("/path", "/srv/data/hr /a")], " outside 3");
        // Inside the inner root, which is named another way, or outside of both.
        check(&[("/path", "/srv/data/HR/a")], " outside 3");
        check(&[("/path", "/srv/data/../a")], " outside 3");
        check(
            &[("/path", "/srv/data/a"), ("/more/0", "/etc")],
            "data outside 3",
        );
        check(&[("/path", "/srv/data/%2e%2e/a")], " outside 3");
        check(&[("/path", "a")], " outside 3");
        check(&[("/path", "doc://handbook/../a")], " outside 3");
        check(&[], " outside 3");
        check(&[("/other", "/srv/data/a")], " outside 3");
        // What is no text and no array of texts may be read in any way.
        check(&[("/path/~1etc~1passwd", "/srv/data/a")], " outside 3");
        check(&[("/path/0/0", "/srv/data/a")], " outside 3");
        check(&[("/path/x", "/srv/data/a")], " outside 3");
    }

    #[test]
    fn a_relative_path_lies_where_the_server_resolves_it() {
        let check = |base: Option<&str>, path: &str, expected: (&[&str], bool, i64)| {
            let world = listed(&[("/path", path)]);
            let labels = ToolLabels {
                paths: Some(vec!["/path".to_owned()]),
                base: base.map(|base| Base::at(base).unwrap()),
                ..ToolLabels::default()
            };
            let targets = labels.targets(&roots(), &world.arguments, &world.targets);
            let found: Vec<&str> = targets.roots.iter().map(String::as_str).collect();
            let found = (found.as_slice(), targets.outside, targets.level);
            assert_eq!(found, expected, "{base:?} {path}");
        };
        let base = Some("/srv/data/deep");
        check(base, "a", (&["data", "deep"], false, 1));
        check(base, "../a", (&["data"], false, 1));
        check(base, "../hr/a", (&["data", "hr"], false, 2));
        check(base, ".", (&["data", "deep"], false, 2));
        check(base, "/srv/data/hr/a", (&["data", "hr"], false, 2));
        check(base, "../../a", (&[], true, 3));
        check(base, "../../../../a", (&[], true, 3));
        check(base, "../HR/a", (&[], true, 3));
        check(base, "..\\hr\\a", (&[], true, 3));
        check(base, "~/a", (&[], true, 3));
        check(base, " /srv/data/a", (&[], true, 3));
        check(base, "", (&[], true, 3));
        check(Some("/etc"), "a", (&[], true, 3));
        check(None, "a", (&[], true, 3));
    }

    #[test]
    fn a_star_is_each_item_and_each_member() {
        let check = |arguments: Vec<(&str, Leaf<'static>)>, expected: &str| {
            let mut world = World::new();
            let owned = |(name, leaf): (&str, Leaf<'static>)| (name.to_owned(), leaf);
            world.arguments.0 = arguments.into_iter().map(owned).collect();
            let labels = ToolLabels {
                paths: Some(vec!["/path".to_owned(), "/files/*/path".to_owned()]),
                ..ToolLabels::default()
            };
            let targets = labels.targets(&roots(), &world.arguments, &world.targets);
            let outside = if targets.outside { " outside" } else { "" };
            let told = format!("{}{outside} {}", targets.roots.join(" "), targets.level);
            assert_eq!(told, expected, "{:?}", world.arguments);
        };
        let text = |text: &'static str| Leaf::String(text.into());
        let (one, other) = ("/files/0/path", "/files/1/path");
        check(vec![(one, text("/srv/data/a"))], "data 1");
        check(vec![("/files/x/path", text("/srv/data/a"))], "data 1");
        check(
            vec![(one, text("/srv/data/a")), (other, text("/srv/data/hr/a"))],
            "data hr 2",
        );
        check(
            vec![
                ("/path", text("/srv/data/a")),
                (one, text("/etc/passwd")),
                ("/files", Leaf::Array),
            ],
            "data outside 3",
        );
        check(
            vec![
                ("/path", text("/srv/data/a")),
                ("/files/0/path/0", text("/srv/data/hr/a")),
                (one, Leaf::Strings(vec!["/srv/data/hr/a".into()])),
            ],
            "data hr 2",
        );
        // What stands where members are meant may be read as one of them.
        let near = ("/path", text("/srv/data/a"));
        check(
            vec![near.clone(), ("/files", text("/etc"))],
            "data outside 3",
        );
        check(
            vec![near.clone(), ("/files/0", text("/etc"))],
            "data outside 3",
        );
        check(vec![near.clone(), ("/files", Leaf::EmptyArray)], "data 1");
        check(
            vec![near.clone(), ("/files/0/name", text("/etc"))],
            "data 1",
        );
        check(vec![near, ("/others/0/path", text("/etc"))], "data 1");
        check(vec![("/files", Leaf::EmptyArray)], " outside 3");
    }

    #[test]
    fn of_more_paths_than_the_bounds_none_is_looked_at() {
        let check = |paths: usize, bytes: usize, expected: bool| {
            let texts: Vec<(String, String)> = (0..paths)
                .map(|at| {
                    (
                        format!("/path/{at}"),
                        format!("/srv/data/{}", "a/".repeat(bytes / 2 - 5)),
                    )
                })
                .collect();
            let arguments: Vec<(&str, &str)> = texts
                .iter()
                .map(|(name, path)| (name.as_str(), path.as_str()))
                .collect();
            let mut world = World::new().with(&arguments);
            world.arguments.0.push(("/path".to_owned(), Leaf::Array));
            let labels = ToolLabels {
                paths: Some(vec!["/path".to_owned()]),
                ..ToolLabels::default()
            };
            let targets = labels.targets(&roots(), &world.arguments, &world.targets);
            assert_eq!(!targets.outside, expected, "{paths} of {bytes}");
            assert_eq!(targets.roots.is_empty(), !expected, "{paths} of {bytes}");
        };
        check(MAX_PATHS, 20, true);
        check(MAX_PATHS + 1, 20, false);
        check(1000, 4096, false);
        check(MAX_PATHS_BYTES / 4096, 4096, true);
        check(MAX_PATHS_BYTES / 4096 + 1, 4096, false);
    }

    #[test]
    fn a_path_that_nobody_can_follow_is_outside() {
        let mut world = World::new().with(&[("/path", "/srv/data/a")]);
        world.targets.astray = true;
        let labels = ToolLabels {
            paths: Some(vec!["/path".to_owned()]),
            ..ToolLabels::default()
        };
        let targets = labels.targets(&roots(), &world.arguments, &world.targets);
        assert!(targets.outside && !targets.writable && targets.level == MAX_LEVEL);
        assert_eq!(targets.roots, ["data"]);
    }

    #[test]
    fn what_nobody_said_of_a_tool_is_the_worst_case() {
        let check = |paths: Option<Vec<String>>, outside: bool| {
            let world = World::new().with(&[("/path", "/srv/data/a")]);
            let labels = ToolLabels {
                paths,
                ..ToolLabels::default()
            };
            let targets = labels.targets(&roots(), &world.arguments, &world.targets);
            assert_eq!(targets.outside, outside);
            assert!(!targets.writable);
        };
        check(None, true);
        check(Some(vec![]), false);
    }

    fn roots() -> Roots {
        let mut hr = Root::at("hr", "/srv/data/hr").unwrap();
        hr.level = 2;
        let mut data = Root::at("data", "/srv/data").unwrap();
        data.level = 1;
        data.writable = true;
        let mut deep = Root::at("deep", "/srv/data/deep").unwrap();
        deep.level = 1;
        deep.writable = true;
        let mut inner = Root::at("inner", "/srv/data/deep/in/er").unwrap();
        inner.level = 2;
        Roots::new(vec![hr, data, inner, deep])
    }

    /// Arguments of which those with a number at the end stand in arrays.
    fn listed(arguments: &[(&str, &str)]) -> World {
        let mut world = World::new().with(arguments);
        for (name, _) in arguments {
            if let Some((array, number)) = name.rsplit_once('/')
                && number.chars().all(|c| c.is_ascii_digit())
            {
                world.arguments.0.push((array.to_owned(), Leaf::Array));
            }
        }
        world
    }
}
