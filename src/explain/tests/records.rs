//! What a gate has written down.

use super::*;

#[test]
fn a_record_is_explained_as_far_as_it_tells() {
    let record = r#"{"schema":1,"seq":7,"time":"2026-11-21T20:14:03.512881Z","instance":"5f2b8c0d91e6a374","kind":"tool_call","session_id":"s-3","agent":{"id":"nightly","asserted_name":"x","roles":["reader"]},"upstream":"files","direction":"agent_to_upstream","method":"tools/call","target":"read_file","decision":"BLOCK","stage":"decide","policies":["workspace"],"reason":{"code":"forbidden"},"revision":"9b1c7a","arguments_digest":"sha256:5f","duration_us":118}"#;
    let recorded = Recorded::read(record).unwrap();
    insta::assert_snapshot!(check(&Request::Recorded(Box::new(recorded)), "nightly"));
}

#[test]
fn a_record_is_found_by_its_number_and_what_is_none_says_so() {
    let line = |seq: i64, kind: &str, method: &str| {
        format!(
            r#"{{"schema":1,"seq":{seq},"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"{kind}","agent":{{"id":"a"}},"method":"{method}","target":"t","decision":"ALLOW"}}"#
        )
    };
    let log = [
        line(1, "tool_call", "tools/call"),
        line(12, "request", "resources/read"),
        line(3, "notification", "notifications/progress"),
        line(4, "tool_result", "tools/call"),
        line(5, "tool_call", "tools/call"),
        line(5, "tool_call", "tools/call"),
        r#"{"schema":1,"seq":6,"kind":"tool_call","method":"tools/call"}"#.to_owned(),
        r#"{"schema":2,"seq":8}"#.to_owned(),
        "no JSON, but 9".to_owned(),
    ];
    let log = log.join("\n");
    let check = |seq: i64, expected: &str| {
        let told = match Recorded::find(&log, &Which::Seq(seq)) {
            Ok(recorded) => format!("found {}", recorded.seq),
            Err(error) => error.to_string(),
        };
        assert!(told.starts_with(expected), "{seq}: {told}");
    };
    check(1, "found 1");
    check(12, "found 12");
    check(2, "no record has the number 2");
    check(9, "no record has the number 9");
    check(3, "a record of kind `notification` is none of a call");
    check(4, "a record of kind `tool_result` is none of a call");
    check(5, "2 records have the number 5");
    check(6, "it has no readable `time`");
    check(8, "it is no record of schema 1");
}

#[test]
fn a_record_is_found_by_the_reference_that_its_agent_was_told() {
    let line = |seq: i64, reference: &str, direction: &str, kind: &str| {
        format!(
            r#"{{"schema":1,"seq":{seq},"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"{kind}","reference":"{reference}","agent":{{"id":"a"}},"direction":"{direction}","method":"tools/call","target":"t","decision":"ALLOW"}}"#
        )
    };
    let (agent, server) = ("agent_to_upstream", "upstream_to_agent");
    let log = [
        line(1, "5f-1", agent, "tool_call"),
        line(2, "5f-1", server, "tool_result"),
        line(3, "5f-1", agent, "consent"),
        line(4, "5f-10", agent, "tool_call"),
        line(5, "5f-10", agent, "gate_decision"),
        line(6, "5f-2", server, "tool_result"),
    ];
    let log = log.join("\n");
    let check = |reference: &str, expected: &str| {
        let told = match Recorded::find(&log, &Which::Reference(reference.to_owned())) {
            Ok(recorded) => format!("found {}", recorded.seq),
            Err(error) => error.to_string(),
        };
        assert_eq!(told, expected);
    };
    check("5f-1", "found 1");
    check(
        "5f-10",
        "the records 4, 5 have the reference `5f-10`; give one of them, with `--seq`",
    );
    check("5f-2", "no record has the reference `5f-2`");
    check("5f", "no record has the reference `5f`");
}

#[test]
fn a_record_of_what_was_not_refused_by_policies_alone_says_what_became_of_it() {
    let told = |what: &str| {
        let record = format!(
            r#"{{"schema":1,"seq":7,"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","agent":{{"id":"nightly"}},"direction":"agent_to_upstream","method":"tools/call","target":"read_file",{what}}}"#
        );
        let recorded = Recorded::read(&record).unwrap();
        check(&Request::Recorded(Box::new(recorded)), "nightly")
    };
    insta::assert_snapshot!(
        [
            r#""decision":"BLOCK","stage":"decide","policies":["workspace"],"reason":{"code":"consent_timeout","text":"nobody agreed to it in time"}"#,
            r#""decision":"ERROR","stage":"forward","reason":{"code":"upstream_down","text":"the upstream server is not running, or cannot be reached"}"#,
            r#""decision":"BLOCK","stage":"understand","reason":{"code":"invalid-params","text":"`name` is not a string"}"#,
        ]
        .map(told)
        .join("=====\n")
    );
}

#[test]
fn a_record_names_the_rules_of_other_languages_that_decided() {
    let pack = languages();
    let record = r#"{"schema":1,"seq":7,"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","agent":{"id":"guest"},"direction":"agent_to_upstream","method":"tools/call","target":"dig","decision":"BLOCK","stage":"decide","policies":["cel.no-secrets"],"reason":{"code":"forbidden"},"revision":"9b"}"#;
    let recorded = Request::Recorded(Box::new(Recorded::read(record).unwrap()));
    let explanation = explained(&pack, &recorded, "guest", NOW);
    follows_the_schema(&explanation);
    let [question] = &explanation.questions[..] else {
        panic!("{explanation:?}")
    };
    let decided = question.policies.iter().filter(|policy| policy.decided);
    let decided: Vec<_> = decided
        .map(|policy| (policy.id.as_str(), policy.line))
        .collect();
    assert_eq!(decided, [("cel.no-secrets", Some(7))]);
    assert_eq!(question.decision, Decision::Deny);
    let other = record
        .replace("dig", "look")
        .replace("cel.no-secrets", "gone");
    let recorded = Request::Recorded(Box::new(Recorded::read(&other).unwrap()));
    let explanation = explained(&pack, &recorded, "guest", NOW);
    assert_eq!(explanation.questions[0].decision, Decision::Unknown);
}

/// A pack whose tool is locked, with an argument that no call can be without.
fn locked() -> TempDir {
    let pack = pack();
    let policies = r#"@id("read")
permit (principal, action == Mcp::Action::"call_tool/dig", resource)
when { context.arguments.deep.metres < 10 && resource.level <= 3 };
"#;
    fs::write(pack.path().join("policies.cedar"), policies).unwrap();
    let tool = r#"{"name":"dig","inputSchema":{"type":"object","required":["where","deep","tools","hard"],"properties":{"where":{"type":"string"},"hard":{"type":"boolean"},"tools":{"type":"array","items":{"type":"string"}},"deep":{"type":"object","required":["metres"],"properties":{"metres":{"type":"integer"}}}}}}"#;
    let tool =
        crate::wire::Document::decode(tool.as_bytes(), &crate::wire::Limits::default()).unwrap();
    let mut lock = loading::LockFile::default();
    lock.add(tool.root()).unwrap();
    fs::write(pack.path().join("tools.lock"), lock.text()).unwrap();
    pack
}

#[test]
fn a_record_of_a_locked_tool_is_explained_without_its_arguments() {
    let pack = locked();
    let record = r#"{"schema":1,"seq":7,"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","agent":{"id":"guest"},"direction":"agent_to_upstream","method":"tools/call","target":"dig","decision":"ALLOW","stage":"forward","policies":["read"],"revision":"9b"}"#;
    let check = |record: &str| {
        let recorded = Request::Recorded(Box::new(Recorded::read(record).unwrap()));
        let explanation = explained(&pack, &recorded, "guest", NOW);
        follows_the_schema(&explanation);
        human(&pack, &explanation, Cover::Nearest)
    };
    let drifted = record
        .replace("ALLOW", "BLOCK")
        .replace("\"read\"", "\"lock.drift\"");
    insta::assert_snapshot!([record, &drifted].map(check).join("\n=====\n"));
}

/// A session reads what is confidential, and then wants to connect.
const PASSED: &str = r#"{"schema":1,"seq":3,"time":"2026-11-21T20:14:01Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"note","decision":"ALLOW","sensitivity":{"before":"PUBLIC","after":"INTERNAL"},"obligations":["raise: internal"]}
{"schema":1,"seq":4,"time":"2026-11-21T20:14:01Z","instance":"5f","session_id":"s2","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"find","decision":"ALLOW","sensitivity":{"before":"PUBLIC","after":"SECRET"}}
{"schema":1,"seq":5,"time":"2026-11-21T20:14:02Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"find","decision":"ALLOW","sensitivity":{"before":"INTERNAL","after":"CONFIDENTIAL"}}
{"schema":1,"seq":7,"time":"2026-11-21T20:14:03Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"fetch","decision":"BLOCK","stage":"decide","policies":["ratchet.closed"],"reason":{"code":"session-sensitive"},"sensitivity":{"before":"CONFIDENTIAL","after":"CONFIDENTIAL"}}
{"schema":1,"seq":8,"time":"2026-11-21T20:14:04Z","instance":"5f","session_id":"s3","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"fetch","decision":"BLOCK","stage":"decide","policies":["ratchet.closed"],"reason":{"code":"session-sensitive"},"sensitivity":{"before":"CONFIDENTIAL","after":"CONFIDENTIAL"}}"#;

#[test]
fn a_record_tells_which_records_before_it_raised_the_level_of_its_session_and_why() {
    let pack = with_levels();
    let of = |recorded: Recorded| {
        let recorded = Request::Recorded(Box::new(recorded));
        let explanation = explained(&pack, &recorded, "guest", NOW);
        follows_the_schema(&explanation);
        explanation
    };
    let explanation = of(Recorded::find(PASSED, &Which::Seq(7)).unwrap());
    assert_eq!(
        explanation.level,
        [
            "confidential before this message: the record says so",
            "record 3 raised it from public to internal: tools/call `note`, by `@obligation_raise` of a policy",
            "record 5 raised it from internal to confidential: tools/call `find`, by `sensitivity` of `find` in tools.toml",
        ]
    );
    // What looks at the level is known.
    let told = human(&pack, &explanation, Cover::Nearest);
    assert!(told.contains("context.env.session.level >= 2"), "{told}");
    assert!(
        told.contains("true; it is 2") || told.contains(" is 2 ("),
        "{told}"
    );
    // Another session has raised it, or nobody knows.
    let explanation = of(Recorded::find(PASSED, &Which::Seq(8)).unwrap());
    assert_eq!(explanation.level.len(), 2);
    assert!(explanation.level[1].contains("is not in this log"));
    let line = PASSED.lines().nth(3).unwrap();
    let explanation = of(Recorded::read(line).unwrap());
    assert!(explanation.level[1].contains("`--audit` and `--seq`"));
    let first = of(Recorded::find(PASSED, &Which::Seq(3)).unwrap());
    assert_eq!(first.level, [""; 0]);
}
