//! Regular expressions: compiled once, when rules are loaded.
//!
//! A pattern is a literal, so that no agent ever writes one. The engine has no backtracking: a
//! match takes time in proportion to the text.

use std::cell::RefCell;
use std::sync::Arc;

use cel::common::types::{CelBool, CelInt, CelString, INT_TYPE, STRING_TYPE};
use cel::common::value::CowVal;
use cel::{DeclarationError, Env, ExecutionError};
use regex::{Regex, RegexBuilder};

/// Bytes that a compiled pattern may take.
const SIZE: usize = 100 << 10;

/// `@matches(text, n)`: whether the text has a match of the pattern with that number.
pub(super) const MATCHES: &str = "@matches";

/// All patterns of all rules, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct PatternTable(Arc<Vec<Regex>>);

/// Patterns in the order in which they are found.
#[derive(Debug, Default)]
pub(super) struct PatternCollector(Vec<Regex>);

thread_local! {
    static CURRENT: RefCell<PatternTable> = RefCell::default();
}

impl PatternTable {
    /// Runs `work` with these patterns.
    pub(super) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(self.clone());
        let done = work();
        CURRENT.set(before);
        done
    }
}

impl PatternCollector {
    /// The number of a pattern, or what is wrong with it.
    pub(super) fn add(&mut self, pattern: &str) -> Result<i64, String> {
        let built = RegexBuilder::new(pattern).size_limit(SIZE).build();
        // The last line says what is wrong; those before it draw where.
        let said = |error: regex::Error| {
            let said = error.to_string();
            let last = said.lines().next_back().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        };
        self.0.push(built.map_err(said)?);
        i64::try_from(self.0.len() - 1).map_err(|error| error.to_string())
    }

    pub(super) fn finish(self) -> PatternTable {
        PatternTable(Arc::new(self.0))
    }
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    let arguments = vec![STRING_TYPE.to_owned(), INT_TYPE.to_owned()];
    env.add_overload(MATCHES, "matches_pattern", arguments, matches)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a function of CEL takes its arguments by value"
)]
fn matches<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let found = match args.as_slice() {
        [text, number] => found(text, number),
        _ => None,
    };
    let wrong = || ExecutionError::function_error("matches", "no such pattern");
    Ok(CowVal::owned(CelBool::from(found.ok_or_else(wrong)?)))
}

fn found(text: &CowVal<'_, '_>, number: &CowVal<'_, '_>) -> Option<bool> {
    let text = text.downcast_ref::<CelString>()?;
    let number = usize::try_from(*number.downcast_ref::<CelInt>()?.inner()).ok()?;
    CURRENT.with_borrow(|current| Some(current.0.get(number)?.is_match(text.inner())))
}
