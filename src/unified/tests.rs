//! Each place of a name in the schemas of both eras, and what is merged.

use serde_json::{Value, json};

use super::merge::{self, ServerAnswer};
use super::name_map::NameMap;
use super::rename::{name_for_agent, name_for_server};
use super::server_names;
use crate::policy::ServerKey;
use crate::wire::{KnownMethod, Limits, Message};

fn names() -> NameMap {
    let keys = ["crm", "web"].map(|key| ServerKey::of(key).unwrap());
    keys.into_iter()
        .fold(NameMap::default(), |names, key| names.with(key))
}

fn decode(message: &Value) -> Message {
    Message::decode(message.to_string().as_bytes(), &Limits::default()).unwrap()
}

fn reply(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

/// What the agent gets of a message of the second server's.
fn for_agent(method: KnownMethod, message: &Value) -> Value {
    let message = decode(message);
    let mut edits = message.edits();
    for place in server_names::in_server_message(&message, method) {
        name_for_agent(&mut edits, place, 1, &names());
    }
    edits.finish().parse().unwrap()
}

/// What the second server gets of a message of the agent's.
fn for_server(method: KnownMethod, message: &Value) -> Value {
    let message = decode(message);
    let mut edits = message.edits();
    let sent = server_names::in_agent_message(&message, method).into_iter();
    for place in sent.chain(server_names::in_agent_reply(&message)) {
        let (server, name) = name_for_server(place, &names()).unwrap();
        assert_eq!(server, 1);
        edits.replace(place.1, name);
    }
    edits.finish().parse().unwrap()
}

#[test]
fn results_name_what_is_the_servers_own_and_leave_texts_alone() {
    let check = |method: KnownMethod, result: Value, expected: Value| {
        assert_eq!(
            for_agent(method, &reply(&result))["result"],
            expected,
            "{method}"
        );
    };
    check(
        KnownMethod::ToolsList,
        json!({"tools": [{"name": "a__b", "description": "file:///a", "_meta": {"ui": {"resourceUri": "ui://x/y"}, "ui/resourceUri": "ui://x"}}]}),
        json!({"tools": [{"name": "web__a__b", "description": "file:///a", "_meta": {"ui": {"resourceUri": "ui://web/x/y"}, "ui/resourceUri": "ui://web/x"}}]}),
    );
    check(
        KnownMethod::PromptsList,
        json!({"prompts": [{"name": "a", "title": "a"}]}),
        json!({"prompts": [{"name": "web__a", "title": "a"}]}),
    );
    check(
        KnownMethod::ResourcesList,
        json!({"resources": [{"name": "a", "uri": "x:a", "icons": [{"src": "x:a"}]}]}),
        json!({"resources": [{"name": "a", "uri": "web+x:a", "icons": [{"src": "x:a"}]}]}),
    );
    check(
        KnownMethod::ResourceTemplatesList,
        json!({"resourceTemplates": [{"name": "a", "uriTemplate": "{x}:a"}]}),
        json!({"resourceTemplates": [{"name": "a", "uriTemplate": "web+{x}:a"}]}),
    );
    check(
        KnownMethod::ResourcesRead,
        json!({"contents": [{"uri": "x:a", "text": "x:a"}]}),
        json!({"contents": [{"uri": "web+x:a", "text": "x:a"}]}),
    );
    let blocks = json!([{"type": "text", "text": "x:a"}, {"type": "resource_link", "uri": "x:a"}, {"type": "resource", "resource": {"uri": "x:b"}}, {"type": "other", "uri": "x:c"}]);
    let named = json!([{"type": "text", "text": "x:a"}, {"type": "resource_link", "uri": "web+x:a"}, {"type": "resource", "resource": {"uri": "web+x:b"}}, {"type": "other", "uri": "x:c"}]);
    check(
        KnownMethod::ToolsCall,
        json!({"content": blocks, "structuredContent": blocks}),
        json!({"content": named, "structuredContent": blocks}),
    );
    check(
        KnownMethod::PromptsGet,
        json!({"messages": [{"role": "user", "content": blocks[1]}, {"role": "user", "content": blocks}]}),
        json!({"messages": [{"role": "user", "content": named[1]}, {"role": "user", "content": named}]}),
    );
    let related = |id: &str| json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    check(
        KnownMethod::TasksResult,
        json!({"content": blocks, "_meta": related("7")}),
        json!({"content": named, "_meta": related("web+7")}),
    );
    check(
        KnownMethod::ToolsCall,
        json!({"task": {"taskId": "7"}}),
        json!({"task": {"taskId": "web+7"}}),
    );
    check(
        KnownMethod::TasksList,
        json!({"tasks": [{"taskId": "7"}]}),
        json!({"tasks": [{"taskId": "web+7"}]}),
    );
    for method in [KnownMethod::TasksGet, KnownMethod::TasksCancel] {
        check(
            method,
            json!({"taskId": "7", "result": {"content": blocks}}),
            json!({"taskId": "web+7", "result": {"content": named}}),
        );
    }
    let asked = |content: &Value, id: &str| json!({"a": {"method": "sampling/createMessage", "params": {"messages": [{"content": [{"type": "tool_result", "content": content}]}]}}, "b": {"method": "elicitation/create", "params": {"elicitationId": id}}});
    check(
        KnownMethod::ToolsCall,
        json!({"resultType": "input_required", "inputRequests": asked(&blocks, "9"), "requestState": "x:a"}),
        json!({"resultType": "input_required", "inputRequests": asked(&named, "web+9"), "requestState": "x:a"}),
    );
}

#[test]
fn what_servers_ask_and_tell_names_what_is_their_own() {
    let check = |method: KnownMethod, params: Value, expected: Value| {
        let message = json!({"jsonrpc": "2.0", "method": method.name(), "params": params});
        assert_eq!(for_agent(method, &message)["params"], expected, "{method}");
    };
    check(
        KnownMethod::CreateMessage,
        json!({"messages": [{"content": {"type": "resource_link", "uri": "x:a"}}], "_meta": {"progressToken": 7}}),
        json!({"messages": [{"content": {"type": "resource_link", "uri": "web+x:a"}}], "_meta": {"progressToken": "web+7"}}),
    );
    check(
        KnownMethod::Elicit,
        json!({"elicitationId": "9", "url": "https://a", "_meta": {"progressToken": "7"}}),
        json!({"elicitationId": "web+9", "url": "https://a", "_meta": {"progressToken": "web+\"7\""}}),
    );
    let context = |whose: &str| json!({"includeContext": whose});
    for (asked, shown) in [
        ("thisServer", "none"),
        ("allServers", "allServers"),
        ("none", "none"),
    ] {
        check(KnownMethod::CreateMessage, context(asked), context(shown));
    }
    check(
        KnownMethod::ElicitationComplete,
        json!({"elicitationId": "9"}),
        json!({"elicitationId": "web+9"}),
    );
    check(
        KnownMethod::ResourceUpdated,
        json!({"uri": "ui://a"}),
        json!({"uri": "ui://web/a"}),
    );
    check(
        KnownMethod::LogMessage,
        json!({"level": "info", "logger": "db", "data": {"uri": "x:a"}}),
        json!({"level": "info", "logger": "web+db", "data": {"uri": "x:a"}}),
    );
    for method in [KnownMethod::TaskStatus, KnownMethod::TaskNews] {
        check(method, json!({"taskId": "7"}), json!({"taskId": "web+7"}));
    }
    let message = |id: &str| json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32042, "message": "m", "data": {"elicitations": [{"elicitationId": id}]}}});
    assert_eq!(
        for_agent(KnownMethod::ToolsCall, &message("9")),
        message("web+9")
    );
}

#[test]
fn what_agents_send_comes_back_under_the_servers_names() {
    let check = |method: KnownMethod, params: Value, expected: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method.name(), "params": params});
        assert_eq!(for_server(method, &message)["params"], expected, "{method}");
    };
    check(
        KnownMethod::ToolsCall,
        json!({"name": "web__a__b", "arguments": {"name": "web__a", "uri": "web+x:a"}, "_meta": {"progressToken": "web+7"}}),
        json!({"name": "a__b", "arguments": {"name": "web__a", "uri": "web+x:a"}, "_meta": {"progressToken": "web+7"}}),
    );
    check(
        KnownMethod::PromptsGet,
        json!({"name": "web__a"}),
        json!({"name": "a"}),
    );
    for method in [
        KnownMethod::ResourcesRead,
        KnownMethod::ResourcesSubscribe,
        KnownMethod::ResourcesUnsubscribe,
    ] {
        check(method, json!({"uri": "web+x:a"}), json!({"uri": "x:a"}));
        check(
            method,
            json!({"uri": "ui://web/a"}),
            json!({"uri": "ui://a"}),
        );
    }
    check(
        KnownMethod::Complete,
        json!({"ref": {"type": "ref/prompt", "name": "web__a"}}),
        json!({"ref": {"type": "ref/prompt", "name": "a"}}),
    );
    check(
        KnownMethod::Complete,
        json!({"ref": {"type": "ref/resource", "uri": "web+x:{a}"}}),
        json!({"ref": {"type": "ref/resource", "uri": "x:{a}"}}),
    );
    for method in [
        KnownMethod::TasksGet,
        KnownMethod::TasksResult,
        KnownMethod::TasksCancel,
        KnownMethod::TasksUpdate,
    ] {
        check(method, json!({"taskId": "web+7"}), json!({"taskId": "7"}));
    }
    check(
        KnownMethod::Progress,
        json!({"progressToken": "web+\"7\""}),
        json!({"progressToken": "7"}),
    );
    let related = |id: &str| {
        reply(&json!({"_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}}}))
    };
    assert_eq!(
        for_server(KnownMethod::Ping, &related("web+7")),
        related("7")
    );
}

fn answers(results: [Value; 2]) -> Vec<ServerAnswer> {
    let answer = |(server, result): (usize, Value)| ServerAnswer {
        server,
        message: decode(&reply(&result)),
    };
    results.into_iter().enumerate().map(answer).collect()
}

#[test]
fn a_merged_page_has_all_items_and_says_where_each_list_goes_on() {
    let merged = |one: Value, other: Value, missing: &[usize]| -> Value {
        let line = merge::list(
            KnownMethod::ToolsList,
            &answers([one, other]),
            (missing, Vec::new()),
            &names(),
        );
        line.unwrap().parse::<Value>().unwrap()["result"].clone()
    };
    let page = merged(
        json!({"tools": [{"name": "a", "x": 1}], "y": 1, "nextCursor": "2", "ttlMs": 9, "cacheScope": "public", "_meta": {"z": 1}}),
        json!({"tools": [{"name": "a"}, {"name": "b"}], "nextCursor": "3", "ttlMs": 5, "cacheScope": "public"}),
        &[1],
    );
    assert_eq!(
        page["tools"],
        json!([{"name": "crm__a", "x": 1}, {"name": "web__a"}, {"name": "web__b"}])
    );
    let cursor = page["nextCursor"].as_str().unwrap();
    let expected = vec![(0, "2".to_owned()), (1, "3".to_owned())];
    assert_eq!(super::cursor::read(cursor, &names()), Some(expected));
    assert_eq!(
        (&page["ttlMs"], &page["cacheScope"]),
        (&json!(5), &json!("private"))
    );
    assert_eq!(
        page["_meta"],
        json!({"z": 1, "mcp-protector/unavailable": ["web"]})
    );
    assert_eq!(page["y"], 1);
    // The first server has no more pages: its cursor is not the second one's.
    let page = merged(
        json!({"tools": []}),
        json!({"tools": [], "nextCursor": "3"}),
        &[],
    );
    let cursor = page["nextCursor"].as_str().unwrap();
    let expected = vec![(1, "3".to_owned())];
    assert_eq!(super::cursor::read(cursor, &names()), Some(expected));
    assert_eq!(
        merged(json!({"tools": []}), json!({"tools": []}), &[]),
        json!({"tools": []})
    );
}

#[test]
fn a_greeting_has_what_any_of_the_servers_can_do() {
    let merged = |one: Value, other: Value, missing: &[usize]| -> Value {
        let line = merge::greeting(&answers([one, other]), missing, &names());
        line.unwrap().parse::<Value>().unwrap()["result"].clone()
    };
    let greeting = merged(
        json!({"protocolVersion": "2025-03-26", "serverInfo": {"name": "a", "version": "1"}, "capabilities": {"tools": {"listChanged": false}, "x": {"y": 1}}}),
        json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "b", "version": "1"}, "capabilities": {"tools": {}, "resources": {"subscribe": true}, "x": {"y": 2, "z": 3}}, "instructions": "Ask."}),
        &[],
    );
    assert_eq!(greeting["protocolVersion"], "2025-06-18");
    assert_eq!(greeting["serverInfo"]["name"], "mcp-protector");
    assert_eq!(
        greeting["capabilities"],
        json!({"tools": {"listChanged": true}, "x": {"y": 1, "z": 3}, "resources": {"subscribe": true, "listChanged": true}})
    );
    assert_eq!(greeting["instructions"], "## web\n\nAsk.");
    let discovered = merged(
        json!({"supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 9, "cacheScope": "public"}),
        json!({"supportedVersions": ["2026-07-28", "2027-01-01"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}),
        &[1],
    );
    assert_eq!(
        discovered["supportedVersions"],
        json!(["2027-01-01", "2026-07-28"])
    );
    assert_eq!(
        (&discovered["ttlMs"], &discovered["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    // A server that is not there yet may have any of them.
    let all = json!({"listChanged": true});
    assert_eq!(
        discovered["capabilities"],
        json!({"tools": all, "prompts": all, "resources": all})
    );
    assert_eq!(discovered.get("serverInfo"), None);
}
