//! hyper itself sees what was judged: the same end of each request.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::heads::hostile;
use crate::inward::head::{Rest, Scanned, Scanner};
use crate::inward::oracle::LIMITS;

/// The paths and the lengths of the bodies of what hyper takes for requests.
async fn seen(bytes: &[u8]) -> Vec<(String, usize)> {
    let (mut near, far) = tokio::io::duplex(1 << 16);
    let all = Arc::new(Mutex::new(Vec::new()));
    let service = service_fn(|request: Request<Incoming>| {
        let all = Arc::clone(&all);
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await;
            let length = body.map_or(usize::MAX, |it| it.to_bytes().len());
            all.lock().unwrap().push((path, length));
            let answer = Response::builder().status(404).body(Empty::<Bytes>::new());
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    near.write_all(bytes).await.unwrap();
    near.shutdown().await.unwrap();
    let serving = http1::Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(far), service);
    let mut answers = Vec::new();
    let (_, read) = tokio::join!(serving, near.read_to_end(&mut answers));
    read.unwrap();
    let all = all.lock().unwrap();
    all.clone()
}

/// Whether a head was taken; if so hyper must find its end, and what comes after it.
fn check(input: &[u8]) -> bool {
    let Ok(Scanned::Whole { head, body }) = Scanner::new(LIMITS).scan(input) else {
        return false;
    };
    let mut bytes = input[..head].to_vec();
    let body = match body {
        Rest::Tunnel => panic!("requests are for the listener itself"),
        Rest::Bytes(body) => {
            let body = usize::try_from(body).unwrap();
            bytes.resize(head + body, b'!');
            body
        }
        Rest::Chunks(mut chunks) => {
            let body = b"1\r\n!\r\n0A\r\n0\r\n\r\n0\r\n\r\n\r\n00\r\n\r\n";
            assert_eq!(chunks.take(body), Ok(Some(body.len())));
            bytes.extend(body);
            11
        }
    };
    bytes.extend(b"GET /after HTTP/1.1\r\nHost: a\r\n\r\n");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let seen = runtime.unwrap().block_on(seen(&bytes));
    let shown = String::from_utf8_lossy(input);
    let closes = shown.contains("Connection: close") || shown.contains("HTTP/1.0");
    let lengths: Vec<usize> = seen.iter().map(|(_, length)| *length).collect();
    // What says that it closes and that it does not may do either.
    let expected: &[usize] = if closes && lengths.len() == 1 {
        &[body]
    } else {
        &[body, 0]
    };
    assert_eq!(lengths, expected, "{shown:?}");
    assert!(
        seen.get(1).is_none_or(|it| it.0 == "/after"),
        "{shown:?}: {seen:?}"
    );
    true
}

#[test]
fn a_head_that_is_taken_begins_and_ends_where_hyper_says() {
    for (head, taken) in [
        ("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", true),
        ("\r\nPOST / HTTP/1.1\r\nContent-Length:\t5 \r\n\r\n", true),
        ("HEAD * HTTP/1.1\r\nX:\r\n\r\n", true),
        ("CONNECT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\n", true),
        (
            "GET http://[::1]:1/a HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
            true,
        ),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            true,
        ),
        (
            "POST / HTTP/1.1\r\ntransfer-encoding:\tchunked \r\nExpect: 100-continue\r\n\r\n",
            true,
        ),
        ("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n", true),
        (
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            false,
        ),
    ] {
        assert_eq!(check(head.as_bytes()), taken, "{head:?}");
    }
}

proptest! {
    #[test]
    fn hyper_sees_one_request_in_whatever_is_taken(head in hostile()) {
        check(&head);
    }
}
