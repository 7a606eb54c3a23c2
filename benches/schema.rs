//! What a tool's schema costs: compiling it, which happens once, and checking arguments against it.
//!
//! Arguments as calls have them, of 64 KiB, and some that are made to cost.

#![expect(clippy::expect_used, reason = "a benchmark that cannot begin ends")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcp_protector::guard::Schema;
use mcp_protector::wire::{Document, Limits};

const SEARCH: &str = r#"{"type":"object","properties":{"query":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100},"sort":{"enum":["asc","desc"]}},"required":["query"],"additionalProperties":false}"#;

const ROWS: &str = r##"{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"$defs":{"row":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^[a-z]+$"},"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true}},"required":["id","name"],"additionalProperties":false}}}"##;

const BRANCHES: &str = r#"{"type":"object","additionalProperties":{"anyOf":[{"type":"null"},{"type":"integer"},{"type":"array","items":{"anyOf":[{"type":"null"},{"type":"string","maxLength":3},{"type":"integer"}]}}]}}"#;

fn document(text: &str) -> Document {
    Document::decode(text.as_bytes(), &Limits::default()).expect("it is JSON")
}

/// Rows of together some 64 KiB.
fn rows() -> String {
    let row = |id: usize| format!(r#"{{"id":{id},"name":"somebody","tags":["a","b","c"]}}"#);
    let rows: Vec<String> = (0..1_250).map(row).collect();
    format!(r#"{{"rows":[{}]}}"#, rows.join(","))
}

/// Members whose last possibility fits.
fn branches() -> String {
    let member = |id: usize| format!(r#""m{id}":[1,2,"abc",4,5,6,7,8]"#);
    let members: Vec<String> = (0..500).map(member).collect();
    format!("{{{}}}", members.join(","))
}

fn schema(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("schema");
    for (name, text) in [("search", SEARCH), ("rows", ROWS), ("branches", BRANCHES)] {
        let schema = document(text);
        group.bench_function(format!("{name}/compile"), |bencher| {
            bencher.iter(|| Schema::compile(black_box(schema.root())));
        });
    }
    for (name, text, value) in [
        ("search", SEARCH, r#"{"query":"a","limit":10}"#.to_owned()),
        ("rows", ROWS, rows()),
        ("branches", BRANCHES, branches()),
    ] {
        let schema = Schema::compile(document(text).root()).expect("it is a schema");
        let value = document(&value);
        assert_eq!(schema.check(value.root()), Ok(()), "{name}");
        group.throughput(Throughput::Bytes(value.root().text().len() as u64));
        group.bench_function(format!("{name}/check"), |bencher| {
            bencher.iter(|| schema.check(black_box(value.root())));
        });
    }
    group.finish();
}

criterion_group!(benches, schema);
criterion_main!(benches);
