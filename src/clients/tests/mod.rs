//! Files in the form that the clients' documentation prints (`files/README.md`), and what becomes of them.

mod entries;
mod file;
mod gate_server;
mod laws;
mod names;
mod paths;
mod problems;
mod wrapping;

use super::{
    Attachment, CLIENTS, Client, ClientErrors, Entry, Launch, Piece, ServerNames, Template, read,
};
use miette::Diagnostic as _;

pub(super) const FILES: &[(&str, &str, &str)] = &[
    (
        "Claude Desktop",
        "claude_desktop.json",
        include_str!("files/claude_desktop.json"),
    ),
    (
        "Claude Code",
        ".mcp.json",
        include_str!("files/claude_code_project.json"),
    ),
    (
        "Claude Code",
        ".claude.json",
        include_str!("files/claude_code_user.json"),
    ),
    ("Cursor", "mcp.json", include_str!("files/cursor.json")),
    ("VS Code", "mcp.json", include_str!("files/vs_code.json")),
    (
        "Windsurf",
        "mcp_config.json",
        include_str!("files/windsurf.json"),
    ),
    ("Zed", "settings.json", include_str!("files/zed.json")),
    ("Codex", "config.toml", include_str!("files/codex.toml")),
    ("Hermes", "config.yaml", include_str!("files/hermes.yaml")),
];

pub(super) fn client(name: &str) -> &'static Client {
    CLIENTS.iter().find(|client| client.name == name).unwrap()
}

/// The file of this client; the last of several.
pub(super) fn file_of(name: &str) -> &'static str {
    FILES
        .iter()
        .rev()
        .find(|(client, ..)| *client == name)
        .unwrap()
        .2
}

pub(super) fn entries(name: &str, text: &str) -> Vec<Entry> {
    read("f", text, client(name)).unwrap()
}

/// Attachments of all entries that the gate can take.
pub(super) fn attachments(entries: &[Entry]) -> Vec<Attachment> {
    let mut names = ServerNames::default();
    let fit = entries.iter().filter(|entry| entry.launch.is_ok());
    fit.map(|entry| {
        let key = names.key(entry.name());
        Attachment::new(entry, "/opt/mcp-protector", &key, "/home/ada/gate.toml")
    })
    .collect()
}

/// As the file has it, with the references in brackets.
pub(super) fn shown(template: &Template) -> String {
    let pieces = template.pieces.iter();
    pieces
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable(name) => format!("[{name}]"),
            Piece::Asked(id) => format!("[ask {id}]"),
            Piece::Unknown(_) => "[?]".to_owned(),
        })
        .collect()
}

/// One line for each entry.
pub(super) fn told(entries: &[Entry]) -> String {
    let pairs = |pairs: &[(String, Template)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| format!(" {name}={}", shown(value)))
            .collect::<Vec<_>>()
            .concat()
    };
    let line = |entry: &Entry| {
        let launch = match &entry.launch {
            Ok(Launch::Command { command, env, cwd }) => {
                let words: Vec<String> = command.iter().map(shown).collect();
                let cwd = cwd.as_ref().map(|cwd| format!(" in {}", shown(cwd)));
                format!(
                    "{}{}{}",
                    words.join(" "),
                    pairs(env),
                    cwd.unwrap_or_default()
                )
            }
            Ok(Launch::Url { url, headers }) => format!("{}{}", shown(url), pairs(headers)),
            Ok(Launch::Attached { args, .. }) => format!("attached: {}", args.join(" ")),
            Err(problem) => problem.to_string(),
        };
        let off = if entry.enabled { "" } else { " (off)" };
        format!("{}{off}: {launch}\n", entry.path.join("/"))
    };
    entries.iter().map(line).collect::<Vec<_>>().concat()
}

/// Each problem with its code and its remedy.
pub(super) fn problems(errors: &ClientErrors) -> String {
    let line = |problem: &super::ClientProblem| {
        let code = problem.code().unwrap();
        format!("{code} {problem} ({})\n", problem.help().unwrap())
    };
    errors
        .problems()
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .concat()
}
