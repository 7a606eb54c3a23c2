//! `[telemetry]`: where traces go.

use std::path::Path;
use std::time::Duration;

use url::Url;

use super::errors::ConfigReason;
use super::headers::{headers, secrets};
use super::network::{is_loopback, web_url};
use super::section::ConfigSection;
use super::settings::{Parents, PlainHttp, Telemetry, TelemetryLogs};

const TAKEN: [&str; 9] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Where collectors take gRPC by convention, and where they take HTTP.
const GRPC_PORT: u16 = 4317;

pub(super) fn telemetry(mut section: ConfigSection<'_, '_>, base: &Path) -> Telemetry {
    let default = Telemetry::default();
    let endpoint = endpoint(&mut section);
    let help = "as in `headers = { authorization = \"Bearer ${OTLP_TOKEN}\" }`";
    let headers = headers(section.section("headers"), help, refused_header);
    let service = service(&mut section);
    let plain_http = section
        .switch("allow_http", PlainHttp::Allowed, PlainHttp::LoopbackOnly)
        .unwrap_or(default.plain_http);
    let logs = section.switch("logs", TelemetryLogs::On, TelemetryLogs::Off);
    let telemetry = Telemetry {
        endpoint,
        logs: logs.unwrap_or(default.logs),
        secrets: secrets(&headers),
        headers,
        service: service.unwrap_or(default.service),
        sample_ratio: section
            .ratio("sample_ratio")
            .unwrap_or(default.sample_ratio),
        parents: section
            .switch("parent_based", Parents::Believed, Parents::Sampled)
            .unwrap_or(default.parents),
        timeout: section
            .duration("timeout", &TIMEOUT)
            .unwrap_or(default.timeout),
        ca_file: section.path("ca_file", base),
        plain_http,
    };
    if section.is_present() && !section.has("otlp_endpoint") {
        let help =
            "as in `otlp_endpoint = \"http://127.0.0.1:4318\"`: without it no traces are sent";
        section.require("otlp_endpoint", ConfigReason::Required, help);
    }
    who_may_read(&mut section, &telemetry);
    section.finish();
    telemetry
}

const TIMEOUT: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_mins(1);

fn endpoint(section: &mut ConfigSection<'_, '_>) -> Option<Url> {
    let text = section.secret_url("otlp_endpoint")?;
    let help = "where the collector takes OTLP over HTTP, as in `\"http://127.0.0.1:4318\"`; the \
                gate adds `/v1/traces`";
    let url = match web_url(&text) {
        Ok(url) => url,
        Err(reason) => {
            section.refuse("otlp_endpoint", reason, Some(help));
            return None;
        }
    };
    if url.query().is_some() {
        section.refuse(
            "otlp_endpoint",
            ConfigReason::Invalid("has a query"),
            Some(help),
        );
        return None;
    }
    if url.path().trim_end_matches('/').ends_with("/v1/traces") {
        let reason = ConfigReason::Invalid("ends in `/v1/traces`, which the gate adds");
        section.refuse("otlp_endpoint", reason, Some("remove the path"));
        return None;
    }
    if url.port() == Some(GRPC_PORT) {
        let reason = ConfigReason::Suspicious("names the port at which collectors take gRPC");
        let help = "the gate speaks OTLP over HTTP, which they take at 4318";
        section.refuse("otlp_endpoint", reason, Some(help));
    }
    Some(url)
}

/// What the gate says itself, or what decides how a request is read.
fn refused_header(name: &str) -> Option<&'static str> {
    let is_taken = TAKEN.contains(&name);
    is_taken.then_some("is a header that the gate writes itself")
}

fn service(section: &mut ConfigSection<'_, '_>) -> Option<String> {
    let name = section.string("service_name")?;
    if name.trim().is_empty() || name.len() > 128 || name.chars().any(char::is_control) {
        let reason = ConfigReason::Invalid("expected a name of 1 to 128 bytes");
        section.refuse("service_name", reason, None);
        return None;
    }
    Some(name)
}

/// Spans tell who calls what, and headers may be credentials.
fn who_may_read(section: &mut ConfigSection<'_, '_>, telemetry: &Telemetry) {
    let Some(endpoint) = &telemetry.endpoint else {
        return;
    };
    let is_plain = endpoint.scheme() == "http";
    let is_allowed = telemetry.plain_http == PlainHttp::Allowed;
    if is_allowed && (!is_plain || is_loopback(endpoint)) {
        let reason = ConfigReason::NoEffect("beside an `https` URL, or one of this machine");
        section.refuse("allow_http", reason, Some("remove it"));
    }
    if is_plain && telemetry.ca_file.is_some() {
        let reason = ConfigReason::NoEffect("without TLS");
        let help = "write `https` in `otlp_endpoint`, or remove it";
        section.refuse("ca_file", reason, Some(help));
    }
    if is_plain && !is_loopback(endpoint) {
        if !is_allowed {
            let reason = ConfigReason::Invalid("is not `https`");
            let help = "other machines on the network path could read what agents do: write `https`, or \
                        `allow_http = true` if you trust the path";
            section.refuse("otlp_endpoint", reason, Some(help));
        } else if !telemetry.headers.is_empty() {
            let reason =
                ConfigReason::Suspicious("there is no TLS, and the headers cross the network");
            section.refuse("otlp_endpoint", reason, Some("write `https`"));
        }
    }
}
