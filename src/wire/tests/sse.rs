//! Server-sent events: the standard's own examples, its corners, and our limits.

use std::time::Duration;

use proptest::prelude::*;

use crate::memory::Memory;
use crate::wire::{DiscardReason, EventKind, MAX_EVENT_ID_BYTES, SseDecoder, SseEvent};

use super::oracle;

fn message(data: &str) -> SseEvent {
    SseEvent::Event {
        kind: EventKind::Message,
        data: data.into(),
    }
}

fn other(data: &str) -> SseEvent {
    SseEvent::Event {
        kind: EventKind::Other,
        data: data.into(),
    }
}

fn decoded(stream: &[u8], max_bytes: usize) -> (Vec<SseEvent>, SseDecoder) {
    let mut decoder = SseDecoder::new(max_bytes);
    let mut rest = stream;
    let events = std::iter::from_fn(|| decoder.next(&mut rest)).collect();
    assert!(rest.is_empty());
    (events, decoder)
}

#[test]
fn an_event_without_memory_for_it_is_thrown_away_and_the_next_one_is_told() {
    for (allocated, is_kept) in [(0, true), (usize::MAX, false)] {
        let memory = Memory::limited(1 << 30, move || allocated);
        let mut decoder = SseDecoder::new(1 << 20).within(memory);
        let long = format!("data: {}\n\n", "x".repeat(1 << 16));
        let told = decoder.next(&mut long.as_bytes());
        let is_event = matches!(told, Some(SseEvent::Event { .. }));
        assert_eq!(is_event, is_kept, "{told:?}");
        assert_eq!(
            told == Some(SseEvent::Unread(DiscardReason::NoMemory)),
            !is_kept
        );
        assert!(decoder.memory() < 1 << 12);
    }
}

#[test]
fn events_are_cut_as_the_standard_says() {
    let check = |stream: &str, events: &[SseEvent]| {
        assert_eq!(decoded(stream.as_bytes(), 64).0, events, "{stream:?}");
    };
    check("", &[]);
    check("data: a\n\n", &[message("a")]);
    check("data: a\r\n\r\n", &[message("a")]);
    check("data: a\r\r", &[message("a")]);
    check("data: a\r\n\rdata: b\n\r", &[message("a"), message("b")]);
    check("data: a\n\r\ndata: b\r\n\n", &[message("a"), message("b")]);
    check("\n\n\ndata: a\n\n\n\n", &[message("a")]);
    check("data: a\ndata: b\n\n", &[message("a\nb")]);
    check("data:a\n\n", &[message("a")]);
    check("data:  a\n\n", &[message(" a")]);
    check("data: a: b\n\n", &[message("a: b")]);
    check("data\n\ndata\ndata\n\ndata:", &[message(""), message("\n")]);
    check("data: a", &[]);
    check("data: a\n", &[]);
    check(": comment\ndata: a\n:\n\n", &[message("a")]);
    check("dat: a\ndatas: b\nDATA: c\n data: d\ndata : e\n\n", &[]);
    check("event: message\ndata: a\n\n", &[message("a")]);
    check(
        "event:\ndata: a\n\nevent\ndata: b\n\n",
        &[message("a"), message("b")],
    );
    check(
        "event: ping\ndata: a\n\ndata: b\n\n",
        &[other("a"), message("b")],
    );
    check("event: Message\ndata: a\n\n", &[other("a")]);
    check("event: ping\n\ndata: a\n\n", &[message("a")]);
    check("\u{feff}data: a\n\n", &[message("a")]);
    check("\u{feff}\u{feff}data: a\n\n", &[]);
    check("data: \u{feff}a\n\n", &[message("\u{feff}a")]);
    check("data: a\0b\u{b}c\n\n", &[message("a\0b\u{b}c")]);
}

#[test]
fn an_id_counts_from_the_end_of_its_event_and_retry_at_once() {
    let check = |stream: &str, id: Option<&str>, retry: Option<u64>| {
        let (_, decoder) = decoded(stream.as_bytes(), 64);
        assert_eq!(decoder.last_event_id(), id.map(str::as_bytes), "{stream:?}");
        assert_eq!(
            decoder.retry(),
            retry.map(Duration::from_millis),
            "{stream:?}"
        );
    };
    check("", None, None);
    check("id: 1\n", None, None);
    check("id: 1\n\n", Some("1"), None);
    check("id: 1\ndata: a\n\nid: 2\ndata: b\n", Some("1"), None);
    check("id: 1\ndata: a\n\ndata: b\n\n", Some("1"), None);
    check("id: 1\n\nid\n\n", None, None);
    check("id: 1\n\nid: 2\0\n\n", Some("1"), None);
    check("id:  ü\n\n", Some(" ü"), None);
    check("retry: 250\n", None, Some(250));
    check("retry: 0\n", None, Some(0));
    check("retry: 250", None, None);
    check(
        "retry: 250\nretry: 2.5\nretry: -1\nretry: +1\nretry:\n",
        None,
        Some(250),
    );
    check("retry: 99999999999999999999999999\n", None, None);
    let long = "x".repeat(MAX_EVENT_ID_BYTES);
    check(&format!("id: {long}\n\n"), Some(&long), None);
    check(&format!("id: 1\n\nid: {long}x\n\n"), None, None);
}

#[test]
fn an_event_that_is_too_long_is_told_once_and_the_next_one_is_read() {
    let check = |stream: &str, events: &[SseEvent]| {
        assert_eq!(decoded(stream.as_bytes(), 4).0, events, "{stream:?}");
    };
    let too_long = || SseEvent::Unread(DiscardReason::TooLong);
    check("data: 1234\n\n", &[message("1234")]);
    check("data: 12345", &[too_long()]);
    check(
        "data: 12345\ndata: 12345\n\ndata: 1\n\n",
        &[too_long(), message("1")],
    );
    check("data: 12\ndata: 3\n\n", &[message("12\n3")]);
    check("data: 12\ndata: 34\n\n", &[too_long()]);
    check(
        "data: 1234\ndata\n\ndata: 1\n\n",
        &[too_long(), message("1")],
    );
    check(
        "event: x\ndata: 12345\n\ndata: 1\n\n",
        &[too_long(), message("1")],
    );
    let (_, decoder) = decoded(b"id: 7\ndata: 12345\n\n", 4);
    assert_eq!(decoder.last_event_id(), Some(&b"7"[..]));
}

#[test]
fn what_has_no_end_takes_bounded_memory() {
    for head in [
        "data: ",
        ":",
        "x",
        "id: ",
        "event: ",
        "retry: ",
        "unknown: ",
    ] {
        let mut decoder = SseDecoder::new(1 << 20);
        let mut reported = 0;
        let mut feed = |decoder: &mut SseDecoder, mut bytes: &[u8]| {
            while decoder.next(&mut bytes).is_some() {
                reported += 1;
            }
        };
        feed(&mut decoder, head.as_bytes());
        for _ in 0..64 {
            feed(&mut decoder, &vec![b'1'; 1 << 16]);
            assert!(decoder.memory() <= (2 << 20) + (4 << 10), "{head}");
        }
        assert_eq!(reported, usize::from(head == "data: "), "{head}");
    }
}

proptest! {
    #[test]
    fn however_a_stream_is_cut_its_events_are_the_same(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "data", "event", "id", "retry", ":", ": ", " ", "\r", "\n", "\r\n", "\n\n", "\0",
                "\u{feff}", "message", "7", "12", "x", "ü", "data: a\n\n", "id: 1\n", "longer data",
            ]),
            0..40,
        ),
        chunks in prop::collection::vec(1_u8..9, 1..8),
        max_bytes in 0_u8..16,
    ) {
        let mut input = vec![max_bytes, u8::try_from(chunks.len()).unwrap()];
        input.extend(chunks);
        input.extend(parts.concat().bytes());
        oracle::sse(&input);
    }
}
