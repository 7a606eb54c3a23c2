//! What is taken out of texts.

use std::fmt;

/// What is taken out of texts, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HiddenKind {
    /// `<!-- … -->`
    Comment,
    /// Tags of HTML and XML. What stands between two of them stays.
    Tag,
    /// What has no width, and joiners where nothing is to be joined.
    ZeroWidth,
    /// Letters of the block of tags (U+E0000 to U+E007F), which models read and people do not see.
    TagCharacters,
    /// Variation selectors behind what has no variations.
    Selectors,
    /// What turns the direction of text, or marks it where there is none to mark.
    Bidi,
    /// Control characters, and the sequences for terminals that begin with them.
    Escapes,
    /// The end of a text that is longer than it may be.
    Length,
    /// White space at the ends.
    Margin,
}

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct HiddenKinds(u16);

impl HiddenKind {
    pub const ALL: [Self; 9] = [
        Self::Comment,
        Self::Tag,
        Self::ZeroWidth,
        Self::TagCharacters,
        Self::Selectors,
        Self::Bidi,
        Self::Escapes,
        Self::Length,
        Self::Margin,
    ];

    /// As the audit says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Tag => "tag",
            Self::ZeroWidth => "zero_width",
            Self::TagCharacters => "tag_characters",
            Self::Selectors => "selectors",
            Self::Bidi => "bidi",
            Self::Escapes => "escapes",
            Self::Length => "length",
            Self::Margin => "margin",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u8
    }
}

impl HiddenKinds {
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, kind: HiddenKind) -> bool {
        self.0 & kind.bit() != 0
    }

    pub fn add(&mut self, kind: HiddenKind) {
        self.0 |= kind.bit();
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = HiddenKind> {
        HiddenKind::ALL
            .into_iter()
            .filter(move |kind| self.contains(*kind))
    }
}

impl fmt::Debug for HiddenKinds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "[{self}]")
    }
}

/// The names, with commas between them.
impl fmt::Display for HiddenKinds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, kind) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(out, "{comma}{}", kind.name())?;
        }
        Ok(())
    }
}

impl FromIterator<HiddenKind> for HiddenKinds {
    fn from_iter<I: IntoIterator<Item = HiddenKind>>(kinds: I) -> Self {
        let mut all = Self::default();
        kinds.into_iter().for_each(|kind| all.add(kind));
        all
    }
}
