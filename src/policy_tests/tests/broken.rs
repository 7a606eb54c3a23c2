//! Fixtures that cannot run, and what their authors are told.

use super::*;

const POLICIES: &str = r#"
@id("workspace-only")
permit (principal, action == Mcp::Action::"call_tool", resource);
@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource);
"#;

/// What is said of a fixture: line, message, help.
fn told(tests: &str) -> Vec<(usize, String, String)> {
    let pack = Pack::new(POLICIES, tests);
    let not_run = pack.run().expect_err(tests);
    assert_eq!(not_run.outcome(), RunOutcome::NotRun, "{tests}");
    let report = Report::not_run(not_run.outcome(), not_run.diagnostics());
    let problems = report.problems.into_iter();
    problems
        .map(|problem| {
            assert!(problem.code.is_some_and(|code| code.starts_with("test::")));
            let help = problem.help.unwrap_or_default();
            (problem.line.unwrap_or_default(), problem.message, help)
        })
        .collect()
}

/// The one thing that is wrong with a test, after a head that is in order.
#[track_caller]
fn check(test: &str, message: &str, help: &str) {
    let head = "agents.guest = {}\n[[test]]\nname = 'x'\n";
    let told = told(&format!("{head}{test}"));
    let [(_, message_told, help_told)] = told.as_slice() else {
        panic!("{test}: {told:#?}");
    };
    assert_eq!(
        (message_told.as_str(), help_told.as_str()),
        (message, help),
        "{test}"
    );
}

/// The one thing that is wrong with the head of a file.
#[track_caller]
fn check_head(head: &str, message: &str, help: &str) {
    let told = told(&format!(
        "{head}\n[[test]]\nname = 'x'\nlist = 'tools'\nlisted = []\n"
    ));
    let [(_, message_told, help_told)] = told.as_slice() else {
        panic!("{head}: {told:#?}");
    };
    assert_eq!(
        (message_told.as_str(), help_told.as_str()),
        (message, help),
        "{head}"
    );
}

#[test]
fn a_key_that_nobody_knows_is_refused_with_the_likely_one() {
    let expect = "call = 'a'\nexpect = 'allow'\n";
    check(
        &format!("{expect}agnt = 'guest'"),
        "unknown key `agnt`",
        "did you mean `agent`?",
    );
    check(
        &format!("{expect}Args = {{}}"),
        "unknown key `Args`",
        "did you mean `args`?",
    );
    check(
        &format!("{expect}policies = ['read']"),
        "unknown key `policies`",
        "`policies` belongs in `expect`",
    );
    check(
        &format!("{expect}suite = 'y'"),
        "unknown key `suite`",
        "`suite` belongs at the top of the file",
    );
    check(
        &format!("{expect}weather = 'y'"),
        "unknown key `weather`",
        "known in a `[[test]]`: `name`, `agent`, `agents`, `server`, `endpoint`, `view`, `now`, `session`, `consent`, `links`, `changed_tools`, `changed_prompts`, `from`, `send`, \
         `call`, `connect`, `args`, `list`, `listed`, `hidden`, `raw`, `result`, `received`, `expect`, `steps`, `replay`, `unknown`",
    );
    check(
        "call = 'a'\nexpect = { decision = 'allow', because = ['read'] }",
        "unknown key `because`",
        "write `policies`",
    );
    check(
        "call = 'a'\narguments = { path = 'x' }\nexpect = 'allow'",
        "unknown key `arguments`",
        "write `args`",
    );
    check(
        "call = 'a'\nexpect = { decision = 'allow', policeis = ['read'] }",
        "unknown key `policeis`",
        "did you mean `policies`?",
    );
    check(
        "send = { method = 'ping', id = 1 }\nexpect = 'allow'",
        "unknown key `id`",
        "known in `send`: `method`, `params`, `meta`",
    );
    check_head("suit = 'x'", "unknown key `suit`", "did you mean `suite`?");
    check_head(
        "[agents.guest]\ngroups = []",
        "unknown key `groups`",
        "known in an agent of `[agents]`: `roles`, `teams`, `user`, `trust`, `client`, `capabilities`, `claims`",
    );
    check_head(
        "[agents.guest]\nprompts = []",
        "unknown key `prompts`",
        "`prompts` belongs at the top of the file",
    );
}

#[test]
fn what_later_versions_know_is_refused_as_that() {
    let message = "`skip` is not available in this version";
    check("skip = []", message, "remove it");
}

#[test]
fn a_test_without_an_expectation_tests_nothing() {
    let help = "write `expect = \"allow\"`, `expect = \"deny\"`, or `expect = { decision = \"deny\", \
                policies = [\"policy-id\"] }`";
    check("call = 'a'", "`expect` is missing", help);
    check(
        "list = 'tools'",
        "`expect` is missing",
        "say what the list shows, as in `listed = [\"read_file\"]`",
    );
    check(
        "call = 'a'\nexpect = { policies = ['read'] }",
        "`decision` is missing",
        "write `decision = \"allow\"` or `decision = \"deny\"`",
    );
    check(
        "call = 'a'\nexpect = 'denied'",
        "unknown value `denied`",
        "known: `allow`, `deny`",
    );
    check(
        "call = 'a'\nexpect = true",
        "expected `\"allow\"`, `\"deny\"` or a table, found a boolean",
        "",
    );
    let nothing = "name something, or leave it out";
    check(
        "call = 'a'\nexpect = { decision = 'deny', policies = [] }",
        "an empty `policies` says nothing",
        nothing,
    );
    check(
        "call = 'a'\nexpect = { decision = 'deny', errors = [] }",
        "an empty `errors` says nothing",
        nothing,
    );
    check(
        "call = 'a'\nexpect = { decision = 'allow', code = 'x' }",
        "only a denial has `code`",
        "",
    );
    check(
        "call = 'a'\nexpect = { decision = 'allow', errors = ['x'] }",
        "only a denial has `errors`",
        "",
    );
    check(
        "raw = ' '\nexpect = 'deny'",
        "a blank line is no frame: the gate skips it",
        "",
    );
}

#[test]
fn a_test_sends_one_message() {
    let expect = "expect = 'allow'\n";
    check(
        expect,
        "what is sent is missing",
        "say what is sent: `call = \"tool\"`, `list = \"tools\"`, `send = { method = \"…\" }`, \
         `raw = '…'` or `connect = \"host:port\"`",
    );
    check(
        &format!("{expect}call = 'a'\nraw = 'x'"),
        "one test sends one message, not `call`, `raw`",
        "make a test of each, or one of `steps`",
    );
    check(
        &format!("{expect}raw = 'x'\nargs = {{}}"),
        "`args` goes with `call`",
        "",
    );
    check(
        &format!("{expect}call = 'a'\nlisted = []"),
        "`listed` goes with `list`",
        "",
    );
    check(
        &format!("{expect}call = 'a'\nfrom = 'server'"),
        "only agents call and list, and servers connect: `from` goes with `send` and `raw`",
        "",
    );
    check(
        &format!("{expect}raw = 'x'\nfrom = 'sever'"),
        "unknown value `sever`",
        "did you mean `server`?",
    );
    check(
        &format!("{expect}raw = \"a\\nb\""),
        "a frame ends at the line feed, so it cannot hold one",
        "write it on one line, in single quotes",
    );
    check(
        &format!("{expect}list = 'tool'"),
        "unknown value `tool`",
        "did you mean `tools`?",
    );
    check(
        "list = 'tools'\nlisted = ['a']\nexpect = 'deny'",
        "a list that is denied shows nothing",
        "expect it to be allowed, or say nothing of what it shows",
    );
    check(
        &format!("{expect}send = {{ method = 'ping', params = {{ _meta = {{}} }}, meta = {{}} }}"),
        "`_meta` stands in `params` already",
        "",
    );
    check(
        &format!("{expect}send = {{ method = 'ping', params = [] }}"),
        "expected a table, found an array",
        "",
    );
    check(
        &format!("{expect}call = 'a'\nargs = {{ x = [1, {{ y = nan }}] }}"),
        "JSON has no such number",
        "write the whole message as `raw = '…'` if this is what you mean to send",
    );
}

#[test]
fn what_a_test_refers_to_has_to_be_there() {
    let call = "call = 'a'\n";
    check(
        &format!("{call}agent = 'gest'\nexpect = 'allow'"),
        "no agent is called `gest`",
        "did you mean `guest`?",
    );
    check(
        &format!("{call}expect = {{ decision = 'deny', policies = ['workspace_only'] }}"),
        "no policy is called `workspace_only`",
        "did you mean `workspace-only`?",
    );
    check(
        &format!("{call}expect = {{ decision = 'deny', policies = ['x'] }}"),
        "no policy is called `x`",
        "known: `core.lifecycle`, `core.results`, `builtin.no_egress`, `workspace-only`, `read`, `sampling.agentic`, `sampling.approved`",
    );
    check_head("tools = ['a', 'a']", "`a` stands here twice", "");
    let tests =
        "tools = ['read_file']\n[[test]]\nname = 'x'\nlist = 'tools'\nlisted = ['readfile']";
    let message = "`readfile` is not among the `tools` that are offered".to_owned();
    assert_eq!(
        told(tests),
        [(5, message, "did you mean `read_file`?".to_owned())]
    );
}

#[test]
fn values_have_to_mean_something() {
    let moment = "this is no moment: it needs a date, a time and an offset";
    let help = "as in `2026-11-21T20:00:00Z`";
    check_head("now = 2026-11-21", moment, help);
    check_head("now = 2026-11-21T20:00:00", moment, help);
    check_head(
        "now = '2026-11-21T20:00:00Z'",
        "expected a date and time without quotes, found a string",
        "",
    );
    check_head("agents = []", "expected a table, found an array", "");
    check_head(
        "agents.x = 'reader'",
        "expected a table such as `{ roles = [\"reader\"] }`, found a string",
        "",
    );
    check_head(
        "agents.x.roles = 'reader'",
        "expected an array of strings, found a string",
        "",
    );
    check_head(
        "agents.x.trust = 'high'",
        "expected a whole number, found a string",
        "",
    );
    check_head(
        "agents.x.trust = 9223372036854775808",
        "does not fit 64 bits",
        "",
    );
    check_head(
        "agents.x.client = 1",
        "expected a name, or a table with `name` and `version`, found an integer",
        "",
    );
    check_head(
        "allow = ['a', 1]",
        "expected a string, found an integer",
        "",
    );
}

#[test]
fn a_file_without_tests_is_no_fixture() {
    let help = "begin each test with `[[test]]`".to_owned();
    assert_eq!(
        told("suite = 'x'"),
        [(1, "a test is missing".to_owned(), help)]
    );
    let message = "expected an array of tables: write `[[test]]`, found a table".to_owned();
    assert_eq!(told("[test]\nname = 'x'"), [(1, message, String::new())]);
}

#[test]
fn everything_that_is_wrong_is_told_at_once_and_in_order() {
    let tests = "\
suit = 'x'
[[test]]
name = 'one'
agent = 'absent'
call = 'a'
expect = { decision = 'maybe', policies = ['raed'] }
[[test]]
call = 'b'
exect = 'allow'
[[test]]
name = 'one'
raw = \"x\\ny\"
expect = 'allow'
";
    let told: Vec<_> = told(tests)
        .into_iter()
        .map(|(line, message, _)| format!("{line}: {message}"))
        .collect();
    assert_eq!(
        told,
        [
            "1: unknown key `suit`",
            "4: no agent is called `absent`",
            "6: unknown value `maybe`",
            "6: no policy is called `raed`",
            "7: `name` is missing",
            "7: `expect` is missing",
            "9: unknown key `exect`",
            "11: two tests are called `one`",
            "12: a frame ends at the line feed, so it cannot hold one",
        ]
    );
}

#[test]
fn what_toml_cannot_read_is_told_beside_what_can_be_checked() {
    let tests =
        "suit = 'x'\nnow = = 3\n[[test]]\nname = 'x'\nname = 'y'\ncall = 'a'\nexpect = 'allow'\n";
    let told = told(tests);
    let lines: Vec<_> = told.iter().map(|(line, ..)| *line).collect();
    assert_eq!(lines, [1, 2, 2, 5], "{told:#?}");
}

#[test]
fn files_that_are_no_text_are_named() {
    let pack = Pack::new(POLICIES, "");
    fs::write(pack.path().join("tests/tests.toml"), b"suite = '\xff'").unwrap();
    let not_run = pack.run().unwrap_err();
    let problems = not_run.fixtures.unwrap().problems;
    assert!(
        problems[0]
            .message
            .ends_with("tests.toml`: not UTF-8 at byte 9"),
        "{problems:?}"
    );
}

#[test]
fn a_name_that_misleads_is_refused() {
    let help = "a name is one line, without controls, what is not seen, and what turns the direction of text";
    let refused = |name: &str, shown: &str| {
        let message = format!("this name cannot be read as it is: `{shown}`");
        let test = format!("[[test]]\nname = \"{name}\"\ncall = 'a'\nexpect = 'allow'\n");
        assert_eq!(told(&test), [(2, message.clone(), help.to_owned())]);
        check_head(&format!("suite = \"{name}\""), &message, help);
        check_head(&format!("agents.\"{name}\" = {{}}"), &message, help);
    };
    refused("a\\nb", "a\\u{a}b");
    refused("a\\u001b[2J", "a\\u{1b}[2J");
    refused("a\u{202e}b", "a\\u{202e}b");
    refused("\u{feff}a", "\\u{feff}a");
    // Quotes and other scripts are names like any other.
    let fine =
        "[[test]]\nname = \"say \\\"no\\\", 'x' – 日本語 é\"\ncall = 'a'\nexpect = 'allow'\n";
    assert_eq!(
        Pack::new(POLICIES, fine).run().unwrap().outcome,
        RunOutcome::Passed
    );
}

#[test]
fn what_is_shown_of_a_fixture_does_nothing_to_a_terminal() {
    let tests =
        "[[test]]\nname = 'x'\n'\u{202e}\u{200b}' = 1 # \u{1b}[2J\ncall = 'a'\nexpect = 'allow'\n";
    let pack = Pack::new(POLICIES, tests);
    let not_run = pack.run().unwrap_err();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let handler = miette::GraphicalReportHandler::new_themed(theme);
    let mut text = String::new();
    for diagnostic in not_run.diagnostics() {
        handler.render_report(&mut text, diagnostic).unwrap();
    }
    assert!(text.contains("unknown key `\\u{202e}\\u{200b}`"), "{text}");
    assert!(
        !text.contains(['\u{1b}', '\u{202e}', '\u{200b}']),
        "{text:?}"
    );
}

#[test]
fn depth_is_refused_and_not_followed() {
    #[track_caller]
    fn is_refused(fixture: &str) {
        let problems = told(fixture);
        let mut messages = problems.iter().map(|(_, message, _)| message);
        assert!(messages.any(|it| it.contains("recurs")), "{problems:?}");
    }
    let deep = 100_000;
    let test = "[[test]]\nname = 'x'\ncall = 'a'\nexpect = 'allow'\n";
    for (open, between) in [
        ("args.x = ", "["),
        ("args.x = ", "{a="),
        ("args.", "a."),
        ("[", "a."),
    ] {
        let fixture = format!("{test}{open}{}", between.repeat(deep));
        is_refused(&fixture);
    }
    let keys = vec!["a"; deep].join(".");
    for fixture in [format!("{test}args.{keys} = 1"), format!("{test}[{keys}]")] {
        is_refused(&fixture);
    }
}

#[test]
fn of_very_many_problems_the_first_are_told() {
    let test = |number: usize| {
        format!("[[test]]\nname = '{number}'\nextra = 1\ncall = 'a'\nexpect = 'allow'\n")
    };
    let told = told(&(0..20_000).map(test).collect::<String>());
    assert_eq!(told.len(), 101);
    assert_eq!((told[0].0, told[1].0), (3, 8));
    assert!(
        told[100].1.ends_with("tests.toml` has 19900 more problems"),
        "{:?}",
        told[100]
    );
}

#[test]
fn a_matrix_that_means_nothing_is_refused() {
    let agents = "agents = ['guest']\ncall = 'a'\n";
    check(
        &format!("agent = 'guest'\n{agents}expect = 'allow'"),
        "`agent` and `agents` both say who it is",
        "keep one of them",
    );
    check(
        "agents = []\ncall = 'a'\nexpect = 'allow'",
        "a matrix of no agents tests nothing",
        "name some of `[agents]`",
    );
    check(
        "agents = ['guest', 'gest']\ncall = 'a'\nexpect = 'allow'",
        "no agent is called `gest`",
        "did you mean `guest`?",
    );
    check(
        &format!("{agents}expect = {{ gust = 'allow' }}"),
        "`gust` is not among the `agents` of this test",
        "did you mean `guest`?",
    );
    check(
        &format!("{agents}expect = {{}}"),
        "it says nothing of any agent",
        "write `expect = \"deny\"` if that is what is meant",
    );
    check(
        &format!("{agents}expect = {{ policies = ['read'] }}"),
        "`decision` is missing",
        "write `decision = \"allow\"` or `decision = \"deny\"`",
    );
    check(
        "agents = ['guest']\nlist = 'tools'\nlisted = { guest = [] }\nexpect = { guest = 'deny' }",
        "`expect` and `listed` both say it for each agent",
        "say of each agent either what it sees or that it is denied",
    );
    check(
        "call = []\nexpect = 'allow'",
        "it calls nothing",
        "name a tool, or several",
    );
    let word =
        "agents.code = {}\n[[test]]\nname = 'x'\nagents = ['code']\ncall = 'a'\nexpect = 'deny'";
    let message = "an agent of a matrix cannot be called `code`".to_owned();
    let help = "that is a word of `expect`, which could mean either; call it otherwise".to_owned();
    assert_eq!(told(word), [(4, message, help)]);
    // A mistake in what all cells share is one mistake.
    check(
        "agents = ['guest']\ncall = ['a', 'b']\nexpect = { decision = 'deny', policies = ['raed'] }",
        "no policy is called `raed`",
        "did you mean `read`?",
    );
}

#[test]
fn a_conversation_that_means_nothing_is_refused() {
    let step = "{ call = 'a', expect = 'allow' }";
    check(
        "steps = []",
        "a conversation of no steps tests nothing",
        "as in `steps = [{ call = \"tool\", expect = \"allow\" }]`",
    );
    check(
        "steps = {}",
        "expected an array of tables, found a table",
        "",
    );
    check(
        &format!("steps = [{step}, 1]"),
        "expected a table, found an integer",
        "",
    );
    check(
        &format!("steps = [{step}]\nexpect = 'allow'"),
        "`expect` does not go with `steps`",
        "it belongs in one of the steps",
    );
    check(
        "steps = [{ call = 'a', expct = 'allow', expect = 'allow' }]",
        "unknown key `expct`",
        "did you mean `expect`?",
    );
    check(
        "steps = [{ call = 'a', agent = 'guest', expect = 'allow' }]",
        "unknown key `agent`",
        "`agent` belongs in a `[[test]]`",
    );
    check(
        "steps = [{ call = ['a'], expect = 'allow' }]",
        "a step calls one tool",
        "make a step of each",
    );
    check(
        "steps = [{ after = 'soon', call = 'a', expect = 'allow' }]",
        "`after` is `soon`, which is no duration",
        "as in `90s`, `5m` or `2h`; at most 100 years",
    );
    check(
        "steps = [{ after = '-5m', call = 'a', expect = 'allow' }]",
        "`after` is `-5m`, and no time that passes is negative",
        "as in `90s`, `5m` or `2h`; at most 100 years",
    );
    let call = "call = 'a'\nexpect = 'allow'\n";
    check(
        &format!("{call}result = {{}}"),
        "what is answered is missing",
        "write `text = \"…\"`, `json = { … }`, `error = \"…\"` or `raw = '…'`",
    );
    check(
        &format!("{call}result = {{ text = 'a', error = 'b' }}"),
        "one answer is one thing, not `text`, `error`",
        "keep one of them",
    );
    check(
        &format!("{call}result = {{ json = {{}}, is_error = true }}"),
        "`is_error` goes with `text`",
        "",
    );
    check(
        "list = 'tools'\nlisted = []\nresult = { text = 'x' }",
        "`result` does not go with `list`: the fixture says what is offered",
        "",
    );
    check(
        &format!("{call}session = {{ level = 4 }}"),
        "there is no level 4",
        "0 is `public`, 1 `internal`, 2 `confidential`, 3 `secret`",
    );
    check(
        &format!("{call}session = {{ level = 'secrt' }}"),
        "unknown value `secrt`",
        "did you mean `secret`?",
    );
    check(
        &format!("{call}consent = true"),
        "expected `\"approve\"`, `\"deny\"` or `\"timeout\"`, or a table such as \
         `{ scope = \"writes\", by = \"alice\", age = \"2m\" }`, found a boolean",
        "",
    );
    check(
        &format!("{call}consent = 'aprove'"),
        "unknown value `aprove`",
        "did you mean `approve`?",
    );
    check(
        "call = 'a'\nexpect = { decision = 'deny', policies = ['read'], policies_exact = [] }",
        "`policies` and `policies_exact` both say who decides",
        "`policies` names some of them, `policies_exact` all",
    );
    check(
        "call = 'a'\nexpect = { decision = 'deny', obligations = [] }",
        "only what is allowed has `obligations`",
        "",
    );
}

#[test]
fn a_recording_that_is_not_there_is_told_with_its_place() {
    check(
        "replay = 'none.jsonl'",
        "`none.jsonl` cannot be read: No such file or directory (os error 2)",
        "its path is relative to the fixture's directory",
    );
    let outside =
        "a pack holds all that its tests need: put the recording beside them, or a link to it";
    check(
        "replay = '/etc/passwd'",
        "`/etc/passwd` is outside of the pack",
        outside,
    );
    check(
        "replay = '../../x'",
        "`../../x` is outside of the pack",
        outside,
    );
    check("replay = '.'", "`.` is no file", "");
    let recording = "a recording is an audit log, or a file with one JSON-RPC message on each line";
    check(
        "replay = 'tests.toml'",
        "`tests.toml`: no line of it is JSON",
        recording,
    );
    check(
        "replay = 'x'\nsteps = []",
        "a test has `steps` or a `replay`, not both",
        "make a test of each",
    );
    check(
        "call = 'a'\nexpect = 'allow'\nunknown = 'fail'",
        "`unknown` goes with `replay`",
        "",
    );
    check(
        "replay = 'x'\nunknown = 'fial'",
        "unknown value `fial`",
        "did you mean `fail`?",
    );
}

#[cfg(unix)]
#[test]
fn a_recording_that_links_to_itself_is_told() {
    let pack = Pack::new(POLICIES, "[[test]]\nname = 'x'\nreplay = 'a.jsonl'\n");
    let link = |to: &str, from: &str| {
        std::os::unix::fs::symlink(to, pack.path().join("tests").join(from)).unwrap();
    };
    link("b.jsonl", "a.jsonl");
    link("a.jsonl", "b.jsonl");
    let problems = pack.run().unwrap_err().fixtures.unwrap().problems;
    assert!(
        problems[0]
            .message
            .starts_with("`a.jsonl` cannot be read: "),
        "{problems:?}"
    );
}

#[test]
fn a_role_or_team_that_is_all_but_a_known_one_is_told_and_a_stranger_is_not() {
    let policies = r#"
        @id("read") permit (principal in Mcp::Role::"reader", action == Mcp::Action::"call_tool", resource);
        @id("no-team") forbid (principal in Mcp::Team::"contractors", action == Mcp::Action::"call_tool", resource);
    "#;
    let labels = "[agents.nightly]\nroles = ['auditor']\n[roles.operator]\ncapabilities = ['fs']\n";
    let check = |agent: &str, told: &[&str]| {
        let tests = format!(
            "agents.guest = {{ {agent} }}\n[[test]]\nname = 'x'\nlist = 'tools'\nlisted = []\n"
        );
        let pack = Pack::new(policies, &tests);
        pack.write("agents.toml", labels);
        let helps: Vec<String> = match pack.run() {
            Ok(_) => Vec::new(),
            Err(not_run) => Report::not_run(not_run.outcome(), not_run.diagnostics())
                .problems
                .into_iter()
                .map(|problem| problem.help.unwrap())
                .collect(),
        };
        assert_eq!(helps.len(), told.len(), "{agent}: {helps:?}");
        for (help, word) in helps.iter().zip(told) {
            assert!(
                help.starts_with(&format!("did you mean `{word}`?")),
                "{agent}: {help}"
            );
        }
    };
    check("roles = ['readr']", &["reader"]);
    check(
        "roles = ['Reader', 'auditr'], teams = ['contractor']",
        &["reader", "auditor", "contractors"],
    );
    check("roles = ['operators']", &["operator"]);
    check(
        "roles = ['reader', 'auditor', 'operator'], teams = ['contractors']",
        &[],
    );
    // No agent has it, and it is similar to no other name.
    check("roles = ['stranger', 'x']", &[]);
}

#[test]
fn a_link_that_is_none_is_told() {
    let call = "call = 'a'\nexpect = 'allow'\n";
    check(
        &format!("{call}links = {{ 'srv/lnk' = '/srv/x' }}"),
        "`srv/lnk` is no path in its one spelling",
        "write it as in `{ \"/srv/work/link\" = \"/srv/work/customers\" }`",
    );
    check(
        &format!("{call}links = {{ '/srv/lnk' = '' }}"),
        "a link leads somewhere",
        "",
    );
}

#[test]
fn an_age_that_is_none_is_told_by_its_key() {
    let call = "call = 'a'\nexpect = 'allow'\n";
    check(
        &format!("{call}consent = {{ age = 'yesterday' }}"),
        "`age` is `yesterday`, which is no duration",
        "as in `90s`, `5m` or `2h`; at most 100 years",
    );
    check(
        &format!("{call}session = {{ age = '-2m' }}"),
        "`age` is `-2m`, and no time that passes is negative",
        "as in `90s`, `5m` or `2h`; at most 100 years",
    );
}
