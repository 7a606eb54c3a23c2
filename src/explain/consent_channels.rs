//! The channels by which a gate can ask a person.

use crate::consent;

/// The channels by which a gate can ask a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConsentChannels {
    /// There is no configuration that says so.
    #[default]
    Unknown,
    NoChannel,
    /// In these ways.
    Asked(Vec<consent::Way>),
}

impl ConsentChannels {
    pub(super) fn told(&self) -> String {
        match self {
            Self::Unknown => {
                "a person would be asked, if the configuration has `[consent]`".to_owned()
            }
            Self::NoChannel => "no person can be asked: there is no `[consent]`".to_owned(),
            Self::Asked(ways) => {
                let ways: Vec<&str> = ways.iter().map(|way| in_words(*way)).collect();
                format!("a person would be asked, by {}", ways.join(" or "))
            }
        }
    }
}

fn in_words(way: consent::Way) -> &'static str {
    match way {
        consent::Way::Page => "the page or the command line",
        consent::Way::Elicitation => "a form of the agent's client (`elicitation`)",
    }
}
