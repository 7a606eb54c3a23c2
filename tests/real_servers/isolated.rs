//! A server that others wrote, twice: open, and where no network is.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use crate::real_servers::kit::{Gate, block_on, call};
use crate::real_servers::real::{Call, everything, in_directory};
use crate::support::setup::ALLOW_ALL;

/// `get-sum` reads what is confidential. No label says that the other tool connects: no policy
/// keeps it from it.
const LABELS: &str = "[default]\npermission = \"read\"\n[tools.get-sum]\npermission = \"read\"\nsensitivity = \"confidential\"\n";

/// A listener on this machine, in place of a remote host.
pub(super) struct Listener {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 4096];
                let length = stream.read(&mut head).unwrap_or_default();
                let head = String::from_utf8_lossy(&head[..length]);
                told.lock()
                    .unwrap()
                    .push(head.lines().next().unwrap_or_default().to_owned());
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                );
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Has the server fetch something.
fn fetch(listener: &Listener, path: &str) -> Call {
    Call {
        tool: "gzip-file-as-resource",
        arguments: json!({
            "name": "page.gz",
            "data": format!("{}/{path}", listener.url),
            "outputType": "resource",
        }),
    }
}

/// One session of the official client: it fetches, reads what is confidential, and fetches again.
fn check(isolated: &[String], sandbox: &str) {
    let real = everything();
    let listener = Listener::start();
    let setup = real
        .behind()
        .policies(ALLOW_ALL)
        .labels(LABELS)
        .isolated(isolated, sandbox);
    block_on(async {
        let gate = Gate::start(setup).await;
        let before = call(&gate.client, &fetch(&listener, "before"))
            .await
            .unwrap();
        assert_ne!(before.is_error, Some(true), "{before:?}");
        assert_eq!(listener.asked(), ["GET /before HTTP/1.1"]);
        let sum = call(&gate.client, &real.read).await.unwrap();
        assert!(format!("{sum:?}").contains("42.5"), "{sum:?}");
        // The same session, and the same server as far as its client can see.
        let after = call(&gate.client, &fetch(&listener, "after"))
            .await
            .unwrap();
        assert_eq!(after.is_error, Some(true), "{after:?}");
        assert!(format!("{after:?}").contains("fetch failed"), "{after:?}");
        let again = call(&gate.client, &real.read).await.unwrap();
        assert_eq!(again, sum);
        let tools = gate.client.list_all_tools().await.unwrap();
        assert!(
            tools
                .iter()
                .any(|tool| tool.name == "gzip-file-as-resource")
        );
        assert_eq!(
            listener.asked(),
            ["GET /before HTTP/1.1"],
            "nothing got out"
        );
        let audit = gate.end().await;
        let events = audit
            .iter()
            .filter(|record| record["kind"] == "upstream_state")
            .map(|record| record["event"].as_str().unwrap());
        assert_eq!(
            events.collect::<Vec<_>>(),
            ["started", "switched_to_isolated"]
        );
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_session_with_a_real_server_fetches_until_it_is_confidential_and_not_from_its_sandbox() {
    let real = everything();
    let sandbox = format!(
        "[upstream.isolated.sandbox]\nnetwork = \"none\"\nexecute = [{:?}]\n",
        in_directory(std::path::Path::new(""))
    );
    check(&real.command, &sandbox);
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_session_with_a_real_server_fetches_until_it_is_confidential_and_not_from_a_network_namespace_of_its_own()
 {
    let may = Command::new("unshare").args(["-rn", "true"]).status();
    assert!(
        may.is_ok_and(|it| it.success()),
        "users may make no network namespaces on this machine"
    );
    let real = everything();
    let mut command = vec!["unshare".to_owned(), "-rn".to_owned()];
    command.extend(real.command.iter().cloned());
    // By default the gate would confine its network, and root could map no user in there.
    let open = "[upstream.isolated.sandbox]\nnetwork = \"full\"\nlocal_sockets = true\n\
                write = [\"/proc\"]\nexecute = [\"/\"]\n";
    check(&command, open);
}
