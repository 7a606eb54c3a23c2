//! JSON that a peer sent, as a record shows it: bounded when it is made, redacted and cut before it is written.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::text::Text;
use crate::wire::{JsonKind, Value};

/// A JSON value of a record. Its strings are cut as all strings of a record are; beyond [`Body::LIMIT`] the rest
/// is left out, and said to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Body(BodyValue);

#[derive(Debug, Clone, PartialEq)]
enum BodyValue {
    Null,
    Bool(bool),
    /// As it was written: what a reader makes of it may be another number.
    Number(Text),
    Text(Text),
    List(Vec<Self>),
    Object(Vec<(Text, Self)>),
}

/// The name of what is left out of an object.
const REST: &str = "…";

/// The beginning of what stands where a secret stood, whatever rule found it.
const REDACTED: &str = "[redacted";

/// What a value costs beside its text.
const VALUE_BYTES: usize = 8;

impl Body {
    /// Bytes of names and values that a record has of one body, near enough.
    pub const LIMIT: usize = 16 << 10;

    /// The end of every text that stands for something left out.
    pub const CUT: &'static str = " more]";

    /// Whether nothing was left out of, or taken out of, the body with this JSON text.
    pub fn is_whole(text: &str) -> bool {
        !text.contains(REDACTED) && !text.contains(Self::CUT)
    }

    /// A value of a message, with the texts of `instead` for some of its strings.
    pub fn of<'t>(value: Value<'_>, instead: &dyn Fn(Value<'_>) -> Option<&'t str>) -> Self {
        let mut left = Self::LIMIT;
        Self(BodyValue::of(value, instead, &mut left))
    }

    /// `{"a": text}`
    #[cfg(test)]
    pub(super) fn member(text: Text) -> Self {
        Self(BodyValue::Object(vec![("a".into(), BodyValue::Text(text))]))
    }

    /// Every string, and every number, which may be a secret as well.
    pub(super) fn each_text(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        self.0.each_text(visit);
    }
}

impl BodyValue {
    /// The limit of depth of messages bounds the recursion.
    fn of<'t>(
        value: Value<'_>,
        instead: &dyn Fn(Value<'_>) -> Option<&'t str>,
        left: &mut usize,
    ) -> Self {
        if *left == 0 {
            return Self::Text(format!("… [{} bytes{}", value.text().len(), Body::CUT).into());
        }
        spend(left, VALUE_BYTES);
        match value.kind() {
            JsonKind::Null => Self::Null,
            JsonKind::Bool => Self::Bool(value.as_bool().unwrap_or_default()),
            JsonKind::Number => {
                spend(left, value.text().len());
                Self::Number(value.text().into())
            }
            JsonKind::String => {
                let text = match instead(value) {
                    Some(text) => text.into(),
                    None => value.as_str().unwrap_or_default(),
                };
                spend(left, text.len().min(Text::LIMIT));
                Self::Text(text.into())
            }
            JsonKind::Array => {
                let mut list = Vec::new();
                for (place, item) in value.items().enumerate() {
                    if *left == 0 {
                        list.push(Self::Text(rest(value.len() - place)));
                        break;
                    }
                    list.push(Self::of(item, instead, left));
                }
                Self::List(list)
            }
            JsonKind::Object => {
                let mut members = Vec::new();
                for (place, (name, member)) in value.entries().enumerate() {
                    if *left == 0 {
                        let rest = rest(value.len() - place);
                        members.push((REST.into(), Self::Text(rest)));
                        break;
                    }
                    spend(left, name.len().min(Text::LIMIT));
                    members.push((name.into(), Self::of(member, instead, left)));
                }
                Self::Object(members)
            }
        }
    }

    fn each_text(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        match self {
            Self::Null | Self::Bool(_) => {}
            Self::Number(text) | Self::Text(text) => visit(text),
            Self::List(list) => list.iter_mut().for_each(|item| item.each_text(visit)),
            Self::Object(members) => {
                for (name, member) in members {
                    visit(name);
                    member.each_text(visit);
                }
            }
        }
    }
}

fn spend(left: &mut usize, bytes: usize) {
    *left = left.saturating_sub(bytes);
}

fn rest(items: usize) -> Text {
    format!("… [{items}{}", Body::CUT).into()
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for BodyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            // What was taken out or cut is no number any more.
            Self::Number(text) => match RawValue::from_string(text.as_str().to_owned()) {
                Ok(number) => number.serialize(serializer),
                Err(_) => text.serialize(serializer),
            },
            Self::Text(text) => text.serialize(serializer),
            Self::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                for item in list {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, member) in members {
                    map.serialize_entry(name, member)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::redact::Redactor;
    use super::*;
    use crate::wire::{Document, Limits};

    fn body(json: &str) -> Body {
        let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
        Body::of(document.root(), &|_| None)
    }

    /// As a line has it.
    fn shown(mut body: Body, secrets: &[&str]) -> String {
        let secrets: Vec<_> = secrets.iter().map(|&it| it.into()).collect();
        let redactor = Redactor::new(&secrets).unwrap();
        body.each_text(&mut |text| {
            text.finish(&redactor);
        });
        serde_json::to_string(&body).unwrap()
    }

    #[test]
    fn a_body_is_shown_as_it_was_sent() {
        let check = |json: &str| assert_eq!(shown(body(json), &[]), json);
        check("null");
        check(r#"{"a":[1,-0,1.50,1e400,true,null,"x"],"b":{"":{}}}"#);
        check(r#"{"n":123456789012345678901234567890}"#);
    }

    #[test]
    fn secrets_are_taken_out_of_names_strings_and_numbers() {
        let json = r#"{"s3cret":1,"a":"my s3cret","n":12345678}"#;
        assert_eq!(
            shown(body(json), &["s3cret", "12345678"]),
            r#"{"[redacted]":1,"a":"my [redacted]","n":"[redacted]"}"#
        );
    }

    #[test]
    fn a_string_may_have_another_text() {
        let document = Document::decode(br#"{"a":"one","b":"two"}"#, &Limits::default()).unwrap();
        let instead = |value: Value<'_>| (value.as_str()? == "one").then_some("1");
        let body = Body::of(document.root(), &instead);
        assert_eq!(shown(body, &[]), r#"{"a":"1","b":"two"}"#);
    }

    #[test]
    fn what_is_too_long_is_left_out_and_said_to_be() {
        let check = |json: &str, ends: &str| {
            let shown = shown(body(json), &[]);
            assert!(shown.len() < 2 * Body::LIMIT, "{}", shown.len());
            assert!(
                shown.ends_with(ends),
                "{}",
                shown.split_at(shown.len() - 60).1
            );
        };
        check(&format!("\"{}\"", "x".repeat(1100)), "x… [76 bytes more]\"");
        let many = vec!["1"; 5000].join(",");
        check(&format!("[{many}]"), "1,1,\"… [3180 more]\"]");
        let members: Vec<String> = (0..5000).map(|n| format!("\"{n:04}\":0")).collect();
        check(
            &format!("{{{}}}", members.join(",")),
            ",\"…\":\"… [3740 more]\"}",
        );
    }

    proptest! {
        #[test]
        fn any_body_is_bounded_and_is_json(
            text in "[a-z\\\\\"\u{202e}é]{0,3000}", items in 0_usize..4000,
        ) {
            let text = serde_json::to_string(&text).unwrap();
            let list = vec![text.as_str(); items.min(64)].join(",");
            let json = format!(r#"{{"a":[{list}],"b":[{}]}}"#, vec!["{\"x\":[]}"; items].join(","));
            let shown = shown(body(&json), &[]);
            prop_assert!(shown.len() < 8 * Body::LIMIT, "{}", shown.len());
            prop_assert!(shown.parse::<serde_json::Value>().is_ok());
        }
    }
}
