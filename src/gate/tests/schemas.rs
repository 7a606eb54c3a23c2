//! Arguments and results against the definitions of tools.

use super::*;

const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},
    "required":["path"]},"outputSchema":{"type":"object","required":["n"]}}"#;
const BROKEN: &str =
    r#"{"name":"t","inputSchema":{"type":"object","$ref":"http://127.0.0.1:1/x"}}"#;

/// A session that has seen one tool, defined like this.
async fn offered(tool: &str, guards: Guards) -> Bench {
    let bench = Bench::with(open, |settings| settings.terms.guards = guards);
    offer(&bench, tool).await;
    bench
}

async fn offer(bench: &Bench, tool: &str) {
    bench.shake_hands().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let tool = tool.replace('\n', "");
    let list = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tool}]}}}}"#);
    bench.upstream(&list).await;
    bench.to_agent();
}

fn arguments(level: Level) -> Guards {
    Guards {
        arguments: level,
        results: Level::Off,
        ..Guards::default()
    }
}

fn call(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t"{arguments}}}}}"#
    )
}

const FITS: &str = r#","arguments":{"path":"a"}"#;

#[tokio::test]
async fn an_argument_that_a_lenient_server_reads_as_another_is_refused_whatever_the_guard_is_set_to()
 {
    const BOTH: &str =
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"path":{},"Path":{}}}}"#;
    let both = r#"{"path":"/srv/pub/a","Path":"/etc/shadow"}"#;
    for level in [Level::Off, Level::Warn, Level::Strict] {
        for (tool, given, passes) in [
            (TOOL, both, false),
            (TOOL, r#"{"path":"a","more":{"x":[{"K":1,"k":2}]}}"#, false),
            (TOOL, r#"{"path":"a","pa\u200bth":"b"}"#, false),
            (TOOL, r#"{"path":"a","Other":1}"#, true),
            (BOTH, both, true),
        ] {
            let bench = offered(tool, arguments(level)).await;
            bench
                .agent(&call(&format!(r#","arguments":{given}"#)))
                .await;
            assert_eq!(bench.to_upstream().len(), usize::from(passes), "{given}");
            if passes {
                continue;
            }
            let answers = bench.to_agent();
            assert!(answers[0].contains(r#""code":-32602"#), "{answers:?}");
            let last = bench.records().await.pop().unwrap();
            assert_eq!(last.get(&["reason", "code"]), "ambiguous_argument");
        }
        // Alone, where another level of the guard would let it pass.
        let bench = offered(
            &TOOL.replace(r#""required":["path"]"#, r#""title":"t""#),
            arguments(level),
        )
        .await;
        bench
            .agent(&call(r#","arguments":{"Path":"/etc/shadow"}"#))
            .await;
        assert_eq!(bench.to_upstream().len(), 0);
        let last = bench.records().await.pop().unwrap();
        assert_eq!(last.get(&["reason", "code"]), "ambiguous_argument");
    }
}

#[tokio::test]
async fn an_argument_that_the_definition_does_not_name_is_refused_where_that_is_set() {
    for (level, given, passes, reports) in [
        (Level::Off, r#"{"path":"a","more":1}"#, true, false),
        (Level::Warn, r#"{"path":"a","more":1}"#, true, true),
        (Level::Strict, r#"{"path":"a","more":1}"#, false, false),
        (Level::Strict, r#"{"path":"a"}"#, true, false),
    ] {
        let guards = Guards {
            arguments_unknown: level,
            ..arguments(Level::Strict)
        };
        let bench = offered(TOOL, guards).await;
        bench
            .agent(&call(&format!(r#","arguments":{given}"#)))
            .await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{given}");
        let last = bench.records().await.pop().unwrap();
        assert_eq!(
            format!("{last:?}").contains("argument_unknown"),
            reports || !passes
        );
        if !passes {
            let answers = bench.to_agent();
            assert!(
                answers[0].contains("names no argument `/more`"),
                "{answers:?}"
            );
            assert_eq!(last.get(&["reason", "code"]), "argument_unknown");
        }
    }
    // A tool that the server has not shown has no names.
    let guards = Guards {
        arguments_unknown: Level::Strict,
        ..arguments(Level::Off)
    };
    let bench = offered(TOOL, guards).await;
    bench
        .agent(&call(FITS).replace(r#""name":"t""#, r#""name":"other""#))
        .await;
    assert_eq!(bench.to_upstream().len(), 0);
}

#[tokio::test]
async fn an_argument_that_is_read_as_a_labelled_one_is_refused_without_any_schema() {
    let bench = offered(r#"{"name":"t","inputSchema":{}}"#, arguments(Level::Off)).await;
    let mut labels = crate::policy::Labels::default();
    let tool = crate::policy::ToolLabels {
        paths: Some(vec!["/path".to_owned(), "/many/*/to".to_owned()]),
        ..crate::policy::ToolLabels::default()
    };
    labels.tools.insert("t".to_owned(), tool);
    let labelled = snapshot("labelled", open).with_labels(labels);
    bench.gate.policy.publish(labelled);
    for (given, passes) in [
        (r#"{"Path":"/etc/shadow"}"#, false),
        (r#"{"many":[{"TO":"/etc/shadow"}]}"#, false),
        (r#"{"path":"a","other":{"Path":1}}"#, true),
    ] {
        bench
            .agent(&call(&format!(r#","arguments":{given}"#)))
            .await;
        let sent = bench.to_upstream();
        assert_eq!(sent.len(), usize::from(passes), "{given}");
        bench.to_agent();
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_server() {
    for (arguments_of, told) in [
        (r#","arguments":{"path":"sekret"}"#, None),
        (
            r#","arguments":{"path":["sekret"]}"#,
            Some("/properties/path/type"),
        ),
        (r#","arguments":{}"#, Some("/required")),
        ("", Some("/required")),
    ] {
        let bench = offered(TOOL, arguments(Level::Strict)).await;
        bench.agent(&call(arguments_of)).await;
        let Some(told) = told else {
            assert_eq!(bench.to_upstream().len(), 1);
            continue;
        };
        assert!(bench.to_upstream().is_empty(), "{arguments_of}");
        let answer = bench.to_agent().remove(0);
        assert!(
            answer.contains(r#""isError":true"#) && answer.contains(told),
            "{answer}"
        );
        assert!(!answer.contains("sekret"), "{answer}");
        let records = bench.records().await;
        let call = records.last().unwrap();
        assert_eq!(
            [
                call.get(&["kind"]),
                call.get(&["decision"]),
                call.get(&["stage"]),
                call.get(&["reason", "code"])
            ],
            ["tool_call", "BLOCK", "inspect", "arguments"],
            "{call:?}"
        );
    }
}

#[tokio::test]
async fn a_tool_whose_schema_cannot_be_followed_is_not_called() {
    let bench = offered(BROKEN, arguments(Level::Strict)).await;
    bench.agent(&call(FITS)).await;
    assert!(bench.to_upstream().is_empty());
    let records = bench.records().await;
    assert_eq!(records.last().unwrap().get(&["reason", "code"]), "schema");
}

#[tokio::test]
async fn what_is_only_warned_of_passes_and_is_recorded() {
    for tool in [TOOL, BROKEN] {
        let bench = offered(tool, arguments(Level::Warn)).await;
        bench.agent(&call(r#","arguments":{"path":1}"#)).await;
        assert_eq!(bench.to_upstream().len(), 1);
        let records = bench.records().await;
        let call = records.last().unwrap();
        assert_eq!(call.get(&["decision"]), "ALLOW");
        let code = if tool == TOOL { "arguments" } else { "schema" };
        let finding = format!(
            r#""findings":[{{"guard":"arguments","code":"{code}","detail":"the arguments "#
        );
        assert!(call.text().contains(&finding), "{}", call.text());
    }
}

#[tokio::test]
async fn a_guard_that_is_off_looks_at_nothing() {
    let bench = offered(BROKEN, Guards::default()).await;
    bench.agent(&call(r#","arguments":{"path":1}"#)).await;
    assert_eq!(bench.to_upstream().len(), 1);
    let records = bench.records().await;
    assert!(!records.last().unwrap().text().contains("findings"));
}

#[tokio::test]
async fn policies_speak_before_definitions_do() {
    fn closed(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(match facts.action {
            Action::CallTool { .. } => Verdict::Deny { reasons: vec![] },
            _ => allow(),
        })
    }
    let bench = Bench::with(closed, |settings| {
        settings.terms.guards = arguments(Level::Strict);
    });
    offer(&bench, TOOL).await;
    // The arguments are wrong as well, which only an allowed call hears of.
    bench.agent(&call(r#","arguments":{"path":1}"#)).await;
    assert!(bench.to_upstream().is_empty());
    let called = bench.records_of("tool_call").await.remove(0);
    assert_eq!(called.get(&["reason", "code"]), "forbidden");
    let answer = bench.to_agent().remove(0);
    assert!(
        answer.contains(r#""error""#) && !answer.contains("/path"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_model_can_read_what_was_wrong_with_its_arguments() {
    let bench = Bench::with(open, |settings| {
        settings.terms.guards = arguments(Level::Strict);
    });
    offer(&bench, TOOL).await;
    bench.agent(&call(r#","arguments":{"path":1}"#)).await;
    let answer = bench.to_agent().remove(0);
    assert!(
        answer.contains(r#""isError":true"#) && answer.contains("/path"),
        "{answer}"
    );
}

#[tokio::test]
async fn structured_results_are_what_the_definition_says() {
    for (result, fits) in [
        (r#"{"content":[],"structuredContent":{"n":1}}"#, true),
        (r#"{"content":[],"structuredContent":{"m":1}}"#, false),
        (r#"{"content":[]}"#, false),
        (r#"{"content":[],"isError":true}"#, true),
    ] {
        for level in [Level::Off, Level::Warn, Level::Strict] {
            let guards = Guards {
                arguments: Level::Off,
                results: level,
                ..Guards::default()
            };
            let bench = offered(TOOL, guards).await;
            bench.agent(&call(FITS)).await;
            let id = id_of(&bench.to_upstream()[0]);
            bench
                .upstream(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
                ))
                .await;
            let answer = bench.to_agent().remove(0);
            let passes = fits || level != Level::Strict;
            assert_eq!(answer.contains(result), passes, "{level:?}: {answer}");
            let records = bench.records().await;
            let told = records.last().unwrap().text().contains("findings");
            assert_eq!(told, !fits && level == Level::Warn, "{level:?} {result}");
        }
    }
}

#[tokio::test]
async fn a_result_without_its_credentials_is_still_what_the_definition_says() {
    const STRICT: &str = r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object",
        "properties":{"key":{"type":"string","pattern":"^[a-zA-Z0-9_]*$"},"note":{"type":"string"}}}}"#;
    let token = ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    for (member, fits) in [("note", true), ("key", false)] {
        for level in [Level::Off, Level::Warn, Level::Strict] {
            let guards = Guards {
                arguments: Level::Off,
                results: level,
                secrets: Some(Secrets {
                    sent: Level::Off,
                    received: Treatment::Redact,
                    rules: Arc::new(crate::guard::secrets::SecretRules::builtin()),
                }),
                ..Guards::default()
            };
            let bench = offered(STRICT, guards).await;
            bench.agent(&call(FITS)).await;
            let id = id_of(&bench.to_upstream()[0]);
            let result =
                format!(r#"{{"content":[],"structuredContent":{{"{member}":"{token}"}}}}"#);
            let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            bench.upstream(&reply).await;
            let answer = bench.to_agent().remove(0);
            assert!(!answer.contains(&token), "{answer}");
            let passes = fits || level != Level::Strict;
            assert_eq!(
                answer.contains("structuredContent"),
                passes,
                "{level:?}: {answer}"
            );
            let records = bench.records().await;
            let record = records.last().unwrap().text();
            let told = record.contains("findings");
            assert_eq!(told, !fits && level == Level::Warn, "{level:?}: {record}");
        }
    }
}

#[tokio::test]
async fn a_result_is_held_to_what_the_tool_was_when_it_was_called() {
    let guards = Guards {
        arguments: Level::Off,
        results: Level::Strict,
        ..Guards::default()
    };
    let bench = offered(TOOL, guards).await;
    bench.agent(&call(FITS)).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    bench.to_agent();
    let result = r#"{"content":[],"structuredContent":{"sekret-name":1}}"#;
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    let answer = bench.to_agent().remove(0);
    assert!(answer.contains("error"), "{answer}");
    assert!(
        !answer.contains("sekret"),
        "what was withheld came by another way: {answer}"
    );
    let records = bench.records().await;
    assert_eq!(records.last().unwrap().get(&["reason", "code"]), "result");
}

#[test]
fn there_is_an_end_to_the_schemas_that_are_kept() {
    use crate::gate::schemas::KnownSchemas;
    use crate::policy::DefinitionFingerprint;
    use crate::wire::Document;
    let known = KnownSchemas::default();
    let text = format!(r#"{{"inputSchema":{{"title":"{}"}}}}"#, "t".repeat(1 << 20));
    let tool = Document::decode(text.as_bytes(), &Limits::default()).unwrap();
    let add = |at: u32| {
        known.of(
            DefinitionFingerprint::of("{}", &at.to_string()),
            tool.root(),
        )
    };
    let kept: Vec<_> = (0..100).map_while(add).collect();
    assert!((32..=64).contains(&kept.len()), "{}", kept.len());
    let again = add(0).unwrap();
    assert!(Arc::ptr_eq(&kept[0], &again));
    drop((kept, again));
    let room = (1000..2000).any(|at| add(at).is_some());
    assert!(room, "what nobody knows any more makes room");
}
