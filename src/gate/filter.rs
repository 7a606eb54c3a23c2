//! The trait by which a feature joins the path of a message.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::audit::Finding;
use crate::policy::PolicySnapshot;
use crate::session::{Page, Session};
use crate::wire::Message;

use super::context::RequestContext;
use super::edits::EditPlan;
use super::oblige;
use super::permit::Allowed;
use super::query::{Circumstances, Understood};
use super::rejection::Rejection;
use super::settings::Terms;
use super::stop::Stop;

/// A feature of the gate. It keeps state only in its own store.
///
/// A hook that returns an error stops the message: no later hook runs.
pub(super) trait Filter: fmt::Debug + Send + Sync {
    /// Runs before policy is asked. Adds facts to the message, or rejects it.
    fn on_request<'f>(&'f self, _cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        Flow::CONTINUE
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
    ) -> Hook<'f> {
        Flow::CONTINUE
    }

    /// Runs when policy allows a message and every check has passed. [`Step::Rejudge`] asks policy again,
    /// since the facts that it judged have changed.
    fn on_allowed<'f>(
        &'f self,
        _cx: &'f mut RequestContext<'_>,
        _allowed: &'f Allowed,
    ) -> Hook<'f> {
        Flow::CONTINUE
    }

    /// Runs after policy has permitted the message. Adds edits and findings to the plan.
    ///
    /// # Errors
    /// The gate rejects the message, and no later filter runs.
    fn on_permitted<'c>(
        &self,
        _message: &Permitted<'c>,
        _plan: &mut EditPlan<'c>,
    ) -> Result<(), Rejection> {
        Ok(())
    }

    /// Runs after the decision is recorded and before the message is sent. A filter saves state here that
    /// must not exist for a message that is not sent.
    fn on_sent(&self, _message: &Leaving<'_>) {}
}

/// What a hook returns. An error stops the message.
pub(super) type Hook<'f> = Result<Flow<'f>, Stop>;

/// How the path goes on after a hook.
pub(super) enum Flow<'f> {
    Now(Step),
    /// The message waits first. Other messages go on meanwhile.
    Wait(Pin<Box<dyn Future<Output = Result<Step, Stop>> + Send + 'f>>),
}

impl<'f> Flow<'f> {
    pub(super) const CONTINUE: Hook<'f> = Ok(Flow::Now(Step::Continue));

    pub(super) fn wait(step: impl Future<Output = Result<Step, Stop>> + Send + 'f) -> Hook<'f> {
        Ok(Self::Wait(Box::pin(step)))
    }

    async fn step(self) -> Result<Step, Stop> {
        match self {
            Self::Now(step) => Ok(step),
            Self::Wait(step) => step.await,
        }
    }
}

/// The next step of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Continue,
    /// Policy is asked again about the same message.
    Rejudge,
}

/// A message that policy permits.
#[derive(Debug)]
pub(super) struct Permitted<'c> {
    pub(super) understood: &'c Understood<'c>,
    pub(super) snapshot: &'c Arc<PolicySnapshot>,
    pub(super) terms: &'c Terms,
    pub(super) session: &'c Session,
    pub(super) now: Circumstances,
    /// Time since the clock was made.
    pub(super) at: Duration,
    /// The items, if the message is the reply to a list of definitions.
    pub(super) page: Option<&'c Page>,
}

/// A message that is recorded and about to be sent.
#[derive(Debug)]
pub(super) struct Leaving<'c> {
    pub(super) understood: &'c Understood<'c>,
    pub(super) session: &'c Session,
    pub(super) snapshot: &'c Arc<PolicySnapshot>,
    pub(super) terms: &'c Terms,
    /// Time since the clock was made.
    pub(super) at: Duration,
    pub(super) page: Option<&'c Page>,
    pub(super) placement: Placement,
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

    /// Runs the filters on a message before policy is asked about it, in order.
    ///
    /// # Errors
    /// The first filter that stops the message.
    pub(super) async fn on_request(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        for filter in &self.0 {
            filter.on_request(cx)?.step().await?;
        }
        Ok(())
    }

    /// The findings of all filters in a message that policy allows.
    ///
    /// # Errors
    /// The first filter that rejects the message, as it came or as it will be sent.
    pub(super) fn check(
        &self,
        cx: &RequestContext<'_>,
        allowed: &Allowed,
    ) -> Result<Vec<Finding>, Stop> {
        let message = cx.understood.identified.message;
        let sent = oblige::respelled(message, &allowed.respelled, cx.limits)?;
        let mut findings = Vec::new();
        for filter in &self.0 {
            findings.extend(filter.check(cx, sent.as_ref())?);
        }
        Ok(findings)
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
            let step = filter.on_denied(cx, &denied, self)?.step().await?;
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
            let step = filter.on_allowed(cx, allowed)?.step().await?;
            if step == Step::Rejudge {
                return Ok(step);
            }
        }
        Ok(Step::Continue)
    }

    /// Runs the filters on a permitted message, in order.
    ///
    /// # Errors
    /// The first filter that rejects the message.
    pub(super) fn on_permitted<'c>(
        &self,
        message: &Permitted<'c>,
        plan: &mut EditPlan<'c>,
    ) -> Result<(), Rejection> {
        for filter in &self.0 {
            filter.on_permitted(message, plan)?;
        }
        Ok(())
    }

    /// Runs the filters on a message that is about to be sent, in order.
    pub(super) fn on_sent(&self, message: &Leaving<'_>) {
        for filter in &self.0 {
            filter.on_sent(message);
        }
    }
}
