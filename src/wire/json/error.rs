//! Why a text was refused.

/// Why a text was refused, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct JsonError {
    pub kind: JsonErrorKind,
    /// Bytes from the start of the input.
    pub offset: usize,
}

/// The reasons for refusing a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    #[error("the text is longer than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("the text starts with a byte order mark")]
    ByteOrderMark,
    #[error("NUL byte")]
    NulByte,
    #[error("the text ends too early")]
    UnexpectedEnd,
    #[error("unexpected {}", shown(*.0))]
    UnexpectedByte(u8),
    #[error("unescaped control character ({}) in a string", shown(*.0))]
    RawControl(u8),
    #[error("unknown escape in a string")]
    BadEscape,
    #[error("malformed number")]
    BadNumber,
    #[error("text after the end of the document")]
    TrailingText,
    #[error("nesting is deeper than {limit}")]
    TooDeep { limit: usize },
    #[error("more than {limit} values")]
    TooManyNodes { limit: usize },
    #[error("half of a surrogate pair in a string")]
    LoneSurrogate,
    #[error("the key `{key}` appears twice in one object")]
    DuplicateKey { key: Box<str> },
    #[error("the key `{key}` has a control character")]
    ControlInKey { key: Box<str> },
}

impl JsonErrorKind {
    /// A stable word for audit records and tests.
    pub fn reason_code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too_large",
            Self::NotUtf8 => "not_utf8",
            Self::ByteOrderMark => "byte_order_mark",
            Self::NulByte => "nul_byte",
            Self::UnexpectedEnd
            | Self::UnexpectedByte(_)
            | Self::RawControl(_)
            | Self::BadEscape
            | Self::BadNumber => "syntax",
            Self::TrailingText => "trailing_text",
            Self::TooDeep { .. } => "too_deep",
            Self::TooManyNodes { .. } => "too_many_values",
            Self::LoneSurrogate => "lone_surrogate",
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::ControlInKey { .. } => "control_in_key",
        }
    }

    pub(super) fn at(self, offset: usize) -> JsonError {
        JsonError { kind: self, offset }
    }
}

fn shown(byte: u8) -> String {
    if byte.is_ascii_graphic() {
        format!("`{}`", char::from(byte))
    } else {
        format!("byte {byte:#04x}")
    }
}

/// Input as a message may show it: escaped, so that it cannot forge a log line, and cut, so that a
/// hostile key cannot fill one.
pub(in crate::wire) fn quoted(input: &str) -> Box<str> {
    const SHOWN: usize = 64;
    let mut shown: String = input
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if input.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown.into_boxed_str()
}
