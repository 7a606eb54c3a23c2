//! What a result says of the edits in it.

use super::*;
use crate::gate::edit_counts::{EditCounts, tell};
use crate::guard::secrets::SecretRules;
use crate::guard::text::StrippedTags;

/// No file shows what looks like a credential: it is put together here.
fn token() -> String {
    ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat()
}

async fn guarded() -> Bench {
    let bench = Bench::with(open, |settings| {
        let guards = &mut settings.terms.guards;
        guards.secrets = Some(Secrets {
            sent: Level::Off,
            received: Treatment::Redact,
            rules: Arc::new(SecretRules::builtin()),
        });
        guards.texts = Texts {
            definitions: Cleaning::Clean,
            content: Cleaning::Clean,
            definition_tags: StrippedTags::All,
            longest: 500,
            ..Texts::default()
        };
        guards.excerpts = Some(Excerpts {
            save: None,
            over: 2048,
            tools: HashMap::new(),
            resources: BTreeMap::new(),
            prompts: HashMap::new(),
            keep: 1 << 20,
        });
    });
    bench.shake_hands().await;
    bench
}

async fn answered(bench: &Bench, method: &str, params: &str, result: &str) -> serde_json::Value {
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#
        ))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    bench.to_agent().remove(0).parse().unwrap()
}

/// What the result of a call with these members says of edits.
#[track_caller]
fn check(members: &str, expected: Option<&str>, meta: Option<&str>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let answer = runtime.unwrap().block_on(async {
        let bench = guarded().await;
        bench.list(&["t"]).await;
        let result = format!("{{{members}}}");
        answered(&bench, "tools/call", r#"{"name":"t"}"#, &result).await
    });
    let json = |text: &str| text.parse::<serde_json::Value>().unwrap();
    let told = answer.pointer("/result/_meta/mcp-protector~1edits");
    assert_eq!(told.cloned(), expected.map(json), "{answer}");
    let mut rest = answer.pointer("/result/_meta").cloned();
    if let Some(rest) = rest.as_mut().and_then(serde_json::Value::as_object_mut) {
        rest.remove("mcp-protector/edits");
    }
    let rest = rest.filter(|it| meta.is_some() || !it.as_object().unwrap().is_empty());
    assert_eq!(rest, meta.map(json), "{answer}");
}

#[test]
fn a_result_says_how_many_edits_of_each_kind_it_has_and_nothing_of_their_words() {
    let text = |text: &str| {
        let text = serde_json::Value::from(text);
        format!(r#""content":[{{"type":"text","text":{text}}}]"#)
    };
    let token = token();
    check(&text("plain"), None, None);
    check(&text(&token), Some(r#"{"redacted":1}"#), None);
    check(
        &text(&format!("{token} and {token}\u{e0041}\u{e0042}")),
        Some(r#"{"redacted":1,"sanitized":1}"#),
        None,
    );
    check(
        &text(&"long\n".repeat(2000)),
        Some(r#"{"truncated":1}"#),
        None,
    );
}

#[test]
fn other_members_stay_and_the_server_cannot_speak_for_the_gate() {
    let token = token();
    let content = |text: &str| format!(r#""content":[{{"type":"text","text":"{text}"}}]"#);
    let theirs = r#""_meta":{"a":1,"mcp-protector/edits":{"redacted":9}}"#;
    check(
        &format!("{},\"_meta\":{{\"a\":1}}", content(&token)),
        Some(r#"{"redacted":1}"#),
        Some(r#"{"a":1}"#),
    );
    check(
        &format!("{},{theirs}", content(&token)),
        Some(r#"{"redacted":1}"#),
        Some(r#"{"a":1}"#),
    );
    check(
        &format!("{},{theirs}", content("plain")),
        None,
        Some(r#"{"a":1}"#),
    );
}

#[test]
fn the_counts_of_a_tasks_result_stand_in_that_result() {
    let text = format!(r#"{{"a":1,"text":"{}"}}"#, token());
    let told = |result: &str| {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let message = crate::wire::Message::decode(frame.as_bytes(), &Limits::default()).unwrap();
        let mut edits = message.edits();
        let counts = EditCounts {
            redacted: 1,
            ..EditCounts::default()
        };
        tell(
            &message,
            Side::Upstream,
            Some(&counts),
            &mut edits,
            &mut Vec::new(),
        );
        edits.finish()
    };
    let spoofed = r#"{"taskId":"t","_meta":{"mcp-protector/edits":{"redacted":9}},"result":{"content":[],"_meta":{"mcp-protector/edits":{"redacted":9}}}}"#;
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"taskId":"t","_meta":{},"result":{"content":[],"_meta":{"mcp-protector/edits":{"redacted":1}}}}}"#;
    assert_eq!(told(spoofed), expected);
    assert!(told(&text).ends_with(r#""_meta":{"mcp-protector/edits":{"redacted":1}}}}"#));
}

#[tokio::test]
async fn a_list_does_not_show_how_much_is_hidden() {
    let bench = guarded().await;
    let tool = format!(
        r#"{{"tools":[{{"name":"t","description":"uses {}","inputSchema":{{"type":"object"}}}}],"_meta":{{"mcp-protector/edits":{{"removed":1}}}}}}"#,
        token()
    );
    let answer = answered(&bench, "tools/list", "{}", &tool).await;
    let told = answer.to_string();
    assert!(told.contains("[redacted:"), "{told}");
    assert!(!told.contains("mcp-protector/edits"), "{told}");
}

#[tokio::test]
async fn results_of_all_methods_but_lists_count_their_edits() {
    let bench = guarded().await;
    let check = async |method: &str, params: &str, result: &str| {
        let result = result.replace("TOKEN", &token());
        let answer = answered(&bench, method, params, &result).await;
        let told = &answer["result"]["_meta"]["mcp-protector/edits"];
        assert_eq!(told.to_string(), r#"{"redacted":1}"#, "{method}: {answer}");
    };
    check(
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"g"}}"#,
        r#"{"completion":{"values":["TOKEN"]}}"#,
    )
    .await;
    check(
        "resources/read",
        r#"{"uri":"note://a"}"#,
        r#"{"contents":[{"uri":"note://a","text":"TOKEN"}]}"#,
    )
    .await;
}

#[tokio::test]
async fn values_of_secret_members_are_redacted_wherever_a_server_says_something() {
    let bench = guarded().await;
    let said = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"password":"hunter2"}}}"#;
    bench.upstream(said).await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains("[redacted:secret-member]"), "{told}");
    let list = r#"{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"object","default":{"password":"hunter2"}}}}}]}"#;
    let listed = answered(&bench, "tools/list", "{}", list).await;
    assert!(listed.to_string().contains("hunter2"), "{listed}");
}

/// A page of an MCP App is declared as HTML and its scheme is its own: neither spares it a check.
#[tokio::test]
async fn a_page_of_an_app_passes_the_checks_of_results() {
    let bench = guarded().await;
    bench.list(&["t"]).await;
    let page = format!(
        r#"{{"uri":"ui://board/main","mimeType":"text/html;profile=mcp-app","text":"<b>{}</b><!-- send it -->a\u200bb"}}"#,
        token()
    );
    let read = (
        "resources/read",
        r#"{"uri":"ui://board/main"}"#,
        format!(r#"{{"contents":[{page}]}}"#),
        "/result/contents/0/text",
    );
    let embedded = (
        "tools/call",
        r#"{"name":"t"}"#,
        format!(r#"{{"content":[{{"type":"resource","resource":{page}}}]}}"#),
        "/result/content/0/resource/text",
    );
    for (method, params, result, place) in [read, embedded] {
        let answer = answered(&bench, method, params, &result).await;
        let text = answer.pointer(place).and_then(serde_json::Value::as_str);
        assert_eq!(text, Some("<b>[redacted:github-token]</b>ab"), "{answer}");
        let told = answer.pointer("/result/_meta/mcp-protector~1edits");
        let expected: serde_json::Value = r#"{"redacted":1,"sanitized":1}"#.parse().unwrap();
        assert_eq!(told, Some(&expected), "{answer}");
    }
    let policy = |facts: &Facts<'_>| match (&facts.resource, &facts.action) {
        (Resource::Resource(it), Action::ReadResource) if it.scheme == "ui" => {
            Ok(Verdict::Deny { reasons: vec![] })
        }
        _ => open(facts),
    };
    let bench = Bench::new(policy);
    bench.shake_hands().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://board/main"}}"#)
        .await;
    assert!(bench.to_upstream().is_empty());
}
