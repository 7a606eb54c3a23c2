//! Drops from the replies to `*/list` what the agent could not use.
//!
//! A list shows what could be called: what policy permits under some arguments, of what the
//! upstream offers, in the upstream's order. Each item stands for itself: one that cannot be read
//! is dropped alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::audit;
use crate::policy::{NonCanonicalUri, PolicySnapshot, Prompt, Resource, ResourceFacts, Tool};
use crate::session::{OverHttp, Page, PageItem, State, Traversal};
use crate::wire::{KnownMethod, Message, Value};

use super::classified::{Role, Scene};
use super::context::RequestContext;
use super::drift::{self, Drift};
use super::edits::Removal;
use super::faults::UpstreamFault;
use super::filter::{Filter, Flow, Hook};
use super::names::Readers;
use super::page::{ListKind, Reading, Shape};
use super::permit::visible_in;
use super::pin::{self, Pins};
use super::query::{Circumstances, resource_facts};
use super::recorder::Recorder;
use super::rejection::Rejection;
use super::schemas::KnownSchemas;
use super::seen::Seen;
use super::settings::Level;
use super::stop::Stop;
use super::uris::{self, Kind};
use super::{instructions, resources};

/// An item that can be judged.
enum Item {
    Tool(Tool),
    Prompt(Prompt),
    Resource(ResourceFacts),
}

/// How many items are judged before others have their turn.
const AT_ONCE: usize = 128;

/// What the reply to a list holds, if the message is one, and what must not be seen of another reply.
#[derive(Debug, Default)]
struct Listing<'m> {
    /// What the agent must not see.
    removals: Vec<Removal<'m>>,
    page: Option<Arc<Page>>,
    /// Tools and prompts that are not what was approved.
    drifts: Vec<Drift<'m>>,
}

/// Takes out of lists what the agent must not see, and tells operators of what is not what was approved.
#[derive(Debug)]
pub(super) struct ListFilter {
    pub(super) schemas: Arc<KnownSchemas>,
    pub(super) seen: Arc<Seen>,
    pub(super) recorder: Recorder,
    pub(super) over_http: OverHttp,
}

impl Filter for ListFilter {
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let Role::Reply(taken) = &cx.understood.identified.role else {
            return Flow::DONE;
        };
        let method = taken.exchange.method;
        if Shape::got_by(method).is_none() && !instructions::may_come_with(method) {
            return Flow::DONE;
        }
        let cursor = taken.exchange.asks.cursor.clone();
        Flow::wait(self.filter(cx, method, cursor))
    }
}

impl ListFilter {
    async fn filter(
        &self,
        cx: &mut RequestContext<'_>,
        method: KnownMethod,
        cursor: Option<String>,
    ) -> Result<(), Stop> {
        let (session, snapshot, schemas) = (cx.session, cx.snapshot, &self.schemas);
        let reading = Reading::of(session, snapshot, cx.terms, schemas, self.over_http);
        let Listing {
            removals,
            page,
            drifts,
        } = listing(cx, (method, cursor.as_deref()), reading).await?;
        cx.plan.removals.extend(removals);
        cx.page = page;
        if !drifts.is_empty() {
            let base = cx.trail.beside(audit::Kind::UpstreamState);
            let stores = (&self.recorder, &*self.seen);
            let words = &cx.terms.guards.texts.words;
            // Seldom, so that its room is not that of every message.
            Box::pin(drift::tell_of(stores, &base, (snapshot, words), &drifts)).await?;
            cx.trail.effects.drifted = drifts
                .iter()
                .filter(|drift| drift.is_hidden())
                .map(Drift::named)
                .collect();
        }
        Ok(())
    }
}

/// Reads the reply to a list, and finds what is to be removed from it.
///
/// # Errors
/// [`UpstreamFault::BadReply`] when the list is not an array, or its next page has no name: then
/// there is nothing to filter, or no end, and nothing may pass.
async fn listing<'m>(
    cx: &RequestContext<'m>,
    (method, cursor): (KnownMethod, Option<&str>),
    reading: Reading<'_>,
) -> Result<Listing<'m>, Rejection> {
    let (understood, session, now) = (&cx.understood, cx.session, cx.now);
    let (snapshot, pins) = (&**cx.snapshot, cx.pins);
    if let Some((removal, drift)) = instructions::unapproved(understood, snapshot, pins) {
        return Ok(Listing {
            removals: vec![removal],
            page: None,
            drifts: vec![drift],
        });
    }
    let scene = &understood.identified.scene;
    let result = understood.identified.message.result();
    let shape = Shape::got_by(method);
    let (Some(shape), Some(result)) = (shape, result) else {
        return Ok(Listing::default());
    };
    next_cursor(understood.identified.message)?;
    let list = shape.list(result)?;
    let page = shape.read(list, &mut session.state().lists.pages, reading);
    let words = &cx.terms.guards.texts.words;
    let passing = drift::passing(list, shape.kind, &page, (snapshot, pins), words);
    let at = Traversal::of_agent(cursor);
    let (closed, open): (Vec<&PageItem>, Vec<&PageItem>) = {
        let (labels, level) = (snapshot.labels(), scene.held.level);
        let closes =
            |item: &&PageItem| shape.kind == ListKind::Tools && labels.closes(&item.name, level);
        page.items.iter().partition(closes)
    };
    let (conflicting, judged): (Vec<&PageItem>, Vec<&PageItem>) = {
        let state = session.state();
        let earlier = match shape.kind {
            ListKind::Tools => Some(&state.lists.tools),
            ListKind::Prompts => Some(&state.lists.prompts),
            ListKind::Resources | ListKind::ResourceTemplates => None,
        };
        let items = open.into_iter();
        items.partition(|item| earlier.is_some_and(|it| it.is_conflicting(at, item)))
    };
    let shown = if conflicting.is_empty() && closed.is_empty() {
        shown_of_page(&page, &shape, snapshot, pins, scene, now).await
    } else {
        shown(&judged, &shape, snapshot, pins, scene, now)
            .await
            .into()
    };
    let both: (Vec<_>, Vec<_>) = judged
        .into_iter()
        .zip(shown.iter())
        .partition(|(_, shown)| **shown);
    let [seen, hidden] = [both.0, both.1].map(|items| {
        let items = items.into_iter().map(|(item, _)| item);
        items.collect::<Vec<&PageItem>>()
    });
    let readers = Readers {
        snapshot,
        pins,
        scene,
        now,
    };
    let misleading = if shape.kind == ListKind::Tools {
        readers.misled_by_page(&page, &seen, at)
    } else {
        Vec::new()
    };
    // What has changed is hidden, so that the others need not be asked about.
    let gone = hidden.iter().chain(&closed);
    let mut drifts = drift::drifts(list, shape.kind, gone.copied(), snapshot, pins);
    drifts.extend(passing);
    let removed: Vec<(usize, String)> = page
        .unusable
        .iter()
        .cloned()
        .chain(
            conflicting
                .iter()
                .map(|item| (item.index, item.because(OTHERWISE))),
        )
        .chain(closed.iter().map(|item| (item.index, item.because(CLOSED))))
        .chain(hidden.iter().map(|item| {
            (
                item.index,
                item.because(&why_hidden(&shape, item, snapshot, pins)),
            )
        }))
        .chain(
            misleading
                .iter()
                .map(|(item, why)| (item.index, item.because(&why.to_string()))),
        )
        .collect();
    Ok(Listing {
        removals: removals_of(&shape, list, removed),
        page: Some(page),
        drifts,
    })
}

/// Whether the agent could not ask for it by its name, whatever policies say.
fn is_unclear(shape: &Shape, item: &PageItem, snapshot: &PolicySnapshot, pins: Pins<'_>) -> bool {
    pins.uris == Level::Strict && shape.odd(item, snapshot).is_some()
}

fn why_hidden(shape: &Shape, item: &PageItem, snapshot: &PolicySnapshot, pins: Pins<'_>) -> String {
    let odd = shape.odd(item, snapshot);
    match odd.filter(|_| pins.uris == Level::Strict) {
        Some(odd) => format!("readers disagree on its URI: {odd}; {}", resources::SETTING),
        None => "not permitted".to_owned(),
    }
}

/// Which items of a page the agent may see. A page is judged once, as long as nothing changes.
async fn shown_of_page(
    page: &Page,
    shape: &Shape,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
    scene: &Scene,
    now: Circumstances,
) -> Arc<[bool]> {
    let session = pins.session;
    let env = now.environment(scene);
    let (generation, known) =
        session
            .state()
            .lists
            .visibilities
            .of_page(snapshot, &scene.agent, &env, page.digest);
    if let Some(known) = known {
        return known;
    }
    let all: Vec<&PageItem> = page.items.iter().collect();
    let shown = shown(&all, shape, snapshot, pins, scene, now).await;
    let visibilities = &mut session.state().lists.visibilities;
    visibilities.keep_page(generation, page.digest, &shown);
    shown.into()
}

/// The same of some items.
async fn shown(
    judged: &[&PageItem],
    shape: &Shape,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
    scene: &Scene,
    now: Circumstances,
) -> Vec<bool> {
    let items: Vec<(usize, Item)> = judged
        .iter()
        .enumerate()
        .flat_map(|(at, item)| {
            let named = [Item::of(shape, item, snapshot, pins)].into_iter();
            let all = named.chain(Item::otherwise(shape, item));
            all.map(move |item| (at, item))
        })
        .collect();
    let mut hidden = BTreeSet::new();
    let mut asked = 0;
    for some in items.chunks(AT_ONCE) {
        let resources: Vec<Resource<'_>> = some.iter().map(|(_, item)| item.resource()).collect();
        let seen = visible_in(pins.session, snapshot, scene, now, &resources);
        let unseen = some.iter().zip(seen).filter(|(_, seen)| !seen);
        hidden.extend(unseen.map(|((at, _), _)| *at));
        asked += some.len();
        // Other messages, and time, go on beside a list of any length.
        if asked < items.len() {
            tokio::task::yield_now().await;
        }
    }
    let items = judged.iter().enumerate();
    items
        .map(|(at, item)| !hidden.contains(&at) && !is_unclear(shape, item, snapshot, pins))
        .collect()
}

/// Why a tool is not shown to a session that has read too much.
const CLOSED: &str = "closed by what the session has read";

/// Why an item of a later page is not shown.
const OTHERWISE: &str = "defined in a different way on an earlier page";

fn removals_of<'m>(
    shape: &Shape,
    list: Value<'m>,
    removed: Vec<(usize, String)>,
) -> Vec<Removal<'m>> {
    if removed.is_empty() {
        return Vec::new();
    }
    let items: Vec<Value<'m>> = list.items().collect();
    let removal = |(index, because): (usize, String)| {
        items.get(index).map(|item| Removal {
            item: *item,
            pointer: format!("/result/{}/{index}", shape.items),
            because,
        })
    };
    removed.into_iter().filter_map(removal).collect()
}

/// Notes what a page of the tool list offers. Called for the agent's lists and the gate's own.
pub(super) fn note_offers(
    state: &mut State,
    message: &Message,
    page: Option<&Page>,
    traversal: Traversal<'_>,
) {
    let Some(page) = page else { return };
    let next = next_cursor(message).ok().flatten();
    state.lists.tools.add_page(traversal, page, next);
}

/// The notification that tells that a list, got by this method, has changed.
pub(super) fn changed(method: KnownMethod) -> Option<KnownMethod> {
    Shape::got_by(method).map(|shape| match shape.kind {
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
pub(super) fn next_cursor(message: &Message) -> Result<Option<String>, Rejection> {
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

/// What policies see of it: nothing where none of them looks.
fn flags(item: &PageItem, snapshot: &PolicySnapshot) -> Vec<String> {
    if snapshot.looks_for().flags {
        pin::names_of(item.flags)
    } else {
        Vec::new()
    }
}

impl Shape {
    /// Why the agent could not ask for an item by its name: of resources, why it is not one for all who
    /// read it.
    fn odd(&self, item: &PageItem, snapshot: &PolicySnapshot) -> Option<NonCanonicalUri> {
        let kind = self.kind.names_resources()?;
        if kind.canonical(&item.name).is_none() {
            return Some(NonCanonicalUri::of(&item.name));
        }
        let may_be_another = kind.may_be_another(&item.name, snapshot.labels());
        may_be_another.then_some(NonCanonicalUri::Otherwise)
    }
}

impl ListKind {
    fn names_resources(self) -> Option<Kind> {
        match self {
            Self::Tools | Self::Prompts => None,
            Self::Resources => Some(Kind::Uri),
            Self::ResourceTemplates => Some(Kind::Template),
        }
    }
}

impl Item {
    fn of(shape: &Shape, item: &PageItem, snapshot: &PolicySnapshot, pins: Pins<'_>) -> Self {
        let name = item.name.as_str();
        match shape.kind {
            ListKind::Tools => Self::Tool(Tool {
                pin: pins.of_item(item, snapshot),
                flags: flags(item, snapshot),
                ..Tool::named(name)
            }),
            ListKind::Prompts => Self::Prompt(Prompt {
                pin: pins.of_listed_prompt(item, snapshot),
                flags: flags(item, snapshot),
                ..Prompt::named(name)
            }),
            ListKind::Resources | ListKind::ResourceTemplates => {
                Self::Resource(resource_facts(name))
            }
        }
    }

    /// A resource as it could be named otherwise.
    fn otherwise(shape: &Shape, item: &PageItem) -> impl Iterator<Item = Self> {
        let kind = shape.kind.names_resources();
        let others = kind.map(|kind| uris::facts_otherwise(&item.name, kind));
        others.into_iter().flatten().map(Self::Resource)
    }

    fn resource(&self) -> Resource<'_> {
        match self {
            Self::Tool(tool) => Resource::Tool(tool),
            Self::Prompt(prompt) => Resource::Prompt(prompt),
            Self::Resource(resource) => Resource::Resource(resource),
        }
    }
}
