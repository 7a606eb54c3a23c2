//! In place of the exporter, where the cargo feature `otel` is off: a configuration that asks for traces
//! is refused.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use super::Settings;
use crate::audit::{AuditEventSummary, AuditFault, AuditObserver, Follower, Redactor};
use crate::clock::Clock;

/// Numbers of messages.
#[derive(Debug, Clone, Copy)]
pub struct ExportFigures {
    pub exported: u64,
    pub dropped: u64,
}

/// The exporter is not a part of this program.
#[derive(Debug, thiserror::Error)]
#[error("this program cannot send traces: it was built without the cargo feature `otel`")]
pub struct SetupError;

/// Has no values.
#[derive(Debug)]
pub enum Exporter {}

/// Has no values.
#[derive(Debug)]
pub enum Spans {}

/// Has no values.
#[derive(Debug)]
pub enum LogExporter {}

impl LogExporter {
    pub fn new(_settings: &Settings, _tls: ClientConfig) -> Result<Self, SetupError> {
        Err(SetupError)
    }
}

impl Follower for LogExporter {
    fn name(&self) -> Arc<str> {
        match *self {}
    }

    fn deliver(&mut self, _lines: &[u8]) -> std::io::Result<()> {
        match *self {}
    }
}

impl Exporter {
    pub fn start(
        _settings: &Settings,
        _tls: ClientConfig,
        _clock: Arc<dyn Clock>,
        _redactor: Redactor,
    ) -> Result<(Self, Arc<Spans>), SetupError> {
        Err(SetupError)
    }

    #[expect(clippy::unused_async, reason = "the signature of the exporter")]
    pub async fn close(self, _within: Duration) {
        match self {}
    }
}

impl Spans {
    pub fn figures(&self) -> ExportFigures {
        match *self {}
    }
}

impl AuditObserver for Spans {
    fn observe(&self, _sighting: &AuditEventSummary, _fault: Option<&AuditFault>) {
        match *self {}
    }
}
