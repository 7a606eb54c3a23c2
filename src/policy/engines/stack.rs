//! Where texts are compiled.

use std::thread;

use crate::policy::{PolicyErrors, PolicyProblem};

/// Parsers and checkers recurse on the text; measured, what the nesting checks of the engines let
/// through takes a tenth of this.
const COMPILE_STACK: usize = 64 << 20;

/// No text may end the process: what recurses gets a stack of its own, and a panic is a problem.
pub(super) fn on_big_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, PolicyErrors> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("policy".to_owned())
            .stack_size(COMPILE_STACK)
            .spawn_scoped(scope, work)
            .map_err(|error| internal(format!("no thread to compile policies on: {error}")))?;
        thread
            .join()
            .map_err(|_| internal("the policy compiler failed".to_owned()))
    })
}

fn internal(message: String) -> PolicyErrors {
    PolicyProblem::error("policy::internal", message).into()
}
