//! Tests of the component through its front door.

mod attacks;
mod documents;
mod edits;
mod envelopes;
mod generate;
mod grammar;
mod laws;
mod line_writer;
mod methods;
mod mirrors;
mod oracle;
mod params;
mod seeds;
mod sse;
