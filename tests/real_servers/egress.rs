//! A server that others wrote fetches pages through the egress proxy, and from nowhere else.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::real_servers::isolated::Listener;
use crate::real_servers::kit::{Gate, block_on, call};
use crate::real_servers::real::{Call, in_directory, installed, interpreter};
use crate::support::setup::Setup;

/// The environment of the server.
const ENVIRONMENT: &str = "venv-fetch";

/// What the server's tool says of a page.
async fn fetched(gate: &Gate, listener: &Listener) -> String {
    let fetch = Call {
        tool: "fetch",
        arguments: json!({"url": format!("{}/page", listener.url), "raw": true}),
    };
    format!("{:?}", call(&gate.client, &fetch).await)
}

/// A gate whose server connects to this address and to nothing else.
fn proxied(home: &Path, listed: &str, policy: &str) -> Setup {
    let show = Command::new(interpreter(ENVIRONMENT))
        .args(["-c", "import sys; print(sys.base_prefix)"])
        .output();
    let prefix = String::from_utf8(show.unwrap().stdout).unwrap();
    let execute = [in_directory(Path::new("")), prefix.trim().to_owned()];
    // What is in a private range is for the egress proxy to refuse.
    let options = ["--allow-private-ips", "--ignore-robots-txt"];
    let command = [installed("mcp-server-fetch")].into_iter();
    let command = command.chain(options.map(str::to_owned));
    let home = home.to_str().unwrap();
    let mut setup = Setup::of(command).policies(policy).env("HOME", home);
    setup.sandbox = Some(format!(
        "execute = {execute:?}\nwrite = [{home:?}]\nnetwork = \"proxied\"\negress = [{listed:?}]\n"
    ));
    setup
}

/// The connections of an audit log: host, decision, step and reason.
fn connections(audit: &[Value]) -> Vec<String> {
    let records = audit.iter();
    let records = records.filter(|record| record["kind"] == "egress_connection");
    let told = records.map(|record| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        assert!(record["session_id"].is_string(), "{record}");
        let code = text(&record["reason"]["code"]);
        let of = |key: &str| text(&record[key]);
        format!("{} {} {} {code}", of("target"), of("decision"), of("stage"))
    });
    told.collect()
}

/// `host:port` of a listener.
fn address(listener: &Listener) -> &str {
    listener.url.strip_prefix("http://").unwrap()
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_real_server_fetches_from_listed_hosts_through_the_egress_proxy_and_from_no_others() {
    let home = tempfile::tempdir().unwrap();
    let (listed, other) = (Listener::start(), Listener::start());
    let policy = r#"@id("all") permit (principal is Mcp::Agent, action, resource);"#;
    let setup = proxied(home.path(), address(&listed), policy);
    block_on(async {
        let gate = Gate::start(setup).await;
        let page = fetched(&gate, &listed).await;
        assert!(page.contains(":\\nok"), "{page}");
        let refused = fetched(&gate, &other).await;
        assert!(refused.contains("status code 403"), "{refused}");
        assert_eq!(listed.asked(), ["GET /page HTTP/1.1"]);
        assert_eq!(other.asked(), [""; 0], "nothing got out");
        let audit = gate.end().await;
        let expected = [
            format!("{} ALLOW decide ", address(&listed)),
            format!("{} BLOCK egress egress_not_listed", address(&other)),
        ];
        assert_eq!(connections(&audit), expected);
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_policy_ends_the_connections_of_a_real_server_when_its_session_has_read_secrets() {
    let home = tempfile::tempdir().unwrap();
    let listed = Listener::start();
    let policy = r#"
        @id("all") permit (principal is Mcp::Agent, action, resource);
        @id("quiet") @code("session_too_sensitive")
        forbid (principal is Mcp::Server, action == Mcp::Action::"connect_host", resource)
        when { context.env.session.level >= 2 };
    "#;
    let labels = "[tools.fetch]\npermission = \"read\"\nsensitivity = \"secret\"\n";
    let setup = proxied(home.path(), address(&listed), policy).labels(labels);
    block_on(async {
        let gate = Gate::start(setup).await;
        // The call itself raises the level, before it is sent.
        let refused = fetched(&gate, &listed).await;
        assert!(refused.contains("status code 403"), "{refused}");
        assert_eq!(listed.asked(), [""; 0]);
        let audit = gate.end().await;
        let expected = format!("{} BLOCK decide session_too_sensitive", address(&listed));
        assert_eq!(connections(&audit), [expected]);
    });
}
