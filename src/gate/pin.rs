//! Whether a tool or prompt is what the host has approved, and what is flagged in its definition:
//! `resource.pin` and `resource.flags` of policies.
//!
//! The lock of the snapshot that judges says what was approved, or else what was seen first; the
//! upstream's own lists say what there is.

use crate::guard::text::{Flag, Flags};
use crate::policy::{DefinitionFingerprint, Pin, Pinning, PolicySnapshot, Tool};
use crate::session::{Offer, PageItem, Session};
use crate::wire::{Definition, Value};

use super::faults::UpstreamFault;
use super::query::{About, Understood};
use super::seen::Seen;
use super::settings::{Level, Terms, ToolNames};
use super::stop::Stop;

/// What tells how the tools of one session are defined, how they were when they were first seen, and
/// how they may be called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pins<'p> {
    pub(super) session: &'p Session,
    pub(super) seen: &'p Seen,
    pub(super) names: ToolNames,
    pub(super) uris: Level,
}

impl<'p> Pins<'p> {
    pub(super) fn of_session(session: &'p Session, seen: &'p Seen, terms: &Terms) -> Self {
        Self {
            session,
            seen,
            names: terms.guards.tool_names,
            uris: terms.guards.uris,
        }
    }

    /// Of a tool as the upstream's lists define it.
    pub(super) fn of(&self, name: &str, snapshot: &PolicySnapshot) -> Pin {
        if !snapshot.lock().pins() {
            return Pin::default();
        }
        let state = self.session.state();
        self.held(name, state.lists.tools.definitions(name), snapshot)
    }

    /// The tool as policies see it.
    pub(super) fn tool(&self, name: &str, snapshot: &PolicySnapshot) -> Tool {
        Tool {
            pin: self.of(name, snapshot),
            flags: self.flags(name, snapshot),
            ..Tool::named(name)
        }
    }

    /// What is flagged in a tool as the upstream's lists define it.
    pub(super) fn flags(&self, name: &str, snapshot: &PolicySnapshot) -> Vec<String> {
        if snapshot.looks_for().flags {
            names_of(self.session.state().lists.tools.flags(name))
        } else {
            Vec::new()
        }
    }

    /// The same of a prompt.
    pub(super) fn prompt_flags(&self, name: &str, snapshot: &PolicySnapshot) -> Vec<String> {
        if snapshot.looks_for().flags {
            names_of(self.session.state().lists.prompts.flags(name))
        } else {
            Vec::new()
        }
    }

    /// Of a tool as an item of a list defines it.
    pub(super) fn of_item(&self, item: &PageItem, snapshot: &PolicySnapshot) -> Pin {
        if !snapshot.lock().pins() {
            return Pin::default();
        }
        let defined = item.definition.as_ref().map(|it| it.print);
        self.held(&item.name, defined, snapshot)
    }

    /// Of a prompt as the agent was shown it.
    pub(super) fn of_prompt(&self, name: &str, snapshot: &PolicySnapshot) -> Pin {
        if !snapshot.lock().pins() {
            return Pin::default();
        }
        let (shown, was_told) = {
            let prompts = &self.session.state().lists.prompts;
            (prompts.defined(name), prompts.was_told())
        };
        let pin = self.held_prompt(name, shown.as_ref().map(|it| it.print), snapshot);
        // Two definitions, a list that has changed, one that leaves it out: nobody vouches for it.
        if shown.is_none() && was_told {
            Pin {
                known: pin.known,
                ..Pin::default()
            }
        } else {
            pin
        }
    }

    /// Of a prompt as an item of a list defines it.
    pub(super) fn of_listed_prompt(&self, item: &PageItem, snapshot: &PolicySnapshot) -> Pin {
        if !snapshot.lock().pins() {
            return Pin::default();
        }
        let shown = item.definition.as_ref().map(|it| it.print);
        self.held_prompt(&item.name, shown, snapshot)
    }

    fn held_prompt(
        &self,
        name: &str,
        shown: Option<DefinitionFingerprint>,
        snapshot: &PolicySnapshot,
    ) -> Pin {
        let lock = snapshot.lock();
        let locked = lock.words().is_some_and(|it| it.prompts.contains_key(name));
        if lock.mode() == Pinning::TrustOnFirstUse && !locked {
            return self.seen.prompt_pin(name, shown);
        }
        lock.prompt_pin(name, shown)
    }

    fn held(
        &self,
        name: &str,
        defined: impl IntoIterator<Item = DefinitionFingerprint>,
        snapshot: &PolicySnapshot,
    ) -> Pin {
        let lock = snapshot.lock();
        if lock.mode() == Pinning::TrustOnFirstUse && lock.tool(name).is_none() {
            return self.seen.pin(name, defined, lock.passing());
        }
        lock.pin(name, defined)
    }
}

/// Says of each tool that is asked about whether it is the approved one.
///
/// # Errors
/// [`Stop::Park`] for a call while it is not known what the upstream offers, whatever tool is called:
/// what is approved must not show in how a call is answered.
pub(super) fn pin(
    understood: &mut Understood<'_>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
) -> Result<(), Stop> {
    if !snapshot.lock().pins() && !snapshot.looks_for().flags {
        return Ok(());
    }
    if let Some(name) = understood.asked_tool() {
        // The lock is given back before any arm takes it again.
        let (offer, why) = {
            let tools = &pins.session.state().lists.tools;
            (tools.offers(name), tools.fetch_fault().cloned())
        };
        match offer {
            Offer::Unknown => return Err(Stop::Park),
            Offer::Unlisted => return Err(UpstreamFault::unlisted(why.as_ref()).into()),
            Offer::NotOffered => {}
            Offer::Offered => is_read(name, snapshot, pins.session)?,
        }
    }
    for question in &mut understood.questions {
        question.about.pin(pins, snapshot);
    }
    Ok(())
}

impl About {
    /// Says of what is asked about whether it is the approved one, and what is flagged in it.
    pub(super) fn pin(&mut self, pins: Pins<'_>, snapshot: &PolicySnapshot) {
        match self {
            Self::Tool(tool) => {
                tool.pin = pins.of(&tool.name, snapshot);
                tool.flags = pins.flags(&tool.name, snapshot);
            }
            Self::Prompt(prompt) => {
                prompt.pin = pins.of_prompt(&prompt.name, snapshot);
                prompt.flags = pins.prompt_flags(&prompt.name, snapshot);
            }
            Self::Resource(_) | Self::Method(_) | Self::Server | Self::Client => {}
        }
    }
}

/// The list may have come before any policy looked at flags: then it is asked for again.
fn is_read(name: &str, snapshot: &PolicySnapshot, session: &Session) -> Result<(), Stop> {
    let mut state = session.state();
    if !snapshot.looks_for().flags || state.lists.tools.flags(name).is_some() {
        return Ok(());
    }
    state.lists.tools.forget();
    Err(Stop::Park)
}

/// What has not been looked at has every flag, so that a rule that forbids one of them holds.
pub(super) fn names_of(flags: Option<Flags>) -> Vec<String> {
    let unread = || {
        let every = Flag::ALL.iter().map(|flag| flag.name());
        every.chain([UNREAD]).map(str::to_owned).collect()
    };
    flags.map_or_else(unread, Flags::names)
}

/// What policies are told where nobody has looked.
const UNREAD: &str = "unread";

pub(super) fn fingerprint(definition: Value<'_>) -> DefinitionFingerprint {
    let Definition { schema, words } = Definition::of(definition);
    DefinitionFingerprint::of(&schema, &words)
}
