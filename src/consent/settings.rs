//! Who may be asked in which way, and for how long.

use std::fmt;
use std::time::Duration;

/// How people are asked. Nobody is asked in a way that is not among these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub channels: Vec<Way>,
    /// Who answers at the page or the command line, by name.
    pub approvers: Vec<String>,
    /// How long an answer may take; after it there is none. An answer holds for as long.
    pub timeout: Duration,
    /// Questions that may wait for an answer for one principal.
    pub per_principal: usize,
    /// The same for all of them.
    pub in_all: usize,
    /// The longest text of arguments that is shown, in bytes. What is longer is not asked about:
    /// nobody can agree to what they have not seen.
    pub longest: usize,
}

/// A way to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Where operators reach the gate: the page, and the command line, which uses the same place.
    Page,
    /// A form that the agent's client shows. Whoever controls the client can answer it.
    Elicitation,
}

/// Who has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    pub via: Via,
    /// The operator by name, or the principal whose client answered.
    pub who: String,
}

/// How an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    Page,
    CommandLine,
    AgentUi,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            channels: Vec::new(),
            approvers: Vec::new(),
            timeout: Duration::from_mins(2),
            per_principal: 8,
            in_all: 64,
            longest: 32 << 10,
        }
    }
}

impl Settings {
    pub fn has(&self, way: Way) -> bool {
        self.channels.contains(&way)
    }
}

impl Way {
    pub const ALL: [Self; 2] = [Self::Page, Self::Elicitation];

    /// As it is written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "web",
            Self::Elicitation => "elicitation",
        }
    }
}

impl Via {
    /// The way that has to be configured for answers that come so.
    pub fn way(self) -> Way {
        match self {
            Self::Page | Self::CommandLine => Way::Page,
            Self::AgentUi => Way::Elicitation,
        }
    }

    /// A stable word, in records and in `context.env.consent.by`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "web",
            Self::CommandLine => "cli",
            Self::AgentUi => "agent_ui",
        }
    }
}

impl By {
    /// Somebody who uses the page.
    pub fn page(who: impl Into<String>) -> Self {
        Self::via(Via::Page, who)
    }

    /// Somebody who uses the command line.
    pub fn command_line(who: impl Into<String>) -> Self {
        Self::via(Via::CommandLine, who)
    }

    /// Whoever sits before the client of this principal.
    pub fn agent_ui(principal: impl Into<String>) -> Self {
        Self::via(Via::AgentUi, principal)
    }

    fn via(via: Via, who: impl Into<String>) -> Self {
        let who = who.into();
        Self { via, who }
    }
}

/// `page:alice`.
impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.via.name(), self.who)
    }
}
