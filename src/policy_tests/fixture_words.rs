//! The words that fixtures, logs and reports share.

use crate::session::Instance;

/// The lists that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestDecision {
    /// It reaches the other end.
    Allow,
    /// It does not.
    Deny,
}

/// Which of the servers of a gate that has isolated ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum ServerInstance {
    #[serde(rename = "primary")]
    Primary,
    #[serde(rename = "isolated")]
    Isolated,
    #[serde(rename = "isolated 2")]
    SecondIsolated,
    #[serde(rename = "isolated 3")]
    ThirdIsolated,
}

impl ListKind {
    pub(super) const ALL: [(&'static str, Self); 3] = [
        ("tools", Self::Tools),
        ("prompts", Self::Prompts),
        ("resources", Self::Resources),
    ];

    /// The member of the result that holds the list.
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }

    /// The member by which an item is known.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
        }
    }

    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
        }
    }
}

impl ServerInstance {
    /// In the order of their numbers.
    pub(super) const ALL: [(&'static str, Self); Instance::MOST] = [
        (Self::Primary.word(), Self::Primary),
        (Self::Isolated.word(), Self::Isolated),
        (Self::SecondIsolated.word(), Self::SecondIsolated),
        (Self::ThirdIsolated.word(), Self::ThirdIsolated),
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Isolated => "isolated",
            Self::SecondIsolated => "isolated 2",
            Self::ThirdIsolated => "isolated 3",
        }
    }

    pub(super) fn of(instance: Instance) -> Self {
        let at = Self::ALL.get(instance.number());
        at.map_or(Self::Primary, |(_, it)| *it)
    }

    pub(super) fn instance(self) -> Instance {
        let mut all = Instance::ALL.into_iter();
        all.find(|it| Self::of(*it) == self).unwrap_or_default()
    }
}

impl TestDecision {
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Allow => Self::Deny,
            Self::Deny => Self::Allow,
        }
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}
