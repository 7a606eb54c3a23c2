//! Finds the request that an unreadable reply answers: one that is too long, has too many values, or is
//! not valid JSON. Only used to end that request at once, and to
//! answer a request that the gate has discarded.

use std::ops::Range;

use super::id::MAX_ID_INTEGER;

/// Looks at the members of the outermost object as their bytes come, and keeps none of them.
#[derive(Debug, Default)]
pub(super) struct Skim {
    at: SkimState,
    /// Brackets that are open, below the outermost object.
    depth: usize,
    key: TokenPrefix,
    value: TokenPrefix,
    /// The value that comes is an id.
    is_id: bool,
    ids: usize,
    id: Option<u64>,
    outcomes: usize,
    methods: usize,
    /// It has a name that a peer could take for another.
    is_unclear: bool,
    /// Bytes before the one that is looked at.
    position: usize,
    /// Where the value that comes begins.
    begins: usize,
    id_stands: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SkimState {
    /// Before the object.
    #[default]
    Start,
    /// Where a name may begin.
    Name,
    InName,
    Colon,
    /// Where a value begins.
    Value,
    /// In a number or a word.
    Scalar,
    /// Between the brackets of a value.
    Inside,
    /// In a string that is a value, or within one.
    String,
    /// Behind a backslash of it.
    Escape,
    /// Behind a value.
    Next,
    /// The object is closed, or there is none.
    End,
}

/// The beginning of a name or a number.
#[derive(Debug, Default)]
struct TokenPrefix {
    bytes: [u8; 16],
    length: usize,
}

impl TokenPrefix {
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
        }
        // One that is longer than there is room for is none.
        self.length = self.length.saturating_add(1);
    }

    fn take(&mut self) -> Option<([u8; 16], usize)> {
        let length = std::mem::take(&mut self.length);
        (length <= self.bytes.len()).then_some((self.bytes, length))
    }
}

impl Skim {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut skim = Self::default();
        skim.feed(text);
        skim
    }

    /// The id of the request that the text answers, as far as it was seen.
    pub(super) fn answers(&self) -> Option<u64> {
        let is_reply = self.outcomes > 0 && self.methods == 0;
        self.id.filter(|_| is_reply && self.has_one_id())
    }

    /// Where the id stands of a request, as far as it was seen.
    pub(super) fn asks(&self) -> Option<Range<usize>> {
        let is_request = self.outcomes == 0 && self.methods == 1;
        (is_request && self.has_one_id()).then(|| self.id_stands.clone())
    }

    fn has_one_id(&self) -> bool {
        self.ids == 1 && !self.is_unclear
    }

    pub(super) fn feed(&mut self, text: &[u8]) {
        for byte in text {
            self.take(*byte);
            self.position = self.position.saturating_add(1);
        }
    }

    fn take(&mut self, byte: u8) {
        let is_space = byte.is_ascii_whitespace();
        match (self.at, byte) {
            // A byte order mark is no part of it.
            (SkimState::Start, b'{') => self.at = SkimState::Name,
            (SkimState::Start, 0xef | 0xbb | 0xbf) => {}
            (
                SkimState::Start
                | SkimState::Name
                | SkimState::Colon
                | SkimState::Value
                | SkimState::Next,
                _,
            ) if is_space => {}
            (SkimState::Name, b'"') => self.at = SkimState::InName,
            (SkimState::InName, b'"') => {
                self.at = SkimState::Colon;
                self.named();
            }
            (SkimState::InName, b'\\' | 0x80..) => {
                self.is_unclear = true;
                self.key.push(byte);
            }
            (SkimState::InName, _) => self.key.push(byte),
            (SkimState::Colon, b':') => self.at = SkimState::Value,
            (SkimState::Value, b'"') => {
                self.at = SkimState::String;
                self.begins = self.position;
                self.value.push(byte);
            }
            (SkimState::Value, b'{' | b'[') => {
                self.at = SkimState::Inside;
                self.begins = self.position;
                self.depth = 1;
                self.value.push(byte);
            }
            (SkimState::Scalar, b',' | b'}') => {
                self.member(self.position);
                self.at = SkimState::Next;
                self.take(byte);
            }
            (SkimState::Scalar, _) if is_space => {
                self.member(self.position);
                self.at = SkimState::Next;
            }
            (SkimState::Value | SkimState::Scalar, _) => {
                if self.at == SkimState::Value {
                    self.begins = self.position;
                }
                self.at = SkimState::Scalar;
                self.value.push(byte);
            }
            (SkimState::Inside, b'{' | b'[') => self.depth = self.depth.saturating_add(1),
            (SkimState::Inside, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                self.behind();
            }
            (SkimState::Inside, b'"') | (SkimState::Escape, _) => self.at = SkimState::String,
            (SkimState::String, b'\\') => self.at = SkimState::Escape,
            (SkimState::String, b'"') => self.behind(),
            (SkimState::Inside | SkimState::String | SkimState::End, _) => {}
            (SkimState::Next, b',') => self.at = SkimState::Name,
            (SkimState::Start | SkimState::Name | SkimState::Colon | SkimState::Next, _) => {
                self.at = SkimState::End;
            }
        }
    }

    /// A string or a bracket has ended.
    fn behind(&mut self) {
        if self.depth > 0 {
            self.at = SkimState::Inside;
        } else {
            self.at = SkimState::Next;
            self.member(self.position.saturating_add(1));
        }
    }

    /// A value has ended.
    fn member(&mut self, end: usize) {
        let value = self.value.take();
        if std::mem::take(&mut self.is_id) {
            self.id_stands = self.begins..end;
            self.id = value.and_then(|(digits, length)| number(digits.get(..length)?));
        }
    }

    fn named(&mut self) {
        let Some((key, length)) = self.key.take() else {
            return;
        };
        let key = key.get(..length).unwrap_or_default();
        let is = |name: &[u8]| key.eq_ignore_ascii_case(name);
        self.is_id = is(b"id");
        if self.is_id {
            self.ids = self.ids.saturating_add(1);
            self.id = None;
        } else if is(b"result") || is(b"error") {
            self.outcomes = self.outcomes.saturating_add(1);
        } else if is(b"method") {
            self.methods = self.methods.saturating_add(1);
        }
    }
}

/// An id as the gate writes them.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    u64::try_from(number)
        .ok()
        .filter(|_| number <= MAX_ID_INTEGER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_id_wherever_that_stands() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1,{"id":8}]}}"#,
            r#"{"result":{"text":"\"}],\\","method":1},"jsonrpc":"2.0","id":7}"#,
            r#" { "error" : "x" , "id" : 7 } "#,
            "\u{feff}{\"id\":7,\"result\":1}",
            // Which is not quite JSON.
            r#"{"id":7,"result":{}}{"id":8,"result":{}}"#,
            r#"{"id":7,"result":nonsense,"x"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"half of a"#,
        ] {
            assert_eq!(Skim::of(text.as_bytes()).answers(), Some(7), "{text}");
            // However it comes.
            let mut skim = Skim::default();
            for byte in text.as_bytes() {
                skim.feed(&[*byte]);
            }
            assert_eq!(skim.answers(), Skim::of(text.as_bytes()).answers());
        }
        assert_eq!(
            Skim::of(b"{\"id\":7,\"result\":{\"x\":\"\xff\x00\"}}").answers(),
            Some(7)
        );
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        for (text, id) in [
            (r#"{"id":7,"method":"ping"}"#, Some("7")),
            (
                r#" { "method" : "x", "params":{"id":8}, "id" : "a\"b" }"#,
                Some(r#""a\"b""#),
            ),
            (r#"{"id":-1 ,"method":"ping"}"#, Some("-1")),
            (r#"{"id":[1],"method":"ping"}"#, Some("[1]")),
            (r#"{"id":7,"result":{}}"#, None),
            (r#"{"id":7,"method":"x","result":{}}"#, None),
            (r#"{"id":7,"method":"x","METHOD":"y"}"#, None),
            (r#"{"id":7,"id":8,"method":"x"}"#, None),
            (r#"{"id":7,"\u006dethod":"x"}"#, None),
            (r#"{"method":"x"}"#, None),
        ] {
            let found = Skim::of(text.as_bytes()).asks();
            assert_eq!(found.and_then(|place| text.get(place)), id, "{text}");
        }
    }

    #[test]
    fn what_asks_or_is_unclear_answers_nothing() {
        for text in [
            r#"{"id":7,"method":"ping"}"#,
            r#"{"id":7,"result":{},"METHOD":"ping"}"#,
            r#"{"id":7,"id":8,"result":{}}"#,
            r#"{"id":7,"ID":7,"result":{}}"#,
            r#"{"id":7}"#,
            r#"{"result":{"id":7}}"#,
            r#"{"id":"7","result":{}}"#,
            r#"{"id":7.0,"result":{}}"#,
            r#"{"id":-7,"result":{}}"#,
            r#"{"id":[7],"result":{}}"#,
            r#"{"id":99999999999999999999,"result":{}}"#,
            r#"{"i\u0064":7,"result":{}}"#,
            r#"{"id":7,"r\u0065sult":{}}"#,
            r#"[{"id":7,"result":{}}]"#,
            r#"x{"id":7,"result":{}}"#,
            "",
        ] {
            assert_eq!(Skim::of(text.as_bytes()).answers(), None, "{text}");
        }
    }
}
