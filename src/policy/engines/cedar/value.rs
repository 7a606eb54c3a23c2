//! Cedar values, made directly.
//!
//! Nothing here reads JSON or evaluates an expression: a value is exactly what was put in, so no
//! text of an agent's can become an entity or an extension value.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use cedar_policy_core::ast::{EntityUID, ExtensionFunction, Literal, Value};
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

/// A function of Cedar's that makes an extension value. It is found once: parsing its name takes 58,000 instructions.
type Function = LazyLock<Option<&'static ExtensionFunction>>;

static DATETIME: Function = LazyLock::new(|| function("datetime"));
static DURATION: Function = LazyLock::new(|| function("duration"));
static OFFSET: Function = LazyLock::new(|| function("offset"));
static DECIMAL: Function = LazyLock::new(|| function("decimal"));
static IP: Function = LazyLock::new(|| function("ip"));

fn function(name: &str) -> Option<&'static ExtensionFunction> {
    Extensions::all_available().func(&name.parse().ok()?).ok()
}

/// Milliseconds since the Unix epoch; every `i64` is a datetime. `None` is a bug of ours.
pub(super) fn datetime(ms: i64) -> Option<Value> {
    static EPOCH: LazyLock<Option<Value>> =
        LazyLock::new(|| call(&DATETIME, &[literal("1970-01-01")]));
    if ms == 0 {
        return EPOCH.clone();
    }
    let duration = call(&DURATION, &[literal(format!("{ms}ms"))])?;
    call(&OFFSET, &[EPOCH.clone()?, duration])
}

/// `text` must be a decimal of Cedar's: at least one digit on both sides, at most four after the
/// point. `None` if it does not fit.
pub(super) fn decimal(text: &str) -> Option<Value> {
    call(&DECIMAL, &[literal(text)])
}

/// An IPv4 address in IPv6 is made IPv4, for Cedar refuses it and filters would miss it.
pub(super) fn ip(address: IpAddr) -> Option<Value> {
    call(&IP, &[literal(address.to_canonical().to_string())])
}

fn call(function: &Function, arguments: &[Value]) -> Option<Value> {
    let value = function.as_ref()?.call(arguments).ok()?;
    Value::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_cedar_does_not_have_or_that_fails_gives_no_value() {
        assert!(decimal("1.5").is_some());
        assert!(decimal("x").is_none());
        assert!(function("decimal").is_some());
        assert!(function("decimals").is_none());
        assert!(function("no name").is_none());
    }
}
