//! The arguments of a call, found by pointer.

use super::message_facts::{Arguments, Leaf};

/// The arguments of a call by pointer.
#[derive(Debug, Default)]
pub(super) struct Leaves<'a>(Vec<(&'a str, &'a Leaf<'a>)>);

impl<'a> Leaves<'a> {
    /// `None` if two leaves have the same pointer: then it is unknown which one the server will
    /// take.
    pub(super) fn of(arguments: Option<&'a Arguments<'a>>) -> Option<Self> {
        let leaves = arguments.into_iter().flat_map(|arguments| &arguments.0);
        let mut leaves: Vec<_> = leaves
            .map(|(pointer, leaf)| (pointer.as_str(), leaf))
            .collect();
        leaves.sort_unstable_by_key(|(pointer, _)| *pointer);
        let repeated = leaves.windows(2).any(|pair| match pair {
            [(one, _), (other, _)] => one == other,
            _ => false,
        });
        (!repeated).then_some(Self(leaves))
    }

    pub(super) fn get(&self, pointer: &str) -> Option<&'a Leaf<'a>> {
        let found = self.0.binary_search_by_key(&pointer, |(name, _)| name);
        self.0.get(found.ok()?).map(|(_, leaf)| *leaf)
    }

    /// What stands below a pointer, with the rest of its own pointer behind the slash.
    pub(super) fn below<'s>(
        &'s self,
        pointer: &'s str,
    ) -> impl Iterator<Item = (&'a str, &'a Leaf<'a>)> + 's {
        let begins = |name: &str| {
            let (own, rest) = name.as_bytes().split_at_checked(pointer.len())?;
            let order = own.cmp(pointer.as_bytes());
            Some(order.then(rest.first().copied().cmp(&Some(b'/'))))
        };
        let start = self.0.partition_point(|(name, _)| {
            begins(name).map_or_else(|| *name < pointer, std::cmp::Ordering::is_lt)
        });
        let below = self.0.iter().skip(start);
        below.map_while(move |(name, leaf)| {
            let rest = name.strip_prefix(pointer)?.strip_prefix('/')?;
            Some((rest, *leaf))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_a_pointer_is_found_among_its_neighbours() {
        let pointers = ["/a", "/a!x", "/a-b", "/a/b", "/a/c/d", "/a0", "/ab", "/b"];
        let arguments = Arguments(
            pointers
                .iter()
                .map(|pointer| ((*pointer).to_owned(), Leaf::Null))
                .collect(),
        );
        let leaves = Leaves::of(Some(&arguments)).unwrap();
        let below =
            |pointer: &str| -> Vec<&str> { leaves.below(pointer).map(|(rest, _)| rest).collect() };
        assert_eq!(below("/a"), ["b", "c/d"]);
        assert_eq!(below("/a/c"), ["d"]);
        assert_eq!(below("/b"), [] as [&str; 0]);
        assert_eq!(below("/c"), [] as [&str; 0]);
        assert_eq!(below("").len(), pointers.len());
        assert!(leaves.get("/a").is_some() && leaves.get("/a/c").is_none());
    }
}
