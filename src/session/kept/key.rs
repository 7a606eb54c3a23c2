//! Whose reading is counted together.

use std::sync::Arc;

/// A principal and what it calls its session, or the principal alone.
///
/// The two parts are kept apart, so that no choice of names makes one key of two.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    principal: Arc<str>,
    session: Option<Arc<str>>,
}

/// Where it stands what a session has read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Whose {
    /// It is this session's alone: nobody can come back to it once it has ended.
    #[default]
    Own,
    /// It is this session's alone, and what its principal has read outside of sessions counts too: an
    /// agent does not get rid of that by beginning one.
    OwnAnd(SessionKey),
    /// It outlives the session, or is common to several.
    Common(SessionKey),
    /// Somebody was to name the session and has not: it may be any, also one that has read everything.
    Unnamed,
}

/// Whoever has proved nothing, over HTTP.
const NOBODY: &str = "anonymous";

impl SessionKey {
    pub fn of(principal: &str, session: Option<&str>) -> Self {
        Self {
            principal: principal.into(),
            session: session.map(Into::into),
        }
    }

    /// Whether those who have it in common are known to be one: by the name of their session, or by what
    /// proved who they are.
    pub fn is_somebodys(&self) -> bool {
        self.session.is_some() || *self.principal != *NOBODY
    }

    pub fn principal(&self) -> &str {
        &self.principal
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }
}
