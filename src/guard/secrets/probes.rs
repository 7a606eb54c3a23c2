//! Patterns that are tried where they must begin, and what tries cost.
//!
//! Tries at different places read the same bytes again, and most texts have few places. A text that is made of
//! what is almost a credential has very many, so tries are counted.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::hybrid::BuildError;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

/// Bytes that the automaton of a pattern may cache for each thread that uses it.
pub(super) const LARGEST_CACHE: usize = 512 * 1024;

/// What it costs to consider a rule at a place, in bytes that a try reads.
const OF_PLACE: usize = 16;

/// What it costs to take a match apart, and each byte of it.
const OF_MATCH: usize = 400;
const OF_PART: usize = 8;

/// What it costs to clear the cache of an automaton that is full, and how often that is free: texts before may
/// have filled it nearly.
const OF_CLEARING: usize = 1_500_000;
const FREE_CLEARINGS: usize = 4;

/// How much the tries in a text may cost for each of its bytes. A test holds ordinary texts, and our own
/// sources, below 4.
const OF_BYTE: usize = 8;

/// The same beside its bytes: a short text may be nothing but one credential.
const OF_TEXT: usize = 4096;

/// A pattern that is tried.
#[derive(Clone)]
pub(super) struct PatternProbe(DFA);

/// The automaton cannot go on with its cache.
struct CacheExhausted;

/// What has been cached of the automata of all rules, by the number of the rule.
pub(super) type Caches = Vec<Option<Cache>>;

type New = Box<dyn Fn() -> Caches + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// The caches of each thread.
pub(super) struct AllCaches(Pool<Caches, New>);

/// What is left to spend on the tries in one text.
#[derive(Debug)]
pub(super) struct ScanBudget {
    left: usize,
    clearings: usize,
    /// The rule that would have spent more.
    spent_by: Option<usize>,
}

impl PatternProbe {
    pub(super) fn new(pattern: &str) -> Result<Self, Box<BuildError>> {
        let dfa = DFA::builder()
            .syntax(syntax::Config::new().unicode(false))
            .configure(DFA::config().cache_capacity(LARGEST_CACHE))
            .build(pattern)?;
        Ok(Self(dfa))
    }

    /// Where a match ends that begins with the text, and how many bytes say so.
    ///
    /// # Errors
    /// When the automaton has given up.
    fn matches(
        &self,
        cache: &mut Cache,
        text: &[u8],
    ) -> Result<(Option<usize>, usize), CacheExhausted> {
        let input = Input::new(text).anchored(Anchored::Yes);
        let start = self.0.start_state_forward(cache, &input);
        let mut state = start.map_err(|_| CacheExhausted)?;
        let mut end = None;
        for (at, byte) in text.iter().enumerate() {
            let next = self.0.next_state(cache, state, *byte);
            state = next.map_err(|_| CacheExhausted)?;
            if !state.is_tagged() {
                continue;
            }
            // A match is known by the byte behind it.
            if state.is_match() {
                end = Some(at);
            } else if state.is_dead() {
                return Ok((end, at + 1));
            } else if state.is_quit() {
                return Err(CacheExhausted);
            }
        }
        let last = self
            .0
            .next_eoi_state(cache, state)
            .map_err(|_| CacheExhausted)?;
        if last.is_match() {
            end = Some(text.len());
        }
        Ok((end, text.len()))
    }
}

impl AllCaches {
    pub(super) fn new(rules: usize) -> Self {
        Self(Pool::new(Box::new(move || {
            (0..rules).map(|_| None).collect()
        })))
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Caches) -> T) -> T {
        work(&mut self.0.get())
    }
}

impl ScanBudget {
    pub(super) fn of(text: &str) -> Self {
        Self {
            left: text.len().saturating_mul(OF_BYTE).saturating_add(OF_TEXT),
            clearings: 0,
            spent_by: None,
        }
    }

    /// The rule at which it was all spent, if it was.
    pub(super) fn spent_by(&self) -> Option<usize> {
        self.spent_by
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// A rule is considered at some place.
    pub(super) fn considers(&mut self, rule: usize) {
        self.spend(rule, OF_PLACE);
    }

    /// Where a match of a pattern ends that begins with the text. None, once all is spent.
    pub(super) fn tries(
        &mut self,
        rule: usize,
        trier: &PatternProbe,
        caches: &mut Caches,
        text: &str,
    ) -> Option<usize> {
        let cache = caches.get_mut(rule).filter(|_| self.spent_by.is_none())?;
        let cache = cache.get_or_insert_with(|| trier.0.create_cache());
        let before = cache.clear_count();
        let Ok((end, read)) = trier.matches(cache, text.as_bytes()) else {
            self.spend(rule, usize::MAX);
            return None;
        };
        self.spend(rule, read);
        let cleared = cache.clear_count().saturating_sub(before);
        self.clearings += cleared;
        if cleared > 0 && self.clearings > FREE_CLEARINGS {
            self.spend(rule, OF_CLEARING);
        }
        end
    }

    /// A match of so many bytes is taken apart.
    pub(super) fn takes_apart(&mut self, rule: usize, bytes: usize) {
        self.spend(rule, bytes.saturating_mul(OF_PART).saturating_add(OF_MATCH));
    }

    fn spend(&mut self, rule: usize, cost: usize) {
        match self.left.checked_sub(cost) {
            Some(left) => self.left = left,
            None => self.spent_by = self.spent_by.or(Some(rule)),
        }
    }
}

impl fmt::Debug for PatternProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trier").finish_non_exhaustive()
    }
}
