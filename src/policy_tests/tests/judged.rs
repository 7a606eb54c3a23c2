//! What becomes of messages, and which expectations that meets.

use super::*;

const POLICIES: &str = r#"
@id("read")
permit (
  principal,
  action in [Mcp::Action::"call_tool", Mcp::Action::"list_tool"],
  resource in Mcp::ToolGroup::"allow"
);
@id("reader")
permit (
  principal in Mcp::Role::"reader",
  action == Mcp::Action::"call_tool",
  resource == Mcp::Tool::"read_file"
);
@id("workspace-only")
@code("outside")
@advice("stay below /srv")
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read_file")
unless {
  context.raw_arguments.hasTag("/path")
  && context.raw_arguments.getTag("/path") has string
  && context.raw_arguments.getTag("/path").string like "/srv/*"
};
@id("plain")
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"remove")
unless { principal in Mcp::Team::"ops" };
@id("ops")
permit (principal in Mcp::Team::"ops", action == Mcp::Action::"call_tool", resource == Mcp::Tool::"remove");
@id("sums")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"sum");
@id("overflows")
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"sum")
when {
  context.raw_arguments.hasTag("/n")
  && context.raw_arguments.getTag("/n") has long
  && context.raw_arguments.getTag("/n").long + 9223372036854775807 < 0
};
@id("values")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"values")
when {
  context.raw_arguments.hasTag("/i") && context.raw_arguments.getTag("/i") has long && context.raw_arguments.getTag("/i").long == 3
  && context.raw_arguments.hasTag("/f") && context.raw_arguments.getTag("/f") has decimal
  && context.raw_arguments.getTag("/f").decimal == decimal("1.50")
  && context.raw_arguments.hasTag("/big") && context.raw_arguments.getTag("/big") has text
  && context.raw_arguments.getTag("/big").text == "18446744073709551616"
  && context.raw_arguments.hasTag("/b") && context.raw_arguments.getTag("/b") has bool && context.raw_arguments.getTag("/b").bool
  && context.raw_arguments.hasTag("/at") && context.raw_arguments.getTag("/at") has string
  && context.raw_arguments.getTag("/at").string == "2026-01-02T03:04:05Z"
  && context.raw_arguments.hasTag("/list") && context.raw_arguments.getTag("/list") has strings
  && context.raw_arguments.getTag("/list").strings == ["a", "b"]
  && context.raw_arguments.hasTag("/deep/er") && context.raw_arguments.getTag("/deep/er") has string
  && context.raw_arguments.getTag("/deep/er").string == "x"
};
@id("trusted")
permit (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"trusted")
when { principal.trust >= 5 && principal.client.name == "ide" && principal.client.version == "2" };
@id("stdio")
permit (principal == Mcp::Agent::"stdio", action == Mcp::Action::"call_tool", resource == Mcp::Tool::"stdio");
@id("alice")
permit (principal in Mcp::User::"alice", action == Mcp::Action::"call_tool", resource == Mcp::Tool::"hers");
@id("later")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"later")
when { context.env.now > datetime("2026-06-01") };
@id("here")
permit (principal, action == Mcp::Action::"call_tool", resource is Mcp::Tool)
when { resource.server == Mcp::Server::"files" && resource.name == "here" };
@id("banned")
forbid (principal in Mcp::Role::"banned", action == Mcp::Action::"initialize", resource);
@id("no-lists")
forbid (principal in Mcp::Role::"blind", action == Mcp::Action::"notify", resource)
when { context.method == "tools/list" };
@id("prompts")
permit (principal, action == Mcp::Action::"get_prompt", resource == Mcp::Prompt::"greet");
@id("resources")
permit (principal, action == Mcp::Action::"read_resource", resource is Mcp::Resource)
when { resource.scheme == "file" };
@id("short-samples")
permit (principal is Mcp::Server, action == Mcp::Action::"sample", resource)
when { context.maxTokens <= 100 };
"#;

const HEAD: &str = r#"
allow = ["allowed"]
server = "files"
[agents]
reader = { roles = ["reader"] }
ops = { teams = ["ops"] }
trusted = { trust = 5, client = { name = "ide", version = "2" } }
ide = { trust = 5, client = "ide" }
alice = { user = "alice" }
banned = { roles = ["banned"] }
blind = { roles = ["blind"] }
[[test]]
name = "the test"
"#;

/// One test whose expectation is missed in these ways; none at all when it passes.
#[track_caller]
fn check(test: &str, problems: &[&str]) {
    check_under(HEAD, test, problems);
}

#[track_caller]
fn check_under(head: &str, test: &str, problems: &[&str]) {
    let pack = Pack::new(POLICIES, &format!("{head}{test}"));
    pack.write("agents.toml", AGENTIC);
    let report = pack
        .run()
        .unwrap_or_else(|not_run| panic!("{test}: {not_run:#?}"));
    let judged = &report.suites[0].tests[0];
    assert_eq!(judged.problems, problems, "{test}: {judged:#?}");
    let passed = problems.is_empty();
    assert_eq!(judged.outcome == TestOutcome::Passed, passed);
    assert_eq!(report.outcome == RunOutcome::Passed, passed);
}

#[test]
fn an_allowed_call_passes_with_some_of_the_policies_that_decided() {
    let call = "call = 'read_file'\nargs = { path = '/srv/a' }\nagent = 'reader'\n";
    check(&format!("{call}expect = 'allow'"), &[]);
    check(
        &format!("{call}expect = {{ decision = 'allow', policies = ['reader'] }}"),
        &[],
    );
    check(
        &format!("{call}expect = 'deny'"),
        &["expected deny, got allow"],
    );
    check(
        &format!("{call}expect = {{ decision = 'allow', policies = ['reader', 'read'] }}"),
        &["`read` is not among the policies that decided"],
    );
    // The decision is what matters first.
    check(
        &format!("{call}expect = {{ decision = 'deny', policies = ['read'], code = 'x' }}"),
        &["expected deny, got allow"],
    );
}

#[test]
fn a_forbidden_call_has_the_forbids_and_their_words() {
    let call = "call = 'read_file'\nargs = { path = '/etc/a' }\nagent = 'reader'\n";
    let all = "decision = 'deny', policies = ['workspace-only'], code = 'outside', \
               advice = 'stay below /srv', reason = 'forbidden'";
    check(&format!("{call}expect = {{ {all} }}"), &[]);
    check(
        &format!("{call}expect = 'allow'"),
        &["expected allow, got deny"],
    );
    check(
        &format!(
            "{call}expect = {{ decision = 'deny', policies = ['reader'], code = 'a', advice = 'b', \
             reason = 'c' }}"
        ),
        &[
            "`reader` is not among the policies that decided",
            "expected code `a`, got `outside`",
            "expected advice `b`, got `stay below /srv`",
            "expected reason `c`, got `forbidden`",
        ],
    );
    check(
        "call = 'remove'\nexpect = { decision = 'deny', policies = ['plain'], reason = 'forbidden', code = 'x' }",
        &["expected code `x`, got none"],
    );
}

#[test]
fn what_nothing_permits_is_denied_by_no_policy() {
    let expect = "expect = { decision = 'deny', reason = 'not_permitted' }";
    check(&format!("call = 'unheard_of'\n{expect}"), &[]);
    check(&format!("call = 'later'\n{expect}"), &[]);
    check(
        "call = 'later'\nexpect = { decision = 'deny', policies = ['later'] }",
        &["`later` is not among the policies that decided"],
    );
}

#[test]
fn a_permitted_tool_that_is_not_offered_is_denied() {
    let head = format!("tools = ['sum']\n{HEAD}");
    let denied = "expect = { decision = 'deny', reason = 'unknown_tool' }";
    check_under(&head, &format!("call = 'allowed'\n{denied}"), &[]);
    check_under(&head, "call = 'sum'\nexpect = 'allow'", &[]);
    // Without `tools`, whatever a test names is there.
    check("call = 'allowed'\nexpect = 'allow'", &[]);
}

#[test]
fn arguments_reach_the_policies_as_they_were_written() {
    let args = "i = 3, f = 1.50, big = 18446744073709551616, b = true, at = 2026-01-02T03:04:05Z, \
                list = ['a', 'b'], deep.er = 'x'";
    let expect = "expect = { decision = 'allow', policies = ['values'] }";
    check(
        &format!("call = 'values'\nargs = {{ {args} }}\n{expect}"),
        &[],
    );
    for (was, is) in [
        ("i = 3", "i = 4"),
        ("1.50", "1.51"),
        ("1616", "1617"),
        ("true", "false"),
        ("05Z", "06Z"),
        ("['a', 'b']", "['a', 1]"),
        ("deep.er", "deep.other"),
    ] {
        let args = args.replace(was, is);
        let expect = "expect = { decision = 'deny', reason = 'not_permitted' }";
        check(
            &format!("call = 'values'\nargs = {{ {args} }}\n{expect}"),
            &[],
        );
    }
}

#[test]
fn a_fault_fails_every_test_that_does_not_expect_it() {
    let fault = "engine `cedar`: policy `overflows`: integer overflow while attempting to add the \
                 values `1` and `9223372036854775807`";
    let call = "call = 'sum'\nargs = { n = 1 }\n";
    let unexpected = format!("a policy could not be evaluated: {fault}");
    check(&format!("{call}expect = 'deny'"), &[&unexpected]);
    check(
        &format!("{call}expect = 'allow'"),
        &[&unexpected, "expected allow, got deny"],
    );
    let expecting = |text: &str| {
        format!(
            "{call}expect = {{ decision = 'deny', reason = 'engine_fault', errors = ['{text}'] }}"
        )
    };
    check(&expecting("integer overflow"), &[]);
    check(&expecting("policy `overflows`"), &[]);
    let other = format!("the error does not hold `type error`: {fault}");
    check(&expecting("type error"), &[&other]);
    check(
        "call = 'unheard_of'\nexpect = { decision = 'deny', errors = ['overflow'] }",
        &["every policy could be evaluated, which `errors` does not expect"],
    );
}

#[test]
fn an_agent_is_what_the_fixture_says_of_it() {
    let check_call = |agent: &str, tool: &str, because: Option<&str>| {
        let expect = because.map_or("'deny'".to_owned(), |id| {
            format!("{{ decision = 'allow', policies = ['{id}'] }}")
        });
        check(&format!("{agent}\ncall = '{tool}'\nexpect = {expect}"), &[]);
    };
    check_call("", "stdio", Some("stdio"));
    check_call("agent = 'ops'", "stdio", None);
    check_call("agent = 'ops'", "remove", Some("ops"));
    check_call("agent = 'reader'", "remove", None);
    check_call("agent = 'trusted'", "trusted", Some("trusted"));
    // The name alone leaves the version at its default.
    check_call("agent = 'ide'", "trusted", None);
    check_call("agent = 'alice'", "hers", Some("alice"));
    check_call("agent = 'ops'", "hers", None);
    check_call("", "here", Some("here"));
}

#[test]
fn time_stands_where_the_fixture_puts_it() {
    let allowed = "call = 'later'\nexpect = { decision = 'allow', policies = ['later'] }";
    let head = format!("now = 2026-07-01T00:00:00+02:00\n{HEAD}");
    check_under(&head, allowed, &[]);
    check(&format!("now = 2026-06-01T00:00:01Z\n{allowed}"), &[]);
    check_under(
        &head,
        "now = 2026-05-31T23:59:59Z\ncall = 'later'\nexpect = 'deny'",
        &[],
    );
}

#[test]
fn a_list_shows_what_can_be_used() {
    check(
        "list = 'tools'\nlisted = ['sum', 'allowed']\nhidden = ['hers']",
        &[],
    );
    check("agent = 'alice'\nlist = 'tools'\nlisted = ['hers']", &[]);
    check("list = 'tools'\nhidden = ['hers']", &[]);
    check("list = 'tools'\nexpect = 'allow'\nlisted = []", &[]);
    check(
        "list = 'tools'\nlisted = ['hers']\nhidden = ['sum']",
        &[
            "`hers` is not shown",
            "`sum` is shown, and not in `listed`",
            "`sum` is shown, and in `hidden`",
        ],
    );
    check(
        "list = 'prompts'\nlisted = ['greet']\nhidden = ['insult']",
        &[],
    );
    check(
        "list = 'resources'\nlisted = ['file:///a']\nhidden = ['http://b/']",
        &[],
    );
    let head = format!("tools = ['sum', 'read_file', 'hers']\n{HEAD}");
    check_under(
        &head,
        "list = 'tools'\nlisted = ['read_file']",
        &[
            "`read_file` is not shown",
            "`sum` is shown, and not in `listed`",
        ],
    );
    check_under(
        &head,
        "agent = 'reader'\nlist = 'tools'\nlisted = ['read_file', 'sum']",
        &[],
    );
}

#[test]
fn a_list_that_may_not_be_asked_for_is_denied() {
    let denied = "expect = { decision = 'deny', policies = ['no-lists'] }";
    check(&format!("agent = 'blind'\nlist = 'tools'\n{denied}"), &[]);
    check(
        "agent = 'blind'\nlist = 'tools'\nlisted = []",
        &["expected allow, got deny"],
    );
    check(
        &format!("list = 'tools'\n{denied}"),
        &["expected deny, got allow"],
    );
}

#[test]
fn who_may_not_begin_a_session_is_denied_everything_for_that() {
    let denied = "expect = { decision = 'deny', policies = ['banned'], reason = 'forbidden' }";
    check(
        &format!("agent = 'banned'\ncall = 'allowed'\n{denied}"),
        &[],
    );
    check(&format!("agent = 'banned'\nlist = 'tools'\n{denied}"), &[]);
    let initialize = "send = { method = 'initialize', params = { protocolVersion = '2025-11-25', \
                      capabilities = {}, clientInfo = { name = 'x', version = '1' } } }";
    check(&format!("agent = 'banned'\n{initialize}\n{denied}"), &[]);
    check(
        &format!("agent = 'reader'\n{initialize}\nexpect = 'allow'"),
        &[],
    );
}

#[test]
fn any_message_can_be_sent() {
    let allowed = "expect = { decision = 'allow', policies = ['core.lifecycle'] }";
    check(&format!("send = {{ method = 'ping' }}\n{allowed}"), &[]);
    check(
        &format!("send = {{ method = 'notifications/roots/list_changed' }}\n{allowed}"),
        &[],
    );
    check(
        "send = { method = 'tools/call', params = { name = 'allowed', arguments = {} } }\n\
         expect = { decision = 'allow', policies = ['read'] }",
        &[],
    );
    check(
        "send = { method = 'prompts/get', params = { name = 'greet' } }\n\
         expect = { decision = 'allow', policies = ['prompts'] }",
        &[],
    );
    check(
        "send = { method = 'resources/read', params = { uri = 'FILE:///a' } }\n\
         expect = { decision = 'allow', policies = ['resources'] }",
        &[],
    );
    check(
        "send = { method = 'resources/read', params = { url = 'file:///a' } }\n\
         expect = { decision = 'deny', reason = 'invalid_params' }",
        &[],
    );
    check(
        "send = { method = 'no/such' }\nexpect = { decision = 'deny', reason = 'unknown_method' }",
        &[],
    );
}

#[test]
fn a_message_that_says_what_it_speaks_needs_no_handshake() {
    let meta = "meta = { 'io.modelcontextprotocol/protocolVersion' = '2026-07-28', \
                'io.modelcontextprotocol/clientCapabilities' = {} }";
    check(
        &format!(
            "agent = 'banned'\nsend = {{ method = 'tools/call', params = {{ name = 'allowed' }}, \
             {meta} }}\nexpect = 'allow'"
        ),
        &[],
    );
    check(
        &format!(
            "agent = 'banned'\nsend = {{ method = 'server/discover', {meta} }}\n\
             expect = {{ decision = 'deny', policies = ['banned'] }}"
        ),
        &[],
    );
}

#[test]
fn a_raw_frame_is_judged_byte_for_byte() {
    let refused = |raw: &str, reason: &str| {
        check(
            &format!("raw = '{raw}'\nexpect = {{ decision = 'deny', reason = '{reason}' }}"),
            &[],
        );
    };
    refused(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"allowed","name":"x"}}"#,
        "duplicate_key",
    );
    refused(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "batch");
    refused(
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        "jsonrpc_version",
    );
    check(
        "raw = '{ \"jsonrpc\" : \"2.0\", \"id\" : 1, \"method\" : \"tools/call\", \
         \"params\" : {\"name\":\"allowed\"} }'\nexpect = { decision = 'allow', policies = ['read'] }",
        &[],
    );
    check(
        "raw = \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\r\\\"id\\\":1,\\\"method\\\":\\\"ping\\\"}\"\nexpect = 'allow'",
        &[],
    );
    // `x` is offered because the frame calls it; the frame is no request, so nothing is sent.
    check(
        "raw = 'x'\nexpect = { decision = 'deny', policies = ['plain'] }",
        &["`plain` is not among the policies that decided"],
    );
}

#[test]
fn what_a_server_starts_is_judged_too() {
    let sample = |tokens: u32| {
        format!(
            "from = 'server'\nsend = {{ method = 'sampling/createMessage', params = {{ messages = [], \
             maxTokens = {tokens} }} }}\n"
        )
    };
    let allowed = "expect = { decision = 'allow', policies = ['short-samples'] }";
    check(&format!("{}{allowed}", sample(100)), &[]);
    let denied = "expect = { decision = 'deny', reason = 'not_permitted' }";
    check(&format!("{}{denied}", sample(101)), &[]);
    check(
        &format!("from = 'server'\nsend = {{ method = 'roots/list' }}\n{denied}"),
        &[],
    );
    check(
        "from = 'server'\nsend = { method = 'notifications/tools/list_changed' }\nexpect = 'allow'",
        &[],
    );
    check(
        "from = 'server'\nraw = '{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}'\n\
         expect = { decision = 'deny', reason = 'stray' }",
        &[],
    );
    check(
        "send = { method = 'sampling/createMessage', params = { messages = [], maxTokens = 1 } }\n\
         expect = { decision = 'deny', reason = 'unknown_method' }",
        &[],
    );
}

#[test]
fn an_allowlist_alone_is_judged_as_in_a_configuration_without_policies() {
    let tests = r"
        allow = ['echo']
        [[test]]
        name = 'what is listed is allowed'
        call = 'echo'
        expect = { decision = 'allow', policies = ['allowlist'] }
        [[test]]
        name = 'names are exact'
        call = 'Echo'
        expect = { decision = 'deny', reason = 'not_permitted' }
        [[test]]
        name = 'prompts pass'
        send = { method = 'prompts/get', params = { name = 'x' } }
        expect = { decision = 'allow', policies = ['base.prompts'] }
        [[test]]
        name = 'only what is listed is shown'
        list = 'tools'
        listed = ['echo']
    ";
    let report = Pack::new("", tests).run().unwrap();
    assert_eq!(report.outcome, RunOutcome::Passed, "{report:#?}");
    assert_eq!(report.summary.tests, 4);
}

#[test]
fn an_engine_that_fails_over_a_list_fails_the_test() {
    let policies = r#"
        @id("all")
        permit (principal, action == Mcp::Action::"call_tool", resource);
        @id("too-much-trust")
        forbid (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"a")
        when { principal.trust + 9223372036854775807 < 0 };
    "#;
    let tests = "
        agents.x.trust = 1
        [[test]]
        name = 'hidden by accident'
        agent = 'x'
        list = 'tools'
        listed = ['b']
        hidden = ['a']
        [[test]]
        name = 'hidden by an accident that is expected'
        agent = 'x'
        list = 'tools'
        listed = ['b']
        expect = { decision = 'allow', errors = ['integer overflow'] }
    ";
    let report = Pack::new(policies, tests).run().unwrap();
    assert_eq!(report.suites[0].tests[1].problems, [""; 0]);
    let problems = &report.suites[0].tests[0].problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("policy `too-much-trust`: integer overflow"),
        "{problems:?}"
    );
}
