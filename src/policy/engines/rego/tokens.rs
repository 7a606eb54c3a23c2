//! Rego's text in words, for what has to be known before anything parses it.

/// One word of the text, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RegoToken<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// It is the first of its line.
    pub(super) begins_line: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Number,
    /// Quotes included.
    String,
    Sign,
}

/// Words without white space and comments. Never fails: what Rego does not know is a sign.
pub(super) fn tokens(text: &str) -> Vec<RegoToken<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut begins_line = true;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((kind, length)) = next(rest) else {
            break;
        };
        let piece = rest.get(..length).unwrap_or_default();
        match kind {
            Some(kind) => {
                tokens.push(RegoToken {
                    kind,
                    text: piece,
                    at,
                    begins_line,
                });
                begins_line = false;
            }
            None => begins_line |= piece.contains('\n'),
        }
        at += length;
    }
    tokens
}

impl RegoToken<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::String && self.text == text
    }

    /// The content of a string that has no escapes.
    pub(super) fn plain_string(&self) -> Option<&str> {
        let inner = self
            .text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'))
            .or_else(|| self.text.strip_prefix('`')?.strip_suffix('`'))?;
        let is_plain = self.kind == TokenKind::String && !inner.contains('\\');
        is_plain.then_some(inner)
    }
}

/// The kind and length of what comes first; no kind for white space and comments.
fn next(text: &str) -> Option<(Option<TokenKind>, usize)> {
    let first = text.chars().next()?;
    let until = |end: fn(char) -> bool| text.find(end).unwrap_or(text.len());
    Some(match first {
        _ if first.is_whitespace() => (None, until(|c| !c.is_whitespace())),
        '#' => (None, until(|c| c == '\n')),
        '"' | '`' => (Some(TokenKind::String), string(text, first)),
        _ if first.is_alphabetic() || first == '_' => (
            Some(TokenKind::Word),
            until(|c| !c.is_alphanumeric() && c != '_'),
        ),
        '0'..='9' => (
            Some(TokenKind::Number),
            until(|c| !c.is_alphanumeric() && c != '.'),
        ),
        _ => {
            let two = [":=", "==", "!=", "<=", ">="];
            let is_two = two.iter().any(|sign| text.starts_with(sign));
            let length = if is_two { 2 } else { first.len_utf8() };
            (Some(TokenKind::Sign), length)
        }
    })
}

/// A string that never ends goes to the end of the text.
fn string(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == quote {
            return at + quote.len_utf8();
        } else {
            escaped = letter == '\\' && quote == '"';
        }
    }
    text.len()
}
