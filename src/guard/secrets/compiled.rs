//! A rule that can be asked.

use std::error::Error;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};

use super::entropy::bits_per_byte;
use super::error::RuleError;
use super::escape;
use super::finding::RuleId;
use super::probes::{Caches, LARGEST_CACHE, PatternProbe, ScanBudget};
use super::rule::SecretRule;
use super::token_names;

/// Bytes that a compiled pattern of an author may take.
const LARGEST_PATTERN: usize = 512 * 1024;

/// Bytes of an option before what names a secret.
const LONGEST_OPTION: usize = 34;

/// The group that is the secret, where it is not all of the match.
pub(super) const SECRET: &str = "secret";

/// Words that stand in examples and never in a credential by chance. Lower case.
const EXAMPLES: [&str; 8] = [
    "example",
    "placeholder",
    "xxxxxxxx",
    "********",
    "abcdefgh",
    "12345678901",
    "0123456789",
    "changeme",
];

/// More such words. They could stand in a secret that people choose, so they count only against
/// rules that guess.
const DOUBTS: [&str; 15] = [
    "your", "xxxx", "dummy", "sample", "insert", "replace", "secret", "password", "token", "test-",
    "test_", "fake", "sha1", "sha256", "sha512",
];

#[derive(Clone)]
pub(super) struct CompiledSecretRule {
    pub(super) id: RuleId,
    pub(super) place: SearchPosition,
    pattern: SecretPattern,
    proof: MatchCheck,
}

#[derive(Clone)]
enum SecretPattern {
    OfAuthor(Arc<Automata>),
    /// Compiled at the first text with one of its keywords: a gate meets few of the several hundred kinds.
    BuiltIn(Arc<PatternSource>),
}

struct PatternSource {
    text: String,
    automata: OnceLock<Automata>,
}

struct Automata {
    pattern: Regex,
    /// The same pattern, of a rule whose place is [`SearchPosition::Anchored`].
    trier: Option<PatternProbe>,
    /// The number of the group that is the secret.
    secret: Option<usize>,
}

impl PatternSource {
    /// # Panics
    ///
    /// Never: the rules that are built in are constant.
    #[expect(
        clippy::expect_used,
        reason = "a test compiles every rule that is built in"
    )]
    fn automata(&self) -> &Automata {
        self.automata
            .get_or_init(|| Automata::built_in(&self.text).expect("a built-in rule is valid"))
    }
}

impl Automata {
    fn new(pattern: Regex, trier: Option<PatternProbe>) -> Self {
        let secret = pattern
            .capture_names()
            .position(|name| name == Some(SECRET));
        Self {
            pattern,
            trier,
            secret,
        }
    }

    /// A pattern of ours: classes are of ASCII, which keeps its automaton small and quick.
    fn built_in(pattern: &str) -> Result<Self, Box<dyn Error>> {
        let trier = PatternProbe::new(pattern)?;
        let pattern = RegexBuilder::new(pattern)
            .unicode(false)
            .dfa_size_limit(LARGEST_CACHE)
            .build()?;
        Ok(Self::new(pattern, Some(trier)))
    }
}

/// Where a pattern is tried.
#[derive(Debug, Clone, Copy)]
pub(super) enum SearchPosition {
    /// Anywhere in so many bytes round a keyword.
    Window { before: usize, after: usize },
    /// Where it must begin if the keyword is part of it.
    Anchored {
        /// How far before the keyword that may be.
        offsets: &'static [usize],
        before: Lookbehind,
        /// Bytes of what matches, at most.
        after: usize,
    },
}

/// What must stand before a match.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lookbehind {
    Anything,
    /// No letter, digit or underscore, but for those of an escape.
    NoWord,
    /// The rest of an option, from its dashes on.
    Dashes,
    /// No word by which a token is one of a place in a list, or the like.
    NoHandle,
}

/// What a match must be besides a match. Entropies are in tenths of a bit per byte.
#[derive(Debug, Clone, Copy)]
pub(super) enum MatchCheck {
    /// An author's rule: as they say.
    Entropy(u8),
    /// The form tells it, if it is no example.
    Form(u8),
    /// Only the name in front tells it: letters and digits, and no word of an example.
    Guess(u8),
}

/// Where a pattern matched.
pub(super) struct Match {
    pub(super) whole: Range<usize>,
    pub(super) secret: Range<usize>,
}

impl Lookbehind {
    /// Whether a match may follow this text.
    pub(super) fn allows(self, text: &[u8]) -> bool {
        match self {
            Self::Anything => true,
            Self::NoWord => {
                let of_word = |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'_';
                !text.last().is_some_and(of_word) || escape::ends_with_one(text)
            }
            Self::Dashes => {
                let word = text.iter().rev().take(LONGEST_OPTION);
                let of_word = |&&byte: &&u8| byte.is_ascii_alphanumeric() || byte == b'-';
                let start = text.len() - word.take_while(of_word).count();
                text.get(start..)
                    .is_some_and(|word| word.starts_with(b"--"))
                    && !token_names::leads_to(text)
            }
            Self::NoHandle => !token_names::leads_to(text),
        }
    }
}

impl CompiledSecretRule {
    pub(super) fn of_author(rule: &SecretRule) -> Result<Self, RuleError> {
        let pattern = RegexBuilder::new(&rule.pattern)
            .size_limit(LARGEST_PATTERN)
            .dfa_size_limit(LARGEST_CACHE)
            .build()
            .map_err(|error| refused(&rule.id, &error))?;
        if matches_nothing(&pattern) {
            return Err(RuleError::Empty {
                rule: rule.id.clone(),
            });
        }
        let place = SearchPosition::Window {
            before: 256,
            after: 2048,
        };
        let proof = MatchCheck::Entropy(rule.min_entropy.unwrap_or(0));
        Ok(Self {
            id: RuleId::new(&rule.id),
            place,
            pattern: SecretPattern::OfAuthor(Arc::new(Automata::new(pattern, None))),
            proof,
        })
    }

    pub(super) fn built_in(
        id: &str,
        text: String,
        place: SearchPosition,
        proof: MatchCheck,
    ) -> Self {
        let automata = OnceLock::new();
        Self {
            id: RuleId::new(id),
            place,
            pattern: SecretPattern::BuiltIn(Arc::new(PatternSource { text, automata })),
            proof,
        }
    }

    fn automata(&self) -> &Automata {
        match &self.pattern {
            SecretPattern::OfAuthor(automata) => automata,
            SecretPattern::BuiltIn(source) => source.automata(),
        }
    }

    /// The next match that begins at `from` or later. What stands before `from` is seen by
    /// assertions only.
    pub(super) fn next(&self, text: &str, from: usize) -> Option<Match> {
        // Most tries fail, and groups cost an allocation and a slower automaton.
        let automata = self.automata();
        if automata.secret.is_some() && !automata.pattern.is_match_at(text, from) {
            return None;
        }
        self.parts(text, from)
    }

    /// The match that begins here, in a text that begins here. `number` is that of the rule.
    pub(super) fn here(
        &self,
        number: usize,
        text: &str,
        effort: &mut ScanBudget,
        caches: &mut Caches,
    ) -> Option<Match> {
        let automata = self.automata();
        let end = effort.tries(number, automata.trier.as_ref()?, caches, text)?;
        if automata.secret.is_none() {
            return Some(Match {
                whole: 0..end,
                secret: 0..end,
            });
        }
        if !self.may_hold_secret(text.get(..end)?) {
            return None;
        }
        effort.takes_apart(number, end);
        self.parts(text, 0)
    }

    /// Whether any part of a text can be accepted.
    fn may_hold_secret(&self, text: &str) -> bool {
        match self.proof {
            MatchCheck::Entropy(_) | MatchCheck::Form(_) => true,
            MatchCheck::Guess(_) => has_digit_and_letter(text),
        }
    }

    fn parts(&self, text: &str, from: usize) -> Option<Match> {
        let Automata {
            pattern, secret, ..
        } = self.automata();
        let Some(group) = *secret else {
            let whole = pattern.find_at(text, from)?.range();
            return Some(Match {
                secret: whole.clone(),
                whole,
            });
        };
        let mut groups = pattern.capture_locations();
        let whole = pattern.captures_read_at(&mut groups, text, from)?.range();
        let secret = groups
            .get(group)
            .map_or_else(|| whole.clone(), |(start, end)| start..end);
        Some(Match { whole, secret })
    }

    /// Whether what it finds shows by itself what it is, wherever it stands.
    pub(super) fn has_form(&self) -> bool {
        self.automata().secret.is_none()
    }

    /// Whether what matched at a place is a secret.
    pub(super) fn accepts_at(&self, text: &str, secret: &Range<usize>) -> bool {
        let accepted = self.accepts(text.get(secret.clone()).unwrap_or_default());
        let guesses = matches!(self.proof, MatchCheck::Guess(_));
        accepted && !(guesses && is_call(text, secret))
    }

    /// Whether what matched is a secret.
    pub(super) fn accepts(&self, secret: &str) -> bool {
        if secret.is_empty() {
            return false;
        }
        let least = match self.proof {
            MatchCheck::Entropy(least) | MatchCheck::Form(least) | MatchCheck::Guess(least) => {
                least
            }
        };
        if least > 0 && bits_per_byte(secret.as_bytes()) * 10.0 < f64::from(least) {
            return false;
        }
        match self.proof {
            MatchCheck::Entropy(_) => true,
            MatchCheck::Form(_) => !holds_any(secret, &EXAMPLES),
            MatchCheck::Guess(_) => {
                has_digit_and_letter(secret)
                    && !holds_any(secret, &EXAMPLES)
                    && !holds_any(secret, &DOUBTS)
                    && !is_date(secret)
            }
        }
    }
}

fn refused(id: &str, error: &regex::Error) -> RuleError {
    let rule = id.to_owned();
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        RuleError::TooLarge { rule }
    } else {
        let message = error.to_string();
        RuleError::Pattern { rule, message }
    }
}

/// Matches of nothing are no findings; a pattern that can be one is a mistake of its author.
fn matches_nothing(pattern: &Regex) -> bool {
    ["", "a", "0 ", " \n", "é"]
        .iter()
        .any(|text| pattern.find_iter(text).any(|found| found.is_empty()))
}

/// `password = decrypted_v2(it)`: a name of code, and in no quotes.
fn is_call(text: &str, name: &Range<usize>) -> bool {
    let before = text.get(..name.start).unwrap_or_default();
    let after = text.get(name.end..).unwrap_or_default();
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    after.starts_with('(')
        && !before.ends_with(['"', '\'', '`'])
        && text
            .get(name.clone())
            .is_some_and(|name| name.bytes().all(of_name))
}

/// Logs put one behind any word and a colon.
fn is_date(secret: &str) -> bool {
    let mut parts = secret.splitn(3, '-');
    parts
        .next()
        .is_some_and(|year| year.len() == 4 && (year.starts_with("19") || year.starts_with("20")))
        && parts.next().is_some_and(|month| month.len() == 2)
}

fn has_digit_and_letter(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn holds_any(secret: &str, words: &[&str]) -> bool {
    // Long ones are keys in several lines: a word in the first of them says as much.
    let head = secret.get(..secret.floor_char_boundary(256));
    let head = head.unwrap_or(secret).to_ascii_lowercase();
    words.iter().any(|word| head.contains(word))
}
