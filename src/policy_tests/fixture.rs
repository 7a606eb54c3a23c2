//! What a fixture says, once everything in it has been checked that can be without the policies.

use jiff::Timestamp;
use toml::Spanned;

use super::errors::Source;
use crate::policy::Agent;
use crate::wire::Side;

/// One file: a suite of tests under the same policies and before the same upstream.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) source: Source,
    /// The suite's name; the file's where it has none of its own.
    pub(super) suite: String,
    /// The name of the upstream, where the fixture gives one.
    pub(super) server: Option<String>,
    /// Exact tool names that are permitted beside what the policies say.
    pub(super) allow: Option<Spanned<Vec<String>>>,
    pub(super) offers: Offers,
    pub(super) tests: Vec<Test>,
}

/// What the upstream lists.
#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) tools: Vec<String>,
    pub(super) prompts: Vec<String>,
    pub(super) resources: Vec<String>,
}

/// One message, and what must become of it.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) name: String,
    /// From 1.
    pub(super) line: usize,
    pub(super) agent: Agent,
    pub(super) now: Timestamp,
    pub(super) sends: Sends,
    pub(super) expect: Expect,
}

/// What is sent.
#[derive(Debug)]
pub(super) enum Sends {
    /// One frame, byte for byte.
    Frame { from: Side, frame: String },
    /// A request for a list, which the upstream answers.
    List(Listed),
}

/// The lists that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    Tools,
    Prompts,
    Resources,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It reaches the other end.
    Allow,
    /// It does not.
    Deny,
}

/// What must become of a message.
#[derive(Debug)]
pub(super) struct Expect {
    pub(super) decision: Decision,
    /// Policies that must be among the deciding ones.
    pub(super) because: Vec<Spanned<String>>,
    /// The `@code` of a deciding policy.
    pub(super) code: Option<String>,
    /// The `@advice` of a deciding policy.
    pub(super) advice: Option<String>,
    /// The gate's own word for the cause, such as `not-permitted`.
    pub(super) reason: Option<String>,
    /// Texts that the engine's fault must hold; without it, no fault is forgiven.
    pub(super) errors: Option<Vec<String>>,
    /// Exactly what a list shows.
    pub(super) visible: Option<Vec<Spanned<String>>>,
    /// What a list must not show.
    pub(super) hidden: Vec<Spanned<String>>,
}

impl Listed {
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

impl Offers {
    pub(super) fn of(&self, list: Listed) -> &[String] {
        match list {
            Listed::Tools => &self.tools,
            Listed::Prompts => &self.prompts,
            Listed::Resources => &self.resources,
        }
    }

    pub(super) fn of_mut(&mut self, list: Listed) -> &mut Vec<String> {
        match list {
            Listed::Tools => &mut self.tools,
            Listed::Prompts => &mut self.prompts,
            Listed::Resources => &mut self.resources,
        }
    }
}

impl Decision {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}
