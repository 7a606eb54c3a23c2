//! Keys by URL, from a server that misbehaves.

use rcgen::{CertificateParams, KeyPair as RcgenKeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::*;

/// A server that answers every request with the same bytes, until it is told others.
struct Issuer {
    url: Url,
    answer: Arc<Mutex<Vec<u8>>>,
    asked: Arc<AtomicUsize>,
}

fn believing(authority: Option<CertificateDer<'static>>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authority);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

fn ok(media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn keys(keys: &[Value]) -> Vec<u8> {
    ok("application/json", &json!({ "keys": keys }).to_string())
}

async fn speak(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    // Without an answer it stays silent.
    if answer.is_empty() {
        std::future::pending::<()>().await;
    }
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}

impl Issuer {
    async fn answering(answer: Vec<u8>) -> Self {
        Self::start(answer, None).await
    }

    async fn start(answer: Vec<u8>, tls: Option<TlsAcceptor>) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let issuer = Self {
            url: format!("{scheme}://localhost:{port}/keys").parse().unwrap(),
            answer: Arc::new(Mutex::new(answer)),
            asked: Arc::default(),
        };
        let (answer, asked) = (Arc::clone(&issuer.answer), Arc::clone(&issuer.asked));
        tokio::spawn(async move {
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                let answer = answer.lock().unwrap().clone();
                asked.fetch_add(1, Ordering::Relaxed);
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        None => speak(stream, answer).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                speak(stream, answer).await;
                            }
                        }
                    }
                });
            }
        });
        issuer
    }

    fn publish(&self, answer: Vec<u8>) {
        *self.answer.lock().unwrap() = answer;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn source(&self) -> KeyUrl {
        KeyUrl::new(self.url.clone(), believing(None))
    }

    fn jwt(&self, clock: &Arc<MovedMonotonicClock>) -> Jwt {
        let clock = Arc::clone(clock) as _;
        Jwt::new(settings(), Arc::new(self.source()), clock, None).unwrap()
    }
}

#[tokio::test]
async fn keys_by_url_are_taken_back_and_replaced_without_a_new_start() {
    let (old, new) = (Signer::p256(), Signer::ed25519());
    let issuer = Issuer::answering(keys(&[old.public("k")])).await;
    let clock = Arc::new(MovedMonotonicClock::default());
    let jwt = issuer.jwt(&clock);
    identify(&jwt, &old.token(&claims())).await.unwrap();
    // A new key is there as soon as a token names it.
    issuer.publish(keys(&[old.public("k"), new.public("n")]));
    clock.by(31);
    let header = json!({ "alg": "EdDSA", "kid": "n" });
    let renewed = new.sign(&header, &claims().to_string());
    identify(&jwt, &renewed).await.unwrap();
    assert_eq!(issuer.asked(), 2);
    // One that is taken back is refused ten minutes later at most.
    issuer.publish(keys(&[new.public("n")]));
    clock.by(600);
    identify(&jwt, &old.token(&claims())).await.unwrap_err();
    identify(&jwt, &renewed).await.unwrap();
    assert_eq!(issuer.asked(), 3);
}

#[tokio::test]
async fn keys_are_fetched_again_before_anybody_would_have_to_wait() {
    let signer = Signer::p256();
    let issuer = Issuer::answering(keys(&[signer.public("k")])).await;
    let clock = Arc::new(MovedMonotonicClock::default());
    let jwt = issuer.jwt(&clock);
    identify(&jwt, &signer.token(&claims())).await.unwrap();
    issuer.publish(Vec::new());
    clock.by(500);
    // The issuer does not answer, and no request waits for it.
    for _ in 0..5 {
        identify(&jwt, &signer.token(&claims())).await.unwrap();
    }
    while issuer.asked() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(issuer.asked(), 2, "one at a time");
}

#[tokio::test]
async fn while_the_issuer_is_away_the_last_keys_are_good_for_an_hour() {
    let signer = Signer::p256();
    let issuer = Issuer::answering(keys(&[signer.public("k")])).await;
    let clock = Arc::new(MovedMonotonicClock::default());
    let jwt = issuer.jwt(&clock);
    let token = signer.token(&claims());
    identify(&jwt, &token).await.unwrap();
    issuer.publish(b"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n".to_vec());
    for _ in 0..5 {
        clock.by(600);
        identify(&jwt, &token).await.unwrap();
    }
    clock.by(600);
    let challenge = identify(&jwt, &token).await.unwrap_err();
    assert_eq!(challenge.code(), "jwks_unavailable");
    issuer.publish(keys(&[signer.public("k")]));
    clock.by(30);
    identify(&jwt, &token).await.unwrap();
}

#[tokio::test]
async fn what_is_no_key_set_is_refused_whatever_it_looks_like() {
    let set = json!({ "keys": [Signer::p256().public("k")] }).to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let huge = format!("{head}Content-Length: 9000000\r\n\r\n{{");
    let endless = " ".repeat(0x20_0000);
    let endless = format!("{head}Transfer-Encoding: chunked\r\n\r\n200000\r\n{endless}\r\n");
    let elsewhere = Issuer::answering(ok("application/json", &set)).await;
    let away = format!(
        "HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
        elsewhere.url
    );
    let gone = "HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n";
    let too_long = "it is longer than 1048576 bytes";
    let follows_not = "it redirects to where the gate does not follow (302)";
    let cases = [
        (ok("text/html", &set), "its type is not JSON"),
        (huge.into_bytes(), too_long),
        (endless.into_bytes(), too_long),
        (away.into_bytes(), follows_not),
        (gone.as_bytes().to_vec(), "its status is 404"),
    ];
    for (answer, expected) in cases {
        let fault = Issuer::answering(answer).await.source().fetch().await;
        assert_eq!(fault, Err(KeyFault(expected.to_owned())));
    }
    assert_eq!(elsewhere.asked(), 0);
    let jwk_set = Issuer::answering(ok("application/jwk-set+json; charset=utf-8", &set)).await;
    assert_eq!(jwk_set.source().fetch().await, Ok(set.into_bytes()));
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec();
    let cut = Issuer::answering(cut).await;
    cut.source().fetch().await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_does_not_answer_is_not_waited_for() {
    let issuer = Issuer::answering(Vec::new()).await;
    let jwt = issuer.jwt(&Arc::new(MovedMonotonicClock::default()));
    let challenge = identify(&jwt, &Signer::p256().token(&claims())).await;
    assert_eq!(challenge.unwrap_err().code(), "jwks_unavailable");
}

#[tokio::test]
async fn keys_over_https_are_those_of_a_server_that_is_believed() {
    let key = RcgenKeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], private)
        .unwrap();
    let answer = keys(&[Signer::p256().public("k")]);
    let issuer = Issuer::start(answer, Some(TlsAcceptor::from(Arc::new(tls)))).await;
    issuer.source().fetch().await.unwrap_err();
    let source = KeyUrl::new(issuer.url.clone(), believing(Some(certificate)));
    source.fetch().await.unwrap();
    assert!(!format!("{source:?}").contains("/keys"), "{source:?}");
}
