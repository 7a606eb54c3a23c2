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
//!
//! INVARIANT: what is here from the gate's source imports nothing of the gate that is not here too.

/// The decoder, from its source.
#[path = "../../../src/wire/mod.rs"]
pub mod wire;

#[path = "../../../src/wire/tests/oracle.rs"]
mod oracle;

/// What the decoder and the others need beside themselves, from its source.
#[path = "../../../src/memory.rs"]
mod memory;
#[path = "../../../src/unseen.rs"]
mod unseen;

/// What is said to be secret, and what is hidden or instructs, from their source.
#[path = "../../../src/guard"]
pub mod guard {
    mod argument_names;
    mod keywords;
    pub mod schema;
    #[path = "schema/oracle.rs"]
    mod schema_oracle;
    /// Whatever is a schema, and whatever is checked against it, the answer is the same each time.
    pub fn schema_laws(input: &[u8]) {
        schema_oracle::laws(input);
    }
    pub mod secrets;
    pub mod text;
}
use guard::{secrets, text as guarded_text};

/// What is judged and by what, from its source, without any engine.
#[path = "../../../src/policy"]
pub mod policy {
    mod action;
    mod agent;
    mod change_kinds;
    mod claims;
    mod datasets;
    mod decision;
    mod errors;
    mod facts;
    mod labels;
    mod leaves;
    pub mod location;
    mod lock;
    mod message_facts;
    mod numbers;
    mod percent_escapes;
    pub mod sensitivity;
    mod server_key;
    mod shape;
    mod source;
    mod suggest;
    pub mod uris;
    #[path = "uris/oracle.rs"]
    mod uris_oracle;
    pub use change_kinds::{ChangeKind, ChangeKinds};
    pub use datasets::{UNKNOWN_DATASET, is_dataset};
    pub use decision::PolicyOrigin;
    pub use errors::PolicyProblem;
    pub use facts::Consent;
    pub use lock::{DefinitionFingerprint, Lock, LockedPrompt, LockedTexts, LockedTool};
    pub use sensitivity::{MAX_LEVEL, SessionSensitivity};
    pub use server_key::{ServerKey, UNKNOWN_SERVER};
    pub use shape::{Member, Presence, RecordShape, Scalar, UntypedMember, ValueShape};
    pub use source::PolicySource;
    /// A resource has one spelling, which is the same place and its own spelling.
    pub fn uris_laws(text: &str) {
        uris_oracle::laws(text);
    }
}

/// What was approved of a server's definitions, from its source.
#[path = "../../../src/loading"]
pub mod loading {
    pub mod lock;
    #[path = "lock/oracle.rs"]
    mod lock_oracle;
    /// What of several servers the reader knows.
    mod several {
        pub(super) const CODE: &str = "policy::no_server";
        pub(super) const NO_SERVER: &str = "is of no server";
    }
    /// A lock is refused with reasons, or means what it says.
    pub fn lock_laws(text: &str) {
        lock_oracle::laws(text);
    }
}

/// A lock is refused with reasons, or means what it says.
pub fn lock(input: &[u8]) {
    loading::lock_laws(&String::from_utf8_lossy(input));
}

/// What a person's answer is good for, from its source.
#[path = "../../../src/clock.rs"]
mod clock;
#[path = "../../../src/consent/mod.rs"]
mod consent;
#[path = "."]
mod consent_laws {
    #[path = "../../../src/consent/oracle.rs"]
    mod oracle;
    pub(super) fn laws(text: &str) {
        oracle::laws(text);
    }
}

/// No state opens but the one that was sealed.
pub fn seal(input: &[u8]) {
    consent_laws::laws(&String::from_utf8_lossy(input));
}

/// What sessions have read, as it is kept on disk, from its source.
#[path = "../../../src/session/kept"]
mod ratchet {
    mod answer;
    mod budget;
    mod journal;
    mod key;
    mod memory;
    mod oracle;
    mod store;
    use answer::{Answer, StoreFault};
    use budget::{Budget, Calls};
    use key::SessionKey;
    use memory::InMemory;
    /// Discards all notifications.
    mod room {
        pub(super) fn tell(_: usize, _: usize) {}
    }
    use store::{Counted, Kept, Places, Raised, SessionStore};
    pub(super) fn laws(text: &str) {
        oracle::laws(text);
    }
}

/// What of tokens a store knows.
trait TokenStore {}

/// A journal is refused with a reason, or what it says is held after every restart.
pub fn journal(input: &[u8]) {
    ratchet::laws(&String::from_utf8_lossy(input));
}

/// What calls repeat of results, from its source.
#[path = "../../../src/session/evidence"]
mod evidence {
    mod letters;
    mod oracle;
    mod readings;
    mod windows;
    pub(super) fn laws(text: &str) {
        oracle::laws(text);
    }
}

/// A passage of a result is found in arguments, whatever surrounds it, in each encoding.
pub fn evidence(input: &[u8]) {
    evidence::laws(&String::from_utf8_lossy(input));
}

/// Recorded conversations, from their source.
#[path = "../../../src/policy_tests/replay"]
mod replay {
    mod messages;
    mod oracle;
    pub(super) fn laws(text: &str) {
        oracle::laws(text);
    }
}
/// The code of a denial.
mod gate {
    pub const DENIED: i64 = 4030;
}

/// A reply of a recording answers one request, and what is read of a line does not depend on later ones.
pub fn transcript(input: &[u8]) {
    replay::laws(&String::from_utf8_lossy(input));
}

/// What authorization servers answer, from its source.
#[path = "../../../src/upstream/http/oauth"]
mod oauth {
    mod oracle;
    mod places;
    mod read;
    /// What of them the readers know.
    mod settings {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ClientAuth {
            Basic,
            Post,
        }
    }
    pub(super) fn laws(text: &str) {
        oracle::laws(text);
    }
}

/// What of an answer the readers of it know.
mod outward {
    pub struct HttpResponse {
        pub body: Vec<u8>,
    }
    impl HttpResponse {
        pub const fn is_json(&self) -> bool {
            true
        }
    }
}

/// A token is the one that any reader sees, and a secret goes only to the issuer.
pub fn oauth(input: &[u8]) {
    oauth::laws(&String::from_utf8_lossy(input));
}

/// What headers repeat of a call is what the call says.
pub fn mirrors(input: &[u8]) {
    oracle::mirrors(input);
}

/// Tokens and keys, from their source.
#[path = "../../../src/identity/jwt"]
mod jwt {
    mod compact;
    mod keyset;
    mod oracle;
    pub(super) fn laws(input: &[u8]) {
        oracle::laws(input);
    }
}

/// The gate trusts no unsigned token.
pub fn token(input: &[u8]) {
    jwt::laws(input);
}

/// What is read of a trace is what goes on.
pub fn trace(input: &[u8]) {
    oracle::trace(input);
}

/// A resource has one spelling, which is the same place and its own spelling.
pub fn uris(input: &[u8]) {
    policy::uris_laws(&String::from_utf8_lossy(input));
}

/// Whatever is a schema, and whatever is checked against it, the answer is the same each time.
pub fn schema(input: &[u8]) {
    guard::schema_laws(input);
}

#[path = "../../../src/guard/secrets/tests/oracle.rs"]
mod secrets_oracle;

/// A text without its secrets has none, and has lost nothing else.
pub fn secrets(input: &[u8]) {
    static RULES: std::sync::LazyLock<secrets::SecretRules> =
        std::sync::LazyLock::new(secrets::SecretRules::builtin);
    secrets_oracle::laws(&RULES, &String::from_utf8_lossy(input));
}

#[path = "."]
mod text_laws {
    use super::guarded_text as text;

    #[path = "../../../src/guard/text/tests/oracle.rs"]
    mod oracle;
    pub(super) fn laws(of: &str) {
        oracle::laws(of);
    }
}

/// Sanitizing removes only invisible characters, never lengthens a text, and is idempotent.
pub fn text(input: &[u8]) {
    text_laws::laws(&String::from_utf8_lossy(input));
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

/// Heads of requests, from their source.
#[path = "../../../src/inward"]
mod inward {
    mod chunks;
    mod head;
    mod misframed;
    mod oracle;
    /// What is taken for a head is one for the parser behind it.
    pub fn head_laws(input: &[u8]) {
        oracle::laws(input);
    }
}

/// What the gate takes for a head is one for the parser behind it, with the same end.
pub fn head(input: &[u8]) {
    inward::head_laws(input);
}

/// Files of clients, from their source. INVARIANT: these parts import nothing else of the gate.
#[path = "../../../src/clients"]
#[expect(dead_code, reason = "who wraps files asks for more than the laws do")]
mod clients {
    mod client;
    mod document;
    mod entries;
    mod entry;
    mod errors;
    mod json;
    mod oracle;
    mod parsing;
    mod references;
    mod toml;
    mod wrapping;
    mod yaml;
    pub(super) fn laws(text: &str) {
        oracle::laws(text);
    }
}

/// A client's file is refused with reasons, or wrapped and unwrapped without a loss.
pub fn clients(input: &[u8]) {
    clients::laws(&String::from_utf8_lossy(input));
}
