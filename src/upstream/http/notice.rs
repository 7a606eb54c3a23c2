//! A message that nobody answers: a notification, or a reply to the server.

use std::sync::Arc;

use hyper::StatusCode;
use tokio::time::timeout;

use crate::gate::{Carried, UserProof};
use crate::wire::Era;

use super::failure::{Failure, Loss};
use super::headers;
use super::life::Life;

/// Returns when the server has accepted the message, or will not. There is nobody to tell that it
/// did not, but that the session is lost.
pub(super) async fn send(
    life: Arc<Life>,
    carried: Carried,
    proof: Option<UserProof>,
    text: String,
) {
    let era = headers::era(&carried);
    let in_session = era == Era::Legacy && life.known().has_session();
    let patience = life.parts.settings.notice_timeout;
    let server = &life.parts.settings.name;
    let posted = life.post(&carried, None, proof.as_ref(), text);
    match timeout(patience, posted).await {
        Ok(Ok(response)) if response.status().is_success() => {}
        Ok(Ok(response)) if response.status() == StatusCode::NOT_FOUND && in_session => {
            life.end(Loss::SessionGone);
        }
        Ok(Ok(response)) => life.parts.refused(response.status()),
        Ok(Err(Failure::Unreachable(cause))) if era == Era::Legacy => {
            life.end(Loss::Unreachable(cause));
        }
        Ok(Err(failure)) => {
            let fault = failure.fault();
            tracing::warn!(%server, "a message to the server was not accepted: {fault}");
        }
        Err(_) => tracing::warn!(%server, "a message to the server was not accepted in time"),
    }
}
