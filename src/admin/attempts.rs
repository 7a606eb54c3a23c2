//! Wrong tokens: each address that shows them waits longer and longer before its next try, and the
//! log has one line a minute about all of them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Wrong tokens of one address that cost it no pause: people mistype.
const FREE_ATTEMPTS: u32 = 3;

/// The first pause. Each further wrong token doubles it, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// An address without a wrong token for this long starts again without a pause.
const MEMORY: Duration = Duration::from_mins(10);

/// Addresses that are remembered. All further ones share one entry.
const MAX_ADDRESSES: usize = 1024;

const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The wrong tokens of every address.
#[derive(Debug, Default)]
pub(super) struct FailedAttempts(Mutex<AttemptState>);

#[derive(Debug, Default)]
struct AttemptState {
    addresses: HashMap<IpAddr, Failures>,
    log: AttemptLog,
}

/// The wrong tokens of one address.
#[derive(Debug, Default, Clone, Copy)]
struct Failures {
    count: u32,
    last: Duration,
}

/// Wrong tokens since the last line of the log.
#[derive(Debug, Default)]
struct AttemptLog {
    unreported: u64,
    last: Option<Duration>,
}

/// How long an address must wait before its next token is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause(Duration);

impl Pause {
    /// Whole seconds, rounded up: the value of `Retry-After` (RFC 9110 §10.2.3).
    pub(super) fn seconds(self) -> u64 {
        self.0
            .as_secs()
            .saturating_add(u64::from(self.0.subsec_nanos() > 0))
    }
}

impl FailedAttempts {
    /// Call this before a token is looked at.
    ///
    /// # Errors
    /// [`Pause`]: the address has shown too many wrong tokens. The token must not be looked at, or the
    /// answer would say whether it is right.
    pub(super) fn check(&self, peer: IpAddr, now: Duration) -> Result<(), Pause> {
        let mut state = self.state();
        let key = state.key(peer, now);
        let Some(failures) = state.addresses.get(&key) else {
            return Ok(());
        };
        let until = failures.last.saturating_add(failures.pause());
        match until.checked_sub(now) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(rest) => Err(Pause(rest)),
        }
    }

    /// Counts a wrong token, and logs it if the last line is a minute old.
    pub(super) fn failed(&self, peer: IpAddr, now: Duration) {
        let count = {
            let mut state = self.state();
            let key = state.key(peer, now);
            let failures = state.addresses.entry(key).or_default();
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
            state.log.due(now)
        };
        if let Some(count) = count {
            tracing::warn!(
                count,
                %peer,
                "the admin listener refused wrong tokens; the last came from this address"
            );
        }
    }

    /// Forgets the wrong tokens of an address that has shown a right one.
    pub(super) fn succeeded(&self, peer: IpAddr, now: Duration) {
        let mut state = self.state();
        let key = state.key(peer, now);
        state.addresses.remove(&key);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, AttemptState> {
        // Every change is one insertion or removal.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AttemptState {
    /// The entry of an address: its own, or the shared one if the table is full.
    fn key(&mut self, peer: IpAddr, now: Duration) -> IpAddr {
        let key = network(peer);
        if self.addresses.len() >= MAX_ADDRESSES && !self.addresses.contains_key(&key) {
            self.addresses
                .retain(|_, failures| now.saturating_sub(failures.last) < MEMORY);
            if self.addresses.len() >= MAX_ADDRESSES {
                return IpAddr::V6(Ipv6Addr::UNSPECIFIED);
            }
        }
        let is_old = |failures: &Failures| now.saturating_sub(failures.last) >= MEMORY;
        if self.addresses.get(&key).is_some_and(is_old) {
            self.addresses.remove(&key);
        }
        key
    }
}

impl Failures {
    fn pause(self) -> Duration {
        let Some(doublings) = self.count.checked_sub(FREE_ATTEMPTS.saturating_add(1)) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        FIRST_PAUSE.saturating_mul(factor).min(MAX_PAUSE)
    }
}

impl AttemptLog {
    /// How many wrong tokens the next line is about, if it is due.
    fn due(&mut self, now: Duration) -> Option<u64> {
        self.unreported = self.unreported.saturating_add(1);
        let is_due = self
            .last
            .is_none_or(|last| now.saturating_sub(last) >= LOG_INTERVAL);
        is_due.then(|| {
            self.last = Some(now);
            std::mem::take(&mut self.unreported)
        })
    }
}

/// One machine has as many IPv6 addresses as it likes, all in one network of 64 bits.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn each_wrong_token_after_the_third_doubles_the_pause_up_to_a_minute() {
        let attempts = FailedAttempts::default();
        let mut now = seconds(1);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            attempts.failed(PEER, now);
            let pause = attempts
                .check(PEER, now)
                .map_or_else(Pause::seconds, |()| 0);
            pauses.push(pause);
            now += seconds(pause);
            assert_eq!(attempts.check(PEER, now), Ok(()), "after {pause} s");
        }
        assert_eq!(pauses, [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn a_right_token_and_ten_quiet_minutes_end_the_pause() {
        let attempts = FailedAttempts::default();
        let fail = |now| (0..9).for_each(|_| attempts.failed(PEER, now));
        fail(seconds(1));
        assert!(attempts.check(PEER, seconds(1)).is_err());
        attempts.succeeded(PEER, seconds(1));
        assert_eq!(attempts.check(PEER, seconds(1)), Ok(()));
        fail(seconds(2));
        attempts.failed(PEER, seconds(2) + MEMORY);
        assert_eq!(attempts.check(PEER, seconds(2) + MEMORY), Ok(()));
    }

    #[test]
    fn an_address_does_not_pay_for_another_and_all_of_one_ipv6_network_are_one() {
        let attempts = FailedAttempts::default();
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for host in 0..9 {
            attempts.failed(address(&format!("2001:db8::{host}")), seconds(1));
        }
        assert!(
            attempts
                .check(address("2001:db8::ffff"), seconds(1))
                .is_err()
        );
        assert_eq!(
            attempts.check(address("2001:db8:0:1::1"), seconds(1)),
            Ok(())
        );
        assert_eq!(attempts.check(PEER, seconds(1)), Ok(()));
    }

    #[test]
    fn a_crowd_of_addresses_takes_bounded_room_and_shares_its_pause() {
        let attempts = FailedAttempts::default();
        let peer = |number: u32| IpAddr::V4(std::net::Ipv4Addr::from(number));
        let many = u32::try_from(MAX_ADDRESSES).unwrap() + 9;
        (0..many).for_each(|number| attempts.failed(peer(number), seconds(1)));
        assert_eq!(attempts.state().addresses.len(), MAX_ADDRESSES + 1);
        assert!(attempts.check(peer(many), seconds(1)).is_err());
        assert_eq!(attempts.check(peer(0), seconds(1)), Ok(()));
    }

    #[test]
    fn the_log_has_one_line_a_minute_that_counts_them_all() {
        let mut log = AttemptLog::default();
        let lines: Vec<_> = [0, 1, 59, 60, 61, 200]
            .map(|at| log.due(seconds(at)))
            .into();
        assert_eq!(lines, [Some(1), None, None, Some(3), None, Some(2)]);
    }
}
