//! What reaches the agent or a server later than it was said.

use std::time::Duration;

use serde_json::json;

use super::session_tests::{Rig, joined, of_subscription};
use crate::policy::ServerKey;
use crate::wire::Stream;

#[tokio::test(start_paused = true)]
async fn changes_of_a_list_that_come_together_are_one_and_one_a_second_at_most() {
    let rig = Rig::greeted().await;
    let pass = async |duration| {
        rig.pass(duration).await;
        let told = rig.told().into_iter();
        told.map(|(_, it)| it["method"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let changed = |list: &str| json!({"method": format!("notifications/{list}/list_changed")});
    let [tools, prompts] =
        ["tools", "prompts"].map(|it| format!("notifications/{it}/list_changed"));
    for server in [0, 1, 2, 0] {
        rig.tell(server, 0, changed("tools")).await;
    }
    assert_eq!(rig.told(), []);
    assert_eq!(pass(Duration::from_millis(300)).await, [&*tools]);
    rig.tell(1, 0, changed("tools")).await;
    rig.tell(1, 0, changed("prompts")).await;
    // The second one of a list waits for its second to end, and each list has its own.
    assert_eq!(pass(Duration::from_millis(900)).await, [&*prompts]);
    assert_eq!(pass(Duration::from_millis(300)).await, [&*tools]);
    assert_eq!(pass(Duration::from_mins(1)).await, [""; 0]);
    rig.tell(2, 0, changed("tools")).await;
    assert_eq!(pass(Duration::from_millis(300)).await, [&*tools]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_list_ends_with_its_subscription() {
    let rig = Rig::new(true);
    let listen =
        json!({"id": 1, "method": "subscriptions/listen", "params": {"notifications": {}}});
    rig.ask(7, listen);
    let acknowledged = "notifications/subscriptions/acknowledged";
    for server in 0..3 {
        let acknowledged = of_subscription(acknowledged, json!({"notifications": {}}));
        rig.tell(server, 7, acknowledged).await;
    }
    assert_eq!(rig.told().len(), 1);
    let changed = of_subscription("notifications/tools/list_changed", json!({}));
    rig.tell(0, 7, changed.clone()).await;
    let time = async |duration| {
        rig.pass(duration).await;
        rig.told().len()
    };
    assert_eq!(time(Duration::from_mins(1)).await, 1);
    rig.tell(0, 7, changed).await;
    rig.unified.hung_up(Stream::numbered(7));
    assert_eq!(time(Duration::from_mins(1)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_later_gets_the_level_of_the_log() {
    let mut rig = Rig::greeted().await;
    let level = json!({"id": 5, "method": "logging/setLevel", "params": {"level": "debug"}});
    rig.ask(0, level);
    for server in 0..3 {
        rig.reply(server, 0, json!({"id": 5, "result": {}})).await;
    }
    let initialized = json!({"method": "notifications/initialized"});
    assert_eq!(rig.ask(0, initialized), None);
    assert_eq!(rig.told().len(), 1);
    let inbox = joined(&rig.unified, ServerKey::of("wiki").unwrap());
    rig.inboxes.push(inbox);
    assert_eq!(rig.got(3), ["initialize"]);
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    rig.reply(3, 0, json!({"id": 0, "result": greeting})).await;
    assert_eq!(
        rig.got(3),
        ["notifications/initialized", "logging/setLevel"]
    );
    // A deadline of something else does not cancel it, and its answer is not the agent's.
    rig.ask(0, json!({"id": 6, "method": "tools/list"}));
    rig.pass(Duration::from_mins(1)).await;
    assert_eq!(rig.got(3), ["tools/list"]);
    rig.reply(3, 0, json!({"id": 5, "result": {}})).await;
    assert_eq!(rig.told(), []);
    let again = json!({"id": 5, "method": "tools/call", "params": {"name": "wiki__a"}});
    assert_eq!(rig.ask(0, again), None);
}
