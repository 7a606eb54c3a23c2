//! Whether tools and prompts are as they were approved, as facts for policies.

use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::pin::pin;

/// Adds to the facts of tools and prompts whether they are as they were approved.
#[derive(Debug)]
pub(super) struct PinFacts;

impl Filter for PinFacts {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        pin(&mut cx.understood, cx.snapshot, cx.pins)?;
        Flow::DONE
    }
}
