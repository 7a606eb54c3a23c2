//! Methods of extensions in fixtures.

use super::*;

const POLICIES: &str = r#"
@id("calls")
permit (principal, action in Mcp::Action::"call_tool", resource);
@id("do")
permit (
  principal is Mcp::Agent,
  action == Mcp::Action::"extension",
  resource == Mcp::Method::"vendor/do"
)
unless { context.raw_arguments.hasTag("/force") };
@id("told")
permit (
  principal is Mcp::Server,
  action == Mcp::Action::"extension",
  resource == Mcp::Method::"notifications/vendor/told"
);
@id("memos")
permit (principal, action == Mcp::Action::"read_resource", resource)
when { resource.scheme == "memo" };
"#;

const TOOLS: &str = "[tools.read]\npermission = \"read\"\nsensitivity = \"confidential\"\n";

const FIXTURE: &str = r#"
extensions = ["vendor/do", "vendor/other", "notifications/vendor/told"]

[[test]]
name = "a listed method is judged"
send = { method = "vendor/do", params = { a = 1 } }
expect = { decision = "allow", policies_exact = ["do"] }

[[test]]
name = "its params are arguments"
send = { method = "vendor/do", params = { force = true } }
expect = "deny"

[[test]]
name = "silence denies another"
send = { method = "vendor/other" }
expect = { decision = "deny", reason = "not_permitted" }

[[test]]
name = "one that is not listed is unknown"
send = { method = "vendor/more" }
expect = { decision = "deny", reason = "unknown_method" }

[[test]]
name = "what it names is read"
send = { method = "vendor/do", params = { uri = "memo://a" } }
expect = { decision = "allow", policies_exact = ["do", "memos"] }

[[test]]
name = "and may be what cannot be read"
send = { method = "vendor/do", params = { uri = "file:///etc/passwd" } }
expect = "deny"

[[test]]
name = "a server may tell"
from = "server"
send = { method = "notifications/vendor/told", params = { a = 1 } }
expect = { decision = "allow", policies_exact = ["told"] }

[[test]]
name = "what was read closes it in every gate"
steps = [
  { send = { method = "vendor/do" }, expect = "allow" },
  { call = "read", expect = "allow" },
  { send = { method = "vendor/do" }, expect = { decision = "deny", policies_exact = ["builtin.no_egress"], code = "session_too_sensitive" } },
]
"#;

fn pack(fixture: &str) -> Pack {
    let pack = Pack::new(POLICIES, fixture);
    pack.write("tools.toml", TOOLS);
    pack
}

#[test]
fn a_fixture_lists_methods_and_says_what_becomes_of_them() {
    let report = pack(FIXTURE).run().unwrap();
    let outcome = (report.outcome, report.summary.tests);
    assert_eq!(outcome, (RunOutcome::Passed, 8), "{:#?}", report.suites);
}

#[test]
fn a_name_that_cannot_be_listed_is_told_where_it_stands() {
    let names = "\"Tools/Call\", \"tasks/x\"";
    let errors = pack(&FIXTURE.replace("\"vendor/other\"", names))
        .run()
        .unwrap_err();
    let told = format!("{errors:?}");
    for reason in ["can be taken for `tools/call`", "is about tasks"] {
        assert!(told.contains(reason), "{told}");
    }
}
