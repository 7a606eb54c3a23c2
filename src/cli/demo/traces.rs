//! What a request of the agent leaves behind.

use hyper::StatusCode;

use super::failure::DemoFailure;
use super::logs::{JsonLine, Received};

/// The traces of one request.
pub(super) struct RequestTraces {
    pub(super) answer: JsonLine,
    /// Over HTTP.
    pub(super) response: Option<StatusCode>,
    /// The questions of the gate to a person.
    pub(super) questions: Vec<String>,
    /// The lines that the agent sent.
    pub(super) sent: Vec<String>,
    /// The lines that the servers received.
    pub(super) received: Vec<Received>,
    /// The lines that reached the network.
    pub(super) network: Vec<String>,
    pub(super) records: Vec<JsonLine>,
    /// The revision of the policies that the demo shows.
    pub(super) revision: String,
}

impl RequestTraces {
    /// The first record of a kind; an empty one if there is none.
    pub(super) fn record(&self, kind: &str) -> Result<JsonLine, DemoFailure> {
        let mut of_kind = self.records.iter().filter(|it| it.text("/kind") == kind);
        of_kind
            .next()
            .cloned()
            .map_or_else(|| JsonLine::read("{}"), Ok)
    }

    /// The status of the response, over HTTP.
    pub(super) fn status(&self) -> String {
        let status = self.response.map(|it| format!("HTTP {it}"));
        status.unwrap_or_default()
    }

    /// Whether the servers received exactly the lines that the agent sent.
    pub(super) fn arrived_as_sent(&self) -> bool {
        self.sent.iter().eq(self.received.iter().map(|it| &it.line))
    }

    /// The parameters of each message that a server received; its id is the gate's own.
    pub(super) fn received_params(&self) -> Result<Vec<String>, DemoFailure> {
        let received = self.received.iter();
        received
            .map(|it| Ok(JsonLine::read(&it.line)?.json("/params").to_owned()))
            .collect()
    }

    /// The server of each call that one received.
    pub(super) fn called(&self) -> Vec<String> {
        let calls = self.received.iter();
        let calls = calls.filter(|it| it.line.contains(r#""method":"tools/call""#));
        calls.map(|it| it.label.to_owned()).collect()
    }

    /// The text at a pointer in the first record of a kind.
    pub(super) fn recorded(&self, kind: &str, pointer: &str) -> Result<Vec<String>, DemoFailure> {
        Ok(vec![self.record(kind)?.text(pointer)])
    }

    /// The texts of the result.
    pub(super) fn content(&self) -> Vec<String> {
        self.answer.texts("/result/content", "/text")
    }

    /// The parts of an error that say why.
    pub(super) fn error(&self) -> Vec<String> {
        let parts = ["/error/code", "/error/data/code", "/error/data/advice"];
        parts.map(|part| self.answer.text(part)).to_vec()
    }

    /// Kind and decision of each record, in the order of the log.
    pub(super) fn decisions(&self) -> Vec<String> {
        let records = self.records.iter();
        let decisions = records.map(|it| format!("{} {}", it.text("/kind"), it.text("/decision")));
        decisions.map(|it| it.trim_end().to_owned()).collect()
    }
}
