//! What evidence costs: keeping that of one result, and looking for it in the arguments of one call.
//!
//! Texts of 4 KiB: prose, a JSON text of records, prose in another script, and some that are made to cost. The goal
//! is 5 us for each KiB of a result.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "to take the time and to tell it is what this is for"
)]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use mcp_protector::policy::ServerKey;
use mcp_protector::session::{EvidenceStore, SessionKey};

const SIZE: usize = 4096;

const PROSE: &str = "It is a truth universally acknowledged, that a text in possession of a good \
    length must be in want of a reader. Before it is read, it should be known what it says.\n";

const ROWS: &str = "{\"id\": 4711, \"name\": \"Ada Lovelace\", \"mail\": \"ada.lovelace@example.com\", \
    \"since\": \"2024-03-31T08:15:00Z\", \"open\": true},\n";

const JAPANESE: &str = "これは文章です。読む人がいます。\n";

const BASE64: &str = "TG9yZW0gaXBzdW0gZG9sb3Igc2l0IGFtZXQgY29uc2VjdGV0dXIg";

/// Of each, the middle of so many.
const ROUNDS: usize = 2_000;

/// Like a text that differs from place to place.
fn filled(with: &str) -> String {
    let mut text = String::new();
    for number in 0.. {
        text.push_str(with);
        text.push_str(&(number * 7919 % 100_000).to_string());
        if text.len() >= SIZE {
            break;
        }
    }
    text.truncate(text.floor_char_boundary(SIZE));
    text
}

/// Microseconds for each KiB.
fn median(mut once: impl FnMut()) -> f64 {
    let mut took: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            once();
            began.elapsed()
        })
        .collect();
    took.sort_unstable();
    let middle = took.get(ROUNDS / 2).map_or(0.0, Duration::as_secs_f64);
    middle * 1e6 / 4.0
}

fn main() {
    let (Some(crm), Some(mail)) = (ServerKey::of("crm"), ServerKey::of("mail")) else {
        return;
    };
    let session = SessionKey::of("ada", Some("run"));
    for (name, with) in [
        ("prose", PROSE),
        ("rows", ROWS),
        ("japanese", JAPANESE),
        ("base64", BASE64),
        ("single letters", "a b c d e f g h i "),
        ("escapes", "\\u00e9%41\\n"),
    ] {
        let store = EvidenceStore::default();
        let text = filled(with);
        let keep = median(|| store.keep(&session, &crm, &BTreeSet::new(), [black_box(&text)]));
        let other = text.to_uppercase().replace('E', "XX");
        let look = median(|| {
            let found = store.look(&session, &mail, &BTreeSet::new(), [black_box(&other)]);
            black_box(found);
        });
        println!("{name:<16} keep {keep:6.2} us/KiB   look {look:6.2} us/KiB");
    }
}
