//! What a stop waits for.

use super::agent::Request;
use super::rig::{INITIALIZE, RESULT, Rig, reply};

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

#[tokio::test]
async fn a_stop_waits_for_requests_that_are_answered_and_for_none_that_is_half_sent() {
    let mut rig = Rig::new().await;
    let (_, mut asking, gate, stream) = rig.asked(PING).await;

    let whole = Request::post(INITIALIZE).text();
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    let head = format!("{head}\r\n\r\n");
    let half = format!("{head}{}", body.split_at(9).0);
    let mut halves = Vec::new();
    for part in ["", "P", head.trim_end(), &head, &half] {
        let mut agent = rig.agent().await;
        agent.write(part.as_bytes()).await;
        halves.push((agent, part));
    }
    // The second request of a connection.
    let mut again = rig.agent().await;
    assert_eq!(
        again.ask(&Request::new("GET").path("/health")).await.status,
        200
    );
    again.write(head.as_bytes()).await;
    halves.push((again, "again"));
    // The rest of one that was refused.
    let mut refused = rig.agent().await;
    refused
        .write(head.replace("/mcp", "/elsewhere").as_bytes())
        .await;
    assert_eq!(refused.answer().await.status, 404);
    halves.push((refused, "refused"));
    // By now all of that has been read.
    let last = Request::new("GET").path("/health");
    assert_eq!(rig.agent().await.ask(&last).await.status, 200);

    rig.stop();
    for (mut agent, part) in halves {
        let told = agent.closed().await;
        let has_head = part.contains("\r\n\r\n") || part == "again";
        assert_eq!(told > 0, has_head, "{part:?}");
    }
    // Whose head was there is told so; the others never were requests.
    assert_eq!(rig.refused(), ["path", "closed", "closed", "closed"]);
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    assert_eq!(asking.answer().await.status, 200);
    (&mut rig.serving).await.unwrap();
}
