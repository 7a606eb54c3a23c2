//! Definitions of tools that the host has approved, and the instructions and prompts beside them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::action::Action;
use super::change_kinds::ChangeKinds;
use super::decision::{PolicyId, PolicyOrigin, Reason};
use super::facts::{Facts, Pin, Resource};
use super::server_key::ServerKey;
use super::shape::{MismatchKind, RecordShape, TypeMismatch};
use super::source::PolicyEntry;

/// The name under which a call is refused whose arguments are not what its tool takes.
pub const ARGUMENTS: &str = "lock.arguments";

/// The policy in `builtin/lock.cedar` that forbids a tool whose definition is not the approved one.
pub const DRIFT: &str = "lock.drift";

/// The same for a prompt.
pub const PROMPT_DRIFT: &str = "lock.prompt-drift";

/// Which tool definitions the gate accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pinning {
    /// The gate shows only tools that the lock approves.
    Enforce,
    /// A locked tool keeps its approved definition; the lock does not affect other tools.
    #[default]
    Locked,
    /// The same, and any other tool keeps the definition that the gate saw first.
    TrustOnFirstUse,
    /// Definitions may change. The lock still types the arguments of calls.
    Off,
}

/// What stands for it among the policies.
pub(super) fn entry() -> PolicyEntry {
    PolicyEntry {
        id: PolicyId::new(ARGUMENTS),
        origin: PolicyOrigin {
            file: "<tools.lock>".into(),
            line: 0,
        },
        text: "// A call must have the arguments that `tools.lock` says its tool takes.".into(),
        server: None,
    }
}

/// Every approved definition. An empty one says nothing of any tool, unless it is enforced.
#[derive(Debug, Clone, Default)]
pub struct Lock {
    mode: Pinning,
    /// Changes of a definition that was seen first which pass.
    passing: ChangeKinds,
    /// The one of several servers that it is of.
    server: Option<ServerKey>,
    /// By exact name.
    tools: BTreeMap<String, LockedTool>,
    /// `None` where the lock says nothing of them.
    words: Option<LockedTexts>,
}

/// One approved definition.
#[derive(Debug, Clone)]
pub struct LockedTool {
    pub fingerprint: DefinitionFingerprint,
    /// The whole definition as JSON.
    pub definition: Arc<str>,
    /// What its calls take, or why that cannot be said.
    pub arguments: Result<RecordShape, String>,
    pub origin: PolicyOrigin,
}

/// What an agent reads of a server beside its tools, as it was approved.
#[derive(Debug, Clone, Default)]
pub struct LockedTexts {
    /// By server, a single one without a key. What is not there is not approved.
    pub instructions: BTreeMap<Option<ServerKey>, Arc<str>>,
    /// By exact name.
    pub prompts: BTreeMap<String, LockedPrompt>,
}

/// One approved prompt.
#[derive(Debug, Clone)]
pub struct LockedPrompt {
    pub fingerprint: DefinitionFingerprint,
    /// The whole definition as JSON.
    pub definition: Arc<str>,
}

/// What tells definitions apart: a server may choose their texts so that a weaker hash does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefinitionFingerprint {
    schema: [u8; 32],
    words: [u8; 32],
}

impl DefinitionFingerprint {
    /// Of canonical texts: what goes in and out, and all else that an agent reads.
    pub fn of(schema: &str, words: &str) -> Self {
        Self {
            schema: Sha256::digest(schema).into(),
            words: Sha256::digest(words).into(),
        }
    }

    /// One digest of both.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.schema);
        hash.update(self.words);
        hash.finalize().into()
    }
}

impl Lock {
    pub fn new(tools: BTreeMap<String, LockedTool>) -> Self {
        Self {
            tools,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn with_mode(mut self, mode: Pinning) -> Self {
        self.mode = mode;
        self
    }

    #[must_use]
    pub fn with_words(mut self, words: Option<LockedTexts>) -> Self {
        self.words = words;
        self
    }

    #[must_use]
    pub(super) fn at(mut self, server: &ServerKey) -> Self {
        self.server = Some(server.clone());
        self
    }

    /// The one of several servers that it is of.
    pub fn server(&self) -> Option<&ServerKey> {
        self.server.as_ref()
    }

    /// What is approved beside tools, if the lock speaks of that.
    pub fn words(&self) -> Option<&LockedTexts> {
        self.words.as_ref()
    }

    #[must_use]
    pub fn with_passing(mut self, passing: ChangeKinds) -> Self {
        self.passing = passing;
        self
    }

    pub fn passing(&self) -> ChangeKinds {
        self.passing
    }

    pub fn mode(&self) -> Pinning {
        self.mode
    }

    /// Whether any definition is held to anything.
    pub fn pins(&self) -> bool {
        match self.mode {
            Pinning::Enforce | Pinning::TrustOnFirstUse => true,
            Pinning::Locked => !self.is_empty(),
            Pinning::Off => false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.words.is_none()
    }

    pub fn tool(&self, name: &str) -> Option<&LockedTool> {
        self.tools.get(name)
    }

    /// In the order of names.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &LockedTool)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool))
    }

    /// Those whose arguments have types.
    pub fn typed(&self) -> impl Iterator<Item = (&str, &RecordShape)> {
        self.tools()
            .filter_map(|(name, tool)| Some((name, tool.arguments.as_ref().ok()?)))
    }

    /// Whether a tool is what was approved. Of several definitions, as different lists gave them,
    /// all must be; without any, nothing is in order.
    pub fn pin(&self, name: &str, defined: impl IntoIterator<Item = DefinitionFingerprint>) -> Pin {
        match self.tools.get(name) {
            Some(tool) if self.mode != Pinning::Off => tool.fingerprint.pin(defined),
            Some(_) | None => Pin::default(),
        }
    }

    /// The same of a prompt, by the definition that an agent was shown, if it was shown one.
    pub fn prompt_pin(&self, name: &str, defined: Option<DefinitionFingerprint>) -> Pin {
        match &self.words {
            Some(words) if self.mode != Pinning::Off => words.pin(name, defined),
            Some(_) | None => Pin::default(),
        }
    }

    /// The pin of a tool that is as the lock says, or as it was first seen.
    pub fn unchanged(&self, name: &str) -> Pin {
        let known = match self.mode {
            Pinning::Enforce | Pinning::Locked => self.tools.contains_key(name),
            Pinning::TrustOnFirstUse => true,
            Pinning::Off => false,
        };
        Pin {
            known,
            schema_ok: known,
            description_ok: known,
        }
    }

    /// Why a call is refused whatever the policies say.
    pub(super) fn refuses(&self, facts: &Facts<'_>) -> Option<Reason> {
        let (Action::CallTool { arguments, .. }, Resource::Tool(tool)) =
            (facts.action, facts.resource)
        else {
            return None;
        };
        let locked = self.tools.get(&tool.name)?;
        let record = locked.arguments.as_ref().ok()?;
        Some(locked.reason(&record.fit(arguments).err()?))
    }
}

impl DefinitionFingerprint {
    /// What definitions come to if this is the approved one.
    pub fn pin(&self, defined: impl IntoIterator<Item = Self>) -> Pin {
        let mut pin = Pin {
            known: true,
            ..Pin::default()
        };
        for (index, defined) in defined.into_iter().enumerate() {
            let before = index == 0;
            pin.schema_ok = (before || pin.schema_ok) && defined.schema == self.schema;
            pin.description_ok = (before || pin.description_ok) && defined.words == self.words;
        }
        pin
    }
}

impl LockedTexts {
    /// The instructions of a single server that are approved.
    pub fn instructions(&self) -> Option<&Arc<str>> {
        self.instructions.get(&None)
    }

    /// Whether a prompt is what was approved. A prompt that no list has shown counts as approved.
    fn pin(&self, name: &str, defined: Option<DefinitionFingerprint>) -> Pin {
        match (self.prompts.get(name), defined) {
            (Some(prompt), Some(defined)) => prompt.fingerprint.pin([defined]),
            (Some(prompt), None) => prompt.fingerprint.pin([prompt.fingerprint]),
            (None, _) => Pin::default(),
        }
    }
}

impl LockedTool {
    pub(super) fn reason(&self, misfit: &TypeMismatch) -> Reason {
        let advice = match misfit.problem {
            MismatchKind::Missing => format!("{misfit}, and `tools.lock` requires it"),
            MismatchKind::IsNot(_) => format!("{misfit}, as `tools.lock` says"),
            MismatchKind::Inexact | MismatchKind::Repeated => misfit.to_string(),
        };
        Reason {
            policy: PolicyId::new(ARGUMENTS),
            origin: self.origin.clone(),
            code: Some("arguments".into()),
            advice: Some(advice.into()),
            on_deny: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_holds_only_if_every_definition_that_was_seen_is_the_approved_one() {
        let one = DefinitionFingerprint::of("{}", "a");
        let words = DefinitionFingerprint::of("{}", "b");
        let schema = DefinitionFingerprint::of("[]", "a");
        let tool = LockedTool {
            fingerprint: one,
            definition: "{}".into(),
            arguments: Ok(RecordShape::default()),
            origin: PolicyOrigin {
                file: "tools.lock".into(),
                line: 1,
            },
        };
        let lock = Lock::new(BTreeMap::from([("t".to_owned(), tool)]));
        let check = |name: &str, defined: &[DefinitionFingerprint], expected: [bool; 3]| {
            let pin = lock.pin(name, defined.iter().copied());
            assert_eq!([pin.known, pin.schema_ok, pin.description_ok], expected);
        };
        check("t", &[one], [true, true, true]);
        check("t", &[one, one], [true, true, true]);
        check("t", &[words], [true, true, false]);
        check("t", &[schema], [true, false, true]);
        check("t", &[one, words], [true, true, false]);
        check("t", &[words, one], [true, true, false]);
        check("t", &[schema, words], [true, false, false]);
        check("t", &[], [true, false, false]);
        check("u", &[one], [false, false, false]);
        let nothing = Lock::default().pin("t", [one]);
        assert_eq!(nothing, Pin::default());
        let off = lock.clone().with_mode(Pinning::Off);
        assert_eq!(off.pin("t", [words]), Pin::default());
    }

    #[test]
    fn what_is_held_to_a_definition_depends_on_the_mode_and_never_on_what_is_missing() {
        let check = |mode, pins: bool| {
            assert_eq!(Lock::default().with_mode(mode).pins(), pins, "{mode:?}");
        };
        check(Pinning::Enforce, true);
        check(Pinning::TrustOnFirstUse, true);
        check(Pinning::Locked, false);
        check(Pinning::Off, false);
    }
}
