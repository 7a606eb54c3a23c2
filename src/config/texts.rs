//! `[guards]`: text that the gate removes from definitions and results.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::tool_names::tool_name;
use crate::guard::text::{
    AnswerRules, MAX_CUSTOM_PATTERNS, MAX_PATTERN_BYTES, Margins, StrippedTags, SuspiciousWords,
    WordsError, is_builtin,
};

const TAGS: [(&str, StrippedTags); 3] = [
    ("all", StrippedTags::All),
    ("suspicious", StrippedTags::Suspicious),
    ("off", StrippedTags::None),
];

pub(super) fn tags(section: &mut ConfigSection<'_, '_>, key: &'static str) -> Option<StrippedTags> {
    section.one_of(key, &TAGS)
}

/// The keys that begin with `content_`, beside what holds without a word.
pub(super) fn answers(section: &mut ConfigSection<'_, '_>, default: AnswerRules) -> AnswerRules {
    AnswerRules {
        tags: tags(section, "content_tags").unwrap_or(default.tags),
        longest: section
            .count("content_length", &LENGTHS)
            .or(default.longest),
        margins: section
            .switch("content_trim", Margins::Trimmed, Margins::Kept)
            .unwrap_or(default.margins),
    }
}

/// What is not said of a tool is as it is for all.
pub(super) fn answers_of_tools(
    mut section: ConfigSection<'_, '_>,
    all: AnswerRules,
) -> BTreeMap<String, AnswerRules> {
    let mut tools = BTreeMap::new();
    for field in section.entries() {
        if let Some(reason) = tool_name(field.key) {
            section.tell(&field, reason, None);
        }
        let Some(mut tool) = section.table_in(&field) else {
            continue;
        };
        let rules = AnswerRules {
            tags: tags(&mut tool, "tags").unwrap_or(all.tags),
            longest: tool.count("length", &LENGTHS).or(all.longest),
            margins: tool
                .switch("trim", Margins::Trimmed, Margins::Kept)
                .unwrap_or(all.margins),
        };
        tool.finish();
        tools.insert(field.key.to_owned(), rules);
    }
    tools
}

pub(super) fn suspicious_words(mut section: ConfigSection<'_, '_>) -> SuspiciousWords {
    let mut all = BTreeMap::new();
    for field in section.entries() {
        let Some(pattern) = section.text(&field).map(|text| text.value) else {
            continue;
        };
        let one = BTreeMap::from([(field.key.to_owned(), pattern.clone())]);
        let (reason, help) = if !is_name(field.key) || is_builtin(field.key) {
            (
                ConfigReason::Invalid("is no name for a pattern"),
                "1 to 64 letters of ASCII, digits, `_` and `-`, and none that the gate has itself",
            )
        } else if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
            (
                ConfigReason::Invalid("has no pattern of 1 to 256 bytes"),
                "a regular expression (Rust `regex`) of at most 256 bytes",
            )
        } else if all.len() >= MAX_CUSTOM_PATTERNS {
            (
                ConfigReason::Invalid("is one pattern too many"),
                "at most 64; one pattern may have alternatives: `release|deploy`",
            )
        } else {
            match SuspiciousWords::new(&one) {
                Ok(_) => {
                    all.extend(one);
                    continue;
                }
                Err(WordsError::NoPattern(_)) => (
                    ConfigReason::Invalid("has a pattern that does not compile"),
                    "a regular expression (Rust `regex`): no look-around, no back-references",
                ),
                Err(WordsError::TooLarge) => TOO_LARGE,
            }
        };
        section.tell(&field, reason, Some(help));
    }
    SuspiciousWords::new(&all).unwrap_or_else(|_| {
        let (reason, help) = TOO_LARGE;
        section.refuse_section(reason, help);
        SuspiciousWords::default()
    })
}

/// Characters of a text.
const LENGTHS: RangeInclusive<u64> = 16..=16_000_000;

const TOO_LARGE: (ConfigReason, &str) = (
    ConfigReason::Invalid("has patterns that take more than 1 MiB when compiled"),
    "repeat less in braces, and use `[a-z]` instead of `\\w`",
);

fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(is_letter)
}
