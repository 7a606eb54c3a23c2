//! Roots that each principal or session has for itself: policies are asked with those of the session, and
//! no message passes before their directories are there.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::directories;
use crate::policy::{Holder, OwnDirectory, PolicySnapshot, RootProblem};
use crate::session::Session;

use super::Gate;
use super::rejection::{INTERNAL, Rejection};
use super::settings::OwnDirectories;
use super::stage::Stage;

/// How long the disk may take: one behind a network that is gone may take for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a session cannot have the roots of its own.
#[derive(Debug, thiserror::Error)]
#[error("the root `{root}` of this session has no directory: {cause}")]
pub struct NoOwnRoot {
    root: String,
    cause: String,
}

impl NoOwnRoot {
    fn placeless(problem: &RootProblem) -> Self {
        Self {
            root: "…".to_owned(),
            cause: format!("its path {problem}"),
        }
    }
}

impl From<NoOwnRoot> for Rejection {
    fn from(missing: NoOwnRoot) -> Self {
        let told = "the directory of this session is not available";
        Self::new(
            Stage::Identify,
            "own_root_unavailable",
            INTERNAL,
            missing.to_string(),
        )
        .with_text_for_agents(told)
        .into_error()
    }
}

/// Whose roots a session has.
pub fn holder(session: &Session) -> Holder {
    let agent = Arc::clone(&session.state().parties.agent);
    Holder::of(&agent.id, session.id.as_str())
}

impl Gate {
    /// The policies in force, with the roots of a session. Where it can have none, nothing lies in those.
    pub(super) fn policies_of(&self, session: &Session) -> Arc<PolicySnapshot> {
        let current = self.policy.current();
        own(session, &current).unwrap_or(current)
    }

    /// The same, with the directories of its roots there.
    ///
    /// # Errors
    /// [`NoOwnRoot`] where one is not there and cannot be made.
    pub(super) async fn policies_with_roots(
        &self,
        session: &Session,
    ) -> Result<Arc<PolicySnapshot>, NoOwnRoot> {
        let current = self.policy.current();
        if !current.has_roots_of_each() {
            return Ok(current);
        }
        let own = own(session, &current).map_err(|problem| NoOwnRoot::placeless(&problem))?;
        match self.settings.own_directories {
            OwnDirectories::Stated => {}
            OwnDirectories::Made if session.state().own_policies.is_ready(&own) => {}
            OwnDirectories::Made => {
                make(&own).await?;
                session.state().own_policies.are_ready(&own);
            }
        }
        Ok(own)
    }

    /// Makes the directories of a session's own roots, before its server is started in one.
    ///
    /// # Errors
    /// [`NoOwnRoot`] where one cannot be made.
    pub async fn make_own_roots(&self, session: &Session) -> Result<(), NoOwnRoot> {
        self.policies_with_roots(session).await.map(drop)
    }
}

fn own(
    session: &Session,
    current: &Arc<PolicySnapshot>,
) -> Result<Arc<PolicySnapshot>, RootProblem> {
    if !current.has_roots_of_each() {
        return Ok(Arc::clone(current));
    }
    if let Some(own) = session.state().own_policies.of(current) {
        return Ok(own);
    }
    let own = Arc::new(current.of_holder(&holder(session))?);
    session.state().own_policies.keep(current, &own);
    Ok(own)
}

async fn make(policies: &PolicySnapshot) -> Result<(), NoOwnRoot> {
    let of_shadow = policies.shadow().into_iter();
    let all = of_shadow.chain([policies]).map(PolicySnapshot::labels);
    let own = all.flat_map(|labels| labels.roots.own());
    let own: Vec<(String, OwnDirectory)> = own
        .map(|(root, directory)| (root.name.clone(), directory.clone()))
        .collect();
    let making = spawn_blocking(move || {
        own.into_iter().try_for_each(|(root, directory)| {
            let made = directories::make(&directory.above, &directory.names);
            made.map_err(|fault| NoOwnRoot {
                root,
                cause: fault.to_string(),
            })
        })
    });
    let made = timeout(PATIENCE, making).await;
    made.ok().and_then(Result::ok).unwrap_or_else(|| {
        Err(NoOwnRoot {
            root: "…".to_owned(),
            cause: "the disk does not answer".to_owned(),
        })
    })
}
