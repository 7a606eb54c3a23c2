use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing::instrument::WithSubscriber as _;

use super::*;

const SECRET: &str = "tell-nobody";

/// What is logged when a server writes `bytes`, and what comes of it.
async fn relogged(bytes: &[u8]) -> (String, Option<StartError>) {
    let written = Written::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer({
            let written = written.clone();
            move || written.clone()
        })
        .with_ansi(false)
        .without_time()
        .finish();
    let command = vec!["server".to_owned()];
    let secrets = vec![SecretString::from(SECRET)];
    let concealing = Concealing::by(|line| line.replace("sk-1", "[gone]"));
    let complaint = relog(bytes, "files".to_owned(), command, secrets, concealing)
        .with_subscriber(subscriber)
        .await;
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    (text, complaint)
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn check(bytes: &[u8], expected: &str) {
    assert_eq!(relogged(bytes).await.0, expected);
}

#[tokio::test(start_paused = true)]
async fn each_line_is_logged_behind_the_name_of_the_server() {
    check(
        b"one\ntwo\r\n\n  \nthree",
        " INFO upstream.stderr: one server=\"files\"\n \
          INFO upstream.stderr: two server=\"files\"\n \
          INFO upstream.stderr: three server=\"files\"\n",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_others_know_to_be_secret_is_not_logged_either() {
    check(
        b"with sk-1\n",
        " INFO upstream.stderr: with [gone] server=\"files\"\n",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_not_logged_nor_its_beginning_where_a_line_is_cut() {
    check(
        format!("a {SECRET} b{SECRET}{SECRET} tell-no\n").as_bytes(),
        " INFO upstream.stderr: a [redacted] b[redacted][redacted] tell-no server=\"files\"\n",
    )
    .await;
    for shown in 1..SECRET.len() {
        let before = "x".repeat(MAX_LINE - shown);
        let (log, _) = relogged(format!("{before}{SECRET} and more\n").as_bytes()).await;
        let (_, after) = log.split_once(&before).unwrap();
        assert!(after.starts_with("[redacted] "), "{shown}: {after}");
    }
}

#[tokio::test(start_paused = true)]
async fn control_characters_are_made_visible() {
    check(
        "\u{1b}[2Jred\u{7} \u{202e}txt\u{2028}a\rb\tc\u{3164}".as_bytes(),
        " INFO upstream.stderr: \\u{1b}[2Jred\\u{7} \\u{202e}txt\\u{2028}a\\u{d}b\tc\\u{3164} server=\"files\"\n",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text_are_replaced() {
    check(
        b"a\xff\xfeb\n",
        " INFO upstream.stderr: a\u{fffd}\u{fffd}b server=\"files\"\n",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_long_line_is_cut_and_the_rest_counted() {
    let line = "x".repeat(MAX_LINE + 123);
    let kept = "x".repeat(MAX_LINE);
    check(
        format!("{line}\nnext\n").as_bytes(),
        &format!(
            " INFO upstream.stderr: {kept} server=\"files\" cut=123\n \
              INFO upstream.stderr: next server=\"files\"\n"
        ),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_counted_instead_of_logged() {
    let flood = "noise\n".repeat(10_000);
    let (log, _) = relogged(flood.as_bytes()).await;
    let logged = usize::try_from(LINES_PER_WINDOW).unwrap();
    assert_eq!(log.lines().count(), logged + 1);
    let last = log.lines().last().unwrap();
    assert!(
        last.contains(&format!("suppressed={}", 10_000 - logged)),
        "{last}"
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_flood_lines_are_logged_again() {
    let (mut far, near) = tokio::io::duplex(64);
    let written = Written::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer({
            let written = written.clone();
            move || written.clone()
        })
        .finish();
    let (name, concealing) = ("files".to_owned(), Concealing::default());
    let logging = relog(near, name, Vec::new(), Vec::new(), concealing).with_subscriber(subscriber);
    let writing = async move {
        use tokio::io::AsyncWriteExt;
        for _ in 0..1000 {
            far.write_all(b"noise\n").await.unwrap();
        }
        sleep(WINDOW * 2).await;
        far.write_all(b"signal\n").await.unwrap();
    };
    tokio::join!(logging, writing);
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("signal"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn the_launchers_complaint_is_a_start_error() {
    let line = format!(
        "noise\n{}Exec format error (os error 8)\n",
        launcher::CANNOT_START
    );
    let (_, complaint) = relogged(line.as_bytes()).await;
    let text = complaint.unwrap().to_string();
    assert_eq!(
        text,
        "`upstream.command`: `server` cannot be started: Exec format error (os error 8)"
    );
    assert_eq!(relogged(b"cannot start: x\n").await.1, None);
}
