//! Tools, prompts and instructions that are not the approved ones: each change is told once.

use std::borrow::Cow;

use tracing::warn;

use crate::audit::{self, AuditFault, Record};
use crate::guard::text::SuspiciousWords;
use crate::policy::{
    ChangeKinds, DefinitionFingerprint, LOCK_DRIFT, LOCK_PROMPT_DRIFT, Pin, Pinning,
    PolicySnapshot, ServerKey,
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
    outcome: Outcome,
    definition: Value<'m>,
}

/// What it is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Approved<'s> {
    /// By the lock, in this form.
    As(&'s str),
    /// The lock says that there are none.
    None,
    /// The lock says nothing of it: what the gate saw first counts.
    FirstSeen,
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
    (snapshot, words): (&PolicySnapshot, &SuspiciousWords),
    drifts: &[Drift<'_>],
) -> Result<(), AuditFault> {
    for (index, drift) in drifts.iter().enumerate() {
        let news = seen.tell(&drift.key(), drift.print);
        if news == News::Old {
            continue;
        }
        let why = drift.why(snapshot, seen, words);
        match drift.outcome {
            Outcome::Hidden => {
                let (subject, remedy) = (drift.subject(), drift.remedy(snapshot));
                warn!("{subject} not the approved one: {why}; {remedy}");
            }
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

    fn why(&self, snapshot: &PolicySnapshot, seen: &Seen, words: &SuspiciousWords) -> String {
        let what = match (self.outcome, self.of) {
            (Outcome::Passes, _) | (Outcome::Hidden, Of::Prompt) => "its definition differs",
            (Outcome::Hidden, Of::Instructions) => "they differ",
            (Outcome::Hidden, Of::Tool) => match (self.pin.schema_ok, self.pin.description_ok) {
                (false, false) => "its schemas and what else it says differ",
                (false, true) => "its schemas differ",
                (true, _) => "what it says beside its schemas differs",
            },
        };
        let now = self.digest();
        match self.approved(snapshot) {
            Approved::As(approved) => {
                let change = self.change(approved, words);
                let approved = locked_digest(approved);
                format!("{what}{change}; SHA-256 {now}, approved {approved}")
            }
            Approved::None => format!("none are approved; SHA-256 {now}"),
            Approved::FirstSeen => {
                let first = match self.of {
                    Of::Tool => seen.first_text(&self.name),
                    // Their texts are not kept.
                    Of::Prompt | Of::Instructions => None,
                };
                let change = first.map(|first| self.change(&first, words));
                let change = change.unwrap_or_default();
                format!("{what} from what was seen first{change}; SHA-256 {now}")
            }
        }
    }

    /// What an operator can do who wants it as it is now.
    fn remedy(&self, snapshot: &PolicySnapshot) -> Cow<'static, str> {
        Cow::Borrowed(match (self.approved(snapshot), self.of) {
            (Approved::As(_) | Approved::None, _) => {
                let approve = self.approval(snapshot.lock().server());
                return Cow::Owned(format!(
                    "`mcp-protector tools diff` shows what, and `tools approve{approve}` accepts it"
                ));
            }
            (Approved::FirstSeen, Of::Tool) => {
                "a restart of the gate accepts it, and `policy.pinning_passes` lets changes of such kinds pass"
            }
            (Approved::FirstSeen, Of::Prompt | Of::Instructions) => {
                "a restart of the gate accepts it"
            }
        })
    }

    /// What the command names, behind a space. Nothing where the server has chosen a name that a shell
    /// reads as more than a word.
    fn approval(&self, server: Option<&ServerKey>) -> String {
        let id = server.map_or_else(|| self.name.clone(), |key| key.id_of(&self.name));
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-./".contains(char);
        let is_word = id.starts_with(|char: char| char.is_ascii_alphanumeric());
        match (self.of, server) {
            (Of::Instructions, None) => " --instructions".to_owned(),
            (Of::Instructions, Some(key)) => format!(" --instructions={key}"),
            (Of::Tool | Of::Prompt, _) if !is_word || !id.chars().all(is_plain) => String::new(),
            (Of::Tool, _) => format!(" {id}"),
            (Of::Prompt, _) => format!(" --prompt {id}"),
        }
    }

    fn approved<'s>(&self, snapshot: &'s PolicySnapshot) -> Approved<'s> {
        let lock = snapshot.lock();
        let of = match (self.of, lock.words()) {
            (Of::Tool, _) => lock.tool(&self.name).map(|it| &it.definition),
            (Of::Prompt, words) => words
                .and_then(|it| it.prompts.get(&self.name))
                .map(|it| &it.definition),
            (Of::Instructions, Some(words)) => match words.instructions() {
                Some(approved) => Some(approved),
                None => return Approved::None,
            },
            (Of::Instructions, None) => None,
        };
        of.map_or(Approved::FirstSeen, |approved| Approved::As(approved))
    }

    /// How it differs from what it was, in brackets; nothing where that cannot be read.
    fn change(&self, before: &str, words: &SuspiciousWords) -> String {
        let (kinds, before, now) = if self.of == Of::Instructions {
            (String::new(), before.len(), self.text().len())
        } else {
            let Ok(before) = Document::decode(before.as_bytes(), &Limits::default()) else {
                return String::new();
            };
            let kinds = match self.of {
                Of::Tool => changes::kinds(before.root(), self.definition, words),
                // Its kinds are those of a tool.
                Of::Prompt | Of::Instructions => ChangeKinds::default(),
            };
            let before = before.root().canonical().len();
            (kinds.to_string(), before, self.text().len())
        };
        let colon = if kinds.is_empty() { "" } else { ": " };
        format!(" ({kinds}{colon}{before} bytes before, {now} now)")
    }

    /// Its text if it is one, as the lock has instructions; otherwise its JSON.
    fn text(&self) -> Cow<'m, str> {
        let text = self.definition.as_str();
        let text = text.filter(|_| self.of == Of::Instructions);
        text.unwrap_or_else(|| self.definition.canonical().into())
    }

    fn digest(&self) -> String {
        locked_digest(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::policy::{Lock, LockedTexts};

    #[test]
    fn what_to_do_about_a_change_depends_on_what_it_is_held_to() {
        let restart = "a restart of the gate accepts it";
        let passes = "`policy.pinning_passes`";
        let approve = "`tools approve --instructions` accepts it";
        let given = Document::decode(br#"{"name":"a"}"#, &Limits::default()).unwrap();
        let words = |instructions: Option<&str>| LockedTexts {
            instructions: instructions
                .map(|text| (None, text.into()))
                .into_iter()
                .collect(),
            prompts: std::collections::BTreeMap::new(),
        };
        for (of, words, says, is_silent_of) in [
            (Of::Tool, None, restart, approve),
            (Of::Tool, None, passes, approve),
            (Of::Prompt, None, restart, passes),
            (Of::Prompt, Some(words(None)), restart, approve),
            (Of::Instructions, None, restart, passes),
            (Of::Instructions, Some(words(None)), approve, restart),
            (Of::Instructions, Some(words(Some("b"))), approve, restart),
        ] {
            let lock = Lock::default()
                .with_words(words)
                .with_mode(Pinning::TrustOnFirstUse);
            let snapshot = PolicySnapshot::new(Vec::new(), Vec::new(), Vec::new());
            let snapshot = snapshot.with_lock(Arc::new(lock));
            let drift = Drift {
                of,
                ..Drift::of_instructions(given.root())
            };
            let remedy = drift.remedy(&snapshot);
            assert!(remedy.contains(says), "{of:?}: {remedy}");
            assert!(!remedy.contains(is_silent_of), "{of:?}: {remedy}");
        }
    }

    #[test]
    fn what_to_approve_is_named_where_a_shell_reads_it_as_one_word() {
        let given = Document::decode(b"{}", &Limits::default()).unwrap();
        let check = |of, name: &str, of_one: &str, of_several: &str| {
            let drift = Drift {
                of,
                name: name.to_owned(),
                ..Drift::of_instructions(given.root())
            };
            let crm = ServerKey::of("crm");
            assert_eq!(drift.approval(None), of_one, "{name}");
            assert_eq!(drift.approval(crm.as_ref()), of_several, "{name}");
        };
        check(Of::Tool, "read_file", " read_file", " crm/read_file");
        check(Of::Prompt, "a.b", " --prompt a.b", " --prompt crm/a.b");
        check(
            Of::Instructions,
            "",
            " --instructions",
            " --instructions=crm",
        );
        check(Of::Tool, "--all", "", " crm/--all");
        for unsafe_name in ["a b", "a;b", "$(a)", "`a`", "a\nb", "a'b", "ä", ""] {
            let of_several = if unsafe_name.is_empty() { " crm/" } else { "" };
            check(Of::Tool, unsafe_name, "", of_several);
        }
    }
}
