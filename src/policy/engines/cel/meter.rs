//! Counts what an evaluation does, and stops it.
//!
//! The count depends on the rules and the facts alone, never on time, so that the same question has
//! the same answer on a busy machine.

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use cel::common::types::{
    CelBool, CelBytes, CelInt, CelList, CelMap, CelString, DYN_TYPE, INT_TYPE,
};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError};

use super::patterns;

/// Steps that all rules together may take over one message: some milliseconds.
pub(super) const BUDGET: u64 = 100_000;

/// Bytes of text that are looked at in one step.
const BYTES_A_STEP: usize = 64;

/// `@step(n)` takes `n` steps and is true.
pub(super) const STEP: &str = "@step";

/// `@weigh(x)` takes as many steps as `x` has parts, and is `x`.
pub(super) const WEIGH: &str = "@weigh";

thread_local! {
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The steps are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {BUDGET} steps over one message")]
pub(super) struct StepsExhausted;

/// Runs `work` with a budget of its own.
pub(super) fn metered<T>(work: impl FnOnce() -> T) -> Result<T, StepsExhausted> {
    LEFT.set(Some(BUDGET));
    let done = work();
    // Whatever an evaluation came to after its budget was gone does not count.
    LEFT.take().map(|_| done).ok_or(StepsExhausted)
}

/// Takes steps; false when there are no more, then and ever after.
pub(super) fn spend(steps: u64) -> bool {
    let left = LEFT.get().and_then(|left| left.checked_sub(steps));
    LEFT.set(left);
    left.is_some()
}

/// The functions of CEL's standard library, and ours.
pub(super) fn env() -> Result<Arc<Env>, String> {
    static ENV: LazyLock<Result<Arc<Env>, String>> = LazyLock::new(|| {
        let mut env = Env::stdlib().with_optional_support(false);
        let added = env
            .add_overload(STEP, "step", vec![INT_TYPE.to_owned()], step)
            .and_then(|()| env.add_overload(WEIGH, "weigh", vec![DYN_TYPE.to_owned()], weigh))
            .and_then(|()| patterns::declare(&mut env));
        added.map_err(|error| error.to_string())?;
        Ok(Arc::new(env))
    });
    ENV.clone()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a function of CEL takes its arguments by value"
)]
fn step<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let steps = args
        .first()
        .and_then(|steps| steps.downcast_ref::<CelInt>());
    let steps = steps.and_then(|steps| u64::try_from(*steps.inner()).ok());
    if steps.is_some_and(spend) {
        Ok(CowVal::owned(CelBool::from(true)))
    } else {
        Err(exhausted(STEP))
    }
}

fn weigh<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    match args.into_iter().next() {
        Some(value) if weighed(value.as_ref()) => Ok(value),
        Some(_) | None => Err(exhausted(WEIGH)),
    }
}

fn exhausted(function: &str) -> ExecutionError {
    ExecutionError::function_error(function, StepsExhausted)
}

/// Takes the steps for a value. Stops where they end, so that finding out costs no more than them.
fn weighed(value: &dyn Val) -> bool {
    let bytes = if let Some(text) = value.downcast_ref::<CelString>() {
        text.inner().len()
    } else if let Some(bytes) = value.downcast_ref::<CelBytes>() {
        bytes.inner().len()
    } else {
        0
    };
    let own = u64::try_from(bytes / BYTES_A_STEP).unwrap_or(u64::MAX);
    if !spend(own.saturating_add(1)) {
        return false;
    }
    if let Some(list) = value.downcast_ref::<CelList>() {
        return list.inner().iter().all(|item| weighed(item.as_ref()));
    }
    if let Some(map) = value.downcast_ref::<CelMap>() {
        return map
            .inner()
            .iter()
            .all(|(_, item)| spend(1) && weighed(item.as_ref()));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(value: &dyn Val) -> u64 {
        LEFT.set(Some(BUDGET));
        assert!(weighed(value));
        BUDGET - LEFT.take().unwrap()
    }

    #[test]
    fn texts_and_bytes_of_one_length_take_as_many_steps() {
        assert_eq!(steps(&CelString::from("x".repeat(640))), 11);
        assert_eq!(steps(&CelBytes::from(vec![0; 640])), 11);
        assert_eq!(steps(&CelBool::from(true)), 1);
    }
}
