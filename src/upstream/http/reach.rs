//! Whether the server can be reached, as far as the latest attempts tell (decision 15).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::StatusCode;

use super::failure::Failure;

/// What the latest attempts to reach the server came to, of whatever conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Nothing was attempted yet.
    #[default]
    Unknown,
    /// It answered.
    Reached,
    /// It did before, and is busy, or something in front of it has answered in its place since.
    Doubted,
    /// It did not, something in front of it answered in its place again and again, or it does not
    /// know the gate.
    Failed,
}

/// How many attempts in a row, each begun when the one before had ended, make a server that was
/// reached one that is not.
const IN_A_ROW: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Reachability(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    reach: Reach,
    /// How many attempts have ended.
    attempts: u64,
    /// How many of them in a row were answered in the server's place, and how many had ended with
    /// the last of those.
    in_a_row: u32,
    counted: u64,
    /// It has shaken hands, and was not lost since.
    shaken: bool,
    log: Log,
    /// When it was said last of each status that requests were refused with it.
    refused: BTreeMap<u16, Duration>,
}

/// What the log has said.
#[derive(Debug, Default)]
struct Log {
    /// Since when the server is not reached; time since the clock was made.
    failing: Option<Duration>,
    /// What was said of that, and when.
    said: Option<(Trouble, Duration)>,
    /// When it was said last that the server is there again.
    back: Option<Duration>,
}

/// Why no agent is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Unreached,
    /// It, or what stands before it, does not know the gate.
    Refuses(StatusCode),
    Fails(StatusCode),
}

/// What there is to be said.
#[derive(Debug, PartialEq, Eq)]
enum News {
    None,
    Gone(Trouble),
    /// From this, after so long.
    Back(Trouble, Duration),
}

/// A server that is lost again so soon after it was back is only spoken of again if that lasts: one
/// that comes and goes would fill the log.
const SOON: Duration = Duration::from_mins(1);
const LASTS: Duration = Duration::from_secs(10);

/// How often it is said that requests are refused with one status.
const REFUSED_AGAIN: Duration = Duration::from_mins(1);

/// Whose attempt it is. What agents ask for may be what makes a server close a connection, or forbid
/// something: that must not be told of the server to everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Gate,
    /// The gate's, without the token that only agents have.
    Anonymous,
    Conversation,
}

/// An attempt that has begun.
#[derive(Debug)]
pub(super) struct Attempt {
    by: By,
    /// How many had ended then.
    after: u64,
}

/// What an answer says of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    There,
    Busy,
    /// It did not answer one request of an agent: the gate asks for itself.
    Odd,
    Gone,
}

impl Reachability {
    pub(super) fn begin(&self, by: By) -> Attempt {
        Attempt {
            by,
            after: self.seen().attempts,
        }
    }

    /// Notes what came of one request to `origin` by now; what it is an answer to does not matter.
    pub(super) fn note(
        &self,
        attempt: &Attempt,
        answered: Result<StatusCode, &Failure>,
        origin: &str,
        now: Duration,
    ) {
        let says = match answered {
            // The server was not asked: this says nothing of it.
            Err(Failure::NoToken(_)) => return,
            Ok(status) => of_status(status, attempt.by),
            Err(Failure::Unreachable(_)) => Says::Gone,
            Err(
                Failure::Broken
                | Failure::Bad(_)
                | Failure::Status(_)
                | Failure::Unread(_)
                | Failure::SessionGone,
            ) => unanswered(attempt.by),
        };
        let (reach, news) = {
            let mut seen = self.seen();
            seen.note(attempt, says);
            let reach = seen.reach;
            (reach, seen.log.news(reach, trouble(answered), now))
        };
        // Whoever looks at health learns nothing but that.
        match news {
            News::Gone(trouble) => trouble.begins(origin, &why(answered)),
            News::Back(trouble, after) => trouble.ends(origin, after),
            News::None if reach == Reach::Reached => {}
            News::None => {
                tracing::debug!(%origin, "the server does not answer as it should: {}", why(answered));
            }
        }
    }

    /// Says now and then that the server answers messages with this status, and not with a message.
    pub(super) fn refused(&self, status: StatusCode, origin: &str, now: Duration) {
        let status = status.as_u16();
        let is_told = {
            let mut seen = self.seen();
            // What is said of the server as a whole is not said of each message.
            let is_whole = matches!(status, 401 | 407) && seen.reach == Reach::Failed;
            let last = seen.refused.get(&status);
            let is_told =
                !is_whole && last.is_none_or(|last| now.saturating_sub(*last) >= REFUSED_AGAIN);
            if is_told {
                seen.refused.insert(status, now);
            }
            is_told
        };
        if is_told {
            tracing::warn!(%origin, status, "the server refuses a message, or fails at it");
        } else {
            tracing::debug!(%origin, status, "the server refuses a message again");
        }
    }

    pub(super) fn last(&self) -> Reach {
        self.seen().reach
    }

    /// The server has answered as one that serves. What it said before it was lost counts no more.
    pub(super) fn shaken(&self) {
        let mut seen = self.seen();
        seen.shaken |= seen.reach != Reach::Failed;
    }

    pub(super) fn is_shaken(&self) -> bool {
        self.seen().shaken
    }

    /// How many attempts have ended.
    pub(super) fn attempts(&self) -> u64 {
        self.seen().attempts
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn news(&mut self, reach: Reach, trouble: Trouble, now: Duration) -> News {
        match reach {
            Reach::Failed => {
                let since = *self.failing.get_or_insert(now);
                let was_back = self.back.map(|back| since.saturating_sub(back));
                let lasts = |since| now.saturating_sub(since) >= LASTS;
                let is_told = match self.said {
                    None => was_back.is_none_or(|ago| ago >= SOON) || lasts(since),
                    // One that is another trouble by now.
                    Some((said, at)) => said != trouble && lasts(at),
                };
                if !is_told {
                    return News::None;
                }
                self.said = Some((trouble, now));
                News::Gone(trouble)
            }
            Reach::Reached => {
                let since = self.failing.take();
                let Some((trouble, _)) = self.said.take() else {
                    return News::None;
                };
                self.back = Some(now);
                News::Back(trouble, now.saturating_sub(since.unwrap_or(now)))
            }
            Reach::Unknown | Reach::Doubted => News::None,
        }
    }
}

impl Trouble {
    fn begins(self, origin: &str, why: &str) {
        match self {
            Self::Unreached => tracing::warn!(%origin, "the server cannot be reached: {why}"),
            Self::Refuses(status) => {
                let status = status.as_u16();
                tracing::warn!(%origin, status, "the server refuses the gate: {why}");
            }
            Self::Fails(status) => {
                let status = status.as_u16();
                tracing::warn!(%origin, status, "the server fails: {why}");
            }
        }
    }

    fn ends(self, origin: &str, after: Duration) {
        match self {
            Self::Unreached => {
                tracing::info!(%origin, "the server can be reached again, after {after:.1?}");
            }
            Self::Refuses(_) => {
                tracing::info!(%origin, "the server accepts the gate again, after {after:.1?}");
            }
            Self::Fails(_) => {
                tracing::info!(%origin, "the server answers again, after {after:.1?}");
            }
        }
    }
}

impl Seen {
    fn note(&mut self, attempt: &Attempt, says: Says) {
        self.attempts += 1;
        self.reach = match (says, self.reach) {
            (Says::There, _) => {
                self.in_a_row = 0;
                Reach::Reached
            }
            (Says::Gone, _) | (Says::Busy | Says::Odd, Reach::Unknown | Reach::Failed) => {
                Reach::Failed
            }
            (Says::Odd, Reach::Reached | Reach::Doubted) => Reach::Doubted,
            (Says::Busy, Reach::Reached | Reach::Doubted) => {
                // Many at once are one: they met the same moment.
                if attempt.after >= self.counted {
                    self.in_a_row += 1;
                    self.counted = self.attempts;
                }
                if self.in_a_row < IN_A_ROW {
                    Reach::Doubted
                } else {
                    Reach::Failed
                }
            }
        };
        self.shaken &= self.reach != Reach::Failed;
    }
}

/// A server that refuses a request is there. Proxies answer 502 to 504 for one that is not, and so
/// does one that has too much to do; and where the gate's token is not accepted, no agent will be
/// answered.
fn of_status(status: StatusCode, by: By) -> Says {
    match status.as_u16() {
        401 if by == By::Anonymous => Says::There,
        401 | 407 => unanswered(by),
        502..=504 => Says::Busy,
        _ => Says::There,
    }
}

fn unanswered(by: By) -> Says {
    match by {
        By::Gate | By::Anonymous => Says::Gone,
        By::Conversation => Says::Odd,
    }
}

fn trouble(answered: Result<StatusCode, &Failure>) -> Trouble {
    match answered.map(|status| (status, status.as_u16())) {
        Ok((status, 401 | 407)) => Trouble::Refuses(status),
        Ok((status, _)) => Trouble::Fails(status),
        Err(_) => Trouble::Unreached,
    }
}

fn why(answered: Result<StatusCode, &Failure>) -> String {
    match answered {
        Ok(status) => format!("its status is {}", status.as_u16()),
        Err(Failure::Status(status)) => format!("its status is {status}"),
        Err(Failure::Unreachable(cause) | Failure::NoToken(cause) | Failure::Bad(cause)) => {
            cause.clone()
        }
        Err(Failure::Broken | Failure::Unread(_) | Failure::SessionGone) => {
            "it did not answer".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "https://server.example:443";

    /// Answers to the gate's own attempts, one after the other: a status, or 0 for none.
    #[track_caller]
    fn check(answers: &[u16], expected: Reach) {
        check_by(By::Gate, answers, expected);
    }

    #[track_caller]
    fn check_by(by: By, answers: &[u16], expected: Reach) {
        let reachability = Reachability::default();
        for status in answers {
            let attempt = reachability.begin(by);
            reachability.note(&attempt, answer(*status), ORIGIN, Duration::ZERO);
        }
        assert_eq!(reachability.last(), expected, "{answers:?}");
    }

    fn answer(status: u16) -> Result<StatusCode, &'static Failure> {
        if status == 0 {
            return Err(&Failure::Broken);
        }
        Ok(StatusCode::from_u16(status).unwrap())
    }

    #[test]
    fn a_busy_answer_is_doubt_and_some_in_a_row_or_none_at_all_are_a_failure() {
        check(&[], Reach::Unknown);
        check(&[200], Reach::Reached);
        check(&[500], Reach::Reached);
        check(&[200, 503], Reach::Doubted);
        check(&[200, 502, 504], Reach::Doubted);
        check(&[200, 503, 503, 503], Reach::Failed);
        check(&[200, 503, 503, 429, 503, 503], Reach::Doubted);
        check(&[200, 503, 200], Reach::Reached);
        // Nothing to be patient with.
        check(&[503], Reach::Failed);
        check(&[0], Reach::Failed);
        check(&[200, 0], Reach::Failed);
        check(&[200, 401], Reach::Failed);
        check(&[200, 503, 407], Reach::Failed);
        check(&[200, 0, 503], Reach::Failed);
        check(&[200, 503, 503, 503, 200, 503], Reach::Doubted);
    }

    #[test]
    fn the_log_says_once_what_has_changed_and_how_long_it_was_so() {
        let mut log = Log::default();
        let at = Duration::from_secs;
        let gone = || News::Gone(Trouble::Unreached);
        let back = |after| News::Back(Trouble::Unreached, at(after));
        let cases = [
            (0, Reach::Reached, News::None),
            (1, Reach::Failed, gone()),
            (2, Reach::Failed, News::None),
            (6, Reach::Reached, back(5)),
            (7, Reach::Reached, News::None),
            // It comes and goes.
            (8, Reach::Failed, News::None),
            (9, Reach::Doubted, News::None),
            (10, Reach::Reached, News::None),
            (20, Reach::Failed, News::None),
            (29, Reach::Failed, News::None),
            // It has gone.
            (30, Reach::Failed, gone()),
            (31, Reach::Failed, News::None),
            (50, Reach::Reached, back(30)),
            (110, Reach::Failed, gone()),
        ];
        for (seconds, reach, news) in cases {
            let said = log.news(reach, Trouble::Unreached, at(seconds));
            assert_eq!(said, news, "{seconds}");
        }
    }

    #[test]
    fn a_server_that_refuses_the_gate_is_not_one_that_cannot_be_reached() {
        let status = |status| StatusCode::from_u16(status).unwrap();
        assert_eq!(trouble(Ok(status(401))), Trouble::Refuses(status(401)));
        assert_eq!(trouble(Ok(status(407))), Trouble::Refuses(status(407)));
        assert_eq!(trouble(Ok(status(503))), Trouble::Fails(status(503)));
        assert_eq!(trouble(answer(0)), Trouble::Unreached);
        let mut log = Log::default();
        let at = Duration::from_secs;
        let refuses = Trouble::Refuses(status(401));
        let mut news = |seconds, reach, trouble| log.news(reach, trouble, at(seconds));
        let down = Trouble::Unreached;
        assert_eq!(news(0, Reach::Failed, down), News::Gone(down));
        // It is there, which is not what was said; but not at once again and again.
        assert_eq!(news(5, Reach::Failed, refuses), News::None);
        assert_eq!(news(10, Reach::Failed, refuses), News::Gone(refuses));
        assert_eq!(news(15, Reach::Failed, down), News::None);
        assert_eq!(news(16, Reach::Failed, refuses), News::None);
        let back = News::Back(refuses, at(20));
        assert_eq!(news(20, Reach::Reached, Trouble::Fails(status(200))), back);
    }

    #[test]
    fn no_request_of_an_agent_alone_makes_a_server_one_that_is_not_there() {
        let check = |answers: &[u16], expected| check_by(By::Conversation, answers, expected);
        check(&[200, 0], Reach::Doubted);
        check(&[200, 0, 0, 0, 0], Reach::Doubted);
        check(&[200, 401, 407, 401], Reach::Doubted);
        check(&[200, 0, 200], Reach::Reached);
        check(&[0], Reach::Failed);
        check(&[401], Reach::Failed);
        let reachability = Reachability::default();
        let note = |by, answered: Result<StatusCode, &Failure>| {
            reachability.note(&reachability.begin(by), answered, ORIGIN, Duration::ZERO);
        };
        note(By::Conversation, answer(200));
        note(By::Conversation, answer(0));
        note(By::Gate, answer(0));
        assert_eq!(reachability.last(), Reach::Failed);
        note(By::Gate, answer(405));
        let refused = Failure::Unreachable("refused".to_owned());
        note(By::Conversation, Err(&refused));
        assert_eq!(reachability.last(), Reach::Failed);
    }

    #[test]
    fn a_handshake_counts_until_the_server_is_lost() {
        let reachability = Reachability::default();
        let note = |status| {
            let attempt = reachability.begin(By::Gate);
            reachability.note(&attempt, answer(status), ORIGIN, Duration::ZERO);
            reachability.is_shaken()
        };
        assert!(!note(200));
        reachability.shaken();
        assert!(note(200));
        assert!(note(503));
        assert!(!note(0));
        // What was said before comes late.
        reachability.shaken();
        assert!(!note(200));
        reachability.shaken();
        assert!(note(405));
    }

    #[test]
    fn attempts_at_one_moment_are_one() {
        let reachability = Reachability::default();
        let note = |attempts: Vec<Attempt>, status| {
            for attempt in attempts {
                reachability.note(&attempt, answer(status), ORIGIN, Duration::ZERO);
            }
        };
        let at_once = || (0..10).map(|_| reachability.begin(By::Gate)).collect();
        note(at_once(), 200);
        for expected in [Reach::Doubted, Reach::Doubted, Reach::Failed] {
            note(at_once(), 503);
            assert_eq!(reachability.last(), expected);
        }
        assert_eq!(reachability.attempts(), 40);
    }
}
