//! What becomes of streams when the tokens run out that opened them.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hyper::HeaderMap;
use jiff::Timestamp;

use super::agent::{Request, field};
use super::rig::{RESULT, Rig, note, patient, reply};
use crate::clock::Clock;
use crate::identity::{Authenticate, Authentication, Credential, Identity};
use crate::wire::Stream;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const LISTEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// A time of day that a test moves.
#[derive(Debug, Default)]
struct Day(AtomicI64);

impl Day {
    /// Whatever was opened so far is over.
    fn passes(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Clock for Day {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// Everybody is the same agent, for a second of that day.
#[derive(Debug)]
struct Fleeting(Arc<Day>);

impl Authenticate for Fleeting {
    fn identify<'a>(&'a self, _: &'a HeaderMap, _: IpAddr) -> Authentication<'a> {
        let until = self.0.now().as_second() + 1;
        let clock = Arc::clone(&self.0) as Arc<dyn Clock>;
        let proof = Credential::until(Identity::named("alpha"), until, clock);
        Box::pin(std::future::ready(Ok(proof)))
    }
}

async fn rig() -> (Arc<Day>, Rig) {
    let day = Arc::new(Day::default());
    let rig = Rig::knowing(patient(), Arc::new(Fleeting(Arc::clone(&day)))).await;
    (day, rig)
}

fn within(request: Request, id: &str) -> Request {
    request
        .session(id)
        .header("MCP-Protocol-Version", "2025-11-25")
}

#[tokio::test]
async fn streams_of_a_session_end_with_the_token_and_go_on_with_another() {
    let (day, mut rig) = rig().await;
    let (id, mut gate) = rig.session().await;
    let mut listening = rig.agent().await;
    listening.ask(&within(Request::get(), &id)).await;
    let mut asking = rig.agent().await;
    asking.send(&within(Request::post(PING), &id)).await;
    let (asked, _) = gate.frame().await;
    for (stream, agent) in [(Stream::MAIN, &mut listening), (asked, &mut asking)] {
        gate.note(stream, 1).await;
        if stream == asked {
            assert_eq!(agent.answer().await.status, 200);
        }
        assert_eq!(field(&agent.message().await.unwrap(), "data"), Some(""));
        let event = agent.message().await.unwrap();
        assert_eq!(field(&event, "data"), Some(&*note(1)));
    }
    day.passes();
    assert_eq!(listening.event().await, None);
    assert_eq!(asking.event().await, None);
    gate.note(Stream::MAIN, 2).await;
    gate.reply(asked, RESULT, &reply("7", "{}")).await;
    // Nothing is lost for whoever comes back with a token that is good.
    for (stream, line) in [(Stream::MAIN, note(2)), (asked, reply("7", "{}"))] {
        let last = format!("{}-1", stream.number());
        let request = within(Request::get(), &id).header("Last-Event-ID", &last);
        let mut agent = rig.agent().await;
        assert_eq!(agent.ask(&request).await.status, 200);
        agent.message().await.unwrap();
        let event = agent.message().await.unwrap();
        assert_eq!(field(&event, "data"), Some(&*line));
    }
}

#[tokio::test]
async fn a_stream_without_a_session_ends_with_the_token_and_its_request_is_cancelled() {
    let (day, mut rig) = rig().await;
    let mut agent = rig.agent().await;
    let method = "subscriptions/listen";
    agent.send(&Request::stateless(LISTEN, method, None)).await;
    let mut gate = rig.arrival().await;
    let (stream, _) = gate.frame().await;
    gate.note(stream, 1).await;
    assert_eq!(agent.answer().await.status, 200);
    let event = agent.message().await.unwrap();
    assert_eq!(field(&event, "data"), Some(&*note(1)));
    day.passes();
    assert_eq!(agent.event().await, None);
    assert_eq!(gate.hung_up().await, stream);
}
