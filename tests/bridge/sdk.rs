//! A client of the official library, in the way in which it has always begun.

use rmcp::model::CallToolRequestParams;
use rmcp::{ServiceExt, object};

use crate::bridge::pairs::PAIRS;
use crate::support::kit::speaks_to;
use crate::support::setup::ALLOW_ALL;

#[tokio::test]
async fn a_client_of_the_library_that_begins_a_session_works_over_each_pair_of_transports() {
    for pair in PAIRS {
        let mut behind = pair.behind(ALLOW_ALL);
        let command = std::mem::replace(&mut behind.command, std::process::Command::new(""));
        let client = ().serve(speaks_to(command)).await.unwrap();
        let server = client.peer_info().unwrap();
        assert!(
            server
                .instructions
                .as_ref()
                .unwrap()
                .contains("server for tests")
        );
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools.len(), 18, "{pair:?}");
        let call =
            CallToolRequestParams::new("structured").with_arguments(object!({"city": "Reykjavik"}));
        let called = client.call_tool(call).await.unwrap();
        assert_eq!(called.structured_content.unwrap()["city"], "Reykjavik");
        let resources = client.list_all_resources().await.unwrap();
        assert!(resources.len() > 4);
        client.cancel().await.unwrap();
    }
}
