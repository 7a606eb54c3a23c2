//! Invalid credentials, made from descriptions of their formats.
//!
//! See `tests/corpora/secrets/README.md`.

use std::fs;
use std::path::{Path, PathBuf};

/// The same numbers each time.
pub(super) struct Dice(u64);

/// A credential somewhere in a text.
pub(super) struct Sample {
    pub(super) kind: String,
    pub(super) kept: CredentialPosition,
    /// The credential alone.
    pub(super) credential: String,
    /// With what stands round it where such credentials are kept.
    pub(super) text: String,
}

/// Where a credential stands.
pub(super) enum CredentialPosition {
    /// Anywhere: it tells itself.
    Bare,
    /// In a variable of this name.
    Under(String),
    /// In a text of its own.
    InText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Url,
    Base64,
    Base64Url,
    Hex,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap() % bound
    }

    pub(super) fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    pub(super) fn string(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length)
            .map(|_| char::from(alphabet[self.below(alphabet.len())]))
            .collect()
    }
}

pub(super) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/secrets")
}

/// So many samples of every kind.
pub(super) fn samples(of_each: usize) -> Vec<Sample> {
    let table = fs::read_to_string(directory().join("kinds.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let mut samples = Vec::new();
    for (number, row) in rows.enumerate() {
        let [kind, format, place] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {row}");
        };
        let mut dice = Dice::new(number as u64 + 1);
        for turn in 0..of_each {
            let credential = credential(format, &mut dice);
            let text = placed(&credential, place, turn + number, &mut dice);
            samples.push(Sample {
                kind: kind.to_owned(),
                kept: match place.strip_prefix("name:") {
                    Some(name) => CredentialPosition::Under(name.to_owned()),
                    None if place == "bare" => CredentialPosition::Bare,
                    None => CredentialPosition::InText,
                },
                credential,
                text,
            });
        }
    }
    samples
}

/// The text in another writing, with something round it that is not.
pub(super) fn encoded(text: &str, code: Code, dice: &mut Dice) -> (String, String) {
    let run = match code {
        Code::Url => percent_encoded(text),
        Code::Base64 => base64(text, STANDARD, '='.into()),
        Code::Base64Url => base64(text, URL_SAFE, None),
        Code::Hex => {
            let digits = text.bytes().map(|byte| format!("{byte:02x}"));
            digits.collect::<Vec<_>>().concat()
        }
    };
    let (before, after) = dice.one_of(&[
        &("payload=", ""),
        &("{\"data\":\"", "\"}"),
        &("decoded: ", " (done)"),
        &("https://collect.invalid/?q=", "&x=1"),
        &("GET /a/b/", " HTTP/1.1"),
        &("", ""),
        &("x", "\n"),
    ]);
    (format!("{before}{run}{after}"), run)
}

/// For people to read.
pub(super) fn percent(part: usize, all: usize) -> f64 {
    let [part, all] = [part, all].map(|count| f64::from(u32::try_from(count).unwrap()));
    100.0 * part / all
}

fn credential(format: &str, dice: &mut Dice) -> String {
    let mut out = String::new();
    for part in format.split(' ') {
        if let Some(literal) = part.strip_prefix('\'') {
            out.push_str(&unescaped(literal.strip_suffix('\'').unwrap()));
        } else if part == "uuid" {
            let groups = [8, 4, 4, 4, 12].map(|length| dice.string("0123456789abcdef", length));
            out.push_str(&groups.join("-"));
        } else {
            let (alphabet, length) = part.split_once('*').unwrap();
            out.push_str(&dice.string(&letters(alphabet), length.parse().unwrap()));
        }
    }
    out
}

fn letters(name: &str) -> String {
    let (digits, lower) = ("0123456789", "abcdefghijklmnopqrstuvwxyz");
    let upper = lower.to_uppercase();
    match name {
        "digit" => digits.to_owned(),
        "hex" => format!("{digits}abcdef"),
        "HEX" => format!("{digits}ABCDEF"),
        "lownum" => format!("{digits}{lower}"),
        "upnum" => format!("{digits}{upper}"),
        "alnum" | "b64nopad" => format!("{digits}{lower}{upper}"),
        "b64" => format!("{digits}{lower}{upper}+/"),
        "b64url" => format!("{digits}{lower}{upper}-_"),
        "base32" => format!("234567{upper}"),
        "bech32" => "023456789ACDEFGHJKLMNPQRSTUVWXYZ".to_owned(),
        other => panic!("no such alphabet: {other}"),
    }
}

fn placed(credential: &str, place: &str, turn: usize, dice: &mut Dice) -> String {
    if let Some(text) = place.strip_prefix("text:") {
        return unescaped(text)
            .replace("{ }", " ")
            .replace("{}", credential);
    }
    let forms: &[&str] = if place == "bare" {
        &[
            "{}",
            "VALUE={}\n",
            "{\"a\":1,\"value\":\"{}\",\"b\":[]}",
            "2026-03-01T12:00:00Z WARN rejected {} from 10.0.0.7",
            "Use `{}` for now, it ends on Friday.",
            "https://api.acme.dev/v1/items?q={}&page=2",
            "- name: x\n  value: '{}'\n",
            "{\\\"value\\\":\\\"{}\\\"}",
            "<value>{}</value>",
        ]
    } else {
        &[
            "{NAME}={}\n",
            "export {NAME}=\"{}\"\n",
            "{\"a\":1,\"{name}\":\"{}\"}",
            "{name}: {}\nother: 1\n",
            "tool --{flag}={} --verbose",
            "tool --{flag} {}",
            "{\\\"{name}\\\":\\\"{}\\\"}",
            "const config = { {camel}: '{}' };",
            "{name} = \"{}\" # do not share",
            "https://api.acme.dev/?{name}={}",
        ]
    };
    let name = place.strip_prefix("name:").unwrap_or("VALUE");
    // Each sample another form, and over all kinds each form equally often.
    let form = forms[(turn + dice.below(forms.len())) % forms.len()];
    form.replace("{NAME}", name)
        .replace("{name}", &name.to_lowercase())
        .replace("{flag}", &name.to_lowercase().replace('_', "-"))
        .replace("{camel}", &camel(name))
        .replace("{}", credential)
}

fn camel(name: &str) -> String {
    let mut words = name.split('_').map(str::to_lowercase);
    let first = words.next().unwrap_or_default();
    words.fold(first, |all, word| {
        let (head, tail) = word.split_at(1);
        all + &head.to_uppercase() + tail
    })
}

fn unescaped(text: &str) -> String {
    let parts: Vec<String> = text
        .split("\\\\")
        .map(|part| part.replace("\\n", "\n"))
        .collect();
    parts.join("\\")
}

const STANDARD: &str = "+/";
const URL_SAFE: &str = "-_";

fn base64(text: &str, last: &str, padding: Option<char>) -> String {
    let alphabet = format!("{}{last}", {
        let lower = "abcdefghijklmnopqrstuvwxyz";
        format!("{}{lower}0123456789", lower.to_uppercase())
    });
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let mut bytes = [0; 3];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for place in 0..4 {
            if place <= chunk.len() {
                let at = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap();
                out.push(alphabet[at]);
            } else {
                out.extend(padding);
            }
        }
    }
    out
}

/// Every byte but unreserved ones, and the first in any case.
fn percent_encoded(text: &str) -> String {
    text.bytes()
        .enumerate()
        .map(|(at, byte)| {
            if at > 0 && (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
