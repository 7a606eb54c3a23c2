//! Agents of the gate's own user, over a Unix socket in a private directory. `attach` stands between such
//! an agent's standard streams and the socket.
//!
//! Its first line says which server it is for ([`Hello`]), and the gate's answer ends what is not the
//! protocol's.

mod hello;
mod listener;
mod place;

pub use hello::{Answer, Hello, MAX_LINE_BYTES, answer, greeting};
pub use listener::{Listener, Stranger};
pub use place::{Place, PlaceError, PlaceLock};
