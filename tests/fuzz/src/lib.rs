//! What the fuzz targets call: the oracle of the gate's own tests, over bytes of any kind.
//!
//! A run of one target, from the repository's root:
//!
//! ```sh
//! cd tests/fuzz
//! mkdir -p corpus/envelope
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir . -s none envelope corpus/envelope seeds/envelope -- \
//!     -dict=json.dict -max_total_time=60
//! ```
//!
//! A finding is copied to `seeds/<target>/` and from then on is a normal test of the gate.

/// The decoder, from its source. INVARIANT: it imports nothing else of the gate.
#[path = "../../../src/wire/mod.rs"]
pub mod wire;

#[path = "../../../src/wire/tests/oracle.rs"]
mod oracle;

/// What is said to be secret, and what is hidden or instructs, from their source. INVARIANT: it imports nothing else of the gate.
#[path = "."]
pub mod guard {
    #[path = "../../../src/guard/secrets/mod.rs"]
    pub mod secrets;
    #[path = "../../../src/guard/text/mod.rs"]
    pub mod text;
}
use guard::{secrets, text as guarded_text};

#[path = "../../../src/guard/secrets/tests/oracle.rs"]
mod secrets_oracle;

/// A text without its secrets has none, and has lost nothing else.
pub fn secrets(input: &[u8]) {
    static RULES: std::sync::LazyLock<secrets::Rules> =
        std::sync::LazyLock::new(secrets::Rules::builtin);
    secrets_oracle::laws(&RULES, &String::from_utf8_lossy(input));
}

#[path = "."]
mod text_laws {
    use super::guarded_text as text;

    #[path = "../../../src/guard/text/tests/oracle.rs"]
    pub(super) mod oracle;
}

/// A cleaned text is as it was but for what nobody sees, no longer, and stays as it is.
pub fn text(input: &[u8]) {
    text_laws::oracle::laws(&String::from_utf8_lossy(input));
}

/// Frames are what splitting at LF gives, whatever the sizes of the reads.
pub fn frame_stdio(input: &[u8]) {
    oracle::frame_stdio(input);
}

/// A message is exactly what its envelope says.
pub fn envelope(input: &[u8]) {
    oracle::envelope(input);
}

/// What we accept serde_json reads the same way.
pub fn strict_vs_serde(input: &[u8]) {
    oracle::strict_vs_serde(input);
}

/// The compact text decodes to itself.
pub fn canonical_roundtrip(input: &[u8]) {
    oracle::canonical_roundtrip(input);
}

/// Events are what the standard's algorithm gives, whatever the sizes of the reads.
pub fn sse(input: &[u8]) {
    oracle::sse(input);
}
