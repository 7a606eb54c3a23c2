//! One test for many: agents, tools, and who is not named.

use super::*;

const POLICIES: &str = r#"
@id("read")
permit (principal in Mcp::Role::"reader", action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
@id("write")
permit (principal in Mcp::Role::"writer", action == Mcp::Action::"call_tool", resource)
when { resource in [Mcp::Tool::"write", Mcp::Tool::"append"] };
@id("frozen")
@code("frozen")
forbid (principal in Mcp::Role::"frozen", action == Mcp::Action::"call_tool", resource);
@id("overflows")
forbid (principal in Mcp::Role::"odd", action == Mcp::Action::"call_tool", resource)
when { principal is Mcp::Agent && principal.trust + 9223372036854775807 < 0 };
"#;

const AGENTS: &str = r#"
[agents]
reader = { roles = ["reader"] }
writer = { roles = ["reader", "writer"] }
frozen = { roles = ["reader", "writer", "frozen"] }
guest = {}
odd = { roles = ["odd"], trust = 1 }
[[test]]
name = "x"
"#;

/// The cells of one test, as `cell: problem; problem`.
fn cells(test: &str) -> Vec<String> {
    let report = Pack::new(POLICIES, &format!("{AGENTS}{test}"));
    let report = report
        .run()
        .unwrap_or_else(|why| panic!("{test}: {why:#?}"));
    let tests = report.suites[0].tests.iter();
    let told = tests.map(|test| {
        assert_eq!(test.name, "x");
        assert_eq!(
            test.problems.is_empty(),
            test.outcome == TestOutcome::Passed
        );
        format!(
            "{}: {}",
            test.cell.as_deref().unwrap(),
            test.problems.join("; ")
        )
    });
    told.collect()
}

#[track_caller]
fn check(test: &str, expected: &[&str]) {
    assert_eq!(cells(test), expected, "{test}");
}

#[test]
fn each_agent_is_a_test_of_its_own() {
    check(
        "agents = ['reader', 'writer', 'guest']\ncall = 'write'\n\
         expect = { writer = { decision = 'allow', policies_exact = ['write'] }, reader = 'allow', guest = 'deny' }",
        &["reader: expected allow, got deny", "writer: ", "guest: "],
    );
}

#[test]
fn who_is_not_listed_is_expected_to_be_denied() {
    let write = "agents = ['reader', 'writer', 'guest']\ncall = 'write'\n";
    check(
        &format!("{write}expect = {{ writer = 'allow' }}"),
        &["reader: ", "writer: ", "guest: "],
    );
    check(
        &format!("{write}expect = {{ guest = 'deny' }}"),
        &["reader: ", "writer: expected deny, got allow", "guest: "],
    );
}

#[test]
fn agents_may_share_one_expectation() {
    let read = "agents = ['reader', 'guest']\ncall = 'read'\n";
    let denied = ["reader: ", "guest: expected allow, got deny"];
    check(&format!("{read}expect = 'allow'"), &denied);
    check(
        &format!("{read}expect = {{ decision = 'allow', policies = ['read'] }}"),
        &denied,
    );
}

#[test]
fn tools_make_a_matrix_too() {
    check(
        "call = ['write', 'append', 'read']\nagents = ['writer', 'guest']\nexpect = { writer = { decision = 'allow', policies = ['write'] } }",
        &[
            "writer, write: ",
            "writer, append: ",
            "writer, read: `write` is not among the policies that decided",
            "guest, write: ",
            "guest, append: ",
            "guest, read: ",
        ],
    );
    check(
        "call = ['write', 'read']\nagent = 'reader'\nexpect = 'deny'",
        &["write: ", "read: expected deny, got allow"],
    );
}

#[test]
fn each_agent_sees_its_own_list() {
    let head = "agents = ['reader', 'writer', 'guest']\nlist = 'tools'\n";
    check(
        &format!("{head}listed = {{ reader = ['read'], writer = ['read'] }}\nhidden = ['write']"),
        &[
            "reader: ",
            "writer: `write` is shown, and not in `listed`; `write` is shown, and in `hidden`",
            "guest: ",
        ],
    );
    check(
        &format!("{head}listed = {{ writer = ['read', 'write'] }}"),
        &[
            "reader: `read` is shown, and not in `listed`",
            "writer: ",
            "guest: ",
        ],
    );
}

#[test]
fn an_error_of_a_policy_fails_a_cell_that_is_expected_to_be_denied() {
    let test = "agents = ['guest', 'odd']\ncall = 'read'\nexpect = { guest = 'deny' }";
    let cells = cells(test);
    assert_eq!(cells[0], "guest: ");
    assert!(
        cells[1].starts_with("odd: a policy could not be evaluated: "),
        "{cells:?}"
    );
    check(
        "agents = ['guest', 'odd']\ncall = 'read'\nexpect = { odd = { decision = 'deny', errors = ['overflow'] } }",
        &["guest: ", "odd: "],
    );
}

#[test]
fn a_conversation_can_be_had_with_each_agent() {
    check(
        "agents = ['writer', 'frozen']\nsteps = [\n\
           { call = 'read', expect = { writer = 'allow' } },\n\
           { call = 'write', expect = { writer = 'allow', frozen = { decision = 'deny', policies = ['frozen'], code = 'frozen' } } },\n\
         ]",
        &["writer: ", "frozen: "],
    );
}
