//! All tests that start the program: one test program, so that it is linked once.
//!
//! A directory is a subject; `cargo test --test end_to_end service::` runs one of them.

#[cfg(test)]
mod agentdojo;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod flight_recorder;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod init;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod real_servers;
#[cfg(test)]
#[path = "../fixtures/servers/vendor/script.rs"]
mod script;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod service;
#[cfg(test)]
mod support;
#[cfg(test)]
mod test_policy;
#[cfg(test)]
mod transparency;
#[cfg(test)]
mod user_ci;
