//! The hosts that the configuration lists for its servers, as Cedar: listed means permitted, unless some
//! policy forbids it.

use crate::policy::PolicySource;

/// The permit for these hosts, each as `host:port`; none where nothing is listed.
pub(super) fn compiled(hosts: &[String]) -> Option<PolicySource> {
    let hosts: Vec<String> = hosts.iter().map(|host| entity(host)).collect();
    let hosts = hosts.join(", ");
    let text = format!(
        r#"// What the configuration lists in `egress`. A policy can forbid it.
@id("egress")
permit (
  principal is Mcp::Server,
  action == Mcp::Action::"connect_host",
  resource is Mcp::Host
)
when {{ [{hosts}].contains(resource) }};
"#
    );
    (!hosts.is_empty()).then(|| PolicySource::new("<egress>", text))
}

/// Cedar reads the escapes that Rust writes.
fn entity(host: &str) -> String {
    format!("Mcp::Host::\"{}\"", host.escape_debug())
}
