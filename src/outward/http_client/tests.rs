//! Who can have the gate ask whom.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::lookup::AddressLookup;
use super::super::url_trust::PrivateAddresses;
use super::*;

/// Another address each time, the last one for ever.
#[derive(Debug)]
struct RebindingAddresses {
    addresses: Vec<IpAddr>,
    asked: AtomicUsize,
}

impl AddressSource for RebindingAddresses {
    fn look_up(&self, _: String) -> AddressLookup {
        let time = self.asked.fetch_add(1, Ordering::Relaxed);
        let last = self.addresses.len() - 1;
        let address = self.addresses[time.min(last)];
        Box::pin(async move { Ok(vec![address]) })
    }
}

fn tls() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

/// A server that counts who connects, and answers with the same text each.
async fn server(answer: String) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connected = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&connected);
    tokio::spawn(async move {
        loop {
            let (mut io, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            let mut head = [0; 4096];
            let _ = io.read(&mut head).await;
            let _ = io.write_all(answer.as_bytes()).await;
        }
    });
    (port, connected)
}

fn json(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

async fn get(asker: &HttpClient, url: &str, most: usize) -> Result<HttpResponse, HttpError> {
    asker.get(&url.parse().unwrap(), "*/*", most).await
}

#[tokio::test]
async fn a_name_that_changes_its_meaning_leads_nobody_inside() {
    let (port, connected) = server(json("{}")).await;
    let inside: Vec<IpAddr> = ["127.0.0.1", "::ffff:127.0.0.1", "::1"]
        .map(|text| text.parse().unwrap())
        .into();
    for whence in [
        UrlTrust::Found(PrivateAddresses::Refused),
        UrlTrust::Configured,
    ] {
        let lookup = Arc::new(RebindingAddresses {
            addresses: inside.clone(),
            asked: AtomicUsize::new(0),
        });
        let asker = HttpClient::looking_up(tls(), whence, Arc::clone(&lookup) as Arc<_>).unwrap();
        for _ in 0..inside.len() {
            let url = format!("https://rebound.example:{port}/");
            let fault = get(&asker, &url, 10).await.unwrap_err();
            assert!(fault.to_string().contains("the name leads to"), "{fault}");
        }
        // Each connection has its own look-up, and uses what came of that one.
        assert_eq!(lookup.asked.load(Ordering::Relaxed), inside.len());
    }
    assert_eq!(connected.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_address_of_this_machine_is_asked_only_where_that_is_allowed() {
    let (port, connected) = server(json(r#"{"a":1}"#)).await;
    let found = HttpClient::new(tls(), UrlTrust::Found(PrivateAddresses::Refused)).unwrap();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        format!("http://2130706433:{port}/"),
    ] {
        let fault = get(&found, &url, 10).await.unwrap_err();
        assert_eq!(fault, HttpError::Refused(UrlRejection::Address), "{url}");
    }
    assert_eq!(connected.load(Ordering::Relaxed), 0);
    for whence in [
        UrlTrust::Found(PrivateAddresses::Allowed),
        UrlTrust::Configured,
    ] {
        let asker = HttpClient::new(tls(), whence).unwrap();
        let url = format!("http://127.0.0.1:{port}/");
        let answer = get(&asker, &url, 10).await.unwrap();
        assert_eq!(answer.body, br#"{"a":1}"#);
        let fault = get(&asker, &url, 6).await.unwrap_err();
        assert_eq!(fault, HttpError::TooLong(6));
    }
}

#[tokio::test]
async fn a_redirect_to_elsewhere_is_an_answer_and_not_followed() {
    let (inside, connected) = server(json("{}")).await;
    for place in [
        format!("http://127.0.0.1:{inside}/"),
        format!("http://localhost:{inside}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let answer = format!(
            "HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let (port, _) = server(answer).await;
        let asker = HttpClient::new(tls(), UrlTrust::Configured).unwrap();
        let answer = get(&asker, &format!("http://127.0.0.1:{port}/"), 10).await;
        assert_eq!(answer.unwrap().status, 302);
    }
    assert_eq!(connected.load(Ordering::Relaxed), 0);
}
