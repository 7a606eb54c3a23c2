//! To servers of the tests' own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;

use jiff::Timestamp;
use rcgen::{CertificateParams, KeyPair};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use secrecy::SecretString;

use super::super::backpressure::Backpressure;
use super::super::tests::followers::accounted;
use super::super::tests::log::{FOREVER, call, quick, settings};
use super::super::tests::outage::until;
use super::super::*;
use super::{Facility, Syslog, SyslogAddress};
use crate::clock::FixedClock;

const SECRET: &str = "secret-of-the-gate";

fn no_tls() -> Result<ClientConfig, String> {
    Err("no TLS is needed".to_owned())
}

fn syslog(address: &str) -> Syslog {
    let address = SyslogAddress::parse(address).unwrap();
    Syslog::new(address, Facility::Local0, no_tls).unwrap()
}

/// A log in memory that a syslog server follows.
fn log(follower: Syslog, pace: Backpressure) -> (Audit, MemorySink) {
    let memory = MemorySink::default();
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(memory.clone())];
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let settings = settings(Durability::Async, OnFault::Deny);
    let redactor = Redactor::new([&SecretString::from(SECRET.to_owned())]).unwrap();
    let followers: Vec<Box<dyn Follower>> = vec![Box::new(follower)];
    let audit = Audit::start(&settings, sinks, followers, clock, redactor, pace).unwrap();
    (audit, memory)
}

/// The line that a message has behind its header.
fn line(message: &str) -> String {
    assert!(
        message.starts_with("<134>1 1970-01-01T00:00:00.000000Z "),
        "{message}"
    );
    let (header, line) = message.split_once("] ").unwrap();
    let seq = header.rsplit_once("sequenceId=").unwrap().1;
    assert!(
        line.contains(&format!("\"seq\":{},", seq.trim_matches('"'))),
        "{message}"
    );
    line.to_owned()
}

/// Reads one message behind its length; nothing at the end of the stream.
fn message(from: &mut dyn Read) -> Option<String> {
    let mut length = String::new();
    loop {
        let mut byte = [0];
        match from.read(&mut byte) {
            Ok(1) if byte[0] == b' ' => break,
            Ok(1) => length.push(byte[0].into()),
            Ok(_) | Err(_) => return None,
        }
    }
    let mut message = vec![0; length.parse().unwrap()];
    from.read_exact(&mut message).ok()?;
    Some(String::from_utf8(message).unwrap())
}

fn lines_of(mut from: impl Read) -> Vec<String> {
    std::iter::from_fn(|| message(&mut from))
        .map(|message| line(&message))
        .collect()
}

async fn three_calls(audit: &Audit) {
    for target in ["one", SECRET, "line\nend\u{202e}"] {
        audit.record(call(target)).await.unwrap();
    }
}

#[cfg(unix)]
type Receive = Box<dyn Fn(&mut [u8]) -> usize>;

#[cfg(unix)]
#[tokio::test]
async fn each_line_is_one_datagram_without_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let local = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    let near = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = near.local_addr().unwrap().port();
    let receive_local = move |bytes: &mut [u8]| local.recv(bytes).unwrap();
    let receive_near = move |bytes: &mut [u8]| near.recv(bytes).unwrap();
    let servers: [(String, Receive); 2] = [
        (format!("unix:{}", path.display()), Box::new(receive_local)),
        (format!("udp://127.0.0.1:{port}"), Box::new(receive_near)),
    ];
    for (address, receive) in servers {
        let (audit, memory) = log(syslog(&address), quick());
        three_calls(&audit).await;
        audit.close(FOREVER).await.unwrap();
        let mut bytes = vec![0; 65_536];
        let mut received = || {
            let length = receive(&mut bytes);
            line(str::from_utf8(&bytes[..length]).unwrap())
        };
        let received = [received(), received(), received()];
        assert_eq!(received.to_vec(), memory.lines());
        assert!(!received.concat().contains(SECRET), "{received:?}");
        assert!(received[1].contains(MARKER));
    }
}

#[tokio::test]
async fn a_line_too_long_for_a_datagram_is_one_gap_in_its_place() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let (audit, memory) = log(syslog(&format!("udp://127.0.0.1:{port}")), quick());
    audit.record(call("one")).await.unwrap();
    // Six bytes each in JSON.
    let long = vec!["\u{1}".repeat(1000); 60];
    audit.record(call("long").policies(long)).await.unwrap();
    audit.record(call("three")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    let mut bytes = vec![0; 65_536];
    let mut received = || {
        let length = server.recv(&mut bytes).unwrap();
        line(str::from_utf8(&bytes[..length]).unwrap())
    };
    let lines = memory.lines();
    assert_eq!(received(), lines[0]);
    let gap: serde_json::Value = received().parse().unwrap();
    assert_eq!(gap["seq"], 2);
    assert_eq!(gap["lost"], 1);
    assert_eq!(gap["reason"]["code"], "stream_behind");
    assert_eq!(received(), lines[2]);
}

#[tokio::test]
async fn a_connection_has_each_message_behind_its_length() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || lines_of(listener.accept().unwrap().0));
    let (audit, memory) = log(syslog(&format!("tcp://127.0.0.1:{port}")), quick());
    three_calls(&audit).await;
    // Longer than any datagram.
    let long = vec!["\u{1}".repeat(1000); 60];
    audit.record(call("long").policies(long)).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    drop(audit);
    let received = server.join().unwrap();
    assert_eq!(received, memory.lines());
    assert!(!received.concat().contains(SECRET));
}

#[tokio::test]
async fn a_server_that_comes_late_or_again_has_whole_messages_only() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (audit, memory) = log(syslog(&format!("tcp://{address}")), quick());
    audit.record(call("one")).await.unwrap();
    until(|| memory.lines().len() == 1).await;
    let listener = TcpListener::bind(address).unwrap();
    let first = std::thread::spawn(move || {
        let mut stream: TcpStream = listener.accept().unwrap().0;
        let read = line(&message(&mut stream).unwrap());
        // Its end is there when the next record is.
        drop(stream);
        (read, listener)
    });
    audit.flush(FOREVER).await.unwrap();
    let (one, listener) = first.join().unwrap();
    let second = std::thread::spawn(move || lines_of(listener.accept().unwrap().0));
    audit.record(call("two")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    drop(audit);
    let two = second.join().unwrap();
    assert_eq!([vec![one], two].concat(), memory.lines());
}

#[tokio::test]
async fn a_server_that_does_not_read_delays_no_call_and_gets_a_gap() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pace = Backpressure {
        queue_bytes: 256 * 1024,
        ..quick()
    };
    let (audit, memory) = log(syslog(&format!("tcp://{address}")), pace);
    audit.record(call("first")).await.unwrap();
    let stuck = listener.accept().unwrap().0;
    // More than all buffers between hold.
    let long = vec!["\u{1}".repeat(1000); 10];
    for _ in 0..300 {
        audit
            .record(call("x").policies(long.clone()))
            .await
            .unwrap();
    }
    until(|| memory.lines().len() == 301).await;
    let reader = std::thread::spawn(move || lines_of(stuck));
    audit.flush(FOREVER).await.unwrap();
    audit.record(call("last")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    drop(audit);
    let received = reader.join().unwrap();
    let (there, gaps) = accounted(&(received.join("\n") + "\n"));
    assert!(!gaps.is_empty());
    assert_eq!(there + gaps.iter().sum::<u64>(), 302);
    let lines = memory.lines();
    let is_gap = |line: &String| line.contains("stream_behind");
    assert!(
        received
            .iter()
            .all(|line| is_gap(line) || lines.contains(line))
    );
    assert_eq!(received.last(), lines.last());
}

/// A server with TLS, and what trusts it.
fn tls_server() -> (TcpListener, Arc<ServerConfig>, ClientConfig) {
    let key = KeyPair::generate().unwrap();
    let names = ["localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private.into())
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (listener, Arc::new(server), client)
}

#[tokio::test]
async fn with_tls_a_server_that_is_trusted_has_every_line() {
    let (listener, config, client) = tls_server();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let session = ServerConnection::new(config).unwrap();
        let mut stream = StreamOwned::new(session, listener.accept().unwrap().0);
        let mut received = Vec::new();
        // Ends without an error only where the end was told.
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        received.extend(lines_of(text.as_slice()));
        received
    });
    let address = SyslogAddress::parse(&format!("tls://localhost:{port}")).unwrap();
    let tls = || Ok::<_, String>(client);
    let (audit, memory) = log(
        Syslog::new(address, Facility::Local0, tls).unwrap(),
        quick(),
    );
    for _ in 0..100 {
        three_calls(&audit).await;
    }
    audit.close(FOREVER).await.unwrap();
    drop(audit);
    assert_eq!(server.join().unwrap(), memory.lines());
}

#[tokio::test]
async fn with_tls_a_server_of_another_name_has_nothing() {
    let (listener, config, client) = tls_server();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let session = ServerConnection::new(config).unwrap();
        let mut stream = StreamOwned::new(session, listener.accept().unwrap().0);
        let mut text = Vec::new();
        let refused = stream.read_to_end(&mut text).is_err();
        let _ = stream.flush();
        (refused, text)
    });
    let address = SyslogAddress::parse(&format!("tls://127.0.0.1:{port}")).unwrap();
    let tls = || Ok::<_, String>(client);
    let (audit, memory) = log(
        Syslog::new(address, Facility::Local0, tls).unwrap(),
        quick(),
    );
    three_calls(&audit).await;
    assert_eq!(server.join().unwrap(), (true, Vec::new()));
    drop(audit);
    until(|| memory.lines().len() == 3).await;
}
