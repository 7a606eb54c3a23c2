//! What engines say (a verdict), what the gate does (a decision), and why (reasons).

use std::fmt;
use std::sync::Arc;

use super::sensitivity::SessionSensitivity;

/// The name of an engine, in diagnostics and records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EngineName(pub &'static str);

/// The opinion of one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    Allow {
        reasons: Vec<Reason>,
        obligations: Vec<Obligation>,
    },
    Deny {
        reasons: Vec<Reason>,
    },
    /// The engine has nothing to say about these facts.
    Abstain,
}

/// The decision of all engines together. There is no third one: "ask a human" is a denial that
/// names what would change it, or an allowance with a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    Allow(AllowDecision),
    Deny(Denial),
}

/// Permission, with what must be done before it may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowDecision {
    /// Every policy that permits, sorted.
    pub reasons: Vec<Reason>,
    /// Sorted, without repetition; each must be carried out, or the message is refused.
    pub obligations: Vec<Obligation>,
}

/// Refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub cause: DenialCause,
    /// Every policy that forbids, sorted; empty when nothing permitted.
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenialCause {
    /// A policy forbids it.
    Forbidden,
    /// No policy permits it.
    NotPermitted,
    /// An engine could not tell.
    Fault(EngineFault),
}

/// A policy that decided.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    pub policy: PolicyId,
    pub origin: PolicyOrigin,
    /// The policy's `@code`: a stable word for programs.
    pub code: Option<Arc<str>>,
    /// The policy's `@advice`: a sentence for the denied side.
    pub advice: Option<Arc<str>>,
    /// Set by `@requires_consent`.
    pub on_deny: Option<OnDeny>,
}

/// What could lift a prohibition. Closed, as obligations are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnDeny {
    /// `@requires_consent`: a human who agrees to this very call.
    AskConsent,
}

/// A policy's `@id`, or `file:line` where it has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(Arc<str>);

/// Where a policy is written. A line of 0 means that it was compiled from configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyOrigin {
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: u32,
}

/// What must be done with a message that is allowed. Closed: an annotation `@obligation_…` that is
/// not here is an error when policies are loaded, so nothing can be promised and then ignored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obligation {
    /// `@obligation_annotate("text")`: the record of the message carries the text.
    Annotate(Arc<str>),
    /// `@obligation_strip_meta("key")`: the member of `_meta` does not go on. One key for each; an
    /// annotation may name several with spaces between them.
    StripMeta(Arc<str>),
    /// `@obligation_canonical("paths")`: the arguments of a call that labels call paths go on in the
    /// one spelling, in which it is judged again.
    CanonicalPaths,
    /// `@obligation_canonical("uris")`: the URIs of resources that a message names go on in the one
    /// spelling.
    CanonicalUris,
    /// `@add_label("pii")`: the session has read data of this kind from now on. One for each; an
    /// annotation may name several with spaces between them.
    Label(Arc<str>),
    /// `@raise_sensitivity("confidential")`: the session has read something of that level from now on.
    Raise(EscalationTarget),
}

/// What a session is raised to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EscalationTarget {
    Internal,
    Confidential,
    Secret,
    /// Others may have written what came in.
    Untrusted,
}

impl EscalationTarget {
    /// As policies write them.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("internal", Self::Internal),
        ("confidential", Self::Confidential),
        ("secret", Self::Secret),
        ("untrusted", Self::Untrusted),
    ];

    pub fn named(word: &str) -> Option<Self> {
        let mut words = Self::WORDS.into_iter();
        words.find(|(name, _)| *name == word).map(|(_, it)| it)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Confidential => "confidential",
            Self::Secret => "secret",
            Self::Untrusted => "untrusted",
        }
    }
}

impl Obligation {
    /// What is to go on in one spelling, by the word for it.
    pub fn canonical(word: &str) -> Option<Self> {
        match word {
            "paths" => Some(Self::CanonicalPaths),
            "uris" => Some(Self::CanonicalUris),
            _ => None,
        }
    }

    /// What it raises the session by, if it does.
    pub fn brings(&self) -> Option<SessionSensitivity> {
        match self {
            Self::Label(label) => Some(SessionSensitivity {
                labels: [label.to_string()].into(),
                ..SessionSensitivity::default()
            }),
            Self::Raise(EscalationTarget::Untrusted) => Some(SessionSensitivity {
                untrusted: true,
                ..SessionSensitivity::default()
            }),
            Self::Raise(EscalationTarget::Internal) => Some(SessionSensitivity::at(1)),
            Self::Raise(EscalationTarget::Confidential) => Some(SessionSensitivity::at(2)),
            Self::Raise(EscalationTarget::Secret) => Some(SessionSensitivity::at(3)),
            Self::Annotate(_) | Self::StripMeta(_) | Self::CanonicalPaths | Self::CanonicalUris => {
                None
            }
        }
    }
}

/// An engine could not judge. Always a denial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("engine `{engine}`: {}{problem}", policy.as_ref().map(|id| format!("policy `{id}`: ")).unwrap_or_default())]
pub struct EngineFault {
    pub engine: EngineName,
    pub kind: FaultKind,
    /// The policy whose evaluation failed, if one is to blame.
    pub policy: Option<PolicyId>,
    pub problem: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The facts do not fit the schema; ours is the bug, or the message is beyond what it can say.
    Facts,
    /// A policy could not be evaluated.
    Evaluation,
    /// The engine's own code failed.
    Panic,
}

impl Denial {
    /// The first value that a reason has. Reasons that consent cannot lift come first, so that no person
    /// is asked in vain.
    pub fn first<'d, T>(&'d self, says: impl Fn(&'d Reason) -> Option<T>) -> Option<T> {
        let hard = self
            .reasons
            .iter()
            .filter(|reason| reason.on_deny.is_none());
        let soft = self
            .reasons
            .iter()
            .filter(|reason| reason.on_deny.is_some());
        hard.chain(soft).find_map(says)
    }

    /// What would lift it: nothing, unless every policy that forbids says the same.
    pub fn remedy(&self) -> Option<OnDeny> {
        if self.cause != DenialCause::Forbidden {
            return None;
        }
        let first = self.reasons.first()?.on_deny?;
        let same = |reason: &Reason| reason.on_deny == Some(first);
        self.reasons.iter().all(same).then_some(first)
    }
}

impl Decision {
    pub fn is_allow(&self) -> bool {
        matches!(self, Self::Allow(_))
    }

    pub fn reasons(&self) -> &[Reason] {
        match self {
            Self::Allow(allowance) => &allowance.reasons,
            Self::Deny(denial) => &denial.reasons,
        }
    }
}

impl PolicyId {
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PolicyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            f.write_str(&self.file)
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

impl fmt::Display for Obligation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotate(text) => write!(f, "annotate: {text}"),
            Self::StripMeta(key) => write!(f, "strip_meta: {key}"),
            Self::CanonicalPaths => f.write_str("canonical: paths"),
            Self::CanonicalUris => f.write_str("canonical: uris"),
            Self::Label(label) => write!(f, "label: {label}"),
            Self::Raise(to) => write!(f, "raise: {}", to.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_is_raised_to_has_a_word_and_a_level() {
        for ((word, raise), level) in EscalationTarget::WORDS.into_iter().zip([1, 2, 3, 0]) {
            assert_eq!(raise.as_str(), word);
            assert_eq!(EscalationTarget::named(word), Some(raise));
            let held = Obligation::Raise(raise).brings().unwrap();
            assert_eq!((held.level, held.untrusted), (level, level == 0), "{word}");
        }
        assert_eq!(EscalationTarget::named("public"), None);
    }

    #[test]
    fn a_policy_of_the_configuration_has_no_line() {
        let at = |line| PolicyOrigin {
            file: "<allowlist>".into(),
            line,
        };
        assert_eq!(at(0).to_string(), "<allowlist>");
        assert_eq!(at(2).to_string(), "<allowlist>:2");
    }
}
