//! Drops from the replies to `*/list` what the agent could not use.
//!
//! A list shows what could be called: what policy permits under some arguments, of what the
//! upstream offers, in the upstream's order. Each item stands for itself: one that cannot be read
//! is dropped alone.

use std::collections::HashMap;

use crate::policy::{Lock, Pin, PolicySnapshot};
use crate::policy::{Prompt, Resource, ResourceFacts, Tool};
use crate::session::{Catalogue, Session, Traversal};
use crate::wire::{KnownMethod, Message, Value};

use super::decide::visible_in;
use super::forward::UpstreamFault;
use super::identify::Role;
use super::oblige::Removal;
use super::pin;
use super::refuse::Refusal;
use super::understand::{Circumstances, Understood, resource_facts};

/// A list of one kind: the member that holds it, and the member by which an item is named.
struct Shape {
    kind: ListKind,
    items: &'static str,
    name: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListKind {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
}

/// An item that can be judged.
enum Item {
    Tool(Tool),
    Prompt(Prompt),
    Resource(ResourceFacts),
}

/// How many items are judged before others have their turn.
const AT_ONCE: usize = 128;

/// What is to be removed from the reply to a list, if it is one.
///
/// # Errors
/// [`UpstreamFault::BadReply`] when the list is not an array, or its next page has no name: then
/// there is nothing to filter, or no end, and nothing may pass.
pub(super) async fn removals<'m>(
    understood: &Understood<'m>,
    snapshot: &PolicySnapshot,
    session: &Session,
    now: Circumstances,
) -> Result<Vec<Removal<'m>>, Refusal> {
    let Role::Reply(taken) = &understood.identified.role else {
        return Ok(Vec::new());
    };
    let scene = &understood.identified.scene;
    let result = understood.identified.message.result();
    let (Some(shape), Some(result)) = (shape(taken.exchange.method), result) else {
        return Ok(Vec::new());
    };
    next_cursor(understood.identified.message)?;
    let mut removed = Vec::new();
    let mut readable = readable(&shape, list(&shape, result)?, &mut removed);
    if shape.kind == ListKind::Tools {
        let earlier = &session.state().tools;
        let at = Traversal::of_agent(taken.exchange.cursor.as_deref());
        readable.retain(|named| {
            let conflicts = earlier.is_conflicting(at, &named.name, &pin::fingerprint(named.item));
            if conflicts {
                let because = "defined in a different way on an earlier page";
                removed.push(named.removal(&shape, because));
            }
            !conflicts
        });
    }
    let items: Vec<Item> = readable
        .iter()
        .map(|named| Item::of(&shape, named, snapshot.lock()))
        .collect();
    let resources: Vec<Resource<'_>> = items.iter().map(Item::resource).collect();
    let mut shown = Vec::with_capacity(resources.len());
    for some in resources.chunks(AT_ONCE) {
        shown.append(&mut visible_in(session, snapshot, scene, now, some));
        // Other messages, and time, go on beside a list of any length.
        if shown.len() < resources.len() {
            tokio::task::yield_now().await;
        }
    }
    for (named, shown) in readable.into_iter().zip(shown) {
        if !shown {
            removed.push(named.removal(&shape, "not permitted"));
        }
    }
    Ok(removed)
}

/// Notes what a page of the tool list offers. Called for the agent's lists and the gate's own.
pub(super) fn note_offers(catalogue: &mut Catalogue, message: &Message, traversal: Traversal<'_>) {
    let Some(tools) = message.result().and_then(|result| result.get("tools")) else {
        return;
    };
    let shape = Shape {
        kind: ListKind::Tools,
        items: "tools",
        name: "name",
    };
    let offered = readable(&shape, tools.items().collect(), &mut Vec::new());
    catalogue.add_page(
        traversal,
        offered
            .into_iter()
            .map(|named| (named.name, pin::fingerprint(named.item)))
            .collect(),
        next_cursor(message).ok().flatten(),
    );
}

/// The notification that tells that a list, got by this method, has changed.
pub(super) fn changed(method: KnownMethod) -> Option<KnownMethod> {
    shape(method).map(|shape| match shape.kind {
        ListKind::Tools => KnownMethod::ToolsListChanged,
        ListKind::Prompts => KnownMethod::PromptsListChanged,
        ListKind::Resources | ListKind::ResourceTemplates => KnownMethod::ResourcesListChanged,
    })
}

/// Where the next page of a list begins. `null` is as good as nothing: nobody can ask for it.
///
/// # Errors
/// [`UpstreamFault::BadReply`] when it is anything else than a string: peers would disagree about
/// whether this is the last page.
pub(super) fn next_cursor(message: &Message) -> Result<Option<String>, Refusal> {
    let cursor = message.result().and_then(|result| result.get("nextCursor"));
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_null()) else {
        return Ok(None);
    };
    let text = cursor.as_str().ok_or_else(|| {
        let problem = "its `nextCursor` is not a string";
        UpstreamFault::BadReply(problem.to_owned())
    })?;
    Ok(Some(text.into_owned()))
}

fn shape(method: KnownMethod) -> Option<Shape> {
    let shapes = [
        (KnownMethod::ToolsList, ListKind::Tools, "tools", "name"),
        (
            KnownMethod::PromptsList,
            ListKind::Prompts,
            "prompts",
            "name",
        ),
        (
            KnownMethod::ResourcesList,
            ListKind::Resources,
            "resources",
            "uri",
        ),
        (
            KnownMethod::ResourceTemplatesList,
            ListKind::ResourceTemplates,
            "resourceTemplates",
            "uriTemplate",
        ),
    ];
    let found = shapes.into_iter().find(|(listed, ..)| *listed == method);
    found.map(|(_, kind, items, name)| Shape { kind, items, name })
}

fn list<'m>(shape: &Shape, result: Value<'m>) -> Result<Vec<Value<'m>>, Refusal> {
    match result.get(shape.items) {
        Some(list) if list.is_array() => Ok(list.items().collect()),
        _ => Err(UpstreamFault::BadReply(format!("its `{}` are not an array", shape.items)).into()),
    }
}

/// The items that can be judged, by name and in order; the others are to be removed. Of equal
/// definitions under one name the first stays; conflicting ones are all removed.
fn readable<'m>(
    shape: &Shape,
    items: Vec<Value<'m>>,
    removed: &mut Vec<Removal<'m>>,
) -> Vec<Named<'m>> {
    let mut all = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        match name(shape, item) {
            Ok(name) => all.push(Named { index, name, item }),
            Err(problem) => {
                let unnamed = Named {
                    index,
                    name: String::new(),
                    item,
                };
                removed.push(unnamed.removal(shape, &problem));
            }
        }
    }
    let mut definitions: HashMap<String, Definitions> = HashMap::with_capacity(all.len());
    for named in &all {
        let text = named.item.text();
        let definition = definitions
            .entry(named.name.clone())
            .or_insert(Definitions::First(text));
        definition.meet(text);
    }
    let mut kept = Vec::with_capacity(all.len());
    for named in all {
        match definitions.get_mut(&named.name) {
            Some(definition @ Definitions::First(_)) => {
                *definition = Definitions::Repeated;
                kept.push(named);
            }
            Some(Definitions::Repeated) => {
                removed.push(named.removal(shape, "defined more than once"));
            }
            Some(Definitions::Conflicting) | None => {
                removed.push(named.removal(shape, "defined more than once, in different ways"));
            }
        }
    }
    kept
}

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
}

/// An item by its name, and its place in the list.
struct Named<'m> {
    index: usize,
    name: String,
    item: Value<'m>,
}

impl<'m> Named<'m> {
    fn removal(&self, shape: &Shape, because: &str) -> Removal<'m> {
        let because = if self.name.is_empty() {
            because.to_owned()
        } else {
            format!("`{}`: {because}", self.name)
        };
        let pointer = format!("/result/{}/{}", shape.items, self.index);
        Removal {
            item: self.item,
            pointer,
            because,
        }
    }
}

/// The name of an item, if it has the members without which it cannot be used or judged.
fn name(shape: &Shape, item: Value<'_>) -> Result<String, String> {
    let name = item
        .get(shape.name)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("its `{}` is not a string", shape.name))?;
    if name.chars().any(char::is_control) {
        return Err(format!("its `{}` has control characters", shape.name));
    }
    let schema = item.get("inputSchema");
    if shape.kind == ListKind::Tools && !schema.is_some_and(Value::is_object) {
        return Err(format!("`{name}`: its `inputSchema` is not an object"));
    }
    Ok(name.into_owned())
}

impl Item {
    fn of(shape: &Shape, named: &Named<'_>, lock: &Lock) -> Self {
        let name = named.name.as_str();
        match shape.kind {
            ListKind::Tools => Self::Tool(Tool {
                pin: if lock.is_empty() {
                    Pin::default()
                } else {
                    lock.pin(name, [pin::fingerprint(named.item)])
                },
                ..Tool::named(name)
            }),
            ListKind::Prompts => Self::Prompt(Prompt::named(name)),
            ListKind::Resources | ListKind::ResourceTemplates => {
                Self::Resource(resource_facts(name))
            }
        }
    }

    fn resource(&self) -> Resource<'_> {
        match self {
            Self::Tool(tool) => Resource::Tool(tool),
            Self::Prompt(prompt) => Resource::Prompt(prompt),
            Self::Resource(resource) => Resource::Resource(resource),
        }
    }
}
