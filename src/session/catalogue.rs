//! What the upstream offers, as far as its lists have told.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::guard::text::Flags;
use crate::policy::DefinitionFingerprint;

use super::lifecycle::Unanswered;
use super::offered_names::{Definition, Names};
use super::pages::{Offered, Page, PageDigest, PageItem};

/// Names from the upstream's lists. A list comes in pages: what its first page starts, its last one
/// completes. The agent's traversals and the gate's own do not disturb each other.
#[derive(Debug, Default)]
pub struct Catalogue {
    complete: Option<Names>,
    /// The page that the complete list consists of, if it is one of the agent's own.
    whole: Option<PageDigest>,
    agents: Names,
    /// The cursor with which the agent's traversal goes on.
    agents_next: Option<String>,
    fetch: Fetch,
    /// A page has come since the upstream is this one, whatever was forgotten since.
    was_told: bool,
}

/// Whether the upstream offers a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    Offered,
    NotOffered,
    /// No complete list has been seen since the last change.
    Unknown,
    /// The gate asked for the list, and the upstream did not give one.
    Unlisted,
}

/// Whose traversal of a list a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traversal<'c> {
    /// The agent asked for the first page.
    AgentBegins,
    /// The agent asked for the page at this cursor.
    AgentGoesOn(&'c str),
    /// The gate asked.
    Gate,
}

impl<'c> Traversal<'c> {
    /// The agent's, for the page at this cursor; none is the first.
    pub fn of_agent(cursor: Option<&'c str>) -> Self {
        cursor.map_or(Self::AgentBegins, Self::AgentGoesOn)
    }
}

#[derive(Debug, Default)]
enum Fetch {
    #[default]
    Idle,
    Running {
        pages: u32,
        names: Names,
    },
    Failed(Unanswered),
}

impl Catalogue {
    /// The most pages that the gate fetches on its own; a cursor that loops ends here.
    pub const MAX_PAGES: u32 = 1_000;

    /// The names with which it asks for no further page.
    pub const MAX_NAMES: usize = 65_536;

    /// Most look-alikes of one name for which policies are asked whether the agent sees them. A name
    /// with more is not shown: asking about each would let one list multiply the cost of each call.
    pub const MAX_LOOK_ALIKES: usize = 64;

    pub fn offers(&self, name: &str) -> Offer {
        let complete = self.complete.as_ref().map(|names| names.get(name));
        let found = [self.agents.get(name), complete.flatten()];
        if found.contains(&Some(&Definition::Conflicting)) {
            Offer::NotOffered
        } else if found.iter().any(Option::is_some) {
            Offer::Offered
        } else if complete.is_some() {
            Offer::NotOffered
        } else if matches!(self.fetch, Fetch::Failed(_)) {
            Offer::Unlisted
        } else {
            Offer::Unknown
        }
    }

    /// How the lists define a name: once, or twice where the agent's list and the gate's do not
    /// agree.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = DefinitionFingerprint> {
        let complete = self.complete.as_ref().and_then(|names| names.get(name));
        let found = [self.agents.get(name), complete];
        found.into_iter().flatten().filter_map(|found| match found {
            Definition::One(offered) => Some(offered.print),
            Definition::Conflicting => None,
        })
    }

    /// How a name is defined, as the agent was told last; as the gate was, where the agent was not.
    pub fn defined(&self, name: &str) -> Option<Offered> {
        let complete = self.complete.as_ref().and_then(|names| names.get(name));
        match self.agents.get(name).or(complete)? {
            Definition::One(offered) => Some(offered.clone()),
            Definition::Conflicting => None,
        }
    }

    /// The digest of what a name is defined as.
    pub fn digest(&self, name: &str) -> Option<Arc<str>> {
        let complete = self.complete.as_ref().and_then(|names| names.get(name));
        match self.agents.get(name).or(complete)? {
            Definition::One(offered) => Some(Arc::clone(&offered.digest)),
            Definition::Conflicting => None,
        }
    }

    /// Whether all of the list is known.
    pub fn is_whole(&self) -> bool {
        self.complete.is_some()
    }

    /// Whether the list, as far as it is known, defines a name at all.
    pub fn is_listed(&self, name: &str) -> bool {
        let lists = [Some(&self.agents), self.complete.as_ref()];
        lists.into_iter().flatten().any(|it| it.get(name).is_some())
    }

    /// Whether any page of the list was ever seen: what is not known then is not merely unasked for.
    pub fn was_told(&self) -> bool {
        self.was_told
    }

    /// The agent was shown a list that counts no more.
    pub fn was_told_otherwise(&mut self) {
        self.was_told = true;
    }

    /// What instructs or hides in what the lists say of a name, if that was looked at in all of them.
    pub fn flags(&self, name: &str) -> Option<Flags> {
        let complete = self.complete.as_ref().and_then(|names| names.get(name));
        let found = [self.agents.get(name), complete].into_iter().flatten();
        let flags = found.map(|found| match found {
            Definition::One(offered) => offered.flags,
            Definition::Conflicting => None,
        });
        flags.reduce(|one, other| Some(one?.and(other?))).flatten()
    }

    /// Every name that is known, in no order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let lists = [Some(&self.agents), self.complete.as_ref()];
        let names: HashSet<&String> = lists.into_iter().flatten().flat_map(Names::names).collect();
        names.into_iter().map(String::as_str)
    }

    /// Every name that has one definition, and what tells that from others.
    pub fn prints(&self) -> HashMap<String, DefinitionFingerprint> {
        let names = self.names();
        let print = |name: &str| Some((name.to_owned(), self.defined(name)?.print));
        names.filter_map(print).collect()
    }

    /// Whether an earlier page of the agent's traversal defines a name in another way.
    pub fn is_conflicting(&self, at: Traversal<'_>, item: &PageItem) -> bool {
        let goes_on = self.goes_on(at);
        let (earlier, now) = (self.agents.get(&item.name), item.definition.as_ref());
        let differs = |earlier: &Definition| match (earlier, now) {
            (Definition::One(earlier), Some(now)) => earlier != now,
            (Definition::Conflicting, Some(_)) => true,
            (_, None) => false,
        };
        goes_on && earlier.is_some_and(differs)
    }

    /// Names of earlier pages of the agent's traversal that look like this one; not more than tell
    /// that there are many.
    pub fn earlier_look_alikes(&self, at: Traversal<'_>, item: &PageItem) -> Vec<String> {
        let offered = item.definition.as_ref().filter(|_| self.goes_on(at));
        let others = offered.map(|it| self.agents.look_alikes(&item.name, it.looks));
        some_of(others.into_iter().flatten())
    }

    /// Names that are offered and look like this one, which is offered as well; not more than tell
    /// that there are many.
    pub fn look_alikes(&self, name: &str) -> Vec<String> {
        let lists = [Some(&self.agents), self.complete.as_ref()];
        let lists = || lists.into_iter().flatten();
        let looks = lists().find_map(|list| match list.get(name)? {
            Definition::One(offered) => Some(offered.looks),
            Definition::Conflicting => None,
        });
        let others = looks.map(|looks| lists().flat_map(move |it| it.look_alikes(name, looks)));
        some_of(others.into_iter().flatten())
    }

    /// Whether a page comes after others of the agent's traversal.
    pub fn goes_on(&self, at: Traversal<'_>) -> bool {
        match at {
            Traversal::AgentGoesOn(cursor) => self.agents_next.as_deref() == Some(cursor),
            Traversal::AgentBegins | Traversal::Gate => false,
        }
    }

    /// Adds a page, and completes the list if it is the last one: if no cursor comes next.
    pub fn add_page(&mut self, traversal: Traversal<'_>, page: &Page, next: Option<String>) {
        self.was_told = true;
        let last = next.is_none();
        let alone = last && traversal == Traversal::AgentBegins;
        if alone && self.whole == Some(page.digest) {
            self.agents.clear();
            self.agents_next = None;
            self.fetch = Fetch::Idle;
            return;
        }
        let defined = |item: &PageItem| Some((item.name.clone(), item.definition.clone()?));
        let names = page.items.iter().filter_map(defined);
        let growing = match (traversal, &mut self.fetch) {
            (Traversal::Gate, Fetch::Running { names, .. }) => names,
            (Traversal::Gate, Fetch::Idle | Fetch::Failed(_)) => return,
            (Traversal::AgentBegins, _) => {
                self.agents.clear();
                self.agents_next = next;
                &mut self.agents
            }
            (Traversal::AgentGoesOn(cursor), _) if self.agents_next.as_deref() == Some(cursor) => {
                self.agents_next = next;
                &mut self.agents
            }
            // The pages between are not known: this one tells what there is, not what is missing.
            (Traversal::AgentGoesOn(_), _) => {
                for (name, offered) in names {
                    self.agents.meet_anywhere(name, offered);
                }
                return;
            }
        };
        for (name, offered) in names {
            growing.meet(name, offered);
        }
        if last {
            self.complete = Some(std::mem::take(growing));
            self.whole = alone.then_some(page.digest);
            self.fetch = Fetch::Idle;
        }
    }

    /// The upstream says that its list has changed. A fetch that runs goes on: what it brings is no
    /// older than its first page, and a server that never ceases to change must not be asked for
    /// ever.
    pub fn forget(&mut self) {
        let fetch = std::mem::take(&mut self.fetch);
        *self = Self {
            fetch,
            was_told: self.was_told,
            ..Self::default()
        };
    }

    /// The upstream is another one now: nothing that it said counts.
    pub fn start_over(&mut self) {
        *self = Self::default();
    }

    /// Claims the right to fetch the list. False when a fetch runs already.
    pub fn begin_fetch(&mut self) -> bool {
        let idle = !matches!(self.fetch, Fetch::Running { .. });
        if idle {
            self.fetch = Fetch::Running {
                pages: 1,
                names: Names::default(),
            };
        }
        idle
    }

    /// Claims the right to fetch one more page.
    pub fn next_page(&mut self) -> bool {
        match &mut self.fetch {
            Fetch::Running { pages, names }
                if *pages < Self::MAX_PAGES && names.len() < Self::MAX_NAMES =>
            {
                *pages = pages.saturating_add(1);
                true
            }
            Fetch::Idle | Fetch::Running { .. } | Fetch::Failed(_) => false,
        }
    }

    /// The fetch ended without a complete list; those who wait for it are to be refused.
    pub fn fetch_failed(&mut self, why: Unanswered) {
        self.fetch = Fetch::Failed(why);
    }

    /// Why there is no list, after [`Self::fetch_failed`].
    pub fn fetch_fault(&self) -> Option<&Unanswered> {
        match &self.fetch {
            Fetch::Failed(why) => Some(why),
            Fetch::Idle | Fetch::Running { .. } => None,
        }
    }

    /// Those who waited have been answered: the next call may try again.
    pub fn retry_fetch(&mut self) {
        if matches!(self.fetch, Fetch::Failed(_)) {
            self.fetch = Fetch::Idle;
        }
    }
}

/// Each once, and one more than [`Catalogue::MAX_LOOK_ALIKES`] at most.
fn some_of<'n>(names: impl Iterator<Item = &'n String>) -> Vec<String> {
    let mut some: Vec<String> = Vec::new();
    for name in names {
        if !some.contains(name) {
            some.push(name.clone());
        }
        if some.len() > Catalogue::MAX_LOOK_ALIKES {
            break;
        }
    }
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: Option<&str> = None;

    fn print(words: &str) -> DefinitionFingerprint {
        DefinitionFingerprint::of("{}", words)
    }

    fn page(catalogue: &mut Catalogue, at: Traversal<'_>, names: &[&str], next: Option<&str>) {
        catalogue.add_page(at, &defined(names, "0"), next.map(str::to_owned));
    }

    fn defined(names: &[&str], words: &str) -> Page {
        let item = |name: &&str| PageItem {
            index: 0,
            name: (*name).to_owned(),
            definition: Some(Offered {
                print: print(words),
                digest: Arc::default(),
                schemas: None,
                mirrors: Ok(std::sync::Arc::default()),
                flags: None,
                looks: crate::guard::NameSkeletons::of(name),
            }),
            flags: None,
        };
        let text = format!("{names:?}: {words}");
        let mut page = Page::new(PageDigest::of("tools", &text));
        page.items = names.iter().map(item).collect();
        page
    }

    #[test]
    fn a_name_that_pages_define_in_different_ways_is_not_offered_until_the_list_begins_anew() {
        let mut catalogue = Catalogue::default();
        page(
            &mut catalogue,
            Traversal::AgentBegins,
            &["a", "b"],
            Some("2"),
        );
        let second = Traversal::AgentGoesOn("2");
        let (same, other) = (defined(&["a"], "0"), defined(&["a"], "1"));
        assert!(catalogue.is_conflicting(second, &other.items[0]));
        assert!(!catalogue.is_conflicting(second, &same.items[0]));
        assert!(!catalogue.is_conflicting(Traversal::AgentGoesOn("3"), &other.items[0]));
        catalogue.add_page(second, &other, Some("3".to_owned()));
        assert_eq!(catalogue.offers("a"), Offer::NotOffered);
        page(&mut catalogue, Traversal::AgentGoesOn("3"), &["a"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::NotOffered);
        assert_eq!(catalogue.offers("b"), Offer::Offered);
        page(&mut catalogue, Traversal::AgentBegins, &["a"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::Offered);
    }

    #[test]
    fn names_that_look_alike_are_known_across_pages_and_lists() {
        let mut catalogue = Catalogue::default();
        page(
            &mut catalogue,
            Traversal::AgentBegins,
            &["a_1", "b"],
            Some("2"),
        );
        assert!(catalogue.look_alikes("a_1").is_empty());
        let second = Traversal::AgentGoesOn("2");
        let later = defined(&["a_l"], "0");
        assert_eq!(
            catalogue.earlier_look_alikes(second, &later.items[0]),
            ["a_1"]
        );
        let elsewhere = Traversal::AgentGoesOn("3");
        assert!(
            catalogue
                .earlier_look_alikes(elsewhere, &later.items[0])
                .is_empty()
        );
        catalogue.add_page(second, &later, None);
        assert_eq!(catalogue.look_alikes("a_1"), ["a_l"]);
        assert_eq!(catalogue.look_alikes("a_l"), ["a_1"]);
        assert!(catalogue.look_alikes("b").is_empty());
        assert!(catalogue.look_alikes("missing").is_empty());
        // A list that begins anew still has to be told from the last complete one.
        page(&mut catalogue, Traversal::AgentBegins, &["B"], Some("2"));
        assert_eq!(catalogue.look_alikes("B"), ["b"]);
        page(&mut catalogue, Traversal::AgentBegins, &["a_1"], LAST);
        assert!(catalogue.look_alikes("a_1").is_empty());
        let many: Vec<String> = (0..100)
            .map(|blanks| format!("x{}", " ".repeat(blanks)))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        page(&mut catalogue, Traversal::AgentBegins, &many, LAST);
        assert_eq!(
            catalogue.look_alikes("x").len(),
            Catalogue::MAX_LOOK_ALIKES + 1
        );
    }

    #[test]
    fn a_page_that_does_not_follow_completes_nothing() {
        let mut catalogue = Catalogue::default();
        page(&mut catalogue, Traversal::AgentBegins, &["a"], Some("2"));
        page(&mut catalogue, Traversal::AgentGoesOn("3"), &["c"], LAST);
        assert_eq!(catalogue.offers("c"), Offer::Offered);
        assert_eq!(catalogue.offers("b"), Offer::Unknown);
        page(
            &mut catalogue,
            Traversal::AgentGoesOn("2"),
            &["b"],
            Some("3"),
        );
        page(&mut catalogue, Traversal::AgentGoesOn("3"), &["c"], LAST);
        assert_eq!(catalogue.offers("b"), Offer::Offered);
        assert_eq!(catalogue.offers("d"), Offer::NotOffered);
        catalogue.forget();
        page(&mut catalogue, Traversal::AgentGoesOn("3"), &["c"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::Unknown);
    }

    #[test]
    fn a_name_is_offered_once_its_page_was_seen_and_missing_once_the_list_is_complete() {
        let mut catalogue = Catalogue::default();
        assert_eq!(catalogue.offers("a"), Offer::Unknown);
        page(&mut catalogue, Traversal::AgentBegins, &["a"], Some("2"));
        assert_eq!(catalogue.offers("a"), Offer::Offered);
        assert_eq!(catalogue.offers("b"), Offer::Unknown);
        page(&mut catalogue, Traversal::AgentGoesOn("2"), &["c"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::Offered);
        assert_eq!(catalogue.offers("b"), Offer::NotOffered);
    }

    #[test]
    fn a_changed_list_is_unknown_again() {
        let mut catalogue = Catalogue::default();
        page(&mut catalogue, Traversal::AgentBegins, &["a", "b"], LAST);
        catalogue.forget();
        assert_eq!(catalogue.offers("b"), Offer::Unknown);
    }

    #[test]
    fn a_list_that_is_the_same_again_is_complete_again() {
        let mut catalogue = Catalogue::default();
        page(&mut catalogue, Traversal::AgentBegins, &["a"], LAST);
        page(&mut catalogue, Traversal::AgentBegins, &["b"], Some("2"));
        page(&mut catalogue, Traversal::AgentBegins, &["a"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::Offered);
        assert_eq!(catalogue.offers("b"), Offer::NotOffered);
        // The same text as the first of several pages is not the whole list.
        page(&mut catalogue, Traversal::AgentBegins, &["a"], Some("2"));
        page(&mut catalogue, Traversal::AgentGoesOn("2"), &["b"], LAST);
        assert_eq!(catalogue.offers("b"), Offer::Offered);
        page(&mut catalogue, Traversal::AgentBegins, &["a"], LAST);
        assert_eq!(catalogue.offers("b"), Offer::NotOffered);
        catalogue.forget();
        page(&mut catalogue, Traversal::AgentBegins, &["a"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::Offered);
    }

    #[test]
    fn a_second_traversal_replaces_the_first() {
        let mut catalogue = Catalogue::default();
        page(&mut catalogue, Traversal::AgentBegins, &["a", "b"], LAST);
        page(&mut catalogue, Traversal::AgentBegins, &["b"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::NotOffered);
        assert_eq!(catalogue.offers("b"), Offer::Offered);
    }

    #[test]
    fn the_traversals_of_agent_and_gate_do_not_disturb_each_other() {
        let mut catalogue = Catalogue::default();
        assert!(catalogue.begin_fetch());
        page(&mut catalogue, Traversal::Gate, &["a"], Some("2"));
        page(&mut catalogue, Traversal::AgentBegins, &["a"], Some("2"));
        page(&mut catalogue, Traversal::Gate, &["b"], LAST);
        assert_eq!(catalogue.offers("a"), Offer::Offered);
        assert_eq!(catalogue.offers("b"), Offer::Offered);
        assert_eq!(catalogue.offers("c"), Offer::NotOffered);
    }

    #[test]
    fn one_fetch_runs_at_a_time_and_a_looping_cursor_ends() {
        let mut catalogue = Catalogue::default();
        assert!(catalogue.begin_fetch());
        assert!(!catalogue.begin_fetch());
        let pages = std::iter::repeat_with(|| catalogue.next_page()).take_while(|more| *more);
        assert_eq!(pages.count(), 999);
        catalogue.fetch_failed(Unanswered::Otherwise("silence".into()));
        assert_eq!(catalogue.offers("a"), Offer::Unlisted);
        catalogue.retry_fetch();
        assert_eq!(catalogue.offers("a"), Offer::Unknown);
    }
}
