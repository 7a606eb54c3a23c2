//! A token in a file, and what becomes of it while conversations go on.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::upstream::http::{
    Auth, Conceal, HttpClient, HttpClientError, HttpSettings, SecretFault, TooShort,
};
use crate::wire::KnownMethod;

use super::kit::{HandClock, Server, Talk, frame, result};

/// Tells what it was told, and in which order.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<Vec<String>>);

impl Told {
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Conceal for Told {
    fn conceal(&self, secret: &SecretString) -> Result<(), TooShort> {
        let secret = secret.expose_secret();
        if secret.len() < 8 {
            return Err(TooShort);
        }
        self.0.lock().unwrap().push(secret.to_owned());
        Ok(())
    }
}

struct Bench {
    server: Server,
    settings: HttpSettings,
    clock: Arc<HandClock>,
    told: Arc<Told>,
}

async fn bench(file: &Path) -> Bench {
    let server = Server::start().await;
    let mut settings = server.settings();
    let (clock, told) = (Arc::<HandClock>::default(), Arc::<Told>::default());
    settings.auth = Some(Auth::TokenFile(file.to_owned()));
    settings.clock = Arc::clone(&clock) as Arc<_>;
    settings.conceal = Arc::clone(&told) as Arc<_>;
    Bench {
        server,
        settings,
        clock,
        told,
    }
}

impl Bench {
    /// A request that is answered, and the token that came with it.
    async fn ask(&mut self, talk: &mut Talk) -> String {
        talk.ask(1, KnownMethod::ToolsList).await;
        let asked = self.server.next().await;
        let token = asked.header("authorization").unwrap().to_owned();
        asked.json(&result(1)).await;
        talk.expect(frame(1, &result(1))).await;
        token
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_token_that_was_replaced_in_its_file_is_shown_from_the_next_look_on() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "first-token\n").unwrap();
    let mut bench = bench(&file).await;
    let mut talk = Talk::with(&bench.settings);
    assert_eq!(bench.ask(&mut talk).await, "Bearer first-token");
    std::fs::write(&file, " second-token\n").unwrap();
    // Not looked at yet.
    assert_eq!(bench.ask(&mut talk).await, "Bearer first-token");
    bench.clock.advance(SECOND);
    assert_eq!(bench.ask(&mut talk).await, "Bearer second-token");
    assert_eq!(bench.told.all(), ["first-token", "second-token"]);
}

#[tokio::test]
async fn what_a_file_cannot_give_leaves_the_last_good_token_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "first-token").unwrap();
    let mut bench = bench(&file).await;
    let mut talk = Talk::with(&bench.settings);
    for text in [
        "",
        "short",
        "two words-of-text",
        "a-token\nX: y",
        "t\u{f6}ken-0123",
    ] {
        std::fs::write(&file, text).unwrap();
        bench.clock.advance(SECOND);
        assert_eq!(bench.ask(&mut talk).await, "Bearer first-token", "{text:?}");
    }
    std::fs::remove_file(&file).unwrap();
    bench.clock.advance(SECOND);
    assert_eq!(bench.ask(&mut talk).await, "Bearer first-token");
    std::fs::write(&file, "second-token").unwrap();
    bench.clock.advance(SECOND);
    assert_eq!(bench.ask(&mut talk).await, "Bearer second-token");
    assert_eq!(bench.told.all(), ["first-token", "second-token"]);
}

#[tokio::test]
async fn a_token_that_is_refused_is_read_again_at_once_and_the_request_repeated_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "first-token").unwrap();
    let mut bench = bench(&file).await;
    let mut talk = Talk::with(&bench.settings);
    assert_eq!(bench.ask(&mut talk).await, "Bearer first-token");
    std::fs::write(&file, "second-token").unwrap();
    talk.ask(1, KnownMethod::ToolsList).await;
    let asked = bench.server.next().await;
    let body = asked.body.clone();
    assert_eq!(asked.header("authorization"), Some("Bearer first-token"));
    asked.status("401 Unauthorized").await;
    let asked = bench.server.next().await;
    assert_eq!(asked.header("authorization"), Some("Bearer second-token"));
    assert_eq!(asked.body, body);
    // The new one is refused too, and nothing is tried any more.
    asked.status("401 Unauthorized").await;
    let told = format!("{:?}", talk.next().await);
    assert!(told.contains("credentials"), "{told}");
    // Nor is a token that is still in the file.
    talk.ask(2, KnownMethod::ToolsList).await;
    bench.server.next().await.status("401 Unauthorized").await;
    let told = format!("{:?}", talk.next().await);
    assert!(told.contains("credentials"), "{told}");
    assert!(bench.server.stays_idle().await);
}

#[tokio::test]
async fn without_a_first_token_there_is_no_client() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    let settings = bench(&file).await.settings;
    let check = |text: Option<&str>, expected: fn(&SecretFault) -> bool| {
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let error = HttpClient::new(&settings).unwrap_err();
        let HttpClientError::SecretFile { cause, .. } = &error else {
            panic!("{error:?}")
        };
        assert!(expected(cause), "{error}");
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
    };
    check(None, |cause| matches!(cause, SecretFault::Unreadable(_)));
    check(Some(" \n"), |cause| *cause == SecretFault::NoSecret);
    check(Some("s3cr3t s3cr3t"), |cause| {
        *cause == SecretFault::NoToken
    });
    check(Some("s3cr3t"), |cause| {
        matches!(cause, SecretFault::Short(_))
    });
}
