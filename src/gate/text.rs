//! Text that a server sends: without what nobody sees, and told of where it instructs.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::{Finding, Guard};
use crate::guard::StringRole as WordRole;
use crate::guard::text::{
    Flags, HiddenKinds, Sanitized, UNKNOWN_TOOL, flags, revealed, sanitize, tools_named,
};
use crate::guard::{MessagePart, message_strings};
use crate::session::{Page, PageItem, Target};
use crate::wire::{KnownMethod, Side, Value};

use super::classified::{Identified, Role};
use super::context::RequestContext;
use super::edits::Cleaned;
use super::filter::{Filter, Flow, Hook};
use super::look::flags_in;
use super::seen::{News, PROMPT, Seen};
use super::settings::{Cleaning, Texts};

/// The most items of a list with findings of their own in the record.
const MOST_TOLD: usize = 32;

/// Removes invisible text from the messages of the server.
#[derive(Debug, Default)]
pub(super) struct Sanitizer {
    /// The definitions that the log has had a warning of.
    warned: Seen,
}

impl Filter for Sanitizer {
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        if cx.understood.identified.from == Side::Upstream {
            self.sanitize(cx);
        }
        Flow::DONE
    }
}

impl Sanitizer {
    fn sanitize(&self, cx: &mut RequestContext<'_>) {
        let (page, texts) = (cx.page.as_deref(), &cx.terms.guards.texts);
        let identified = &cx.understood.identified;
        let message = identified.message;
        let mut look = Look {
            texts,
            tool: match &cx.understood.target {
                Target::Tool(name) => Some(name),
                Target::Resource(_) | Target::Prompt(_) | Target::Method(_) | Target::Server => {
                    None
                }
            },
            strings: Vec::new(),
            cleaning: Cleaning::Off,
            removed: HiddenKinds::default(),
            named: HiddenKinds::default(),
            flags: Flags::default(),
            page,
            tools: whole_list_of_tools(identified, page)
                .filter(|_| texts.definitions != Cleaning::Off),
            items: BTreeMap::new(),
            words: BTreeSet::new(),
        };
        let (result, error, params) = (message.result(), message.error(), message.params());
        let result = result.map(|result| (result, result_of(identified, texts)));
        let error = error.map(|error| (error, (MessagePart::Content, texts.content)));
        let params = params.map(|params| (params, (MessagePart::Content, texts.content)));
        for (value, (part, cleaning)) in [result, error, params].into_iter().flatten() {
            if cleaning != Cleaning::Off {
                look.at(value, part, cleaning);
            }
        }
        cx.plan.findings.extend(look.told());
        if let Some(page) = page.filter(|_| look.cleaning != Cleaning::Off) {
            cx.plan.findings.extend(look.told_of_items(page));
            self.warn_of_items(identified, page, &look);
        }
        cx.plan.texts.append(&mut look.strings);
    }

    /// Warns once of each tool and prompt that has flags or suspicious words, or whose text the gate removes.
    fn warn_of_items(&self, identified: &Identified<'_>, page: &Page, look: &Look<'_, '_>) {
        let (kind, prefix) = match &identified.role {
            Role::Reply(taken) if taken.exchange.method == KnownMethod::PromptsList => {
                ("prompt", PROMPT)
            }
            Role::Reply(_) | Role::Request { .. } | Role::Notification { .. } => ("tool", ""),
        };
        for item in &page.items {
            let Some(offered) = &item.definition else {
                continue;
            };
            let Some(what) = look.summary(item) else {
                continue;
            };
            match self
                .warned
                .tell(&format!("{prefix}{}", item.name), offered.print)
            {
                News::New => {}
                News::Last => {
                    tracing::warn!("the gate warns of no more definitions after this one");
                }
                News::Old => continue,
            }
            tracing::warn!(
                "the definition of the {kind} `{}`: {what}",
                item.name.escape_debug()
            );
        }
    }
}

/// What a result consists of, and what is done about it.
fn result_of(identified: &Identified<'_>, texts: &Texts) -> (MessagePart, Cleaning) {
    let defines = matches!(&identified.role, Role::Reply(taken) if matches!(
        taken.exchange.method,
        KnownMethod::Initialize
            | KnownMethod::Discover
            | KnownMethod::ToolsList
            | KnownMethod::PromptsList
            | KnownMethod::ResourcesList
            | KnownMethod::ResourceTemplatesList
            | KnownMethod::PromptsGet
    ));
    if defines {
        (MessagePart::Definition, texts.definitions)
    } else {
        (MessagePart::Content, texts.content)
    }
}

struct Look<'t, 'm> {
    texts: &'t Texts,
    /// The tool whose result it is.
    tool: Option<&'t String>,
    strings: Vec<Cleaned<'m>>,
    cleaning: Cleaning,
    removed: HiddenKinds,
    /// What hides in names, where nothing can be taken out.
    named: HiddenKinds,
    flags: Flags,
    /// Then its flags are known already, by item.
    page: Option<&'t Page>,
    /// The names of all tools of the server, in lower case, if the page is its whole list of them.
    tools: Option<BTreeSet<String>>,
    /// What is found in items of the page, by their places.
    items: BTreeMap<usize, ItemText<'t>>,
    /// Those of a definition that is no item of a list.
    words: BTreeSet<&'t str>,
}

/// What is found in the texts of one definition.
#[derive(Debug, Default)]
struct ItemText<'t> {
    words: BTreeSet<&'t str>,
    removed: HiddenKinds,
    /// Characters of the texts that something goes from.
    before: usize,
    after: usize,
}

impl<'m> Look<'_, 'm> {
    fn at(&mut self, value: Value<'m>, part: MessagePart, cleaning: Cleaning) {
        self.cleaning = cleaning;
        message_strings(value, part, &mut |word| match word.role {
            WordRole::Identifier => {
                self.named = self.named.and(revealed(&word.text).removed);
                if self.page.is_none() {
                    // The record names hidden characters of names separately.
                    let said = flags(&word.text).without(self.named.into());
                    self.flags = self.flags.and(said);
                }
            }
            WordRole::Text(purpose) => {
                if self.page.is_none() {
                    self.flags = self.flags.and(flags(&word.text));
                }
                let rules = self.texts.rules(purpose, self.tool.map(String::as_str));
                let found = sanitize(&word.text, rules);
                self.removed = self.removed.and(found.removed);
                if let (MessagePart::Definition, Some(value)) = (part, word.value) {
                    self.note_definition(value, &word.text, &found);
                }
                let wanted = cleaning == Cleaning::Clean && !found.removed.is_empty();
                if let (Some(value), true) = (word.value, wanted) {
                    self.strings.push(Cleaned {
                        value,
                        without: found.text.into_owned(),
                        removed: found.removed,
                    });
                }
            }
        });
    }

    fn note_definition(&mut self, value: Value<'m>, text: &str, found: &Sanitized<'_>) {
        let mut words = self.texts.words.find(text);
        let tools = self.tools.as_ref();
        if tools.is_some_and(|tools| names_unlisted(text, tools)) {
            words.push(UNKNOWN_TOOL);
        }
        if words.is_empty() && found.removed.is_empty() {
            return;
        }
        let place = self.page.and_then(|_| place_in_list(&value.pointer()));
        let Some(place) = place else {
            self.words.extend(words);
            return;
        };
        let item = self.items.entry(place).or_default();
        item.words.extend(words);
        if !found.removed.is_empty() {
            item.removed = item.removed.and(found.removed);
            item.before += text.chars().count();
            item.after += found.text.chars().count();
        }
    }

    fn told(&self) -> Vec<Finding> {
        let mut told = Vec::new();
        if self.cleaning == Cleaning::Warn && !self.removed.is_empty() {
            told.push(finding("hidden_text", self.removed.to_string()));
        }
        if !self.named.is_empty() {
            told.push(finding("hidden_text_in_name", self.named.to_string()));
        }
        if !self.flags.is_empty() {
            told.push(finding("flags", self.flags.to_string()));
        }
        if !self.words.is_empty() {
            told.push(finding("suspicious_words", listed(&self.words)));
        }
        told
    }

    /// The flags and suspicious words of what a list defines.
    fn told_of_items(&self, page: &Page) -> Vec<Finding> {
        let flagged = page.items.iter().filter_map(|item| {
            let flags = item.flags.filter(|flags| !flags.is_empty())?;
            Some(finding("flags", item.because(&flags.to_string())))
        });
        let words = page.items.iter().filter_map(|item| {
            let found = self.items.get(&item.index)?;
            let is_any = !found.words.is_empty();
            is_any.then(|| finding("suspicious_words", item.because(&listed(&found.words))))
        });
        flagged
            .take(MOST_TOLD)
            .chain(words.take(MOST_TOLD))
            .collect()
    }

    /// What is to be said of a definition, in one line.
    fn summary(&self, item: &PageItem) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(flags) = item.flags.filter(|flags| !flags.is_empty()) {
            parts.push(format!("flags {flags}"));
        }
        if let Some(found) = self.items.get(&item.index) {
            if !found.words.is_empty() {
                parts.push(format!("suspicious words {}", listed(&found.words)));
            }
            if !found.removed.is_empty() {
                let verb = match self.cleaning {
                    Cleaning::Clean => "removed",
                    Cleaning::Warn | Cleaning::Off => "to remove",
                };
                parts.push(format!(
                    "{verb} {} ({} characters before, {} after)",
                    found.removed, found.before, found.after
                ));
            }
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// `None` for one page of several: a tool on another page would count as unknown.
fn whole_list_of_tools(
    identified: &Identified<'_>,
    page: Option<&Page>,
) -> Option<BTreeSet<String>> {
    let Role::Reply(taken) = &identified.role else {
        return None;
    };
    let asks = &taken.exchange;
    let next = identified.message.result()?.get("nextCursor");
    let is_whole = asks.asks.cursor.is_none() && next.is_none();
    let page = page.filter(|_| is_whole && asks.method == KnownMethod::ToolsList)?;
    let names = page.items.iter().map(|item| &item.name);
    Some(names.map(|name| name.to_ascii_lowercase()).collect())
}

/// Whether a definition asks to call a tool that its server does not list.
fn names_unlisted(text: &str, listed: &BTreeSet<String>) -> bool {
    tools_named(text).any(|name| !listed.contains(&name.to_ascii_lowercase()))
}

/// The place of an item in a list, of a pointer to something in it: `/result/tools/3/description`.
fn place_in_list(pointer: &str) -> Option<usize> {
    pointer.split('/').nth(3)?.parse().ok()
}

fn listed(words: &BTreeSet<&str>) -> String {
    let words: Vec<&str> = words.iter().copied().collect();
    words.join(", ")
}

fn finding(code: &'static str, detail: String) -> Finding {
    Finding {
        guard: Guard::Text,
        code: code.into(),
        detail: detail.into(),
    }
}

/// What instructs or hides in a definition, in all its words and names.
pub(super) fn flags_of(definition: Value<'_>) -> Flags {
    flags_in(definition, MessagePart::Definition)
}

/// What hides in the names of a definition, where nothing can be taken out.
pub(super) fn hidden_names(definition: Value<'_>) -> HiddenKinds {
    let mut found = HiddenKinds::default();
    message_strings(definition, MessagePart::Definition, &mut |word| {
        if word.role == WordRole::Identifier {
            found = found.and(revealed(&word.text).removed);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::text::{Flag, HiddenKind};
    use crate::session::Page;

    #[test]
    fn one_line_says_what_is_to_be_said_of_a_definition() {
        let check = |flags: &[Flag], words: &[&'static str], removed: &[HiddenKind], expected| {
            let mut page = Page::of_one_tool("t");
            for item in &mut page.items {
                item.flags = Some(flags.iter().copied().collect());
            }
            let texts = Texts::default();
            let found = ItemText {
                words: words.iter().copied().collect(),
                removed: removed.iter().copied().collect(),
                before: 12,
                after: 3,
            };
            let look = Look {
                texts: &texts,
                tool: None,
                strings: Vec::new(),
                cleaning: Cleaning::Clean,
                removed: HiddenKinds::default(),
                named: HiddenKinds::default(),
                flags: Flags::default(),
                page: Some(&page),
                tools: None,
                items: BTreeMap::from([(0, found)]),
                words: BTreeSet::new(),
            };
            let said = page.items.first().and_then(|item| look.summary(item));
            assert_eq!(said.as_deref(), expected);
        };
        check(&[], &[], &[], None);
        check(
            &[Flag::Override, Flag::Comment],
            &["always", "you_must"],
            &[HiddenKind::Comment],
            Some(
                "flags override, comment; suspicious words always, you_must; \
                 removed comment (12 characters before, 3 after)",
            ),
        );
        check(&[], &["always"], &[], Some("suspicious words always"));
    }

    #[test]
    fn what_stands_in_an_item_of_a_list_has_its_place() {
        let check =
            |pointer: &str, expected| assert_eq!(place_in_list(pointer), expected, "{pointer}");
        check("/result/tools/3/description", Some(3));
        check("/result/tools/12", Some(12));
        check("/result/instructions", None);
        check("/result", None);
    }
}
