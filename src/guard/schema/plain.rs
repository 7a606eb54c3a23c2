//! Values of the wire as the validator reads them.

use serde_json::{Map, Number, Value as Json};

use crate::wire::Value;

/// Integers within 64 bits are what they are. Other numbers are the nearest finite IEEE 754 binary64,
/// as most peers read them.
///
/// The wire's depth limit bounds the recursion.
pub(super) fn plain(value: Value<'_>) -> Json {
    if value.is_object() {
        let members = value.entries();
        let members = members.map(|(key, member)| (key.into_owned(), plain(member)));
        return Json::Object(members.collect::<Map<String, Json>>());
    }
    if value.is_array() {
        return Json::Array(value.items().map(plain).collect());
    }
    if let Some(text) = value.as_str() {
        return Json::String(text.into_owned());
    }
    if let Some(truth) = value.as_bool() {
        return Json::Bool(truth);
    }
    value.as_number().map_or(Json::Null, number)
}

fn number(text: &str) -> Json {
    let whole = text.parse::<i64>().map(Json::from);
    let whole = whole.or_else(|_| text.parse::<u64>().map(Json::from));
    whole.unwrap_or_else(|_| {
        let parsed: f64 = text.parse().unwrap_or_default();
        let finite = parsed.clamp(f64::MIN, f64::MAX);
        Number::from_f64(finite).map_or(Json::Null, Json::Number)
    })
}
