//! How a kind of credential is written down.

use super::super::compiled::{Before, Compiled, Place, Proof};
use super::super::error::RuleError;

/// A kind of credential.
pub(in super::super) struct Row {
    pub(in super::super) id: &'static str,
    pub(in super::super) keywords: &'static [&'static str],
    form: Form,
    proof: Proof,
    /// Where the pattern begins: so many bytes before a keyword, by default at it.
    ///
    /// A pattern that begins at a place is given up at the first byte that does not fit, most often
    /// the one after the keyword; looked for in a window, the same pattern took a hundred times as
    /// long.
    offsets: &'static [usize],
}

#[derive(Clone, Copy)]
enum Form {
    /// It tells itself; a word may not go on on either side of it.
    Token { pattern: &'static str, after: usize },
    /// It is told by a name, to which it is given.
    Named {
        name: &'static str,
        value: &'static str,
    },
    /// The same by a name of no issuer: nothing is between the two but what must be.
    Guess {
        name: &'static str,
        value: &'static str,
    },
    /// The same by the word `token`, which is the name of other things as well.
    TokenGuess { value: &'static str },
    /// The same as an option of a command: `--name value`.
    Option {
        name: &'static str,
        value: &'static str,
    },
    /// As the pattern says, with no more around it.
    Text { pattern: &'static str, after: usize },
}

/// Bytes of the longest credentials that are not made for many lines.
const ONE_LINE: usize = 2400;

/// Bytes of the longest keys.
const MANY_LINES: usize = 16 * 1024;

/// Quotes, of code, of Markdown and of HTML, and colours of a terminal; however often escaped.
macro_rules! quotes {
    () => {
        concat!(
            r#"(?:\\*["'`\]*]|&(?:quot|apos|#34|#39|#x27);"#,
            r"|(?:\x1b|\\(?:u001|x1)[bB]|\\033|\\e)\[[0-9;]*m| )",
        )
    };
}

/// What says that a value follows: the next cell of a table, or the member beside that of a name, as
/// in lists of variables (`name: A`, `value: b`).
macro_rules! beside {
    () => {
        concat!(
            r" *\| *|",
            r#"(?:[\s,]|\\+[nrt])+\\*["']?(?i:value)\\*["']?\s{0,4}[:=]\s{0,4}"#,
        )
    };
}

/// What may stand between a name and what it is given: the rest of the name, its quotes, what
/// assigns, the quotes of the value. All of that may be inside a string, with escapes.
const GIVEN: &str = concat!(
    r"[A-Za-z0-9_. \-]{0,32}",
    quotes!(),
    r"{0,3}(?:\s{0,4}",
    r"(?::=|=>|==?|:|,|>|\\(?:u003|x3)[dD]|\bis\b|(?:--?[A-Za-z\-]{1,24})?\s)\s{0,4}|",
    beside!(),
    ")",
    quotes!(),
    r"{0,4}(?:(?i:bearer|basic|token|bot)\s)?",
);

/// The same for names that are everywhere in ordinary texts (`token_id`, `password of the day: …`).
const GIVEN_DIRECTLY: &str = concat!(
    "s?(?i:[_.-]?(?:key|value|secret|token|password|prod|production|dev|staging|live|base|raw",
    "|string|text|env|[0-9]{1,3})){0,2}",
    quotes!(),
    r"{0,3}(?:\s{0,4}(?::=|=>|==?|:|>|\\(?:u003|x3)[dD])\s{0,4}|",
    beside!(),
    ")",
    quotes!(),
    r"{0,4}(?:(?i:bearer|basic|token|bot)\s)?",
);

/// A value is no part of a longer word, of a path or of base64.
const ENDS: &str = r"(?:$|(?u:[^A-Za-z0-9+/_\-]))";

impl Row {
    /// A credential with a form of its own. `entropy` is in tenths of a bit per byte.
    pub(super) const fn token(
        id: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
        entropy: u8,
    ) -> Self {
        let after = ONE_LINE;
        Self::new(
            id,
            keywords,
            Form::Token { pattern, after },
            Proof::Form(entropy),
        )
    }

    /// The same, of up to 16 KiB.
    pub(super) const fn long_token(
        id: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
        entropy: u8,
    ) -> Self {
        let after = MANY_LINES;
        Self::new(
            id,
            keywords,
            Form::Token { pattern, after },
            Proof::Form(entropy),
        )
    }

    /// A credential that is told only by the name of what it is for.
    pub(super) const fn named(
        id: &'static str,
        keywords: &'static [&'static str],
        name: &'static str,
        value: &'static str,
        entropy: u8,
    ) -> Self {
        Self::new(
            id,
            keywords,
            Form::Named { name, value },
            Proof::Form(entropy),
        )
    }

    /// What is said to be secret and looks so.
    pub(super) const fn guess(
        id: &'static str,
        keywords: &'static [&'static str],
        name: &'static str,
        value: &'static str,
        entropy: u8,
    ) -> Self {
        Self::new(
            id,
            keywords,
            Form::Guess { name, value },
            Proof::Guess(entropy),
        )
    }

    /// The same of what is called a token, and of no list.
    pub(super) const fn token_guess(
        id: &'static str,
        keywords: &'static [&'static str],
        value: &'static str,
        entropy: u8,
    ) -> Self {
        Self::new(
            id,
            keywords,
            Form::TokenGuess { value },
            Proof::Guess(entropy),
        )
    }

    /// The same after an option of a command.
    pub(super) const fn option(
        id: &'static str,
        keywords: &'static [&'static str],
        name: &'static str,
        value: &'static str,
        entropy: u8,
    ) -> Self {
        Self::new(
            id,
            keywords,
            Form::Option { name, value },
            Proof::Guess(entropy),
        )
    }

    /// A credential in its surroundings, of which the group `secret` is the credential.
    pub(super) const fn text(
        id: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
        entropy: u8,
    ) -> Self {
        let after = ONE_LINE;
        Self::new(
            id,
            keywords,
            Form::Text { pattern, after },
            Proof::Form(entropy),
        )
    }

    /// The same, of up to 16 KiB.
    pub(super) const fn long(
        id: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
        entropy: u8,
    ) -> Self {
        let after = MANY_LINES;
        Self::new(
            id,
            keywords,
            Form::Text { pattern, after },
            Proof::Form(entropy),
        )
    }

    /// The pattern begins so many bytes before a keyword.
    pub(super) const fn at(self, offsets: &'static [usize]) -> Self {
        Self { offsets, ..self }
    }

    /// What matches must look like a secret.
    pub(super) const fn guessed(self) -> Self {
        let least = match self.proof {
            Proof::Entropy(least) | Proof::Form(least) | Proof::Guess(least) => least,
        };
        Self {
            proof: Proof::Guess(least),
            ..self
        }
    }

    const fn new(
        id: &'static str,
        keywords: &'static [&'static str],
        form: Form,
        proof: Proof,
    ) -> Self {
        Self {
            id,
            keywords,
            form,
            proof,
            offsets: &[0],
        }
    }

    pub(in super::super) fn compiled(&self) -> Result<Compiled, RuleError> {
        let (pattern, before, after) = match self.form {
            Form::Token { pattern, after } => {
                let pattern = format!(r"(?:{pattern})\b{{end-half}}");
                (pattern, Before::NoWord, after)
            }
            Form::Named { name, value } => {
                let pattern = format!("(?i:{name}){GIVEN}(?<secret>{value}){ENDS}");
                (pattern, Before::Anything, ONE_LINE)
            }
            Form::Guess { name, value } => {
                let pattern = format!("(?i:{name}){GIVEN_DIRECTLY}(?<secret>{value}){ENDS}");
                (pattern, Before::Anything, ONE_LINE)
            }
            Form::TokenGuess { value } => {
                let pattern = format!("(?i:token){GIVEN_DIRECTLY}(?<secret>{value}){ENDS}");
                (pattern, Before::NoHandle, ONE_LINE)
            }
            Form::Option { name, value } => {
                let pattern = format!("{name}[a-z0-9-]{{0,16}}[ =][\"']?(?<secret>{value}){ENDS}");
                (pattern, Before::Dashes, ONE_LINE)
            }
            Form::Text { pattern, after } => (pattern.to_owned(), Before::Anything, after),
        };
        let place = Place::Anchored {
            offsets: self.offsets,
            before,
            after,
        };
        Compiled::of_row(self.id, &format!(r"\A(?:{pattern})"), place, self.proof)
    }
}
