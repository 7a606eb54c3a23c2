//! The trait by which a feature joins the path of a message.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::audit::Finding;
use crate::session::Admitted;
use crate::wire::Message;

use super::context::RequestContext;
use super::permit::Allowed;
use super::sent::Sent;
use super::stop::Stop;

/// A feature of the gate. It keeps state only in its own store.
///
/// A hook that returns an error stops the message: no later hook runs.
pub(super) trait Filter: fmt::Debug + Send + Sync {
    /// Runs before the contents of the message are read. The message has no questions yet.
    ///
    /// # Errors
    /// The message stops.
    fn on_classified(&self, _cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        Ok(())
    }

    /// Runs before policy is asked. Adds facts to the message, or rejects it.
    fn on_request<'f>(&'f self, _cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        Flow::DONE
    }

    /// Inspects the contents of a message that policy allows, and changes nothing: it is also asked what
    /// would be so if a person agreed.
    ///
    /// `sent` is the message as it will be sent, if that differs from how it came.
    ///
    /// # Errors
    /// The gate rejects the message.
    fn check(
        &self,
        _cx: &RequestContext<'_>,
        _sent: Option<&Message>,
    ) -> Result<Vec<Finding>, Stop> {
        Ok(Vec::new())
    }

    /// Runs when policy denies a message. [`Step::Rejudge`] asks policy again, about what the filter has
    /// changed.
    fn on_denied<'f>(
        &'f self,
        _cx: &'f mut RequestContext<'_>,
        _denied: &'f Stop,
        _chain: &'f Chain,
    ) -> Hook<'f, Step> {
        Flow::CONTINUE
    }

    /// Runs when policy allows a message and every check has passed. [`Step::Rejudge`] asks policy again,
    /// since the facts that it judged have changed.
    fn on_allowed<'f>(
        &'f self,
        _cx: &'f mut RequestContext<'_>,
        _allowed: &'f Allowed,
    ) -> Hook<'f, Step> {
        Flow::CONTINUE
    }

    /// Runs once policy has permitted the message for good. Adds edits and findings to the plan.
    fn on_permitted<'f>(&'f self, _cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        Flow::DONE
    }

    /// Runs on the message as it will be sent, before the decision is recorded.
    fn on_leaving<'f>(
        &'f self,
        _cx: &'f mut RequestContext<'_>,
        _leaving: &'f Leaving<'_>,
    ) -> Hook<'f> {
        Flow::DONE
    }

    /// Runs after the decision is recorded and before the message is sent. A filter saves state here that
    /// must not exist for a message that is not sent.
    fn on_sent(&self, _cx: &mut RequestContext<'_>, _placement: Placement) {}

    /// Runs when a message stops before it is sent, and gives back what a filter took for it.
    fn on_stopped(&self, _cx: &mut RequestContext<'_>, _stop: &Stop) {}
}

/// What a hook returns. An error stops the message.
pub(super) type Hook<'f, T = ()> = Result<Flow<'f, T>, Stop>;

/// How the path goes on after a hook.
pub(super) enum Flow<'f, T> {
    Now(T),
    /// The message waits first. Other messages go on meanwhile.
    Wait(Waiting<'f, T>),
}

type Waiting<'f, T> = Pin<Box<dyn Future<Output = Result<T, Stop>> + Send + 'f>>;

impl<'f> Flow<'f, ()> {
    pub(super) const DONE: Hook<'f> = Ok(Flow::Now(()));
}

impl<'f> Flow<'f, Step> {
    pub(super) const CONTINUE: Hook<'f, Step> = Ok(Flow::Now(Step::Continue));
}

impl<'f, T> Flow<'f, T> {
    #[expect(clippy::unnecessary_wraps, reason = "it is what a hook returns")]
    pub(super) fn wait(step: impl Future<Output = Result<T, Stop>> + Send + 'f) -> Hook<'f, T> {
        Ok(Self::Wait(Box::pin(step)))
    }
}

/// The next step of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Continue,
    /// Policy is asked again about the same message.
    Rejudge,
}

/// A message that is about to be recorded and sent.
#[derive(Debug)]
pub(super) struct Leaving<'c> {
    /// The message as the receiver will get it.
    pub(super) sent: Sent<'c>,
    /// The entry of the request that the message is, among those that wait for a reply.
    pub(super) opened: Option<Admitted>,
    /// It counts as one more call of its session.
    pub(super) counted: bool,
    /// Something was taken out of it, or says something else than it did.
    pub(super) is_edited: bool,
}

/// Whether the session still uses the server that a message is from or for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    Current,
    /// The session went on with another server while the message was recorded.
    Left,
}

/// All filters, in their order.
#[derive(Debug, Default)]
pub(super) struct Chain(Box<[Arc<dyn Filter>]>);

impl Chain {
    pub(super) fn new(filters: impl IntoIterator<Item = Arc<dyn Filter>>) -> Self {
        Self(filters.into_iter().collect())
    }

    /// Runs the filters on a message before its contents are read, in order.
    ///
    /// # Errors
    /// The first filter that stops the message.
    pub(super) fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        for filter in &self.0 {
            filter.on_classified(cx)?;
        }
        Ok(())
    }

    /// Runs the filters on a message before policy is asked about it, in order.
    ///
    /// # Errors
    /// The first filter that stops the message.
    pub(super) async fn on_request(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        for filter in &self.0 {
            if let Flow::Wait(step) = filter.on_request(cx)? {
                step.await?;
            }
        }
        Ok(())
    }

    /// The filters, in their order.
    pub(super) fn filters(&self) -> impl Iterator<Item = &dyn Filter> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Runs the filters on a denied message, in order, until one asks that it be judged again.
    ///
    /// # Errors
    /// Why the message stops: `denied`, unless a filter stops it for another reason.
    pub(super) async fn on_denied(
        &self,
        cx: &mut RequestContext<'_>,
        denied: Stop,
    ) -> Result<(), Stop> {
        for filter in &self.0 {
            let step = match filter.on_denied(cx, &denied, self)? {
                Flow::Now(step) => step,
                Flow::Wait(step) => step.await?,
            };
            if step == Step::Rejudge {
                return Ok(());
            }
        }
        Err(denied)
    }

    /// Runs the filters on an allowed message, in order, until one asks that it be judged again.
    ///
    /// # Errors
    /// The first filter that stops the message.
    pub(super) async fn on_allowed(
        &self,
        cx: &mut RequestContext<'_>,
        allowed: &Allowed,
    ) -> Result<Step, Stop> {
        for filter in &self.0 {
            let step = match filter.on_allowed(cx, allowed)? {
                Flow::Now(step) => step,
                Flow::Wait(step) => step.await?,
            };
            if step == Step::Rejudge {
                return Ok(step);
            }
        }
        Ok(Step::Continue)
    }

    /// Runs the filters on a permitted message, in order.
    ///
    /// # Errors
    /// The first filter that stops the message.
    pub(super) async fn on_permitted(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        for filter in &self.0 {
            if let Flow::Wait(step) = filter.on_permitted(cx)? {
                step.await?;
            }
        }
        Ok(())
    }

    /// Runs the filters on a message that is about to be recorded and sent, in order.
    ///
    /// # Errors
    /// The first filter that stops the message.
    pub(super) async fn on_leaving(
        &self,
        cx: &mut RequestContext<'_>,
        leaving: &Leaving<'_>,
    ) -> Result<(), Stop> {
        for filter in &self.0 {
            if let Flow::Wait(step) = filter.on_leaving(cx, leaving)? {
                step.await?;
            }
        }
        Ok(())
    }

    /// Runs the filters on a recorded message, in order.
    pub(super) fn on_sent(&self, cx: &mut RequestContext<'_>, placement: Placement) {
        for filter in &self.0 {
            filter.on_sent(cx, placement);
        }
    }

    /// Runs the filters on a message that stops before it is sent, in order.
    pub(super) fn on_stopped(&self, cx: &mut RequestContext<'_>, stop: &Stop) {
        for filter in &self.0 {
            filter.on_stopped(cx, stop);
        }
    }
}
