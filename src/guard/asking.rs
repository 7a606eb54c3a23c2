//! Which fields of a form ask for a secret: what MCP forbids servers to ask so (2025-11-25,
//! client/elicitation, "Security Considerations").

use unicode_security::confusable_detection::skeleton;

/// Words that name a secret by themselves.
const WORDS: &[&str] = &[
    "apikey",
    "credential",
    "credentials",
    "cvc",
    "cvv",
    "iban",
    "mnemonic",
    "otp",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwort",
    "pin",
    "privatekey",
    "pwd",
    "secret",
    "ssn",
    "token",
    "totp",
];

/// Pairs of words that do.
const PAIRS: &[(&str, &str)] = &[
    ("access", "key"),
    ("account", "number"),
    ("api", "key"),
    ("bank", "account"),
    ("card", "number"),
    ("credit", "card"),
    ("debit", "card"),
    ("pass", "code"),
    ("pass", "phrase"),
    ("pass", "word"),
    ("private", "key"),
    ("recovery", "code"),
    ("recovery", "phrase"),
    ("secret", "key"),
    ("security", "code"),
    ("seed", "phrase"),
    ("signing", "key"),
    ("social", "security"),
];

/// Words that mean nothing else, also with another word before or behind them in one.
const LONG: &[&str] = &[
    "apikey",
    "credential",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwort",
    "privatekey",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "secretkey",
];

/// Longer names are not read to their end by anybody.
const MOST_CHARACTERS: usize = 512;

/// Whether the name or the title of a field asks for a secret.
///
/// Words are told apart by their case, by digits and by whatever is no letter, and are compared as
/// they look (UTS 39), with an `s` at their end or without.
pub fn asks_for_secret(text: &str) -> bool {
    let words = words(text);
    let is = |word: &str, known: &str| word == known || word.strip_suffix('s') == Some(known);
    let long: Vec<String> = LONG.iter().map(|word| folded(word)).collect();
    if words
        .iter()
        .any(|word| long.iter().any(|known| word.contains(known.as_str())))
    {
        return true;
    }
    let pairs = words.iter().zip(words.iter().skip(1));
    let mut pairs = pairs.map(|(first, second)| (first.as_str(), second.as_str()));
    words
        .iter()
        .any(|word| known_words().any(|known| is(word, &known)))
        || pairs.any(|(first, second)| {
            let mut known = PAIRS.iter();
            known.any(|(one, other)| first == folded(one) && is(second, &folded(other)))
        })
}

/// The known words as they look.
fn known_words() -> impl Iterator<Item = String> {
    let pairs = PAIRS
        .iter()
        .map(|(first, second)| format!("{first}{second}"));
    let words = WORDS.iter().map(|word| (*word).to_owned());
    words.chain(pairs).map(|word| folded(&word))
}

fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None;
    for letter in text.chars().take(MOST_CHARACTERS) {
        // What is not seen stands between no letters.
        if is_unseen(letter) {
            continue;
        }
        let begins = before.is_some_and(char::is_lowercase) && letter.is_uppercase();
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

fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}

/// As a word looks, whatever its case: lower case before as well as after, as for names of tools.
fn folded(word: &str) -> String {
    let lower: String = skeleton(&word.to_lowercase()).collect();
    skeleton(&lower.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_known_by_the_words_of_their_names() {
        for text in [
            "password",
            "Password",
            "PASSWORD",
            "userPassword",
            "user_password2",
            "new-password",
            "Enter your password:",
            "passwords",
            "userpassword",
            "NEWPASSWORD",
            "accesstoken2",
            "myapikeys",
            "pass word",
            "passWord",
            "passphrase",
            "apiKey",
            "API key",
            "APIKEY",
            "api_keys",
            "GitHub token",
            "accessToken",
            "pin",
            "PIN code",
            "cvv",
            "creditCard",
            "Credit card number",
            "cardNumber",
            "social_security_number",
            "ssn",
            "client_secret",
            "seed phrase",
            "p\u{430}ssword",
            "\u{ff50}\u{ff41}\u{ff53}\u{ff53}\u{ff57}\u{ff4f}\u{ff52}\u{ff44}",
            "pass\u{200b}word",
            "pass\u{ad}word",
        ] {
            assert!(asks_for_secret(text), "{text}");
        }
    }

    #[test]
    fn other_names_ask_for_none() {
        for text in [
            "",
            "name",
            "email",
            "pinned",
            "spinning",
            "opinion",
            "secretary",
            "tokenizer",
            "keyboard",
            "key",
            "card",
            "cardColour",
            "business card",
            "passenger",
            "passport country",
            "bypass",
            "number",
            "account",
            "security level",
            "compass",
            "\u{65e5}\u{672c}",
        ] {
            assert!(!asks_for_secret(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_secret_is_found_wherever_it_stands_as_a_word(
            before in "[ a-z0-9_-]{0,8}[ _0-9-]|",
            known in proptest::sample::select(WORDS),
            after in "[ _0-9-][ a-z0-9_-]{0,8}|",
        ) {
            let text = format!("{before}{known}{after}");
            prop_assert!(asks_for_secret(&text));
            prop_assert!(asks_for_secret(&text.to_uppercase()));
        }

        #[test]
        fn any_text_has_an_answer(text in any::<String>()) {
            asks_for_secret(&text);
        }
    }
}
