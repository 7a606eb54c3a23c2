//! What records say of a call beside its decision.

use std::sync::Arc;

use crate::audit::{Capabilities, ToolVersion};
use crate::policy::PolicySnapshot;
use crate::session::{CallFacts, Session, Target};
use crate::wire::KnownMethod;

use super::Trail;

impl Trail {
    /// The request is about this: of a call, what it needs and holds, and how its tool is defined.
    pub(in crate::gate) fn needs(
        &mut self,
        target: &Target,
        session: &Session,
        snapshot: &PolicySnapshot,
    ) {
        let (Some(KnownMethod::ToolsCall), Target::Tool(name)) = (self.envelope.method, target)
        else {
            return;
        };
        let needed = snapshot.labels().capabilities(name).iter();
        let needed = needed
            .map(|capability| capability.as_str().into())
            .collect();
        let facts = {
            let state = session.state();
            CallFacts {
                needed,
                held: Arc::clone(&state.parties.capabilities),
                digest: state.lists.tools.digest(name),
                server_version: state.parties.server_version.clone(),
            }
        };
        self.is_call(Arc::new(facts));
    }

    /// It is a call, or the outcome of one, of which this is known.
    pub(super) fn is_call(&mut self, facts: Arc<CallFacts>) {
        let CallFacts {
            needed,
            held,
            digest,
            server_version,
        } = &*facts;
        let capabilities = Capabilities {
            needed: needed.iter().map(Into::into).collect(),
            held: held.iter().map(Into::into).collect(),
        };
        let has_some = !(needed.is_empty() && held.is_empty());
        self.record.capabilities = has_some.then_some(capabilities);
        let is_known = digest.is_some() || server_version.is_some();
        self.record.tool = is_known.then(|| ToolVersion {
            digest: digest.as_ref().map(Into::into),
            server_version: server_version.as_ref().map(Into::into),
        });
        self.about.call = Some(facts);
    }
}
