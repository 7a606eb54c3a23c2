//! `[upstream.restart]`: when a server is started again that has ended.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::settings::Restart;

const FIRST: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);
/// A server that ends again and again is started once a second at most.
const MAX: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

pub(super) fn restart(mut section: ConfigSection<'_, '_>) -> Restart {
    let default = Restart::default();
    let first = section.duration("first", &FIRST).unwrap_or(default.first);
    let max = section.duration("max", &MAX);
    if max.is_some_and(|max| max < first) {
        let reason = ConfigReason::Invalid("shorter than `first`");
        section.refuse("max", reason, Some("write at least the delay of `first`"));
    }
    let tries = section.count("tries", &(1..=1000));
    let tries = tries.and_then(|tries| u32::try_from(tries).ok());
    section.finish();
    Restart {
        first,
        max: max.unwrap_or_else(|| default.max.max(first)),
        tries: tries.unwrap_or(default.tries),
    }
}
