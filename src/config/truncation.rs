//! `truncation`: how long texts of results are.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::settings::{Truncation, TruncationPreset};
use super::tool_names::tool_name;

/// How long texts are truncated, beside what is done without a word.
pub(super) fn truncation(
    mut section: ConfigSection<'_, '_>,
    default: Option<&Truncation>,
) -> Option<Truncation> {
    const MAX_BYTES: RangeInclusive<u64> = 1 << 10..=16 << 20;
    const RETAIN_BYTES: RangeInclusive<u64> = 1 << 10..=256 << 20;
    const SAVE_BYTES: RangeInclusive<u64> = 1 << 10..=16 << 30;
    const SAVE_FOR: RangeInclusive<Duration> =
        Duration::from_mins(1)..=Duration::from_hours(24 * 365);
    let is_present = section.is_present();
    let before = default.cloned().unwrap_or_default();
    let truncation = Truncation {
        max_bytes: section
            .size("max_bytes", &MAX_BYTES)
            .unwrap_or(before.max_bytes),
        retain_bytes: section
            .size("retain_bytes", &RETAIN_BYTES)
            .unwrap_or(before.retain_bytes),
        save: section.string("save").or(before.save),
        save_bytes: section
            .size("save_bytes", &SAVE_BYTES)
            .unwrap_or(before.save_bytes),
        save_for: section
            .duration("save_for", &SAVE_FOR)
            .unwrap_or(before.save_for),
        tools: presets(section.section("tools"), before.tools, tool_name),
        resources: presets(section.section("resources"), before.resources, nameless),
        prompts: presets(section.section("prompts"), before.prompts, nameless),
    };
    section.finish();
    if is_present {
        Some(truncation)
    } else {
        default.cloned()
    }
}

/// Presets by the name of a tool or prompt, or the beginning of a URI.
fn presets(
    mut section: ConfigSection<'_, '_>,
    mut presets: BTreeMap<String, TruncationPreset>,
    unfit: fn(&str) -> Option<ConfigReason>,
) -> BTreeMap<String, TruncationPreset> {
    let known = [
        ("default", TruncationPreset::Default),
        ("sql_query", TruncationPreset::SqlQuery),
        ("log_search", TruncationPreset::LogSearch),
        ("none", TruncationPreset::None),
    ];
    for field in section.entries() {
        if let Some(reason) = unfit(field.key) {
            section.tell(&field, reason, None);
        }
        if let Some(preset) = section.one_of_in(&field, &known) {
            presets.insert(field.key.to_owned(), preset);
        }
    }
    presets
}

fn nameless(name: &str) -> Option<ConfigReason> {
    name.is_empty().then_some(ConfigReason::Invalid("is empty"))
}
