//! Configured headers: on every request to the server, and nowhere else.

use secrecy::SecretString;

use crate::outward::PrivateAddresses;
use crate::upstream::http::{
    Auth, ClientCredentials, ClientSecret, HttpClient, HttpClientError, HttpSettings, TokenServer,
};
use crate::wire::KnownMethod;

use super::kit::{Asked, INITIALIZED, Server, Talk};

const KEY: &str = "s3cr3t-4p1-k3y";

/// The settings with configured headers: some, and one that the gate sends too.
fn with_headers(server: &Server) -> HttpSettings {
    let mut settings = server.settings();
    for (name, value) in [
        ("x-api-key", KEY),
        ("x-tenant", "7"),
        ("accept", "text/plain"),
    ] {
        let value = SecretString::from(value);
        settings.headers.insert(name.to_owned(), value);
    }
    settings
}

fn has_headers(asked: &Asked, method: &str) {
    assert_eq!(asked.method, method);
    assert_eq!(asked.header("x-api-key"), Some(KEY), "{method}");
    assert_eq!(asked.header("x-tenant"), Some("7"), "{method}");
    if method != "DELETE" {
        // `header` fails if there were two.
        assert_ne!(asked.header("accept"), Some("text/plain"), "{method}");
    }
}

#[tokio::test]
async fn configured_headers_are_in_every_request_to_the_server_and_the_gates_own_win() {
    let mut server = Server::start().await;
    let mut talk = Talk::with(&with_headers(&server));
    talk.ask(1, KnownMethod::Initialize).await;
    let asked = server.next().await;
    has_headers(&asked, "POST");
    asked.json_with("Mcp-Session-Id: s1\r\n", INITIALIZED).await;
    talk.next().await;
    talk.notify(KnownMethod::Initialized).await;
    let asked = server.next().await;
    has_headers(&asked, "POST");
    asked.status("202 Accepted").await;
    let asked = server.next().await;
    has_headers(&asked, "GET");
    asked.status("405 Method Not Allowed").await;
    let ended = async {
        let asked = server.next().await;
        has_headers(&asked, "DELETE");
        asked.status("200 OK").await;
    };
    tokio::join!(talk.sender.stop(), ended);
}

#[tokio::test]
async fn configured_headers_follow_a_redirect_within_the_origin_and_to_no_other() {
    let mut server = Server::start().await;
    let mut other = Server::start().await;
    let talk = Talk::with(&with_headers(&server));
    let redirect = async |server: &mut Server, place: &str| {
        talk.ask(1, KnownMethod::ToolsCall).await;
        let asked = server.next().await;
        has_headers(&asked, "POST");
        let place = format!("Location: {place}\r\n");
        asked.answer("307 Temporary Redirect", &place, "").await;
    };
    redirect(&mut server, "/elsewhere").await;
    let asked = server.next().await;
    assert_eq!(asked.path, "/elsewhere");
    has_headers(&asked, "POST");
    asked.status("404 Not Found").await;
    let elsewhere = other.url.to_string();
    redirect(&mut server, &elsewhere).await;
    assert!(other.stays_idle().await);
}

#[tokio::test]
async fn configured_headers_do_not_go_to_the_authorization_server() {
    let mut server = Server::start().await;
    let mut tokens = Server::start().await;
    let mut settings = with_headers(&server);
    settings.auth = Some(Auth::Client(Box::new(ClientCredentials {
        client_id: "gate".to_owned(),
        secret: ClientSecret::Value("s3cr3t-of-the-gate".into()),
        server: TokenServer::At(tokens.url.clone()),
        client_auth: None,
        scopes: Vec::new(),
        resource: None,
        audience: None,
        private: PrivateAddresses::Refused,
    })));
    let talk = Talk::with(&settings);
    talk.ask(1, KnownMethod::ToolsCall).await;
    let asked = tokens.next().await;
    for name in ["x-api-key", "x-tenant"] {
        assert_eq!(asked.header(name), None, "{name}");
    }
    asked
        .json(r#"{"access_token":"t0k3n-of-the-gate","token_type":"Bearer","expires_in":600}"#)
        .await;
    has_headers(&server.next().await, "POST");
}

#[tokio::test]
async fn a_value_that_no_header_holds_makes_no_client_and_none_is_shown() {
    let server = Server::start().await;
    let mut settings = with_headers(&server);
    assert!(!format!("{settings:?}").contains(KEY));
    settings
        .headers
        .insert("x-a".to_owned(), "a\r\nb: c".into());
    let made = HttpClient::new(&settings).err();
    assert_eq!(made, Some(HttpClientError::Header));
}
