//! Which servers' results the arguments of a call repeat (`[flow] evidence`).

use std::borrow::Cow;
use std::sync::Arc;

use crate::audit::{Finding, Guard};
use crate::guard::{MessagePart, StringRole, message_strings};
use crate::policy::{Arguments, Leaf, SessionSensitivity};
use crate::session::{Copies, EvidenceStore, Session, SessionKey, Whose};
use crate::wire::{Message, Side};

use super::Gate;
use super::classified::{Role, Scene, is_call};
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook, Leaving};
use super::query::{Asks, Doing, Question, Understood};
use super::settings::Evidence;

/// Keeps evidence of what servers send, and adds to the facts of calls what they repeat of it.
#[derive(Debug)]
pub(super) struct EvidenceFilter(pub(super) Arc<EvidenceStore>);

impl Filter for EvidenceFilter {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        if cx.terms.evidence == Evidence::Off || cx.understood.identified.from == Side::Upstream {
            return Flow::DONE;
        }
        let findings = self.look(&mut cx.understood, cx.session);
        cx.trail.found(findings);
        Flow::DONE
    }

    fn on_leaving<'f>(
        &'f self,
        cx: &'f mut RequestContext<'_>,
        leaving: &'f Leaving<'_>,
    ) -> Hook<'f> {
        if cx.terms.evidence == Evidence::Kept {
            match cx.understood.identified.from {
                Side::Agent => self.begin(cx),
                Side::Upstream => self.keep(cx, leaving),
            }
        }
        Flow::DONE
    }
}

impl EvidenceFilter {
    /// A request leaves: from now on its session has read from the server.
    fn begin(&self, cx: &RequestContext<'_>) {
        let scene = &cx.understood.identified.scene;
        if let (Some(server), Some(whose)) = (&scene.server.key, named(cx.session))
            && !cx.trail.sensitivity.brings.sources.is_empty()
        {
            self.0.begin(whose, server, &scene.held.sources);
        }
    }

    /// Keeps evidence of what the agent gets, if labels say more of it than where it is from.
    fn keep(&self, cx: &RequestContext<'_>, leaving: &Leaving<'_>) {
        let identified = &cx.understood.identified;
        let of_request = match &identified.role {
            Role::Reply(taken) => Some(&*taken.exchange.admission.brings),
            Role::Request { .. } | Role::Notification { .. } => None,
        };
        let mut brings = of_request.into_iter().chain([&cx.brings]);
        if brings.any(SessionSensitivity::is_labelled) {
            let read_again = leaving.is_edited.then(|| leaving.sent.read()).flatten();
            let message = read_again.as_ref().unwrap_or(identified.message);
            keep(&self.0, cx.session, &identified.scene, &texts(message));
        }
    }

    /// Adds what is found to what policies are asked. Returns it for the record.
    ///
    /// A message about a task is asked about as the call that began it, and sends none of its arguments.
    fn look(&self, understood: &mut Understood<'_>, session: &Session) -> Vec<Finding> {
        if !sends_arguments(&understood.identified.role) {
            return Vec::new();
        }
        let scene = &understood.identified.scene;
        let Some(server) = &scene.server.key else {
            return Vec::new();
        };
        let mut calls = understood.questions.iter().filter_map(arguments);
        let Some(arguments) = calls.next() else {
            return Vec::new();
        };
        let sources = &scene.held.sources;
        let copies = match named(session) {
            Some(whose) => self.0.look(whose, server, sources, said(arguments)),
            None => Copies::unknown(),
        };
        for question in &mut understood.questions {
            if let Doing::CallTool(_, targets) | Doing::Extend(_, targets) = &mut question.doing {
                targets.copied_from = copies.from.iter().cloned().collect();
            }
        }
        let finding = |code: &str, detail: &str| Finding {
            guard: Guard::Evidence,
            code: code.into(),
            detail: detail.into(),
        };
        let found = copies.from.iter();
        let found = found.map(|server| finding("copied_data", server));
        let incomplete = copies.incomplete.then(|| {
            let text = "the arguments may repeat more than the gate can find";
            finding("evidence_incomplete", text)
        });
        found.chain(incomplete).collect()
    }
}

impl Gate {
    /// With evidence of what servers have sent that is common to all of them.
    #[must_use]
    pub fn sharing_evidence(mut self, evidence: Arc<EvidenceStore>) -> Self {
        self.stores.evidence = evidence;
        self.assemble();
        self
    }

    /// Of a text that the gate tells in place of the server.
    pub(super) fn keep_evidence(&self, cx: &RequestContext<'_>, text: &str) {
        if cx.terms.evidence == Evidence::Kept && cx.brings.is_labelled() {
            let scene = &cx.understood.identified.scene;
            keep(&self.stores.evidence, cx.session, scene, &[text.to_owned()]);
        }
    }
}

/// Keeps what a session gets of a server, if policies know the server and the session.
pub(super) fn keep(evidence: &EvidenceStore, session: &Session, scene: &Scene, texts: &[String]) {
    if let (Some(server), Some(whose)) = (&scene.server.key, named(session)) {
        evidence.keep(whose, server, &scene.held.sources, texts);
    }
}

/// The session over all servers.
fn named(session: &Session) -> Option<&SessionKey> {
    match &session.whose {
        Whose::Common(key) => Some(key),
        // It is before one server, or may be any.
        Whose::Own | Whose::OwnAnd(_) | Whose::Unnamed => None,
    }
}

/// What an agent reads in a message of the server's.
fn texts(message: &Message) -> Vec<String> {
    let mut texts = Vec::new();
    let content = message.result().or(message.error()).or(message.params());
    if let Some(content) = content {
        message_strings(content, MessagePart::Content, &mut |string| {
            if let StringRole::Text(_) = string.role {
                texts.push(string.text.into_owned());
            }
        });
    }
    texts
}

fn sends_arguments(role: &Role) -> bool {
    match role {
        Role::Request { method, .. } | Role::Notification { method } => is_call(*method),
        Role::Reply(_) => false,
    }
}

fn arguments<'q>(question: &'q Question<'_>) -> Option<&'q Arguments<'q>> {
    match (question.asks, &question.doing) {
        (Asks::Agent, Doing::CallTool(arguments, _) | Doing::Extend(arguments, _)) => {
            Some(arguments)
        }
        (Asks::Agent | Asks::Server, _) => None,
    }
}

/// What arguments say: their values one after the other, then the names above each, once.
fn said<'q>(arguments: &'q Arguments<'q>) -> impl Iterator<Item = Cow<'q, str>> {
    let values = arguments.0.iter().filter_map(|(_, leaf)| match leaf {
        Leaf::String(text) => Some(Cow::Borrowed(&**text)),
        Leaf::Number(text) => Some(Cow::Borrowed(*text)),
        Leaf::Bool(_)
        | Leaf::Null
        // Its items are leaves of their own.
        | Leaf::Strings(_)
        | Leaf::EmptyObject
        | Leaf::EmptyArray
        | Leaf::Array => None,
    });
    let mut above: Vec<&str> = Vec::new();
    let names = arguments.0.iter().flat_map(move |(pointer, _)| {
        let names: Vec<&str> = pointer.split('/').skip(1).collect();
        let known = above
            .iter()
            .zip(&names)
            .take_while(|(one, other)| one == other);
        let new = names.get(known.count()..).unwrap_or_default().to_vec();
        above = names;
        new
    });
    values.chain(names.map(|name| Cow::Owned(name.replace("~1", "/").replace("~0", "~"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::KnownMethod;

    #[test]
    fn names_are_read_once_and_as_they_are() {
        let leaf = |pointer: &str| (pointer.to_owned(), Leaf::Null);
        let pointers = ["/4539~11488~00343", "/a/b/c", "/a/b/d", "/e"];
        let arguments = Arguments(pointers.map(leaf).into());
        let said: Vec<_> = said(&arguments).collect();
        assert_eq!(said, ["4539/1488~0343", "a", "b", "c", "d", "e"]);
    }

    #[test]
    fn only_calls_send_arguments() {
        let check = |method: KnownMethod, expected: bool| {
            let role = Role::Notification { method };
            assert_eq!(sends_arguments(&role), expected, "{method:?}");
        };
        check(KnownMethod::ToolsCall, true);
        for method in [
            KnownMethod::TasksGet,
            KnownMethod::TasksResult,
            KnownMethod::TasksUpdate,
            KnownMethod::SubscriptionsListen,
            KnownMethod::ResourcesRead,
        ] {
            check(method, false);
        }
    }
}
