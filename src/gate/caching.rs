//! What a result says of who may keep it, and how long (MCP 2026-07-28, server/utilities/caching).
//!
//! `public` lets anybody hand a result on to anybody: whoever gets it that way was never asked about.
//! Whether the policies would show it to everybody cannot be known, since they change, and since a
//! cache has no agent that they could be asked about. So no result is public behind a gate, filtered
//! or not, which is also what keeps all pages of a list alike.

use crate::policy::{ListDependency, PolicySnapshot};
use crate::wire::{Fragment, KnownMethod, Value};

use super::classified::Role;
use super::context::RequestContext;
use super::edits::Rewrite;
use super::filter::{Filter, Flow, Hook};
use super::kept::KEPT_FOR_MS;
use super::page::Shape;
use super::query::Understood;

/// How long a list may be kept that policies filter by names alone, in milliseconds: an agent without
/// a session is not told when new policies show another one.
const LONGEST_LIST_MS: u32 = 60_000;

/// Makes results private, and lets caches keep them no longer than they hold.
#[derive(Debug)]
pub(super) struct CacheHints;

impl Filter for CacheHints {
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let rewrites = hints(&cx.understood, cx.snapshot, cx.plan.shortened_over);
        cx.plan.rewrites.extend(rewrites);
        Flow::DONE
    }
}

/// The hints are read in both eras: a client that knows them may heed them wherever they stand.
fn hints<'m>(
    understood: &Understood<'m>,
    snapshot: &PolicySnapshot,
    shortened_over: Option<usize>,
) -> Vec<Rewrite<'m>> {
    let Role::Reply(taken) = &understood.identified.role else {
        return Vec::new();
    };
    let method = taken.exchange.method;
    let result = understood.identified.message.result();
    let Some(result) = result.filter(|_| is_cacheable(method)) else {
        return Vec::new();
    };
    let (scope, ttl) = (result.get("cacheScope"), result.get("ttlMs"));
    let mut rewrites = Vec::new();
    if let Some(scope) = scope
        && scope.as_str().as_deref() != Some("private")
    {
        rewrites.push(Rewrite {
            value: scope,
            with: Fragment::string("private"),
            pointer: "/result/cacheScope",
            because: "the gate decides for each agent, so a shared cache must not keep the result",
        });
    }
    let is_cut = shortened_over.is_some_and(|most| result.text().len() > most);
    let longest = match scope {
        // Nobody says what a result without a scope is taken for.
        None => Some((0, "it does not say who may keep it")),
        // An excerpt says where the rest is.
        Some(_) if is_cut => Some((KEPT_FOR_MS, "what is left out is not kept for longer")),
        Some(_) => longest(method, lists_by(method, snapshot)),
    };
    if let (Some(ttl), Some((longest, because))) = (ttl, longest)
        && !is_at_most(ttl, longest)
    {
        rewrites.push(Rewrite {
            value: ttl,
            with: Fragment::unsigned(longest.into()),
            pointer: "/result/ttlMs",
            because,
        });
    }
    rewrites
}

/// What decides about a list. What is closed by what a session has read is not listed.
fn lists_by(method: KnownMethod, snapshot: &PolicySnapshot) -> ListDependency {
    let labels = snapshot.labels();
    let closes = labels.closed_from.is_some() && labels.raise_levels();
    let kind = Shape::got_by(method).map(|shape| shape.kind);
    let by = kind.map_or(ListDependency::Names, |kind| {
        snapshot.list_by(kind.shown_by())
    });
    if closes {
        by.max(ListDependency::Held)
    } else {
        by
    }
}

/// How long a result may be kept, where that is not the server's business alone: what is filtered
/// changes with what the policies look at. What was read has been read, however long it is kept.
fn longest(method: KnownMethod, by: ListDependency) -> Option<(u32, &'static str)> {
    Shape::got_by(method).is_some().then_some(match by {
        ListDependency::Names => (LONGEST_LIST_MS, "policies may change meanwhile"),
        ListDependency::Held => (0, "what it shows depends on what was read"),
        ListDependency::Session => (0, "what it shows depends on the session"),
        ListDependency::Moment => (0, "what it shows depends on the time"),
    })
}

/// Whether a hint is a time that is no longer than this. What is no number is none.
fn is_at_most(ttl: Value<'_>, longest: u32) -> bool {
    let number = ttl.as_number().and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| number <= f64::from(longest))
}

fn is_cacheable(method: KnownMethod) -> bool {
    let others = matches!(
        method,
        KnownMethod::Discover | KnownMethod::ResourcesRead | KnownMethod::Extension(_)
    );
    Shape::got_by(method).is_some() || others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    #[test]
    fn a_list_is_kept_no_longer_than_what_it_depends_on_lasts() {
        let check = |method, by, kept: Option<u32>| {
            assert_eq!(longest(method, by).map(|(longest, _)| longest), kept);
        };
        check(KnownMethod::ToolsList, ListDependency::Names, Some(60_000));
        check(KnownMethod::ToolsList, ListDependency::Held, Some(0));
        check(KnownMethod::PromptsList, ListDependency::Session, Some(0));
        check(KnownMethod::ResourcesList, ListDependency::Moment, Some(0));
        check(KnownMethod::ResourcesRead, ListDependency::Moment, None);
        check(KnownMethod::Discover, ListDependency::Moment, None);
    }

    #[test]
    fn a_time_is_a_number_whatever_its_spelling() {
        let check = |text: &str, is_short: bool| {
            let document = Document::decode(text.as_bytes(), &Limits::default());
            assert_eq!(
                is_at_most(document.unwrap().root(), 1000),
                is_short,
                "{text}"
            );
        };
        check("1000", true);
        check("1e3", true);
        check("999.9", true);
        check("-1", true);
        check("1001", false);
        check("1e400", false);
        check("\"1\"", false);
        check("null", false);
    }
}
