//! Tokens in exchange for those of agents: whose they are, and how long they are shown.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proptest::prelude::*;

use crate::gate::{Passage, UpstreamFault, UserProof};
use crate::upstream::http::oauth::MOST_AT_ONCE;
use crate::upstream::http::{
    Actor, Auth, ClientAuth, ClientSecret, ExchangeClient, HttpClient, HttpEvent, HttpSettings,
    MAX_EXCHANGED_TOKENS, Reach, TokenExchange, TokenType,
};
use crate::wire::{AgentToken, KnownMethod, Stream};

use super::kit::{Asked, HandClock, Server, Talk, frame, line, request, result};
use super::tokens::Told;

const METHOD: KnownMethod = KnownMethod::ToolsList;

/// A server that is its own authorization server.
struct Bench {
    server: Server,
    client: HttpClient,
    clock: Arc<HandClock>,
    told: Arc<Told>,
}

fn exchange(server: &Server) -> TokenExchange {
    let origin = server.url.origin().ascii_serialization();
    TokenExchange {
        token_url: format!("{origin}/token").parse().unwrap(),
        client: None,
        scopes: Vec::new(),
        resource: None,
        audience: Some("tickets".to_owned()),
        subject_type: TokenType::AccessToken,
        requested_type: TokenType::AccessToken,
        actor: None,
        max_lifetime: Duration::from_mins(15),
    }
}

async fn bench_with(change: impl FnOnce(&mut TokenExchange, &mut HttpSettings)) -> Bench {
    let server = Server::start().await;
    let mut settings = server.settings();
    let (clock, told) = (Arc::<HandClock>::default(), Arc::<Told>::default());
    settings.clock = Arc::clone(&clock) as Arc<_>;
    settings.conceal = Arc::clone(&told) as Arc<_>;
    let mut exchange = exchange(&server);
    change(&mut exchange, &mut settings);
    settings.auth = Some(Auth::Exchange(Box::new(exchange)));
    let client = HttpClient::new(&settings).unwrap();
    Bench {
        server,
        client,
        clock,
        told,
    }
}

async fn bench() -> Bench {
    bench_with(|_, _| {}).await
}

/// A token of an agent's that is good until so many seconds after the start.
fn subject(text: &str, until: i64) -> AgentToken {
    AgentToken::new(text.to_owned().into(), Vec::new(), until)
}

fn of_alice() -> AgentToken {
    subject("agent-token-of-alice", 100_000)
}

fn given(token: &str, more: &str) -> String {
    format!(
        r#"{{"access_token":"{token}","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"{more}}}"#
    )
}

impl Bench {
    fn talk(&self) -> Talk {
        let (sender, events) = self.client.connect();
        Talk { sender, events }
    }

    /// The next request asks for a token in exchange for this one.
    async fn exchanges(&mut self, subject: &AgentToken) -> Asked {
        let asked = self.server.next().await;
        assert_eq!((&*asked.method, &*asked.path), ("POST", "/token"));
        assert_eq!(asked.header("authorization"), None);
        let form = url::form_urlencoded::parse(asked.body.as_bytes());
        let mut sent = form.filter(|(name, _)| name == "subject_token");
        let (_, sent) = sent.next().unwrap();
        assert!(secret_is(subject, &sent), "{}", asked.body);
        asked
    }

    /// The next request is one to the server, with this token.
    async fn shows(&mut self, token: &str) -> Asked {
        let asked = self.server.next().await;
        assert_eq!(asked.path, "/mcp");
        let expected = format!("Bearer {token}");
        assert_eq!(asked.header("authorization"), Some(&*expected));
        asked
    }

    async fn answers(&mut self, token: &str, talk: &mut Talk) {
        self.shows(token).await.json(&result(1)).await;
        talk.expect(frame(1, &result(1))).await;
    }

    /// A request of the agent that waits for a token, which is this one.
    async fn first(&mut self, talk: &mut Talk, subject: &AgentToken, token: &str, more: &str) {
        ask(talk, Some(subject)).await;
        self.exchanges(subject)
            .await
            .json(&given(token, more))
            .await;
        self.answers(token, talk).await;
    }

    /// One that needs none.
    async fn again(&mut self, talk: &mut Talk, subject: &AgentToken, token: &str) {
        ask(talk, Some(subject)).await;
        self.answers(token, talk).await;
    }

    fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

fn secret_is(subject: &AgentToken, text: &str) -> bool {
    crate::secret::are_same(subject.text(), &text.into())
}

async fn ask(talk: &Talk, subject: Option<&AgentToken>) {
    let passage = Passage {
        proof: subject.cloned().map(UserProof::Subject),
        stream: Stream::MAIN,
        carried: request(1, METHOD, Some("2026-07-28")),
        trace: None,
    };
    talk.sender.carry(passage, line(1, METHOD)).await.unwrap();
}

async fn fails(talk: &mut Talk, why: &str) {
    let event = talk.next().await;
    let told = format!("{event:?}");
    let is_refused = matches!(
        event,
        HttpEvent::Failed {
            fault: UpstreamFault::NoToken(_),
            ..
        }
    );
    assert!(is_refused && told.contains(why), "{told}");
    assert!(!told.contains("agent-token"), "{told}");
}

#[tokio::test]
async fn two_agents_never_share_a_token_and_neither_do_two_tokens_of_one() {
    let mut bench = bench().await;
    let agents = ["alice", "bob", "alice again"].map(|name| {
        let token = format!("agent-token-of-{}", name.replace(' ', "-"));
        (
            subject(&token, 100_000),
            format!("exchanged-for-{}", name.replace(' ', "-")),
        )
    });
    let mut talks: Vec<_> = agents.iter().map(|_| bench.talk()).collect();
    for ((subject, token), talk) in agents.iter().zip(&mut talks) {
        bench.first(talk, subject, token, "").await;
    }
    for _ in 0..3 {
        for ((subject, token), talk) in agents.iter().zip(&mut talks) {
            bench.again(talk, subject, token).await;
        }
    }
    // One conversation may have messages with several tokens.
    for (subject, token) in &agents {
        bench.again(&mut talks[0], subject, token).await;
    }
    let told = bench.told.all();
    assert!(
        agents.iter().all(|(_, token)| told.contains(token)),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_token_is_shown_no_longer_than_any_of_its_limits_and_a_new_one_comes_with_the_next_message()
 {
    let hour = r#","expires_in":3600"#;
    let minute = r#","expires_in":60"#;
    // The lifetime of the agent's token, what is said of the other, the configured maximum, and for how long it
    // is shown.
    for (until, more, most, shown) in [
        (100_000, minute, 900, 50),
        (100_000, r#","expires_in":10"#, 900, 8),
        (100_000, hour, 900, 890),
        (100_000, "", 900, 890),
        (100_000, "", 20, 16),
        // The gate accepts it for half a minute longer than it is good.
        (130, hour, 900, 90),
        (130, "", 900, 90),
    ] {
        let mut bench = bench_with(|it, _| it.max_lifetime = Duration::from_secs(most)).await;
        let mut talk = bench.talk();
        let subject = subject("agent-token-of-alice", until);
        bench
            .first(&mut talk, &subject, "exchanged-number-one", more)
            .await;
        bench.wait(shown - 1);
        bench
            .again(&mut talk, &subject, "exchanged-number-one")
            .await;
        bench.wait(1);
        let case = format!("{until} {more} {most}");
        ask(&talk, Some(&subject)).await;
        let asked = bench.server.next().await;
        assert_eq!(asked.path, "/token", "{case}");
        asked.json(&given("exchanged-number-two", more)).await;
        bench.answers("exchanged-number-two", &mut talk).await;
    }
}

#[tokio::test]
async fn a_token_of_an_agent_that_has_expired_is_not_exchanged() {
    let mut bench = bench().await;
    let mut talk = bench.talk();
    for until in [i64::MIN, -5, 0, 30] {
        ask(&talk, Some(&subject("agent-token-of-alice", until))).await;
        fails(&mut talk, "has expired").await;
    }
    assert!(bench.server.stays_idle().await);
}

#[tokio::test]
async fn without_an_agent_nothing_is_asked_and_the_server_is_there_all_the_same() {
    let mut bench = bench().await;
    let mut talk = bench.talk();
    ask(&talk, None).await;
    fails(&mut talk, "there is no agent").await;
    assert!(bench.server.stays_idle().await);
    assert_eq!(bench.client.reach(), Reach::Unknown);
    let client = bench.client.clone();
    let looks = async {
        let asked = bench.server.next().await;
        assert_eq!((&*asked.method, &*asked.path), ("GET", "/mcp"));
        assert_eq!(asked.header("authorization"), None);
        asked.status("401 Unauthorized").await;
    };
    tokio::join!(client.probe(), looks);
    assert_eq!(client.reach(), Reach::Reached);
}

#[tokio::test]
async fn messages_that_come_at_once_wait_for_one_exchange_and_those_of_others_do_not() {
    let mut bench = bench().await;
    let (alice, bob) = (of_alice(), subject("agent-token-of-bob", 100_000));
    let mut talks: Vec<_> = (0..5).map(|_| bench.talk()).collect();
    for talk in &talks {
        ask(talk, Some(&alice)).await;
    }
    let slow = bench.exchanges(&alice).await;
    let mut other = bench.talk();
    bench
        .first(&mut other, &bob, "exchanged-for-bob-0", "")
        .await;
    bench.again(&mut other, &bob, "exchanged-for-bob-0").await;
    slow.json(&given("exchanged-for-alice", "")).await;
    for _ in &talks {
        bench
            .shows("exchanged-for-alice")
            .await
            .json(&result(1))
            .await;
    }
    for talk in &mut talks {
        talk.expect(frame(1, &result(1))).await;
    }
    assert!(bench.server.stays_idle().await);
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_exchanged_anew_once() {
    let mut bench = bench().await;
    let (mut talk, alice) = (bench.talk(), of_alice());
    bench
        .first(&mut talk, &alice, "exchanged-number-one", "")
        .await;
    ask(&talk, Some(&alice)).await;
    let refused = bench.shows("exchanged-number-one").await;
    refused.status("401 Unauthorized").await;
    let asked = bench.exchanges(&alice).await;
    asked.json(&given("exchanged-number-two", "")).await;
    bench.answers("exchanged-number-two", &mut talk).await;
    // What is refused again is refused, and the authorization server is not asked without end.
    for _ in 0..3 {
        ask(&talk, Some(&alice)).await;
        let refused = bench.shows("exchanged-number-two").await;
        refused.status("401 Unauthorized").await;
        let told = format!("{:?}", talk.next().await);
        assert!(told.contains("does not accept"), "{told}");
    }
    assert!(bench.server.stays_idle().await);
}

#[tokio::test]
async fn an_answer_that_is_no_token_for_this_server_refuses_the_message_and_nothing_is_shown() {
    let urn = "urn:ietf:params:oauth:token-type:access_token";
    let with = |token: &str| given(token, "");
    let huge = "x".repeat(130 * 1024);
    let cases: Vec<(&str, String, &str)> = vec![
        ("200 OK", with("agent-token-of-alice"), "the very token"),
        ("200 OK", with("short"), "too short"),
        ("200 OK", with("a token with blanks in it"), "RFC 6750"),
        (
            "200 OK",
            with(r"a-token-with-a\r\nX-Header: line"),
            "RFC 6750",
        ),
        ("200 OK", with(r"a-token-with-a-\u0000-in-it"), "RFC 6750"),
        ("200 OK", with("ein-gro\u{df}es-token-0123"), "RFC 6750"),
        ("200 OK", with(&huge), "longer than"),
        (
            "200 OK",
            format!("{}{huge}", with("a-token-0123456789")),
            "longer than",
        ),
        ("200 OK", "[".repeat(100_000), "is no JSON"),
        (
            "200 OK",
            "access_token=a-token-0123456789".to_owned(),
            "is no JSON",
        ),
        ("200 OK", String::new(), "is no JSON"),
        (
            "200 OK",
            given("a-token-0123456789", r#","scope":"admin""#),
            "a scope that the gate did not ask for",
        ),
        (
            "200 OK",
            with("a-token-0123456789").replace(urn, "urn:x"),
            "no `issued_token_type`",
        ),
        ("201 Created", with("a-token-0123456789"), "the status 201"),
        (
            "400 Bad Request",
            r#"{"error":"invalid_grant","error_description":"agent-token"}"#.to_owned(),
            "(invalid_grant)",
        ),
        (
            "400 Bad Request",
            r#"{"error":"invalid_target"}"#.to_owned(),
            "(invalid_target)",
        ),
        (
            "400 Bad Request",
            r#"{"error":"agent-token"}"#.to_owned(),
            "the status 400",
        ),
        (
            "401 Unauthorized",
            r#"{"error":"invalid_client"}"#.to_owned(),
            "as its client (invalid_client)",
        ),
        ("403 Forbidden", String::new(), "the status 403"),
        ("500 Internal Server Error", String::new(), "the status 500"),
        (
            "503 Service Unavailable",
            with("a-token-0123456789"),
            "the status 503",
        ),
    ];
    for (status, body, why) in cases {
        let mut bench = bench_with(|it, _| it.scopes = vec!["mcp:tools".to_owned()]).await;
        let (mut talk, alice) = (bench.talk(), of_alice());
        ask(&talk, Some(&alice)).await;
        let asked = bench.exchanges(&alice).await;
        asked
            .answer(status, "Content-Type: application/json\r\n", &body)
            .await;
        fails(&mut talk, why).await;
        // It is not asked again at once.
        ask(&talk, Some(&alice)).await;
        fails(&mut talk, why).await;
        assert!(bench.server.stays_idle().await, "{why}");
        // No agent says anything of the server.
        assert_eq!(bench.client.reach(), Reach::Unknown, "{why}");
    }
}

/// A token with these claims, without a signature.
fn jwt(claims: &str) -> String {
    let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.c2ln", encoded(r#"{"alg":"ES256"}"#), encoded(claims))
}

#[tokio::test]
async fn the_gate_says_who_acts_and_takes_a_token_only_if_it_says_the_same() {
    let actor = jwt(r#"{"sub":"gate"}"#);
    for (act, passes) in [
        (r#","act":{"sub":"gate","act":{"sub":"earlier"}}"#, true),
        (r#","act":{"sub":"other"}"#, false),
        ("", false),
    ] {
        let mut bench = bench_with(|it, _| {
            it.client = Some(ExchangeClient {
                id: "gate".to_owned(),
                secret: Some(ClientSecret::Value("s3cr3t-of-the-gate".into())),
                auth: ClientAuth::Basic,
            });
            it.resource = Some("urn:tickets".to_owned());
            it.requested_type = TokenType::Jwt;
            it.actor = Some(Actor {
                token: ClientSecret::Value(actor.as_str().into()),
                token_type: TokenType::Jwt,
            });
        })
        .await;
        let (mut talk, alice) = (bench.talk(), of_alice());
        ask(&talk, Some(&alice)).await;
        let asked = bench.server.next().await;
        let authorization = asked.header("authorization");
        assert!(authorization.is_some_and(|it| it.starts_with("Basic ")));
        let form = url::form_urlencoded::parse(asked.body.as_bytes());
        let form: Vec<(String, String)> = form.into_owned().collect();
        let urn = "urn:ietf:params:oauth:token-type";
        let expected = [
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ),
            ("resource", "urn:tickets"),
            ("audience", "tickets"),
            ("requested_token_type", &format!("{urn}:jwt")),
            ("subject_token", "agent-token-of-alice"),
            ("subject_token_type", &format!("{urn}:access_token")),
            ("actor_token", &actor),
            ("actor_token_type", &format!("{urn}:jwt")),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(form, expected);
        let claims = format!(r#"{{"aud":["tickets","urn:tickets"],"exp":600{act}}}"#);
        let token = jwt(&claims);
        let body = given(&token, "").replace(":access_token\"", ":jwt\"");
        asked.json(&body).await;
        if passes {
            bench.answers(&token, &mut talk).await;
        } else {
            fails(&mut talk, "is not the gate's actor").await;
        }
    }
}

#[tokio::test]
async fn a_redirect_of_the_token_endpoint_is_followed_nowhere() {
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let mut bench = bench().await;
        let (mut talk, alice) = (bench.talk(), of_alice());
        ask(&talk, Some(&alice)).await;
        let asked = bench.exchanges(&alice).await;
        asked.answer(status, "Location: /elsewhere\r\n", "").await;
        fails(&mut talk, "the status 30").await;
        assert!(bench.server.stays_idle().await, "{status}");
    }
}

#[tokio::test]
async fn an_agent_whose_token_is_refused_waits_alone_and_a_refused_gate_waits_for_all() {
    let mut bench = bench().await;
    let (alice, bob) = (of_alice(), subject("agent-token-of-bob", 100_000));
    let (mut one, mut other) = (bench.talk(), bench.talk());
    ask(&one, Some(&alice)).await;
    let asked = bench.exchanges(&alice).await;
    asked
        .answer("400 Bad Request", "", r#"{"error":"invalid_grant"}"#)
        .await;
    fails(&mut one, "invalid_grant").await;
    bench
        .first(&mut other, &bob, "exchanged-for-bob-0", "")
        .await;
    // Another token of the same agent is another try.
    let next = subject("agent-token-of-alice-2", 100_000);
    ask(&one, Some(&next)).await;
    let asked = bench.exchanges(&next).await;
    asked
        .answer("401 Unauthorized", "", r#"{"error":"invalid_client"}"#)
        .await;
    fails(&mut one, "invalid_client").await;
    let third = subject("agent-token-of-carol", 100_000);
    ask(&one, Some(&third)).await;
    fails(&mut one, "invalid_client").await;
    assert!(bench.server.stays_idle().await);
    bench.again(&mut other, &bob, "exchanged-for-bob-0").await;
    bench.wait(180);
    bench
        .first(&mut one, &third, "exchanged-for-carol", "")
        .await;
}

#[tokio::test]
async fn tokens_are_kept_for_a_bounded_number_of_agents_and_the_one_used_last_stays() {
    let mut bench = bench().await;
    let mut talk = bench.talk();
    let alice = of_alice();
    bench
        .first(&mut talk, &alice, "exchanged-for-alice", "")
        .await;
    let nth = |number: usize| subject(&format!("agent-token-number-{number}"), 100_000);
    for number in 0..MAX_EXCHANGED_TOKENS {
        let token = format!("exchanged-number-{number:06}");
        bench.first(&mut talk, &nth(number), &token, "").await;
        bench.again(&mut talk, &alice, "exchanged-for-alice").await;
    }
    // The first of them was used longest ago.
    bench
        .first(&mut talk, &nth(0), "exchanged-number-again", "")
        .await;
}

#[tokio::test]
async fn a_refusal_of_a_forgotten_token_costs_the_next_one_nothing() {
    let mut bench = bench().await;
    let (mut late, mut talk, alice) = (bench.talk(), bench.talk(), of_alice());
    ask(&late, Some(&alice)).await;
    let asked = bench.exchanges(&alice).await;
    asked.json(&given("exchanged-number-one", "")).await;
    let refused = bench.shows("exchanged-number-one").await;
    for number in 0..MAX_EXCHANGED_TOKENS {
        let other = subject(&format!("agent-token-number-{number}"), 100_000);
        let token = format!("exchanged-number-{number:06}");
        bench.first(&mut talk, &other, &token, "").await;
    }
    bench
        .first(&mut talk, &alice, "exchanged-number-two", "")
        .await;
    refused.status("401 Unauthorized").await;
    bench.answers("exchanged-number-two", &mut late).await;
    assert!(bench.server.stays_idle().await);
}

#[tokio::test]
async fn tokens_that_cannot_be_exchanged_take_the_place_of_no_exchanged_one() {
    let mut bench = bench().await;
    let (mut talk, alice) = (bench.talk(), of_alice());
    bench
        .first(&mut talk, &alice, "exchanged-for-alice", "")
        .await;
    for number in 0..=MAX_EXCHANGED_TOKENS {
        let bad = subject(&format!("agent-token-number-{number}"), 100_000);
        ask(&talk, Some(&bad)).await;
        let asked = bench.exchanges(&bad).await;
        asked
            .answer("400 Bad Request", "", r#"{"error":"invalid_grant"}"#)
            .await;
        fails(&mut talk, "invalid_grant").await;
    }
    bench.again(&mut talk, &alice, "exchanged-for-alice").await;
}

#[tokio::test]
async fn a_token_whose_time_is_over_when_it_comes_is_a_failure_and_not_asked_for_again_at_once() {
    let mut bench = bench().await;
    let (mut talk, alice) = (bench.talk(), of_alice());
    ask(&talk, Some(&alice)).await;
    let asked = bench.exchanges(&alice).await;
    bench.wait(5);
    let body = given("exchanged-number-one", r#","expires_in":2"#);
    asked.json(&body).await;
    for _ in 0..3 {
        fails(&mut talk, "whose time was over when it came").await;
        ask(&talk, Some(&alice)).await;
    }
    fails(&mut talk, "whose time was over when it came").await;
    assert!(bench.server.stays_idle().await);
    bench.wait(5);
    bench
        .first(&mut talk, &alice, "exchanged-number-two", "")
        .await;
}

#[tokio::test]
async fn a_bounded_number_of_exchanges_is_under_way() {
    let mut bench = bench().await;
    let talks: Vec<_> = (0..MOST_AT_ONCE + 2).map(|_| bench.talk()).collect();
    for (number, talk) in talks.iter().enumerate() {
        let subject = subject(&format!("agent-token-number-{number}"), 100_000);
        ask(talk, Some(&subject)).await;
    }
    let mut asked = Vec::new();
    for _ in 0..MOST_AT_ONCE {
        asked.push(bench.server.next().await);
    }
    assert!(bench.server.stays_idle().await);
    asked
        .pop()
        .unwrap()
        .answer("400 Bad Request", "", r#"{"error":"invalid_grant"}"#)
        .await;
    asked.push(bench.server.next().await);
    assert!(bench.server.stays_idle().await);
    assert!(asked.iter().all(|it| it.path == "/token"));
}

#[tokio::test]
async fn a_stream_is_not_resumed_without_a_token_and_that_is_not_the_servers_fault() {
    let mut bench = bench().await;
    let (mut talk, alice) = (bench.talk(), of_alice());
    let passage = Passage {
        proof: Some(UserProof::Subject(alice.clone())),
        stream: Stream::MAIN,
        carried: request(1, METHOD, None),
        trace: None,
    };
    talk.sender.carry(passage, line(1, METHOD)).await.unwrap();
    let asked = bench.exchanges(&alice).await;
    asked.json(&given("exchanged-number-one", "")).await;
    let mut events = bench.shows("exchanged-number-one").await.events().await;
    events.send("id: p1\nretry: 1\ndata:\n\n").await;
    // Its time is over, and there is no other one.
    bench.wait(1000);
    events.end().await;
    let asked = bench.exchanges(&alice).await;
    asked
        .answer("400 Bad Request", "", r#"{"error":"invalid_grant"}"#)
        .await;
    fails(&mut talk, "(invalid_grant)").await;
    assert!(bench.server.stays_idle().await);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the order in which agents come, time passes and tokens are refused, each request shows a token that
    /// was given for the very token that came with it.
    #[test]
    fn what_is_shown_was_given_for_this_agent(steps in prop::collection::vec((0_usize..4, 0_u64..400, any::<bool>()), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut bench = bench().await;
            let agents: Vec<_> = (0..4).map(|it| subject(&format!("agent-token-number-{it}"), 4000)).collect();
            let mut talk = bench.talk();
            let mut count = 0;
            for (agent, wait, is_refused) in steps {
                bench.wait(wait);
                ask(&talk, Some(&agents[agent])).await;
                let mut refusals = u32::from(is_refused);
                let mut told = None;
                while told.is_none() {
                    let asked = tokio::select! {
                        asked = bench.server.next() => asked,
                        event = talk.events.next() => {
                            told = Some(event);
                            continue;
                        }
                    };
                    if asked.path == "/token" {
                        count += 1;
                        let form = url::form_urlencoded::parse(asked.body.as_bytes());
                        let sent = form.into_owned().find(|(name, _)| name == "subject_token");
                        assert_eq!(sent.unwrap().1, format!("agent-token-number-{agent}"));
                        asked.json(&given(&format!("for-{agent}-number-{count:08}"), "")).await;
                        continue;
                    }
                    let shown = asked.header("authorization").unwrap().to_owned();
                    assert!(shown.starts_with(&format!("Bearer for-{agent}-")), "{shown}");
                    if refusals > 0 {
                        refusals -= 1;
                        asked.status("401 Unauthorized").await;
                    } else {
                        asked.json(&result(1)).await;
                    }
                }
            }
        });
    }
}
