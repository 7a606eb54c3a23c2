//! Private data sets that servers name in their results.
//!
//! A server tells more exactly than labels what a result has in it. Where the configuration trusts it to, its
//! word adds a name and may raise the level, never lower it. The word of any other server is taken out of its
//! results, so that no agent takes it for the gate's.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::policy::{
    DATASET_NAMES, LEVELS, MOST_DATASETS, SessionSensitivity, UNKNOWN_DATASET, is_dataset,
};
use crate::session::Session;
use crate::wire::{Message, Side, Value};

use super::context::RequestContext;
use super::edits::Removal;
use super::excerpts::answers;
use super::filter::{Filter, Flow, Hook};
use super::ratchet::Ratchet;
use super::rejection::{INTERNAL, Rejection};
use super::sensitivity::raise_received;
use super::settings::ServerDatasets;
use super::stage::Stage;

/// The member of a result's `_meta`.
const KEY: &str = "mcp-protector/private_dataset";

/// The same in a JSON pointer.
const ESCAPED: &str = "mcp-protector~1private_dataset";

/// Adds the data sets that a trusted server names, and takes out what others say of them.
#[derive(Debug)]
pub(super) struct NamedDatasets(pub(super) Arc<Ratchet>);

impl Filter for NamedDatasets {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        if cx.understood.identified.from == Side::Agent {
            return Flow::DONE;
        }
        let message = cx.understood.identified.message;
        match cx.terms.server_datasets {
            ServerDatasets::Ignored => {
                let removals = said(message).map(|(place, item)| Removal {
                    item,
                    pointer: format!("{place}/_meta/{ESCAPED}"),
                    because: "the server is not trusted to name data sets".to_owned(),
                });
                cx.plan.removals.extend(removals);
                Flow::DONE
            }
            ServerDatasets::Trusted => {
                let mut named = SessionSensitivity::default();
                for (place, value) in said(message) {
                    named = named.join(&read(place, value)?);
                }
                if named.datasets.is_empty() {
                    return Flow::DONE;
                }
                raise_received(&mut cx.understood, &named);
                cx.brings = std::mem::take(&mut cx.brings).join(&named);
                let session = cx.session;
                Flow::wait(async move { Ok(self.bound(session, &named.datasets).await?) })
            }
        }
    }
}

impl NamedDatasets {
    /// # Errors
    /// [`Rejection`] where the session would have more names than servers may add to. A policy cannot forbid
    /// a name that is not listed.
    async fn bound(&self, session: &Session, named: &BTreeSet<String>) -> Result<(), Rejection> {
        let (kept, fault) = self.0.kept(session).await;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        let held = &kept.held.datasets;
        let is_known = |name: &&String| name.as_str() != UNKNOWN_DATASET;
        let count = held.union(named).filter(is_known).count();
        if held.is_superset(named) || count <= MOST_DATASETS {
            return Ok(());
        }
        let text = format!(
            "the server names a further data set, and its session has read {MOST_DATASETS} already"
        );
        Err(Rejection::new(
            Stage::Inspect,
            "too_many_datasets",
            INTERNAL,
            text,
        ))
    }
}

/// What a message says of data sets: in its result, and in that of a task.
fn said(message: &Message) -> impl Iterator<Item = (&'static str, Value<'_>)> {
    answers(message).filter_map(|(place, answer)| Some((place, answer.get("_meta")?.get(KEY)?)))
}

/// # Errors
/// [`Rejection`] where it is not exactly a name and a level: what it would have raised is unknown.
fn read(place: &str, value: Value<'_>) -> Result<SessionSensitivity, Rejection> {
    let wrong = |problem: &str| {
        let text = format!("`{place}/_meta/{ESCAPED}` of the server's result {problem}");
        Rejection::new(Stage::Inspect, "dataset_invalid", INTERNAL, text)
    };
    let text = |member: &str| value.get(member).and_then(Value::as_str);
    let is_known = |member: &str| matches!(member, "name" | "sensitivity");
    if !value.is_object() || value.entries().any(|(member, _)| !is_known(&member)) {
        return Err(wrong("is no object of `name` and `sensitivity` alone"));
    }
    let name = text("name").filter(|name| is_dataset(name));
    let name = name.ok_or_else(|| wrong(&format!("has no `name` of {DATASET_NAMES}")))?;
    let word = text("sensitivity");
    let level = LEVELS.into_iter().find(|(level, _)| {
        let word = word.as_deref();
        word.is_some_and(|word| word.eq_ignore_ascii_case(level))
    });
    let (_, level) = level.ok_or_else(|| {
        wrong("has no `sensitivity` of `public`, `internal`, `confidential` or `secret`")
    })?;
    Ok(SessionSensitivity {
        level,
        datasets: [name.into_owned()].into(),
        ..SessionSensitivity::default()
    })
}
