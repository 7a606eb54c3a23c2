//! Reads a page of a list: which items can be judged, by name and in order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::guard::text::Flags;
use crate::guard::{NameSkeleton, NameSkeletons};
use crate::policy::{ActionName, PolicySnapshot};
use crate::session::{Lifecycle, Offered, OverHttp, Page, PageDigest, PageItem, Pages, Session};
use crate::wire::{AnnotationError, KnownMethod, Mirror, Value};

use super::digest::locked_digest;
use super::faults::UpstreamFault;
use super::look::Looked;
use super::rejection::Rejection;
use super::schemas::KnownSchemas;
use super::settings::Terms;
use super::{Cleaning, pin, text};

/// A list of one kind: the member that holds it, and the member by which an item is named.
pub(super) struct Shape {
    pub(super) kind: ListKind,
    pub(super) items: &'static str,
    name: &'static str,
}

/// What is looked at when a page is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'k> {
    /// Where schemas of tools are kept: their names of arguments are needed for every call.
    pub(super) schemas: Option<&'k KnownSchemas>,
    pub(super) flags: Looked,
    pub(super) names: Names,
    pub(super) headers: Headers,
}

/// Who makes the headers of calls that the server reads, where it is reached over HTTP without a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers {
    /// The gate alone: its agent knows of none, and the gate is the client that the rules are for.
    Ours,
    /// The agent makes its own, and hides what it must not call; or there are none.
    Agents,
}

/// Which names an item may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Any,
    /// Without what nobody sees, in its definition too.
    Plain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
}

impl ListKind {
    /// By which action policies show its items.
    pub(super) fn shown_by(self) -> ActionName {
        match self {
            Self::Tools => ActionName::ListTool,
            Self::Prompts => ActionName::ListPrompt,
            Self::Resources | Self::ResourceTemplates => ActionName::ListResource,
        }
    }
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
    pub(super) fn list<'m>(&self, result: Value<'m>) -> Result<Value<'m>, Rejection> {
        match result.get(self.items) {
            Some(list) if list.is_array() => Ok(list),
            _ => {
                let problem = format!("its `{}` are not an array", self.items);
                Err(UpstreamFault::BadReply(problem).into())
            }
        }
    }

    /// What the page holds. A page that was read before in this way is not read again.
    pub(super) fn read(
        &self,
        list: Value<'_>,
        pages: &mut Pages,
        reading: Reading<'_>,
    ) -> Arc<Page> {
        // A page that was read otherwise is of no use.
        let read_as = match (reading.flags, reading.headers) {
            (Looked::Past, Headers::Agents) => Cow::Borrowed(self.items),
            (flags, headers) => Cow::Owned(format!("{}, {flags:?}, {headers:?}", self.items)),
        };
        pages.of(&read_as, list.text(), |digest| {
            self.page(list, digest, reading)
        })
    }

    /// Of equal definitions under one name the first stays; conflicting ones are all unusable.
    fn page(&self, list: Value<'_>, digest: PageDigest, reading: Reading<'_>) -> Page {
        let mut page = Page::new(digest);
        let mut named = Vec::new();
        for (index, item) in list.items().enumerate() {
            let named_well = self.name(item).and_then(|name| match reading.names {
                Names::Plain => plainly_named(name, item),
                Names::Any => Ok(name),
            });
            let callable = named_well.and_then(|name| {
                let mirrors = self.mirrors(&name, item, reading.headers)?;
                Ok((name, mirrors))
            });
            match callable {
                Ok((name, mirrors)) => named.push((index, name, item, mirrors)),
                Err(problem) => page.unusable.push((index, problem)),
            }
        }
        let mut definitions = HashMap::with_capacity(named.len());
        for (_, name, item, _) in &named {
            let first = Definitions::First(item.text());
            let known: &mut Definitions<'_> = definitions.entry(name.clone()).or_insert(first);
            known.meet(item.text());
        }
        // Only tools have arguments that are checked.
        let schemas = reading.schemas.filter(|_| self.kind == ListKind::Tools);
        for (index, name, item, mirrors) in named {
            let shown = definitions.get_mut(&name);
            match shown.map_or(Err(CONFLICTING), Definitions::show) {
                Ok(()) => {
                    let flags = (reading.flags == Looked::For).then(|| text::flags_of(item));
                    let is_defined = matches!(self.kind, ListKind::Tools | ListKind::Prompts);
                    let definition =
                        is_defined.then(|| offered(&name, item, flags, schemas, mirrors));
                    page.items.push(PageItem {
                        index,
                        name,
                        definition,
                        flags,
                    });
                }
                Err(problem) => page.unusable.push((index, format!("`{name}`: {problem}"))),
            }
        }
        let mut looks = HashSet::new();
        let defined = page
            .items
            .iter()
            .filter_map(|item| item.definition.as_ref());
        page.has_look_alikes = defined.into_iter().any(|offered| {
            let each: HashSet<NameSkeleton> = offered.looks.each().collect();
            each.into_iter().any(|look| !looks.insert(look))
        });
        // It is kept.
        page.items.shrink_to_fit();
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

    /// Which arguments of a tool headers repeat. Whoever makes the headers of a call excludes the tools of
    /// which it cannot (MCP 2026-07-28, basic/transports/streamable-http, schema extension), and says so
    /// in its log. A tool that wants more headers than the gate compares breaks no rule for which its
    /// agent would exclude it, so that the gate does.
    fn mirrors(
        &self,
        name: &str,
        item: Value<'_>,
        headers: Headers,
    ) -> Result<Annotations, String> {
        if self.kind != ListKind::Tools {
            return Ok(Ok(Arc::default()));
        }
        match (Mirror::of_definition(item), headers) {
            (Err(wrong), Headers::Ours)
            | (Err(wrong @ AnnotationError::TooMuch), Headers::Agents) => {
                let tool = name.escape_debug();
                tracing::warn!("the tool `{tool}` is neither listed nor called: {wrong}");
                Err(format!("`{name}`: {wrong}"))
            }
            (mirrors, Headers::Ours | Headers::Agents) => Ok(mirrors),
        }
    }
}

/// What the annotations of a tool say.
type Annotations = Result<Arc<[Mirror]>, AnnotationError>;

fn offered(
    name: &str,
    item: Value<'_>,
    flags: Option<Flags>,
    schemas: Option<&KnownSchemas>,
    mirrors: Annotations,
) -> Offered {
    let print = pin::fingerprint(item);
    let schemas = schemas.and_then(|known| known.of(print, item));
    Offered {
        print,
        digest: format!("sha256:{}", locked_digest(&item.canonical())).into(),
        flags,
        schemas,
        mirrors,
        looks: NameSkeletons::of(name),
    }
}

/// Nothing can be taken out of what names something, so what hides in a name hides the item.
fn plainly_named(name: String, item: Value<'_>) -> Result<String, String> {
    let hidden = text::hidden_names(item);
    if hidden.is_empty() {
        Ok(name)
    } else {
        Err(format!(
            "`{name}`: hidden characters in a name or a value of its definition ({hidden})"
        ))
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

impl Headers {
    /// Who makes the headers of a session's calls. An agent that speaks HTTP and no older revision makes
    /// its own, which the gate compares with the body; what a bridge sends has none.
    pub(super) fn of(session: &Session, over_http: OverHttp) -> Self {
        let state = session.state();
        let over_http = *over_http.of(state.run().instance);
        let is_told = session.transport == "http" && state.protocol.bridged.is_none();
        let has_none = !matches!(state.protocol.lifecycle, Lifecycle::New);
        if over_http && !is_told && !has_none {
            Self::Ours
        } else {
            Self::Agents
        }
    }
}

impl<'s> Reading<'s> {
    /// What is looked at in the lists of a session.
    pub(super) fn of(
        session: &Session,
        snapshot: &PolicySnapshot,
        terms: &Terms,
        schemas: &'s KnownSchemas,
        over_http: OverHttp,
    ) -> Self {
        let definitions = terms.guards.texts.definitions;
        let is_off = definitions == Cleaning::Off;
        Self {
            schemas: Some(schemas),
            flags: if is_off && !snapshot.looks_for().flags {
                Looked::Past
            } else {
                Looked::For
            },
            names: match definitions {
                Cleaning::Clean => Names::Plain,
                Cleaning::Off | Cleaning::Warn => Names::Any,
            },
            headers: Headers::of(session, over_http),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    const READING: Reading<'_> = Reading {
        schemas: None,
        flags: Looked::Past,
        names: Names::Any,
        headers: Headers::Agents,
    };

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
            let page = kind.read(list.root(), &mut Pages::default(), READING);
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
