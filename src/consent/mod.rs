//! Asking a person, and what their answer is good for.
//!
//! What needs consent becomes a ticket on the [`Desk`], with a question that says exactly what would
//! happen. The first answer counts, whichever way it comes: a form that the agent's own client
//! shows, the page for operators, the command line. Silence is a no. A yes is a [`Receipt`], which is
//! spent once, for the very request that was asked about.
//!
//! Nothing here decides: a spent receipt is a fact, `context.env.consent`, under which policies judge
//! the request again.

mod binding;
mod desk;
mod fence;
#[cfg(test)]
mod oracle;
mod outcome;
mod question;
mod seal;
mod settings;
mod show;
mod ticket;
mod waiting;

#[cfg(test)]
mod tests;

pub use binding::{Binding, Misfit, Receipt};
pub use desk::{Desk, NotAsked, Pending, Request};
pub use fence::{block, quoted};
pub use outcome::{Answer, AnswerError, Judged, Outcome, Void};
pub use question::{Found, Holds, Question};
pub use settings::{By, Settings, Via, Way};
pub use show::{pretty, shown};
pub use ticket::TicketId;
