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
    assert_eq!(not_run.outcome(), Outcome::NotRun, "{tests}");
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
        "{head}\n[[test]]\nname = 'x'\nlist = 'tools'\nvisible = []\n"
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
        &format!("{expect}because = ['read']"),
        "unknown key `because`",
        "`because` belongs in `expect`",
    );
    check(
        &format!("{expect}suite = 'y'"),
        "unknown key `suite`",
        "`suite` belongs at the top of the file",
    );
    check(
        &format!("{expect}weather = 'y'"),
        "unknown key `weather`",
        "known in a `[[test]]`: `name`, `agent`, `agents`, `now`, `session`, `consent`, `from`, `send`, \
         `call`, `args`, `list`, `visible`, `hidden`, `raw`, `result`, `received`, `expect`, `steps`, `replay`, `unknown`",
    );
    check(
        "call = 'a'\nexpect = { decision = 'allow', becuase = ['read'] }",
        "unknown key `becuase`",
        "did you mean `because`?",
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
        "known in an agent of `[agents]`: `roles`, `teams`, `user`, `trust`, `client`",
    );
    check_head(
        "[server]\ntools = []",
        "unknown key `tools`",
        "`tools` belongs at the top of the file",
    );
}

#[test]
fn what_later_versions_know_is_refused_as_that() {
    for key in ["skip"] {
        let message = format!("`{key}` is not available in this version");
        check(&format!("{key} = []"), &message, "remove it");
    }
}

#[test]
fn a_test_without_an_expectation_tests_nothing() {
    let help = "write `expect = \"allow\"`, `expect = \"deny\"`, or `expect = { decision = \"deny\", \
                because = [\"policy-id\"] }`";
    check("call = 'a'", "`expect` is missing", help);
    check(
        "list = 'tools'",
        "`expect` is missing",
        "say what the list shows, as in `visible = [\"read_file\"]`",
    );
    check(
        "call = 'a'\nexpect = { because = ['read'] }",
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
        "call = 'a'\nexpect = { decision = 'deny', because = [] }",
        "an empty `because` says nothing",
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
        "say what is sent: `call = \"tool\"`, `list = \"tools\"`, `send = { method = \"…\" }` or \
         `raw = '…'`",
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
        &format!("{expect}call = 'a'\nvisible = []"),
        "`visible` goes with `list`",
        "",
    );
    check(
        &format!("{expect}call = 'a'\nfrom = 'server'"),
        "only agents call and list: `from` goes with `send` and `raw`",
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
        "list = 'tools'\nvisible = ['a']\nexpect = 'deny'",
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
        &format!("{call}expect = {{ decision = 'deny', because = ['workspace_only'] }}"),
        "no policy is called `workspace_only`",
        "did you mean `workspace-only`?",
    );
    check(
        &format!("{call}expect = {{ decision = 'deny', because = ['x'] }}"),
        "no policy is called `x`",
        "known: `core.lifecycle`, `core.results`, `workspace-only`, `read`",
    );
    check_head("tools = ['a', 'a']", "`a` stands here twice", "");
    let tests =
        "tools = ['read_file']\n[[test]]\nname = 'x'\nlist = 'tools'\nvisible = ['readfile']";
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
agent = 'nobody'
call = 'a'
expect = { decision = 'maybe', because = ['raed'] }
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
            "4: no agent is called `nobody`",
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
