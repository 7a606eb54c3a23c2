//! Rules as they stand in their files: where each key is, and where the parts of a condition are.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::{Effect, Rule};
use super::literal::Places;
use super::parts::parts;
use crate::policy::{Part, PartKind, PolicyOutline, PolicySource, RuleEffect};

/// One rule and its places.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) outline: Arc<PolicyOutline>,
    /// Each key with its value, in the order of the file.
    pub(super) keys: Vec<Key>,
    pub(super) when: Option<When>,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    /// From the first letter of the key to the last of its value.
    pub(super) span: Range<usize>,
    pub(super) value: Range<usize>,
    /// Where its items stand, if it is an array.
    pub(super) items: Vec<Range<usize>>,
}

/// A condition.
#[derive(Debug)]
pub(super) struct When {
    /// As CEL reads it.
    pub(super) text: String,
    /// Its parts, by their places in the text.
    pub(super) parts: Vec<Part>,
    pub(super) places: Places,
}

impl When {
    /// The text of a part, by its place in the whole.
    pub(super) fn text(&self, part: &Part) -> &str {
        self.text.get(part.span.clone()).unwrap_or_default()
    }
}

/// The rules of a file that is in order, beside what they were compiled to.
pub(super) fn written(source: &PolicySource, rules: &[Rule]) -> Vec<Written> {
    let Ok(parsed) = DeTable::parse(&source.text) else {
        return Vec::new();
    };
    let tables = parsed.get_ref().get("rule").map(Spanned::get_ref);
    let tables: Vec<&Spanned<DeValue<'_>>> = tables
        .and_then(DeValue::as_array)
        .into_iter()
        .flatten()
        .collect();
    let ends = tables.iter().skip(1).map(|next| next.span().start);
    let ends = ends.chain([source.text.len()]);
    let of_table = |(table, end): (&&Spanned<DeValue<'_>>, usize)| {
        let keys = table.get_ref().as_table()?;
        let id = keys.get("id")?.get_ref().as_str()?;
        let rule = rules
            .iter()
            .find(|rule| rule.reason.policy.as_str() == id)?;
        let text = source.text.get(table.span().start..end)?;
        let span = table.span().start..table.span().start + text.trim_end().len();
        Some(of_rule(source, rule, keys, span))
    };
    tables.iter().zip(ends).filter_map(of_table).collect()
}

fn of_rule(source: &PolicySource, rule: &Rule, table: &DeTable<'_>, span: Range<usize>) -> Written {
    let mut keys: Vec<Key> = table
        .iter()
        .map(|(key, value)| Key {
            name: key.get_ref().to_string(),
            span: key.span().start..value.span().end,
            value: value.span(),
            items: match value.get_ref().as_array() {
                Some(items) => items.iter().map(Spanned::span).collect(),
                None => Vec::new(),
            },
        })
        .collect();
    keys.sort_by_key(|key| key.span.start);
    let when = table.get("when").and_then(|value| {
        let text = value.get_ref().as_str()?;
        let places = Places::of(&source.text, &value.span(), text);
        Some(When {
            text: text.to_owned(),
            parts: if places.is_some() {
                parts(text)
            } else {
                whole(text)
            },
            places: places.unwrap_or_default(),
        })
    });
    let key = keys.iter().find(|key| key.name == "when");
    let mut actions = rule.actions.clone();
    actions.sort_unstable();
    actions.dedup();
    let parts = key.zip(when.as_ref());
    let parts = parts.map(|(key, when)| placed(key, when));
    Written {
        outline: Arc::new(PolicyOutline {
            id: rule.reason.policy.clone(),
            origin: rule.reason.origin.clone(),
            effect: match rule.effect {
                Effect::Permit => RuleEffect::Permit,
                Effect::Forbid => RuleEffect::Forbid,
            },
            actions,
            source: Arc::clone(&source.text),
            span,
            parts: parts.unwrap_or_default(),
        }),
        keys,
        when,
    }
}

/// The parts by their places in the file, below one for the key.
fn placed(key: &Key, when: &When) -> Vec<Part> {
    let mut placed = vec![Part {
        kind: PartKind::When,
        span: key.span.clone(),
        parent: None,
        children: vec![1],
    }];
    for part in &when.parts {
        let span = when.places.span(&part.span);
        placed.push(Part {
            kind: part.kind,
            span: span.unwrap_or_else(|| key.value.clone()),
            parent: Some(part.parent.map_or(0, |parent| parent + 1)),
            children: part.children.iter().map(|child| child + 1).collect(),
        });
    }
    placed
}

/// A condition whose letters are not found in the file.
fn whole(text: &str) -> Vec<Part> {
    vec![Part {
        kind: PartKind::Condition,
        span: 0..text.len(),
        parent: None,
        children: Vec::new(),
    }]
}
