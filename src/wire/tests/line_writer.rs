//! Lines stay whole and in order, whatever the stream and its senders do.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::time::{sleep, timeout};

use super::super::line_writer::*;

const LONG: Duration = Duration::from_hours(1);

#[tokio::test(start_paused = true)]
async fn what_was_accepted_is_written_before_the_stream_is_closed() {
    let (near, mut far) = tokio::io::duplex(16);
    let writer = LineWriter::spawn(near, 1000);
    for number in 0..50 {
        writer.send(&format!("line {number}")).await.unwrap();
    }
    writer.close();
    assert_eq!(writer.send("late").await, Err(WriterClosed));
    let mut text = String::new();
    far.read_to_string(&mut text).await.unwrap();
    let expected: Vec<_> = (0..50).map(|number| format!("line {number}")).collect();
    assert_eq!(text, expected.join("\n") + "\n");
    assert_eq!(writer.ended().await, End::Flushed);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_closes_the_stream() {
    let (near, mut far) = tokio::io::duplex(16);
    let writer = LineWriter::spawn(near, 1000);
    let clone = writer.clone();
    clone.send("a line longer than the pipe").await.unwrap();
    drop((writer, clone));
    let mut text = String::new();
    far.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "a line longer than the pipe\n");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_makes_senders_wait_until_there_is_room() {
    let (near, mut far) = tokio::io::duplex(1);
    let writer = LineWriter::spawn(near, 10);
    // One batch is with the stream, the next one fills the queue.
    writer.send("123456789").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert!(
        timeout(LONG, writer.send("x")).await.is_err(),
        "the batch still counts"
    );
    let reading = tokio::spawn(async move {
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        text
    });
    writer.send("y").await.unwrap();
    writer.close();
    assert_eq!(
        reading.await.unwrap(),
        "123456789\ny\n",
        "what was given up is not there"
    );
}

#[tokio::test(start_paused = true)]
async fn a_line_longer_than_the_queue_goes_alone() {
    let (near, mut far) = tokio::io::duplex(16);
    let writer = LineWriter::spawn(near, 10);
    let long = "x".repeat(1000);
    let reading = tokio::spawn(async move {
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        text
    });
    for line in ["a", &long, "b"] {
        writer.send(line).await.unwrap();
    }
    writer.close();
    assert_eq!(reading.await.unwrap(), format!("a\n{long}\nb\n"));
}

#[tokio::test(start_paused = true)]
async fn senders_who_wait_are_told_that_the_other_side_is_gone() {
    let (near, far) = tokio::io::duplex(1);
    let writer = LineWriter::spawn(near, 10);
    writer.send("123456789").await.unwrap();
    let waiting = tokio::spawn({
        let writer = writer.clone();
        async move { writer.send("x").await }
    });
    sleep(Duration::from_secs(1)).await;
    drop(far);
    assert_eq!(waiting.await.unwrap(), Err(WriterClosed));
    assert_eq!(writer.ended().await, End::Broken(io::ErrorKind::BrokenPipe));
    assert_eq!(writer.send("y").await, Err(WriterClosed));
}

#[tokio::test(start_paused = true)]
async fn an_abort_closes_a_stream_that_nobody_reads() {
    let (near, mut far) = tokio::io::duplex(1);
    let writer = LineWriter::spawn(near, 10);
    writer.send("123456789").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    writer.abort();
    assert_eq!(
        writer.ended().await,
        End::Broken(io::ErrorKind::Interrupted)
    );
    let mut text = String::new();
    far.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "1");
}

/// Counts writes, and takes all that is offered.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<Vec<Vec<u8>>>>);

impl AsyncWrite for Counting {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn lines_that_are_sent_at_once_leave_in_one_write() {
    let stream = Counting::default();
    let writer = LineWriter::spawn(stream.clone(), 1000);
    for line in ["a", "b", "c"] {
        writer.send(line).await.unwrap();
    }
    writer.close();
    writer.ended().await;
    assert_eq!(*stream.0.lock().unwrap(), [b"a\nb\nc\n"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any senders, and any sender that gives up at any time, the stream holds exactly the
    /// accepted lines, whole, and each sender's in order.
    #[test]
    fn no_line_is_torn_lost_or_repeated(
        lengths in prop::collection::vec(prop::collection::vec((0_usize..60, 0_u64..4), 0..20), 1..5),
        pipe in 1_usize..50,
        budget in 1_usize..80,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (text, accepted) = runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(pipe);
            let writer = LineWriter::spawn(near, budget);
            let reading = tokio::spawn(async move {
                let mut text = Vec::new();
                let mut chunk = [0; 7];
                while let Ok(length @ 1..) = far.read(&mut chunk).await {
                    text.extend_from_slice(&chunk[..length]);
                    sleep(Duration::from_millis(1)).await;
                }
                String::from_utf8(text).unwrap()
            });
            let senders: Vec<_> = lengths
                .into_iter()
                .enumerate()
                .map(|(sender, lengths)| tokio::spawn(send_all(writer.clone(), sender, lengths)))
                .collect();
            let mut accepted = Vec::new();
            for sender in senders {
                accepted.push(sender.await.unwrap());
            }
            writer.close();
            (reading.await.unwrap(), accepted)
        });
        for (sender, accepted) in accepted.iter().enumerate() {
            let prefix = format!("{sender}:");
            let received: Vec<&str> = text.lines().filter(|line| line.starts_with(&prefix)).collect();
            prop_assert_eq!(&received, accepted);
        }
        let total: usize = accepted.iter().map(Vec::len).sum();
        prop_assert_eq!(text.lines().count(), total);
    }
}

/// Sends one line for each length, and waits that many milliseconds at most; yields what was taken.
async fn send_all(writer: LineWriter, sender: usize, lines: Vec<(usize, u64)>) -> Vec<String> {
    let mut accepted = Vec::new();
    for (number, (length, patience)) in lines.into_iter().enumerate() {
        let line = format!("{sender}:{number}:{}", "x".repeat(length));
        if timeout(Duration::from_millis(patience), writer.send(&line))
            .await
            .is_ok()
        {
            accepted.push(line);
        }
    }
    accepted
}
