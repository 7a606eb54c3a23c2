//! The words that fixtures, logs and reports share.

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

/// Which of the two servers of a gate that has an isolated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerInstance {
    Primary,
    Isolated,
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
    pub const fn word(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Isolated => "isolated",
        }
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
