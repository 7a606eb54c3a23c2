//! Private keys and signed tokens.

use super::Row;

/// What breaks the lines of a key, in a file or in a string, however often escaped. Forms write a
/// blank as `+`, which the body holds anyway.
macro_rules! lines_of_key {
    ($label:literal) => {
        concat!(
            "-----BEGIN[ +]",
            $label,
            r"-----",
            // Headers, as of PGP and of keys with a password.
            r#"(?:(?:\s|\\+[nrt]){1,4}[A-Za-z\-]{3,20}:[ +][A-Za-z0-9 ,.:/()@<>+\-]{1,120}){0,4}"#,
            r#"(?:(?:[\s"',+]|\\+[nrt\s])*[A-Za-z0-9+/=]{16,})+"#,
            r#"(?:(?:(?:[\s"',+]|\\+[nrt\s])*[A-Za-z0-9+/=]{1,64}){0,3}(?:[\s"',+]|\\+[nrt\s])*-----END[ +]"#,
            $label,
            "-----)?",
        )
    };
}

pub(super) const ROWS: &[Row] = &[
    Row::long(
        "rsa-private-key",
        &["-----begin rsa private", "-----begin+rsa+private"],
        lines_of_key!("RSA[ +]PRIVATE[ +]KEY"),
        30,
    ),
    Row::long(
        "ec-private-key",
        &["-----begin ec private", "-----begin+ec+private"],
        lines_of_key!("EC[ +]PRIVATE[ +]KEY"),
        30,
    ),
    Row::long(
        "dsa-private-key",
        &["-----begin dsa private", "-----begin+dsa+private"],
        lines_of_key!("DSA[ +]PRIVATE[ +]KEY"),
        30,
    ),
    Row::long(
        "openssh-private-key",
        &["-----begin openssh private", "-----begin+openssh+private"],
        lines_of_key!("OPENSSH[ +]PRIVATE[ +]KEY"),
        30,
    ),
    Row::long(
        "encrypted-private-key",
        &[
            "-----begin encrypted private",
            "-----begin+encrypted+private",
        ],
        lines_of_key!("ENCRYPTED[ +]PRIVATE[ +]KEY"),
        30,
    ),
    Row::long(
        "pgp-private-key",
        &["-----begin pgp private", "-----begin+pgp+private"],
        lines_of_key!("PGP[ +]PRIVATE[ +]KEY[ +]BLOCK"),
        30,
    ),
    Row::long(
        "private-key",
        &["-----begin ", "-----begin+"],
        lines_of_key!("(?:[A-Z0-9]{1,20}[ +])?PRIVATE[ +]KEY"),
        30,
    ),
    Row::long(
        "putty-private-key",
        &["private-lines:"],
        r"(?i:private-lines):\s*[0-9]{1,4}(?<secret>(?:(?:\s|\\+[nr])+[A-Za-z0-9+/=]{8,64}\b{end-half}=?=?)+)",
        30,
    ),
    Row::token(
        "age-secret-key",
        &["age-secret-key-1"],
        "AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}",
        35,
    ),
    Row::text(
        "json-web-key",
        &["\"d\"", "\"k\"", "\"d\\", "\"k\\"],
        r#""[dk]\\*"\s*:\s*\\*"(?<secret>[A-Za-z0-9_\-]{43,1500})\\*""#,
        42,
    ),
    Row::long_token(
        "jwt",
        &["eyj"],
        r"ey[JI][A-Za-z0-9_\-]{12,400}\.ey[JI][A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{16,}",
        30,
    ),
    Row::long_token(
        "jwe",
        &["eyj"],
        r"eyJ[A-Za-z0-9_\-]{12,400}\.[A-Za-z0-9_\-]{0,1400}\.[A-Za-z0-9_\-]{12,32}\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{20,24}",
        35,
    ),
];
