//! Traces for operators: one span for each message that is judged, sent to a collector as OTLP over
//! HTTP.
//!
//! Nothing here touches a message. What a span tells is made from the records of the audit
//! ([`Spans`] observes them), on a thread of its own, which also sends it. What that thread cannot
//! take or send is dropped and counted; no message waits for it.
//!
//! Where to start reading: `spans.rs` for what becomes a span, `words.rs` for what it says.

mod collector;
mod exporter;
mod queue;
mod settings;
mod spans;
mod words;

#[cfg(test)]
mod tests;

pub use collector::SetupError;
pub use exporter::Exporter;
pub use queue::Figures;
pub use settings::{Settings, Transport};
pub use spans::Spans;
