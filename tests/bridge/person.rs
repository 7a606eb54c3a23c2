//! A client of the official library with somebody before it.

#![expect(
    deprecated,
    reason = "sampling is deprecated in the newest revision, but clients use it"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, Implementation, ProtocolVersion,
    SamplingMessage,
};
use rmcp::service::{RequestContext, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData};
use serde_json::json;

use crate::support::kit::speaks_to;

/// Answers every form in the same way, and remembers what it said.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) says: Says,
    pub(crate) read: Arc<Mutex<Vec<String>>>,
    /// How often its model has answered.
    pub(crate) lent: Arc<AtomicU64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Yes,
    No,
    /// Looks away.
    Nothing,
}

/// How the client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// With a session.
    Initialize,
    /// Without one.
    Discover,
}

pub(crate) type Client = RunningService<RoleClient, Person>;

impl Person {
    pub(crate) fn who_says(says: Says) -> Self {
        Self {
            says,
            read: Arc::default(),
            lent: Arc::default(),
        }
    }

    /// Starts the gate and speaks to it over its standard streams.
    pub(crate) async fn starts(self, gate: std::process::Command, begins: Begins) -> Client {
        self.serve_with_lifecycle(speaks_to(gate), begins.mode())
            .await
            .unwrap()
    }

    /// Speaks to a gate that serves.
    pub(crate) async fn reaches(self, url: &str, begins: Begins) -> Client {
        // The kit's HTTP client wants one, although nothing here is encrypted.
        drop(rustls::crypto::ring::default_provider().install_default());
        let transport = StreamableHttpClientTransport::from_uri(url);
        self.serve_with_lifecycle(transport, begins.mode())
            .await
            .unwrap()
    }
}

impl Begins {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Discover => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder()
            .enable_elicitation()
            .enable_sampling()
            .build();
        let mut config = ClientConfig::new(capabilities, Implementation::new("person", "1"));
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.lent.fetch_add(1, Ordering::Relaxed);
        let message = SamplingMessage::assistant_text("Reykjavik");
        Ok(CreateMessageResult::new(message, "model".to_owned()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        };
        self.read.lock().unwrap().push(message);
        Ok(match self.says {
            Says::Yes => ElicitResult::new(ElicitationAction::Accept)
                .with_content(json!({ "approve": true })),
            Says::No => ElicitResult::new(ElicitationAction::Decline),
            Says::Nothing => std::future::pending().await,
        })
    }
}
