//! The servers of `fixtures/servers`.

use std::path::Path;

/// A fixture server. `cargo test` builds them; with `--test` they have to be there already.
pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_mcp-protector"))
        .with_file_name("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.exists(),
        "`{name}` is not built: run `cargo build --examples` first"
    );
    path.into_os_string().into_string().unwrap()
}
