//! What the arguments of a call reach for.

use std::borrow::Cow;

use super::super::facts::{Arguments, Leaf, Touch};
use super::super::location::Location;
use super::hosts::{self, UNREADABLE_HOST};
use super::roots::Roots;
use super::{MAX_LEVEL, ToolLabels};

impl ToolLabels {
    /// `touch` is what is known without labels.
    pub(super) fn touch(&self, roots: &Roots, arguments: &Arguments<'_>, touch: &Touch) -> Touch {
        let mut touch = touch.clone();
        let urls = found(arguments, &self.urls);
        let urls = urls.map(|text| text.as_deref().and_then(hosts::of_url));
        let hosts = found(arguments, &self.hosts);
        let hosts = hosts.map(|text| text.as_deref().and_then(hosts::of_name));
        for host in urls.chain(hosts) {
            let host = host.unwrap_or_else(|| UNREADABLE_HOST.to_owned());
            if !touch.hosts.contains(&host) {
                touch.hosts.push(host);
            }
        }
        touch.hosts.sort();
        match &self.paths {
            Some(pointers) => reach(&mut touch, roots, arguments, pointers),
            None => beyond(&mut touch),
        }
        touch
    }
}

/// Which roots the paths lie in. A call that names none of the paths that it could name reaches for
/// whatever the server takes in their place.
fn reach(touch: &mut Touch, roots: &Roots, arguments: &Arguments<'_>, pointers: &[String]) {
    let paths: Vec<Option<Cow<'_, str>>> = found(arguments, pointers).collect();
    touch.outside = false;
    touch.writable = true;
    touch.level = 0;
    if paths.is_empty() && !pointers.is_empty() {
        return beyond(touch);
    }
    for path in paths {
        let place = path.as_deref().and_then(Location::of);
        let place = place.map(|place| roots.find(&place));
        let Some(place) = place.filter(|place| !place.is_outside()) else {
            beyond(touch);
            continue;
        };
        for name in place.names() {
            if !touch.roots.iter().any(|known| known == name) {
                touch.roots.push(name.to_owned());
            }
        }
        touch.level = touch.level.max(place.level());
        touch.writable &= place.is_writable();
    }
    touch.roots.sort();
}

fn beyond(touch: &mut Touch) {
    touch.outside = true;
    touch.writable = false;
    touch.level = MAX_LEVEL;
}

/// The texts at the pointers and below them; `None` for what is there and is no text.
fn found<'a>(
    arguments: &'a Arguments<'a>,
    pointers: &'a [String],
) -> impl Iterator<Item = Option<Cow<'a, str>>> {
    let named = |name: &str| {
        pointers.iter().any(|pointer| {
            let rest = name.strip_prefix(pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let leaves = arguments.0.iter().filter(move |(name, _)| named(name));
    leaves.filter_map(|(_, leaf)| match leaf {
        Leaf::String(text) => Some(Some(Cow::Borrowed(&**text))),
        // Its items are leaves of their own.
        Leaf::Strings(_) | Leaf::Array | Leaf::EmptyArray | Leaf::EmptyObject => None,
        Leaf::Number(_) | Leaf::Bool(_) | Leaf::Null => Some(None),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::World;
    use super::super::roots::Root;
    use super::*;

    #[test]
    fn hosts_are_found_where_labels_say_and_spelled_in_one_way() {
        let check = |argument: (&str, &str), hosts: &[&str]| {
            let world = World::new().with(&[argument]);
            let labels = ToolLabels {
                urls: vec!["/url".to_owned()],
                hosts: vec!["/host".to_owned()],
                ..ToolLabels::default()
            };
            let touch = labels.touch(&Roots::default(), &world.arguments, &world.touch);
            assert_eq!(touch.hosts, hosts, "{argument:?}");
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
    fn paths_are_found_in_the_roots_that_they_lie_in() {
        let check = |arguments: &[(&str, &str)], expected: &str| {
            let world = World::new().with(arguments);
            let labels = ToolLabels {
                paths: Some(vec!["/path".to_owned(), "/more".to_owned()]),
                ..ToolLabels::default()
            };
            let touch = labels.touch(&roots(), &world.arguments, &world.touch);
            let mut told = touch.roots.join(" ");
            if touch.outside {
                told += " outside";
            }
            if touch.writable {
                told += " writable";
            }
            assert_eq!(format!("{told} {}", touch.level), expected, "{arguments:?}");
        };
        check(&[("/path", "/srv/data/a")], "data writable 1");
        check(&[("/path", "/srv/data/hr/a")], "data hr 2");
        check(&[("/path", "file:///srv/data/hr")], "data hr 2");
        check(
            &[("/path", "/srv/data/a"), ("/more/0", "/srv/data/hr/a")],
            "data hr 2",
        );
        check(&[("/path", "/srv/data/../data/a")], "data writable 1");
        // Inside the inner root, which is named another way, or outside of both.
        check(&[("/path", "/srv/data/HR/a")], " outside 3");
        check(&[("/path", "/srv/data/../a")], " outside 3");
        check(
            &[("/path", "/srv/data/a"), ("/more/0", "/etc")],
            "data outside 3",
        );
        check(&[("/path", "/srv/data/%2e%2e/a")], " outside 3");
        check(&[("/path", "a")], " outside 3");
        check(&[], " outside 3");
        check(&[("/other", "/srv/data/a")], " outside 3");
    }

    #[test]
    fn what_nobody_said_of_a_tool_is_the_worst_case() {
        let check = |paths: Option<Vec<String>>, outside: bool| {
            let world = World::new().with(&[("/path", "/srv/data/a")]);
            let labels = ToolLabels {
                paths,
                ..ToolLabels::default()
            };
            let touch = labels.touch(&roots(), &world.arguments, &world.touch);
            assert_eq!(touch.outside, outside);
            assert_eq!(touch.writable, !outside);
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
        Roots::new(vec![hr, data])
    }
}
