//! A gate with both its peers in this process.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_protector::audit::Redactor;
use mcp_protector::gate::{
    Agent, AgentGone, DenialForm, Gate, Guards, Level, OwnDirectories, Permit, Rates, Settings,
    Talk, Terms, Upstream, UpstreamFault,
};
use mcp_protector::policy::Server;
use mcp_protector::session::{Session, SessionId};
use mcp_protector::wire::{Limits, Side, Stream};

/// As without a word in the configuration.
pub(crate) fn settings(rates: Rates) -> Settings {
    Settings {
        own_directories: OwnDirectories::Stated,
        user_identities: std::sync::Arc::default(),
        from_agent: Limits::default(),
        from_upstream: Limits::default(),
        terms: Terms {
            progress_extends: None,
            request_timeout: Duration::from_mins(1),
            tool_timeouts: HashMap::new(),
            max_in_flight: 8,
            rates,
            denial: DenialForm::Error,
            guards: Guards {
                arguments: Level::Warn,
                results: Level::Off,
                ..Guards::default()
            },
            server_datasets: mcp_protector::gate::ServerDatasets::default(),
            asked_again: mcp_protector::gate::QuestionsAgain::default(),
            evidence: mcp_protector::gate::Evidence::Off,
        },
        secrets: Redactor::default(),
        arguments: mcp_protector::gate::RecordedArguments::Digest(
            mcp_protector::audit::DigestKey::of_bytes(b"a key of benchmarks"),
        ),
        results: mcp_protector::gate::RecordedResults::Nothing,
        tracing: mcp_protector::gate::Tracing::Off,
        thresholds: mcp_protector::session::Thresholds::default(),
        warm: mcp_protector::session::PerInstance::default(),
        unconfined: mcp_protector::gate::Unconfined::default(),
        eras: mcp_protector::gate::Eras::Unasked,
        over_http: mcp_protector::session::OverHttp::default(),
        extensions: mcp_protector::wire::Extensions::default(),
    }
}

/// A session that has done its handshake and knows the tool `write_file`.
pub(crate) async fn ready(gate: &Gate) -> Talk<End, End> {
    ready_with(gate, r#"{"name":"write_file","inputSchema":{}}"#).await
}

/// The same with the definitions of other tools.
pub(crate) async fn ready_with(gate: &Gate, tools: &str) -> Talk<End, End> {
    let server = Server {
        name: "files".to_owned(),
        ..Server::default()
    };
    let session = Session::new(SessionId::from_random(1), "stdio", server, 0);
    let talk = Talk::new(session, End::default(), End::default());
    let listed = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{tools}]}}}}"#);
    let handshake = HANDSHAKE.into_iter().chain([(Side::Upstream, &*listed)]);
    for (from, frame) in handshake {
        gate.handle(&talk, from, Stream::MAIN, frame.as_bytes())
            .await
            .expect("an agent");
    }
    talk.upstream.take();
    talk.agent.take();
    talk
}

const HANDSHAKE: [(Side, &str); 4] = [
    (
        Side::Agent,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},"clientInfo":{"name":"bench","version":"1"}}}"#,
    ),
    (
        Side::Upstream,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    ),
    (
        Side::Agent,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ),
    (
        Side::Agent,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    ),
];

/// Keeps the last message that it got.
#[derive(Debug, Default)]
pub(crate) struct End(Mutex<String>);

impl End {
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().expect("a lock"))
    }
}

impl Upstream for End {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        *self.0.lock().expect("a lock") = permit.into_line();
        Ok(())
    }
}

impl Agent for End {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        *self.0.lock().expect("a lock") = permit.into_line();
        Ok(())
    }
}
