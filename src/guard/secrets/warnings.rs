//! Rules that are valid, and find nothing of what their authors look for.
//!
//! INVARIANT: what is told here is so of every text. What cannot be known of a pattern is taken for possible.

use std::collections::BTreeSet;

use regex_syntax::Parser;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::compiled::SECRET;
use super::match_parts::may_hold;
use super::rule::SecretRule;

/// Why a rule may not do what it is for. `rule` says which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleWarning {
    /// The pattern matches no text at all.
    Nothing { rule: String },
    /// No text that the pattern matches holds any of the keywords: they have to stand beside it.
    Apart { rule: String },
    /// No secret of the pattern has so much entropy.
    Entropy { rule: String },
}

pub(super) fn doubts_of(rule: &SecretRule) -> Option<RuleWarning> {
    let pattern = Parser::new().parse(&rule.pattern).ok()?;
    let id = rule.id.clone();
    if matches_nothing(&pattern) {
        return Some(RuleWarning::Nothing { rule: id });
    }
    let least = f64::from(rule.min_entropy.unwrap_or(0));
    // Sums of fractions come out a little more or less.
    if most_entropy(secret(&pattern)) * 10.0 + 0.001 < least {
        return Some(RuleWarning::Entropy { rule: id });
    }
    let mut keywords = rule.keywords.iter();
    let is_apart = keywords.all(|keyword| !may_hold(&pattern, keyword));
    is_apart.then_some(RuleWarning::Apart { rule: id })
}

fn matches_nothing(pattern: &Hir) -> bool {
    match pattern.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => false,
        HirKind::Class(class) => class.is_empty(),
        HirKind::Repetition(repetition) => repetition.min > 0 && matches_nothing(&repetition.sub),
        HirKind::Capture(group) => matches_nothing(&group.sub),
        HirKind::Concat(parts) => parts.iter().any(matches_nothing),
        HirKind::Alternation(parts) => parts.iter().all(matches_nothing),
    }
}

/// The part of a pattern that is the secret: all of it where that is not certain.
fn secret(pattern: &Hir) -> &Hir {
    named(pattern).unwrap_or(pattern)
}

/// The group, where every match has one.
fn named(pattern: &Hir) -> Option<&Hir> {
    match pattern.kind() {
        HirKind::Capture(group) if group.name.as_deref() == Some(SECRET) => Some(&group.sub),
        HirKind::Capture(group) => named(&group.sub),
        HirKind::Concat(parts) => parts.iter().find_map(named),
        HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Alternation(_) => None,
    }
}

/// The most bits per byte that a match can have: each of its bytes another one, as far as there are any.
fn most_entropy(pattern: &Hir) -> f64 {
    let mut bytes = BTreeSet::new();
    collect(pattern, &mut bytes);
    let longest = pattern.properties().maximum_len().unwrap_or(usize::MAX);
    let different = bytes.len().min(longest);
    u16::try_from(different).map_or(8.0, |it| f64::from(it.max(1)).log2())
}

/// The bytes that may stand in what matches.
fn collect(pattern: &Hir, bytes: &mut BTreeSet<u8>) {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => bytes.extend(literal.0.iter()),
        HirKind::Class(Class::Bytes(class)) => {
            let ranges = class.ranges().iter();
            bytes.extend(ranges.flat_map(|it| it.start()..=it.end()));
        }
        HirKind::Class(Class::Unicode(class)) => {
            for range in class.ranges() {
                let ascii = char::from(0)..=char::from(0x7f);
                let (start, end) = (range.start(), range.end().min(*ascii.end()));
                bytes.extend((start..=end).filter_map(|it| u8::try_from(it).ok()));
                if !ascii.contains(&range.end()) {
                    // Of the others each may have any.
                    bytes.extend(0x80..=u8::MAX);
                }
            }
        }
        HirKind::Repetition(repetition) => collect(&repetition.sub, bytes),
        HirKind::Capture(group) => collect(&group.sub, bytes),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            for part in parts {
                collect(part, bytes);
            }
        }
    }
}
