//! Tools, prompts and instructions that are not the approved ones: each change is told once.

use std::borrow::Cow;

use tracing::warn;

use crate::audit::{self, AuditFault, Record};
use crate::guard::text::SuspiciousWords;
use crate::policy::{
    ChangeKinds, DefinitionFingerprint, LOCK_DRIFT, LOCK_PROMPT_DRIFT, Pin, Pinning, PolicySnapshot,
};
use crate::session::{Page, PageItem};
use crate::wire::{Document, KnownMethod, Limits, Side, Stream, Value};

use super::Gate;
use super::changes;
use super::digest::locked_digest;
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::own::{Occasion, OwnMessage};
use super::page::ListKind;
use super::pin::Pins;
use super::recorder::Recorder;
use super::seen::{INSTRUCTIONS, Meeting, News, PASSES, PROMPT, Seen};
use super::stop::Stop;
use super::talk::Talk;

/// Something as a server defines it, and not as it was approved.
#[derive(Debug)]
pub(super) struct Drift<'m> {
    of: Of,
    /// Empty for instructions.
    name: String,
    print: DefinitionFingerprint,
    pin: Pin,
    /// How it differs from what was seen first, where that was kept.
    kinds: ChangeKinds,
    outcome: Outcome,
    definition: Value<'m>,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Hidden,
    Passes,
}

/// The tools of a list that are not as they were seen first, and pass: changes of these kinds may.
pub(super) fn passing<'m>(
    list: Value<'m>,
    kind: ListKind,
    page: &Page,
    (snapshot, pins): (&PolicySnapshot, Pins<'_>),
    words: &SuspiciousWords,
) -> Vec<Drift<'m>> {
    let lock = snapshot.lock();
    if kind != ListKind::Tools || lock.mode() != Pinning::TrustOnFirstUse {
        return Vec::new();
    }
    let all: Vec<Value<'m>> = list.items().collect();
    let items = page.items.iter().filter_map(|item| {
        let definition = *all.get(item.index)?;
        let print = item.definition.as_ref()?.print;
        if lock.tool(&item.name).is_some() {
            return None;
        }
        let met = pins
            .seen
            .meet(&item.name, print, definition.text(), lock.passing());
        let Meeting::Differs(Some(first)) = met else {
            return None;
        };
        let first = Document::decode(first.as_bytes(), &Limits::default()).ok()?;
        let kinds = changes::kinds(first.root(), definition, words);
        if kinds.is_empty() || !kinds.are_among(lock.passing()) {
            return None;
        }
        if !pins.seen.pass(&item.name, print, kinds) {
            return None;
        }
        Some(Drift {
            of: Of::Tool,
            name: item.name.clone(),
            print,
            pin: Pin::default(),
            kinds,
            outcome: Outcome::Passes,
            definition,
        })
    });
    items.collect()
}

/// What a definition is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Tool,
    Prompt,
    Instructions,
}

/// Those among items of a list.
pub(super) fn drifts<'m, 'i>(
    list: Value<'m>,
    kind: ListKind,
    items: impl Iterator<Item = &'i PageItem>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
) -> Vec<Drift<'m>> {
    let of = match kind {
        ListKind::Tools => Of::Tool,
        ListKind::Prompts => Of::Prompt,
        // Nobody approves what is only named.
        ListKind::Resources | ListKind::ResourceTemplates => return Vec::new(),
    };
    if !snapshot.lock().pins() {
        return Vec::new();
    }
    let changed = items.filter_map(|item| {
        let pin = match of {
            Of::Prompt => pins.of_listed_prompt(item, snapshot),
            Of::Tool | Of::Instructions => pins.of_item(item, snapshot),
        };
        let changed = pin.known && !(pin.schema_ok && pin.description_ok);
        Some((item, item.definition.as_ref()?.print, pin)).filter(|_| changed)
    });
    let changed: Vec<_> = changed.collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let all: Vec<Value<'m>> = list.items().collect();
    let drift = |(item, print, pin): (&PageItem, DefinitionFingerprint, Pin)| {
        Some(Drift {
            of,
            name: item.name.clone(),
            print,
            pin,
            kinds: ChangeKinds::default(),
            outcome: Outcome::Hidden,
            definition: *all.get(item.index)?,
        })
    };
    changed.into_iter().filter_map(drift).collect()
}

/// Records and logs each change that has not been told yet, whichever session it was seen in.
///
/// # Errors
/// [`AuditFault`] if the audit cannot take the record. The next list tries again.
pub(super) async fn tell_of(
    (recorder, seen): (&Recorder, &Seen),
    base: &Record,
    snapshot: &PolicySnapshot,
    drifts: &[Drift<'_>],
) -> Result<(), AuditFault> {
    for (index, drift) in drifts.iter().enumerate() {
        let news = seen.tell(&drift.key(), drift.print);
        if news == News::Old {
            continue;
        }
        let why = drift.why(snapshot);
        match drift.outcome {
            Outcome::Hidden => warn!(
                "{} not the approved one: {why}; `mcp-protector tools diff` shows what, and `tools approve` accepts it",
                drift.subject()
            ),
            Outcome::Passes => warn!(
                "{} not the one that was seen first, and passes: {why}",
                drift.subject()
            ),
        }
        if news == News::Last {
            warn!("so many definitions have changed that the gate records no more of them");
        }
        let told = recorder.record(drift.record(base.clone(), snapshot, why));
        if let Err(fault) = told.await {
            seen.forget(&drift.key(), drift.print);
            // Nothing passes without its record.
            for untold in drifts.iter().skip(index) {
                if untold.outcome == Outcome::Passes {
                    seen.unpass(&untold.name, untold.print);
                }
            }
            return Err(fault);
        }
    }
    Ok(())
}

impl Gate {
    /// Tells an agent that has listed tools that its list has changed, where it could not know. What
    /// cannot be recorded is not said.
    ///
    /// # Errors
    /// [`Stop::AgentGone`] when it can no longer be told anything.
    pub(super) async fn tell_agent_of<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        drifts: &[Drift<'_>],
    ) -> Result<(), Stop> {
        const CHANGED: KnownMethod = KnownMethod::ToolsListChanged;
        let is_news = {
            let mut state = talk.session.state();
            let hears =
                state.lists.listed.contains(&CHANGED) && state.lists.promised.contains(&CHANGED);
            hears
                && state
                    .lists
                    .drifts
                    .found(drifts.iter().map(|it| (it.name.as_str(), it.print)))
        };
        if !is_news {
            return Ok(());
        }
        if let Err(fault) = self.record_own(talk, Occasion::Drift, Side::Agent).await {
            warn!("a notification could not be recorded, and is not sent: {fault}");
            return Ok(());
        }
        let changed = OwnMessage::list_changed(CHANGED);
        self.tell(talk, Side::Agent, Stream::MAIN, changed)
            .await
            .map_err(|AgentGone| Stop::AgentGone)
    }
}

impl<'m> Drift<'m> {
    /// Instructions that are not the approved ones.
    pub(super) fn of_instructions(given: Value<'m>) -> Self {
        Self {
            of: Of::Instructions,
            name: String::new(),
            print: DefinitionFingerprint::of("", &given.canonical()),
            pin: Pin::default(),
            kinds: ChangeKinds::default(),
            outcome: Outcome::Hidden,
            definition: given,
        }
    }

    /// No two kinds have one, since no name of a tool has controls.
    fn key(&self) -> Cow<'_, str> {
        match self.of {
            Of::Tool if self.outcome == Outcome::Passes => {
                Cow::Owned(format!("{PASSES}{}", self.name))
            }
            Of::Tool => Cow::Borrowed(&self.name),
            Of::Prompt => Cow::Owned(format!("{PROMPT}{}", self.name)),
            Of::Instructions => Cow::Borrowed(INSTRUCTIONS),
        }
    }

    fn subject(&self) -> String {
        let name = self.name.escape_debug();
        match self.of {
            Of::Tool => format!("the definition of `{name}` is"),
            Of::Prompt => format!("the definition of the prompt `{name}` is"),
            Of::Instructions => "what the server says of itself (`instructions`) is".to_owned(),
        }
    }

    /// What changes are told apart by.
    pub(super) fn named(&self) -> (String, DefinitionFingerprint) {
        (self.name.clone(), self.print)
    }

    fn record(&self, base: Record, snapshot: &PolicySnapshot, why: String) -> Record {
        let code = match self.of {
            Of::Tool if self.outcome == Outcome::Passes => "tool_change_passes",
            Of::Tool => "tool_changed",
            Of::Prompt => "prompt_changed",
            Of::Instructions => "instructions_changed",
        };
        let record = base
            .event(audit::Event::DefinitionChanged)
            .revision(snapshot.revision().as_str())
            .reason(audit::Reason::code(code).with_text(why));
        match self.of {
            Of::Tool if self.outcome == Outcome::Passes => record.target(self.name.as_str()),
            Of::Tool => record.target(self.name.as_str()).policies([LOCK_DRIFT]),
            Of::Prompt => record
                .target(self.name.as_str())
                .policies([LOCK_PROMPT_DRIFT]),
            Of::Instructions => record,
        }
    }

    /// Whether agents lose it.
    pub(super) fn is_hidden(&self) -> bool {
        self.outcome == Outcome::Hidden
    }

    fn why(&self, snapshot: &PolicySnapshot) -> String {
        if self.outcome == Outcome::Passes {
            return format!("the change {}; SHA-256 {}", self.kinds, self.digest());
        }
        let lock = snapshot.lock();
        let (what, approved) = match self.of {
            Of::Tool => {
                let what = match (self.pin.schema_ok, self.pin.description_ok) {
                    (false, false) => "its schemas and what else it says differ",
                    (false, true) => "its schemas differ",
                    (true, _) => "what it says beside its schemas differs",
                };
                (what, lock.tool(&self.name).map(|it| &it.definition))
            }
            Of::Prompt => {
                let prompts = lock.words().map(|it| &it.prompts);
                let locked = prompts.and_then(|it| it.get(&self.name));
                ("its definition differs", locked.map(|it| &it.definition))
            }
            Of::Instructions => match lock.words().map(|it| &it.instructions) {
                Some(None) => return format!("none are approved; SHA-256 {}", self.digest()),
                Some(Some(approved)) => ("they differ", Some(approved)),
                None => ("they differ", None),
            },
        };
        let now = self.digest();
        match approved {
            Some(approved) => {
                let approved = locked_digest(approved);
                format!("{what}; SHA-256 {now}, approved {approved}")
            }
            None => format!("{what} from what was seen first; SHA-256 {now}"),
        }
    }

    /// Of instructions, that of their text, as the lock has them.
    fn digest(&self) -> String {
        let text = self
            .definition
            .as_str()
            .filter(|_| self.of == Of::Instructions);
        locked_digest(&text.unwrap_or_else(|| self.definition.canonical().into()))
    }
}
