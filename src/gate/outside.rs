//! Why a call is denied: because of where a path of its lies.

use std::fmt;

use crate::policy::{Denial, DenialCause, PolicySnapshot};
use crate::wire::Fragment;

use super::canonical::ARGUMENTS;
use super::classified::Scene;
use super::query::{About, Circumstances, Doing, Question, Understood};
use super::rejection::{DENIED_BY_POLICY, OUTSIDE, Rejection};

/// A path that lies in no root, where one in some root would have been permitted.
#[derive(Debug)]
pub(super) struct Outside {
    /// It says that it lies in one, and leads out of it.
    by_link: bool,
    /// By its pointer among the arguments (RFC 6901); none if the call names no path.
    argument: Option<String>,
}

impl Outside {
    /// What of a question that was denied is the cause.
    pub(super) fn of(
        understood: &Understood<'_>,
        question: &Question<'_>,
        denial: &Denial,
        snapshot: &PolicySnapshot,
        scene: &Scene,
        now: Circumstances,
    ) -> Option<Self> {
        let (About::Tool(tool), Doing::CallTool(arguments, targets)) =
            (&question.about, &question.doing)
        else {
            return None;
        };
        let is_fault = matches!(denial.cause, DenialCause::Fault(_));
        if is_fault || !snapshot.permits_inside(&question.facts(scene, now)) {
            return None;
        }
        let is_outside = |question: &Question<'_>| {
            let touched = snapshot.touched(&question.facts(scene, now));
            touched.is_some_and(|targets| targets.outside)
        };
        let by_link = targets.astray || !understood.questions.first().is_some_and(is_outside);
        let astray = understood.followed.astray.as_deref();
        let astray = astray.filter(|_| targets.astray).map(|pointer| {
            let among = pointer.strip_prefix(ARGUMENTS);
            among.unwrap_or(pointer).to_owned()
        });
        let labels = snapshot.labels();
        let argument = astray.or_else(|| labels.outside(&tool.name, arguments, targets));
        Some(Self { by_link, argument })
    }

    /// Adds the path to a denial, for the agent and for operators.
    pub(super) fn explains(&self, denied: Rejection) -> Rejection {
        let denial = denied.open_denial();
        let advice = denial.and_then(|it| it.first(|reason| reason.advice.as_deref()));
        let told = match advice {
            Some(advice) => format!("{DENIED_BY_POLICY}: {advice} ({self})"),
            None => format!("{DENIED_BY_POLICY}: {self}"),
        };
        let reason = ("reason", Fragment::string(self.code()));
        let argument = self.argument.as_deref();
        let argument = argument.map(|argument| ("argument", Fragment::string(argument)));
        denied
            .with_text(format!("{OUTSIDE}{self}"))
            .with_reason(self.code())
            .with_text_for_agents(told)
            .with_data([reason].into_iter().chain(argument))
    }

    fn code(&self) -> &'static str {
        if self.by_link {
            "symlink_outside"
        } else {
            "outside_roots"
        }
    }
}

/// For agents: where it leads they are not told.
impl fmt::Display for Outside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(argument) = &self.argument else {
            return out.write_str("the call names no path, and may reach outside of all roots");
        };
        let does = if self.by_link {
            "leads outside of all roots over a link"
        } else {
            "lies outside of all roots"
        };
        write!(out, "the path at `{}` {does}", argument.escape_debug())
    }
}
