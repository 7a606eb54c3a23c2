//! Traces and logs: what the configuration means to those who send them.

use std::sync::Arc;

use hyper::header::HeaderName;
use tracing::info;

use crate::audit::Redactor;
use crate::clock::Clock;
use crate::config::{Config, Listen, Parents, TelemetryLogs};
use crate::gate::{Others, Share, Tracing};
use crate::secret;
use crate::telemetry::{Exporter, LogExporter, Settings, SetupError, Spans, Transport};
use crate::upstream::http::{HttpClientError, client_tls};

/// Why traces cannot be sent as the configuration says.
#[derive(Debug, thiserror::Error)]
pub(super) enum TracesError {
    #[error("{0}")]
    Tls(#[from] HttpClientError),
    #[error("{0}")]
    Setup(#[from] SetupError),
    #[error("no path can be added to `otlp_endpoint`")]
    Endpoint,
    #[error("no header can hold the value of `{0}`")]
    Header(String),
}

/// Whether messages have a place in a trace.
pub(super) fn tracing(config: &Config) -> Tracing {
    match &config.telemetry.endpoint {
        Some(_) => {
            let others = match config.telemetry.parents {
                Parents::Believed => Others::AsTheySay,
                Parents::Sampled => Others::shared(),
            };
            Tracing::On(Share::of(config.telemetry.sample_ratio), others)
        }
        None => Tracing::Off,
    }
}

/// Starts to export, if the configuration says where to.
pub(super) fn start(
    config: &Config,
    clock: &Arc<dyn Clock>,
    secrets: &Redactor,
) -> Result<Option<(Exporter, Arc<Spans>)>, TracesError> {
    let Some(settings) = settings(config, "traces")? else {
        return Ok(None);
    };
    let tls = client_tls(&settings.url, config.telemetry.ca_file.as_deref())?;
    let started = Exporter::start(&settings, tls, Arc::clone(clock), secrets.clone())?;
    info!(
        "traces go to {}",
        settings.url.origin().ascii_serialization()
    );
    Ok(Some(started))
}

/// The follower that sends audit records there, if the configuration wants it.
pub(super) fn logs(config: &Config) -> Result<Option<LogExporter>, TracesError> {
    if config.telemetry.logs == TelemetryLogs::Off {
        return Ok(None);
    }
    let Some(settings) = settings(config, "logs")? else {
        return Ok(None);
    };
    let tls = client_tls(&settings.url, config.telemetry.ca_file.as_deref())?;
    Ok(Some(LogExporter::new(&settings, tls)?))
}

/// Where spans or logs go: the path has the word for them.
fn settings(config: &Config, signal: &str) -> Result<Option<Settings>, TracesError> {
    let telemetry = &config.telemetry;
    let Some(endpoint) = &telemetry.endpoint else {
        return Ok(None);
    };
    let mut url = endpoint.clone();
    url.path_segments_mut()
        .map_err(|()| TracesError::Endpoint)?
        .pop_if_empty()
        .extend(["v1", signal]);
    let header = |(name, value): (&String, &secrecy::SecretString)| {
        let refused = || TracesError::Header(name.clone());
        let value = secret::header("", value).ok_or_else(refused)?;
        let name = HeaderName::try_from(name).map_err(|_| refused())?;
        Ok::<_, TracesError>((name, value))
    };
    Ok(Some(Settings {
        url,
        headers: telemetry
            .headers
            .iter()
            .map(header)
            .collect::<Result<_, _>>()?,
        service: telemetry.service.clone(),
        transport: match config.listen {
            Listen::Stdio | Listen::Local => Transport::Stdio,
            Listen::Http(_) => Transport::Http,
        },
        timeout: telemetry.timeout,
    }))
}
