//! Frames stay whole and nothing blocks, whatever the server does with its streams (the fault
//! matrix: floods, stalls, torn writes).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protector::upstream::{Event, UpstreamFault};
use mcp_protector::wire::DiscardReason;
use tokio::time::timeout;

use crate::processes::support::{Gate, Mark, PATIENCE, Server, python, run, settings};

#[test]
fn every_line_comes_back_in_order() {
    run(async {
        let mut server = Server::start(settings(vec!["cat".to_owned()]));
        let sender = server.sender.clone();
        let sending = tokio::spawn(async move {
            for number in 0..20_000 {
                sender.send(format!("line {number}")).await.unwrap();
            }
        });
        for number in 0..20_000 {
            assert_eq!(server.line().await, format!("line {number}"));
        }
        sending.await.unwrap();
        server.sender.stop().await;
    });
}

#[test]
fn lines_of_a_megabyte_pass_both_ways() {
    run(async {
        let mut server = Server::start(settings(vec!["cat".to_owned()]));
        for length in [1, 65_535, 65_536, 65_537, 1 << 20, 5 << 20] {
            let line = "x".repeat(length);
            let sender = server.sender.clone();
            let sending = tokio::spawn({
                let line = line.clone();
                async move { sender.send(line).await }
            });
            assert_eq!(server.line().await.len(), length);
            sending.await.unwrap().unwrap();
        }
        server.sender.stop().await;
    });
}

#[test]
fn a_frame_is_found_however_it_is_written() {
    run(async {
        let mut server = Server::python(
            "import os, time
for byte in b'one\\n': os.write(1, bytes([byte])); time.sleep(0.005)
os.write(1, b'two\\nthree\\n\\n  \\nfo'); time.sleep(0.02); os.write(1, b'ur\\n')
time.sleep(60)",
        );
        for line in ["one", "two", "three", "four"] {
            assert_eq!(server.line().await, line);
        }
        server.sender.stop().await;
    });
}

#[test]
fn an_over_long_line_is_told_and_the_next_one_read() {
    run(async {
        let mut settings = settings(python(
            "import sys
sys.stdout.write('x' * 1000 + '\\n' + 'y' * 1001 + '\\nafter\\n' + 'z' * 3000000 + '\\nlast\\n')
sys.stdout.flush(); sys.stdin.read()",
        ));
        settings.max_message_bytes = 1000;
        let mut server = Server::start(settings);
        assert_eq!(server.line().await, "x".repeat(1000));
        assert_eq!(server.event().await, Event::Unread(DiscardReason::TooLong));
        assert_eq!(server.line().await, "after");
        assert_eq!(server.event().await, Event::Unread(DiscardReason::TooLong));
        assert_eq!(server.line().await, "last");
        server.sender.stop().await;
    });
}

#[test]
fn an_event_that_was_not_waited_for_is_not_lost() {
    run(async {
        let mut server = Server::python(
            "import time
for i in range(300): print('line %d' % i); time.sleep(0.001)
time.sleep(60)",
        );
        let mut number = 0;
        while number < 300 {
            // Mostly too short for the next line.
            if let Ok(event) = timeout(Duration::from_micros(300), server.events.next()).await {
                assert_eq!(event, Event::Line(format!("line {number}").as_bytes()));
                number += 1;
            }
        }
        server.sender.stop().await;
    });
}

#[test]
fn a_server_that_never_reads_makes_senders_wait_and_can_be_stopped() {
    run(async {
        let mark = Mark::new();
        let (name, value) = mark.variable().split_once('=').unwrap();
        let mut settings = settings(python("import time; print('ready'); time.sleep(60)"));
        settings.env.insert(name.to_owned(), value.into());
        settings.queue_bytes = 100_000;
        let mut server = Server::start(settings);
        assert_eq!(server.line().await, "ready");
        let line = "x".repeat(10_000);
        let mut sent = 0;
        while timeout(Duration::from_millis(200), server.sender.send(line.clone()))
            .await
            .is_ok()
        {
            sent += 1;
            assert!(sent < 100, "the queue has no end");
        }
        let (waiting, ()) = tokio::join!(server.sender.send(line.clone()), server.sender.stop());
        assert_eq!(waiting, Err(UpstreamFault::Stopped));
        mark.assert_gone();
    });
}

#[test]
fn senders_that_lose_patience_tear_nothing() {
    run(async {
        let mut settings = settings(python(
            "import os, time
while True:
    bytes = os.read(0, 5000)
    time.sleep(0.001)
    os.write(1, bytes)
    if not bytes: break",
        ));
        settings.queue_bytes = 20_000;
        let mut server = Server::start(settings);
        let accepted = Arc::new(Mutex::new(Vec::new()));
        let senders: Vec<_> = (0..8)
            .map(|sender_number| {
                let (sender, accepted) = (server.sender.clone(), Arc::clone(&accepted));
                tokio::spawn(async move {
                    for number in 0..100 {
                        let filler = "x".repeat(100 + number * 37);
                        let line = format!("{sender_number} {number} {filler}");
                        let sent = timeout(Duration::from_micros(500), sender.send(line.clone()));
                        if sent.await.is_ok() {
                            accepted.lock().unwrap().push(line);
                        }
                    }
                })
            })
            .collect();
        let finish = tokio::spawn({
            let sender = server.sender.clone();
            async move {
                for sender in senders {
                    sender.await.unwrap();
                }
                sender.send("end".to_owned()).await.unwrap();
            }
        });
        let mut received = Vec::new();
        loop {
            let line = server.line().await;
            if line == "end" {
                break;
            }
            received.push(line);
        }
        finish.await.unwrap();
        let mut accepted = std::mem::take(&mut *accepted.lock().unwrap());
        assert!(
            !accepted.is_empty() && accepted.len() < 800,
            "{} accepted",
            accepted.len()
        );
        accepted.sort();
        received.sort();
        assert_eq!(received, accepted);
        server.sender.stop().await;
    });
}

#[test]
fn a_server_that_writes_text_among_its_messages_is_told_of_once() {
    let hint = "writes text to its standard output";
    for (script, told) in [
        ("print('Serving on stdio'); print('CANARY'); print('{}')", 1),
        ("print('{}'); print(); print(' []')", 0),
    ] {
        let mut gate = Gate::python(&[], script);
        while gate.line() != "{}" {}
        let complaints = gate.complaints();
        assert_eq!(complaints.matches(hint).count(), told, "{complaints}");
        assert!(!complaints.contains("CANARY"), "{complaints}");
    }
}

#[test]
fn a_flood_on_stderr_blocks_nobody() {
    run(async {
        let mut server = Server::python(
            "import sys
for i in range(200000): sys.stderr.write('noise %d\\n' % i)
sys.stderr.write('x' * 20000000)
sys.stderr.flush()
print('done: ' + sys.stdin.readline().strip())
sys.stdin.read()",
        );
        server.send("question").await;
        assert_eq!(server.line().await, "done: question");
        server.sender.stop().await;
    });
}

#[test]
fn a_closed_stderr_is_no_death() {
    run(async {
        let mut server = Server::python(
            "import os, sys; os.close(2); print('echo ' + sys.stdin.readline().strip()); sys.stdin.read()",
        );
        server.send("x").await;
        assert_eq!(server.line().await, "echo x");
        server.sender.stop().await;
    });
}

#[test]
fn what_is_queued_is_written_before_stdin_is_closed() {
    run(async {
        let mut settings = settings(python(
            "import sys, time
time.sleep(0.1)
print(len(sys.stdin.readlines()))",
        ));
        settings.stop.after_close = PATIENCE;
        let mut server = Server::start(settings);
        let sender = server.sender.clone();
        for _ in 0..300 {
            server.send(&"x".repeat(1000)).await;
        }
        let (line, ()) = tokio::join!(server.line(), sender.stop());
        assert_eq!(line, "300");
    });
}
