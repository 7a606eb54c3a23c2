//! A resource is the same one however its URI is spelled.

use super::*;
use crate::policy::{Labels, Obligation, Root, Roots};

/// Everything but what lies in `/etc`, and what is secret.
fn but_some(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let is_kept = |uri: &str| uri.starts_with("file:///etc/") || uri == "notes://team/secret";
    Ok(match &facts.resource {
        Resource::Resource(resource) if is_kept(&resource.uri) => Verdict::Deny { reasons: vec![] },
        _ => allow(),
    })
}

/// The same, and what passes has one spelling.
fn in_one_spelling(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let verdict = but_some(facts)?;
    Ok(if verdict == allow() {
        Verdict::Allow {
            reasons: vec![],
            obligations: vec![Obligation::CanonicalUris],
        }
    } else {
        verdict
    })
}

/// Nothing that came of the secret.
fn nothing_of_the_secret(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    match facts.action {
        Action::ReceiveResult { .. } => but_some(facts),
        _ => Ok(allow()),
    }
}

async fn ready(rule: Rule, level: Level) -> Bench {
    let bench = Bench::with(rule, |settings| settings.terms.guards.uris = level);
    bench.shake_hands().await;
    bench
}

/// The requests that name a resource.
fn requests(uri: &str) -> [String; 4] {
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let one = format!(r#"{{"uri":"{uri}"}}"#);
    [
        request("resources/read", &one),
        request("resources/subscribe", &one),
        request("resources/unsubscribe", &one),
        request(
            "completion/complete",
            &format!(
                r#"{{"ref":{{"type":"ref/resource","uri":"{uri}"}},"argument":{{"name":"a","value":"b"}}}}"#
            ),
        ),
    ]
}

const SPELLINGS: [&str; 20] = [
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file://localhost/etc/passwd",
    "file://LOCALHOST/etc/passwd",
    "file:///etc/./passwd",
    "file:///etc//passwd",
    "file:///srv/../etc/passwd",
    "file:///srv/%2e%2e/etc/passwd",
    "file:///srv/.%2E/etc/passwd",
    "file:///%65tc/passwd",
    "file:///etc/passwd/",
    "file:///etc/passwd/.",
    "file:\\/\\/\\/etc\\/x\\/..\\/passwd",
    "NOTES://team/secret",
    "notes://TEAM/secret",
    "notes://team/x/../secret",
    "notes://team/./secret",
    "notes://team/%73ecret",
    "notes://team/x/%2e%2e/secret",
    "notes:\\u002f/team/secret",
];

#[tokio::test]
async fn what_is_forbidden_in_one_spelling_is_forbidden_in_all() {
    for uri in SPELLINGS {
        for request in requests(uri) {
            let bench = ready(but_some, Level::Off).await;
            bench.agent(&request).await;
            assert_eq!(bench.to_upstream(), [""; 0], "{request}");
            let record = bench.records().await.pop().unwrap();
            assert_eq!(record.get(&["decision"]), "BLOCK", "{request}");
            assert_eq!(record.get(&["stage"]), "decide", "{request}");
        }
    }
}

#[tokio::test]
async fn an_escaped_slash_is_judged_as_a_letter_and_as_a_slash() {
    for (uri, passes) in [
        ("notes://team/a%2Fb", true),
        ("notes://team/x%2F../secret", false),
        ("notes://team%2Fsecret", false),
        ("notes://team/a%2F..%2Fsecret", false),
        ("notes://team/a%2fb/../secret", false),
        ("NOTES://team/x/..%2Fsecret", false),
        ("notes:///%65tc%2fa", true),
    ] {
        for request in &requests(uri) {
            let bench = ready(but_some, Level::Strict).await;
            bench.agent(request).await;
            assert_eq!(bench.to_upstream().len(), usize::from(passes), "{request}");
        }
    }
    let nested = |facts: &Facts<'_>| {
        Ok(match &facts.resource {
            Resource::Resource(it) if it.uri.starts_with("notes://team/hr/") => {
                Verdict::Deny { reasons: vec![] }
            }
            _ => allow(),
        })
    };
    for level in [Level::Off, Level::Strict] {
        for request in &requests("notes://team/hr%2Fpay") {
            let bench = ready(nested, level).await;
            bench.agent(request).await;
            assert_eq!(bench.to_upstream(), [""; 0], "{request}");
        }
    }
}

#[tokio::test]
async fn a_resource_is_asked_for_as_it_was_named_where_no_policy_asks_for_more() {
    for uri in ["FILE:///srv/x/../a", "notes://Team/a", "notes://team/a"] {
        for request in requests(uri) {
            let bench = ready(but_some, Level::Strict).await;
            bench.agent(&request).await;
            let sent = bench.to_upstream().concat();
            assert!(sent.contains(&format!(r#""uri":"{uri}""#)), "{sent}");
        }
    }
}

#[tokio::test]
async fn a_resource_is_asked_for_in_the_one_spelling_where_a_policy_wants_that() {
    for (uri, expected) in [
        ("FILE:///srv/x/../a", "file:///srv/a"),
        ("notes://Team/%61", "notes://team/a"),
        ("notes://team/a", "notes://team/a"),
    ] {
        for request in requests(uri) {
            let bench = ready(in_one_spelling, Level::Off).await;
            bench.agent(&request).await;
            let sent = bench.to_upstream().concat();
            assert!(sent.contains(&format!(r#""uri":"{expected}""#)), "{sent}");
            let record = bench.records().await.pop().unwrap();
            assert!(record.text().contains("canonical: uris"), "{record:?}");
            let is_edited = record.text().contains(r#""op":"replace""#);
            assert_eq!(is_edited, uri != expected, "{record:?}");
        }
    }
}

#[tokio::test]
async fn a_uri_that_is_no_one_resource_is_refused_where_that_is_asked_for() {
    let asked_by_a_policy = (in_one_spelling as Rule, Level::Off);
    for (rule, level) in [(open as Rule, Level::Strict), asked_by_a_policy] {
        for uri in [
            "a",
            "/srv/a",
            "file://host/share/a",
            "file:///srv/%2e%2e%2fetc",
            "file:///../etc/passwd",
            "https://x.org@evil.com/a",
            "notes://team/a b",
            "notes://team/a#b",
        ] {
            for request in requests(uri) {
                let bench = ready(rule, level).await;
                bench.agent(&request).await;
                assert_eq!(bench.to_upstream(), [""; 0], "{request}");
                let told = bench.to_agent().concat();
                assert!(told.contains("-32602"), "{told}");
                let record = bench.records().await.pop().unwrap();
                assert_eq!(record.get(&["reason", "code"]), "uncanonical", "{request}");
                // Only where it is the configuration that asks for it, and only to operators.
                let text = record.get(&["reason", "text"]);
                assert_eq!(
                    text.contains("`[guards] uris`"),
                    level == Level::Strict,
                    "{text}"
                );
                assert!(!told.contains("guards"), "{told}");
            }
        }
    }
    let bench = ready(open, Level::Warn).await;
    bench.agent(&requests("notes://team/a#b")[0]).await;
    assert_eq!(bench.to_upstream().len(), 1);
    let record = bench.records().await.pop().unwrap();
    assert!(record.text().contains("/params/uri"), "{record:?}");
}

#[tokio::test]
async fn a_refusal_says_which_part_of_a_uri_it_is_for() {
    for (uri, part) in [
        ("notes://team/a#b", "it has a fragment (`#`)"),
        ("notes://b\u{fc}cher/a", "its host"),
        ("notes://team/a?b%zz", "its query"),
        ("file:///../etc/passwd", "its path"),
        (
            "notes:a b",
            "it has blanks, backslashes or control characters",
        ),
        (
            "https://x.org@evil.com/a",
            "a name or a password stands before its host",
        ),
    ] {
        let bench = ready(open, Level::Strict).await;
        bench.agent(&requests(uri)[0]).await;
        let told = bench.to_agent().concat();
        assert!(told.contains(&format!("the same one: {part}\"")), "{told}");
        let record = bench.records().await.pop().unwrap();
        let text = record.get(&["reason", "text"]);
        assert!(
            text.contains(&format!("{part}; `[guards] uris` says")),
            "{text}"
        );
    }
}

/// A gate whose host has a root at `notes://team`.
async fn labelled(level: Level) -> Bench {
    let bench = ready(open, level).await;
    let root = Root::at("team", "notes://team").unwrap();
    let labels = Labels {
        roots: Roots::new(vec![root]),
        ..Labels::default()
    };
    let policies = snapshot("labelled", open).with_labels(labels);
    bench.gate.policy.publish(policies);
    bench
}

#[tokio::test]
async fn another_spelling_of_a_labelled_resource_is_refused_and_not_listed() {
    let uris = [
        "notes://team/hr",
        "notes://others/x",
        "notes:team/hr",
        "notes:///team/hr",
        "notes://team:80/hr",
        "notes://team/hr%3Fx",
    ];
    for (level, passes) in [(Level::Strict, &uris[..2]), (Level::Warn, &uris[..])] {
        for uri in uris {
            for request in requests(uri) {
                let bench = labelled(level).await;
                bench.agent(&request).await;
                let sent = !bench.to_upstream().is_empty();
                assert_eq!(sent, passes.contains(&uri), "{request}");
                let told = bench.to_agent().concat();
                assert_eq!(told.contains("its scheme are labelled"), !sent, "{told}");
            }
        }
        let bench = labelled(level).await;
        bench
            .agent(r#"{"jsonrpc":"2.0","id":"l","method":"resources/list"}"#)
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        let items = uris.map(|uri| format!(r#"{{"uri":"{uri}","name":"n"}}"#));
        let items = items.join(",");
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resources":[{items}]}}}}"#
            ))
            .await;
        let told = bench.to_agent().concat();
        for uri in uris {
            let is_listed = told.contains(&format!(r#""{uri}""#));
            assert_eq!(is_listed, passes.contains(&uri), "{told}");
        }
    }
}

#[tokio::test]
async fn a_template_is_completed_whatever_is_put_into_it() {
    for (uri, passes) in [
        ("file:///srv/{path}", true),
        ("notes://team/{name}{?x}", true),
        ("file:///../{path}", false),
        ("file:///{path}/../a", false),
    ] {
        let bench = ready(open, Level::Strict).await;
        bench.agent(&requests(uri)[3]).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{uri}");
    }
}

#[tokio::test]
async fn a_result_is_received_of_a_resource_in_all_its_spellings() {
    for (uri, passes) in [
        ("notes://team/x/../secret", false),
        ("notes://team/{x}/../secret", false),
        ("notes://team/a", true),
        ("notes://team/{x}", true),
    ] {
        let bench = ready(nothing_of_the_secret, Level::Strict).await;
        bench.agent(&requests(uri)[0]).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"contents":[{{"uri":"{uri}","text":"word"}}]}}}}"#
            ))
            .await;
        assert_eq!(bench.to_agent()[0].contains("word"), passes, "{uri}");
    }
}

/// Not what a template reads as, or a URI with the same braces.
fn nothing_of<const OF: char>(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let kept = match OF {
        't' => "notes://team/{a}",
        _ => "notes://team/%7Ba%7D",
    };
    Ok(match (&facts.action, &facts.resource) {
        (Action::ReceiveResult { .. }, Resource::Resource(resource)) if resource.uri == kept => {
            Verdict::Deny { reasons: vec![] }
        }
        _ => allow(),
    })
}

#[tokio::test]
async fn what_completes_a_template_is_received_of_the_template_and_what_is_read_of_the_uri() {
    let [read, _, _, complete] = requests("notes://team/x/../{a}");
    for (request, rule, passes) in [
        (&complete, nothing_of::<'t'> as Rule, false),
        (&complete, nothing_of::<'u'>, true),
        (&read, nothing_of::<'u'>, false),
        (&read, nothing_of::<'t'>, true),
    ] {
        let bench = ready(rule, Level::Strict).await;
        bench.agent(request).await;
        let id = id_of(&bench.to_upstream()[0]);
        let completion = r#""completion":{"values":["word"]}"#;
        let contents = r#""contents":[{"uri":"notes://team/a","text":"word"}]"#;
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{{completion},{contents}}}}}"#
            ))
            .await;
        let told = bench.to_agent().remove(0);
        assert_eq!(told.contains("word"), passes, "{request} {told}");
    }
}

#[tokio::test]
async fn a_list_shows_a_resource_that_can_be_asked_for() {
    let uris = [
        "hidden:x/a",
        "HIDDEN:a",
        "notes://team/a",
        "notes://Team/a",
        "notes://team/a#b",
        "file:///srv/../../etc",
    ];
    for (level, shown) in [(Level::Strict, &uris[2..4]), (Level::Warn, &uris[2..])] {
        let bench = ready(open, level).await;
        for (method, list, key) in [
            ("resources/list", "resources", "uri"),
            (
                "resources/templates/list",
                "resourceTemplates",
                "uriTemplate",
            ),
        ] {
            bench
                .agent(&format!(
                    r#"{{"jsonrpc":"2.0","id":"l","method":"{method}"}}"#
                ))
                .await;
            let id = id_of(&bench.to_upstream()[0]);
            let items = uris.map(|uri| format!(r#"{{"{key}":"{uri}","name":"n"}}"#));
            bench
                .upstream(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{list}":[{}]}}}}"#,
                    items.join(",")
                ))
                .await;
            let told = bench.to_agent().remove(0);
            let seen: Vec<&str> = uris
                .into_iter()
                .filter(|uri| told.contains(&format!(r#""{uri}""#)))
                .collect();
            assert_eq!(seen, shown, "{method}");
            let records = bench.records().await;
            let told = records
                .iter()
                .any(|it| it.text().contains("its path; `[guards] uris`"));
            assert_eq!(told, level == Level::Strict, "{records:?}");
        }
    }
}

#[tokio::test]
async fn links_in_results_are_those_that_are_judged_where_a_policy_wants_that() {
    for (link, expected) in [
        ("FILE:///srv/project/x/../a", Some("file:///workspace/a")),
        ("notes://Team/a", Some("notes://team/a")),
        ("notes://team/a#b", None),
    ] {
        for content in [
            r#""content":[{"type":"resource_link","uri":"URI","name":"n"}]"#,
            r#""content":[{"type":"resource","resource":{"uri":"URI","text":"t"}}]"#,
        ] {
            let bench = Bench::new(in_one_spelling);
            let mut root = Root::at("workspace", "/srv/project").unwrap();
            root.seen_as("/workspace").unwrap();
            let labels = Labels {
                roots: Roots::new(vec![root]),
                ..Labels::default()
            };
            let policies = snapshot("labelled", in_one_spelling).with_labels(labels);
            bench.gate.policy.publish(policies);
            bench.shake_hands().await;
            bench.list(&["t"]).await;
            bench.agent(&call("1", "t")).await;
            let id = id_of(&bench.to_upstream()[0]);
            let content = content.replace("URI", link);
            bench
                .upstream(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{{content}}}}}"#
                ))
                .await;
            let told = bench.to_agent().remove(0);
            match expected {
                Some(expected) => {
                    assert!(told.contains(&format!(r#""uri":"{expected}""#)), "{told}");
                }
                None => assert!(!told.contains("team"), "{told}"),
            }
        }
    }
}

#[tokio::test]
async fn a_stream_is_asked_for_news_of_those_resources_only_that_the_agent_may_hear_of() {
    let listen = |uris: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":[{uris}]}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        )
    };
    for (asked, expected) in [
        (
            r#""notes://team/a","notes://team/secret","notes://team/b""#,
            r#"["notes://team/a","notes://team/b"]"#,
        ),
        (r#""notes://team/secret""#, "[]"),
        (
            r#""file:///srv/../etc/passwd","file:///srv/x""#,
            r#"["file:///srv/x"]"#,
        ),
        (r#""notes://team/a""#, r#"["notes://team/a"]"#),
    ] {
        let bench = Bench::with(in_one_spelling, |settings| {
            settings.terms.guards.uris = Level::Off;
        });
        bench.agent(&listen(asked)).await;
        let sent = bench.to_upstream().remove(0);
        let wanted = format!(r#""resourceSubscriptions":{expected}"#);
        assert!(sent.contains(&wanted), "{asked}: {sent}");
        assert!(sent.contains(r#""toolsListChanged":true"#), "{sent}");
        let records = bench.records().await;
        let record = records
            .iter()
            .find(|it| it.get(&["method"]) == "subscriptions/listen");
        let record = record.expect("a record").text();
        let removed = record
            .matches("/params/notifications/resourceSubscriptions/")
            .count();
        let refused = asked.split(',').count() - expected.matches("://").count();
        assert_eq!(removed, refused, "{record}");
        assert_eq!(
            record.contains("is not permitted") || record.contains("refused by"),
            refused > 0
        );
    }
}

#[tokio::test]
async fn the_record_tells_of_what_a_candidate_would_not_take_out_of_a_stream() {
    for (candidate, differs) in [(open as Rule, true), (in_one_spelling, false)] {
        let bench = Bench::new(in_one_spelling);
        let candidate = snapshot("candidate", candidate);
        let new = snapshot("new", in_one_spelling).with_shadow(candidate);
        bench
            .gate
            .publish("fixture", new, Besides::default())
            .await
            .unwrap();
        bench.agent(r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["notes://team/a","notes://team/secret"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
        assert!(!bench.to_upstream()[0].contains("secret"));
        let records = bench.records().await;
        let mut listens = records
            .iter()
            .filter(|it| it.get(&["method"]) == "subscriptions/listen");
        let record = listens.next().unwrap().text();
        let told = r#"{"guard":"shadow","code":"shadow_permits","detail":"notes://team/secret"}"#;
        assert_eq!(record.contains(told), differs, "{record}");
    }
}

#[tokio::test]
async fn who_may_not_listen_gets_no_stream_of_what_is_left() {
    fn no_stream(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(match facts.action {
            Action::Listen => Verdict::Deny { reasons: vec![] },
            _ => allow(),
        })
    }
    let bench = Bench::new(no_stream);
    bench.agent(r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["notes://team/a"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert!(bench.to_agent()[0].contains(r#""error""#));
}
