//! A listener that speaks TLS.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::agent::http::Settings;
use crate::inward::{Tls, TlsFiles};

use super::rig::{Rig, patient};

const NOW: i64 = 1_900_000_000;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        // Of another name than all others.
        let name = format!("{:?}", key.public_key_raw());
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// A certificate and its key, both in PEM.
    fn issue(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn of_server(&self) -> (String, String) {
        self.issue("localhost", ExtendedKeyUsagePurpose::ServerAuth)
    }
}

/// The files of a listener.
struct Files {
    directory: TempDir,
    files: TlsFiles,
}

impl Files {
    fn new((certificate, key): &(String, String), client_ca: Option<&Authority>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| -> PathBuf {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = TlsFiles {
            certificate: write("cert.pem", certificate),
            key: write("key.pem", key),
            client_ca: client_ca.map(|it| write("ca.pem", &it.0.pem())),
        };
        Self { directory, files }
    }

    fn tls(&self) -> Tls {
        Tls::new(&self.files.read().unwrap().certificates(NOW).unwrap())
    }
}

fn settings(tls: &Tls) -> Settings {
    Settings {
        tls: Some(tls.clone()),
        handshake_deadline: Duration::from_mins(10),
        ..patient()
    }
}

type Shown<'a> = Option<&'a (String, String)>;

/// A client of this authority's server, with a certificate or without.
fn client(
    authority: &Authority,
    shown: Shown<'_>,
    versions: &[&'static SupportedProtocolVersion],
) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(authority.0.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder
                .with_client_auth_cert(vec![certificate], key)
                .unwrap()
        }
    };
    TlsConnector::from(Arc::new(config))
}

const BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];

async fn connect(
    address: SocketAddr,
    connector: &TlsConnector,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    connector.connect(name, stream).await
}

/// The status of `GET /health`, over and over on one connection.
async fn ask(stream: &mut TlsStream<TcpStream>) -> std::io::Result<String> {
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request).await?;
    stream.flush().await?;
    let mut came = Vec::new();
    while !came.windows(4).any(|it| it == b"\r\n\r\n") {
        let mut part = [0; 1024];
        match stream.read(&mut part).await? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => came.extend_from_slice(&part[..count]),
        }
    }
    let text = String::from_utf8(came).unwrap();
    Ok(text.split(' ').nth(1).unwrap().to_owned())
}

async fn healthy(address: SocketAddr, connector: &TlsConnector) {
    let mut stream = connect(address, connector).await.unwrap();
    assert_eq!(ask(&mut stream).await.unwrap(), "200");
}

/// The codes and words of what was refused, once there is something.
async fn refused(rig: &Rig) -> (Vec<&'static str>, Vec<String>) {
    while rig.refused().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (rig.refused(), rig.why())
}

#[tokio::test]
async fn agents_come_by_tls_1_2_and_1_3() {
    let authority = Authority::new();
    let tls = Files::new(&authority.of_server(), None).tls();
    let rig = Rig::with(settings(&tls)).await;
    for version in BOTH {
        let connector = client(&authority, None, &[version]);
        let mut stream = connect(rig.address, &connector).await.unwrap();
        for _ in 0..2 {
            assert_eq!(ask(&mut stream).await.unwrap(), "200");
        }
    }
    assert_eq!(rig.refused(), [""; 0]);
}

#[tokio::test]
async fn what_is_no_handshake_is_refused_recorded_and_keeps_no_one_out() {
    /// A hello of TLS 1.1, with one cipher of its time.
    fn hello_of_tls_1_1() -> Vec<u8> {
        let mut hello = vec![3, 2];
        hello.extend([7; 32]);
        hello.extend([0, 0, 2, 0x00, 0x2f, 1, 0]);
        let length = u8::try_from(hello.len()).unwrap();
        let mut record = vec![22, 3, 1, 0, length + 4, 1, 0, 0, length];
        record.extend(hello);
        record
    }
    let authority = Authority::new();
    let tls = Files::new(&authority.of_server(), None).tls();
    let old = hello_of_tls_1_1();
    let plain = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec();
    let cases: [(Vec<u8>, &str, Option<&str>); 5] = [
        (
            plain,
            "what came is not TLS: use `https`",
            Some("HTTP/1.1 400 "),
        ),
        (
            b"\0".to_vec(),
            "what came is not TLS: use `https`",
            Some("HTTP/1.1 400 "),
        ),
        (old.clone(), "TLS 1.2 or newer is needed", None),
        (vec![22; 64], "what came is not TLS", None),
        (
            old[..9].to_vec(),
            "the client ended the TLS handshake",
            None,
        ),
    ];
    for (bytes, why, answer) in cases {
        let rig = Rig::with(settings(&tls)).await;
        let mut stream = TcpStream::connect(rig.address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut told = Vec::new();
        // It may be reset.
        let _ = stream.read_to_end(&mut told).await;
        let (codes, words) = refused(&rig).await;
        assert_eq!(codes, ["tls_failed"], "{words:?}");
        assert!(words[0].contains(why), "{words:?}");
        if let Some(answer) = answer {
            let told = String::from_utf8_lossy(&told);
            assert!(told.starts_with(answer) && told.ends_with(why), "{told}");
        }
        healthy(rig.address, &client(&authority, None, &BOTH)).await;
    }
    // A client that knows another authority.
    let rig = Rig::with(settings(&tls)).await;
    let other = client(&Authority::new(), None, &BOTH);
    assert!(connect(rig.address, &other).await.is_err());
    let (codes, words) = refused(&rig).await;
    assert_eq!(codes, ["tls_failed"], "{words:?}");
    assert!(words[0].contains("the client refuses it"), "{words:?}");
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_no_record() {
    let authority = Authority::new();
    let tls = Files::new(&authority.of_server(), None).tls();
    let rig = Rig::with(settings(&tls)).await;
    drop(TcpStream::connect(rig.address).await.unwrap());
    healthy(rig.address, &client(&authority, None, &BOTH)).await;
    assert_eq!(rig.refused(), [""; 0]);
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_ends() {
    let authority = Authority::new();
    let tls = Files::new(&authority.of_server(), None).tls();
    let settings = Settings {
        handshake_deadline: Duration::from_millis(50),
        ..settings(&tls)
    };
    let rig = Rig::with(settings).await;
    let mut slow = TcpStream::connect(rig.address).await.unwrap();
    slow.write_all(&[22, 3, 1]).await.unwrap();
    let mut told = Vec::new();
    // It may be reset.
    let _ = slow.read_to_end(&mut told).await;
    assert_eq!(told, b"");
    assert_eq!(refused(&rig).await.1, ["the TLS handshake took too long"]);
}

#[tokio::test]
async fn the_oldest_handshake_makes_room_when_there_are_too_many() {
    let authority = Authority::new();
    let tls = Files::new(&authority.of_server(), None).tls();
    let settings = Settings {
        max_handshakes: 2,
        ..settings(&tls)
    };
    let rig = Rig::with(settings).await;
    let mut stalled = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(rig.address).await.unwrap();
        stream.write_all(&[22, 3, 1]).await.unwrap();
        stalled.push(stream);
    }
    healthy(rig.address, &client(&authority, None, &BOTH)).await;
    let mut closed = 0;
    for mut stream in stalled.drain(..6) {
        let mut told = Vec::new();
        // It may be reset.
        let _ = stream.read_to_end(&mut told).await;
        closed += 1;
    }
    assert_eq!(closed, 6);
}

#[tokio::test]
async fn clients_show_a_certificate_of_the_authority_where_one_is_named() {
    use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    let (authority, clients) = (Authority::new(), Authority::new());
    let tls = Files::new(&authority.of_server(), Some(&clients)).tls();
    let own = clients.issue("agent", ClientAuth);
    let strange = Authority::new().issue("agent", ClientAuth);
    let not_for_clients = clients.issue("agent", ServerAuth);
    for version in BOTH {
        let rig = Rig::with(settings(&tls)).await;
        let connector = client(&authority, Some(&own), &[version]);
        // The second one could be resumed.
        for _ in 0..2 {
            healthy(rig.address, &connector).await;
        }
        assert_eq!(rig.refused(), [""; 0]);
        for (shown, why) in [
            (None, "it shows none"),
            (
                Some(&strange),
                "no authority of `listen.tls.client_ca_file`",
            ),
            (Some(&not_for_clients), "it is not for clients"),
        ] {
            let rig = Rig::with(settings(&tls)).await;
            let connector = client(&authority, shown, &[version]);
            // In TLS 1.3 the client learns it with its first answer.
            let asked = match connect(rig.address, &connector).await {
                Ok(mut stream) => ask(&mut stream).await,
                Err(error) => Err(error),
            };
            assert!(asked.is_err(), "{why}: {asked:?}");
            let (codes, words) = refused(&rig).await;
            assert_eq!(codes, ["client_certificate"], "{words:?}");
            assert!(words[0].contains(why), "{words:?}");
        }
    }
}

#[tokio::test]
async fn a_new_certificate_is_for_new_connections_and_the_old_ones_live_on() {
    let (old, new) = (Authority::new(), Authority::new());
    let files = Files::new(&old.of_server(), None);
    let tls = files.tls();
    let rig = Rig::with(settings(&tls)).await;
    let mut before = connect(rig.address, &client(&old, None, &BOTH))
        .await
        .unwrap();
    assert_eq!(ask(&mut before).await.unwrap(), "200");

    let (certificate, key) = new.of_server();
    std::fs::write(files.directory.path().join("cert.pem"), certificate).unwrap();
    std::fs::write(files.directory.path().join("key.pem"), key).unwrap();
    let renewed = files.files.read().unwrap().certificates(NOW).unwrap();
    tls.replace(&renewed);

    healthy(rig.address, &client(&new, None, &BOTH)).await;
    assert!(
        connect(rig.address, &client(&old, None, &BOTH))
            .await
            .is_err()
    );
    assert_eq!(ask(&mut before).await.unwrap(), "200");
}
