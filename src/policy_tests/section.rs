//! The words of the format.

use super::suggest;

/// The tables of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    File,
    Server,
    Agent,
    Client,
    Test,
    Session,
    Consent,
    Step,
    Send,
    Result,
    Error,
    Expect,
}

impl Section {
    const ALL: [Self; 12] = [
        Self::File,
        Self::Server,
        Self::Agent,
        Self::Client,
        Self::Test,
        Self::Session,
        Self::Consent,
        Self::Step,
        Self::Send,
        Self::Result,
        Self::Error,
        Self::Expect,
    ];

    /// The whole vocabulary of the format.
    pub(super) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::File => &[
                "suite",
                "gate",
                "now",
                "allow",
                "extensions",
                "tools",
                "prompts",
                "resources",
                "descriptions",
                "server",
                "agents",
                "test",
            ],
            Self::Server => &["name"],
            Self::Agent => &["roles", "teams", "user", "trust", "client"],
            Self::Client => &["name", "version"],
            Self::Test => &[
                "name",
                "agent",
                "agents",
                "now",
                "session",
                "consent",
                "links",
                "changed_tools",
                "changed_prompts",
                "from",
                "send",
                "call",
                "args",
                "list",
                "listed",
                "hidden",
                "raw",
                "result",
                "received",
                "expect",
                "steps",
                "replay",
                "unknown",
            ],
            Self::Session => &["level", "labels", "untrusted", "calls", "age"],
            Self::Consent => &["granted", "scope", "by", "age"],
            Self::Step => &[
                "after", "consent", "from", "send", "call", "args", "list", "listed", "hidden",
                "raw", "result", "received", "expect",
            ],
            Self::Send => &["method", "params", "meta"],
            Self::Result => &["text", "is_error", "json", "error", "raw"],
            Self::Error => &["code", "message"],
            Self::Expect => &[
                "decision",
                "policies",
                "policies_exact",
                "obligations",
                "edits",
                "upstream_receives",
                "code",
                "advice",
                "reason",
                "errors",
            ],
        }
    }

    /// Keys that later versions will have.
    pub(super) const fn later(self) -> &'static [&'static str] {
        match self {
            Self::File => &["sessions", "defaults"],
            Self::Test | Self::Step => &["skip"],
            Self::Server
            | Self::Agent
            | Self::Client
            | Self::Session
            | Self::Consent
            | Self::Send
            | Self::Result
            | Self::Error
            | Self::Expect => &[],
        }
    }

    const fn place(self) -> &'static str {
        match self {
            Self::File => "at the top of the file",
            Self::Server => "in `[server]`",
            Self::Agent => "in an agent of `[agents]`",
            Self::Client => "in `client`",
            Self::Test => "in a `[[test]]`",
            Self::Session => "in `session`",
            Self::Consent => "in `consent`",
            Self::Step => "in one of `steps`",
            Self::Send => "in `send`",
            Self::Result => "in `result`",
            Self::Error => "in `error`",
            Self::Expect => "in `expect`",
        }
    }

    /// What to say of a key that the section does not have, and what to do about it.
    pub(super) fn about_unknown(self, key: &str) -> (String, String) {
        if self.later().contains(&key) {
            let message = format!("`{key}` is not available in this version");
            return (message, "remove it".to_owned());
        }
        if let Some((_, name)) = RENAMED.iter().find(|(old, _)| *old == key) {
            return (
                format!("unknown key `{key}`"),
                format!("it is `{name}` now"),
            );
        }
        let elsewhere = || {
            let others = Self::ALL.into_iter();
            others.rev().find(|other| other.keys().contains(&key))
        };
        let help = match (
            suggest::did_you_mean(key, self.keys().iter().copied()),
            elsewhere(),
        ) {
            (Some(question), _) => question,
            (None, Some(other)) => format!("`{key}` belongs {}", other.place()),
            (None, None) => format!("known {}: {}", self.place(), suggest::list(self.keys())),
        };
        (format!("unknown key `{key}`"), help)
    }
}

/// Keys that had another name before, and their names now.
const RENAMED: [(&str, &str); 4] = [
    ("because", "policies"),
    ("because_exactly", "policies_exact"),
    ("reaches", "upstream_receives"),
    ("visible", "listed"),
];

/// Every key of the format.
#[cfg(test)]
pub(super) fn vocabulary() -> impl Iterator<Item = &'static str> {
    let sections = Section::ALL.iter();
    sections.flat_map(|section| section.keys().iter().copied())
}
