//! Access tokens, from their discovery to their end.

use std::sync::Arc;
use std::time::Duration;

use crate::outward::PrivateAddresses;
use crate::upstream::http::{
    Auth, ClientAuth, ClientCredentials, ClientSecret, HttpClient, HttpClientError, HttpSettings,
    TokenServer,
};
use crate::wire::KnownMethod;

use super::kit::{HandClock, Server, Talk, frame, result};
use super::tokens::Told;

struct Bench {
    server: Server,
    settings: HttpSettings,
    clock: Arc<HandClock>,
    told: Arc<Told>,
    /// Of the server, which is its own authorization server.
    origin: String,
}

const SECRET: &str = "s3cr3t-of-the-gate";

fn credentials(server: TokenServer) -> ClientCredentials {
    ClientCredentials {
        client_id: "gate".to_owned(),
        secret: ClientSecret::Value(SECRET.into()),
        server,
        client_auth: None,
        scopes: Vec::new(),
        resource: None,
        audience: None,
        private: PrivateAddresses::Refused,
    }
}

async fn bench() -> Bench {
    let server = Server::start().await;
    let origin = server.url.origin().ascii_serialization();
    let mut settings = server.settings();
    let (clock, told) = (Arc::<HandClock>::default(), Arc::<Told>::default());
    settings.auth = Some(Auth::Client(Box::new(credentials(TokenServer::Named))));
    settings.clock = Arc::clone(&clock) as Arc<_>;
    settings.conceal = Arc::clone(&told) as Arc<_>;
    Bench {
        server,
        settings,
        clock,
        told,
        origin,
    }
}

impl Bench {
    /// The next request is this one, and is answered so.
    async fn expect(&mut self, line: &str, answer: &str) {
        let asked = self.server.next().await;
        assert_eq!(format!("{} {}", asked.method, asked.path), line);
        let authorization = asked.header("authorization");
        let is_basic = authorization.is_some_and(|it| it.starts_with("Basic "));
        assert_eq!(is_basic, line == "POST /token", "{authorization:?}");
        assert!(is_basic || authorization.is_none(), "{authorization:?}");
        if answer.starts_with('{') {
            asked.json(answer).await;
        } else {
            asked.status(answer).await;
        }
    }

    /// The server names this issuer.
    async fn names(&mut self, issuer: &str) {
        self.expect("GET /mcp", "401 Unauthorized").await;
        let resource = self.server.url.to_string();
        self.expect(
            "GET /.well-known/oauth-protected-resource/mcp",
            &format!(r#"{{"resource":"{resource}","authorization_servers":["{issuer}"]}}"#),
        )
        .await;
    }

    /// The issuer is the server itself, and says where tokens come from.
    async fn says_where(&mut self) {
        let origin = &self.origin;
        let document = format!(r#"{{"issuer":"{origin}","token_endpoint":"{origin}/token"}}"#);
        self.expect("GET /.well-known/oauth-authorization-server", &document)
            .await;
    }

    async fn answers_with(&mut self, token: &str, talk: &mut Talk) {
        let asked = self.server.next().await;
        assert_eq!(asked.path, "/mcp");
        let bearer = format!("Bearer {token}");
        assert_eq!(asked.header("authorization"), Some(&*bearer));
        asked.json(&result(1)).await;
        talk.expect(frame(1, &result(1))).await;
    }

    fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

fn given(token: &str, lifetime: u64) -> String {
    format!(r#"{{"access_token":"{token}","token_type":"bearer","expires_in":{lifetime}}}"#)
}

async fn fails(talk: &mut Talk, why: &str) {
    let told = format!("{:?}", talk.next().await);
    assert!(told.contains("Unreachable") && told.contains(why), "{told}");
    assert!(!told.contains("s3cr3t"), "{told}");
}

#[tokio::test]
async fn whoever_names_another_issuer_later_is_shown_no_secret() {
    let mut bench = bench().await;
    let mut talk = Talk::with(&bench.settings);
    let (first, method) = (bench.origin.clone(), KnownMethod::ToolsList);
    talk.ask_stateless(1, method).await;
    bench.names(&first).await;
    bench.says_where().await;
    bench.expect("POST /token", "503 Service Unavailable").await;
    fails(&mut talk, "the status 503").await;
    // Nothing is asked again at once.
    talk.ask_stateless(1, method).await;
    fails(&mut talk, "the status 503").await;
    bench.wait(180);
    talk.ask_stateless(1, method).await;
    bench.names(&format!("{first}/other")).await;
    fails(&mut talk, "another authorization server").await;
    assert!(bench.server.stays_idle().await);
    bench.wait(180);
    talk.ask_stateless(1, method).await;
    bench.names(&first).await;
    bench.says_where().await;
    bench
        .expect("POST /token", &given("first-token-of-a-minute", 100))
        .await;
    bench
        .answers_with("first-token-of-a-minute", &mut talk)
        .await;
    assert_eq!(bench.told.all(), ["first-token-of-a-minute"]);
}

#[tokio::test]
async fn a_token_that_has_expired_is_not_shown_and_one_that_soon_will_be_is_renewed_aside() {
    let mut bench = bench().await;
    let origin = bench.origin.clone();
    let server = TokenServer::At(format!("{origin}/token").parse().unwrap());
    bench.settings.auth = Some(Auth::Client(Box::new(credentials(server))));
    let mut talk = Talk::with(&bench.settings);
    let method = KnownMethod::ToolsList;
    talk.ask_stateless(1, method).await;
    bench
        .expect("POST /token", &given("first-token-of-a-minute", 100))
        .await;
    bench
        .answers_with("first-token-of-a-minute", &mut talk)
        .await;
    bench.wait(79);
    talk.ask_stateless(1, method).await;
    bench
        .answers_with("first-token-of-a-minute", &mut talk)
        .await;
    bench.wait(22);
    talk.ask_stateless(1, method).await;
    bench
        .expect("POST /token", &given("second-token-of-a-minute", 100))
        .await;
    bench
        .answers_with("second-token-of-a-minute", &mut talk)
        .await;
    bench.wait(85);
    talk.ask_stateless(1, method).await;
    // The request does not wait for the token, nor the other way round.
    let (one, other) = (bench.server.next().await, bench.server.next().await);
    let (call, token) = if one.path == "/mcp" {
        (one, other)
    } else {
        (other, one)
    };
    assert_eq!(
        call.header("authorization"),
        Some("Bearer second-token-of-a-minute")
    );
    token.json(&given("third-token-of-a-minute", 100)).await;
    call.json(&result(1)).await;
    talk.expect(frame(1, &result(1))).await;
    bench.wait(16);
    talk.ask_stateless(1, method).await;
    bench
        .answers_with("third-token-of-a-minute", &mut talk)
        .await;
    let all = [
        "first-token-of-a-minute",
        "second-token-of-a-minute",
        "third-token-of-a-minute",
    ];
    assert_eq!(bench.told.all(), all);
}

#[tokio::test]
async fn what_cannot_be_a_token_or_be_kept_secret_is_not_shown() {
    let mut bench = bench().await;
    let origin = bench.origin.clone();
    let server = TokenServer::At(format!("{origin}/token").parse().unwrap());
    bench.settings.auth = Some(Auth::Client(Box::new(credentials(server))));
    let mut talk = Talk::with(&bench.settings);
    for (answer, why) in [
        (given("short", 100), "too short"),
        (given("two words of it", 100), "RFC 6750"),
        (given("a-token\\r\\nX: y", 100), "RFC 6750"),
        ("{}".to_owned(), "no bearer token"),
        (
            r#"{"error":"invalid_client"}"#.to_owned(),
            "no bearer token",
        ),
        ("302 Found".to_owned(), "the status 302"),
        ("401 Unauthorized".to_owned(), "(invalid_client)"),
        (
            format!("{{\"a\":\"{}\"}}", "a".repeat(256 * 1024)),
            "longer",
        ),
    ] {
        talk.ask_stateless(1, KnownMethod::ToolsList).await;
        bench.expect("POST /token", &answer).await;
        fails(&mut talk, why).await;
        bench.wait(180);
    }
    assert!(bench.told.all().is_empty(), "{:?}", bench.told.all());
    assert!(bench.server.stays_idle().await);
}

#[tokio::test]
async fn a_secret_is_shown_in_the_form_if_the_metadata_has_no_other_way() {
    let mut bench = bench().await;
    let origin = bench.origin.clone();
    let of = credentials(TokenServer::Of(origin.clone()));
    bench.settings.auth = Some(Auth::Client(Box::new(of)));
    let mut talk = Talk::with(&bench.settings);
    let methods = |methods: &str| {
        format!(
            r#"{{"issuer":"{origin}","token_endpoint":"{origin}/token","token_endpoint_auth_methods_supported":{methods}}}"#
        )
    };
    let metadata = "GET /.well-known/oauth-authorization-server";
    talk.ask_stateless(1, KnownMethod::ToolsList).await;
    bench
        .expect(metadata, &methods(r#"["private_key_jwt"]"#))
        .await;
    fails(&mut talk, "no way of showing a secret").await;
    bench.wait(180);
    talk.ask_stateless(1, KnownMethod::ToolsList).await;
    bench
        .expect(
            metadata,
            &methods(r#"["private_key_jwt","client_secret_post"]"#),
        )
        .await;
    let asked = bench.server.next().await;
    assert_eq!(
        (&*asked.path, asked.header("authorization")),
        ("/token", None)
    );
    let shown = format!("&client_id=gate&client_secret={SECRET}&");
    assert!(asked.body.contains(&shown), "{}", asked.body);
    asked.json(&given("first-token-of-a-minute", 100)).await;
    bench
        .answers_with("first-token-of-a-minute", &mut talk)
        .await;
}

#[tokio::test]
async fn a_secret_in_a_file_is_the_one_that_is_there_when_a_token_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    let mut bench = bench().await;
    let server = TokenServer::At(format!("{}/token", bench.origin).parse().unwrap());
    let client = ClientCredentials {
        secret: ClientSecret::File(file.clone()),
        client_auth: Some(ClientAuth::Post),
        ..credentials(server)
    };
    bench.settings.auth = Some(Auth::Client(Box::new(client)));
    let missing = HttpClient::new(&bench.settings).unwrap_err();
    assert!(
        missing.to_string().contains("client_secret_file"),
        "{missing}"
    );
    std::fs::write(&file, "s3cr3t-one\n").unwrap();
    let mut talk = Talk::with(&bench.settings);
    for (secret, answer) in [("s3cr3t-one", "400 Bad Request"), ("s3cr3t-two", "")] {
        std::fs::write(&file, secret).unwrap();
        talk.ask_stateless(1, KnownMethod::ToolsList).await;
        let asked = bench.server.next().await;
        assert!(asked.body.contains(secret), "{}", asked.body);
        if answer.is_empty() {
            asked.json(&given("first-token-of-a-minute", 100)).await;
            bench
                .answers_with("first-token-of-a-minute", &mut talk)
                .await;
        } else {
            asked.status(answer).await;
            fails(&mut talk, "the status 400").await;
            bench.wait(180);
        }
    }
    let mut told = bench.told.all();
    told.dedup();
    assert_eq!(
        told,
        ["s3cr3t-one", "s3cr3t-two", "first-token-of-a-minute"]
    );
}

#[tokio::test]
async fn whom_a_secret_must_not_be_shown_to_is_refused_at_the_start() {
    let check = |server: TokenServer, why: &str| {
        let mut settings = HttpSettings::new("test", "https://mcp.example/".parse().unwrap());
        settings.auth = Some(Auth::Client(Box::new(credentials(server))));
        let refused = HttpClient::new(&settings).unwrap_err();
        let HttpClientError::Setup { cause } = &refused else {
            panic!("{refused:?}")
        };
        assert!(cause.contains(why), "{cause}");
    };
    let at = |url: &str| TokenServer::At(url.parse().unwrap());
    check(at("http://login.example/token"), "not `https`");
    check(at("https://user@login.example/token"), "user name");
    check(
        TokenServer::Of("http://login.example".into()),
        "not `https`",
    );
    check(TokenServer::Of("login".into()), "no URL");
}
