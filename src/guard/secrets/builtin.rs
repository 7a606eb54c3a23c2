//! The kinds of credentials that are known: the rules of `builtin.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::compiled::{CompiledSecretRule, Lookbehind, MatchCheck, SearchPosition};
use super::rule::tenths;

/// A kind of credential, under the keys of gitleaks and some more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleRow {
    pub(super) id: String,
    pub(super) keywords: Vec<String>,
    regex: String,
    /// In bits per byte.
    entropy: f64,
    #[serde(default)]
    form: RuleForm,
    #[serde(default)]
    name: String,
    #[serde(default)]
    guessed: bool,
    #[serde(default)]
    long: bool,
    /// Where the pattern begins: so many bytes before a keyword, by default at it.
    ///
    /// A pattern that begins at a place is given up at the first byte that does not fit, most often
    /// the one after the keyword; looked for in a window, the same pattern took a hundred times as
    /// long.
    #[serde(default = "at_keyword")]
    at: Vec<usize>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleForm {
    /// Its form identifies it. No letter, digit or underscore stands on either side.
    #[default]
    Token,
    /// A name before it says what it is.
    Named,
    /// The same with a name of no issuer, directly before it.
    Guess,
    /// The same with the word `token`, which also names other things.
    TokenGuess,
    /// The same as an option of a command: `--name value`.
    Option,
    /// As the pattern says, with no more around it. The group `secret` is the credential.
    Text,
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

/// In the order of their precedence.
///
/// # Panics
///
/// Never: the file is constant.
#[expect(clippy::expect_used, reason = "every test reads the file")]
pub(super) fn rows() -> &'static [RuleRow] {
    #[derive(Deserialize)]
    struct RuleFile {
        rules: Vec<RuleRow>,
    }
    static FILE: LazyLock<RuleFile> = LazyLock::new(|| {
        toml::from_str(include_str!("builtin.toml")).expect("the rules that are built in are valid")
    });
    &FILE.rules
}

/// One rule for each row. All users of this process share what is compiled of them.
pub(super) fn compiled() -> &'static [CompiledSecretRule] {
    static COMPILED: LazyLock<Vec<CompiledSecretRule>> =
        LazyLock::new(|| rows().iter().map(RuleRow::compiled).collect());
    &COMPILED
}

fn at_keyword() -> Vec<usize> {
    vec![0]
}

impl RuleRow {
    fn compiled(&'static self) -> CompiledSecretRule {
        let Self { regex, name, .. } = self;
        let least = tenths(self.entropy);
        let (pattern, before, proof) = match self.form {
            RuleForm::Token => {
                let pattern = format!(r"(?:{regex})\b{{end-half}}");
                (pattern, Lookbehind::NoWord, MatchCheck::Form(least))
            }
            RuleForm::Named => {
                let pattern = format!("(?i:{name}){GIVEN}(?<secret>{regex}){ENDS}");
                (pattern, Lookbehind::Anything, MatchCheck::Form(least))
            }
            RuleForm::Guess => {
                let pattern = format!("(?i:{name}){GIVEN_DIRECTLY}(?<secret>{regex}){ENDS}");
                (pattern, Lookbehind::Anything, MatchCheck::Guess(least))
            }
            RuleForm::TokenGuess => {
                let pattern = format!("(?i:token){GIVEN_DIRECTLY}(?<secret>{regex}){ENDS}");
                (pattern, Lookbehind::NoHandle, MatchCheck::Guess(least))
            }
            RuleForm::Option => {
                let pattern = format!("{name}[a-z0-9-]{{0,16}}[ =][\"']?(?<secret>{regex}){ENDS}");
                (pattern, Lookbehind::Dashes, MatchCheck::Guess(least))
            }
            RuleForm::Text if self.guessed => (
                regex.clone(),
                Lookbehind::Anything,
                MatchCheck::Guess(least),
            ),
            RuleForm::Text => (regex.clone(), Lookbehind::Anything, MatchCheck::Form(least)),
        };
        let place = SearchPosition::Anchored {
            offsets: &self.at,
            before,
            after: if self.long { MANY_LINES } else { ONE_LINE },
        };
        CompiledSecretRule::built_in(&self.id, format!(r"\A(?:{pattern})"), place, proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        assert!(compiled().len() > 300);
        for rule in compiled() {
            let row = rows().iter().find(|row| row.id == rule.id.as_str());
            let is_token = matches!(row.unwrap().form, RuleForm::Token);
            // Compiles it.
            assert!(rule.has_form() || !is_token, "{:?}", rule.id);
        }
    }
}
