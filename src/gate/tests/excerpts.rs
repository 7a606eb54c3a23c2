//! Long texts of results: what is shown, what is kept, and who may read on.

use super::*;
use crate::guard::Preset;
use crate::guard::secrets::Rules;
use crate::policy::LooksFor;

const OVER: usize = 300;

async fn shortening(rule: Rule, secrets: Option<Secrets>) -> Bench {
    let bench = Bench::with(rule, |settings| {
        settings.guards.secrets = secrets;
        settings.guards.excerpts = Some(Excerpts {
            over: OVER,
            presets: HashMap::from([("log".to_owned(), Preset::LogSearch)]),
            keep: 1 << 20,
        });
    });
    bench.shake_hands().await;
    bench.list(&["t", "log", "closed"]).await;
    bench
}

/// Calls the tool, lets it answer, and yields what the agent gets.
async fn answered(bench: &Bench, tool: &str, result: &str) -> serde_json::Value {
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#
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

fn text_result(text: &str) -> String {
    serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string()
}

/// What the agent gets for a URI, which never goes to the server.
async fn read(bench: &Bench, uri: &str) -> serde_json::Value {
    let uri = serde_json::Value::from(uri);
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{{"uri":{uri}}}}}"#
        ))
        .await;
    assert!(bench.to_upstream().is_empty(), "{uri}");
    bench.to_agent().remove(0).parse().unwrap()
}

/// The URI that a text names.
fn named(text: &str) -> Option<String> {
    let (_, rest) = text.rsplit_once("mcp-protector://kept/")?;
    let (name, _) = rest.split_once(']')?;
    Some(format!("mcp-protector://kept/{name}"))
}

fn lines(count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|line| format!("line {line}\n")).collect();
    lines.concat()
}

/// Everything from here on, piece by piece.
async fn read_all(bench: &Bench, mut uri: String) -> String {
    let mut all = String::new();
    loop {
        let answer = read(bench, &uri).await;
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
        let Some(next) = named(text) else {
            all.push_str(text);
            return all;
        };
        let (part, _) = text.rsplit_once("\n[mcp-protector: bytes ").unwrap();
        assert!(part.len() <= OVER, "{text}");
        all.push_str(part);
        uri = next;
    }
}

#[tokio::test]
async fn of_a_long_text_an_excerpt_is_sent_and_the_whole_can_be_read_through_the_gate() {
    let bench = shortening(open, None).await;
    let whole = lines(200);
    let answer = answered(&bench, "t", &text_result(&whole)).await;
    let shown = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        shown.len() < OVER + 200 && shown.starts_with("line 0\n"),
        "{shown}"
    );
    assert!(shown.ends_with("line 199\n"), "{shown}");
    let uri = named(shown).unwrap();
    let (head, _) = shown.split_once("\n[mcp-protector").unwrap();
    let rest = whole.strip_prefix(head).unwrap();
    assert_eq!(read_all(&bench, uri.clone()).await, rest);
    let (from_start, _) = uri.split_once("?from=").unwrap();
    assert_eq!(read_all(&bench, from_start.to_owned()).await, whole);
    let records = bench.records().await;
    let told: Vec<String> = records.iter().map(|it| it.text().to_owned()).collect();
    let told = told.concat();
    assert!(
        told.contains("an excerpt of") && told.contains(r#""stage":"kept""#),
        "{told}"
    );
}

#[tokio::test]
async fn a_log_shows_its_end() {
    let bench = shortening(open, None).await;
    let answer = answered(&bench, "log", &text_result(&lines(200))).await;
    let shown = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        shown.starts_with("line 0\n\n[mcp-protector: bytes 7 to"),
        "{shown}"
    );
    assert!(shown.ends_with("line 198\nline 199\n"), "{shown}");
}

#[tokio::test]
async fn only_texts_of_content_are_shortened() {
    let bench = shortening(open, None).await;
    let long = "x".repeat(OVER + 1);
    let result = serde_json::json!({
        "content": [
            {"type": "image", "data": long, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": long}},
        ],
        "structuredContent": {"a": [{"text": long}], "c": long},
        "_meta": {"text": long},
    });
    let answer = answered(&bench, "t", &result.to_string()).await;
    let at = |pointer: &str| {
        answer
            .pointer(pointer)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    for pointer in [
        "/result/content/0/data",
        "/result/structuredContent/a/0/text",
        "/result/structuredContent/c",
        "/result/_meta/text",
    ] {
        assert_eq!(at(pointer), long, "{pointer}");
    }
    assert!(at("/result/content/1/resource/text").contains("are left out"));
}

#[tokio::test]
async fn what_is_kept_is_judged_by_what_policies_of_today_look_for() {
    /// Nothing is looked for, or a result with a credential is held back.
    #[derive(Debug)]
    struct Looking(LooksFor);
    impl RuleEngine for Looking {
        fn name(&self) -> EngineName {
            EngineName("looking")
        }
        fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
            let has_one = |received: &crate::policy::Received| !received.secrets.is_empty();
            Ok(match &facts.action {
                Action::ReceiveResult { received } if has_one(received) => {
                    Verdict::Deny { reasons: vec![] }
                }
                _ => allow(),
            })
        }
        fn visible(
            &self,
            _: &ListFacts<'_>,
            items: &[Resource<'_>],
        ) -> Vec<Result<Visibility, EngineFault>> {
            items.iter().map(|_| Ok(Visibility::Shown)).collect()
        }
        fn looks_for(&self) -> LooksFor {
            self.0
        }
    }
    let snapshot =
        |looks_for| PolicySnapshot::new(vec![Box::new(Looking(looks_for))], Vec::new(), Vec::new());
    let bench = shortening(open, None).await;
    let publish = |looks_for| bench.gate.publish("test", snapshot(looks_for));
    publish(LooksFor::NOTHING).await.unwrap();
    let token = ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let whole = format!("{}it is {token}.\n{}", lines(100), lines(100));
    let answer = answered(&bench, "t", &text_result(&whole)).await;
    let uri = named(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(read(&bench, &uri).await["result"].is_object());
    publish(LooksFor::ALL).await.unwrap();
    assert!(read(&bench, &uri).await["error"].is_object());
}

#[tokio::test]
async fn what_is_kept_is_without_credentials() {
    let token = ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let secrets = Secrets {
        sent: Level::Off,
        received: Treatment::Redact,
        rules: Arc::new(Rules::builtin()),
    };
    let bench = shortening(open, Some(secrets)).await;
    let whole = format!("{}it is {token}.\n{}", lines(100), lines(100));
    let answer = answered(&bench, "t", &text_result(&whole)).await;
    let shown = answer["result"]["content"][0]["text"].as_str().unwrap();
    let read = read_all(&bench, named(shown).unwrap()).await;
    assert!(read.contains("it is [redacted:github-token]."), "{read}");
    assert!(!read.contains(&token));
}

#[tokio::test]
async fn only_who_got_the_excerpt_may_read_on_and_only_as_policies_permit() {
    /// Results of one tool may be received until they are an error.
    fn rule(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let is_closed = facts.env.session.calls >= 2;
        Ok(match (&facts.action, &facts.resource) {
            (Action::ReceiveResult { received }, Resource::Tool(tool))
                if tool.name == "closed" && is_closed && received.bytes > 300 =>
            {
                Verdict::Deny { reasons: vec![] }
            }
            _ => allow(),
        })
    }
    let bench = shortening(rule, None).await;
    let answer = answered(&bench, "closed", &text_result(&lines(200))).await;
    let uri = named(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(read(&bench, &uri).await["result"].is_object());

    // Another call closes what the first one got.
    answered(&bench, "t", &text_result("short")).await;
    let denied = read(&bench, &uri).await;
    assert!(
        denied["error"]["message"]
            .as_str()
            .unwrap()
            .contains("denied"),
        "{denied}"
    );

    let answer = answered(&bench, "t", &text_result(&lines(200))).await;
    let uri = named(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(read(&bench, &uri).await["result"].is_object());
    let other = crate::policy::Agent {
        id: "another".to_owned(),
        ..crate::policy::Agent::default()
    };
    bench.talk.session.state().agent = Arc::new(other);
    let refused = read(&bench, &uri).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn no_address_of_the_gate_s_own_ever_goes_to_the_server() {
    let off = Bench::ready(open, &["t"]).await;
    let on = shortening(open, None).await;
    for bench in [off, on] {
        for uri in [
            "mcp-protector://kept/",
            "mcp-protector://kept/00000000000000000000000000000000",
            "MCP-Protector://kept/0?from=1",
            "mcp-protector:anything",
            "mcp-protector://kept/../x?from=-1",
        ] {
            let refused = read(&bench, uri).await;
            assert_eq!(refused["error"]["code"], -32602, "{uri}: {refused}");
        }
        for (method, params) in [
            ("resources/subscribe", r#"{"uri":"mcp-protector://kept/0"}"#),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/resource","uri":"mcp-protector://kept/0"},"argument":{"name":"a","value":"b"}}"#,
            ),
        ] {
            bench
                .agent(&format!(
                    r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{params}}}"#
                ))
                .await;
            assert!(bench.to_upstream().is_empty(), "{method}");
            assert!(bench.to_agent().remove(0).contains("-32602"), "{method}");
        }
    }
}
