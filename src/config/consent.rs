//! `[consent]`: how people are asked.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::errors::Reason;
use super::section::Section;
use crate::consent::{Settings, Way};

/// Long enough for somebody to read, short enough that an agent still waits.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

pub(super) fn consent(mut section: Section<'_, '_>) -> Option<Settings> {
    let is_present = section.is_present();
    let default = Settings::default();
    let settings = Settings {
        // They are named beside their tokens.
        approvers: Vec::new(),
        ways: ways(&mut section),
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
            .size("max_arguments", &((1 << 10)..=(1 << 20)))
            .unwrap_or(default.longest),
    };
    if is_present && !section.has("ways") {
        let help = "as in `ways = [\"elicitation\"]`: without a way nobody is asked";
        section.require("ways", Reason::Required, help);
    }
    section.finish();
    is_present.then_some(settings)
}

fn ways(section: &mut Section<'_, '_>) -> Vec<Way> {
    let known = Way::ALL.map(|way| (way.name(), way));
    let help = "list `\"page\"`, `\"elicitation\"` or both";
    let Some(items) = section.items("ways", help) else {
        return Vec::new();
    };
    let mut ways = Vec::new();
    for item in &items {
        match section.one_of_in(item, &known) {
            Some(way) if ways.contains(&way) => {
                section.tell(item, Reason::Suspicious("listed twice"), None);
            }
            Some(way) => ways.push(way),
            None => {}
        }
    }
    section.refuse_empty("ways", "names no way", help);
    ways
}
