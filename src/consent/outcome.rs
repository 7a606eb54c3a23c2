//! Answers, and what becomes of a question.

use super::binding::Receipt;
use super::settings::By;

/// By which policies a request is judged when there is an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    ByThoseInForce,
    /// As replies are: a yes is good under them whatever is in force by then.
    ByThoseThatAdmittedIt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    Approve,
    Deny,
}

/// What became of a question.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    Granted(Receipt),
    Denied(By),
    /// No person answered in time.
    TimedOut,
    /// The question was withdrawn.
    Withdrawn(Void),
}

/// Why a question is withdrawn that somebody still waits for: a yes would be good for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Void {
    #[error("the gate is stopping")]
    Stopping,
    #[error("the policies are no longer those that asked")]
    Policies,
}

/// Why an answer does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("there is no such approval request, or it is no longer pending")]
    Unknown,
    #[error("the question has been answered already")]
    AlreadyAnswered,
    #[error("the answer comes too late")]
    Expired,
    #[error("the question was withdrawn: an answer would be good for nothing")]
    Withdrawn,
    #[error("answers do not count that come this way")]
    NotThisWay,
}
