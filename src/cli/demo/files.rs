//! The files of a demo, in its directory.

use std::fs;
use std::path::Path;

use super::failure::DemoFailure;

/// The directory of the policies and the configuration, in the source tree and in a directory of files.
pub(super) const PACK: &str = "policies/quickstart";

/// The files of that directory, as the program contains them.
const POLICIES: [(&str, &str); 3] = [
    (
        "notes.cedar",
        include_str!("../../../policies/quickstart/notes.cedar"),
    ),
    (
        "pages.cedar",
        include_str!("../../../policies/quickstart/pages.cedar"),
    ),
    (
        "tools.toml",
        include_str!("../../../policies/quickstart/tools.toml"),
    ),
];
const CONFIG: &str = include_str!("../../../policies/quickstart/gate.toml");

/// The start of the server in that configuration.
const SERVER: &str = r#"["mcp-protector", "demo-server"]"#;

/// The logs of a run, in its directory.
pub(super) const AUDIT: &str = "audit.jsonl";
pub(super) const RECEIVED: &str = "server-received.jsonl";
pub(super) const DIAGNOSTICS: &str = "gate-stderr.log";

/// Writes the pack, with this program as the server and the logs in `directory`.
pub(super) fn write_files(directory: &Path) -> Result<(), DemoFailure> {
    let failed = DemoFailure::io("write the files of the demo");
    let write = || {
        let pack = directory.join(PACK);
        fs::create_dir_all(directory)?;
        if fs::read_dir(directory)?.next().is_some() {
            return Err(std::io::ErrorKind::DirectoryNotEmpty.into());
        }
        fs::create_dir_all(&pack)?;
        let program = std::env::current_exe()?;
        let received = directory.join(RECEIVED);
        let server: [&Path; 4] = [
            &program,
            "demo-server".as_ref(),
            "--log".as_ref(),
            &received,
        ];
        let server = serde_json::to_string(&server)?;
        let audit = serde_json::to_string(&directory.join(AUDIT))?;
        for (name, text) in POLICIES {
            fs::write(pack.join(name), text)?;
        }
        let config = CONFIG.replace(SERVER, &server);
        fs::write(
            pack.join("gate.toml"),
            format!("{config}\n[audit]\nfile = {audit}\n"),
        )
    };
    write().map_err(failed)
}
