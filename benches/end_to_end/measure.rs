//! The clock, order statistics, and what a line through points is.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

#[expect(
    clippy::disallowed_methods,
    reason = "to take the time is what this is for"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn installed(program: &str) -> bool {
    Command::new("which")
        .arg(program)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A count as a number to calculate with.
pub(crate) fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The time that this share of all times (0 to 1) does not exceed, in microseconds.
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> f64 {
    let rank = Duration::from_secs_f64(number(sorted.len()) * share).as_secs();
    let last = sorted.len().saturating_sub(1);
    let rank = usize::try_from(rank).map_or(last, |rank| rank.min(last));
    sorted.get(rank).map_or(0.0, |time| micros(*time))
}

/// The median of times in any order, in microseconds.
pub(crate) fn median(times: &[Duration]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    quantile(&sorted, 0.5)
}

/// The rise per unit of the straight line with the least squares of distances to these points.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = number(points.len()).max(1.0);
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let rise: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let run: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if run > 0.0 { rise / run } else { 0.0 }
}
