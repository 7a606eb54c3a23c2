//! The listener over real sockets, with a gate that a test plays by hand.

mod agent;
mod rig;

mod bodies;
mod chunked;
mod crossing;
mod door;
mod expiry;
mod framing;
mod replies;
mod room;
mod sessions;
mod stateless;
mod stopping;
mod tls;
