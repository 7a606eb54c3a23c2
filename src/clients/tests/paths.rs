use std::ffi::OsString;
use std::path::Path;

use crate::clients::{CLIENTS, Client, Os};

fn ada(name: &str) -> Option<OsString> {
    match name {
        "HOME" => Some("/home/ada".into()),
        "USERPROFILE" => Some("/Users/ada".into()),
        "CODEX_HOME" => Some("/srv/codex".into()),
        // Not absolute: not the client's directory.
        "XDG_CONFIG_HOME" => Some("config".into()),
        _ => None,
    }
}

#[test]
fn each_system_has_its_places() {
    let mut told = Vec::new();
    for (os, name) in [
        (Os::Linux, "Linux"),
        (Os::MacOs, "macOS"),
        (Os::Windows, "Windows"),
    ] {
        for client in CLIENTS {
            for path in client.paths(os, Path::new("/shop"), &ada) {
                let path = path.display().to_string().replace('\\', "/");
                told.push(format!("{name}, {}: {path}\n", client.name));
            }
        }
    }
    insta::assert_snapshot!(told.concat());
}

#[test]
fn without_a_home_there_is_the_project() {
    let none = |_: &str| None;
    let paths = CLIENTS[1].paths(Os::this(), Path::new("/shop"), &none);
    assert_eq!(paths, [Path::new("/shop/.mcp.json")]);
}

#[test]
fn files_that_exist_are_found() {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join(".mcp.json"), "{}").unwrap();
    let found = Client::find(Os::this(), project.path(), &|_| None);
    let found: Vec<_> = found
        .iter()
        .map(|(client, path)| (client.name, path))
        .collect();
    assert_eq!(found, [("Claude Code", &project.path().join(".mcp.json"))]);
}
