//! Evaluations of a package, and the values that go in.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use regorus::Engine;
use regorus::utils::limits::ExecutionTimerConfig;

use crate::policy::engines::document::{self, DocumentNode};

/// The rule that is asked.
pub(super) const ENTRY: &str = "data.mcp.decision";

/// Steps of an evaluation between two looks at the time.
const INTERVAL: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);

/// What a rule says of an input; undefined where it says nothing.
pub(super) fn evaluated(
    engine: &Engine,
    rule: &str,
    input: regorus::Value,
    limit: Duration,
) -> Result<regorus::Value, String> {
    let mut engine = engine.clone();
    engine.set_execution_timer_config(ExecutionTimerConfig {
        limit,
        check_interval: INTERVAL,
    });
    engine.set_input(input);
    let answer = engine.eval_rule(rule.to_owned());
    answer.map_err(|error| told(&error.to_string()))
}

/// regorus draws a picture around its message; a record wants the message.
pub(super) fn told(problem: &str) -> String {
    const MOST: usize = 300;
    let place = problem.lines().find_map(|line| line.strip_prefix("--> "));
    let message = problem
        .rsplit("error: ")
        .next()
        .unwrap_or(problem)
        .lines()
        .next();
    let told = match (place, message) {
        (Some(place), Some(message)) => format!("{place}: {message}"),
        (None, Some(message)) => message.to_owned(),
        (_, None) => problem.to_owned(),
    };
    told.chars().take(MOST).collect()
}

/// The document as a value of Rego.
pub(super) fn object(members: document::Object<'_>) -> regorus::Value {
    let members: BTreeMap<regorus::Value, regorus::Value> = members
        .into_iter()
        .map(|(key, node)| (regorus::Value::from(&*key), value(node)))
        .collect();
    regorus::Value::from(members)
}

fn value(node: DocumentNode<'_>) -> regorus::Value {
    match node {
        DocumentNode::Null => regorus::Value::Null,
        DocumentNode::Bool(value) => regorus::Value::from(value),
        DocumentNode::Integer(value) => regorus::Value::from(value),
        DocumentNode::Number(value) => regorus::Value::from(value),
        DocumentNode::Text(text) => regorus::Value::from(&*text),
        DocumentNode::List(items) => {
            regorus::Value::from(items.into_iter().map(value).collect::<Vec<_>>())
        }
        DocumentNode::Object(members) => object(members),
    }
}
