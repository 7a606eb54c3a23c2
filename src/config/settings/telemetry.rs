//! What a configuration says of traces.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use super::PlainHttp;

/// Where traces go.
#[derive(Clone)]
pub struct Telemetry {
    /// The collector, without `/v1/traces`; no traces without it. Its path may be a secret of the
    /// operator's.
    pub endpoint: Option<Url>,
    /// Whether audit records are sent there too.
    pub logs: TelemetryLogs,
    /// Sent with each request, by their names in lower case.
    pub headers: BTreeMap<String, SecretString>,
    /// The words of those values that are long enough to be told from ordinary text: what is shown
    /// to a collector is behind a `Bearer ` as a rule.
    pub secrets: Vec<SecretString>,
    /// `service.name` of all spans.
    pub service: String,
    /// The share of traces which is kept; 0 to 1.
    pub sample_ratio: f64,
    /// What becomes of traces that an agent wants kept.
    pub parents: Parents,
    /// How long one request to the collector may take.
    pub timeout: Duration,
    /// A PEM file of authorities that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    pub plain_http: PlainHttp,
}

/// Whether a collector gets audit records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TelemetryLogs {
    On,
    Off,
}

/// Whether those who began a trace decide that it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    Believed,
    /// A share of theirs is kept too.
    Sampled,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            endpoint: None,
            logs: TelemetryLogs::Off,
            headers: BTreeMap::new(),
            secrets: Vec::new(),
            service: "mcp-protector".to_owned(),
            sample_ratio: 1.0,
            parents: Parents::Sampled,
            timeout: Duration::from_secs(10),
            ca_file: None,
            plain_http: PlainHttp::LoopbackOnly,
        }
    }
}

/// Shows where the collector is, but not its path.
impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoint = self.endpoint.as_ref();
        f.debug_struct("Telemetry")
            .field(
                "origin",
                &endpoint.map(|url| url.origin().ascii_serialization()),
            )
            .field("logs", &self.logs)
            .field("headers", &self.headers)
            .field("secrets", &self.secrets.len())
            .field("service", &self.service)
            .field("sample_ratio", &self.sample_ratio)
            .field("parents", &self.parents)
            .field("timeout", &self.timeout)
            .field("ca_file", &self.ca_file)
            .field("plain_http", &self.plain_http)
            .finish()
    }
}
