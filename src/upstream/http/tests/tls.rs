//! Whom the client believes that it speaks to.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

use crate::gate::UpstreamFault;
use crate::upstream::http::{Auth, HttpEvent, HttpSettings, Loss};
use crate::wire::{KnownMethod, Stream};

use super::kit::{Io, Server, Talk, frame, result};

/// An authority, and the file that names it.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
    _directory: TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("authority.pem");
        std::fs::write(&file, issuer.pem()).unwrap();
        Self {
            issuer,
            file,
            _directory: directory,
        }
    }

    /// A server of this name.
    fn acceptor(&self, name: &str) -> TlsAcceptor {
        self.acceptor_of(name, &[])
    }

    /// One that speaks these protocols.
    fn acceptor_of(&self, name: &str, protocols: &[&[u8]]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        acceptor(certificate.der().clone(), &key, protocols)
    }
}

fn acceptor(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    protocols: &[&[u8]],
) -> TlsAcceptor {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

fn self_signed(name: &str) -> (TlsAcceptor, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    (
        acceptor(certificate.der().clone(), &key, &[]),
        certificate.pem(),
    )
}

/// The server is never asked, and why is told.
async fn refused(server: Server, ca_file: Option<PathBuf>, expected: &str) {
    let mut settings = server.settings();
    settings.ca_file = ca_file;
    refused_by(server, settings, expected).await;
}

async fn refused_by(mut server: Server, mut settings: HttpSettings, expected: &str) {
    settings.auth = Some(Auth::Token("token".into()));
    let mut talk = Talk::with(&settings);
    talk.ask(1, KnownMethod::Initialize).await;
    let HttpEvent::Died {
        reason: Loss::Unreachable(cause),
        ..
    } = talk.next().await
    else {
        panic!("it was reached");
    };
    assert!(cause.contains(expected), "{cause}");
    assert!(server.stays_idle().await);
}

async fn accepted(mut server: Server, ca_file: PathBuf) {
    let mut settings = server.settings();
    settings.ca_file = Some(ca_file);
    let mut talk = Talk::with(&settings);
    talk.ask(1, KnownMethod::ToolsList).await;
    server.next().await.json(&result(1)).await;
    talk.expect(frame(1, &result(1))).await;
}

#[tokio::test]
async fn an_authority_is_believed_when_it_is_named() {
    let ours = Authority::new();
    let theirs = Authority::new();
    let server = Server::start_with(Some(ours.acceptor("localhost"))).await;
    accepted(server, ours.file.clone()).await;
    let server = Server::start_with(Some(theirs.acceptor("localhost"))).await;
    refused(server, Some(ours.file.clone()), "certificate").await;
    // Those of the system know it as little.
    let server = Server::start_with(Some(ours.acceptor("localhost"))).await;
    refused(server, None, "UnknownIssuer").await;
}

#[tokio::test]
async fn a_certificate_that_vouches_for_itself_is_refused_unless_it_is_named() {
    let (acceptor, _) = self_signed("localhost");
    let server = Server::start_with(Some(acceptor)).await;
    refused(server, None, "UnknownIssuer").await;

    let (acceptor, pem) = self_signed("localhost");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.pem");
    std::fs::write(&file, pem).unwrap();
    let server = Server::start_with(Some(acceptor)).await;
    accepted(server, file).await;
}

/// What `openssl req -x509` makes: an authority's certificate that vouches for itself, of these names.
fn of_openssl(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// A server that shows this certificate.
async fn showing(params: &CertificateParams, key: &KeyPair) -> (Server, String) {
    let certificate = params.self_signed(key).unwrap();
    let acceptor = acceptor(certificate.der().clone(), key, &[]);
    (Server::start_with(Some(acceptor)).await, certificate.pem())
}

#[tokio::test]
async fn the_certificate_of_an_authority_is_a_servers_only_if_that_very_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.pem");
    let named = |pem: &str| {
        std::fs::write(&file, pem).unwrap();
        Some(file.clone())
    };
    let key = KeyPair::generate().unwrap();
    let usual = of_openssl(&["localhost"]);

    let (server, pem) = showing(&usual, &key).await;
    accepted(server, named(&pem).unwrap()).await;
    // Without a name it is the server's that it is named for.
    let (server, pem) = showing(&of_openssl(&[]), &key).await;
    accepted(server, named(&pem).unwrap()).await;

    let (server, _) = showing(&usual, &key).await;
    refused(server, None, "has that very certificate").await;
    // Another one, though of the same key and name.
    let mut other = of_openssl(&["localhost"]);
    other.serial_number = Some(7_u64.into());
    let (server, _) = showing(&usual, &key).await;
    let file = named(&other.self_signed(&key).unwrap().pem());
    refused(server, file, "`CA:TRUE`").await;
    // Whatever else is wrong with it.
    let (server, pem) = showing(&of_openssl(&["elsewhere.example"]), &key).await;
    refused(server, named(&pem), "not valid for name").await;
    let mut old = of_openssl(&["localhost"]);
    old.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let (server, pem) = showing(&old, &key).await;
    refused(server, named(&pem), "expired").await;
    // One that has no name, and that another server shows than the one it is named for.
    let (server, pem) = showing(&of_openssl(&[]), &key).await;
    let tls = crate::upstream::http::client_tls(&server.url, named(&pem).as_deref()).unwrap();
    let address = server.url.socket_addrs(|| None).unwrap();
    let stream = tokio::net::TcpStream::connect(&*address).await.unwrap();
    let host = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let connecting = tokio_rustls::TlsConnector::from(Arc::new(tls)).connect(host, stream);
    let told = connecting.await.unwrap_err().to_string();
    assert!(told.contains("not valid for name"), "{told}");
}

#[tokio::test]
async fn a_certificate_of_another_host_is_refused() {
    let authority = Authority::new();
    let server = Server::start_with(Some(authority.acceptor("elsewhere.example"))).await;
    refused(server, Some(authority.file.clone()), "not valid for name").await;
}

#[tokio::test]
async fn a_server_without_tls_is_not_spoken_to_over_https() {
    let mut server = Server::start().await;
    server.url.set_scheme("https").unwrap();
    let mut settings = server.settings();
    // This server waits for more of what it takes for a head.
    settings.connect_timeout = std::time::Duration::from_secs(1);
    refused_by(server, settings, "").await;
}

/// A conversation over HTTP/2, of which the server was asked with request 1.
async fn over_http_2() -> (Talk, h2::server::Connection<impl Io, bytes::Bytes>) {
    let authority = Authority::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut settings = Server::start().await.settings();
    settings.url = url::Url::parse(&format!("https://localhost:{port}/mcp")).unwrap();
    settings.ca_file = Some(authority.file.clone());
    let talk = Talk::with(&settings);
    talk.ask_stateless(1, KnownMethod::ToolsCall).await;
    let acceptor = authority.acceptor_of("localhost", &[b"h2"]);
    let (io, _) = listener.accept().await.unwrap();
    let io = acceptor.accept(io).await.unwrap();
    (talk, h2::server::handshake(io).await.unwrap())
}

/// Answers a request with its result.
fn answer(asked: &mut h2::server::SendResponse<bytes::Bytes>, id: u64) {
    let head = http::Response::builder().header("content-type", "application/json");
    let mut body = asked.send_response(head.body(()).unwrap(), false).unwrap();
    body.send_data(result(id).into(), true).unwrap();
}

#[tokio::test]
async fn what_an_http_2_server_has_not_looked_at_is_sent_again_twice_at_most() {
    async fn check(refused: usize, expected: HttpEvent) {
        let (mut talk, mut connection) = over_http_2().await;
        for _ in 0..refused {
            let (_, mut asked) = connection.accept().await.unwrap().unwrap();
            asked.send_reset(h2::Reason::REFUSED_STREAM);
        }
        let served = tokio::spawn(async move {
            while let Some(Ok((_, mut asked))) = connection.accept().await {
                answer(&mut asked, 1);
            }
        });
        talk.expect(expected).await;
        served.abort();
    }
    check(0, frame(1, &result(1))).await;
    check(2, frame(1, &result(1))).await;
    let failed = HttpEvent::Failed {
        stream: Stream::numbered(1),
        fault: UpstreamFault::Died,
    };
    check(3, failed).await;
}

#[tokio::test]
async fn over_http_2_requests_share_a_connection_and_giving_one_up_closes_its_stream_alone() {
    use crate::gate::{Abandoned, Upstream};
    let (mut talk, mut connection) = over_http_2().await;
    let (_, mut first) = connection.accept().await.unwrap().unwrap();
    talk.ask_stateless(2, KnownMethod::ToolsCall).await;
    let (asked, mut second) = connection.accept().await.unwrap().unwrap();
    assert_eq!(asked.headers()["mcp-method"], "tools/call");
    // The connection lives as long as it is asked.
    let _connection = tokio::spawn(async move { while connection.accept().await.is_some() {} });

    assert_eq!(talk.sender.abandon(1), Abandoned::Closed);
    let reset = std::future::poll_fn(|context| first.poll_reset(context))
        .await
        .unwrap();
    assert_eq!(reset, h2::Reason::CANCEL);
    answer(&mut second, 2);
    talk.expect(frame(2, &result(2))).await;
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_in_time_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let authority = Authority::new();
    let mut settings = Server::start().await.settings();
    settings.url = url::Url::parse(&format!("https://{address}/mcp")).unwrap();
    settings.ca_file = Some(authority.file.clone());
    settings.connect_timeout = std::time::Duration::from_millis(50);
    let mut talk = Talk::with(&settings);
    talk.ask(1, KnownMethod::Initialize).await;
    // It is connected, and waits for TLS in vain.
    let _silent = listener.accept().await.unwrap();
    let HttpEvent::Died {
        reason: Loss::Unreachable(cause),
        ..
    } = talk.next().await
    else {
        panic!("it was reached");
    };
    assert_eq!(cause, "operation timed out");
}

/// What a server says that has nothing newer than TLS 1.1 (RFC 4346, 7.4.1.3).
const TLS_1_1_SERVER_HELLO: &[u8] = &[
    22, 3, 2, 0, 42, // A handshake record of 42 bytes,
    2, 0, 0, 38, 3, 2, // in it a hello of 38, in version 3.2,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, // 32 bytes that are random elsewhere,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, //
    0, 0xC0, 0x2F, 0, // no session, a cipher suite that was offered, no compression.
];

#[tokio::test]
async fn nothing_older_than_tls_1_2_is_offered_or_accepted() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let authority = Authority::new();
    let mut settings = Server::start().await.settings();
    settings.url = url::Url::parse(&format!("https://{address}/mcp")).unwrap();
    settings.ca_file = Some(authority.file.clone());
    let mut talk = Talk::with(&settings);
    talk.ask(1, KnownMethod::Initialize).await;
    let (mut io, _) = listener.accept().await.unwrap();
    let mut hello = vec![0; 4096];
    let length = io.read(&mut hello).await.unwrap();
    // The extension of supported versions (RFC 8446, 4.2.1): 1.3 and 1.2.
    let offered = [0, 43, 0, 5, 4, 3, 4, 3, 3];
    assert!(
        hello[..length]
            .windows(offered.len())
            .any(|part| part == offered)
    );
    io.write_all(TLS_1_1_SERVER_HELLO).await.unwrap();
    let HttpEvent::Died {
        reason: Loss::Unreachable(cause),
        ..
    } = talk.next().await
    else {
        panic!("it was reached");
    };
    assert!(cause.contains("Tls12"), "{cause}");
}
