//! Long texts of results: what is shown, what is kept, and who may read on.

use super::ratchet::policies;
use super::*;
use crate::guard::Preset;
use crate::guard::secrets::SecretRules;
use crate::policy::{RequiredDetectors, SessionSensitivity};
use crate::session::{Answer as Stored, InMemory, Kept, Raised, SessionKey, SessionStore, Whose};

const OVER: usize = 300;

async fn shortening(rule: Rule, secrets: Option<Secrets>) -> Bench {
    let bench = Bench::with(rule, |settings| {
        settings.terms.guards.secrets = secrets;
        settings.terms.guards.excerpts = Some(Excerpts {
            save: None,
            over: OVER,
            tools: HashMap::from([
                ("log".to_owned(), Preset::LogSearch),
                ("exact".to_owned(), Preset::Whole),
            ]),
            resources: BTreeMap::from([
                ("db://".to_owned(), Preset::SqlQuery),
                ("db://exact/".to_owned(), Preset::Whole),
            ]),
            prompts: HashMap::from([("exact".to_owned(), Preset::Whole)]),
            keep: 1 << 20,
        });
    });
    bench.shake_hands().await;
    bench.list(&["t", "log", "closed", "exact"]).await;
    bench
}

/// Calls the tool, lets it answer, and yields what the agent gets.
async fn answered(bench: &Bench, tool: &str, result: &str) -> serde_json::Value {
    asked(
        bench,
        "tools/call",
        &serde_json::json!({"name": tool}),
        result,
    )
    .await
}

/// The same of any request.
async fn asked(
    bench: &Bench,
    method: &str,
    params: &serde_json::Value,
    result: &str,
) -> serde_json::Value {
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
    // A place that cannot be read is not the end.
    for from in ["", "-1", "+1", "0x1", "1&x=2", "99999999999999999999"] {
        let refused = read(&bench, &format!("{from_start}?from={from}")).await;
        assert_eq!(refused["error"]["code"], -32602, "{from}: {refused}");
    }
    let records = bench.records().await;
    let told: Vec<String> = records.iter().map(|it| it.text().to_owned()).collect();
    let told = told.concat();
    assert!(
        told.contains("an excerpt of") && told.contains(r#""stage":"cached_result""#),
        "{told}"
    );
}

/// What the agent gets for a resource with these contents, each by its type and its text.
async fn read_of(bench: &Bench, uri: &str, contents: &[(Option<&str>, &str)]) -> Vec<String> {
    let content = |(media_type, text): &(Option<&str>, &str)| match media_type {
        Some(media_type) => serde_json::json!({"uri": uri, "mimeType": media_type, "text": text}),
        None => serde_json::json!({"uri": uri, "text": text}),
    };
    let contents: Vec<_> = contents.iter().map(content).collect();
    let result = serde_json::json!({"contents": contents}).to_string();
    let params = serde_json::json!({"uri": uri});
    let answer = asked(bench, "resources/read", &params, &result).await;
    let texts = answer["result"]["contents"].as_array().unwrap().iter();
    let texts = texts.map(|content| content["text"].as_str().unwrap().to_owned());
    texts.collect()
}

fn is_cut(text: &str) -> bool {
    text.contains("are left out")
}

#[tokio::test]
async fn of_a_long_resource_or_prompt_an_excerpt_is_sent_and_the_whole_can_be_read_through_the_gate()
 {
    let whole = lines(200);
    let contents = serde_json::json!({"contents": [{"uri": "notes://a", "text": whole}]});
    let block = serde_json::json!({"type": "text", "text": whole});
    let messages = serde_json::json!({"messages": [{"role": "user", "content": block}]});
    for (method, params, result, place) in [
        (
            "resources/read",
            serde_json::json!({"uri": "notes://a"}),
            contents,
            "/result/contents/0/text",
        ),
        (
            "prompts/get",
            serde_json::json!({"name": "p"}),
            messages,
            "/result/messages/0/content/text",
        ),
    ] {
        let bench = shortening(open, None).await;
        let answer = asked(&bench, method, &params, &result.to_string()).await;
        let shown = answer.pointer(place).unwrap().as_str().unwrap();
        assert!(shown.len() < OVER + 200, "{shown}");
        assert!(
            shown.starts_with("line 0\n") && shown.ends_with("line 199\n"),
            "{shown}"
        );
        let uri = named(shown).unwrap();
        let (from_start, _) = uri.split_once("?from=").unwrap();
        assert_eq!(
            read_all(&bench, from_start.to_owned()).await,
            whole,
            "{method}"
        );
        let records = bench.records().await;
        let told = |what: &str| records.iter().any(|it| it.text().contains(what));
        assert!(told(place) && told("an excerpt of 1690 bytes"), "{method}");
        assert!(told(r#""stage":"cached_result""#), "{method}");
    }
}

#[tokio::test]
async fn a_resource_is_shortened_by_its_type_and_what_programs_decode_stays() {
    let bench = shortening(open, None).await;
    let long = lines(200);
    for (uri, media_type, shows) in [
        ("notes://a", Some("text/markdown"), "line 0\n…line 199\n"),
        ("file:///var/a.log", None, "line 0\n…line 199\n"),
        ("notes://rows", Some("text/csv"), "line 0\n…"),
        ("db://rows", Some("application/json"), "line 0\n…"),
        ("db://exact/rows", Some("text/csv"), ""),
        ("notes://a", Some("application/json"), ""),
        ("ui://widget", Some("text/html"), ""),
        ("notes://page", Some("text/html;profile=mcp-app"), ""),
    ] {
        let shown = read_of(&bench, uri, &[(media_type, &long)]).await.remove(0);
        assert_eq!(
            is_cut(&shown),
            !shows.is_empty(),
            "{uri} {media_type:?}: {shown}"
        );
        let (first, last) = shows.split_once('…').unwrap_or_default();
        assert!(
            shown.starts_with(first) && shown.ends_with(last),
            "{uri}: {shown}"
        );
    }
    // Beside what stays the others have all the room.
    let short = "x".repeat(OVER);
    let contents = [(Some("application/json"), &*long), (None, &*short)];
    let shown = read_of(&bench, "notes://a", &contents).await;
    assert_eq!(shown, [long, short]);
    let exact = answered(&bench, "exact", &text_result(&lines(200))).await;
    assert!(!is_cut(&exact.to_string()));
}

#[tokio::test]
async fn every_content_stays_at_its_uri_and_every_message_has_its_turn() {
    let bench = shortening(open, None).await;
    let long = lines(200);
    let shown = read_of(
        &bench,
        "notes://a",
        &[(None, &*long), (None, "short"), (None, &*long)],
    )
    .await;
    let cut: Vec<bool> = shown.iter().map(|text| is_cut(text)).collect();
    assert_eq!(cut, [true, false, true]);
    assert_eq!(shown[1], "short");

    let said = |role, content| serde_json::json!({"role": role, "content": content});
    let text = |text: &str| serde_json::json!({"type": "text", "text": text});
    let rows =
        serde_json::json!({"uri": "notes://rows", "mimeType": "application/json", "text": long});
    let image = serde_json::json!({"type": "image", "data": long, "mimeType": "image/png"});
    let messages = [
        said("user", text(&long)),
        said("assistant", text("What of it?")),
        said(
            "user",
            serde_json::json!({"type": "resource", "resource": rows}),
        ),
        said("user", image),
        said("user", text("Say it in a line.")),
    ];
    let result = serde_json::json!({"messages": messages, "description": long});
    for (prompt, cut) in [("p", [0, 2].as_slice()), ("exact", &[])] {
        let params = serde_json::json!({"name": prompt});
        let answer = asked(&bench, "prompts/get", &params, &result.to_string()).await;
        let shown = answer["result"]["messages"].as_array().unwrap();
        assert_eq!(shown.len(), messages.len());
        for (index, (shown, message)) in shown.iter().zip(&messages).enumerate() {
            assert_eq!(shown["role"], message["role"]);
            let is_cut = is_cut(&shown.to_string());
            assert_eq!(is_cut, cut.contains(&index), "{prompt} {index}: {shown}");
            assert!(is_cut || shown == message, "{prompt} {index}: {shown}");
        }
        assert_eq!(answer["result"]["description"], result["description"]);
    }
}

#[tokio::test]
async fn what_is_kept_of_a_resource_or_a_prompt_is_read_as_policies_permit_it() {
    /// Nothing of either may be received once a tool was called.
    fn rule(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let is_closed = facts.env.session.calls >= 1;
        Ok(match (&facts.action, &facts.resource) {
            (Action::ReceiveResult { .. }, Resource::Resource(resource))
                if is_closed && resource.uri == "notes://a/b" =>
            {
                Verdict::Deny { reasons: vec![] }
            }
            (Action::ReceiveResult { .. }, Resource::Prompt(prompt))
                if is_closed && prompt.name == "p" =>
            {
                Verdict::Deny { reasons: vec![] }
            }
            _ => allow(),
        })
    }
    let bench = shortening(rule, None).await;
    let long = lines(200);
    // What a resource could be called otherwise is asked, too.
    let uris = ["notes://a/b", "notes://a/%62"];
    let mut kept = Vec::new();
    for uri in uris {
        let shown = read_of(&bench, uri, &[(None, &*long)]).await.remove(0);
        kept.push(named(&shown).unwrap());
    }
    let block = serde_json::json!({"type": "text", "text": long});
    let result = serde_json::json!({"messages": [{"role": "user", "content": block}]});
    let params = serde_json::json!({"name": "p"});
    let answer = asked(&bench, "prompts/get", &params, &result.to_string()).await;
    kept.push(named(&answer.to_string()).unwrap());
    for uri in &kept {
        assert!(read(&bench, uri).await["result"].is_object(), "{uri}");
    }
    answered(&bench, "t", &text_result("short")).await;
    for uri in &kept {
        let denied = read(&bench, uri).await;
        let why = denied["error"]["message"].as_str().unwrap();
        assert!(why.contains("denied"), "{denied}");
    }
}

#[tokio::test]
async fn an_excerpt_is_cached_no_longer_than_the_rest_of_it_is_kept() {
    let hour = 60 * 60 * 1000;
    for (bytes, said, expected) in [
        (OVER, 5 * hour, 5 * hour),
        (OVER * 2, 5 * hour, hour),
        (OVER * 2, 1000, 1000),
    ] {
        let bench = shortening(open, None).await;
        let content = serde_json::json!({"uri": "notes://a", "text": "x".repeat(bytes - 200)});
        let result =
            serde_json::json!({"contents": [content], "ttlMs": said, "cacheScope": "private"});
        let params = serde_json::json!({"uri": "notes://a"});
        let answer = asked(&bench, "resources/read", &params, &result.to_string()).await;
        assert_eq!(answer["result"]["ttlMs"], expected, "{bytes} {said}");
    }
}

#[tokio::test]
async fn what_a_text_is_kept_with_counts_against_what_may_be_kept() {
    // What an agent asks for may be as long as a message, and many texts may come of it.
    for (bytes, kept) in [(100, 20), (300_000, 3), (2_000_000, 0)] {
        let bench = shortening(open, None).await;
        let uri = format!("notes://{}", "a".repeat(bytes));
        let content = serde_json::json!({"uri": "notes://a", "text": "x".repeat(600)});
        let result = serde_json::json!({"contents": vec![content; 20]}).to_string();
        let params = serde_json::json!({"uri": uri});
        let answer = asked(&bench, "resources/read", &params, &result).await;
        let contents = answer["result"]["contents"].as_array().unwrap().clone();
        let mut readable = 0;
        for content in &contents {
            let Some(uri) = named(content["text"].as_str().unwrap()) else {
                continue;
            };
            let read = read(&bench, &uri).await;
            readable += usize::from(read["error"].is_null());
        }
        assert_eq!(readable, kept, "{bytes}");
    }
}

#[tokio::test]
async fn what_shows_a_secret_of_the_gates_own_is_not_kept_to_be_read_by_halves() {
    let secret = secrecy::SecretString::from("s3cret-value-ABCDEFGH-0123456789");
    let bench = Bench::with(open, |settings| {
        settings.secrets = Redactor::new([&secret]).unwrap();
        settings.terms.guards.excerpts = Some(Excerpts {
            save: None,
            over: OVER,
            tools: HashMap::new(),
            resources: BTreeMap::new(),
            prompts: HashMap::new(),
            keep: 1 << 20,
        });
    });
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    let mut rows = vec![serde_json::json!({"name": "ada"}); 200];
    rows[150] = serde_json::json!({"s3cret-value-ABCDEFGH-0123456789": 1});
    let result = serde_json::json!({"content": [], "structuredContent": {"rows": rows}});
    let answer = answered(&bench, "t", &result.to_string()).await;
    assert!(answer["result"].is_null(), "{answer}");
    let why = answer["error"]["message"].as_str().unwrap();
    assert!(why.ends_with("was refused: secret"), "{answer}");
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
async fn what_no_model_reads_as_text_is_not_shortened() {
    let bench = shortening(open, None).await;
    let long = "x".repeat(2 * OVER);
    let result = serde_json::json!({
        "content": [
            {"type": "image", "data": long, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": long}},
        ],
        "_meta": {"text": long},
    });
    let answer = answered(&bench, "t", &result.to_string()).await;
    let at = |pointer: &str| answer.pointer(pointer).unwrap().as_str().unwrap();
    assert_eq!(at("/result/content/0/data"), long);
    assert_eq!(at("/result/_meta/text"), long);
    assert!(at("/result/content/1/resource/text").contains("are left out"));
}

#[tokio::test]
async fn many_short_texts_are_shown_until_there_is_no_more_room() {
    let texts: Vec<String> = (0..100).map(|number| format!("text {number:02}")).collect();
    let blocks = |texts: &[String]| {
        let block = |text: &String| serde_json::json!({"type": "text", "text": text});
        serde_json::json!({"content": texts.iter().map(block).collect::<Vec<_>>()}).to_string()
    };
    let fit = OVER / "text 00".len();
    for (tool, first) in [("t", 0), ("log", texts.len() - fit)] {
        let bench = shortening(open, None).await;
        let answer = answered(&bench, tool, &blocks(&texts)).await;
        let content = answer["result"]["content"].as_array().unwrap();
        let shown: Vec<&str> = content
            .iter()
            .map(|block| block["text"].as_str().unwrap())
            .collect();
        let (notes, kept): (Vec<&str>, Vec<&str>) = shown
            .iter()
            .partition(|text| text.contains("mcp-protector"));
        assert_eq!(kept, texts[first..first + fit], "{tool}");
        assert_eq!(notes.len(), 1, "{shown:?}");
        assert!(notes[0].contains("texts are left out: 58, of"), "{notes:?}");
        let mut left = texts.clone();
        left.drain(first..first + fit);
        let read = read_all(&bench, named(notes[0]).unwrap()).await;
        assert_eq!(read, left.join("\n"), "{tool}");
    }
    let bench = shortening(open, None).await;
    let few = blocks(&texts[..fit]);
    let answer = answered(&bench, "t", &few).await;
    assert_eq!(answer["result"].to_string(), few);
    // What is left of a room that is not worth it stays empty.
    let two = blocks(&["x".repeat(OVER - 10), "y".repeat(OVER), "z".to_owned()]);
    let answer = answered(&bench, "t", &two).await;
    let content = answer["result"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 2, "{answer}");
    assert!(content[1]["text"].as_str().unwrap().contains("left out: 2"));
}

#[tokio::test]
async fn what_is_sent_instead_of_a_text_is_shorter_than_it() {
    let blocks = |lengths: &[usize]| {
        let text = |bytes: &usize| serde_json::json!({"type": "text", "text": "x".repeat(*bytes)});
        serde_json::json!({"content": lengths.iter().map(text).collect::<Vec<_>>()})
    };
    let bytes = |content: &serde_json::Value| -> usize {
        let blocks = content.as_array().unwrap().iter();
        blocks.map(|it| it["text"].as_str().unwrap().len()).sum()
    };
    let bench = shortening(open, None).await;
    let mut shortened = 0;
    for long in (OVER - 20..3 * OVER).step_by(17) {
        for lengths in [
            &[long][..],
            &[long, 10],
            &[10, long],
            &[100, 100, long / 3, 30],
        ] {
            for tool in ["t", "log"] {
                let result = blocks(lengths);
                let answer = answered(&bench, tool, &result.to_string()).await;
                let (sent, came) = (&answer["result"]["content"], &result["content"]);
                assert!(
                    sent == came || bytes(sent) < bytes(came),
                    "{tool} {lengths:?}"
                );
                shortened += usize::from(sent != came);
            }
        }
    }
    assert!(shortened > 100, "{shortened}");
}

/// A tool whose results have rows of at least so many.
async fn with_rows(least: usize) -> Bench {
    let bench = shortening(open, None).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":"rows","method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let output = format!(
        r#"{{"type":"object","required":["rows"],"properties":{{"rows":{{"type":"array","minItems":{least},"items":{{"type":"object","properties":{{"name":{{"type":"string","pattern":"^n*$"}}}}}}}}}}}}"#
    );
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"rows","inputSchema":{{"type":"object"}},"outputSchema":{output}}}]}}}}"#
        ))
        .await;
    bench.to_agent();
    bench
}

#[tokio::test]
async fn structured_content_is_shortened_within_its_schema_and_the_text_that_repeats_it_alike() {
    let rows = |count: usize, name: usize| {
        let row = |id: usize| serde_json::json!({"id": id, "name": "n".repeat(name)});
        serde_json::json!({"total": count, "rows": (0..count).map(row).collect::<Vec<_>>()})
    };
    let structured = rows(50, 5);
    let result = serde_json::json!({
        "content": [{"type": "text", "text": serde_json::to_string_pretty(&structured).unwrap()}],
        "structuredContent": structured,
    });
    let bench = with_rows(1).await;
    let answer = answered(&bench, "rows", &result.to_string()).await;
    let shown = &answer["result"]["structuredContent"];
    assert!(shown.to_string().len() <= OVER + 50, "{shown}");
    assert_eq!(shown["total"], 50);
    let few = shown["rows"].as_array().unwrap();
    assert!(few.len() > 3, "{shown}");
    assert_eq!(few[..], structured["rows"].as_array().unwrap()[..few.len()]);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let (same, note) = text.split_once('\n').unwrap();
    assert_eq!(same.parse::<serde_json::Value>().unwrap(), *shown);
    let read = read_all(&bench, named(note).unwrap()).await;
    assert_eq!(read.parse::<serde_json::Value>().unwrap(), structured);
    let records = bench.records().await;
    let told = records
        .iter()
        .any(|it| it.text().contains("/result/structuredContent"));
    assert!(told);

    // A part of a name is none, and rows have to be so many: then it stays whole.
    let long = rows(1, OVER);
    for (least, structured) in [(1, &long), (50, &structured)] {
        let bench = with_rows(least).await;
        let result = serde_json::json!({"content": [], "structuredContent": structured});
        let answer = answered(&bench, "rows", &result.to_string()).await;
        assert_eq!(answer["result"], result);
    }
}

#[tokio::test]
async fn a_list_that_has_something_is_not_shown_as_empty_nor_an_item_in_part_as_whole() {
    let long = "word ".repeat(OVER);
    let many: Vec<u32> = (0..40).collect();
    let item = |positions: &[u32]| serde_json::json!({"positions": positions});
    let wide: Vec<u32> = (0..u32::try_from(OVER).unwrap()).collect();
    for (structured, shown) in [
        (
            serde_json::json!({"log": long, "findings": many}),
            serde_json::json!([0]),
        ),
        (
            serde_json::json!({"findings": [item(&[1]), item(&wide), item(&[2])]}),
            serde_json::json!([item(&[1])]),
        ),
    ] {
        let bench = shortening(open, None).await;
        let result = serde_json::json!({"content": [], "structuredContent": structured});
        let answer = answered(&bench, "t", &result.to_string()).await;
        let told = &answer["result"]["structuredContent"]["findings"];
        assert_eq!(*told, shown, "{answer}");
    }
}

#[tokio::test]
async fn a_model_reads_that_structured_content_was_shortened() {
    let long = "word ".repeat(OVER);
    let structured = serde_json::json!({"a": [{"text": long}], "id": "x".repeat(60), "c": long});
    let image = serde_json::json!({"type": "image", "data": "", "mimeType": "image/png"});
    let text = serde_json::json!({"type": "text", "text": "Found one."});
    for (content, is_shortened) in [
        (serde_json::json!([]), true),
        (serde_json::json!([text, image]), true),
        (serde_json::json!([image]), false),
    ] {
        let bench = shortening(open, None).await;
        let result = serde_json::json!({"content": content, "structuredContent": structured});
        let answer = answered(&bench, "t", &result.to_string()).await;
        let shown = &answer["result"]["structuredContent"];
        assert_eq!(*shown != structured, is_shortened, "{answer}");
        assert_eq!(shown["id"], structured["id"], "{answer}");
        let told = answer["result"]["content"].to_string();
        assert_eq!(
            told.contains("parts of `structuredContent`"),
            is_shortened,
            "{told}"
        );
        if is_shortened {
            assert!(shown.to_string().len() < 2 * OVER, "{shown}");
            let note = answer["result"]["content"][0]["text"].as_str().unwrap();
            let read = read_all(&bench, named(note).unwrap()).await;
            assert_eq!(read.parse::<serde_json::Value>().unwrap(), structured);
        }
    }
}

#[tokio::test]
async fn what_is_kept_is_judged_by_what_policies_of_today_look_for() {
    /// Nothing is looked for, or a result with a credential is held back.
    #[derive(Debug)]
    struct Looking(RequiredDetectors);
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
        fn looks_for(&self) -> RequiredDetectors {
            self.0
        }
    }
    let snapshot =
        |looks_for| PolicySnapshot::new(vec![Box::new(Looking(looks_for))], Vec::new(), Vec::new());
    let bench = shortening(open, None).await;
    let publish = |looks_for| {
        bench
            .gate
            .publish("test", snapshot(looks_for), Besides::default())
    };
    publish(RequiredDetectors::NOTHING).await.unwrap();
    let token = ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let whole = format!("{}it is {token}.\n{}", lines(100), lines(100));
    let answer = answered(&bench, "t", &text_result(&whole)).await;
    let uri = named(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(read(&bench, &uri).await["result"].is_object());
    publish(RequiredDetectors::ALL).await.unwrap();
    assert!(read(&bench, &uri).await["error"].is_object());
}

#[tokio::test]
async fn what_is_kept_is_without_credentials() {
    let token = ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let secrets = Secrets {
        sent: Level::Off,
        received: Treatment::Redact,
        rules: Arc::new(SecretRules::builtin()),
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
    bench.talk.session.state().parties.agent = Arc::new(other);
    let refused = read(&bench, &uri).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

/// Another session reads something internal while a piece is judged.
#[derive(Debug)]
struct Overtaken(InMemory);

impl SessionStore for Overtaken {
    fn kept<'a>(&'a self, key: &'a SessionKey) -> Stored<'a, Kept> {
        self.0.kept(key)
    }

    fn raise<'a>(&'a self, key: &'a SessionKey, by: &'a SessionSensitivity) -> Stored<'a, Raised> {
        let raised = async move {
            self.0.raise(key, &SessionSensitivity::at(1)).get().await?;
            self.0.raise(key, by).get().await
        };
        Stored::Later(Box::pin(raised))
    }

    counts_nothing!();
}

#[tokio::test]
async fn reading_on_raises_by_what_the_policies_oblige_to_that_decide_in_the_end() {
    const POLICIES: &str = r#"
@id("received") permit (principal, action, resource) when { context.env.session.level < 1 };
@id("raised") @raise_sensitivity("secret") @add_label("read-on")
permit (principal, action, resource) when { context.env.session.level >= 1 };"#;
    let mut bench = shortening(open, None).await;
    let answer = answered(&bench, "t", &text_result(&lines(200))).await;
    let uri = named(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    bench.gate.policy.publish(policies(POLICIES));
    let session = Arc::into_inner(bench.talk.session).unwrap();
    let key = SessionKey::of("somebody", Some("s"));
    bench.talk.session = Arc::new(session.reading_as(Whose::Common(key.clone())));
    let store: Arc<dyn SessionStore> = Arc::new(Overtaken(InMemory::default()));
    bench.gate = bench.gate.remembering(Arc::clone(&store));
    assert!(read(&bench, &uri).await["result"].is_object());
    let held = store.kept(&key).get().await.unwrap().held;
    assert_eq!(held.level, 3, "{held:?}");
    assert!(held.labels.contains("read-on"), "{held:?}");
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
