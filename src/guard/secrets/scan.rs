//! One pass over one text, plain and decoded.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use super::compiled::{CompiledSecretRule, Lookbehind, Match, SearchPosition};
use super::decode::{DecodedText, each_decoded, may_be_decoded};
use super::finding::{Encoding, Layer};
use super::fold::{folded, is_ordinary};
use super::probes::{Caches, ScanBudget};
use super::rule_set::{MOST_FINDINGS, SecretRules};

/// Windows of one rule that overlap are one, up to this size: a text full of keywords is read once
/// by a rule, and no search has more than this before it.
const LARGEST_WINDOW: usize = 32 * 1024;

/// How many secrets of one rule the gate looks for in a text as it is written. The text behind the last of
/// them counts as one more.
const MOST_IN_TEXT: usize = 2 * MOST_FINDINGS;

/// The same in decoded text. One match makes the whole encoded run a secret; the most particular rule names
/// it.
const MOST_IN_DECODED: usize = 64;

/// A secret before it is told.
#[derive(Debug, Clone)]
pub(super) struct SecretMatch {
    /// By its number: lower ones are more particular.
    pub(super) rule: usize,
    pub(super) range: Range<usize>,
    pub(super) encoding: Encoding,
}

/// Bytes of the longest text that `is_quiet` checks: of a longer one the full look would repeat too much.
const SHORT: usize = 256;

/// Whether a short text cannot show a credential: it has no keyword, nothing to decode, and no character
/// that changes how it reads.
pub(super) fn is_quiet(rules: &SecretRules, text: &str) -> bool {
    text.len() <= SHORT
        && text.bytes().all(is_ordinary)
        && !may_be_decoded(text)
        && !rules.keywords.is_any_in(text)
}

/// All that one look at a text tells, in no order; findings may overlap. A text that takes more effort than
/// is left is one secret, whatever else is in it.
pub(super) fn scan(rules: &SecretRules, text: &str, effort: &mut ScanBudget) -> Vec<SecretMatch> {
    let mut found = rules.caches.with(|caches| {
        let mut look = ScanState {
            rules,
            effort,
            caches,
        };
        let mut found = look.written(text);
        if let Some(folded) = folded(text) {
            let as_it_reads = look.written(&folded.text).into_iter();
            found.extend(as_it_reads.map(|one| SecretMatch {
                range: folded.place_of(&one.range),
                ..one
            }));
        }
        found
    });
    if let Some(rule) = effort.spent_by() {
        found = vec![plain_one(rule, 0..text.len())];
    }
    found
}

/// What a look at a text takes.
struct ScanState<'l> {
    rules: &'l SecretRules,
    effort: &'l mut ScanBudget,
    caches: &'l mut Caches,
}

impl ScanState<'_> {
    /// The same of a text as it is written.
    fn written(&mut self, text: &str) -> Vec<SecretMatch> {
        let mut found = self.plain(text, MOST_IN_TEXT);
        let _spent = each_decoded(text, |outer| {
            let mut inner = self.plain(outer.text, most_in(outer));
            let _spent = each_decoded(outer.text, |twice| {
                let twice_encoded = self.plain(twice.text, most_in(twice));
                inner.extend(twice_encoded.into_iter().map(|one| SecretMatch {
                    range: twice.run_of(&one.range),
                    encoding: one.encoding.within(twice.layer),
                    ..one
                }));
                self.goes_on()
            });
            found.extend(inner.into_iter().map(|one| SecretMatch {
                range: outer.run_of(&one.range),
                encoding: one.encoding.within(outer.layer),
                ..one
            }));
            self.goes_on()
        });
        found
    }

    /// Stops the search once the effort is spent: the whole text then counts as one secret.
    fn goes_on(&self) -> ControlFlow<()> {
        match self.effort.spent_by() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    /// Looks for no more than `most` of each rule: what stands behind them is one more, up to the end.
    fn plain(&mut self, text: &str, most: usize) -> Vec<SecretMatch> {
        let rules = self.rules;
        let mut found = Vec::new();
        let mut windows = SearchWindows::default();
        let mut tally = RuleCounts::new(most);
        let looked = rules.keywords.each(text, |hit| {
            self.goes_on()?;
            for &number in hit.rules {
                let Some(rule) = rules.compiled.get(number) else {
                    continue;
                };
                match rule.place {
                    SearchPosition::Window { before, after } => {
                        let start = text.floor_char_boundary(hit.start.saturating_sub(before));
                        let end = text.ceil_char_boundary(hit.end.saturating_add(after));
                        windows.add(number, start..end);
                    }
                    SearchPosition::Anchored { .. } if tally.is_full(number) => {}
                    SearchPosition::Anchored {
                        offsets,
                        before,
                        after,
                    } => {
                        let starts = offsets.iter().filter_map(|&o| hit.start.checked_sub(o));
                        let mut matches = starts.filter_map(|start| {
                            self.anchored((number, rule), text, start, (before, after))
                        });
                        if let Some(range) = matches.next() {
                            tally.count(number, range.end);
                            found.push(plain_one(number, range));
                        }
                    }
                }
            }
            ControlFlow::Continue(())
        });
        if looked.is_break() {
            return Vec::new();
        }
        for (number, window) in windows.all {
            let rule = rules.compiled.get(number);
            if let Some(rule) = rule.filter(|_| !tally.is_full(number)) {
                for range in search(rule, text, &window) {
                    tally.count(number, range.end);
                    found.push(plain_one(number, range));
                }
            }
        }
        let rests = tally.full.into_iter();
        found.extend(rests.map(|(rule, end)| plain_one(rule, end..text.len())));
        found.retain(|one| !one.range.is_empty());
        found
    }

    /// The secret of a rule whose match begins here.
    fn anchored(
        &mut self,
        (number, rule): (usize, &CompiledSecretRule),
        text: &str,
        start: usize,
        (before, after): (Lookbehind, usize),
    ) -> Option<Range<usize>> {
        self.effort.considers(number);
        if !before.allows(text.as_bytes().get(..start)?) {
            return None;
        }
        let end = text.floor_char_boundary(start.saturating_add(after));
        let Match { mut secret, .. } =
            rule.here(number, text.get(start..end)?, self.effort, self.caches)?;
        secret = start + secret.start..start + secret.end;
        if !rule.accepts_at(text, &secret) {
            return None;
        }
        secret.end = if secret.end == end {
            token_end(text, end)
        } else {
            quoted_end(text, &secret)
        };
        Some(secret)
    }
}

fn most_in(decoded: &DecodedText<'_>) -> usize {
    if decoded.is_told_whole() {
        MOST_IN_DECODED
    } else {
        MOST_IN_TEXT
    }
}

/// Sorted and apart from each other: what overlaps is one, named by the most particular rule.
pub(super) fn merged(mut found: Vec<SecretMatch>) -> Vec<SecretMatch> {
    found.sort_by_key(|one| (one.range.start, one.rule));
    let mut out: Vec<SecretMatch> = Vec::with_capacity(found.len());
    for one in found {
        match out.last_mut() {
            Some(last) if one.range.start < last.range.end => {
                let end = last.range.end.max(one.range.end);
                if one.rule < last.rule {
                    last.rule = one.rule;
                    last.encoding = one.encoding;
                }
                last.range.end = end;
            }
            Some(_) | None => out.push(one),
        }
    }
    out
}

/// How many secrets each rule has found.
struct RuleCounts {
    most: usize,
    counts: BTreeMap<usize, usize>,
    /// The rules that are not looked for any more, and where their search ended.
    full: BTreeMap<usize, usize>,
}

impl RuleCounts {
    fn new(most: usize) -> Self {
        Self {
            most,
            counts: BTreeMap::new(),
            full: BTreeMap::new(),
        }
    }

    fn is_full(&self, rule: usize) -> bool {
        self.full.contains_key(&rule)
    }

    fn count(&mut self, rule: usize, end: usize) {
        let count = self.counts.entry(rule).or_default();
        *count += 1;
        if *count >= self.most {
            let ended = self.full.entry(rule).or_insert(end);
            *ended = (*ended).min(end);
        }
    }
}

fn plain_one(rule: usize, range: Range<usize>) -> SecretMatch {
    SecretMatch {
        rule,
        range,
        encoding: Encoding::Plain,
    }
}

/// Where patterns are searched, those of one rule that overlap joined.
#[derive(Default)]
struct SearchWindows {
    all: Vec<(usize, Range<usize>)>,
    /// By rule, the last of its windows.
    last: BTreeMap<usize, usize>,
}

impl SearchWindows {
    fn add(&mut self, rule: usize, new: Range<usize>) {
        let last = self.last.get(&rule).and_then(|&at| self.all.get_mut(at));
        if let Some((_, window)) = last
            && new.start <= window.end
            && new.end.saturating_sub(window.start) <= LARGEST_WINDOW
        {
            window.end = window.end.max(new.end);
        } else {
            self.last.insert(rule, self.all.len());
            self.all.push((rule, new));
        }
    }
}

/// The secrets of one rule in one window.
fn search(rule: &CompiledSecretRule, text: &str, window: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let haystack = text.get(..window.end).unwrap_or(text);
    let mut from = window.start;
    // What was no secret may have hidden one (`key: password = …`), so it is looked at again; with
    // a limit, as each look may be as long as the window.
    let mut again = 4 * window.len();
    while from < haystack.len()
        && let Some(Match { whole, mut secret }) = rule.next(haystack, from)
    {
        let least = text.ceil_char_boundary(from + 1);
        if rule.accepts(text.get(secret.clone()).unwrap_or_default()) {
            if secret.end == haystack.len() {
                secret.end = token_end(text, secret.end);
            }
            from = secret.end.max(least);
            found.push(secret);
        } else if secret.start > whole.start && whole.len() <= again {
            again -= whole.len();
            from = secret.start.max(least);
        } else {
            from = whole.end.max(least);
        }
    }
    found
}

/// The longest value in quotes that has quotes in it.
const LONGEST_QUOTED: usize = 256;

/// The end of a value: one in quotes goes on behind a quote that is escaped in it.
fn quoted_end(text: &str, secret: &Range<usize>) -> usize {
    let before = text.get(..secret.start).unwrap_or_default();
    let rest = text.get(secret.end..).unwrap_or_default();
    let quote = ['"', '\''].into_iter().find(|&quote| {
        before
            .strip_suffix(quote)
            .is_some_and(|text| !text.ends_with('\\'))
    });
    let Some(quote) = quote.filter(|&quote| {
        let rest = rest.strip_prefix('\\');
        rest.is_some_and(|rest| rest.starts_with(quote))
    }) else {
        return secret.end;
    };
    let mut escaped = false;
    let mut characters = rest.char_indices().take(LONGEST_QUOTED);
    let closing = characters.find(|&(_, character)| {
        let closes = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        closes
    });
    closing.map_or(secret.end, |(length, _)| secret.end + length)
}

/// The end of the word that goes on here. A match that ends where its window was cut goes on there.
fn token_end(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let rest = rest
        .get(..rest.floor_char_boundary(LARGEST_WINDOW))
        .unwrap_or(rest);
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>()[]{},;".contains(c);
    from + rest.find(ends).unwrap_or(rest.len())
}

impl Encoding {
    /// What is written like this inside of what is decoded.
    fn within(self, layer: Layer) -> Self {
        match self {
            Self::Plain => Self::Once(layer),
            Self::Once(inner) | Self::Twice { inner, .. } => Self::Twice {
                outer: layer,
                inner,
            },
        }
    }
}
