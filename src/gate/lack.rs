//! How a server shows that it needs a session, and the rejection that its agent gets.

use std::fmt;

use crate::mcp::revisions::{self, FIRST_STATELESS};
use crate::wire::KnownMethod;

use super::rejection::{METHOD_NOT_FOUND, Property, Rejection, UNSUPPORTED_VERSION, versions};
use super::stage::Stage;

/// How a server says that it speaks no revision without sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lack {
    /// The revisions that it names instead.
    pub(super) named: Vec<String>,
    pub(super) how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Error(i64),
    Status(u16),
    Result,
    /// A bridge has a session with it.
    Session,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            How::Error(code) => write!(f, "it answers `server/discover` with the error {code}"),
            How::Status(status) => {
                write!(f, "it answers `server/discover` with the status {status}")
            }
            How::Result if self.named.is_empty() => {
                f.write_str("its answer to `server/discover` names no such revision")
            }
            How::Session => f.write_str("the gate has one with it"),
            How::Result => write!(f, "it speaks {}", self.named.join(", ")),
        }
    }
}

impl Lack {
    /// What an agent may ask for instead.
    pub(super) fn instead(&self) -> Vec<String> {
        if self.named.is_empty() {
            let known = revisions::known().filter(|one| *one < FIRST_STATELESS);
            return known.map(str::to_owned).collect();
        }
        self.named.clone()
    }
}

impl Rejection {
    /// An agent that can be asked asks for the revisions of a server with which a bridge has a session: in
    /// that session it could not be asked, and it may begin its own.
    pub fn may_begin_session(version: &str) -> Self {
        let lack = Lack {
            named: Vec::new(),
            how: How::Session,
        };
        needs_session(KnownMethod::Discover, version, &lack)
    }
}

/// The server has answered that it speaks no revision without sessions.
pub(super) fn needs_session(method: KnownMethod, version: &str, lack: &Lack) -> Rejection {
    let text = format!(
        "the server does not speak {version}, and needs a session ({lack}): use an agent that begins with \
         `initialize`, or a server that speaks {version}"
    );
    // A client that speaks both eras goes on with `initialize` after this error, whatever kit it
    // is made of; after the other one, not all do.
    let code = if method == KnownMethod::Discover {
        METHOD_NOT_FOUND
    } else {
        UNSUPPORTED_VERSION
    };
    // Where the server does not say what it speaks instead, an agent's `initialize` may name any of
    // these, and the server answers with its own.
    let instead = lack.instead();
    Rejection::new(Stage::Identify, "needs_session", code, text.clone())
        .with_text_for_agents(text)
        .with_data(versions(version, instead.iter().map(String::as_str)))
        .with_same_answer_for_requesters()
        // Within a session the same request may come again.
        .with_properties(&[Property::NeedsSession, Property::KeepsConsent])
}
