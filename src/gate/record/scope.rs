//! Where a message belongs: the server that it is for or comes from, and the request that it answers.

use std::sync::Arc;

use crate::session::{Instance, Waits};
use crate::wire::{Side, Value};

use crate::gate::classified::{Identified, Role};
use crate::gate::talk::{Talk, transport};

use super::{Trail, kind};

impl Trail {
    /// Takes the scope of the session as it is now.
    pub(in crate::gate) fn take_scope<U, A>(&mut self, talk: &Talk<U, A>) {
        let scope = talk.scope();
        self.record.upstream = Some(scope.upstream);
        self.record.transports = Some(scope.transports);
    }

    /// Takes the names of this instance of the server, to which its session does not speak.
    pub(in crate::gate) fn take_instance<U, A>(&mut self, talk: &Talk<U, A>, instance: Instance) {
        self.server.other_speaker = Some(instance);
        let session = &talk.session;
        let name = instance.name_of(&session.state().parties.server.name);
        self.record.upstream = Some(name.into());
        if let Some(transports) = &mut self.record.transports {
            transports.upstream = transport(session, instance);
        }
    }

    /// The message has its place: a reply speaks for the request that it answers.
    pub(in crate::gate) fn identified<U, A>(
        &mut self,
        talk: &Talk<U, A>,
        identified: &Identified<'_>,
        from: Side,
    ) {
        match &identified.role {
            Role::Request { method, .. } | Role::Notification { method } => {
                self.envelope.method = Some(*method);
                self.carried.version = Some(Arc::clone(&identified.scene.spoken.version));
                self.take_ids_of_call(identified, &talk.session);
            }
            Role::Reply(taken) => {
                self.record.kind = kind::of_outcome(taken.exchange.method);
                self.replies(&taken.exchange, from);
                if let Waits::Elsewhere(instance) = taken.waits {
                    self.take_instance(talk, instance);
                }
                let error = identified.message.error();
                let code = error
                    .and_then(|error| error.get("code"))
                    .and_then(Value::as_i64);
                self.record.error_code = code;
            }
        }
    }
}
