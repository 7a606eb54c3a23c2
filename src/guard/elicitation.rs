//! Which fields of a form ask for a secret: what MCP forbids servers to ask so (2025-11-25,
//! client/elicitation, "Security Considerations").

use std::sync::LazyLock;

use unicode_normalization::char::is_combining_mark;
use unicode_security::confusable_detection::skeleton;

use crate::unseen::is_unseen;

/// Words that name a secret by themselves.
const WORDS: &[&str] = &[
    "adminpass",
    "adminpwd",
    "apikey",
    "bearer",
    "contrase\u{f1}a",
    "contrasena",
    "credential",
    "credentials",
    "cvc",
    "cvv",
    "dbpass",
    "dbpwd",
    "iban",
    "jwt",
    "kennwort",
    "mfa",
    "mnemonic",
    "otp",
    "passcode",
    "passphrase",
    "passw",
    "passwd",
    "password",
    "passwort",
    "pin",
    "privatekey",
    "pswd",
    "pwd",
    "rootpass",
    "rootpwd",
    "secret",
    "ssn",
    "token",
    "totp",
    "userpass",
    "userpwd",
];

/// Pairs of words that do.
const PAIRS: &[(&str, &str)] = &[
    ("access", "key"),
    ("account", "number"),
    ("api", "key"),
    ("auth", "code"),
    ("auth", "cookie"),
    ("authentication", "code"),
    ("authenticator", "code"),
    ("bank", "account"),
    ("card", "number"),
    ("cc", "num"),
    ("cc", "number"),
    ("client", "secret"),
    ("credit", "card"),
    ("de", "passe"),
    ("debit", "card"),
    ("encryption", "key"),
    ("login", "code"),
    ("maiden", "name"),
    ("one", "timecode"),
    ("onetime", "code"),
    ("pass", "code"),
    ("pass", "phrase"),
    ("pass", "word"),
    ("pin", "code"),
    ("private", "key"),
    ("recovery", "code"),
    ("recovery", "phrase"),
    ("secret", "key"),
    ("security", "answer"),
    ("security", "code"),
    ("seed", "phrase"),
    ("session", "cookie"),
    ("signing", "key"),
    ("sms", "code"),
    ("social", "security"),
    ("ssh", "key"),
    ("unlock", "code"),
    ("verification", "code"),
    ("wallet", "key"),
];

/// Words that mean nothing else, also with another word before or behind them in one.
const LONG: &[&str] = &[
    "accesstoken",
    "apikey",
    "authtoken",
    "clientsecret",
    "contrase\u{f1}a",
    "contrasena",
    "credential",
    "kennwort",
    "motdepasse",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwort",
    "privatekey",
    "refreshtoken",
    "secretkey",
    "verificationcode",
];

/// Words that name a secret alone, or beside certain others: a boarding pass is none, and Pat a
/// name.
const BESIDE: &[(&str, &[&str])] = &[
    (
        "pass",
        &[
            "account", "admin", "current", "database", "db", "email", "ftp", "http", "imap",
            "login", "mail", "my", "new", "old", "proxy", "root", "smtp", "ssh", "user", "wifi",
            "your",
        ],
    ),
    (
        "pat",
        &[
            "access",
            "azure",
            "bitbucket",
            "devops",
            "gh",
            "git",
            "github",
            "gitlab",
            "hub",
            "lab",
            "my",
            "personal",
            "your",
        ],
    ),
];

/// Words of which a sentence may speak without asking for them.
const SPOKEN_OF: &[&str] = &["bearer", "iban", "mfa", "passw", "pin", "secret", "token"];

/// Before a word in a sentence: it is not asked for.
const DENYING: &[&str] = &[
    "cannot", "don", "kein", "keine", "never", "nicht", "no", "not", "without",
];

/// Before a word, with `of` or `for` between: something else is asked for.
const OTHER: &[&str] = &["id", "identifier", "label", "name", "names", "title"];

/// Behind a word in a sentence: it is about the word only.
const ABOUT: &[&str] = &[
    "expiry",
    "expiration",
    "hint",
    "length",
    "manager",
    "policy",
    "protected",
    "reset",
    "rotation",
    "rules",
    "store",
    "vault",
];

/// Before `tokens`: it is asked how many.
const COUNTING: &[&str] = &["max", "maximum", "min", "minimum"];

/// The lists above, each word as it looks.
struct FoldedLists {
    words: Vec<String>,
    pairs: Vec<(String, String)>,
    /// Each pair as one word.
    joined: Vec<String>,
    long: Vec<String>,
    beside: Vec<(String, Vec<String>)>,
    spoken_of: Vec<String>,
    denying: Vec<String>,
    other: Vec<String>,
    about: Vec<String>,
    counting: Vec<String>,
    tokens: [String; 1],
    links: [String; 2],
    one_time_code: [String; 3],
}

static FOLDED: LazyLock<FoldedLists> = LazyLock::new(|| {
    let all = |words: &[&str]| words.iter().map(|word| folded(word)).collect();
    let beside = BESIDE.iter();
    let pairs = PAIRS.iter();
    FoldedLists {
        words: all(WORDS),
        pairs: pairs
            .map(|(one, other)| (folded(one), folded(other)))
            .collect(),
        joined: PAIRS
            .iter()
            .map(|(one, other)| folded(&format!("{one}{other}")))
            .collect(),
        long: all(LONG),
        beside: beside
            .map(|(word, others)| (folded(word), all(others)))
            .collect(),
        spoken_of: all(SPOKEN_OF),
        denying: all(DENYING),
        other: all(OTHER),
        about: all(ABOUT),
        counting: all(COUNTING),
        tokens: [folded("tokens")],
        links: ["of", "for"].map(folded),
        one_time_code: ["one", "time", "code"].map(folded),
    }
});

/// How many words before one may deny it.
const REACH: usize = 3;

/// Longer names are not read to their end.
const MOST_CHARACTERS: usize = 512;
/// Nor longer descriptions.
const MOST_DESCRIBED: usize = 4096;

/// Whether the name or the title of a field asks for a secret.
///
/// Words are told apart by their case, by digits and by whatever is no letter, and are compared as
/// they look (UTS 39), with an `s` at their end or without. Digits and signs that stand for letters
/// (`passw0rd`) are read both ways.
pub fn asks_for_secret(text: &str) -> bool {
    let text: String = text.chars().take(MOST_CHARACTERS).collect();
    let spelled = unmasked(&text);
    let is_secret = |text: &String| {
        let mut splits = [WordSplit::Humps, WordSplit::Acronyms].into_iter();
        splits.any(|split| names_secret(&words(text, split)))
    };
    names_factor(&text) || is_secret(&text) || is_secret(&spelled)
}

/// Whether the description of a field says that a secret is to be written into it. What it says not
/// to write, and what it only speaks of, is none.
pub fn describes_secret(text: &str) -> bool {
    let text: String = text.chars().take(MOST_DESCRIBED).collect();
    let ends = |letter: char| ".,;:!?()\n\u{2013}\u{2014}".contains(letter);
    text.split(ends).any(|clause| {
        let words = words(clause, WordSplit::Humps);
        let mut places = 0..words.len();
        places.any(|at| {
            let (before, rest) = words.split_at_checked(at).unwrap_or_default();
            let Some(long) = named_first(rest) else {
                return false;
            };
            let is_about = rest
                .get(long)
                .is_some_and(|next| is_among(next, &FOLDED.about));
            !is_about && !is_denied(before)
        })
    })
}

/// How many words the secret has with which a sentence goes on; none if it goes on with none.
fn named_first(words: &[String]) -> Option<usize> {
    let mut rest = words.iter();
    let (first, second, third) = (rest.next()?, rest.next(), rest.next());
    let named = FOLDED.beside.iter().map(|(word, _)| word);
    let mut spoken_of = FOLDED.spoken_of.iter().chain(named);
    let is_spoken_of = spoken_of.any(|it| is(first, it));
    if is_single(first) && !is_spoken_of {
        Some(1)
    } else if second.is_some_and(|second| is_pair(first, second)) {
        Some(2)
    } else {
        let (second, third) = (second?, third?);
        is_three(first, second, third).then_some(3)
    }
}

/// Whether what stands before a word says that it is not asked for.
fn is_denied(before: &[String]) -> bool {
    let near: Vec<&String> = before.iter().rev().take(REACH).collect();
    let mut pairs = near.iter().zip(near.iter().skip(1));
    near.iter().any(|word| is_among(word, &FOLDED.denying))
        || pairs.any(|(link, what)| is_among(link, &FOLDED.links) && is_among(what, &FOLDED.other))
}

/// `2fa`, where no letter follows that would make another word of it.
fn names_factor(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("2fa").any(|(at, found)| {
        let rest = text.get(at.saturating_add(found.len())..);
        rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
    })
}

fn names_secret(words: &[String]) -> bool {
    let pairs = || words.iter().zip(words.iter().skip(1));
    // So many tokens of a model's are no secret.
    let is_counted = |at: usize, word: &String| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        is_among(word, &FOLDED.tokens)
            && before.is_some_and(|before| is_among(before, &FOLDED.counting))
    };
    let mut single = words.iter().enumerate();
    let mut threes = pairs().zip(words.iter().skip(2));
    single.any(|(at, word)| is_single(word) && !is_counted(at, word))
        || pairs().any(|(first, second)| is_pair(first, second))
        || threes.any(|((first, second), third)| is_three(first, second, third))
        || FOLDED.beside.iter().any(|(known, others)| {
            let is_known = |word: &String| word == known;
            words.len() == 1 && words.iter().all(is_known)
                || pairs().any(|(first, second)| {
                    is_known(second) && is_among(first, others)
                        || is_known(first) && is_among(second, others)
                })
        })
}

fn is_single(word: &str) -> bool {
    let mut single = FOLDED.words.iter().chain(&FOLDED.joined);
    FOLDED.long.iter().any(|known| word.contains(known)) || single.any(|known| is(word, known))
}

fn is_pair(first: &str, second: &str) -> bool {
    let mut known = FOLDED.pairs.iter();
    known.any(|(one, other)| first == one && is(second, other))
}

fn is_three(first: &str, second: &str, third: &str) -> bool {
    let [one, time, code] = &FOLDED.one_time_code;
    first == one && second == time && is(third, code)
}

/// Whether a word, as it looks, is one of these.
fn is_among(word: &str, known: &[String]) -> bool {
    known.iter().any(|known| word == known)
}

/// Whether a word, as it looks, is this one, or more than one of it.
fn is(word: &str, known: &str) -> bool {
    word == known || word.strip_suffix('s') == Some(known)
}

/// Where a word begins within one of letters alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordSplit {
    /// At a capital behind a small letter.
    Humps,
    /// And at the last of several capitals, if a small letter follows: `JWTToken`.
    Acronyms,
}

fn words(text: &str, split: WordSplit) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None;
    // What is not seen stands between no letters.
    let mut letters = text.chars().filter(|it| !adds_nothing(*it)).peekable();
    while let Some(letter) = letters.next() {
        let next_is_small = letters.peek().copied().is_some_and(char::is_lowercase);
        let begins = if before.is_some_and(char::is_uppercase) {
            split == WordSplit::Acronyms && next_is_small
        } else {
            before.is_some_and(char::is_lowercase)
        };
        let begins = begins && letter.is_uppercase();
        if begins || !letter.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphabetic()) {
            word.push(letter);
        }
        before = Some(letter);
    }
    words.retain(|word| !word.is_empty());
    words.iter().map(|word| folded(word)).collect()
}

/// With letters in place of the digits and signs that are written for them within a word.
fn unmasked(text: &str) -> String {
    let letter = |sign: char| match sign {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        other => other,
    };
    text.chars().map(letter).collect()
}

/// Nothing, or a mark above or below what stands before it.
fn adds_nothing(letter: char) -> bool {
    is_combining_mark(letter) || is_unseen(letter)
}

/// As a word looks, whatever its case: lower case before as well as after, as for names of tools.
fn folded(word: &str) -> String {
    let lower: String = skeleton(&word.to_lowercase()).collect();
    skeleton(&lower.to_lowercase()).collect()
}

#[cfg(test)]
mod tests;
