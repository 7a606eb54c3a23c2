//! Clients' files word for word as the pages of published servers print them, taken from the packages themselves.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_protector::clients::{
    Attachment, CLIENTS, Client, Entry, Launch, VariableNames, gate_server, read, unwrap, wrap,
};

use crate::real_servers::real::in_directory;

/// The page of each package: of npm a file, of PyPI a part of its metadata.
fn pages() -> Vec<PathBuf> {
    let packages = |directory: String| fs::read_dir(directory).unwrap();
    let npm = packages(in_directory(Path::new(
        "node_modules/@modelcontextprotocol",
    )));
    let npm = npm.map(|package| package.unwrap().path().join("README.md"));
    let python = ["venv", "venv-fetch"].into_iter().flat_map(|environment| {
        let lib = packages(in_directory(&Path::new(environment).join("lib")));
        let sites = lib.map(|it| it.unwrap().path().join("site-packages"));
        let all = sites.flat_map(|site| fs::read_dir(site).unwrap());
        all.map(|package| package.unwrap().path().join("METADATA"))
    });
    let pages = npm.chain(python);
    let mut pages: Vec<PathBuf> = pages
        .filter(|page| {
            let package = page.parent().unwrap().file_name().unwrap();
            let package = package.to_str().unwrap();
            package.starts_with("server-") || package.starts_with("mcp_server_")
        })
        .filter(|page| page.exists())
        .collect();
    pages.sort();
    pages
}

/// Examples in JSON, with the lines where they begin. Where a page leaves out the outer braces, they are added.
fn examples(page: &str) -> Vec<(usize, String)> {
    let mut parts = page.split("```json\n");
    let before = parts.next().unwrap_or_default();
    let mut line = before.matches('\n').count() + 2;
    let mut found = Vec::new();
    for part in parts {
        let (text, _) = part.split_once("```").unwrap();
        let text = if text.trim_start().starts_with('"') {
            format!("{{{text}}}")
        } else {
            text.to_owned()
        };
        found.push((line, text));
        line += part.matches('\n').count() + 1;
    }
    found
}

/// The client whose key an example has at its top.
fn client(example: &str) -> Option<&'static Client> {
    let names = [
        ("mcpServers", "Claude Desktop"),
        ("servers", "VS Code"),
        ("context_servers", "Zed"),
    ];
    let begins = example.trim_start_matches(['{', ' ', '\n']);
    let (_, name) = names
        .into_iter()
        .find(|(key, _)| begins.starts_with(&format!("\"{key}\"")))?;
    CLIENTS.iter().find(|client| client.name == name)
}

fn attachments(entries: &[Entry]) -> Vec<Attachment> {
    let fit = entries.iter().filter(|entry| entry.launch.is_ok());
    fit.map(|entry| Attachment::new(entry, "/opt/mcp-protector", "key", "/gate.toml"))
        .collect()
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn files_as_published_servers_print_them_are_wrapped_and_restored_byte_for_byte() {
    let mut wrapped_of: Vec<(&str, usize)> = Vec::new();
    for page in pages() {
        for (line, text) in examples(&fs::read_to_string(&page).unwrap()) {
            let Some(client) = client(&text) else {
                continue;
            };
            let name = format!("{}:{line}", page.display());
            let entries = match read(&name, &text, client) {
                Ok(entries) => entries,
                Err(errors) => {
                    // Some pages have slips.
                    let told = errors.problems()[0].to_string();
                    assert!(told.starts_with(&name), "{told}");
                    continue;
                }
            };
            assert!(!entries.is_empty(), "{name}");
            for entry in &entries {
                let gate = gate_server(entry, "key", &mut VariableNames::default());
                if let Err(errors) = gate {
                    let told = errors.problems()[0].to_string();
                    assert!(told.starts_with(&name), "{told}");
                }
            }
            let wrapped = wrap(&name, &text, client, &attachments(&entries)).unwrap();
            let after = read(&name, &wrapped, client).unwrap();
            assert_eq!(after.len(), entries.len(), "{wrapped}");
            for entry in &after {
                let leads = matches!(entry.launch, Ok(Launch::Attached { .. }));
                assert!(leads, "{name}: {wrapped}");
            }
            assert_eq!(unwrap(&name, &wrapped, &text, client).unwrap(), text);
            match wrapped_of.iter_mut().find(|(of, _)| *of == client.name) {
                Some((_, count)) => *count += 1,
                None => wrapped_of.push((client.name, 1)),
            }
        }
    }
    // Fewer would mean that the pages are no longer found.
    for (name, least) in [("Claude Desktop", 10), ("VS Code", 5), ("Zed", 1)] {
        let count = wrapped_of.iter().find(|(of, _)| *of == name);
        assert!(
            count.is_some_and(|(_, count)| *count >= least),
            "{wrapped_of:?}"
        );
    }
}
