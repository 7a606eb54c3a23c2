//! Long texts of results: the agent gets an excerpt, the gate keeps the whole for it, and answers itself
//! when the agent reads on.
//!
//! What is kept has passed everything that the result has: it is without credentials, and cleaned. To
//! read it is asked of policies as the result was: `receive_result` of the tool.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::guard::{Preset, excerpt, piece};
use crate::policy::{Held, LooksFor, PolicySnapshot, Received, Tool};
use crate::session::{Keep, Ledger, Raised, Target};
use crate::wire::{KnownMethod, Side};

use super::Gate;
use super::decide::{self, Stop};
use super::excerpts::Output;
use super::forward::{Agent, AgentGone, Upstream};
use super::identify::{FIRST_STATELESS, Identified, Role};
use super::leaks::Look;
use super::links::Followed;
use super::own::{AnswerId, OwnMessage, Stateless};
use super::pin;
use super::ratchet;
use super::record::Trail;
use super::refuse::Refusal;
use super::rounds::owner;
use super::settings::Excerpts;
use super::shadow;
use super::talk::Talk;
use super::understand::{About, Asks, Doing, Question, Understood};

/// The scheme of what the gate keeps. No URI of it ever goes to the server.
const SCHEME: &str = "mcp-protector";
const PREFIX: &str = "mcp-protector://kept/";

const NOT_KEPT: &str = "They are not kept.";

/// How long a text is kept.
const KEPT_FOR: Duration = Duration::from_hours(1);

/// How much of all agents is kept, in multiples of what one may have.
const AGENTS: usize = 16;

/// What is kept, by the random part of its name.
#[derive(Debug, Default)]
pub(super) struct Kept(Ledger<String, Arc<Whole>>);

/// A text that was too long, and what it is a part of.
#[derive(Debug)]
struct Whole {
    text: String,
    tool: String,
    received: Received,
    /// What the facts were made for.
    looked_for: LooksFor,
}

/// A place in what may be kept.
#[derive(Debug)]
pub(super) struct Asked {
    uri: String,
    name: String,
    from: usize,
}

/// Shortens the texts of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortening<'g> {
    kept: &'g Kept,
    excerpts: &'g Excerpts,
    owner: &'g str,
    tool: &'g str,
    received: &'g Received,
    looked_for: LooksFor,
    output: Output<'g>,
    now: Duration,
}

impl Whole {
    /// What policies are told of it. Those of today may look for more than those of its day did.
    fn facts(&self, look: Look<'_>, looks_for: LooksFor) -> Received {
        let mut received = self.received.clone();
        if self.looked_for.and(looks_for) != self.looked_for {
            received.secrets.extend(look.secrets_of(&self.text));
            received.flags.extend(look.flags_of(&self.text));
            for found in [&mut received.secrets, &mut received.flags] {
                found.sort_unstable();
                found.dedup();
            }
        }
        received
    }

    /// What stands at a place, and where it goes on.
    fn piece(&self, asked: &Asked, most: usize) -> String {
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
    pub(super) fn holding(excerpts: Option<&Excerpts>) -> Self {
        let Some(excerpts) = excerpts else {
            return Self::default();
        };
        let all = excerpts.keep.saturating_mul(AGENTS);
        Self(Ledger::holding(excerpts.keep, all))
    }
}

impl Shortening<'_> {
    /// Bytes that the texts of a result may have, and its structured content.
    pub(super) fn over(self) -> usize {
        self.excerpts.over
    }

    pub(super) fn preset(self) -> Preset {
        let preset = self.excerpts.presets.get(self.tool);
        preset.copied().unwrap_or(Preset::Default)
    }

    pub(super) fn output(&self) -> Output<'_> {
        self.output
    }

    /// What stands for a text that is longer than that; `None` where it may stay.
    pub(super) fn shortened(self, text: &str, most: usize) -> Option<String> {
        let shown = excerpt(text, self.preset(), most)?;
        let gap = shown.gap();
        let (from, to, all) = (gap.start, gap.end, text.len());
        let kept = self.keep(text);
        let whole = kept.map_or_else(
            || NOT_KEPT.to_owned(),
            |name| format!("Read them as the resource {PREFIX}{name}?from={from}"),
        );
        let part = |range| text.get(range).unwrap_or_default();
        Some(format!(
            "{}\n[mcp-protector: bytes {from} to {to} of {all} are left out. {whole}]\n{}",
            part(shown.head),
            part(shown.tail)
        ))
    }

    /// Where a text can be read of which nothing is shown.
    pub(super) fn told(self, text: &str) -> String {
        let kept = self.keep(text);
        kept.map_or_else(
            || NOT_KEPT.to_owned(),
            |name| format!("Read all of it as the resource {PREFIX}{name}"),
        )
    }

    fn keep(self, text: &str) -> Option<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let name = format!("{:032x}", u128::from_be_bytes(random));
        let whole = Arc::new(Whole {
            text: text.to_owned(),
            tool: self.tool.to_owned(),
            received: self.received.clone(),
            looked_for: self.looked_for,
        });
        let keep = Keep {
            until: self.now + KEPT_FOR,
            bytes: text.len(),
        };
        let make = |_| (whole, keep);
        let noted = self.kept.0.note(self.owner, name.clone(), self.now, make);
        noted.ok().map(|()| name)
    }
}

/// What the tool may answer with, by the definition that it had when it was called.
fn output<'u>(understood: &'u Understood<'_>) -> Output<'u> {
    let Role::Reply(taken) = &understood.identified.role else {
        return Output::Unknown;
    };
    let offered = taken.exchange.offered.as_ref();
    let Some(schemas) = offered.and_then(|offered| offered.schemas.as_ref()) else {
        return Output::Unknown;
    };
    match schemas.output() {
        None => Output::Any,
        Some(Ok(schema)) => Output::Schema(schema),
        Some(Err(_)) => Output::Unknown,
    }
}

/// What a message asks for of what is kept, if it is that.
pub(super) fn asked(identified: &Identified<'_>) -> Option<Asked> {
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
    Some(Asked {
        name: name.to_owned(),
        from,
        uri: uri.into_owned(),
    })
}

/// Whether a message is about a resource of the gate's own in any other way: no server has it.
pub(super) fn names_ours(understood: &Understood<'_>) -> bool {
    let from_agent = understood.identified.from == Side::Agent;
    let is_ours = |question: &Question<'_>| matches!(&question.about, About::Resource(resource) if resource.scheme == SCHEME);
    from_agent && understood.questions.iter().any(is_ours)
}

impl Gate {
    /// How the texts of a result are to be shortened, if they are.
    pub(super) fn shortening<'g>(
        &'g self,
        understood: &'g Understood<'_>,
        snapshot: &PolicySnapshot,
    ) -> Option<Shortening<'g>> {
        let excerpts = self.settings.guards.excerpts.as_ref()?;
        let Target::Tool(tool) = &understood.target else {
            return None;
        };
        let mut questions = understood.questions.iter();
        let received = questions.find_map(|question| {
            if let Doing::ReceiveResult(received) = &question.doing {
                Some(received)
            } else {
                None
            }
        })?;
        Some(Shortening {
            kept: &self.kept,
            excerpts,
            owner: owner(&understood.identified.scene.agent),
            tool,
            received,
            looked_for: snapshot.looks_for(),
            output: output(understood),
            now: self.clock.elapsed(),
        })
    }

    /// Answers an agent that reads on.
    pub(super) async fn read_on<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        identified: Identified<'_>,
        asked: &Asked,
        snapshot: &Arc<PolicySnapshot>,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let (message, stream) = (identified.message, identified.stream);
        KnownMethod::ResourcesRead
            .check_params(message.params())
            .map_err(Refusal::from)?;
        let stateless = if *identified.scene.spoken.version >= *FIRST_STATELESS {
            Stateless::Yes
        } else {
            Stateless::No
        };
        let now = self.clock.elapsed();
        let whole = self
            .kept
            .0
            .get(owner(&identified.scene.agent), &asked.name, now);
        let target = Target::Resource(asked.uri.clone());
        let Some(whole) = whole else {
            trail.asks(&target, message);
            return Err(Refusal::NotKept.into());
        };
        let question = Question {
            asks: Asks::Agent,
            about: About::Tool(Tool::named(whole.tool.clone())),
            doing: Doing::ReceiveResult(whole.facts(self.look(snapshot), snapshot.looks_for())),
        };
        let mut understood = Understood {
            identified,
            questions: vec![question],
            target,
            followed: Followed::default(),
        };
        trail.understood(&understood);
        let (pins, at) = (self.pins(&talk.session), self.circumstances(&talk.session));
        pin::pin(&mut understood, snapshot, pins)?;
        trail.shadowed(shadow::shadow(&understood, snapshot, pins, at));
        let mut allowed = decide::decide(&understood, snapshot, pins, at)?;
        // Whoever reads on may do so in another session than that of the call.
        let brings = Held {
            level: whole.received.level,
            labels: whole.received.labels.iter().cloned().collect(),
            untrusted: false,
        };
        let brings = brings
            .join(&snapshot.labels().answers_of(&whole.tool))
            .join(&ratchet::obliged(&allowed));
        let raised = self.ratchet.raise(&talk.session, &brings).await;
        let Raised { before, after } = raised.map_err(Refusal::from)?;
        trail.raised(&before, &after);
        if *before != *understood.identified.scene.held {
            understood.identified.scene.held = before;
            allowed = decide::decide(&understood, snapshot, pins, at)?;
        }
        trail.allowed(&allowed);
        let record = trail.kept(now);
        self.audit.record(self.concealed(record)).await?;
        let most = self
            .settings
            .guards
            .excerpts
            .as_ref()
            .map_or(0, |it| it.over);
        let text = whole.piece(asked, most);
        let id = message
            .id()
            .map_or(AnswerId::Unreadable, |id| AnswerId::Json(id.json()));
        let answer = OwnMessage::contents(id, &asked.uri, &text, stateless);
        let told = self.tell(talk, Side::Agent, stream, answer).await;
        told.map_err(|AgentGone| Stop::AgentGone)
    }
}
