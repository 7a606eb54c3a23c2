//! Values of the wire as the validator reads them.

use serde_json::{Map, Number, Value as Json};

use crate::wire::Value;

use super::Violation;

/// A schema. A number in it that no `f64` holds is null, with which no number agrees.
pub(super) fn schema(value: Value<'_>) -> Json {
    convert(value, &mut |number| nearest(number).or(Some(Json::Null))).unwrap_or(Json::Null)
}

/// Integers within 64 bits are what they are; other numbers are the nearest `f64`, as most peers read
/// them.
///
/// # Errors
/// [`Violation::Number`] for a number beyond all that an `f64` holds.
pub(super) fn instance(value: Value<'_>) -> Result<Json, Violation> {
    convert(value, &mut nearest).ok_or_else(|| {
        let mut place = String::new();
        find(value, &mut place);
        Violation::Number(place)
    })
}

fn nearest(number: &str) -> Option<Json> {
    let parsed = number.parse().ok();
    parsed.and_then(Number::from_f64).map(Json::Number)
}

/// The wire's depth limit bounds the recursion.
fn convert(value: Value<'_>, number: &mut impl FnMut(&str) -> Option<Json>) -> Option<Json> {
    if value.is_object() {
        let mut members = Map::new();
        for (key, member) in value.entries() {
            members.insert(key.into_owned(), convert(member, number)?);
        }
        return Some(Json::Object(members));
    }
    if value.is_array() {
        let items = value.items().map(|item| convert(item, number));
        return items.collect::<Option<_>>().map(Json::Array);
    }
    if let Some(text) = value.as_str() {
        return Some(Json::String(text.into_owned()));
    }
    if let Some(truth) = value.as_bool() {
        return Some(Json::Bool(truth));
    }
    match value.text() {
        "null" => Some(Json::Null),
        text => text
            .parse::<i64>()
            .map(Json::from)
            .or_else(|_| text.parse::<u64>().map(Json::from))
            .ok()
            .or_else(|| number(text)),
    }
}

/// Where the number is for which there is no other.
fn find(value: Value<'_>, place: &mut String) -> bool {
    let before = place.len();
    let members = value
        .entries()
        .map(|(key, member)| (key.into_owned(), member));
    let items = value.items().enumerate();
    let items = items.map(|(index, item)| (index.to_string(), item));
    for (key, part) in members.chain(items) {
        place.push('/');
        place.push_str(&key.replace('~', "~0").replace('/', "~1"));
        if find(part, place) {
            return true;
        }
        place.truncate(before);
    }
    let is_part = value.is_object() || value.is_array();
    !is_part && convert(value, &mut nearest).is_none()
}
