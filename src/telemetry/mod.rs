//! Traces for operators: one span for each message that is judged, sent to a collector as OTLP over
//! HTTP. And the records of the audit themselves, as logs ([`LogExporter`] follows it).
//!
//! Nothing here touches a message. What a span tells is made from the records of the audit
//! ([`Spans`] observes them), on a thread of its own, which also sends it. What that thread cannot
//! take or send is dropped and counted; no message waits for it.
//!
//! Where to start reading: `spans.rs` for what becomes a span, `words.rs` for what it says.

#[cfg(not(feature = "otel"))]
mod absent;
#[cfg(feature = "otel")]
mod collector;
#[cfg(feature = "otel")]
mod exporter;
#[cfg(feature = "otel")]
mod logs;
#[cfg(feature = "otel")]
mod otlp;
#[cfg(feature = "otel")]
mod queue;
#[cfg(feature = "otel")]
mod semconv;
mod settings;
#[cfg(feature = "otel")]
mod spans;

#[cfg(feature = "otel")]
#[cfg(test)]
mod tests;

#[cfg(not(feature = "otel"))]
pub use absent::{ExportFigures, Exporter, LogExporter, SetupError, Spans};
#[cfg(feature = "otel")]
pub use collector::SetupError;
#[cfg(feature = "otel")]
pub use exporter::Exporter;
#[cfg(feature = "otel")]
pub use logs::LogExporter;
#[cfg(feature = "otel")]
pub use queue::ExportFigures;
pub use settings::{Settings, Transport};
#[cfg(feature = "otel")]
pub use spans::Spans;
