//! The place of a message in a trace, where somebody collects traces.
//!
//! Ids are made when a message comes, because the other side may be told them when it leaves; what
//! a trace tells of the message is made from its records.

use crate::audit::{TargetStatus, TraceFields};
use crate::wire::{KnownMethod, OutgoingTrace, Sampled, TraceState, Value};

use super::look::shows;
use super::record::Trail;
use super::sampling::Tracing;
use super::settings::Settings;

impl Trail {
    /// The message asks for something, or tells it.
    pub(super) fn take_place(&mut self, settings: &Settings, meta: Option<Value<'_>>) {
        if settings.tracing == Tracing::Off {
            return;
        }
        let said = self.said_trace();
        self.ids.span = settings.tracing.begin(said, self.carried.trace);
        // It belongs to the parent that it came with.
        let state = if said.is_some() {
            let state = meta.and_then(|meta| meta.get("tracestate"));
            let state = state.and_then(Value::as_str);
            state.and_then(|state| TraceState::parse([&*state]))
        } else {
            self.carried.headers.state.clone()
        };
        self.carried.trace_state = state.filter(|state| !shows(state.as_str(), &settings.secrets));
    }

    /// What the other side is told of the trace.
    pub(super) fn onward(&self) -> Option<OutgoingTrace> {
        let span = self.ids.span.as_ref()?;
        Some(OutgoingTrace {
            context: span.onward(),
            state: self.carried.trace_state.clone(),
        })
    }

    /// What is told of it besides the record, if the trace is kept.
    pub(super) fn traced(
        &self,
        method: Option<&str>,
        named: TargetStatus,
    ) -> Option<Box<TraceFields>> {
        let span = self
            .ids
            .span
            .filter(|span| span.own.sampled == Sampled::Yes)?;
        Some(Box::new(TraceFields {
            span,
            method: self
                .envelope
                .method
                .or_else(|| KnownMethod::from_name(method?)),
            version: self.carried.version.as_ref().map(Into::into),
            named,
        }))
    }
}
