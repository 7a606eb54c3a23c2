//! What web pages of allowed origins may see (the Fetch standard's CORS protocol).

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use super::respond::{self, Response};

/// What pages may send, besides `Mcp-Param-*`.
const SENT: [&str; 8] = [
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// The answer to the question that browsers ask before a page may send anything but plain text.
pub(super) fn preflight(headers: &HeaderMap) -> Response {
    let asked = headers.get("access-control-request-headers");
    let asked = asked.and_then(|names| names.to_str().ok());
    let names: Vec<String> = asked
        .unwrap_or_default()
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| SENT.contains(&&**name) || name.starts_with("mcp-param-"))
        .collect();
    let mut response = respond::empty(204);
    let into = response.headers_mut();
    put(into, "access-control-allow-methods", "POST, GET, DELETE");
    put(into, "access-control-allow-headers", &names.join(", "));
    put(into, "access-control-max-age", "600");
    response
}

/// Lets pages of an origin that came through the door read a response.
pub(super) fn share(response: &mut Response, origin: &HeaderValue) {
    let headers = response.headers_mut();
    let name = HeaderName::from_static("access-control-allow-origin");
    headers.insert(name, origin.clone());
    put(headers, "vary", "Origin");
    let seen = "Mcp-Session-Id, WWW-Authenticate";
    put(headers, "access-control-expose-headers", seen);
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
