//! The words of the format.

use super::suggest;

/// The tables of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixtureSection {
    File,
    Agent,
    Client,
    Test,
    Session,
    Consent,
    Step,
    Send,
    Result,
    Error,
    Expect,
}

impl FixtureSection {
    const ALL: [Self; 11] = [
        Self::File,
        Self::Agent,
        Self::Client,
        Self::Test,
        Self::Session,
        Self::Consent,
        Self::Step,
        Self::Send,
        Self::Result,
        Self::Error,
        Self::Expect,
    ];

    /// Where the table stands, and the whole vocabulary of the format.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::File => (
                "at the top of the file",
                "suite gate now allow extensions tools prompts resources descriptions server servers agents test",
            ),
            Self::Agent => (
                "in an agent of `[agents]`",
                "roles teams user trust client capabilities claims",
            ),
            Self::Client => ("in `client`", "name version"),
            Self::Test => (
                "in a `[[test]]`",
                "name agent agents server endpoint view now session consent links changed_tools changed_prompts from send call connect args \
                 list listed hidden raw result received expect steps replay unknown",
            ),
            Self::Session => (
                "in `session`",
                "level labels datasets untrusted sources untrusted_from calls age",
            ),
            Self::Consent => ("in `consent`", "granted scope by age"),
            Self::Step => (
                "in one of `steps`",
                "server endpoint view after consent from send call connect args list listed hidden raw result received expect",
            ),
            Self::Send => ("in `send`", "method params meta"),
            Self::Result => ("in `result`", "text is_error json error raw"),
            Self::Error => ("in `error`", "code message"),
            Self::Expect => (
                "in `expect`",
                "decision policies policies_exact obligations edits upstream_receives code advice reason errors",
            ),
        }
    }

    pub(super) fn keys(self) -> impl Iterator<Item = &'static str> {
        self.words().1.split(' ')
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.keys().any(|known| known == key)
    }

    /// Keys that later versions will have.
    pub(super) fn later(self) -> &'static [&'static str] {
        if self == Self::File {
            &["sessions", "defaults"]
        } else if self == Self::Test || self == Self::Step {
            &["skip"]
        } else {
            &[]
        }
    }

    /// What to say of a key that the section does not have, and what to do about it.
    pub(super) fn about_unknown(self, key: &str) -> (String, String) {
        if self.later().contains(&key) {
            let message = format!("`{key}` is not available in this version");
            return (message, "remove it".to_owned());
        }
        if let Some((_, name)) = OTHER_WORDS.iter().find(|(word, _)| *word == key) {
            return (format!("unknown key `{key}`"), format!("write `{name}`"));
        }
        let elsewhere = || {
            let others = Self::ALL.into_iter();
            others.rev().find(|other| other.has(key))
        };
        let help = match (suggest::did_you_mean(key, self.keys()), elsewhere()) {
            (Some(question), _) => question,
            (None, Some(other)) => format!("`{key}` belongs {}", other.words().0),
            (None, None) => format!("known {}: {}", self.words().0, suggest::list(self.keys())),
        };
        (format!("unknown key `{key}`"), help)
    }
}

/// Names that a key had before or has in the protocol, and its name here.
const OTHER_WORDS: [(&str, &str); 5] = [
    ("arguments", "args"),
    ("because", "policies"),
    ("because_exactly", "policies_exact"),
    ("reaches", "upstream_receives"),
    ("visible", "listed"),
];

/// Every key of the format.
#[cfg(test)]
pub(super) fn vocabulary() -> impl Iterator<Item = &'static str> {
    let sections = FixtureSection::ALL.iter();
    sections.flat_map(|section| section.keys())
}
