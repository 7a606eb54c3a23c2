//! How the program finds DuckDB's library: beside itself, without variables, since a launcher of servers has none.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_FLIGHT_RECORDER").is_none() {
        return;
    }
    let origin = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        // It looks there anyway.
        Ok("windows") => return,
        Ok("macos") => "@loader_path",
        Ok(_) | Err(_) => "$ORIGIN",
    };
    println!("cargo:rustc-link-arg=-Wl,-rpath,{origin}");
}
