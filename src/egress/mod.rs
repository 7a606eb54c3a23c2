//! The egress proxy: the one way out of a server whose network is proxied (decision 34).
//!
//! The server runs in an empty network namespace. Its only listener there belongs to the gate, which
//! connects for it to listed hosts and ports, if policy permits that.

mod attempt;
mod connect;
mod destination;
mod forward;
mod idle_limited;
mod proxy;
mod refusal;
mod serve;
mod settings;
mod target;
mod variables;

pub use attempt::{Asks, Attempt, Attempts, Verdict};
pub use destination::{Destination, DestinationError, Destinations};
pub use proxy::Proxy;
pub use refusal::EgressRefusal;
pub use settings::Settings;
pub use variables::{PORT, sets, variables};
