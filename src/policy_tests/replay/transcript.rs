//! Recorded messages, sent through the gate again.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::actual::ActualOutcome;
use super::super::fixture::{ScriptedReply, Test};
use super::super::fixture_words::{ListKind, TestDecision};
use super::super::judge::{PendingQuestion, TestSession};
use super::super::shared_session::SharedSession;
use super::super::suite_context::SuiteContext;
use super::super::{lines, listing};
use super::comparison::{CurrentDecision, DecisionComparison};
use super::messages::{MessageRole, RecordedOutcome, TranscriptMessage};
use crate::gate::Stage;
use crate::wire::{Fragment, KnownMethod, Limits, Message, Side, Value};

pub(super) async fn compare(
    bench: &SuiteContext<'_>,
    test: &Test,
    said: &[TranscriptMessage],
) -> Vec<DecisionComparison> {
    let tools = tools(said);
    let mut compared = Vec::new();
    let mut played = TranscriptPlayer {
        bench,
        test,
        tools: &tools,
        conversation: TestSession::begin(bench, test, &tools, SharedSession::of(test)),
        waiting: HashMap::new(),
    };
    for (place, one) in said.iter().enumerate() {
        let found = match &one.role {
            MessageRole::Unclear(why) => vec![(
                "something".to_owned(),
                TestDecision::Allow,
                CurrentDecision::Unknown((*why).to_owned()),
            )],
            MessageRole::Request(from, was) => played.request(place, *from, *was, &one.text).await,
            MessageRole::Notification(from) => played.notification(*from, &one.text).await,
            MessageRole::Reply(from, request) => {
                let asked = said.get(*request);
                played.reply(*from, *request, asked, &one.text).await
            }
        };
        compared.extend(
            found
                .into_iter()
                .map(|(about, was, now)| DecisionComparison {
                    line: one.line,
                    about,
                    was,
                    now,
                }),
        );
    }
    compared
}

/// What was there: what was called, and what was listed.
fn tools(said: &[TranscriptMessage]) -> Vec<String> {
    let messages = said
        .iter()
        .filter_map(|said| Message::decode(said.text.as_bytes(), &Limits::default()).ok());
    let mut tools = Vec::new();
    for message in messages {
        tools.extend(listing::called_tool(&message));
        let listed = message.result().and_then(|result| result.get("tools"));
        let names = listed.into_iter().flat_map(Value::items);
        tools.extend(names.filter_map(|tool| tool.get("name")?.as_str().map(Cow::into_owned)));
    }
    tools
}

type ComparedDecisions = Vec<(String, TestDecision, CurrentDecision)>;

struct TranscriptPlayer<'p> {
    bench: &'p SuiteContext<'p>,
    test: &'p Test,
    tools: &'p [String],
    conversation: TestSession<'p>,
    /// The requests that were let through, by their place.
    waiting: HashMap<usize, PendingQuestion>,
}

impl TranscriptPlayer<'_> {
    async fn request(
        &mut self,
        place: usize,
        from: Side,
        was: RecordedOutcome,
        text: &str,
    ) -> ComparedDecisions {
        let message = Message::decode(text.as_bytes(), &Limits::default()).ok();
        let method = message.as_ref().and_then(|it| it.method()?.known());
        if method == Some(KnownMethod::Initialize) {
            // Another session.
            let shared = SharedSession::of(self.test);
            self.conversation = TestSession::begin(self.bench, self.test, self.tools, shared);
            self.waiting.clear();
        }
        self.conversation.clear();
        let about = about(message.as_ref());
        let (got, asked) = self.conversation.frame(from, text).await;
        let allowed = asked.is_some();
        if let Some(asked) = asked {
            if was == RecordedOutcome::Denied || was == RecordedOutcome::Absent {
                // No answer of the server's is recorded; the id must not stay taken.
                let nothing = ScriptedReply::Result(lines::least_result(asked.method));
                let _ = self.conversation.reply(&asked, &nothing).await;
            } else {
                self.waiting.insert(place, asked);
            }
        }
        let got = match got {
            Ok(got) => got,
            Err(broken) => {
                return vec![(
                    about,
                    TestDecision::Allow,
                    CurrentDecision::Unknown(broken.to_string()),
                )];
            }
        };
        let unsure = |decision, why: &str| {
            (
                about.clone(),
                decision,
                CurrentDecision::Unknown(why.to_owned()),
            )
        };
        let found = match was {
            RecordedOutcome::Untold => {
                unsure(TestDecision::Allow, "no answer tells what became of it")
            }
            RecordedOutcome::Absent if allowed => {
                unsure(TestDecision::Deny, "perhaps the other side did not have it")
            }
            RecordedOutcome::Absent => (about, TestDecision::Deny, CurrentDecision::Same),
            RecordedOutcome::Allowed => judged(about, TestDecision::Allow, got),
            RecordedOutcome::Denied => judged(about, TestDecision::Deny, got),
        };
        vec![found]
    }

    async fn notification(&mut self, from: Side, text: &str) -> ComparedDecisions {
        let message = Message::decode(text.as_bytes(), &Limits::default()).ok();
        let about = about(message.as_ref());
        self.conversation.clear();
        let (got, _) = self.conversation.frame(from, text).await;
        vec![match got {
            Ok(got) => judged(about, TestDecision::Allow, got),
            Err(broken) => (
                about,
                TestDecision::Allow,
                CurrentDecision::Unknown(broken.to_string()),
            ),
        }]
    }

    async fn reply(
        &mut self,
        from: Side,
        request: usize,
        asked_by: Option<&TranscriptMessage>,
        text: &str,
    ) -> ComparedDecisions {
        // Its request does not pass any more, or the gate answered it.
        let Some(asked) = self.waiting.remove(&request) else {
            return Vec::new();
        };
        let question = asked_by
            .and_then(|said| Message::decode(said.text.as_bytes(), &Limits::default()).ok());
        let about = format!("the answer to {}", about(question.as_ref()));
        let Ok(message) = Message::decode(text.as_bytes(), &Limits::default()) else {
            return Vec::new();
        };
        let content = |value: Value<'_>| Fragment::copy_of(value);
        let reply = match (message.result(), message.error()) {
            (Some(result), _) => ScriptedReply::Result(content(result)),
            (None, Some(error)) => ScriptedReply::Error(content(error)),
            (None, None) => return Vec::new(),
        };
        self.conversation.clear();
        let (got, delivered) = self.conversation.reply(&asked, &reply).await;
        // What an agent answers is not a question of policies.
        if from == Side::Agent {
            return Vec::new();
        }
        let mut found = hidden(asked.method, text, &delivered);
        found.push(match got {
            Ok(got) => judged(about, TestDecision::Allow, got),
            Err(broken) => (
                about,
                TestDecision::Allow,
                CurrentDecision::Unknown(broken.to_string()),
            ),
        });
        found
    }
}

/// What a list showed and does not show any more.
fn hidden(method: Option<KnownMethod>, recorded: &str, delivered: &[String]) -> ComparedDecisions {
    let list = ListKind::ALL.into_iter().map(|(_, list)| list);
    let mut list = list.filter(|list| method.is_some_and(|it| it.name() == list.method()));
    let Some(list) = list.next() else {
        return Vec::new();
    };
    let Some(was) = listing::names(recorded, list) else {
        return Vec::new();
    };
    let shown = delivered
        .first()
        .and_then(|line| listing::names(line, list));
    let shown = shown.unwrap_or_default();
    let told = was.into_iter().map(|name| {
        let now = if shown.contains(&name) {
            CurrentDecision::Same
        } else {
            CurrentDecision::Changed {
                policies: Vec::new(),
            }
        };
        let about = format!("`{name}` in a list of {}", list.member());
        (about, TestDecision::Allow, now)
    });
    told.collect()
}

/// What the gate decides now, where policies do.
fn judged(
    about: String,
    was: TestDecision,
    got: ActualOutcome,
) -> (String, TestDecision, CurrentDecision) {
    let by_policy = got.stage.as_deref() == Some(Stage::Decide.name());
    let now = if got.allowed() || by_policy {
        CurrentDecision::certain(was, got.decision, got.policies)
    } else if was == TestDecision::Deny {
        CurrentDecision::Same
    } else {
        let reason = got.reason.unwrap_or_default();
        CurrentDecision::Unknown(format!(
            "the gate refuses it before any policy is asked (`{reason}`)"
        ))
    };
    (about, was, now)
}

fn about(message: Option<&Message>) -> String {
    let tool = message.and_then(listing::called_tool);
    let method = message.and_then(Message::method);
    match (tool, method) {
        (Some(tool), _) => format!("a call of `{tool}`"),
        (None, Some(method)) => format!("`{}`", method.name()),
        (None, None) => "something".to_owned(),
    }
}
