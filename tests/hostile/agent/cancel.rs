//! Cancellations that race with replies.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use crate::hostile::dialogue::Talk;
use crate::hostile::envelope::Envelope;
use crate::support::fixtures::fixture;
use crate::support::setup::{ALLOW_ALL, Setup};

/// A calls that take from nothing to a few milliseconds, cancelled after as long, at random: some
/// before the reply, some after it, some at the same moment.
const CALLS: usize = 300;

/// Numbers that only look random (xorshift).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn a_call_that_is_cancelled_at_any_moment_has_one_outcome() {
    let setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    let mut talk = Talk::through(setup);
    talk.open();
    let mut random = Sequence(0x5EED);
    for id in 0..CALLS {
        let delay = random.below(4);
        talk.gate.send(format!(
            r#"{{"jsonrpc":"2.0","id":"c-{id}","method":"tools/call","params":{{"name":"slow","arguments":{{"steps":1,"delay_ms":{delay}}}}}}}"#
        ));
        thread::sleep(Duration::from_micros(random.below(6_000)));
        talk.gate.send(cancel(&format!("\"c-{id}\"")));
    }
    // On a busy machine they are in flight still, and there is no room for more.
    let mut refused = 0;
    loop {
        let id = format!("\"last-{refused}\"");
        talk.gate.send(slow(&id, 0));
        if !talk.answer(&id).contains("in flight") {
            break;
        }
        refused += 1;
        thread::sleep(Duration::from_millis(50));
    }
    // One that is surely cancelled in time, and one that surely is not.
    talk.gate.send(slow("\"early\"", 60_000));
    talk.gate.send(cancel("\"early\""));
    talk.gate.send(slow("\"late\"", 0));
    talk.answer("\"late\"");
    talk.gate.send(cancel("\"late\""));
    let past = talk.close();

    let mut answers: HashMap<String, usize> = HashMap::new();
    for line in &past.ended.lines {
        if let Some(id) = Envelope::read(line).id {
            *answers.entry(id.to_string()).or_default() += 1;
        }
    }
    let early = past.ended.lines.iter().find(|line| line.contains("early"));
    assert_eq!(early, None);
    assert_eq!(answers.get("\"late\""), Some(&1));
    assert!(answers.values().all(|count| *count == 1), "{answers:?}");
    past.has_decisions_and_outcomes(CALLS + refused + 3);
    let delivered = past
        .of_kind("tool_result")
        .filter(|it| it["decision"] == "ALLOW");
    let in_flight = |line: &&String| line.contains("too many requests in flight");
    let refused = past.ended.lines.iter().filter(in_flight).count();
    // The handshake was answered as well.
    assert_eq!(delivered.count(), answers.len() - refused - 1);
}

fn slow(id: &str, milliseconds: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"slow","arguments":{{"steps":1,"delay_ms":{milliseconds}}}}}}}"#
    )
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

#[test]
fn a_reply_that_comes_after_the_cancellation_does_not_reach_the_agent() {
    let mut talk = Talk::with("late-reply", &[]);
    talk.open();
    talk.ask("\"list\"", r#""tools/list""#);
    for id in ["7", "\"7\"", "8"] {
        talk.call(id, "safe", "x");
        talk.cancel(id);
    }
    // The server answers each cancellation with the late reply first.
    talk.ask("\"after\"", r#""ping""#);
    let past = talk.end();
    assert_eq!(past.agent_saw("forged"), [""; 0]);
    let strays = past
        .audit
        .iter()
        .filter(|it| it["reason"]["code"] == "stray");
    assert_eq!(strays.count(), 3);
}
