//! A URI that a message names, and the questions that it asks of policy.
//!
//! Policy is asked about a URI as it is written and in its canonical spelling, so that no other spelling of a
//! resource evades a rule. Why both: `docs/decisions/0020-paths-and-uris.md`.

use crate::policy::{Labels, ResourceFacts, canonical_template, canonical_uri, with_plain_slashes};
use crate::session::Target;
use crate::wire::{KnownMethod, Value};

use super::query::{About, Asks, Doing, Question, resource_facts};

/// Resources that one message may name: every policy is asked about each of them, in each of its spellings.
pub(super) const MOST_URIS: usize = 256;

/// A text that names a resource, or several.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'m> {
    pub(super) value: Value<'m>,
    pub(super) kind: Kind,
}

/// What names resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Uri,
    /// RFC 6570.
    Template,
}

impl Kind {
    /// What requests of a method name resources by.
    pub(super) fn of(method: KnownMethod) -> Self {
        if method == KnownMethod::Complete {
            Self::Template
        } else {
            Self::Uri
        }
    }

    /// The one spelling of a text; `None` where readers take it for different resources, or for none.
    pub(super) fn canonical(self, text: &str) -> Option<String> {
        match self {
            Self::Uri => canonical_uri(text),
            Self::Template => canonical_template(text),
        }
    }

    /// Whether it could name another resource than it seems to, as the host's labels are written.
    pub(super) fn may_be_another(self, text: &str, labels: &Labels) -> bool {
        // A template is judged when its variables are filled in.
        let is_uri = self == Self::Uri || !text.contains('{');
        is_uri && labels.may_be_another(text)
    }
}

/// A resource in the one spelling of its URI, and as it reads where an escaped slash is a slash, where these are other
/// texts.
pub(super) fn facts_otherwise(uri: &str, kind: Kind) -> Vec<ResourceFacts> {
    let canonical = kind.canonical(uri).filter(|it| it != uri);
    let others = canonical.into_iter().chain(with_plain_slashes(uri));
    others.map(|it| resource_facts(&it)).collect()
}

/// What is asked of a resource: as it is named, and as it could be named otherwise.
pub(super) fn questions<'m>(
    uri: &str,
    kind: Kind,
    asks: Asks,
    doing: impl Fn() -> Doing<'m>,
) -> Vec<Question<'m>> {
    let all = [resource_facts(uri)]
        .into_iter()
        .chain(facts_otherwise(uri, kind));
    let question = |facts| Question {
        asks,
        about: About::Resource(facts),
        doing: doing(),
    };
    all.map(question).collect()
}

/// The same as [`questions`] of one URI, with what the message is about.
pub(super) fn one<'m>(
    uri: &str,
    kind: Kind,
    asks: Asks,
    doing: impl Fn() -> Doing<'m>,
) -> (Target, Vec<Question<'m>>) {
    let target = Target::Resource(uri.to_owned());
    (target, questions(uri, kind, asks, doing))
}

/// Whether what is received of a resource may be received of it however it could be named. What it was
/// asked for with says how that is.
pub(super) fn received_otherwise<'m>(
    question: &Question<'_>,
    asked_with: KnownMethod,
) -> Vec<Question<'m>> {
    let (About::Resource(resource), Doing::ReceiveResult(received)) =
        (&question.about, &question.doing)
    else {
        return Vec::new();
    };
    let others = facts_otherwise(&resource.uri, Kind::of(asked_with));
    let question = |facts| Question {
        asks: question.asks,
        about: About::Resource(facts),
        doing: Doing::ReceiveResult(received.clone()),
    };
    others.into_iter().map(question).collect()
}
