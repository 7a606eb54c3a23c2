//! The trait by which a feature joins the path of a message.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::PolicySnapshot;
use crate::session::{Page, Session};

use super::edits::EditPlan;
use super::query::{Circumstances, Understood};
use super::rejection::Rejection;
use super::settings::Terms;

/// A feature of the gate. It keeps state only in its own store.
pub(super) trait Filter: fmt::Debug + Send + Sync {
    /// Runs after policy has permitted the message. Adds edits and findings to the plan.
    ///
    /// # Errors
    /// The gate rejects the message, and no later filter runs.
    fn on_permitted<'c>(
        &self,
        _message: &Permitted<'c>,
        _plan: &mut EditPlan<'c>,
    ) -> Result<(), Rejection> {
        Ok(())
    }

    /// Runs after the decision is recorded and before the message is sent. A filter saves state here that
    /// must not exist for a message that is not sent.
    fn on_sent(&self, _message: &Leaving<'_>) {}
}

/// A message that policy permits.
#[derive(Debug)]
pub(super) struct Permitted<'c> {
    pub(super) understood: &'c Understood<'c>,
    pub(super) snapshot: &'c Arc<PolicySnapshot>,
    pub(super) terms: &'c Terms,
    pub(super) session: &'c Session,
    pub(super) now: Circumstances,
    /// Time since the clock was made.
    pub(super) at: Duration,
    /// The items, if the message is the reply to a list of definitions.
    pub(super) page: Option<&'c Page>,
}

/// A message that is recorded and about to be sent.
#[derive(Debug)]
pub(super) struct Leaving<'c> {
    pub(super) understood: &'c Understood<'c>,
    pub(super) session: &'c Session,
    pub(super) snapshot: &'c Arc<PolicySnapshot>,
    pub(super) terms: &'c Terms,
    /// Time since the clock was made.
    pub(super) at: Duration,
    pub(super) page: Option<&'c Page>,
    pub(super) placement: Placement,
}

/// Whether the session still uses the server that a message is from or for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    Current,
    /// The session went on with another server while the message was recorded.
    Left,
}

/// All filters, in their order.
#[derive(Debug)]
pub(super) struct Chain(Box<[Arc<dyn Filter>]>);

impl Chain {
    pub(super) fn new(filters: impl IntoIterator<Item = Arc<dyn Filter>>) -> Self {
        Self(filters.into_iter().collect())
    }

    /// Runs the filters on a permitted message, in order.
    ///
    /// # Errors
    /// The first filter that rejects the message.
    pub(super) fn on_permitted<'c>(
        &self,
        message: &Permitted<'c>,
        plan: &mut EditPlan<'c>,
    ) -> Result<(), Rejection> {
        for filter in &self.0 {
            filter.on_permitted(message, plan)?;
        }
        Ok(())
    }

    /// Runs the filters on a message that is about to be sent, in order.
    pub(super) fn on_sent(&self, message: &Leaving<'_>) {
        for filter in &self.0 {
            filter.on_sent(message);
        }
    }
}
