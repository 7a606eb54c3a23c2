//! Generated documents: text with all the freedom that the grammar leaves.

use std::collections::HashSet;

use proptest::prelude::*;

/// A document before it is written down.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    /// A literal or a number.
    Word(String),
    String(GeneratedText),
    Array(Vec<Json>),
    Object(Vec<(GeneratedText, Json)>),
}

/// A string and how each of its characters is written.
#[derive(Debug, Clone)]
pub(crate) struct GeneratedText(Vec<(char, CharacterForm)>);

#[derive(Debug, Clone, Copy)]
enum CharacterForm {
    Plain,
    Short,
    Upper,
    Lower,
}

/// Any document within the default limits, with keys that differ.
pub(crate) fn json() -> impl Strategy<Value = Json> {
    let word = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number(),
    ];
    let leaf = prop_oneof![word.prop_map(Json::Word), text().prop_map(Json::String)];
    leaf.prop_recursive(5, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::vec((key(), inner), 0..6).prop_map(|m| Json::Object(differing(m))),
        ]
    })
}

/// The grammar of RFC 8259, section 6, with exponents that a double holds.
pub(crate) fn number() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?"
}

/// Runs of the four kinds of whitespace to write between tokens; used in turn.
pub(crate) fn gaps() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ \t\n\r]{0,3}", 1..8)
}

/// Bytes that are JSON more often than chance would have it.
pub(crate) fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let soup = "[\\[\\]{}:,\"\\\\ \n\r\t\u{0}0-9eE+.a-fu/-]{0,40}".prop_map(String::into_bytes);
    let spoilt = (
        json(),
        gaps(),
        any::<prop::sample::Index>(),
        any::<u8>(),
        0..3_u8,
    )
        .prop_map(|(json, gaps, place, byte, how)| {
            let mut bytes = json.write(&gaps).into_bytes();
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.remove(place)),
            }
            bytes
        });
    prop_oneof![soup, spoilt]
}

impl Json {
    pub(crate) fn write(&self, gaps: &[String]) -> String {
        let mut out = String::new();
        let mut gap = gaps.iter().map(String::as_str).cycle();
        let mut next = || gap.next().unwrap_or_default();
        out.push_str(next());
        self.write_to(&mut out, &mut next);
        out.push_str(next());
        out
    }

    fn write_to<'g>(&self, out: &mut String, gap: &mut impl FnMut() -> &'g str) {
        match self {
            Self::Word(word) => out.push_str(word),
            Self::String(text) => text.write_to(out),
            Self::Array(items) => {
                out.push('[');
                out.push_str(gap());
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                        out.push_str(gap());
                    }
                    item.write_to(out, gap);
                    out.push_str(gap());
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                out.push_str(gap());
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                        out.push_str(gap());
                    }
                    key.write_to(out);
                    out.push_str(gap());
                    out.push(':');
                    out.push_str(gap());
                    value.write_to(out, gap);
                    out.push_str(gap());
                }
                out.push('}');
            }
        }
    }
}

impl GeneratedText {
    pub(crate) fn decoded(&self) -> String {
        self.0.iter().map(|(char, _)| char).collect()
    }

    fn write_to(&self, out: &mut String) {
        out.push('"');
        for &(char, form) in &self.0 {
            let short = match char {
                '"' => Some('"'),
                '\\' => Some('\\'),
                '/' => Some('/'),
                '\u{8}' => Some('b'),
                '\u{c}' => Some('f'),
                '\n' => Some('n'),
                '\r' => Some('r'),
                '\t' => Some('t'),
                _ => None,
            };
            let must = char < ' ' || char == '"' || char == '\\';
            match (form, short) {
                (CharacterForm::Plain, _) | (CharacterForm::Short, None) if !must => out.push(char),
                (CharacterForm::Plain | CharacterForm::Short, Some(short)) => {
                    out.extend(['\\', short]);
                }
                _ => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        let digits = match form {
                            CharacterForm::Upper => format!("\\u{unit:04X}"),
                            CharacterForm::Plain | CharacterForm::Short | CharacterForm::Lower => {
                                format!("\\u{unit:04x}")
                            }
                        };
                        out.push_str(&digits);
                    }
                }
            }
        }
        out.push('"');
    }
}

fn text() -> impl Strategy<Value = GeneratedText> {
    let char = prop_oneof![
        4 => prop::char::range(' ', '~'),
        2 => prop::sample::select(vec!['"', '\\', '/', '\u{8}', '\u{c}', '\n', '\r', '\t', '\0']),
        1 => any::<char>(),
    ];
    spelled(char, 0..20)
}

/// Few letters, so that keys meet; no control characters.
fn key() -> impl Strategy<Value = GeneratedText> {
    let char = prop_oneof![
        4 => prop::sample::select(vec!['a', 'b', 'c', '"', '\\', '/', 'é', '𝄞']),
        1 => any::<char>().prop_filter("no controls", |char| !char.is_control()),
    ];
    spelled(char, 0..4)
}

fn spelled(
    char: impl Strategy<Value = char>,
    length: std::ops::Range<usize>,
) -> impl Strategy<Value = GeneratedText> {
    let form = prop_oneof![
        6 => Just(CharacterForm::Plain),
        1 => Just(CharacterForm::Short),
        1 => Just(CharacterForm::Upper),
        1 => Just(CharacterForm::Lower),
    ];
    prop::collection::vec((char, form), length).prop_map(GeneratedText)
}

/// Members of one object, few or many; their values are small.
pub(crate) fn members() -> impl Strategy<Value = Vec<(GeneratedText, Json)>> {
    let value = prop_oneof![number().prop_map(Json::Word), text().prop_map(Json::String)];
    prop::collection::vec((key(), value), 1..40).prop_map(differing)
}

fn differing(mut members: Vec<(GeneratedText, Json)>) -> Vec<(GeneratedText, Json)> {
    let mut seen = HashSet::new();
    members.retain(|(key, _)| seen.insert(key.decoded()));
    members
}
