//! The certificate that agents see, replaced while a gate runs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::service::policies::{hang_up, reload, says};
use crate::support::fixtures::fixture;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

/// A certificate for `localhost` of its own.
struct Pair {
    certificate: CertificateDer<'static>,
    text: String,
    key: String,
}

impl Pair {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate: certificate.der().clone(),
            text: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    fn write(&self, directory: &Path) {
        // Each by renaming, as tools do it.
        for (name, text) in [("cert.pem", &self.text), ("key.pem", &self.key)] {
            let fresh = directory.join("fresh");
            fs::write(&fresh, text).unwrap();
            fs::rename(fresh, directory.join(name)).unwrap();
        }
    }
}

/// The answer to `GET /health` from a gate that is believed by this certificate alone.
fn ask(gate: &Serving, trusted: &Pair) -> std::io::Result<String> {
    let address = gate.url.strip_prefix("https://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(trusted.certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(address)?);
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn answers(gate: &Serving, trusted: &Pair) {
    eventually(|| match ask(gate, trusted) {
        Ok(answer) if answer.starts_with("HTTP/1.1 200") => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

#[test]
fn a_renewed_certificate_is_shown_without_a_restart_and_a_bad_one_never() {
    let (first, second) = (Pair::new(), Pair::new());
    let mut setup = Setup::of([fixture("everything-server")])
        .allow(&["read_file"])
        .over_http();
    let directory = setup.path("tls");
    fs::create_dir(&directory).unwrap();
    first.write(&directory);
    let (cert, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    setup.listen = format!(
        "{}\ntls = {{ cert_file = {cert:?}, key_file = {key:?} }}",
        setup.listen
    );
    let gate = Serving::start(setup);
    answers(&gate, &first);

    fs::write(&key, &second.key).unwrap();
    let refused = reload(&gate, 1);
    assert_eq!(refused["event"], "rejected", "{refused}");
    assert_eq!(refused["reason"]["code"], "config::file", "{refused}");
    let text = refused["reason"]["text"].as_str().unwrap();
    assert!(text.starts_with("`listen.tls.key_file`: `"), "{text}");
    assert!(text.contains("is not the key of the certificate"), "{text}");
    says(&gate, &["the one before stays in force", "key_file"]);
    answers(&gate, &first);

    second.write(&directory);
    answers(&gate, &second);
    assert!(ask(&gate, &first).is_err());
    says(&gate, &["is in force for agents that connect from now on"]);
    hang_up(&gate);
    answers(&gate, &second);
}
