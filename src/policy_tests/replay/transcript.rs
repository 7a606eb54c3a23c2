//! Recorded messages, sent through the gate again.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::fixture::{Decision, Listed, Reply, Test};
use super::super::got::Got;
use super::super::judge::{Asked, Bench, Conversation};
use super::super::{lines, listing};
use super::said::{Role, Said, Was};
use super::{Compared, Now};
use crate::gate::Stage;
use crate::wire::{Fragment, KnownMethod, Limits, Message, Side, Value};

pub(super) async fn compare(bench: &Bench<'_>, test: &Test, said: &[Said]) -> Vec<Compared> {
    let tools = tools(said);
    let mut compared = Vec::new();
    let mut played = Played {
        bench,
        test,
        tools: &tools,
        conversation: Conversation::begin(bench, test, &tools),
        waiting: HashMap::new(),
    };
    for (place, one) in said.iter().enumerate() {
        let found = match &one.role {
            Role::Unclear(why) => vec![(
                "something".to_owned(),
                Decision::Allow,
                Now::Unknown((*why).to_owned()),
            )],
            Role::Request(from, was) => played.request(place, *from, *was, &one.text).await,
            Role::Notification(from) => played.notification(*from, &one.text).await,
            Role::Reply(from, request) => {
                let asked = said.get(*request);
                played.reply(*from, *request, asked, &one.text).await
            }
        };
        compared.extend(found.into_iter().map(|(about, was, now)| Compared {
            line: one.line,
            about,
            was,
            now,
        }));
    }
    compared
}

/// What was there: what was called, and what was listed.
fn tools(said: &[Said]) -> Vec<String> {
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

type Found = Vec<(String, Decision, Now)>;

struct Played<'p> {
    bench: &'p Bench<'p>,
    test: &'p Test,
    tools: &'p [String],
    conversation: Conversation<'p>,
    /// The requests that were let through, by their place.
    waiting: HashMap<usize, Asked>,
}

impl Played<'_> {
    async fn request(&mut self, place: usize, from: Side, was: Was, text: &str) -> Found {
        let message = Message::decode(text.as_bytes(), &Limits::default()).ok();
        let method = message.as_ref().and_then(|it| it.method()?.known());
        if method == Some(KnownMethod::Initialize) {
            // Another session.
            self.conversation = Conversation::begin(self.bench, self.test, self.tools);
            self.waiting.clear();
        }
        self.conversation.clear();
        let about = about(message.as_ref());
        let (got, asked) = self.conversation.frame(from, text).await;
        let allowed = asked.is_some();
        if let Some(asked) = asked {
            if was == Was::Denied || was == Was::Absent {
                // No answer of the server's is recorded; the id must not stay taken.
                let nothing = Reply::Result(lines::least_result(asked.method));
                let _ = self.conversation.reply(&asked, &nothing).await;
            } else {
                self.waiting.insert(place, asked);
            }
        }
        let got = match got {
            Ok(got) => got,
            Err(broken) => {
                return vec![(about, Decision::Allow, Now::Unknown(broken.to_string()))];
            }
        };
        let unsure = |decision, why: &str| (about.clone(), decision, Now::Unknown(why.to_owned()));
        let found = match was {
            Was::Untold => unsure(Decision::Allow, "no answer tells what became of it"),
            Was::Absent if allowed => {
                unsure(Decision::Deny, "perhaps the other side did not have it")
            }
            Was::Absent => (about, Decision::Deny, Now::Same),
            Was::Allowed => judged(about, Decision::Allow, got),
            Was::Denied => judged(about, Decision::Deny, got),
        };
        vec![found]
    }

    async fn notification(&mut self, from: Side, text: &str) -> Found {
        let message = Message::decode(text.as_bytes(), &Limits::default()).ok();
        let about = about(message.as_ref());
        self.conversation.clear();
        let (got, _) = self.conversation.frame(from, text).await;
        vec![match got {
            Ok(got) => judged(about, Decision::Allow, got),
            Err(broken) => (about, Decision::Allow, Now::Unknown(broken.to_string())),
        }]
    }

    async fn reply(
        &mut self,
        from: Side,
        request: usize,
        asked_by: Option<&Said>,
        text: &str,
    ) -> Found {
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
            (Some(result), _) => Reply::Result(content(result)),
            (None, Some(error)) => Reply::Error(content(error)),
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
            Ok(got) => judged(about, Decision::Allow, got),
            Err(broken) => (about, Decision::Allow, Now::Unknown(broken.to_string())),
        });
        found
    }
}

/// What a list showed and does not show any more.
fn hidden(method: Option<KnownMethod>, recorded: &str, delivered: &[String]) -> Found {
    let list = Listed::ALL.into_iter().map(|(_, list)| list);
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
            Now::Same
        } else {
            Now::Changed {
                policies: Vec::new(),
            }
        };
        let about = format!("`{name}` in a list of {}", list.member());
        (about, Decision::Allow, now)
    });
    told.collect()
}

/// What the gate decides now, where policies do.
fn judged(about: String, was: Decision, got: Got) -> (String, Decision, Now) {
    let by_policy = got.stage.as_deref() == Some(Stage::Decide.name());
    let now = if got.allowed() || by_policy {
        Now::certain(was, got.decision, got.policies)
    } else if was == Decision::Deny {
        Now::Same
    } else {
        let reason = got.reason.unwrap_or_default();
        Now::Unknown(format!(
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
