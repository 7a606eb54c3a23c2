//! Who can have the gate ask whom.

use std::net::{IpAddr, SocketAddr};
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
        Box::pin(async move { Ok(vec![SocketAddr::new(address, 0)]) })
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
    for trust in [
        UrlTrust::Found(PrivateAddresses::Refused),
        UrlTrust::Configured,
    ] {
        let lookup = Arc::new(RebindingAddresses {
            addresses: inside.clone(),
            asked: AtomicUsize::new(0),
        });
        let asker = HttpClient::looking_up(tls(), trust, Arc::clone(&lookup) as Arc<_>);
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
    let found = HttpClient::new(tls(), UrlTrust::Found(PrivateAddresses::Refused));
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
    for trust in [
        UrlTrust::Found(PrivateAddresses::Allowed),
        UrlTrust::Configured,
    ] {
        let asker = HttpClient::new(tls(), trust);
        let url = format!("http://127.0.0.1:{port}/");
        let answer = get(&asker, &url, 10).await.unwrap();
        assert_eq!(answer.body, br#"{"a":1}"#);
        let fault = get(&asker, &url, 6).await.unwrap_err();
        assert_eq!(fault, HttpError::TooLong(6));
    }
}

#[tokio::test]
async fn of_the_addresses_of_a_name_only_those_are_used_that_may_be_meant() {
    async fn check(trust: UrlTrust, addresses: &[&str], used: &[&str]) {
        let read = |text: &&str| text.parse::<IpAddr>().unwrap();
        let lookup = AddressesOf(addresses.iter().map(read).collect());
        let resolver = Resolver::trusting(trust, Arc::new(lookup));
        let found = resolver.resolve("some.example".to_owned()).await;
        let found = found.unwrap_or_default().into_iter();
        let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        assert_eq!(found, used.iter().map(read).collect::<Vec<_>>());
    }
    let addresses = ["127.0.0.1", "10.0.0.7", "93.184.215.14", "169.254.169.254"];
    check(
        UrlTrust::Configured,
        &addresses,
        &["10.0.0.7", "93.184.215.14"],
    )
    .await;
    let found = UrlTrust::Found(PrivateAddresses::Refused);
    check(found, &addresses, &["93.184.215.14"]).await;
    check(found, &["127.0.0.1", "10.0.0.7"], &[]).await;
}

#[derive(Debug)]
struct AddressesOf(Vec<IpAddr>);

impl AddressSource for AddressesOf {
    fn look_up(&self, _: String) -> AddressLookup {
        let found = self.0.iter().map(|address| SocketAddr::new(*address, 0));
        let found = found.collect();
        Box::pin(async move { Ok(found) })
    }
}

/// A server whose first answers are redirects to a place that may name the server (`{server}`).
async fn redirecting(times: usize, place: &str) -> (HttpClient, String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let url = format!("http://{server}/");
    let place = place.replace("{server}", &server);
    let requests = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        loop {
            let (mut io, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _ = io.read(&mut head).await;
            let answer = if count.fetch_add(1, Ordering::Relaxed) < times {
                let head = "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0";
                format!("{head}\r\nLocation: {place}\r\nConnection: close\r\n\r\n")
            } else {
                json("{}")
            };
            let _ = io.write_all(answer.as_bytes()).await;
        }
    });
    let asker = HttpClient::new(tls(), UrlTrust::Configured);
    (asker, url, requests)
}

#[tokio::test]
async fn three_redirects_within_the_origin_are_followed() {
    for (times, status) in [(0, 200), (1, 200), (3, 200), (4, 307)] {
        let (asker, url, requests) = redirecting(times, "next").await;
        let answer = get(&asker, &url, 10).await.unwrap();
        assert_eq!(answer.status, status, "{times}");
        assert_eq!(requests.load(Ordering::Relaxed), times.min(3) + 1);
    }
}

#[tokio::test]
async fn a_redirect_that_names_a_user_is_not_followed() {
    for (place, status) in [
        ("http://{server}/next#part", 200),
        ("//anna@{server}/", 307),
        ("//:word@{server}/", 307),
    ] {
        let (asker, url, _) = redirecting(1, place).await;
        assert_eq!(
            get(&asker, &url, 10).await.unwrap().status,
            status,
            "{place}"
        );
    }
}

#[tokio::test]
async fn a_form_goes_to_one_url() {
    let (asker, url, requests) = redirecting(1, "next").await;
    let form = "client_secret=s".to_owned();
    let answer = asker.post(&url.parse().unwrap(), form, None, 10).await;
    assert_eq!(answer.unwrap().status, 307);
    assert_eq!(requests.load(Ordering::Relaxed), 1);
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
        let asker = HttpClient::new(tls(), UrlTrust::Configured);
        let answer = get(&asker, &format!("http://127.0.0.1:{port}/"), 10).await;
        assert_eq!(answer.unwrap().status, 302);
    }
    assert_eq!(connected.load(Ordering::Relaxed), 0);
}
