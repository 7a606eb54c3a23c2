//! Reads a page of a list: which items can be judged, by name and in order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::guard::{Look, Looks};
use crate::session::{Offered, Page, PageDigest, PageItem, Pages};
use crate::wire::{KnownMethod, Value};

use super::forward::UpstreamFault;
use super::pin;
use super::refuse::Refusal;
use super::schemas::KnownSchemas;

/// A list of one kind: the member that holds it, and the member by which an item is named.
pub(super) struct Shape {
    pub(super) kind: ListKind,
    pub(super) items: &'static str,
    name: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
}

impl Shape {
    pub(super) const TOOLS: Self = Self {
        kind: ListKind::Tools,
        items: "tools",
        name: "name",
    };
    const PROMPTS: Self = Self {
        kind: ListKind::Prompts,
        items: "prompts",
        name: "name",
    };
    const RESOURCES: Self = Self {
        kind: ListKind::Resources,
        items: "resources",
        name: "uri",
    };
    const RESOURCE_TEMPLATES: Self = Self {
        kind: ListKind::ResourceTemplates,
        items: "resourceTemplates",
        name: "uriTemplate",
    };

    /// Of the list that is got by this method.
    pub(super) fn got_by(method: KnownMethod) -> Option<Self> {
        let shapes = [
            (KnownMethod::ToolsList, Self::TOOLS),
            (KnownMethod::PromptsList, Self::PROMPTS),
            (KnownMethod::ResourcesList, Self::RESOURCES),
            (KnownMethod::ResourceTemplatesList, Self::RESOURCE_TEMPLATES),
        ];
        let mut found = shapes.into_iter().filter(|(got_by, _)| *got_by == method);
        found.next().map(|(_, shape)| shape)
    }

    /// # Errors
    /// [`UpstreamFault::BadReply`] when the result has no array where the list should be.
    pub(super) fn list<'m>(&self, result: Value<'m>) -> Result<Value<'m>, Refusal> {
        match result.get(self.items) {
            Some(list) if list.is_array() => Ok(list),
            _ => {
                let problem = format!("its `{}` are not an array", self.items);
                Err(UpstreamFault::BadReply(problem).into())
            }
        }
    }

    /// What the page holds. A page that was read before is not read again.
    pub(super) fn read(
        &self,
        list: Value<'_>,
        pages: &mut Pages,
        schemas: Option<&KnownSchemas>,
    ) -> Arc<Page> {
        pages.of(self.items, list.text(), |digest| {
            self.page(list, digest, schemas)
        })
    }

    /// Of equal definitions under one name the first stays; conflicting ones are all unusable.
    fn page(&self, list: Value<'_>, digest: PageDigest, schemas: Option<&KnownSchemas>) -> Page {
        let mut page = Page::new(digest);
        let mut named = Vec::new();
        for (index, item) in list.items().enumerate() {
            match self.name(item) {
                Ok(name) => named.push((index, name, item)),
                Err(problem) => page.unusable.push((index, problem)),
            }
        }
        let mut definitions = HashMap::with_capacity(named.len());
        for (_, name, item) in &named {
            let first = Definitions::First(item.text());
            let known: &mut Definitions<'_> = definitions.entry(name.clone()).or_insert(first);
            known.meet(item.text());
        }
        for (index, name, item) in named {
            let shown = definitions.get_mut(&name);
            match shown.map_or(Err(CONFLICTING), Definitions::show) {
                Ok(()) => page.items.push(PageItem {
                    index,
                    definition: (self.kind == ListKind::Tools)
                        .then(|| offered(&name, item, schemas)),
                    name,
                }),
                Err(problem) => page.unusable.push((index, format!("`{name}`: {problem}"))),
            }
        }
        let mut looks = HashSet::new();
        let defined = page
            .items
            .iter()
            .filter_map(|item| item.definition.as_ref());
        page.has_look_alikes = defined.into_iter().any(|offered| {
            let each: HashSet<Look> = offered.looks.each().collect();
            each.into_iter().any(|look| !looks.insert(look))
        });
        page
    }

    /// The name of an item, if it has the members without which it cannot be used or judged.
    fn name(&self, item: Value<'_>) -> Result<String, String> {
        let name = item
            .get(self.name)
            .and_then(Value::as_str)
            .ok_or_else(|| format!("its `{}` is not a string", self.name))?;
        if matches!(self.kind, ListKind::Tools | ListKind::Prompts) && name.len() > MAX_NAME {
            return Err(format!(
                "its `{}` has more than {MAX_NAME} bytes",
                self.name
            ));
        }
        if name.chars().any(char::is_control) {
            return Err(format!("its `{}` has control characters", self.name));
        }
        let schema = item.get("inputSchema");
        if self.kind == ListKind::Tools && !schema.is_some_and(Value::is_object) {
            return Err(format!("`{name}`: its `inputSchema` is not an object"));
        }
        Ok(name.into_owned())
    }
}

fn offered(name: &str, item: Value<'_>, schemas: Option<&KnownSchemas>) -> Offered {
    let print = pin::fingerprint(item);
    let schemas = schemas.and_then(|known| known.of(print, item));
    Offered {
        print,
        schemas,
        looks: Looks::of(name),
    }
}

/// The longest name of a tool or a prompt, in bytes. The protocol asks for 128 at most (MCP 2026-07-28,
/// server/tools); what is kept of a server must have an end.
const MAX_NAME: usize = 1024;

const CONFLICTING: &str = "defined more than once, in different ways";

/// What is known of the definitions under one name.
enum Definitions<'m> {
    /// All seen so far are equal to this one, and it has not been shown.
    First(&'m str),
    /// It has been shown; the equal ones after it are folded into it.
    Repeated,
    Conflicting,
}

impl Definitions<'_> {
    fn meet(&mut self, text: &str) {
        if matches!(self, Self::First(first) if *first != text) {
            *self = Self::Conflicting;
        }
    }

    fn show(&mut self) -> Result<(), &'static str> {
        match self {
            Self::First(_) => {
                *self = Self::Repeated;
                Ok(())
            }
            Self::Repeated => Err("defined more than once"),
            Self::Conflicting => Err(CONFLICTING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    #[test]
    fn a_name_is_no_longer_than_what_is_kept_of_it() {
        for (kind, length, usable) in [
            (Shape::TOOLS, MAX_NAME, true),
            (Shape::TOOLS, MAX_NAME + 1, false),
            (Shape::PROMPTS, MAX_NAME + 1, false),
            (Shape::RESOURCES, MAX_NAME + 1, true),
        ] {
            let name = "n".repeat(length);
            let text = format!(r#"[{{"name":"{name}","uri":"{name}","inputSchema":{{}}}}]"#);
            let list = Document::decode(text.as_bytes(), &Limits::default()).unwrap();
            let page = kind.read(list.root(), &mut Pages::default(), None);
            assert_eq!(
                page.items.len(),
                usize::from(usable),
                "{} {length}",
                kind.items
            );
            assert_eq!(page.unusable.len(), usize::from(!usable));
            assert!(page.unusable.iter().all(|(_, why)| why.len() < 100));
        }
    }
}
