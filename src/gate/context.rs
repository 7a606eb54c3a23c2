//! One message while the gate judges it.

use std::sync::Arc;

use crate::policy::{PolicySnapshot, SessionSensitivity};
use crate::session::{Page, Session};
use crate::wire::Limits;

use super::edits::EditPlan;
use super::pin::Pins;
use super::query::{Circumstances, Understood};
use super::record::Trail;
use super::settings::Terms;

/// A message, what policy is asked about it, and what the filters have found out and planned so far.
#[derive(Debug)]
pub(super) struct RequestContext<'m> {
    pub(super) understood: Understood<'m>,
    pub(super) session: &'m Session,
    /// The policies that judge the message.
    pub(super) snapshot: &'m Arc<PolicySnapshot>,
    /// The settings in force with these policies.
    pub(super) terms: &'m Terms,
    pub(super) pins: Pins<'m>,
    pub(super) limits: &'m Limits,
    pub(super) now: Circumstances,
    /// The message as it came.
    pub(super) frame: &'m [u8],
    /// The items, if the message is the reply to a list of definitions.
    pub(super) page: Option<Arc<Page>>,
    pub(super) plan: EditPlan<'m>,
    /// What the receiver's session will have read once it has the message.
    pub(super) brings: SessionSensitivity,
    pub(super) trail: &'m mut Trail,
}
