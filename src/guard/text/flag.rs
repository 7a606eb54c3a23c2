//! Names of what instructs a model.

use std::fmt;

use super::hidden_kinds::{HiddenKind, HiddenKinds};

/// Something in a text that instructs a model, or hides.
///
/// The names are what policies compare with: they are never changed, and new ones may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// Earlier instructions are to be ignored.
    Override,
    /// Something is to be kept from the user.
    Secrecy,
    /// Asks to act without asking.
    Unasked,
    /// A file with credentials is to be read or passed on.
    SensitiveFile,
    /// The conversation, or what the model was told, is to be given away.
    Conversation,
    /// Something is to be sent to an address.
    Exfiltration,
    /// An image whose address has a place for what is to be given away.
    Image,
    /// What other tools are given is to be changed.
    Redirection,
    /// Asks the model to assume another identity.
    Role,
    /// The text pretends to be another part of the conversation.
    Turn,
    /// A tag that asks for attention.
    Attention,
    /// A command that fetches and runs a program is to be run.
    Command,
    /// A comment.
    Comment,
    /// See [`HiddenKind`], as the rest of these.
    ZeroWidth,
    TagCharacters,
    Selectors,
    Bidi,
    Escapes,
}

/// A set of flags.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(u32);

impl Flag {
    pub const ALL: [Self; 18] = [
        Self::Override,
        Self::Secrecy,
        Self::Unasked,
        Self::SensitiveFile,
        Self::Conversation,
        Self::Exfiltration,
        Self::Image,
        Self::Redirection,
        Self::Role,
        Self::Turn,
        Self::Attention,
        Self::Command,
        Self::Comment,
        Self::ZeroWidth,
        Self::TagCharacters,
        Self::Selectors,
        Self::Bidi,
        Self::Escapes,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Secrecy => "secrecy",
            Self::Unasked => "unasked",
            Self::SensitiveFile => "sensitive_file",
            Self::Conversation => "conversation",
            Self::Exfiltration => "exfiltration",
            Self::Image => "image",
            Self::Redirection => "redirection",
            Self::Role => "role",
            Self::Turn => "turn",
            Self::Attention => "attention",
            Self::Command => "command",
            Self::Comment => HiddenKind::Comment.name(),
            Self::ZeroWidth => HiddenKind::ZeroWidth.name(),
            Self::TagCharacters => HiddenKind::TagCharacters.name(),
            Self::Selectors => HiddenKind::Selectors.name(),
            Self::Bidi => HiddenKind::Bidi.name(),
            Self::Escapes => HiddenKind::Escapes.name(),
        }
    }

    /// What hides. Tags are seen, and long texts are only long.
    fn of(kind: HiddenKind) -> Option<Self> {
        match kind {
            HiddenKind::Comment => Some(Self::Comment),
            HiddenKind::ZeroWidth => Some(Self::ZeroWidth),
            HiddenKind::TagCharacters => Some(Self::TagCharacters),
            HiddenKind::Selectors => Some(Self::Selectors),
            HiddenKind::Bidi => Some(Self::Bidi),
            HiddenKind::Escapes => Some(Self::Escapes),
            HiddenKind::Tag | HiddenKind::Length | HiddenKind::Margin => None,
        }
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl Flags {
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, flag: Flag) -> bool {
        self.0 & flag.bit() != 0
    }

    pub fn add(&mut self, flag: Flag) {
        self.0 |= flag.bit();
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL
            .into_iter()
            .filter(move |flag| self.contains(*flag))
    }

    /// As policies see them, in the order of [`Flag::ALL`].
    pub fn names(self) -> Vec<String> {
        self.iter().map(|flag| flag.name().to_owned()).collect()
    }
}

impl From<HiddenKinds> for Flags {
    fn from(kinds: HiddenKinds) -> Self {
        kinds.iter().filter_map(Flag::of).collect()
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<I: IntoIterator<Item = Flag>>(flags: I) -> Self {
        let mut all = Self::default();
        flags.into_iter().for_each(|flag| all.add(flag));
        all
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "[{self}]")
    }
}

/// The names, with commas between them.
impl fmt::Display for Flags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, flag) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(out, "{comma}{}", flag.name())?;
        }
        Ok(())
    }
}
