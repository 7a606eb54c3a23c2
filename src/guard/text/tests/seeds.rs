//! The fuzz target's seeds as normal tests.

use std::fs;
use std::path::Path;

use super::oracle;

#[test]
fn the_laws_hold_for_every_seed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/text");
    let mut seeds = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        oracle::laws(&String::from_utf8_lossy(&bytes));
        seeds += 1;
    }
    assert!(seeds >= 10, "seeds in {}", folder.display());
}
