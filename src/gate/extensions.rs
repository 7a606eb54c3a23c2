//! Methods of extensions that the configuration lists. The gate does not know what they mean: it judges each
//! as the call of a tool without labels, and by every resource that it names. Results of a type that the
//! configuration lists are searched like the results of such methods.

use std::borrow::Cow;

use crate::mcp::revisions::FIRST_STATELESS;
use crate::policy::{CanonicalPathError, CanonicalPaths, ExtensionMethod};
use crate::session::{Origin, Target};
use crate::unseen::misleads;
use crate::wire::{Extensions, JsonKind, KnownMethod, ListedMethod, Message, Value, pointer_step};

use super::arguments::{self, MAX_POINTER_BYTES, leaves, targets};
use super::classified::{Role, asks};
use super::look::Look;
use super::query::{About, Asks, Doing, Question, Respelled, Understood};
use super::rejection::Rejection;
use super::uris::{self, Kind, Named};

/// The member of `params` and of results that is the protocol's own.
const META: &str = "_meta";

const PARAMS: &str = "/params";

/// The method, if a message is one of an extension.
pub(super) fn method(role: &Role) -> Option<ListedMethod> {
    match role {
        Role::Request {
            method: KnownMethod::Extension(listed),
            ..
        }
        | Role::Notification {
            method: KnownMethod::Extension(listed),
        } => Some(*listed),
        Role::Request { .. } | Role::Notification { .. } | Role::Reply(_) => None,
    }
}

/// Whether a reply is a result of a type that an extension defines: of one that is listed, where a result
/// may have another type than `complete` (MCP 2026-07-28) and the gate need not know its form.
pub(super) fn is_of_listed_type(role: &Role, message: &Message, listed: &Extensions) -> bool {
    let Role::Reply(taken) = role else {
        return false;
    };
    let exchange = &taken.exchange;
    let may_be = asks(exchange.method) || matches!(exchange.method, KnownMethod::Extension(_));
    let is_agents = matches!(exchange.origin, Origin::Peer(_));
    let is_stateless = *exchange.asks.spoken.version >= *FIRST_STATELESS;
    let kind = message
        .result()
        .and_then(|it| it.get("resultType")?.as_str());
    may_be && is_agents && is_stateless && kind.is_some_and(|kind| listed.has_result_type(&kind))
}

/// Whether the method may be used, and every resource read that it names. Of what a server tells, the
/// agent must be allowed to follow it.
pub(super) fn ask<'m>(
    listed: ListedMethod,
    asks: Asks,
    params: Option<Value<'m>>,
    look: Look<'_>,
) -> Result<(Target, Vec<Question<'m>>), Rejection> {
    let mut arguments = leaves(params)?;
    arguments.0.retain(|(pointer, _)| !is_of_meta(pointer));
    let targets = targets(params, &arguments, look);
    let mut questions = vec![Question {
        asks,
        about: About::Method(ExtensionMethod::named(listed.name())),
        doing: Doing::Extend(arguments, targets),
    }];
    let (mut bound, mut refusal) = (Bound::default(), None);
    each_of(params, &mut |part| {
        let Some(uri) = part.names() else {
            return;
        };
        if let Err(over) = bound.take(part.path) {
            refusal.get_or_insert(over);
            return;
        }
        if matches!(part.found, Found::Key(_)) && !is_as_it_is_read(&uri) {
            refusal.get_or_insert(Rejection::from(CanonicalPathError::Name));
        }
        let doing = || match asks {
            Asks::Agent => Doing::ReadResource,
            Asks::Server => Doing::Subscribe,
        };
        questions.extend(uris::questions(&uri, Kind::Uri, Asks::Agent, doing));
    });
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    Ok((Target::Method(listed), questions))
}

/// The question about a method as it will be sent, with these texts at their pointers.
pub(super) fn asked_again<'m>(question: &Question<'m>, sent: &Respelled) -> Option<Question<'m>> {
    let (About::Method(method), Doing::Extend(said, targets)) = (&question.about, &question.doing)
    else {
        return None;
    };
    let changed = sent.iter().filter_map(|(pointer, text)| {
        let pointer = pointer.strip_prefix(PARAMS)?;
        Some((pointer.to_owned(), text.clone()))
    });
    let changed: CanonicalPaths = changed.collect();
    (!changed.is_empty()).then(|| Question {
        asks: question.asks,
        about: About::Method(method.clone()),
        doing: Doing::Extend(said.with(&changed), targets.clone()),
    })
}

/// What params name by URI in values, and where it stands (RFC 6901). Of more than [`Bound`] lets through,
/// for which the message is refused, only so much.
pub(super) fn named_in(params: Option<Value<'_>>) -> Vec<(String, Named<'_>)> {
    let (mut bound, mut named) = (Bound::default(), Vec::new());
    each_of(params, &mut |part| {
        let Found::Value(value) = part.found else {
            return;
        };
        if part.names().is_some() && bound.take(part.path).is_ok() {
            let kind = Kind::Uri;
            named.push((
                format!("{PARAMS}{}", part.path.pointer()),
                Named { value, kind },
            ));
        }
    });
    named
}

/// Every text of a result of an extension's method, of a result of an extension's type, or of an extension's
/// notification. The gate does not know in which members they name resources.
pub(super) fn brought<'m>(understood: &Understood<'m>) -> Vec<Cow<'m, str>> {
    let message = understood.identified.message;
    let role = &understood.identified.role;
    let of_listed_type = understood.identified.of_listed_type;
    let is_extensions = match role {
        Role::Reply(taken) => {
            of_listed_type || matches!(taken.exchange.method, KnownMethod::Extension(_))
        }
        Role::Request { .. } | Role::Notification { .. } => method(role).is_some(),
    };
    if !is_extensions {
        return Vec::new();
    }
    let mut texts = Vec::new();
    for value in [message.result(), message.error(), message.params()] {
        each_of(value, &mut |part| {
            let text = part.found.text();
            texts.extend(text.filter(|text| part.is_called_uri || may_be_uri(text)));
        });
    }
    texts
}

/// What one message may name by URI, and how long the pointers to it may be in all.
#[derive(Default)]
struct Bound {
    uris: usize,
    pointer_bytes: usize,
}

impl Bound {
    fn take(&mut self, path: &Path<'_>) -> Result<(), Rejection> {
        self.uris = self.uris.saturating_add(1);
        self.pointer_bytes = self.pointer_bytes.saturating_add(path.bytes());
        if self.uris > uris::MOST_URIS {
            Err(Rejection::too_many_uris(uris::MOST_URIS))
        } else if self.pointer_bytes > MAX_POINTER_BYTES {
            Err(arguments::too_wide())
        } else {
            Ok(())
        }
    }
}

/// Where something stands, from the params or the result on. Its pointer is made only where one is needed:
/// each may be as long as the message.
struct Path<'p> {
    above: Option<&'p Path<'p>>,
    step: Step<'p>,
}

enum Step<'p> {
    Member(&'p str),
    Item(usize),
}

impl Path<'_> {
    fn steps(&self) -> impl Iterator<Item = &Step<'_>> {
        std::iter::successors(Some(self), |path| path.above).map(|path| &path.step)
    }

    /// At least how long its pointer is.
    fn bytes(&self) -> usize {
        let lengths = self.steps().map(|step| match step {
            Step::Member(name) => name.len().saturating_add(1),
            Step::Item(_) => 2,
        });
        lengths.fold(0, usize::saturating_add)
    }

    /// RFC 6901.
    fn pointer(&self) -> String {
        let mut steps: Vec<_> = self.steps().collect();
        steps.reverse();
        let mut pointer = String::new();
        for step in steps {
            pointer.push('/');
            match step {
                Step::Member(name) => {
                    pointer.push_str(&pointer_step(name));
                }
                Step::Item(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }
}

/// A text of a message, or what stands where one should.
struct Part<'p, 'm> {
    path: &'p Path<'p>,
    found: Found<'p, 'm>,
    /// Its member is called as one that holds URIs.
    is_called_uri: bool,
}

#[derive(Clone, Copy)]
enum Found<'p, 'm> {
    /// The name of a member.
    Key(&'p str),
    Value(Value<'m>),
}

impl<'m> Found<'_, 'm> {
    fn text(self) -> Option<Cow<'m, str>> {
        match self {
            Self::Key(key) => Some(Cow::Owned(key.to_owned())),
            Self::Value(value) => value.as_str(),
        }
    }
}

impl<'m> Part<'_, 'm> {
    /// The resource that it names; empty for what is no text and should be one.
    fn names(&self) -> Option<Cow<'m, str>> {
        match self.found.text() {
            Some(text) if self.is_called_uri || is_uri(&text) => Some(text),
            Some(_) => None,
            None => self.is_called_uri.then(Cow::default),
        }
    }
}

/// Every text in params or a result, but for those of `_meta`.
fn each_of<'m>(value: Option<Value<'m>>, see: &mut dyn FnMut(Part<'_, 'm>)) {
    let members = value.into_iter().flat_map(Value::entries);
    for (key, member) in members.filter(|(key, _)| key != META) {
        note(&key, member, None, see);
    }
}

/// A member of an object. The wire's depth limit bounds the recursion.
fn note<'m>(
    key: &str,
    value: Value<'m>,
    above: Option<&Path<'_>>,
    see: &mut dyn FnMut(Part<'_, 'm>),
) {
    let step = Step::Member(key);
    let path = &Path { above, step };
    see(Part {
        path,
        found: Found::Key(key),
        is_called_uri: false,
    });
    descend(value, path, calls_uris(key), see);
}

fn descend<'m>(
    value: Value<'m>,
    path: &Path<'_>,
    is_called_uri: bool,
    see: &mut dyn FnMut(Part<'_, 'm>),
) {
    let above = Some(path);
    match value.kind() {
        JsonKind::Object => {
            for (key, member) in value.entries() {
                note(&key, member, above, see);
            }
        }
        JsonKind::Array => {
            for (index, item) in value.items().enumerate() {
                let step = Step::Item(index);
                descend(item, &Path { above, step }, is_called_uri, see);
            }
        }
        JsonKind::String | JsonKind::Number | JsonKind::Bool => {}
        JsonKind::Null => return,
    }
    let is_text = value.kind() == JsonKind::String;
    let is_odd = is_called_uri && value.kind() != JsonKind::Array;
    if is_text || is_odd {
        see(Part {
            path,
            found: Found::Value(value),
            is_called_uri,
        });
    }
}

/// Whether a URI in the name of a member is the one that was judged: no name is edited, and no link on its
/// way is followed.
fn is_as_it_is_read(uri: &str) -> bool {
    let is_file = scheme_of(uri).is_none_or(|(scheme, _)| scheme.eq_ignore_ascii_case("file"));
    !is_file && Kind::Uri.canonical(uri).is_some_and(|it| it == uri)
}

/// Whether a member is called as one that names a resource, or several.
fn calls_uris(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("uri") || key.ends_with("uris")
}

/// Whether a text is one that a server could take for the URI of something: `scheme://`, or a file.
fn is_uri(text: &str) -> bool {
    let falls_off = |c: char| c.is_whitespace() || misleads(c);
    let text = text.trim_start_matches(falls_off);
    scheme_of(text)
        .is_some_and(|(scheme, rest)| rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"))
}

fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let begins = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (begins && scheme.chars().all(fits)).then_some((scheme, rest))
}

/// The same of a text that can be a URI of any form (RFC 3986, section 3).
fn may_be_uri(text: &str) -> bool {
    is_uri(text) || scheme_of(text).is_some() && !text.contains(char::is_whitespace)
}

fn is_of_meta(pointer: &str) -> bool {
    let rest = pointer.strip_prefix("/_meta");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
