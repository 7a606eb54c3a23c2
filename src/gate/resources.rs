//! Finds the URIs in a message, and rejects those that readers could take for different resources.

use std::borrow::Cow;

use crate::audit::{Finding, Guard};
use crate::policy::{CanonicalPathError, Labels, NonCanonicalUri};
use crate::wire::{KnownMethod, Message, Value};

use super::classified::Role;
use super::context::RequestContext;
use super::extensions;
use super::filter::Filter;
use super::query::Understood;
use super::rejection::Rejection;
use super::settings::Level;
use super::stop::Stop;
use super::uris::{Kind, Named};

/// What the params of a method name, and where it stands (RFC 6901).
pub(super) fn named_in<'m>(
    method: KnownMethod,
    params: Option<Value<'m>>,
) -> Vec<(String, Named<'m>)> {
    let at = |path: &[&str]| params.and_then(|params| params.at(path));
    let kind = Kind::of(method);
    let one = |place: &str, value: Option<Value<'m>>| {
        let found = value.map(|value| (place.to_owned(), Named { value, kind }));
        found.into_iter().collect()
    };
    if let KnownMethod::Extension(_) = method {
        return extensions::named_in(params);
    }
    if is_about_one(method) {
        return one("/params/uri", at(&["uri"]));
    }
    if method == KnownMethod::Complete {
        return one("/params/ref/uri", at(&["ref", "uri"]));
    }
    if method == KnownMethod::SubscriptionsListen {
        let uris = at(&["notifications", "resourceSubscriptions"]);
        let uris = uris.into_iter().flat_map(Value::items).enumerate();
        let place = "/params/notifications/resourceSubscriptions";
        let named = |value| Named { value, kind };
        return uris
            .map(|(index, uri)| (format!("{place}/{index}"), named(uri)))
            .collect();
    }
    Vec::new()
}

fn is_about_one(method: KnownMethod) -> bool {
    matches!(
        method,
        KnownMethod::ResourcesRead
            | KnownMethod::ResourcesSubscribe
            | KnownMethod::ResourcesUnsubscribe
            | KnownMethod::ResourceUpdated
    )
}

/// What a message names: in its params, or in what a result holds and links to.
pub(super) fn named<'m>(understood: &Understood<'m>) -> Vec<(String, Named<'m>)> {
    let message = understood.identified.message;
    match &understood.identified.role {
        Role::Request { method, .. } | Role::Notification { method } => {
            named_in(*method, message.params())
        }
        Role::Reply(_) => message.result().map(linked).unwrap_or_default(),
    }
}

/// The contents of resources, and links to some, in a result.
fn linked<'m>(result: Value<'m>) -> Vec<(String, Named<'m>)> {
    let items = |value: Option<Value<'m>>| value.into_iter().flat_map(Value::items).enumerate();
    let mut found = Vec::new();
    let mut note = |place: String, value: Option<Value<'m>>| {
        found.extend(value.map(|value| {
            let kind = Kind::Uri;
            (place, Named { value, kind })
        }));
    };
    for (index, content) in items(result.get("contents")) {
        note(format!("/result/contents/{index}/uri"), content.get("uri"));
    }
    let blocks = items(result.get("content"));
    let blocks = blocks.map(|(index, block)| (format!("/result/content/{index}"), block));
    let messages = items(result.get("messages"));
    let messages = messages.filter_map(|(index, message)| {
        let place = format!("/result/messages/{index}/content");
        Some((place, message.get("content")?))
    });
    for (place, block) in blocks.chain(messages) {
        let kind = block.get("type").and_then(Value::as_str);
        if kind.as_deref() == Some("resource_link") {
            note(format!("{place}/uri"), block.get("uri"));
        }
        let embedded = block.get("resource").and_then(|it| it.get("uri"));
        note(format!("{place}/resource/uri"), embedded);
    }
    found
}

/// The URIs of what a message of the server's holds, as the server calls it. What a result only links to is
/// not there; what a question links to is, since nobody reads that by a request that is judged.
pub(super) fn contained<'m>(understood: &Understood<'m>) -> impl Iterator<Item = Cow<'m, str>> {
    let message = understood.identified.message;
    let (result, question) = match &understood.identified.role {
        Role::Reply(_) => (message.result(), None),
        Role::Notification { .. } => (message.params(), None),
        Role::Request { .. } => (None, message.params()),
    };
    // Of a task it stands in what is told of the task.
    let results = [result, result.and_then(|it| it.get("result"))];
    let linked = results.into_iter().flatten().flat_map(linked);
    let contained = linked.filter(|(place, _)| {
        place.ends_with("/resource/uri") || place.starts_with("/result/contents/")
    });
    let asked = results
        .into_iter()
        .flatten()
        .filter_map(|it| it.get("inputRequests"));
    let mut mentioned = Vec::new();
    for question in asked.chain(question) {
        mention(question, &mut mentioned);
    }
    contained
        .filter_map(|(_, named)| named.value.as_str())
        .chain(mentioned)
        .chain(extensions::brought(understood))
}

/// The URIs of resources in a question, embedded or linked to, however deep: the messages of a sample have
/// results of tools in them. The decoder bounds the depth.
fn mention<'m>(value: Value<'m>, found: &mut Vec<Cow<'m, str>>) {
    for item in value.items() {
        mention(item, found);
    }
    let kind = value.get("type").and_then(Value::as_str);
    let named = match kind.as_deref() {
        Some("resource_link") => value.get("uri"),
        Some("resource") => value.get("resource").and_then(|it| it.get("uri")),
        Some(_) | None => None,
    };
    found.extend(named.and_then(Value::as_str));
    for (_, member) in value.entries() {
        mention(member, found);
    }
}

/// Checks that servers read the URIs of a request as the gate does.
#[derive(Debug)]
pub(super) struct UriGuard;

impl Filter for UriGuard {
    fn check(&self, cx: &RequestContext<'_>, _: Option<&Message>) -> Result<Vec<Finding>, Stop> {
        let (level, labels) = (cx.terms.guards.uris, cx.snapshot.labels());
        Ok(check(&cx.understood, level, labels)?)
    }
}

/// Whether what a message asks for by URI is one resource for all who read it.
///
/// # Errors
/// [`Rejection`] where it is not, and has to be.
fn check(
    understood: &Understood<'_>,
    level: Level,
    labels: &Labels,
) -> Result<Vec<Finding>, Rejection> {
    if level == Level::Off || matches!(understood.identified.role, Role::Reply(_)) {
        return Ok(Vec::new());
    }
    let mut findings = Vec::new();
    for (pointer, named) in named(understood) {
        let text = named.value.as_str();
        let text = text.as_deref();
        let is_clear = text.is_some_and(|text| named.kind.canonical(text).is_some());
        let unclear = match text {
            Some(text) if is_clear && named.kind.may_be_another(text, labels) => {
                let odd = NonCanonicalUri::Otherwise;
                CanonicalPathError::NoUri { pointer, odd }
            }
            Some(_) if is_clear => continue,
            Some(_) | None => no_uri(pointer, text),
        };
        match level {
            Level::Off => {}
            Level::Warn => {
                let detail = unclear.to_string().into();
                findings.push(Finding {
                    guard: Guard::Uris,
                    code: Rejection::from(unclear).reason().into(),
                    detail,
                });
            }
            Level::Strict => return Err(not_one_resource(unclear)),
        }
    }
    Ok(findings)
}

/// What readers of a text that is no URI with one meaning disagree on.
pub(super) fn no_uri(pointer: String, text: Option<&str>) -> CanonicalPathError {
    let odd = text.map_or(NonCanonicalUri::NoText, NonCanonicalUri::of);
    CanonicalPathError::NoUri { pointer, odd }
}

/// Agents do not learn how the gate is configured.
fn not_one_resource(unclear: CanonicalPathError) -> Rejection {
    let rejection = Rejection::from(unclear);
    let (told, text) = (rejection.to_string(), format!("{rejection}; {SETTING}"));
    rejection.with_text(text).with_text_for_agents(told)
}

/// Where operators read of such URIs.
pub(super) const SETTING: &str = "`[guards] uris` says what becomes of such URIs";
