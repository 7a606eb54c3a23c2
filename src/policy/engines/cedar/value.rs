//! Cedar values, made directly.
//!
//! Nothing here reads JSON or evaluates an expression: a value is exactly what was put in, so no
//! text of an agent's can become an entity or an extension value.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use cedar_policy_core::ast::{EntityUID, Literal, Name, Value};
use cedar_policy_core::extensions::Extensions;

pub(super) fn literal(of: impl Into<Literal>) -> Value {
    Value::new(of.into(), None)
}

pub(super) fn entity(uid: EntityUID) -> Value {
    literal(uid)
}

pub(super) fn strings<T: AsRef<str>>(items: &[T]) -> Value {
    if items.is_empty() {
        return Value::empty_set(None);
    }
    Value::set_of_lits(items.iter().map(|item| Literal::from(item.as_ref())), None)
}

pub(super) fn record(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.into(), value))
        .collect();
    Value::record_arc(Arc::new(fields), None)
}

/// A record, or `None` if Cedar has no value for one of its fields.
pub(super) fn record_of(
    fields: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Option<Value> {
    let fields = fields
        .into_iter()
        .map(|(key, value)| value.map(|value| (key.into(), value)));
    let fields: Option<BTreeMap<_, _>> = fields.collect();
    fields.map(|fields| Value::record_arc(Arc::new(fields), None))
}

/// Milliseconds since the Unix epoch; every `i64` is a datetime. `None` is a bug of ours.
///
/// Costs some 5 µs, for Cedar builds these from text only.
pub(super) fn datetime(ms: i64) -> Option<Value> {
    static EPOCH: LazyLock<Option<Value>> = LazyLock::new(|| call("datetime", &["1970-01-01"]));
    static OFFSET: LazyLock<Option<Name>> = LazyLock::new(|| "offset".parse().ok());
    if ms == 0 {
        return EPOCH.clone();
    }
    let duration = call("duration", &[&format!("{ms}ms")])?;
    apply(OFFSET.as_ref()?, &[EPOCH.clone()?, duration])
}

/// `text` must be a decimal of Cedar's: at least one digit on both sides, at most four after the
/// point. `None` if it does not fit.
pub(super) fn decimal(text: &str) -> Option<Value> {
    call("decimal", &[text])
}

/// An IPv4 address in IPv6 is made IPv4, for Cedar refuses it and filters would miss it.
pub(super) fn ip(address: IpAddr) -> Option<Value> {
    call("ip", &[&address.to_canonical().to_string()])
}

fn call(function: &str, arguments: &[&str]) -> Option<Value> {
    let name: Name = function.parse().ok()?;
    let arguments: Vec<Value> = arguments.iter().map(|text| literal(*text)).collect();
    apply(&name, &arguments)
}

fn apply(function: &Name, arguments: &[Value]) -> Option<Value> {
    let function = Extensions::all_available().func(function).ok()?;
    let value = function.call(arguments).ok()?;
    Value::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_cedar_does_not_have_or_that_fails_gives_no_value() {
        assert!(call("decimal", &["1.5"]).is_some());
        assert!(call("decimal", &["x"]).is_none());
        assert!(call("decimals", &["1.5"]).is_none());
        assert!(call("no name", &["1.5"]).is_none());
    }
}
