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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_panics_is_a_problem_of_its_policies() {
        assert_eq!(on_big_stack(|| 1).ok(), Some(1));
        let panicked = on_big_stack(|| assert_eq!(1, 2, "an unexpected text"));
        let problems = panicked.unwrap_err().problems;
        let told = problems
            .iter()
            .map(|it| (it.code.to_string(), it.message.clone()));
        let expected = ("policy::internal", "the policy compiler failed");
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(told.collect::<Vec<_>>(), [expected]);
    }
}
