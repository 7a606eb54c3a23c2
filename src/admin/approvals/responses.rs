//! What people and programs get.

use bytes::Bytes;
use http_body_util::Full;
use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use serde::Serialize;

use super::page::{self, Notice};

pub(super) type Response = hyper::Response<Full<Bytes>>;

/// To a page, by GET: a reload answers no question twice.
pub(super) fn to(place: &str, notice: Option<Notice>) -> Response {
    let place = notice.map_or_else(
        || place.to_owned(),
        |notice| format!("{place}?done={}", notice.word()),
    );
    let mut response = html(StatusCode::SEE_OTHER, String::new());
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}

pub(super) fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}

pub(super) fn html(status: StatusCode, text: String) -> Response {
    let mut response = respond(status, "text/html; charset=utf-8", text);
    if let Ok(policy) = HeaderValue::from_str(&page::POLICY) {
        response
            .headers_mut()
            .insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

pub(super) fn json(document: &impl Serialize) -> Response {
    // INVARIANT: the documents are structs of strings and numbers, which serde_json always writes.
    let text = serde_json::to_string(document).unwrap_or_default();
    respond(StatusCode::OK, "application/json", text)
}

fn respond(status: StatusCode, media_type: &'static str, text: String) -> Response {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let fixed: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer`, browsers say of a form of ours that its origin is `null`.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}
