//! A message as it will be sent, with what was changed in it.

use crate::audit::{self, Finding};
use crate::policy::SessionSensitivity;

use super::permit::Permit;
use super::saver::Saved;

/// A message as it will be sent, and what was changed in it for the audit.
#[derive(Debug)]
pub(super) struct Obliged {
    pub(super) permit: Permit,
    pub(super) edits: Vec<audit::Edit>,
    pub(super) obligations: Vec<String>,
    /// The credentials that the gate took out of the message.
    pub(super) redactions: Vec<String>,
    /// What was found in it and stays.
    pub(super) findings: Vec<Finding>,
    /// The files of its texts, which stay if it leaves.
    pub(super) saved: Saved,
    /// What the receiver's session will have read with it.
    pub(super) brings: SessionSensitivity,
}
