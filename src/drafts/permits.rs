//! What drafts from lists permit: labels decide.

/// `SUITE` stands for the first part of all ids.
const PERMITS: &str = r#"
@id("SUITE.read")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"read"
)
unless { resource in [Mcp::Permission::"write", Mcp::Permission::"connect"] };

@id("SUITE.write")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"write"
)
unless { resource in Mcp::Permission::"connect" };

@id("SUITE.ask")
@advice("A person must approve each call of a tool that writes.")
@requires_consent
forbid (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"write"
)
unless { context.env.consent.granted };
"#;

/// Tools that only read are permitted, those that write ask a person, and no permit is for those that connect.
pub(super) fn permits(suite: &str) -> String {
    PERMITS.replace("SUITE", suite)
}
