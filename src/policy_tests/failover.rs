//! From one instance of the server to a narrower one, within one test.

use super::fixture::ScriptedReply;
use super::fixture_words::{ListKind, ServerInstance};
use super::judge::TestSession;
use super::lines;
use crate::wire::{ArrivalForm, Side, Stream};

impl TestSession<'_> {
    /// Whether this instance of the server is not spoken to any more.
    pub(super) fn has_left(&self, server: ServerInstance) -> bool {
        self.talk.session.run().instance != server.instance()
    }

    /// An instance of the server answers what it was asked before the session left it.
    pub(super) async fn hear_left(&self, server: ServerInstance, line: &str) {
        let (talk, instance) = (&self.talk, server.instance());
        let form = (Stream::MAIN, ArrivalForm::Event);
        let left = self
            .gate
            .handle_elsewhere(talk, instance, form, line.as_bytes());
        let left = Box::pin(left).await;
        debug_assert!(left.is_ok(), "an end in this process does not go away");
    }

    /// A session that has become too sensitive for its server goes on with an isolated one, which agrees to the handshake and lists its tools before anything else happens.
    pub(super) async fn follow(&self) {
        let kept = Box::pin(self.gate.keep_apart(&self.talk)).await;
        debug_assert!(kept.is_ok(), "an end in this process does not go away");
        if !self.talk.session.place().is_moving() {
            return;
        }
        // What went to the server before it is still to be answered there.
        while let Some(line) = self.talk.upstream.take_from_here() {
            let Some(id) = lines::asked_id(&line) else {
                continue;
            };
            let answer = if lines::tools_list(&line).is_some() {
                lines::offer(&id, ListKind::Tools, self.tools.clone())
            } else {
                let greeting = lines::greeting(&self.bench.server.name);
                lines::reply(&id, &ScriptedReply::Result(greeting))
            };
            let (talk, answer) = (&self.talk, answer.as_bytes());
            let heard = self.gate.handle(talk, Side::Upstream, Stream::MAIN, answer);
            let heard = Box::pin(heard).await;
            debug_assert!(heard.is_ok(), "an end in this process does not go away");
        }
    }
}
