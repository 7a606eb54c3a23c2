//! What must hold for any bytes at all. The fuzz targets call these functions too, so that what a
//! fuzzer finds is reproduced by a seed file and a normal test.

#![expect(
    clippy::disallowed_methods,
    reason = "serde_json is the oracle that this decoder is compared with"
)]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};

use crate::wire::{
    DiscardReason, Document, EventKind, Fragment, Id, JsonErrorKind, JsonKind, Limits, LineFrame,
    LineReader, MAX_EVENT_ID_BYTES, Message, Method, Mirror, MirrorMismatchKind, MirroredHeaders,
    MirroredValue, Outcome, Shape, SseDecoder, SseEvent, TraceContext, TraceState, Value,
    header_value, of_header_value,
};

/// What we accept serde_json reads the same way; what it accepts we refuse only for our own rules.
pub(crate) fn strict_vs_serde(input: &[u8]) {
    let ours = Document::decode(input, &Limits::default());
    let theirs = serde_json::from_slice::<serde_json::Value>(input);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(tree(ours.root()), theirs),
        // It turns numbers into doubles and has none for this one; we keep the text.
        (Ok(_), Err(theirs)) => {
            assert!(
                theirs.to_string().starts_with("number out of range"),
                "only we accept: {theirs}"
            );
        }
        (Err(ours), Ok(_)) => assert!(
            matches!(
                ours.kind,
                JsonErrorKind::DuplicateKey { .. }
                    | JsonErrorKind::ControlInKey { .. }
                    | JsonErrorKind::TooDeep { .. }
                    | JsonErrorKind::TooManyNodes { .. }
                    | JsonErrorKind::TooLarge { .. }
            ),
            "only we refuse: {ours}"
        ),
        (Err(_), Err(_)) => {}
    }
}

/// What headers repeat of a call is what the call says, and nothing else is. The first line of the input is
/// a tool, the second a call of it, the rest the value of a header.
pub(crate) fn mirrors(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut parts = text.splitn(3, '\n');
    let [tool, call, header] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let read = of_header_value(header);
    for value in read.iter().map(String::as_str).chain([header]) {
        let sent = header_value(value);
        assert!(
            sent.bytes().all(|byte| matches!(byte, b' '..=b'~')),
            "{sent:?}"
        );
        assert_eq!(sent.trim(), sent, "{value:?}");
        assert_eq!(of_header_value(&sent).as_deref(), Some(value));
    }
    let tool = Document::decode(tool.as_bytes(), &Limits::default());
    let call = Message::decode(call.as_bytes(), &Limits::default());
    let (Ok(tool), Ok(call)) = (tool, call) else {
        return;
    };
    let Ok(all) = Mirror::of_definition(tool.root()) else {
        return;
    };
    for mirror in &*all {
        let name = mirror.header();
        assert!(name.starts_with(Mirror::PREFIX) && name == name.to_ascii_lowercase());
        assert_eq!(all.iter().filter(|it| it.header() == name).count(), 1);
        let said = |said: Option<MirroredValue>| {
            let said = said.map(|said| (Box::from(name), said));
            said.into_iter()
                .collect::<MirroredHeaders>()
                .repeats(mirror, &call)
                .map_err(|unrepeated| unrepeated.how)
        };
        assert_eq!(
            said(Some(MirroredValue::Twice)),
            Err(MirrorMismatchKind::Twice)
        );
        assert_eq!(
            said(Some(MirroredValue::Unreadable)),
            Err(MirrorMismatchKind::Unreadable)
        );
        let once = |text: &str| said(Some(MirroredValue::Once(text.into())));
        let Some(value) = mirror.value(&call) else {
            assert_eq!(said(None), Ok(()));
            assert_eq!(once(header), Err(MirrorMismatchKind::Differs));
            continue;
        };
        assert_eq!(said(None), Err(MirrorMismatchKind::Missing));
        let sent = of_header_value(&header_value(&value));
        assert_eq!(once(&sent.expect("what is sent is read")), Ok(()));
        assert!(*value != *header || once(header).is_ok());
        if *value != *header && once(header).is_ok() {
            assert_same_number(&value, header);
        }
    }
}

fn assert_same_number(value: &str, header: &str) {
    for text in [value, header] {
        let read = Document::decode(text.as_bytes(), &Limits::default());
        let is_number = read.is_ok_and(|it| it.root().as_number().is_some());
        assert!(is_number, "{value:?} {header:?}");
    }
    let doubles = [value, header].map(|text| text.parse::<f64>().ok());
    assert!(
        matches!(doubles, [left, right] if left == right),
        "{doubles:?}"
    );
    let whole = [value, header].map(|text| text.parse::<i128>().ok());
    assert!(
        !matches!(whole, [Some(left), Some(right)] if left != right),
        "{whole:?}"
    );
}

/// The compact text is the input without whitespace between tokens, one line, and decodes to
/// itself with every value in its place.
pub(crate) fn canonical_roundtrip(input: &[u8]) {
    let Ok(document) = Document::decode(input, &Limits::default()) else {
        return;
    };
    let text = document.text();
    assert_eq!(text.as_bytes(), without_whitespace(input));
    assert!(!text.contains(['\n', '\r']), "one line");
    let again = Document::decode(text.as_bytes(), &Limits::default()).expect("decodes again");
    assert_eq!(again.text(), text);
    assert_same(document.root(), again.root());
    // A subtree's text is a document of its own, and nothing is lost in rebuilding from the parts.
    let rebuilt = Document::decode(
        rebuild(document.root()).as_str().as_bytes(),
        &Limits::default(),
    );
    assert_eq!(
        plain(rebuilt.expect("rebuilds").root()),
        plain(document.root())
    );
}

/// A message is exactly what its envelope says to a decoder that knows nothing of ours.
pub(crate) fn envelope(input: &[u8]) {
    let message = match Message::decode(input, &Limits::default()) {
        Ok(message) => message,
        Err(error) => {
            assert!([-32700, -32600, -32602].contains(&error.code()));
            assert!(!error.reason_code().is_empty());
            assert!(!error.to_string().contains(char::is_control), "{error}");
            assert!(error.offset.is_none_or(|offset| offset <= input.len()));
            if let Some(id) = error.id {
                assert_eq!(
                    json_id(&serde_json::from_str(id.json()).expect("an id is JSON")),
                    Some(id)
                );
            }
            return;
        }
    };
    assert_eq!(message.text().as_bytes(), without_whitespace(input));
    let Ok(tree) = serde_json::from_slice::<serde_json::Value>(input) else {
        return;
    };
    assert_eq!(tree["jsonrpc"], "2.0");
    assert_eq!(message.method().map(Method::name), tree["method"].as_str());
    assert_eq!(message.id().cloned(), tree.get("id").and_then(json_id));
    let has = |key| tree.get(key).is_some();
    let shape = (has("method"), has("id"), has("result"), has("error"));
    match message.shape() {
        Shape::Request { .. } => assert_eq!(shape, (true, true, false, false)),
        Shape::Notification { .. } => assert_eq!(shape, (true, false, false, false)),
        Shape::Reply {
            outcome: Outcome::Result,
            ..
        } => {
            assert_eq!(shape, (false, true, true, false));
        }
        Shape::Reply {
            outcome: Outcome::Error,
            ..
        } => {
            assert_eq!((shape.0, shape.2, shape.3), (false, false, true));
        }
    }
    for (value, key) in [
        (message.params(), "params"),
        (message.result(), "result"),
        (message.error(), "error"),
        (message.id_value(), "id"),
    ] {
        assert_eq!(value.map(self::tree).as_ref(), tree.get(key));
    }
    if let Some(known) = message.method().and_then(Method::known) {
        let _ = known
            .check_params(message.params())
            .map_err(|error| error.to_string());
    }
    if let Some(id) = message.id_value() {
        let mut edits = message.edits();
        edits.replace(id, Fragment::unsigned(7));
        let edited = Message::decode(edits.finish().as_bytes(), &Limits::default());
        assert_eq!(edited.expect("still a message").id(), Some(&Id::integer(7)));
    }
}

/// Frames are what splitting at LF gives, whatever the sizes of the reads. The first two bytes
/// choose the longest line and the size of a read.
pub(crate) fn frame_stdio(input: &[u8]) {
    let [max_bytes, chunk, stream @ ..] = input else {
        return;
    };
    let max_bytes = usize::from(*max_bytes);
    let expected: Vec<Option<&[u8]>> = stream
        .split(|&byte| byte == b'\n')
        .map(|line| (line.len() <= max_bytes).then_some(line))
        .filter(|line| line.is_none_or(|line| !line.iter().all(u8::is_ascii_whitespace)))
        .collect();
    let trickle = Trickle {
        rest: stream,
        chunk: usize::from(*chunk).max(1),
        pause: false,
    };
    let mut reader = LineReader::new(trickle, max_bytes);
    for expected in expected {
        let frame = next_frame(&mut reader).expect("a frame");
        assert_eq!(frame.as_deref(), expected);
        if let Some(line) = frame {
            let _ = Message::decode(&line, &Limits::default());
        }
    }
    assert_eq!(next_frame(&mut reader), None);
    assert_eq!(next_frame(&mut reader), None);
}

/// A line, or none for one that is too long. Each call of `next` is given up at its first pause,
/// so nothing may be lost with it.
#[expect(clippy::option_option, reason = "no frame, an over-long one, a line")]
fn next_frame(reader: &mut LineReader<Trickle<'_>>) -> Option<Option<Vec<u8>>> {
    loop {
        let mut context = Context::from_waker(Waker::noop());
        let next = std::pin::pin!(reader.next());
        if let Poll::Ready(frame) = next.poll(&mut context) {
            return frame.expect("no fault").map(|frame| match frame {
                LineFrame::Line(line) => Some(line.to_vec()),
                LineFrame::Unread(_) | LineFrame::Answered(..) => None,
            });
        }
    }
}

/// The tree that serde_json would have made. Numbers go through its own parser.
pub(crate) fn tree(value: Value<'_>) -> serde_json::Value {
    match value.kind() {
        JsonKind::Null => serde_json::Value::Null,
        JsonKind::Bool => value.as_bool().expect("a boolean").into(),
        JsonKind::Number => serde_json::from_str(value.text()).expect("a number"),
        JsonKind::String => value.as_str().expect("a string").into_owned().into(),
        JsonKind::Array => value.items().map(tree).collect(),
        JsonKind::Object => value
            .entries()
            .map(|(key, value)| (key.into_owned(), tree(value)))
            .collect(),
    }
}

/// The tree with numbers as text, for comparing what no double holds.
fn plain(value: Value<'_>) -> serde_json::Value {
    match value.kind() {
        JsonKind::Number => serde_json::json!({ "number": value.as_number() }),
        JsonKind::Array => value.items().map(plain).collect(),
        JsonKind::Object => value
            .entries()
            .map(|(key, value)| (key.into_owned(), plain(value)))
            .collect(),
        JsonKind::Null | JsonKind::Bool | JsonKind::String => tree(value),
    }
}

fn rebuild(value: Value<'_>) -> Fragment {
    match value.kind() {
        JsonKind::Null | JsonKind::Bool | JsonKind::Number => Fragment::copy_of(value),
        JsonKind::String => Fragment::string(&value.as_str().expect("a string")),
        JsonKind::Array => Fragment::array(value.items().map(rebuild)),
        JsonKind::Object => {
            let members: Vec<_> = value
                .entries()
                .map(|(key, value)| (key, rebuild(value)))
                .collect();
            Fragment::object(members.iter().map(|(key, value)| (&**key, value.clone())))
        }
    }
}

fn assert_same(one: Value<'_>, other: Value<'_>) {
    assert_eq!(
        (one.kind(), one.text(), one.range()),
        (other.kind(), other.text(), other.range())
    );
    assert_eq!((one.key(), one.len()), (other.key(), other.len()));
    for (one, other) in one.items().zip(other.items()) {
        assert_same(one, other);
    }
    for ((key, one), (_, other)) in one.entries().zip(other.entries()) {
        assert_eq!(one.key(), Some(key));
        assert_same(one, other);
    }
}

/// An independent account of what compact text is.
fn without_whitespace(input: &[u8]) -> Vec<u8> {
    let mut in_string = false;
    let mut after_backslash = false;
    let mut keep = |byte: u8| {
        let kept = in_string || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        if byte == b'"' && !after_backslash {
            in_string = !in_string;
        }
        after_backslash = in_string && byte == b'\\' && !after_backslash;
        kept
    };
    input.iter().copied().filter(|&byte| keep(byte)).collect()
}

/// The id that a tree holds, by other means than ours; no id for what must be refused.
fn json_id(value: &serde_json::Value) -> Option<Id> {
    let frame = match value {
        serde_json::Value::Number(number) => {
            let number = number
                .as_i64()
                .filter(|number| number.unsigned_abs() < 1 << 53)?;
            format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{}}}}"#)
        }
        serde_json::Value::String(text) => {
            let text = serde_json::to_string(text).expect("a string is JSON");
            format!(r#"{{"jsonrpc":"2.0","id":{text},"result":{{}}}}"#)
        }
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => return None,
    };
    Message::decode(frame.as_bytes(), &Limits::default())
        .ok()?
        .id()
        .cloned()
}

/// A stream that hands over `chunk` bytes at a time and pauses before each.
struct Trickle<'i> {
    rest: &'i [u8],
    chunk: usize,
    pause: bool,
}

impl AsyncRead for Trickle<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.pause = !self.pause;
        if self.pause {
            return Poll::Pending;
        }
        let size = self.chunk.min(buffer.remaining()).min(self.rest.len());
        let (now, later) = self.rest.split_at(size);
        buffer.put_slice(now);
        self.rest = later;
        Poll::Ready(Ok(()))
    }
}

/// Events are what the whole text gives to a reader that follows the standard step by step,
/// whatever the sizes of the reads. The input begins with the limit, how many sizes there are, and
/// these sizes, used in turn.
pub(crate) fn sse(input: &[u8]) {
    let [max_bytes, count, rest @ ..] = input else {
        return;
    };
    let max_bytes = usize::from(*max_bytes);
    let Some((sizes, mut stream)) = rest.split_at_checked(usize::from(*count)) else {
        return;
    };
    let (expected, expected_id, expected_retry) = plain_sse(stream, max_bytes);
    let mut decoder = SseDecoder::new(max_bytes);
    let mut events = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !stream.is_empty() {
        let size = sizes.next().map_or(stream.len(), |&size| usize::from(size));
        let (mut chunk, rest) = stream.split_at(size.clamp(1, stream.len()));
        while let Some(event) = decoder.next(&mut chunk) {
            events.push(event);
        }
        assert!(chunk.is_empty(), "all is taken");
        stream = rest;
    }
    // An event without its end may have been too long already.
    if events.len() == expected.len() + 1 {
        assert_eq!(events.pop(), Some(SseEvent::Unread(DiscardReason::TooLong)));
    }
    assert_eq!(events, expected);
    assert_eq!(decoder.last_event_id().unwrap_or_default(), expected_id);
    assert_eq!(decoder.retry(), expected_retry.map(Duration::from_millis));
}

/// The standard's algorithm over a whole text: events, last event id, reconnection time.
fn plain_sse(stream: &[u8], max_bytes: usize) -> (Vec<SseEvent>, Vec<u8>, Option<u64>) {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    // Only what has its line end is a line. Latin-1 keeps bytes as they are.
    let text: String = stream.iter().map(|&byte| char::from(byte)).collect();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();
    let bytes = |text: &str| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
    let (mut events, mut retry) = (Vec::new(), None);
    let (mut id, mut last_id) = (String::new(), String::new());
    let (mut kind, mut data) = ("", Vec::new());
    for line in lines {
        if line.is_empty() {
            last_id.clone_from(&id);
            let lines: Vec<&str> = std::mem::take(&mut data);
            let whole = bytes(&lines.join("\n"));
            let kind = match std::mem::take(&mut kind) {
                "" | "message" => EventKind::Message,
                _ => EventKind::Other,
            };
            if whole.len() > max_bytes {
                events.push(SseEvent::Unread(DiscardReason::TooLong));
            } else if !lines.is_empty() {
                events.push(SseEvent::Event { kind, data: whole });
            }
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => data.push(value),
            "event" => kind = value,
            "id" if value.contains('\0') => {}
            "id" if value.chars().count() > MAX_EVENT_ID_BYTES => id.clear(),
            "id" => value.clone_into(&mut id),
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                retry = value.parse().ok().or(retry);
            }
            _ => {}
        }
    }
    (events, bytes(&last_id), retry)
}

/// What is read of a trace is what goes on, in its one spelling.
pub(crate) fn trace(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Some(context) = TraceContext::parse(&text) {
        let told = context.to_string();
        assert_eq!(TraceContext::parse(&told), Some(context), "{text:?}");
        // A later version may say more, which is not passed on.
        assert_eq!(told.get(3..52), text.get(3..52), "{text:?}");
    }
    if let Some(state) = TraceState::parse(text.split('\n')) {
        let told = state.as_str();
        assert_eq!(TraceState::parse([told]).as_ref(), Some(&state), "{text:?}");
        let is_printed = |byte: u8| matches!(byte, b' '..=b'~');
        assert!(
            told.len() <= 512 && told.bytes().all(is_printed),
            "{told:?}"
        );
        assert!(told.split(',').count() <= 32, "{told:?}");
    }
}
