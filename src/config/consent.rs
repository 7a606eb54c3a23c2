//! `[consent]`: how people are asked.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::errors::ConfigReason;
use super::section::ConfigSection;
use crate::consent::{Settings, Way};

/// Long enough for somebody to read, short enough that an agent still waits.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

pub(super) fn consent(mut section: ConfigSection<'_, '_>) -> Option<Settings> {
    let is_present = section.is_present();
    let default = Settings::default();
    let settings = Settings {
        // They are named beside their tokens.
        approvers: Vec::new(),
        channels: channels(&mut section),
        timeout: section
            .duration("timeout", &TIMEOUT)
            .unwrap_or(default.timeout),
        per_principal: section
            .count("max_pending_per_agent", &(1..=1_000))
            .unwrap_or(default.per_principal),
        in_all: section
            .count("max_pending", &(1..=10_000))
            .unwrap_or(default.in_all),
        longest: section
            .size("max_prompt_bytes", &((1 << 10)..=(1 << 20)))
            .unwrap_or(default.longest),
    };
    if is_present && !section.has("channels") {
        let help =
            "as in `channels = [\"elicitation\"]`: without a channel the gate asks no person";
        section.require("channels", ConfigReason::Required, help);
    }
    section.finish();
    is_present.then_some(settings)
}

fn channels(section: &mut ConfigSection<'_, '_>) -> Vec<Way> {
    let known = Way::ALL.map(|way| (way.name(), way));
    let help = "list `\"web\"`, `\"elicitation\"` or both";
    let Some(items) = section.items("channels", help) else {
        return Vec::new();
    };
    let mut channels = Vec::new();
    for item in &items {
        match section.one_of_in(item, &known) {
            Some(channel) if channels.contains(&channel) => {
                section.tell(item, ConfigReason::Suspicious("listed twice"), None);
            }
            Some(channel) => channels.push(channel),
            None => {}
        }
    }
    section.refuse_empty("channels", "names no channel", help);
    channels
}
