//! What a message's headers say, made from what the gate knows of it, never copied.

use std::collections::BTreeMap;

use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use secrecy::SecretString;

use crate::gate::{Carried, UserProof, apart};
use crate::secret;
use crate::wire::{
    AgentToken, Era, KnownMethod, Limits, Message, Mirrors, OutgoingTrace, header_value,
};

use super::failure::Failure;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const IDENTITY_HEADER: HeaderName = HeaderName::from_static("mcp-protector-identity");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// A longer session id is not one that anybody means well with.
const MAX_SESSION_ID: usize = 1024;

/// What a server said of the session in its answer to `initialize`.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Marked as sensitive: whoever has it is in the session.
    session: Option<HeaderValue>,
    revision: Option<HeaderValue>,
}

impl Known {
    /// The session id of an answer; `Err` if it has one that cannot be repeated (MCP 2025-11-25:
    /// visible ASCII).
    pub(super) fn session_of(answer: &HeaderMap) -> Result<Option<HeaderValue>, Failure> {
        let mut ids = answer.get_all(SESSION_ID).iter();
        let Some(id) = ids.next() else {
            return Ok(None);
        };
        let visible = id.as_bytes().iter().all(u8::is_ascii_graphic);
        if !visible || id.is_empty() || id.len() > MAX_SESSION_ID || ids.next().is_some() {
            return Err(Failure::bad("its session id is malformed"));
        }
        // A clone would keep the buffer of the whole answer.
        let copy = HeaderValue::from_bytes(id.as_bytes());
        let mut id = copy.map_err(|_| Failure::bad("its session id is malformed"))?;
        id.set_sensitive(true);
        Ok(Some(id))
    }

    /// A session without an id begins too: what was known of another is forgotten.
    pub(super) fn begin(&mut self, session: Option<HeaderValue>) {
        *self = Self {
            session,
            revision: None,
        };
    }

    pub(super) fn negotiated(&mut self, revision: &str) {
        self.revision = HeaderValue::from_str(revision).ok();
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Those of a message within the session, of a GET and of a DELETE.
    fn within(&self, headers: &mut HeaderMap) {
        if let Some(session) = &self.session {
            headers.insert(SESSION_ID, session.clone());
        }
        if let Some(revision) = &self.revision {
            headers.insert(PROTOCOL_VERSION, revision.clone());
        }
    }

    pub(super) fn of_end(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        self.within(&mut headers);
        headers
    }

    /// Those of a GET for a stream, which goes on after an event if one is named.
    pub(super) fn of_stream(&self, after: Option<&HeaderValue>) -> HeaderMap {
        let mut headers = self.of_end();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(after) = after {
            headers.insert(LAST_EVENT_ID, after.clone());
        }
        headers
    }

    /// Those of a POST.
    pub(super) fn of_message(&self, carried: &Carried) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (method, name, revision) = match carried {
            Carried::Request {
                method,
                name,
                revision,
                ..
            } => (*method, name.as_deref(), revision.as_deref()),
            Carried::Notification {
                method, revision, ..
            } => (*method, None, revision.as_deref()),
            Carried::Reply { .. } => {
                self.within(&mut headers);
                return Ok(headers);
            }
        };
        let Some(revision) = revision else {
            // The first message of a session belongs to none.
            if method != KnownMethod::Initialize {
                self.within(&mut headers);
            }
            return Ok(headers);
        };
        let revision = HeaderValue::from_str(revision)
            .map_err(|_| Failure::bad("no header can hold the message's revision"))?;
        headers.insert(PROTOCOL_VERSION, revision);
        headers.insert(METHOD, HeaderValue::from_static(method.name()));
        if let Some(name) = name {
            headers.insert(NAME, encoded(name));
        }
        Ok(headers)
    }
}

/// The era that a message is spoken in: the later one says its revision in each.
pub(super) fn era(carried: &Carried) -> Era {
    let revision = match carried {
        Carried::Request { revision, .. } | Carried::Notification { revision, .. } => revision,
        Carried::Reply { .. } => return Era::Legacy,
    };
    match revision {
        Some(_) => Era::Stateless,
        None => Era::Legacy,
    }
}

/// Adds the arguments that the called tool wants repeated, as far as its list is known: the gate asks
/// for one before the first call.
pub(super) fn mirror(
    headers: &mut HeaderMap,
    mirrors: &Mirrors,
    carried: &Carried,
    line: &str,
    limits: &Limits,
) {
    let Carried::Request {
        method: KnownMethod::ToolsCall,
        name: Some(name),
        revision: Some(_),
        ..
    } = carried
    else {
        return;
    };
    let Some(of_tool) = mirrors.of_tool(name) else {
        return;
    };
    // What the gate permitted can be read; if it could not, the server would say what is missing.
    let decode = || Message::decode(line.as_bytes(), limits);
    let Ok(call) = apart::work(line.len(), decode) else {
        return;
    };
    for mirror in &*of_tool {
        if let Some(value) = mirror.value(&call)
            && let Ok(name) = HeaderName::from_bytes(mirror.header().as_bytes())
        {
            headers.insert(name, encoded(&value));
        }
    }
}

/// Adds what the gate says of the trace (W3C Trace Context). Of what the agent said in its own headers
/// only the state of that trace goes further than the gate.
pub(super) fn go_on(headers: &mut HeaderMap, trace: Option<&OutgoingTrace>) {
    let Some(OutgoingTrace { context, state }) = trace else {
        return;
    };
    // Digits and dashes, which every header holds; and of the state nothing else was read.
    let mut say = |name, text: String| {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(name, value);
        }
    };
    say(TRACEPARENT, context.to_string());
    if let Some(state) = state {
        say(TRACESTATE, state.to_string());
    }
}

/// The agent's token that is exchanged for what the server gets.
pub(super) fn subject(proof: Option<&UserProof>) -> Option<&AgentToken> {
    match proof {
        Some(UserProof::Subject(token)) => Some(token),
        Some(UserProof::Assertion(_) | UserProof::Token(_)) | None => None,
    }
}

/// Adds the assertion or the agent's token; `now` is seconds since 1970. The gate forwards no other header of
/// the agent.
pub(super) fn identify(
    headers: &mut HeaderMap,
    proof: Option<&UserProof>,
    now: i64,
) -> Result<(), Failure> {
    let (name, value) = match proof {
        // A subject is exchanged for what the server gets.
        None | Some(UserProof::Subject(_)) => return Ok(()),
        Some(UserProof::Assertion(voucher)) => {
            let text = voucher.assertion();
            let text = text.map_err(|cause| Failure::bad(format!("nothing was asked: {cause}")))?;
            (IDENTITY_HEADER, HeaderValue::from_str(&text).ok())
        }
        Some(UserProof::Token(token)) if !token.is_valid_at(now) => {
            return Err(Failure::bad(
                "nothing was asked: the user's token has expired",
            ));
        }
        Some(UserProof::Token(token)) => (AUTHORIZATION, secret::header("Bearer ", token.text())),
    };
    let mut value = value.ok_or_else(|| Failure::bad("no header can hold the user's token"))?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

/// Those of the configuration, each marked as sensitive; `None` if no header can hold one.
pub(super) fn configured(written: &BTreeMap<String, SecretString>) -> Option<HeaderMap> {
    let headers = written.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, secret::header("", value)?))
    });
    headers.collect()
}

/// A value that a header holds.
fn encoded(value: &str) -> HeaderValue {
    // INVARIANT: it is visible ASCII and spaces, so that there is nothing to refuse.
    HeaderValue::from_str(&header_value(value)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_plain_text_is_sent_as_base64() {
        let check = |name: &str, header: &str| assert_eq!(encoded(name), header, "{name:?}");
        check("read_file", "read_file");
        check("two words", "two words");
        check("file:///a%20b", "file:///a%20b");
        check("", "");
        check(" a", "=?base64?IGE=?=");
        check("a ", "=?base64?YSA=?=");
        check("a\tb", "=?base64?YQli?=");
        check("a\r\nx: y", "=?base64?YQ0KeDogeQ==?=");
        check("größe", "=?base64?Z3LDtsOfZQ==?=");
        check("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
        check("=?base64?", "=?base64?");
    }

    #[test]
    fn a_token_is_shown_until_it_expires_and_in_no_debug_output() {
        let token = AgentToken::new("a-canary".to_owned().into(), vec!["s".into()], 100);
        let proof = UserProof::Token(token);
        for (now, shown) in [(0, true), (99, true), (100, false)] {
            let mut headers = HeaderMap::new();
            let identified = identify(&mut headers, Some(&proof), now);
            assert_eq!(identified.is_ok(), shown, "{now}");
            let value = headers.get(AUTHORIZATION);
            let expected = shown.then_some("Bearer a-canary");
            assert_eq!(value.map(|it| it.to_str().unwrap()), expected, "{now}");
            assert!(!format!("{proof:?} {headers:?} {identified:?}").contains("a-canary"));
        }
        let mut headers = HeaderMap::new();
        assert!(identify(&mut headers, None, 0).is_ok());
        assert!(headers.is_empty());
    }

    #[test]
    fn a_session_id_that_cannot_be_repeated_is_refused() {
        let check = |ids: &[&[u8]], fine: bool| {
            let mut answer = HeaderMap::new();
            for id in ids {
                answer.append(SESSION_ID, HeaderValue::from_bytes(id).unwrap());
            }
            assert_eq!(Known::session_of(&answer).is_ok(), fine, "{ids:?}");
        };
        check(&[], true);
        check(&[b"abc-1.2_~!"], true);
        check(&[b""], false);
        check(&[b"a b"], false);
        check(&[b"\xFF"], false);
        check(&[b"a", b"b"], false);
        check(&[&[b'a'; MAX_SESSION_ID]], true);
        check(&[&[b'a'; MAX_SESSION_ID + 1]], false);
    }
}
