//! What a server tells while it works: recorded whole.

use crate::audit::{Body, Kind};
use crate::wire::{KnownMethod, Message, Method, Value};

use super::Trail;

impl Trail {
    /// Takes in what a log message or a notification of progress says; nothing of a request by its name.
    pub(super) fn tells(&mut self, message: &Message) {
        if self.record.kind != Kind::Notification {
            return;
        }
        if let Some(KnownMethod::LogMessage | KnownMethod::Progress) =
            message.method().and_then(Method::known)
        {
            let params = message.params().filter(|params| Value::is_object(*params));
            self.record.params = params.map(Body::of);
        }
    }
}
