//! Long texts of results: the agent gets an excerpt, the gate keeps the whole for it, and answers itself
//! when the agent reads on.
//!
//! What is kept has passed everything that the result has: it is without credentials, and cleaned. To
//! read it is asked of policies as the result was: `receive_result` of what answered with it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::piece;
use crate::policy::{PolicySnapshot, Received, RequiredDetectors, SessionSensitivity};
use crate::session::{Keep, Ledger, Target};
use crate::wire::{KnownMethod, Side};

use super::classified::{Identified, Role};
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::local::{LocalAnswer, Piece};
use super::look::Look;
use super::query::{About, Asks, Doing, Question, Understood};
use super::rejection::{INVALID_PARAMS, Rejection};
use super::saver::Saver;
use super::settings::{Excerpts, OwnDirectories};
use super::stage::Stage;
use super::stop::Stop;
use super::uris;

/// The scheme of what the gate keeps. No URI of it ever goes to the server.
const SCHEME: &str = "mcp-protector";
const PREFIX: &str = "mcp-protector://kept/";

/// How long a text is kept, in milliseconds.
pub(super) const KEPT_FOR_MS: u32 = 60 * 60 * 1000;

/// How much of all agents is kept, in multiples of what one may have.
const AGENTS: usize = 16;

/// What is kept, by the random part of its name.
#[derive(Debug, Default)]
pub(super) struct Kept {
    texts: Ledger<String, Arc<Whole>>,
    /// What writes files, where any may be written.
    pub(super) saver: Option<Saver>,
}

/// A text that was too long, and what it is a part of.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) text: String,
    pub(super) origin: Arc<Origin>,
}

/// The result that a text came with; all of its texts share it.
#[derive(Debug)]
pub(super) struct Origin {
    /// What answered.
    pub(super) of: Target,
    pub(super) received: Received,
    /// What the facts were made for.
    pub(super) looked_for: RequiredDetectors,
    /// What the session had read with it.
    pub(super) brings: SessionSensitivity,
}

impl Origin {
    /// In bytes: what in it others have chosen the length of.
    fn weight(&self) -> usize {
        let Received {
            labels,
            datasets,
            secrets,
            flags,
            ..
        } = &self.received;
        let words = labels.iter().chain(datasets).chain(secrets).chain(flags);
        let name = match &self.of {
            Target::Tool(name) | Target::Resource(name) | Target::Prompt(name) => name.len(),
            Target::Method(_) | Target::Server => 0,
        };
        words.map(String::len).sum::<usize>().saturating_add(name)
    }
}

impl Whole {
    /// What policies are told of it. Those of today may look for more than those of its day did.
    fn facts(&self, look: Look<'_>, looks_for: RequiredDetectors) -> Received {
        let mut received = self.origin.received.clone();
        if self.origin.looked_for.and(looks_for) != self.origin.looked_for {
            received.secrets.extend(look.secrets_of(&self.text));
            received.flags.extend(look.flags_of(&self.text));
            for found in [&mut received.secrets, &mut received.flags] {
                found.sort_unstable();
                found.dedup();
            }
        }
        received
    }

    /// What policies are asked before any of it is told, as they were of the result.
    pub(super) fn questions(
        &self,
        look: Look<'_>,
        looks_for: RequiredDetectors,
    ) -> Vec<Question<'static>> {
        let question = Question {
            asks: Asks::Agent,
            about: About::of(&self.origin.of),
            doing: Doing::ReceiveResult(self.facts(look, looks_for)),
        };
        let again = uris::received_otherwise(&question, KnownMethod::ResourcesRead);
        [question].into_iter().chain(again).collect()
    }

    /// What an agent has read that reads a piece of it: as it was when the result came, and as the host says
    /// today.
    pub(super) fn brings(&self, snapshot: &PolicySnapshot) -> SessionSensitivity {
        let received = &self.origin.received;
        let brings = SessionSensitivity {
            level: received.level,
            labels: received.labels.iter().cloned().collect(),
            datasets: received.datasets.iter().cloned().collect(),
            ..SessionSensitivity::default()
        };
        brings
            .join(&self.origin.brings)
            .join(&self.labels(snapshot))
    }

    /// What answers of the tool bring, as the host says today.
    fn labels(&self, snapshot: &PolicySnapshot) -> SessionSensitivity {
        match &self.origin.of {
            Target::Tool(tool) => snapshot.labels().answers_of(tool),
            Target::Resource(uri) => snapshot.labels().lies_at(uri),
            Target::Prompt(_) | Target::Method(_) | Target::Server => SessionSensitivity::default(),
        }
    }

    /// What stands at a place, and where it goes on.
    pub(super) fn piece(&self, asked: &Piece, most: usize) -> String {
        let (name, all) = (&asked.name, self.text.len());
        let Range { start, end } = piece(&self.text, asked.from, most);
        let text = self.text.get(start..end).unwrap_or_default();
        if end == all {
            return text.to_owned();
        }
        format!(
            "{text}\n[mcp-protector: bytes {start} to {end} of {all}. Read on with {PREFIX}{name}?from={end}]\n"
        )
    }
}

impl Kept {
    pub(super) fn holding(excerpts: Option<&Excerpts>, directories: OwnDirectories) -> Self {
        let saver = match directories {
            OwnDirectories::Made => Some(Saver::default()),
            OwnDirectories::Stated => None,
        };
        let texts = excerpts.map(|excerpts| {
            let all = excerpts.keep.saturating_mul(AGENTS);
            Ledger::holding(excerpts.keep, all)
        });
        Self {
            texts: texts.unwrap_or_default(),
            saver,
        }
    }

    /// From now on; what is kept already goes when something else comes. Where nothing is shortened any
    /// more, what is kept stays as long as it would have.
    pub(super) fn hold(&self, excerpts: Option<&Excerpts>) {
        if let Some(excerpts) = excerpts {
            let all = excerpts.keep.saturating_mul(AGENTS);
            self.texts.hold(excerpts.keep, all);
        }
    }

    /// Keeps a text, and says where it can be read; `None` where it cannot be kept.
    pub(super) fn keep(&self, owner: &str, whole: Whole, now: Duration) -> Option<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let name = format!("{:032x}", u128::from_be_bytes(random));
        let keep = Keep {
            until: now + Duration::from_millis(KEPT_FOR_MS.into()),
            // As if each text had one of its own: the last one to go has all of it.
            bytes: whole.text.len().saturating_add(whole.origin.weight()),
        };
        let make = |_| (Arc::new(whole), keep);
        let noted = self.texts.note(owner, name.clone(), now, make);
        noted.ok().map(|()| format!("{PREFIX}{name}"))
    }

    /// The result that an agent reads on in, while it is kept.
    pub(super) fn get(&self, agent: &str, name: &String, now: Duration) -> Option<Arc<Whole>> {
        self.texts.get(agent, name, now)
    }
}

/// What a message asks for of what is kept, if it is that.
fn asked(identified: &Identified<'_>) -> Option<Piece> {
    let Role::Request {
        method: KnownMethod::ResourcesRead,
        ..
    } = identified.role
    else {
        return None;
    };
    let uri = identified.message.params()?.get("uri")?.as_str()?;
    let (scheme, _) = uri.split_once(':')?;
    (identified.from == Side::Agent && scheme.eq_ignore_ascii_case(SCHEME)).then_some(())?;
    // What is no name of ours is the name of nothing.
    let rest = uri.strip_prefix(PREFIX).unwrap_or_default();
    let (name, from) = rest.split_once("?from=").unwrap_or((rest, "0"));
    let is_number = from.bytes().all(|byte| byte.is_ascii_digit());
    let (name, from) = match from.parse() {
        Ok(from) if is_number => (name, from),
        // With it the whole is no name of ours: an end of the text would say that nothing is left.
        Ok(_) | Err(_) => (rest, 0),
    };
    Some(Piece {
        name: name.to_owned(),
        from,
        uri: uri.into_owned(),
    })
}

/// Rejects every use of a result that the gate keeps, but to read it.
#[derive(Debug)]
pub(super) struct KeptResults;

impl Filter for KeptResults {
    fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        cx.trail.effects.local_answer = asked(&cx.understood.identified).map(LocalAnswer::Piece);
        Ok(())
    }

    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        if names_ours(&cx.understood) {
            return Err(not_kept().into());
        }
        Flow::DONE
    }
}

/// Whether a message is about a resource of the gate's own in any other way: no server has it.
fn names_ours(understood: &Understood<'_>) -> bool {
    let from_agent = understood.identified.from == Side::Agent;
    let is_ours = |question: &Question<'_>| matches!(&question.about, About::Resource(resource) if resource.scheme == SCHEME);
    from_agent && understood.questions.iter().any(is_ours)
}

/// Which of them it is, and why it is gone, is not told.
pub(super) fn not_kept() -> Rejection {
    let text = "no such result is kept for this agent, or not any more";
    Rejection::new(Stage::Understand, "result_expired", INVALID_PARAMS, text)
}
