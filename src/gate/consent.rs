//! Requests that a person has to agree to.
//!
//! A denial that consent alone would lift is no refusal yet, where people are asked: the request
//! waits, as it came, and is judged again from its first byte when there is an answer. A yes is a
//! fact then (`context.env.consent`), for this request alone; whether that is enough is for policies
//! to say. An agent without a session does not wait: it is asked, and brings the answer when it
//! repeats its request.

mod along;
mod answers;
mod ask;
mod bound;
mod brought;
mod forms;
mod in_result;
mod kept;
mod kept_reply;
mod lapse;
mod lift;
mod roots;
mod standing;
mod vain;
mod why;
mod within;

pub use along::Along;
pub(super) use brought::{Brought, KEY};
pub(super) use kept_reply::KeptReply;
pub(super) use lift::{ConsentFilter, at_the_gate};
pub(super) use roots::note_roots;
