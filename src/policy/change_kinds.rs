//! How a definition differs from the one that was seen first.

use std::fmt;

/// One way in which a definition differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// A title, a hint, a few letters, or an argument or output that may be omitted.
    Adds,
    /// Words say something else.
    Rewords,
    /// The schemas demand something else, or a member differs that no other kind describes.
    Weakens,
    /// Words instruct a model, or are suspicious, and did not or were not before.
    Instructs,
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangeKinds(u8);

impl ChangeKind {
    pub const ALL: [Self; 4] = [Self::Adds, Self::Rewords, Self::Weakens, Self::Instructs];

    /// As the configuration and records say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adds => "adds",
            Self::Rewords => "rewords",
            Self::Weakens => "weakens",
            Self::Instructs => "instructs",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl ChangeKinds {
    pub fn add(&mut self, kind: ChangeKind) {
        self.0 |= kind.bit();
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the other set has all of these.
    pub fn are_among(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }
}

impl FromIterator<ChangeKind> for ChangeKinds {
    fn from_iter<I: IntoIterator<Item = ChangeKind>>(kinds: I) -> Self {
        let mut all = Self::default();
        kinds.into_iter().for_each(|kind| all.add(kind));
        all
    }
}

/// The names, with commas between them.
impl fmt::Display for ChangeKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = ChangeKind::ALL.into_iter();
        let names = kinds
            .filter(|kind| self.0 & kind.bit() != 0)
            .map(ChangeKind::name);
        f.write_str(&names.collect::<Vec<_>>().join(", "))
    }
}
