//! A scenario played against a server or a gate before it, and what each side got to read.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use super::peer::Peer;

/// What the agent does next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'s> {
    /// Sends a request and reads up to its answer.
    Ask(&'s str),
    /// Sends what gets no answer, or gets it later.
    Tell(&'s str),
    /// Reads up to a line that holds this text, unless one has come since the last message was sent.
    Hear(&'s str),
}

/// The lines that each side received, in order.
#[derive(Debug)]
pub(crate) struct Transcript {
    pub(crate) agent: Vec<String>,
    /// Empty where the server does not write down what it receives.
    pub(crate) server: Vec<String>,
}

/// Plays a scenario to its end; `log` is where the server writes down what it receives.
pub(crate) fn play(command: Command, log: &Path, steps: &[Step<'_>]) -> Transcript {
    let mut peer = Peer::start(command);
    let mut sent = 0;
    for step in steps {
        match step {
            Step::Tell(line) => {
                sent = peer.seen.len();
                peer.send(line);
            }
            Step::Ask(line) => {
                sent = peer.seen.len();
                peer.send(line);
                let id = value(line, "id");
                assert!(id.is_some(), "{line}");
                read(&mut peer, |got| {
                    value(got, "method").is_none() && value(got, "id") == id
                });
            }
            Step::Hear(text) => {
                if !peer.seen[sent..].iter().any(|got| got.contains(text)) {
                    read(&mut peer, |got| got.contains(text));
                }
            }
        }
    }
    let ended = peer.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let server = fs::read_to_string(log).unwrap_or_default();
    Transcript {
        agent: ended.lines,
        server: server.lines().map(str::to_owned).collect(),
    }
}

impl Transcript {
    /// Each side got the same through a gate as without one: the same bytes in the same order. Only
    /// the ids of requests are the gate's own, on the side that did not choose them; and the gate
    /// may have asked the server for its tools.
    ///
    /// Answers are compared with answers, and what the server said unasked with the same: servers
    /// that work on several things at once mix the two as it happens.
    pub(crate) fn is_same_as(&self, direct: &Self) {
        let kinds = |transcript: &Self| -> [Vec<String>; 2] {
            let lines = transcript.agent.iter().map(|line| masked(&kept(line)));
            let (unasked, answers) = lines.partition(|line| value(line, "method").is_some());
            [answers, unasked]
        };
        for (got, expected) in kinds(self).into_iter().zip(kinds(direct)) {
            for (at, (line, expected)) in got.iter().zip(&expected).enumerate() {
                assert_eq!(line, expected, "line {at} to the agent");
            }
            assert_eq!(
                got.len(),
                expected.len(),
                "{got:#?}\nand without: {expected:#?}"
            );
        }
        let mut expected = direct.server.iter();
        for line in &self.server {
            let line = masked(line);
            let mut rest = expected.clone();
            match rest.next() {
                Some(next) if masked(next) == line => expected = rest,
                next => assert!(is_the_gates(&line), "{line}\nin place of\n{next:?}"),
            }
        }
        assert_eq!(expected.next(), None, "the server did not get it");
    }
}

/// The one word that a gate writes of its own: behind it no result is for everybody
/// (`docs/decisions/0012-headers-subscriptions-caches.md`).
fn kept(line: &str) -> String {
    line.replace(r#""cacheScope":"public""#, r#""cacheScope":"private""#)
}

fn read(peer: &mut Peer, mut is_last: impl FnMut(&str) -> bool) {
    loop {
        let line = peer.receive().map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("it ended: {:#?}", peer.seen));
        if let (Some(method), Some(id)) = (value(&line, "method"), value(&line, "id")) {
            let result = answer(method);
            peer.send(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
            ));
        }
        if is_last(&line) {
            return;
        }
    }
}

/// What the agent answers when a server asks.
fn answer(method: &str) -> &'static str {
    match method {
        r#""sampling/createMessage""# => {
            r#"{"role":"assistant","content":{"type":"text","text":"Reykjav\u00edk"},"model":"m","x":1.0}"#
        }
        r#""elicitation/create""# => r#"{"action":"accept","content":{"name":"Ada","quest":"\/"}}"#,
        r#""roots/list""# => r#"{"roots":[{"uri":"file:///srv/a%20b","name":"a"}]}"#,
        _ => "{}",
    }
}

/// Whether a line that the server received was made by the gate on its own behalf.
fn is_the_gates(masked: &str) -> bool {
    masked.starts_with(r#"{"jsonrpc":"2.0","id":#,"method":"tools/list","params":{"#)
}

/// A request or notification without the ids by which it is known; a reply as it is.
fn masked(line: &str) -> String {
    let Some(method) = value(line, "method") else {
        return line.to_owned();
    };
    let mut ranges = vec![member(line, "id")];
    if method == r#""notifications/cancelled""# {
        let params = member(line, "params").unwrap();
        let request = member(value(line, "params").unwrap(), "requestId");
        ranges.push(request.map(|it| params.start + it.start..params.start + it.end));
    }
    let mut ranges: Vec<Range<usize>> = ranges.into_iter().flatten().collect();
    ranges.sort_by_key(|range| range.start);
    let mut masked = line.to_owned();
    for range in ranges.into_iter().rev() {
        masked.replace_range(range, "#");
    }
    masked
}

/// The text of a member's value.
fn value<'o>(object: &'o str, key: &str) -> Option<&'o str> {
    object.get(member(object, key)?)
}

/// Where the value of a member of an object is, in JSON without blanks.
///
/// The texts are compared as texts, so this must not decode them; and it must not be the gate's
/// own decoder, which is what is tested.
fn member(object: &str, key: &str) -> Option<Range<usize>> {
    let bytes = object.as_bytes();
    let wanted = format!("\"{key}\"");
    let mut at = 1;
    while bytes.get(at) == Some(&b'"') {
        let key = at..value_end(bytes, at);
        let value = key.end + 1..value_end(bytes, key.end + 1);
        if object.get(key) == Some(&wanted) {
            return Some(value);
        }
        at = value.end + 1;
    }
    None
}

fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => {
                in_string = !in_string;
                if !in_string && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn only_the_ids_of_requests_are_masked() {
        let check = |line: &str, expected: &str| assert_eq!(masked(line), expected);
        check(
            r#"{"x":{"id":1},"jsonrpc":"2.0","id":"a\"}","method":"m","params":{"id":2}}"#,
            r#"{"x":{"id":1},"jsonrpc":"2.0","id":#,"method":"m","params":{"id":2}}"#,
        );
        check(
            r#"{"method":"notifications/cancelled","params":{"a":[1,{"requestId":3}],"requestId":4,"reason":"r"}}"#,
            r#"{"method":"notifications/cancelled","params":{"a":[1,{"requestId":3}],"requestId":#,"reason":"r"}}"#,
        );
        let reply = r#"{"jsonrpc":"2.0","id":7,"result":{"method":"m","id":-1.0}}"#;
        check(reply, reply);
    }
}
