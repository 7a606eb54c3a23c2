//! Many agents that use the same ids at once.

use super::agent::{Agent, Request};
use super::rig::{INITIALIZE, Rig};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_ids_of_many_agents_at_once_are_answered_each_with_its_own() {
    let address = Rig::new().await.echo();
    let mut agents = Vec::new();
    for number in 0..40 {
        agents.push(tokio::spawn(async move {
            let mut agent = Agent::connect(address).await;
            let session = agent.ask(&Request::post(INITIALIZE)).await;
            let session = session.header("mcp-session-id").unwrap().to_owned();
            for round in 0..20 {
                let marker = format!("marker-{number}-{round}");
                let params = format!(r#"{{"name":"{marker}""#);
                let request = if round % 2 == 0 {
                    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}}}"#);
                    Request::post(&text).session(&session)
                } else {
                    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#);
                    Request::stateless(&text, "tools/call", Some(&marker))
                };
                let answer = agent.ask(&request).await;
                assert_eq!(answer.at("/id"), 1);
                assert_eq!(answer.at("/result/echo/params/name"), marker);
            }
        }));
    }
    for agent in agents {
        agent.await.unwrap();
    }
}
