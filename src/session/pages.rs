//! What reading a page of a list found, as long as the upstream says the same.

use std::collections::VecDeque;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::guard::text::Flags;
use crate::guard::{NameSkeletons, ToolSchemas};
use crate::policy::DefinitionFingerprint;
use crate::wire::{AnnotationError, Mirror};

/// The items of a page that can be judged, and those that nobody can use.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// Which text this was.
    pub digest: PageDigest,
    /// In the upstream's order, each name once.
    pub items: Vec<PageItem>,
    /// By their place in the page, and why.
    pub unusable: Vec<(usize, String)>,
    /// Whether two names of tools look alike.
    pub has_look_alikes: bool,
}

/// An item by its name, and its place in the page.
#[derive(Debug, PartialEq, Eq)]
pub struct PageItem {
    pub index: usize,
    pub name: String,
    /// Of a tool, what it is defined as.
    pub definition: Option<Offered>,
    /// What instructs or hides in its definition, if that was looked at.
    pub flags: Option<Flags>,
}

/// A tool as it is offered: what its definition is, and what it says of arguments and results where
/// they are checked.
#[derive(Debug, Clone)]
pub struct Offered {
    pub print: DefinitionFingerprint,
    /// The SHA-256 of all of it, as the lock and records say it.
    pub digest: Arc<str>,
    /// What instructs or hides in it, if that was looked at.
    pub flags: Option<Flags>,
    pub schemas: Option<Arc<ToolSchemas>>,
    /// Which arguments of a call headers must repeat, if that is said as the rules want it.
    pub mirrors: Result<Arc<[Mirror]>, AnnotationError>,
    pub looks: NameSkeletons,
}

/// Equal definitions have equal schemas and flags.
impl PartialEq for Offered {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

impl Eq for Offered {}

/// Which text was read, and as what. A server chooses the texts, so nothing weaker tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageDigest([u8; 32]);

impl PageDigest {
    /// `list` names the kind of list, `text` is its array as it was received.
    pub fn of(list: &str, text: &str) -> Self {
        let mut digest = Sha256::new();
        digest.update(list);
        digest.update([0]);
        digest.update(text);
        Self(digest.finalize().into())
    }
}

/// The latest pages that were read: agents ask for the same lists again and again, and to read one
/// costs ten times what it costs to see that it is the same.
#[derive(Debug, Default)]
pub struct Pages {
    read: VecDeque<Arc<Page>>,
    bytes: usize,
    latest: Option<Latest>,
}

/// The page that was asked for last, with its text: to compare two texts takes a tenth of what a digest
/// of one takes.
#[derive(Debug)]
struct Latest {
    list: String,
    text: String,
    page: Arc<Page>,
}

/// The longest text that is kept, in bytes: of a thousand short tools.
const MOST_TEXT: usize = 256 << 10;

/// The most that is kept, in bytes. A server can list any number of items.
const MOST: usize = 4 << 20;

/// What an item takes beside its name.
const ITEM: usize = size_of::<PageItem>();

/// The most pages: they are looked for one by one.
const MOST_PAGES: usize = 64;

impl Pages {
    /// The page of a list with this very text: `list` names the kind of list. Where it is not known yet,
    /// `read` reads it.
    pub fn of(
        &mut self,
        list: &str,
        text: &str,
        read: impl FnOnce(PageDigest) -> Page,
    ) -> Arc<Page> {
        let latest = self.latest.as_ref();
        let latest = latest.filter(|latest| latest.list == list && latest.text == text);
        if let Some(latest) = latest {
            return Arc::clone(&latest.page);
        }
        let digest = PageDigest::of(list, text);
        let page = self.get(digest).unwrap_or_else(|| {
            let page = Arc::new(read(digest));
            self.keep(&page);
            page
        });
        if text.len() <= MOST_TEXT {
            self.latest = Some(Latest {
                list: list.to_owned(),
                text: text.to_owned(),
                page: Arc::clone(&page),
            });
        }
        page
    }

    fn get(&self, digest: PageDigest) -> Option<Arc<Page>> {
        self.read.iter().find(|page| page.digest == digest).cloned()
    }

    fn keep(&mut self, page: &Arc<Page>) {
        if self.get(page.digest).is_some() {
            return;
        }
        self.bytes = self.bytes.saturating_add(page.weight());
        self.read.push_back(Arc::clone(page));
        while (self.bytes > MOST || self.read.len() > MOST_PAGES)
            && let Some(oldest) = self.read.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(oldest.weight());
        }
    }
}

impl Page {
    /// One of which nothing has been found yet.
    pub fn new(digest: PageDigest) -> Self {
        Self {
            digest,
            items: Vec::new(),
            unusable: Vec::new(),
            has_look_alikes: false,
        }
    }

    /// A list of one tool.
    #[cfg(test)]
    pub(crate) fn of_one_tool(name: &str) -> Self {
        let mut page = Self::new(PageDigest::of("tools", name));
        page.items.push(PageItem {
            index: 0,
            name: name.to_owned(),
            definition: Some(Offered {
                print: DefinitionFingerprint::of("{}", "0"),
                digest: Arc::default(),
                flags: Some(Flags::default()),
                schemas: None,
                mirrors: Ok(Arc::default()),
                looks: NameSkeletons::of(name),
            }),
            flags: Some(Flags::default()),
        });
        page
    }

    fn weight(&self) -> usize {
        let names = self.items.iter().map(|item| item.name.len());
        let problems = self.unusable.iter().map(|(_, problem)| problem.len());
        let texts = names.chain(problems).map(|text| text.saturating_add(ITEM));
        let defined = self
            .items
            .iter()
            .filter_map(|item| item.definition.as_ref());
        let definitions = defined.map(|offered| {
            let schemas = offered.schemas.as_deref().map_or(0, ToolSchemas::length);
            let mirrors = offered.mirrors.iter().flat_map(|mirrors| mirrors.iter());
            schemas.saturating_add(mirrors.map(Mirror::weight).sum())
        });
        texts.chain(definitions).sum()
    }
}

impl PageItem {
    /// Why it is not shown, with its name.
    pub fn because(&self, problem: &str) -> String {
        format!("`{}`: {problem}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    #[test]
    fn a_page_is_found_by_its_kind_and_its_whole_text() {
        let mut pages = Pages::default();
        pages.keep(&page("tools", "[1]", 1));
        assert!(pages.get(PageDigest::of("tools", "[1]")).is_some());
        for (list, text) in [("prompts", "[1]"), ("tools", "[1 ]"), ("tool", "s[1]")] {
            assert_eq!(pages.get(PageDigest::of(list, text)), None, "{list} {text}");
        }
    }

    #[test]
    fn a_page_is_read_once_and_found_again_behind_others() {
        let mut pages = Pages::default();
        let mut read = 0;
        let long = "l".repeat(MOST_TEXT + 1);
        for (list, text, expected) in [
            ("tools", "[1]", 1),
            ("tools", "[1]", 1),
            ("prompts", "[1]", 2),
            ("tools", "[1]", 2),
            ("tools", &long, 3),
            ("tools", &long, 3),
            ("tools", "[1]", 3),
            ("tools", "[2]", 4),
        ] {
            let page = pages.of(list, text, |digest| {
                read += 1;
                Page::new(digest)
            });
            assert_eq!((page.digest, read), (PageDigest::of(list, text), expected));
            let kept = pages.latest.as_ref().map_or(0, |latest| latest.text.len());
            assert!(kept <= MOST_TEXT);
        }
    }

    #[test]
    fn there_is_an_end_to_the_pages_that_are_kept() {
        let mut pages = Pages::default();
        for number in 0..2 * MOST_PAGES {
            pages.keep(&page("tools", &number.to_string(), number * 10));
            assert!(pages.bytes <= MOST && pages.read.len() <= MOST_PAGES);
        }
        let sum: usize = pages.read.iter().map(|page| page.weight()).sum();
        assert_eq!(sum, pages.bytes);
        pages.keep(&page("tools", "too long to be kept", MOST / ITEM + 1));
        assert_eq!((pages.bytes, pages.read.len()), (0, 0));
    }

    #[test]
    fn a_page_weighs_what_headers_repeat() {
        let properties = (0..9).map(|it| {
            let long = "a".repeat(500);
            format!(r#""{long}{it}":{{"type":"string","x-mcp-header":"h{it}"}}"#)
        });
        let properties = properties.collect::<Vec<_>>().join(",");
        let tool = format!(r#"{{"inputSchema":{{"properties":{{{properties}}}}}}}"#);
        let tool = Document::decode(tool.as_bytes(), &Limits::default()).unwrap();
        let mut page = Page::of_one_tool("t");
        let before = page.weight();
        for item in &mut page.items {
            let offered = item.definition.as_mut().unwrap();
            offered.mirrors = Mirror::of_definition(tool.root());
        }
        assert!(page.weight() >= before + 9 * 500);
    }

    fn page(list: &str, text: &str, items: usize) -> Arc<Page> {
        let item = |index: usize| PageItem {
            index,
            name: index.to_string(),
            definition: None,
            flags: None,
        };
        let mut page = Page::new(PageDigest::of(list, text));
        page.items = (0..items).map(item).collect();
        Arc::new(page)
    }
}
