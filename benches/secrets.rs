//! What looking for secrets in one text costs.
//!
//! Texts of 64 KiB: prose, JSON, prose with ten secrets, one blob of base64, and two that are made to
//! cost.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcp_protector::guard::secrets::SecretRules;

const SIZE: usize = 64 * 1024;

const PROSE: &str = "It is a truth universally acknowledged, that a text in possession of a good \
    length must be in want of a reader. The session was long, the path was short, and the \
    pattern of the answers was social rather than technical; nobody asked for a key.\n";

const JSON: &str = r#"{"id":48213,"name":"report","state":"open","labels":["bug","api"],"author":{"login":"me","type":"User"},"created_at":"2026-03-01T12:00:00Z","size":0.25,"url":"https://api.acme.invalid/v1/items/48213"},
"#;

fn filled(with: &str) -> String {
    let mut text = with.repeat(SIZE / with.len() + 1);
    text.truncate(text.floor_char_boundary(SIZE));
    text
}

/// Letters and digits that look random.
fn random(length: usize) -> String {
    let mut state = 88_172_645_463_325_252_u64;
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            alphabet
                .chars()
                .nth(usize::try_from(state >> 58).unwrap_or(0))
                .unwrap_or('A')
        })
        .collect()
}

fn with_secrets() -> String {
    let mut text = filled(PROSE);
    let body: String = random(80)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(36)
        .collect();
    for part in 1..=10 {
        let at = text.floor_char_boundary(part * SIZE / 11);
        text.insert_str(at, &format!(" {}{}{body} ", "gh", "p_"));
    }
    text
}

fn secrets(criterion: &mut Criterion) {
    let rules = SecretRules::builtin();
    let mut group = criterion.benchmark_group("secrets");
    for (name, text, findings) in [
        ("prose", filled(PROSE), 0),
        ("json", filled(JSON), 0),
        ("ten secrets", with_secrets(), 10),
        ("base64", random(SIZE), 0),
        (
            "keys without end",
            filled("private-lines: 1\n\"d\":\"x-----BEGIN RSA PRIVATE KEY----- .eyJ"),
            0,
        ),
        ("keywords", filled("token: password secret api_key = "), 0),
    ] {
        assert_eq!(rules.find(&text).len(), findings, "{name}");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| rules.redact(black_box(&text)));
        });
    }
    group.finish();
    criterion.bench_function("secrets/rules compiled", |bencher| {
        bencher.iter(SecretRules::builtin);
    });
}

criterion_group!(benches, secrets);
criterion_main!(benches);
