//! What a gate has written down.

use std::sync::Arc;

use super::*;
use crate::policy::{ClaimType, ConfiguredClaims, TokenGrants};

#[test]
fn a_record_is_explained_as_far_as_it_tells() {
    let record = r#"{"version":1,"seq":7,"timestamp":"2026-11-21T20:14:03.512881Z","instance":"5f2b8c0d91e6a374","kind":"tool_call","session_id":"s-3","agent":{"id":"nightly","asserted_name":"x","roles":["reader"]},"upstream":"files","direction":"agent_to_upstream","method":"tools/call","target":"read_file","decision":"BLOCK","stage":"decide","policies":["workspace"],"reason":{"code":"forbidden"},"revision":"9b1c7a","arguments_digest":"sha256:5f","duration_us":118}"#;
    let recorded = RecordedMessage::read(record).unwrap();
    insta::assert_snapshot!(check(
        &ExplainRequest::Recorded(Box::new(recorded)),
        "nightly"
    ));
}

#[test]
fn a_record_with_arguments_is_explained_by_them() {
    let explained = |arguments: &str| {
        let members = format!(
            r#""agent":{{"id":"nightly","roles":["reader"]}},"stage":"decide","reason":{{"code":"forbidden"}}{arguments}"#
        );
        let record = line(7, "tool_call", "BLOCK", &members);
        let record = record.replacen(r#""agent":{"id":"nightly"},"#, "", 1);
        let recorded = RecordedMessage::read(&record).unwrap();
        check(&ExplainRequest::Recorded(Box::new(recorded)), "nightly")
    };
    let missing = "the record does not have the arguments";
    assert!(explained("").contains(missing));
    let cut = r#","arguments":{"path":"/etc/x… [9 bytes more]"}"#;
    assert!(explained(cut).contains(missing));
    let whole = explained(r#","arguments":{"path":"/etc/passwd"}"#);
    assert!(!whole.contains(missing), "{whole}");
}

#[test]
fn a_recorded_refusal_by_a_policy_is_no_permit_where_the_arguments_are_missing() {
    let pack = pack();
    let policies =
        r#"@id("all") permit (principal, action == Mcp::Action::"call_tool", resource);"#;
    fs::write(pack.path().join("policies.cedar"), policies).unwrap();
    let members = r#""stage":"decide","policies":["lock.arguments"],"reason":{"code":"arguments"}"#;
    let record = line(7, "tool_call", "BLOCK", members);
    let recorded = RecordedMessage::read(&record).unwrap();
    let request = ExplainRequest::Recorded(Box::new(recorded));
    let explanation = explained(&pack, &request, "nightly", NOW);
    assert_eq!(explanation.decision, Some(ExplainedDecision::Deny));
    let questions = explanation.questions.iter();
    let decisions: Vec<_> = questions.map(|question| question.decision).collect();
    assert_eq!(decisions, [ExplainedDecision::Unknown]);
    let human = human(&pack, &explanation, PolicyScope::Nearest);
    let because = "because   `lock.arguments` forbids it (recorded)";
    assert!(human.contains(because), "{human}");
}

#[test]
fn what_arguments_repeat_of_earlier_results_is_in_no_record_and_in_no_typed_message() {
    let pack = pack();
    let policies = r#"@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource);

@id("no-copies")
forbid (principal, action == Mcp::Action::"call_tool", resource)
when { context.targets.bytes > 0 && !context.targets.copiedFrom.isEmpty() };
"#;
    fs::write(pack.path().join("policies.cedar"), policies).unwrap();
    let members = r#""stage":"decide","arguments":{"path":"/a"}"#;
    let record = line(7, "tool_call", "BLOCK", members);
    let recorded = RecordedMessage::read(&record).unwrap();
    let told = [
        call("read_file", r#"{"path":"/a"}"#),
        ExplainRequest::Recorded(Box::new(recorded)),
    ]
    .map(|request| {
        let explanation = explained(&pack, &request, "nightly", NOW);
        follows_the_schema(&explanation);
        human(&pack, &explanation, PolicyScope::Nearest)
    });
    insta::assert_snapshot!(told.join("\n=====\n"));
}

/// The policies of a token's tools, by the same names as in a gate whose tokens grant capabilities.
const OF_TOKENS: &str = r#"@id("tools")
permit (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource)
when {
  principal.claims.hasTag("tools") && principal.claims.getTag("tools") has strings &&
  principal.claims.getTag("tools").strings.contains(resource.name)
};
"#;

#[test]
fn a_record_holds_no_claims_and_what_looks_at_them_is_told_as_unknown() {
    let pack = tempfile::tempdir().unwrap();
    fs::write(pack.path().join("p.cedar"), OF_TOKENS).unwrap();
    let tools = "[tools.read_file]\ncapabilities = [\"fs.read\"]\n";
    fs::write(pack.path().join("tools.toml"), tools).unwrap();
    let decision = |tokens, decision: &str| {
        let record = line(7, "tool_call", decision, r#""stage":"decide""#);
        let recorded = RecordedMessage::read(&record).unwrap();
        let request = ExplainRequest::Recorded(Box::new(recorded));
        let configured = ConfiguredClaims {
            types: [("tools".to_owned(), ClaimType::Strings)].into(),
            grants: tokens,
        };
        let settings = Settings {
            people: ConsentChannels::Unknown,
            policies: loading::Settings {
                dir: Some(pack.path().to_owned()),
                claims: Some(Arc::new(configured)),
                ..loading::Settings::default()
            },
            server: ConfiguredServer::only("files".to_owned(), default_gate_settings()),
        };
        let sender = SenderContext {
            agent: Agent {
                id: "nightly".to_owned(),
                ..Agent::default()
            },
            now: "2026-11-21T20:14:03Z".parse().unwrap(),
            start: StartState::default(),
        };
        let explanation = explain(&settings, &request, sender).unwrap();
        let questions = explanation.questions.iter();
        let policies = questions.flat_map(|question| &question.policies);
        policies
            .filter(|policy| ["tools", "capabilities"].contains(&policy.id.as_str()))
            .map(|policy| format!("{} {}", policy.id, policy.value))
            .collect::<Vec<_>>()
    };
    let by_tokens = decision(TokenGrants::Capabilities, "ALLOW");
    assert!(
        by_tokens.contains(&"tools unknown".to_owned()),
        "{by_tokens:?}"
    );
    assert!(
        by_tokens.contains(&"capabilities unknown".to_owned()),
        "{by_tokens:?}"
    );
    let claims = decision(TokenGrants::Nothing, "BLOCK");
    assert!(claims.contains(&"tools unknown".to_owned()), "{claims:?}");
}

#[test]
fn a_record_is_found_by_its_number_and_what_is_none_says_so() {
    let line = |seq: i64, kind: &str, method: &str| {
        format!(
            r#"{{"version":1,"seq":{seq},"timestamp":"2026-11-21T20:14:03Z","instance":"5f","kind":"{kind}","agent":{{"id":"a"}},"method":"{method}","target":"t","decision":"ALLOW"}}"#
        )
    };
    let log = [
        line(1, "tool_call", "tools/call"),
        line(12, "request", "resources/read"),
        line(3, "notification", "notifications/progress"),
        line(4, "tool_result", "tools/call"),
        line(5, "tool_call", "tools/call"),
        line(5, "tool_call", "tools/call"),
        r#"{"version":1,"seq":6,"kind":"tool_call","method":"tools/call"}"#.to_owned(),
        r#"{"version":2,"seq":8}"#.to_owned(),
        "no JSON, but 9".to_owned(),
    ];
    let log = log.join("\n");
    let check = |seq: i64, expected: &str| {
        let told = match RecordedMessage::find(&log, &RecordSelector::Seq(seq)) {
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
    check(6, "it has no readable `timestamp`");
    check(8, "it is no record of version 1");
}

/// A line of a log: what is in each, and these members.
fn line(seq: i64, kind: &str, decision: &str, members: &str) -> String {
    format!(
        r#"{{"version":1,"seq":{seq},"timestamp":"2026-11-21T20:14:03Z","instance":"5f","kind":"{kind}","agent":{{"id":"nightly"}},"method":"tools/call","target":"read_file","decision":"{decision}",{members}}}"#
    )
}

#[test]
fn a_record_is_found_by_the_reference_that_its_agent_was_told() {
    let of = |seq, kind, reference: &str, decision| {
        line(
            seq,
            kind,
            decision,
            &format!(r#""reference":"{reference}""#),
        )
    };
    let log = [
        of(1, "tool_call", "5f-1", "ALLOW"),
        of(2, "consent", "5f-1", "ALLOW"),
        of(3, "tool_result", "5f-1", "ALLOW"),
        of(4, "tool_call", "5f-10", "ALLOW"),
        of(5, "gate_decision", "5f-10", "ALLOW"),
        of(6, "tool_result", "5f-10", "ERROR"),
        of(7, "tool_result", "5f-2", "BLOCK"),
        of(8, "notification", "5f-3", "BLOCK"),
        of(9, "tool_call", "5f-4", "BLOCK"),
    ];
    let log = log.join("\n");
    let check = |reference: &str, expected: &str| {
        let told =
            match RecordedMessage::find(&log, &RecordSelector::Reference(reference.to_owned())) {
                Ok(recorded) => format!("found {}, {:?}", recorded.seq, recorded.refused()),
                Err(error) => error.to_string(),
            };
        assert_eq!(told, expected);
    };
    check("5f-1", "found 1, None");
    check("5f-10", "found 4, Some(6)");
    check(
        "5f-2",
        "the record 7 has the reference `5f-2` and tells only what came of the request, whose own \
         record is not in this log",
    );
    check("5f-3", "found 8, None");
    check("5f-4", "found 9, None");
    check("5f", "no record has the reference `5f`");
}

#[test]
fn what_was_permitted_and_refused_on_its_way_back_is_told_as_refused() {
    let outcome = |what: &str| {
        let call = r#""reference":"5f-1","direction":"agent_to_upstream","stage":"forward","policies":["read"]"#;
        let log = [
            line(7, "tool_call", "ALLOW", call),
            line(
                8,
                "tool_result",
                "BLOCK",
                &format!(r#""reference":"5f-1",{what}"#),
            ),
        ];
        let which = RecordSelector::Reference("5f-1".to_owned());
        let recorded = RecordedMessage::find(&log.join("\n"), &which).unwrap();
        check(&ExplainRequest::Recorded(Box::new(recorded)), "nightly")
    };
    insta::assert_snapshot!(
        [
            r#""direction":"upstream_to_agent","stage":"decide","policies":["no-secrets"],"reason":{"code":"secret_result","text":"denied by policy","advice":"ask for less"}"#,
            r#""stage":"forward","reason":{"code":"timeout","text":"the upstream did not answer within 30000 ms"}"#,
        ]
        .map(outcome)
        .join("=====\n")
    );
}

#[test]
fn a_record_of_what_was_not_refused_by_policies_alone_says_what_became_of_it() {
    let told = |decision, what: &str| {
        let recorded = RecordedMessage::read(&line(7, "tool_call", decision, what)).unwrap();
        check(&ExplainRequest::Recorded(Box::new(recorded)), "nightly")
    };
    insta::assert_snapshot!(
        [
            ("BLOCK", r#""stage":"decide","policies":["workspace"],"reason":{"code":"consent_timeout","text":"denied by policy: no person answered the approval request in time"}"#),
            // The words of a policy's author.
            ("BLOCK", r#""stage":"decide","policies":["workspace"],"reason":{"code":"consent_missing","text":"denied by policy"}"#),
            ("ERROR", r#""stage":"forward","policies":["read"],"reason":{"code":"upstream","text":"the upstream server is not running, or cannot be reached"}"#),
            ("BLOCK", r#""stage":"limit","policies":["read"],"reason":{"code":"rate_limited","text":"too many calls: retry after 400 ms"}"#),
            ("ERROR", r#""stage":"decide","policies":["read"],"reason":{"code":"session_store_unavailable","text":"it cannot be told, or not be kept, what the session has read: the disk is full"}"#),
            ("BLOCK", r#""stage":"classify","reason":{"code":"invalid_params","text":"`name` is not a string"}"#),
        ]
        .map(|(decision, what)| told(decision, what))
        .join("=====\n")
    );
}

#[test]
fn a_record_names_the_rules_of_other_languages_that_decided() {
    let pack = languages();
    let record = r#"{"version":1,"seq":7,"timestamp":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","agent":{"id":"guest"},"direction":"agent_to_upstream","method":"tools/call","target":"dig","decision":"BLOCK","stage":"decide","policies":["cel.no-secrets"],"reason":{"code":"forbidden"},"revision":"9b"}"#;
    let recorded = ExplainRequest::Recorded(Box::new(RecordedMessage::read(record).unwrap()));
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
    assert_eq!(question.decision, ExplainedDecision::Deny);
    let other = record
        .replace("dig", "look")
        .replace("cel.no-secrets", "gone");
    let recorded = ExplainRequest::Recorded(Box::new(RecordedMessage::read(&other).unwrap()));
    let explanation = explained(&pack, &recorded, "guest", NOW);
    assert_eq!(
        explanation.questions[0].decision,
        ExplainedDecision::Unknown
    );
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
    let record = r#"{"version":1,"seq":7,"timestamp":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","agent":{"id":"guest"},"direction":"agent_to_upstream","method":"tools/call","target":"dig","decision":"ALLOW","stage":"forward","policies":["read"],"revision":"9b"}"#;
    let check = |record: &str| {
        let recorded = ExplainRequest::Recorded(Box::new(RecordedMessage::read(record).unwrap()));
        let explanation = explained(&pack, &recorded, "guest", NOW);
        follows_the_schema(&explanation);
        human(&pack, &explanation, PolicyScope::Nearest)
    };
    let drifted = record
        .replace("ALLOW", "BLOCK")
        .replace("forward", "decide")
        .replace("\"read\"", "\"lock.drift\"");
    insta::assert_snapshot!([record, &drifted].map(check).join("\n=====\n"));
}

#[test]
fn a_record_tells_which_records_before_it_added_the_data_sets_of_its_session() {
    let pack = with_levels();
    let when = "when { context.env.session.datasets.contains(\"payroll\") }";
    let forbid = format!(
        "@id(\"no\") forbid (principal, action in Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"fetch\") {when};"
    );
    let all = "@id(\"all\") permit (principal, action in Mcp::Action::\"call_tool\", resource);";
    fs::write(
        pack.path().join("policies.cedar"),
        format!("{all}\n{forbid}\n"),
    )
    .unwrap();
    let found = r#""after":"CONFIDENTIAL","datasets":["customers"],"added":["customers"]}}"#;
    let log = PASSED.replace(r#""after":"CONFIDENTIAL"}}"#, found);
    let read = r#""after":"CONFIDENTIAL","datasets":["customers","payroll"]}}"#;
    let lines: Vec<String> = log
        .lines()
        .map(|line| {
            let denied = line.contains("\"seq\":7");
            let found = if denied { found } else { "nothing" };
            line.replace(found, read).replace("builtin.no_egress", "no")
        })
        .collect();
    let log = lines.join("\n");
    let of = |recorded: RecordedMessage| {
        let recorded = ExplainRequest::Recorded(Box::new(recorded));
        let explanation = explained(&pack, &recorded, "guest", NOW);
        follows_the_schema(&explanation);
        explanation
    };
    let explanation = of(RecordedMessage::find(&log, &RecordSelector::Seq(7)).unwrap());
    assert_eq!(
        explanation.datasets,
        [
            "customers, payroll before this message: the record says so",
            "record 5 added customers: tools/call `find`",
            "what added payroll is not in this log: another session that counts together with this one, or an earlier log",
        ]
    );
    // What looks at them is known.
    let told = human(&pack, &explanation, PolicyScope::Nearest);
    assert!(told.contains("context.env.session.datasets"), "{told}");
    assert!(
        told.contains("data sets customers, payroll before"),
        "{told}"
    );
    let alone = of(RecordedMessage::read(&lines[3]).unwrap());
    assert!(alone.datasets[1].contains("`--audit` and `--seq`"));
    let first = of(RecordedMessage::find(&log, &RecordSelector::Seq(5)).unwrap());
    assert_eq!(first.datasets, [""; 0]);
}

/// A session reads what is confidential, and then wants to connect.
const PASSED: &str = r#"{"version":1,"seq":3,"timestamp":"2026-11-21T20:14:01Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"note","decision":"ALLOW","sensitivity":{"before":"PUBLIC","after":"INTERNAL"},"obligations":["raise: internal"]}
{"version":1,"seq":4,"timestamp":"2026-11-21T20:14:01Z","instance":"5f","session_id":"s2","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"find","decision":"ALLOW","sensitivity":{"before":"PUBLIC","after":"SECRET"}}
{"version":1,"seq":5,"timestamp":"2026-11-21T20:14:02Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"find","decision":"ALLOW","sensitivity":{"before":"INTERNAL","after":"CONFIDENTIAL"}}
{"version":1,"seq":7,"timestamp":"2026-11-21T20:14:03Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"fetch","decision":"BLOCK","stage":"decide","policies":["builtin.no_egress"],"reason":{"code":"session_too_sensitive"},"sensitivity":{"before":"CONFIDENTIAL","after":"CONFIDENTIAL"}}
{"version":1,"seq":8,"timestamp":"2026-11-21T20:14:04Z","instance":"5f","session_id":"s3","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"fetch","decision":"BLOCK","stage":"decide","policies":["builtin.no_egress"],"reason":{"code":"session_too_sensitive"},"sensitivity":{"before":"CONFIDENTIAL","after":"CONFIDENTIAL"}}"#;

#[test]
fn a_record_tells_which_records_before_it_raised_the_level_of_its_session_and_why() {
    let pack = with_levels();
    let of = |recorded: RecordedMessage| {
        let recorded = ExplainRequest::Recorded(Box::new(recorded));
        let explanation = explained(&pack, &recorded, "guest", NOW);
        follows_the_schema(&explanation);
        explanation
    };
    let explanation = of(RecordedMessage::find(PASSED, &RecordSelector::Seq(7)).unwrap());
    assert_eq!(
        explanation.level,
        [
            "confidential before this message: the record says so",
            "record 3 raised it from public to internal: tools/call `note`, by `@raise_sensitivity` of a policy",
            "record 5 raised it from internal to confidential: tools/call `find`, by `sensitivity` of `find` in tools.toml",
        ]
    );
    // What looks at the level is known.
    let told = human(&pack, &explanation, PolicyScope::Nearest);
    assert!(told.contains("context.env.session.level >= 2"), "{told}");
    assert!(
        told.contains("true; it is 2") || told.contains(" is 2 ("),
        "{told}"
    );
    // Another session has raised it, or the log does not tell.
    let explanation = of(RecordedMessage::find(PASSED, &RecordSelector::Seq(8)).unwrap());
    assert_eq!(explanation.level.len(), 2);
    assert!(explanation.level[1].contains("is not in this log"));
    let line = PASSED.lines().nth(3).unwrap();
    let explanation = of(RecordedMessage::read(line).unwrap());
    assert!(explanation.level[1].contains("`--audit` and `--seq`"));
    let first = of(RecordedMessage::find(PASSED, &RecordSelector::Seq(3)).unwrap());
    assert_eq!(first.level, [""; 0]);
}
