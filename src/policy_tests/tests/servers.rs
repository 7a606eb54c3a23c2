//! Tests before several servers: each has its own names, and the session is one.

use super::*;

const POLICIES: &str = r#"
@id("calls")
permit (principal is Mcp::Agent, action in Mcp::Action::"call_tool", resource is Mcp::Tool)
when { [Mcp::Tool::"crm/find_customer", Mcp::Tool::"crm/send", Mcp::Tool::"mail/send", Mcp::Tool::"mail/find_customer"]
  .contains(resource) };
@id("crm-sends-nothing")
forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"crm/send");
@id("results")
permit (principal, action == Mcp::Action::"receive_result", resource);
@id("ask-at-mail")
@requires_consent
forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"mail/find_customer")
unless { context.env.consent.granted };
"#;

const LABELS: &str = r#"
[tools."crm/find_customer"]
permission  = "read"
sensitivity = "confidential"
[tools."crm/send"]
permission = "read"
[tools."mail/find_customer"]
permission = "read"
[tools."mail/send"]
permission = ["write", "connect"]
"#;

const GATE: &str = r#"
[listen]
transport = "http"
port = 3000
[policy]
dir = "."
# As where the tests name the servers.
[flow]
flow_in = "off"
[servers.crm]
command = ["crm"]
[servers.mail]
command = ["mail"]
"#;

const SERVERS: &str = "servers = ['crm', 'mail']\n";

fn pack(tests: &str) -> Pack {
    let pack = Pack::new(POLICIES, tests);
    pack.write("tools.toml", LABELS);
    pack.write("gate.toml", GATE);
    pack
}

fn problems_of(report: &Report) -> Vec<String> {
    let tests = report.suites.iter().flat_map(|suite| &suite.tests);
    tests.flat_map(|test| test.problems.clone()).collect()
}

/// By the servers of the fixture, of a configuration that it names, and of one that the command names.
#[track_caller]
fn check(tests: &str, problems: &[&str]) {
    for head in [SERVERS, "gate = '../gate.toml'\n"] {
        let report = pack(&format!("{head}{tests}")).run().unwrap();
        assert_eq!(problems_of(&report), problems, "{head}{tests}");
    }
    let pack = pack(tests);
    let report = run(&configured(&pack)).unwrap();
    assert_eq!(problems_of(&report), problems, "{tests}");
}

fn configured(pack: &Pack) -> Settings {
    let file = pack.path().join("gate.toml");
    let config = crate::config::Config::load_offline(&file).unwrap();
    Settings {
        configured: Some(crate::cli::test_policy::configured(&config, &file)),
        ..settings(&[])
    }
}

fn steps(steps: &[&str]) -> String {
    format!("[[test]]\nname = 'x'\nsteps = [\n{}\n]", steps.join(",\n"))
}

#[test]
fn what_is_read_at_one_server_decides_what_may_be_done_at_another() {
    check(
        &steps(&[
            "{ server = 'mail', call = 'send', expect = 'allow' }",
            "{ server = 'mail', list = 'tools', listed = ['send', 'find_customer'] }",
            "{ server = 'crm', call = 'find_customer', expect = { decision = 'allow', policies_exact = ['calls'] } }",
            "{ server = 'mail', call = 'send', expect = { decision = 'deny', policies_exact = ['builtin.no_egress'] } }",
            "{ server = 'mail', list = 'tools', listed = ['find_customer'] }",
        ]),
        &[],
    );
    // It may have been read before, too.
    let start = "session = { level = 'confidential' }\n";
    let deny = "expect = { decision = 'deny', policies_exact = ['builtin.no_egress'] }";
    check(
        &format!("[[test]]\nname = 'x'\n{start}server = 'mail'\ncall = 'send'\n{deny}"),
        &[],
    );
}

#[test]
fn the_same_name_at_two_servers_is_two_tools() {
    let both = |at: &str| {
        format!(
            "[[test]]\nname = 'send at {at}'\nserver = '{at}'\ncall = 'send'\nexpect = {{ decision = '{}', policies_exact = ['{}'] }}\n",
            if at == "crm" { "deny" } else { "allow" },
            if at == "crm" {
                "crm-sends-nothing"
            } else {
                "calls"
            },
        )
    };
    check(&[both("crm"), both("mail")].concat(), &[]);
    // A name with the key in it is no name of the server.
    check(
        "[[test]]\nname = 'x'\nserver = 'mail'\ncall = 'mail/send'\nexpect = { decision = 'deny', policies_exact = [] }",
        &[],
    );
    check(
        &steps(&[
            "{ server = 'crm', list = 'tools', listed = ['find_customer'], hidden = ['send'] }",
            "{ server = 'mail', call = 'send', expect = { decision = 'allow', policies_exact = ['calls'] } }",
        ]),
        &[],
    );
}

#[test]
fn a_file_or_a_test_may_be_about_one_server_and_a_step_about_another() {
    let said = "call = 'send', expect = 'allow'";
    let elsewhere = "{ server = 'crm', call = 'send', expect = 'deny' }";
    let here = format!("{{ {said} }}");
    check(
        &format!("server = 'mail'\n{}", steps(&[&here, elsewhere])),
        &[],
    );
    let test = steps(&[&here, elsewhere]).replace("steps", "server = 'mail'\nsteps");
    check(&test, &[]);
    check(&format!("server = 'crm'\n{test}"), &[]);
}

#[test]
fn offers_of_the_file_have_the_key_of_their_server_or_are_of_the_one_it_is_about() {
    let list = "[[test]]\nname = 'x'\nserver = 'mail'\nlist = 'tools'\nlisted = ['send']\n";
    check(
        &format!("tools = ['mail/send', 'crm/find_customer']\n{list}"),
        &[],
    );
    check(&format!("server = 'mail'\ntools = ['send']\n{list}"), &[]);
    check(
        &format!("server = 'crm'\ntools = ['find_customer']\n{list}"),
        &[],
    );
}

#[test]
fn quotas_and_consent_belong_to_the_session_as_in_the_gate() {
    let pack = pack(&steps(&[
        "{ server = 'crm', call = 'find_customer', expect = 'allow' }",
        "{ server = 'mail', call = 'find_customer', consent = 'approve', expect = 'allow' }",
        "{ server = 'crm', call = 'find_customer', expect = { decision = 'deny', reason = 'session_quota_exceeded' } }",
    ]).replace("[[test]]", "gate = '../gate.toml'\n[[test]]"));
    pack.write(
        "gate.toml",
        &format!("{GATE}[limits]\ncalls_per_session = 2\n"),
    );
    assert_eq!(problems_of(&pack.run().unwrap()), [""; 0]);
}

#[test]
fn each_server_has_its_own_isolated_one() {
    let pack = pack(&steps(&[
        "{ server = 'mail', call = 'find_customer', consent = 'approve', expect = { decision = 'allow', upstream_receives = 'primary' } }",
        "{ server = 'crm', call = 'find_customer', expect = 'allow' }",
        "{ server = 'mail', call = 'find_customer', consent = 'approve', expect = { decision = 'allow', upstream_receives = 'isolated' } }",
    ]).replace("[[test]]", "gate = '../gate.toml'\n[[test]]"));
    let isolated = "[servers.mail.isolated]\ncommand = ['mail', '--offline']\n";
    pack.write("gate.toml", &format!("{GATE}{isolated}"));
    assert_eq!(problems_of(&pack.run().unwrap()), [""; 0]);
}

#[test]
fn a_message_to_no_server_or_to_an_unknown_one_is_an_error_with_its_line() {
    let check = |tests: &str, code: &str, message: &str, help: &str| {
        let not_run = pack(&format!("{SERVERS}{tests}")).run().unwrap_err();
        let errors = not_run.fixtures.unwrap_or_else(|| panic!("{tests}"));
        let found: Vec<_> = errors
            .problems
            .iter()
            .map(|it| {
                (
                    it.code,
                    it.message.as_str(),
                    it.help.as_deref().unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(found, [(code, message, help)], "{tests}");
        assert!(errors.problems[0].offset().is_some(), "{tests}");
    };
    let test =
        |server: &str| format!("[[test]]\nname = 'x'\n{server}call = 'send'\nexpect = 'deny'");
    let missing = "`server` is missing: there are several servers";
    let known = "name the one that it goes to, as in `server = \"crm\"`; known: `crm`, `mail`";
    check(&test(""), "test::required", missing, known);
    check(
        &test("server = 'crmm'\n"),
        "test::unknown_server",
        "no server is called `crmm`",
        "did you mean `crm`?",
    );
    check(
        &steps(&[
            "{ server = 'crm', call = 'send', expect = 'deny' }",
            "{ call = 'send', expect = 'deny' }",
        ]),
        "test::required",
        missing,
        known,
    );
    check(
        &format!("tools = ['send']\n{}", test("server = 'mail'\n")),
        "test::no_server",
        "`send` does not begin with the key of a server and a slash",
        "write the key of its server before it, as in `KEY/send`; the servers are `crm`, `mail`",
    );
    // Where there is one server, it has the name that the file gives it.
    let only = Pack::new(POLICIES, &test("server = 'crm'\n"))
        .run()
        .unwrap_err();
    let errors = only.fixtures.unwrap();
    assert_eq!(
        errors.problems[0].help.as_deref(),
        Some("known: `upstream`")
    );
}

#[test]
fn servers_of_a_fixture_are_those_of_the_configuration() {
    let check = |servers: &str, help: &str| {
        let pack = pack(&format!(
            "{servers}[[test]]\nname = 'x'\nserver = 'mail'\ncall = 'send'\nexpect = 'allow'"
        ));
        let errors = run(&configured(&pack)).unwrap_err().fixtures.unwrap();
        let found: Vec<_> = errors
            .problems
            .iter()
            .map(|it| (it.code, it.help.as_deref()))
            .collect();
        assert_eq!(found, [("test::conflict", Some(help))], "{servers}");
    };
    check(
        "servers = ['mail']\n",
        "remove `servers`, or name `crm`, `mail`",
    );
}

#[test]
fn coverage_and_changes_are_those_of_all_servers() {
    let tests = "
[[test]]
name = 'a'
server = 'crm'
call = 'send'
expect = { decision = 'deny', policies = ['crm-sends-nothing'] }
[[test]]
name = 'b'
server = 'mail'
call = 'send'
expect = { decision = 'allow', policies = ['calls'] }
";
    let pack = pack(&format!("{SERVERS}{tests}"));
    let report = run(&Settings {
        coverage: WantedCoverage::Told,
        mutants: Mutants::Tried,
        ..settings(&[pack.path()])
    })
    .unwrap();
    let coverage = &report.coverage[0];
    assert_eq!(
        coverage.untested_tools,
        ["crm/find_customer", "mail/find_customer"]
    );
    let of = |id: &str| {
        coverage
            .rules
            .iter()
            .find(|rule| rule.id == id)
            .unwrap()
            .seen
    };
    assert_eq!(of("crm-sends-nothing"), CoverageLevel::Decided);
    assert_eq!(of("ask-at-mail"), CoverageLevel::Never);
    let survived = |policy: &str| {
        report.mutation[0]
            .survivors
            .iter()
            .any(|it| it.policy == policy)
    };
    assert!(!survived("crm-sends-nothing"), "{:#?}", report.mutation);
    assert!(survived("ask-at-mail"), "{:#?}", report.mutation);
}

#[test]
fn a_recording_is_judged_by_the_server_that_its_records_name() {
    let record = |server: &str, decision: &str| {
        format!(
            r#"{{"version":1,"seq":1,"timestamp":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","direction":"agent_to_upstream","agent":{{"id":"a"}},"upstream":"{server}","method":"tools/call","target":"send","decision":"{decision}","stage":"decide"}}"#
        )
    };
    let test = "[[test]]\nname = 'x'\nreplay = 'log.jsonl'\n";
    let pack = pack(&format!("{SERVERS}{test}"));
    let lines = [
        record("crm", "BLOCK"),
        record("crm", "ALLOW"),
        record("web", "ALLOW"),
    ];
    pack.write("tests/log.jsonl", &lines.join("\n"));
    let report = pack.run().unwrap();
    let replay = report.suites[0].tests[0].replay.as_ref().unwrap();
    assert_eq!(replay.same, 1, "{replay:?}");
    assert_eq!(replay.changed[0].line, 2, "{replay:?}");
    assert_eq!(
        replay.unknown[0].why,
        "no server of the configuration is called `web`"
    );
}

const UNIFIED: &str = r#"
[unified]
aliases = { find = "crm__find_customer" }
[views.post]
servers = ["mail"]
tools = ["mail__s*"]
"#;

fn at_endpoints(tests: &str) -> Result<Report, NotRun> {
    let pack = pack(&format!("gate = '../gate.toml'\n{tests}"));
    pack.write("gate.toml", &format!("{GATE}{UNIFIED}"));
    pack.run()
}

#[test]
fn at_an_endpoint_names_say_the_server_that_judges() {
    let step = |fields: &str| {
        format!(
            "[[test]]\nname = '{fields}'\n{}\n",
            fields.replace("; ", "\n").replace('~', "'")
        )
    };
    let tests = [
        "endpoint = ~unified~; call = ~mail__send~; expect = { decision = ~allow~, policies_exact = [~calls~] }",
        "endpoint = ~unified~; call = ~crm__send~; expect = { decision = ~deny~, policies = [~crm-sends-nothing~] }",
        // By its alias, and by no other name.
        "endpoint = ~unified~; call = ~find~; expect = ~allow~",
        "endpoint = ~unified~; call = ~crm__find_customer~; expect = { decision = ~deny~, reason = ~unrouted~ }",
        "endpoint = ~unified~; call = ~send~; expect = { decision = ~deny~, reason = ~unrouted~ }",
        "endpoint = ~unified~; list = ~tools~; listed = [~find~, ~mail__send~, ~mail__find_customer~]; hidden = [~crm__send~]",
        "view = ~post~; call = ~mail__send~; expect = ~allow~",
        "view = ~post~; call = ~mail__find_customer~; expect = { decision = ~deny~, reason = ~unrouted~ }",
        "view = ~post~; call = ~crm__send~; expect = { decision = ~deny~, reason = ~unrouted~ }",
        "view = ~post~; list = ~tools~; listed = [~mail__send~]; hidden = [~mail__find_customer~, ~find~]",
        "endpoint = ~unified~; raw = ~{~; expect = { decision = ~deny~, reason = ~syntax~ }",
    ];
    let report = at_endpoints(&tests.map(step).concat()).unwrap();
    assert_eq!(problems_of(&report), [""; 0]);
    assert_eq!(report.summary.tests, tests.len());
}

#[test]
fn a_conversation_may_use_all_endpoints() {
    let report = at_endpoints(&steps(&[
        "{ server = 'mail', call = 'send', expect = 'allow' }",
        "{ endpoint = 'unified', list = 'tools', listed = ['find', 'mail__send'] }",
        "{ endpoint = 'unified', call = 'find', expect = 'allow' }",
        "{ view = 'post', call = 'mail__send', expect = { decision = 'deny', policies_exact = ['builtin.no_egress'] } }",
        "{ endpoint = 'unified', list = 'tools', listed = ['find'], hidden = ['mail__send'] }",
    ]));
    assert_eq!(problems_of(&report.unwrap()), [""; 0]);
}

#[test]
fn a_test_fails_whose_list_is_not_that_of_the_endpoint() {
    let test = "[[test]]\nname = 'x'\nview = 'post'\nlist = 'tools'\nlisted = ['find']\nhidden = ['mail__send']\n";
    let problems = problems_of(&at_endpoints(test).unwrap());
    assert_eq!(
        problems,
        [
            "`find` is not shown",
            "`mail__send` is shown, and not in `listed`",
            "`mail__send` is shown, and in `hidden`"
        ]
    );
}

#[test]
fn what_no_endpoint_can_mean_is_a_problem_of_the_fixture() {
    let refused = |tests: &str| {
        let problems = at_endpoints(tests).unwrap_err().fixtures.unwrap().problems;
        let problems = problems.iter();
        problems.map(|it| it.message.clone()).collect::<Vec<_>>()
    };
    let test = |fields: &str| format!("[[test]]\nname = 'x'\n{fields}\n");
    for (fields, problem) in [
        (
            "view = 'pots'\ncall = 'mail__send'\nexpect = 'allow'",
            "there is no view `pots`",
        ),
        (
            "endpoint = 'unified'\nserver = 'crm'\ncall = 'send'\nexpect = 'allow'",
            "a message goes to a server or to an endpoint, not to both",
        ),
        (
            "endpoint = 'unified'\nview = 'post'\ncall = 'mail__send'\nexpect = 'allow'",
            "a message goes to one endpoint: `endpoint` or `view`",
        ),
        (
            "endpoint = 'unified'\nsend = { method = 'ping' }\nexpect = 'allow'",
            "all servers of the endpoint get `ping`, each for itself",
        ),
        (
            "endpoint = 'unified'\nfrom = 'server'\nsend = { method = 'ping' }\nexpect = 'allow'",
            "a server does not know of the endpoint",
        ),
    ] {
        assert_eq!(refused(&test(fields)), [problem], "{fields}");
    }
    let pack = pack(&format!(
        "gate = '../gate.toml'\n{}",
        test("endpoint = 'unified'\ncall = 'mail__send'\nexpect = 'allow'")
    ));
    let problems = pack.run().unwrap_err().fixtures.unwrap().problems;
    assert!(problems[0].message.ends_with("has no `[unified]`"));
}
