//! A server whose network is proxied reaches listed hosts through the gate, and nothing else by any way
//! (threat P1). With the kernel's own namespaces: where a user may make none, these tests fail.

use std::io;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;

use mcp_protector::egress::{self, Asks, Attempts, Destination, Destinations, Verdict};
use mcp_protector::outward::{AddressLookup, AddressSource};
use mcp_protector::upstream::Event;
use mcp_protector::upstream::sandbox::{Network, Sandbox};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::processes::sandbox::Host;
use crate::processes::support::{Gate, Server, gate_program, python, run};

/// Names of the tests, all of this machine.
#[derive(Debug)]
struct Names;

impl AddressSource for Names {
    fn look_up(&self, name: String) -> AddressLookup {
        let found = match name.as_str() {
            "here.example" | "elsewhere.example" => Ok(vec![(Ipv4Addr::LOCALHOST, 0).into()]),
            _ => Err(io::Error::other("no such name")),
        };
        Box::pin(async { found })
    }
}

/// A listener of this machine that answers every request alike, and its port.
async fn origin() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap_or_default();
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let fields = head.lines().filter(|line| {
                    let line = line.to_ascii_lowercase();
                    ["get ", "host:", "proxy-connection:", "x-own:"]
                        .iter()
                        .any(|it| line.starts_with(it))
                });
                let body = fields.collect::<Vec<_>>().join("|");
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    port
}

fn proxied(host: &Host, listed: &[&str]) -> Server {
    let sandbox = Sandbox {
        network: Network::Proxied,
        ..host.sandbox()
    };
    let mut settings = host.settings(sandbox);
    let listed = listed.iter().map(|text| Destination::read(text).unwrap());
    settings.egress = egress::Settings {
        listed: Arc::new(Destinations::new(listed.collect())),
        lookup: Arc::new(Names),
    };
    Server::start(settings)
}

/// Permits all but one host, and keeps what was asked.
fn decide(mut attempts: Attempts) -> tokio::sync::mpsc::Receiver<String> {
    let (told, telling) = tokio::sync::mpsc::channel(64);
    tokio::spawn(async move {
        loop {
            let (asks, answer) = attempts.next().await.into_parts();
            let (line, verdict) = match asks {
                Asks::Decision(to) if to.host() == "elsewhere.example" => {
                    (format!("denied {to}"), Verdict::Denied)
                }
                Asks::Decision(to) => (format!("permitted {to}"), Verdict::Permitted("r".into())),
                Asks::Record {
                    target, refusal, ..
                } => (format!("{} {target}", refusal.code()), Verdict::Denied),
            };
            let _ = told.send(line).await;
            let _ = answer.send(verdict);
        }
    });
    telling
}

#[test]
fn a_server_whose_network_is_proxied_reaches_nothing_past_the_proxy() {
    let host = Host::new();
    run(async {
        let port = origin().await;
        let mut server = proxied(&host, &[]);
        let nowhere = "ENETUNREACH|EADDRNOTAVAIL|EHOSTUNREACH";
        let namespaces = "0x10000000 | 0x40000000";
        for (line, expected) in [
            // Of this machine, which is another network.
            (
                "socket.create_connection(('127.0.0.1', PORT))",
                "ECONNREFUSED",
            ),
            ("socket.create_connection(('192.0.2.1', 443))", nowhere),
            (
                "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 443))",
                nowhere,
            ),
            (
                "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
                nowhere,
            ),
            ("socket.socket(socket.AF_UNIX)", "EACCES"),
            // The host of a virtual machine, which no namespace keeps away.
            ("socket.socket(40, socket.SOCK_STREAM)", "EACCES"),
            ("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", "EACCES"),
            (
                "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
                "EACCES",
            ),
            // What it was started with.
            (
                "say(sorted(int(it) for it in os.listdir('/proc/self/fd'))[:3])",
                "[0, 1, 2]",
            ),
            (
                "say([it for it in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + it) and 'socket' in os.readlink('/proc/self/fd/' + it)])",
                "[]",
            ),
            (
                "say({it.split()[1] for it in open('/proc/self/status') if it.startswith('Cap')})",
                "{'0000000000000000'}",
            ),
            (
                "say([it.split()[1] for it in open('/proc/self/status') if it.startswith('NoNewPrivs')])",
                "['1']",
            ),
            (
                "say(os.getuid() == int(open('/proc/self/uid_map').read().split()[1]))",
                "True",
            ),
            // No way back, and none out of a further one.
            ("os.open('/proc/1/ns/net', os.O_RDONLY)", "EACCES"),
            ("say(call('setns', 0, 0x40000000))", "EACCES"),
            ("say(call('mount', b'x', b'/', b'proc', 0, 0))", "EPERM"),
            (
                "call('unshare', NAMESPACES); socket.create_connection(('127.0.0.1', PORT))",
                "ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL",
            ),
        ] {
            let line = line.replace("PORT", &port.to_string());
            let line = line.replace("NAMESPACES", namespaces);
            host.check(&mut server, &line, expected).await;
        }
        server.sender.stop().await;
    });
}

#[test]
fn the_proxy_connects_to_what_is_listed_and_permitted_and_to_nothing_else() {
    let host = Host::new();
    run(async {
        let port = origin().await;
        let (here, elsewhere, address) = (
            format!("here.example:{port}"),
            format!("elsewhere.example:{port}"),
            format!("127.0.0.1:{port}"),
        );
        let listed = [
            here.as_str(),
            elsewhere.as_str(),
            address.as_str(),
            "unknown.example:80",
        ];
        let mut server = proxied(&host, &listed);
        let mut told = decide(server.events.take_attempts());
        let get = "import urllib.request, urllib.error\ndef get(url, **fields):\n  try: return urllib.request.urlopen(urllib.request.Request(url, headers=fields)).read().decode()\n  except urllib.error.HTTPError as e: return f'{e.code} {e.read().decode().strip()}'";
        let define = format!("exec({get:?}, sys.modules['__main__'].__dict__)");
        host.check(&mut server, &define, "ok").await;
        let tunnel = "import socket\ndef tunnel(to):\n  s = socket.create_connection(('127.0.0.1', 3128))\n  s.sendall(f'CONNECT {to} HTTP/1.1\\r\\nHost: {to}\\r\\n\\r\\nGET /early HTTP/1.1\\r\\nX-Own: 1\\r\\n\\r\\n'.encode())\n  answer = b''\n  while True:\n    part = s.recv(4096)\n    if not part: return answer.split(b'\\r\\n')[0].decode() + ' / ' + answer.split(b'\\r\\n')[-1].decode().strip()\n    answer += part";
        let define = format!("exec({tunnel:?}, sys.modules['__main__'].__dict__)");
        host.check(&mut server, &define, "ok").await;
        for (line, expected, recorded) in [
            (
                "say(get('http://here.example:PORT/a?b=1', **{'X-Own': '1'}))",
                "GET /a?b=1 HTTP/1.1|host: here.example:PORT|x-own: 1",
                &["permitted here.example:PORT"][..],
            ),
            (
                "say(tunnel('127.0.0.1:PORT'))",
                "HTTP/1.1 200 OK / GET /early HTTP/1.1|X-Own: 1",
                &["permitted 127.0.0.1:PORT"],
            ),
            (
                "say(get('http://elsewhere.example:PORT/'))",
                "403 mcp-protector: it is not permitted",
                &["denied elsewhere.example:PORT"],
            ),
            (
                "say(tunnel('here.example:1'))",
                "HTTP/1.1 403 Forbidden / mcp-protector: `egress` does not list this host with this port",
                &["egress_not_listed here.example:1"],
            ),
            (
                "say(get('http://unknown.example/'))",
                "502 mcp-protector: the name was not found: no such name",
                &[
                    "permitted unknown.example:80",
                    "egress_name_not_found unknown.example:80",
                ],
            ),
            (
                "say(get('http://127.1:PORT/'))",
                "400 mcp-protector: the target: is another spelling of an address",
                &["egress_target_malformed 127.1:PORT"],
            ),
            (
                "say(get('http://here.example:PORT/', Host='elsewhere.example:PORT'))",
                "400 mcp-protector: the field `Host` does not name the target",
                &["egress_host_mismatch here.example:PORT"],
            ),
        ] {
            let with_port = |text: &str| text.replace("PORT", &port.to_string());
            let answer = host.ask(&mut server, &with_port(line)).await;
            assert_eq!(answer, with_port(expected), "{line}");
            for expected in recorded {
                assert_eq!(told.recv().await, Some(with_port(expected)), "{line}");
            }
        }
        server.sender.stop().await;
    });
}

#[test]
fn a_listed_name_that_leads_to_a_private_address_is_refused() {
    let host = Host::new();
    run(async {
        let port = origin().await;
        let here = format!("here.example:{port}");
        let mut server = proxied(&host, &[&here, "127.0.0.1:1"]);
        let mut told = decide(server.events.take_attempts());
        let line = format!(
            "import http.client; c = http.client.HTTPConnection('127.0.0.1', 3128); c.request('GET', 'http://{here}/'); say(c.getresponse().status)"
        );
        host.check(&mut server, &line, "403").await;
        assert_eq!(told.recv().await, Some(format!("permitted {here}")));
        let refused = format!("egress_address_not_allowed {here}");
        assert_eq!(told.recv().await, Some(refused));
        server.sender.stop().await;
    });
}

#[test]
fn a_server_that_is_started_again_has_a_proxy_again_and_its_standard_input() {
    let host = Host::new();
    run(async {
        let mut server = proxied(&host, &[]);
        let mut told = decide(server.events.take_attempts());
        let line = "import http.client; c = http.client.HTTPConnection('127.0.0.1', 3128); c.request('GET', 'http://a.example/'); say(c.getresponse().status)";
        for _ in 0..2 {
            host.check(&mut server, line, "403").await;
            let refused = "egress_not_listed a.example".to_owned();
            assert_eq!(told.recv().await, Some(refused));
            server.send("os._exit(3)").await;
            while !matches!(server.events.next().await, Event::Restarted) {}
        }
        server.sender.stop().await;
    });
}

#[test]
fn where_no_network_can_be_made_the_server_is_not_started_and_the_reason_is_told() {
    // In a user namespace in which no further one may be made.
    let confine = "echo 0 >/proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "sh", "-c", confine])
        .arg(gate_program())
        .args(["gate", "--network", "proxied", "--best-effort"])
        .args(["--read", "/usr", "--"])
        .args(python("print('started', flush=True)"));
    let mut gate = Gate::spawn(&mut command);
    assert_eq!(gate.line(), "", "nothing was started");
    assert_eq!(gate.wait().code(), Some(2));
    let told = gate.complaints();
    let why = "the network cannot be proxied: no user namespace with a network of its own";
    assert!(told.contains(why), "{told}");
    assert!(told.contains("`user.max_user_namespaces`"), "{told}");
}
