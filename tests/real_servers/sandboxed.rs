//! Servers that others wrote, confined by the kernel: they do their work, and no more than that.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::real_servers::kit::{Gate, block_on, call, direct};
use crate::real_servers::real::{ALL, Call, Real, each, filesystem, in_directory, interpreter};
use crate::support::setup::Setup;

/// A gate whose server may execute what it was installed with, and write to these directories.
fn confined(real: &Real, write: &[&Path]) -> Setup {
    let mut execute = vec![in_directory(Path::new(""))];
    for environment in ["venv", "venv-1"] {
        let show = Command::new(interpreter(environment))
            .args(["-c", "import sys; print(sys.base_prefix)"])
            .output();
        let prefix = String::from_utf8(show.unwrap().stdout).unwrap();
        execute.push(prefix.trim().to_owned());
    }
    // Git takes a home that it may not read for a broken one.
    let home = real.home().to_str().unwrap();
    let mut setup = real.behind().allow(&real.allow).env("HOME", home);
    setup.sandbox = Some(format!("execute = {execute:?}\nwrite = {write:?}\n"));
    setup
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn real_servers_do_their_work_without_a_network_and_without_the_files_of_others() {
    each(ALL, |real| {
        block_on(async {
            let (offered, result) = direct(real).await;
            let gate = Gate::start(confined(real, &[real.home()])).await;
            let shown = gate.client.list_all_tools().await.unwrap();
            let expected = offered.iter().filter(|it| real.allow.contains(&&*it.name));
            assert_eq!(shown, expected.cloned().collect::<Vec<_>>());
            assert_eq!(call(&gate.client, &real.read).await.unwrap(), result);
            gate.end().await;
        });
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_real_server_that_would_serve_all_files_serves_those_of_its_sandbox() {
    let mut real = filesystem();
    // What it thinks that it may do.
    real.command[1] = "/".to_owned();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.txt");
    std::fs::write(&secret, "not for agents").unwrap();
    let reading = |path: &Path| Call {
        tool: "read_text_file",
        arguments: json!({"path": path}),
    };
    block_on(async {
        let gate = Gate::start(confined(&real, &[real.home()])).await;
        let notes = call(&gate.client, &real.read).await.unwrap();
        assert_ne!(notes.is_error, Some(true), "{notes:?}");
        for path in [&*secret, Path::new("/etc/passwd")] {
            let told = call(&gate.client, &reading(path)).await.unwrap();
            let text = format!("{told:?}");
            let kept = told.is_error == Some(true) && text.contains("EACCES");
            assert!(kept && !text.contains("not for agents"), "{text}");
        }
        gate.end().await;
    });
}
