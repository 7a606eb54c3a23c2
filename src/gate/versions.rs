//! Which revisions an agent may ask for: those that the gate knows, of those that the server names. A
//! refusal names the same ones as `server/discover`.

use crate::mcp::revisions::{self, FIRST_STATELESS};
use crate::session::Session;
use crate::wire::{Fragment, KnownMethod, Value};

use super::Gate;
use super::classified::Role;
use super::edits::Removal;
use super::eras::Says;
use super::forward::{Agent, Upstream};
use super::query::Understood;
use super::record::Trail;
use super::rejection::Property;
use super::stop::Stop;
use super::talk::Talk;

impl Gate {
    /// Tells an agent that names an unknown revision which ones the server speaks. If the gate does not
    /// know them, the request waits until the server has answered. A refused request starts no server:
    /// before one that is not started, the refusal names the revisions of the gate.
    pub(super) fn naming_versions<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        stop: Stop,
        trail: &mut Trail,
    ) -> Stop {
        let Stop::Refused(rejection) = stop else {
            return stop;
        };
        if !rejection.has(Property::UnknownRevision) {
            return rejection.into();
        }
        // Like any request of that era, whatever it asks for.
        let method = KnownMethod::ToolsList;
        let session = &talk.session;
        let supported = match self.stores.eras.says(session, method, FIRST_STATELESS) {
            Ok(None) if trail.asker().is_some() && talk.upstream.is_started() => {
                trail.envelope.method = Some(method);
                trail.carried.version = Some(FIRST_STATELESS.into());
                return Stop::Park;
            }
            Ok(Some(Says::Lacks(_))) if talk.agent.opens_sessions() => {
                vec![FIRST_STATELESS.to_owned()]
            }
            Ok(Some(Says::Lacks(lack))) => lack.instead(),
            Ok(Some(Says::Takes)) => self.named(session),
            Ok(None) | Err(_) => Vec::new(),
        };
        if supported.is_empty() {
            return rejection.into();
        }
        let supported = Fragment::array(supported.iter().map(|one| Fragment::string(one)));
        rejection.with_data([("supported", supported)]).into()
    }

    /// The revisions that the server was heard to speak, of those that the gate knows.
    pub(super) fn named(&self, session: &Session) -> Vec<String> {
        let belief = self.stores.eras.of(session.run().instance);
        let belief = belief.as_ref().filter(|it| self.clock.elapsed() < it.until);
        belief.map(|it| it.named.clone()).unwrap_or_default()
    }
}

/// What a server says that it speaks, and the gate does not: an agent would be refused with it.
pub(super) fn unspoken<'m>(understood: &Understood<'m>) -> Vec<Removal<'m>> {
    let Role::Reply(taken) = &understood.identified.role else {
        return Vec::new();
    };
    let message = understood.identified.message;
    let named = message
        .result()
        .and_then(|result| result.get("supportedVersions"));
    let named = named.filter(|_| taken.exchange.method == KnownMethod::Discover);
    let items = named.into_iter().flat_map(Value::items).enumerate();
    let is_unspoken = |one: &Value<'_>| !one.as_str().is_some_and(|it| revisions::is_known(&it));
    items
        .filter(|(_, one)| is_unspoken(one))
        .map(|(at, item)| Removal {
            item,
            pointer: format!("/result/supportedVersions/{at}"),
            because: "unsupported_version".to_owned(),
        })
        .collect()
}
