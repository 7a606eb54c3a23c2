//! The fuzz targets' seeds as normal tests.

use std::fs;
use std::path::Path;

use super::oracle;

fn each_seed(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/seeds")
        .join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 10, "seeds in {}", folder.display());
}

#[test]
fn every_seed_of_frame_stdio_holds() {
    each_seed("frame_stdio", oracle::frame_stdio);
}

#[test]
fn every_seed_of_envelope_holds() {
    each_seed("envelope", oracle::envelope);
}

#[test]
fn every_seed_of_strict_vs_serde_holds() {
    each_seed("strict_vs_serde", oracle::strict_vs_serde);
}

#[test]
fn every_seed_of_canonical_roundtrip_holds() {
    each_seed("canonical_roundtrip", oracle::canonical_roundtrip);
}

#[test]
fn every_seed_of_sse_holds() {
    each_seed("sse", oracle::sse);
}

#[test]
fn every_seed_of_trace_holds() {
    each_seed("trace", oracle::trace);
}

#[test]
fn every_seed_of_mirrors_holds() {
    each_seed("mirrors", oracle::mirrors);
}
