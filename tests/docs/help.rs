//! Sections of the page of commands, from the program's own `--help`.

use std::fmt::Write as _;
use std::process::Command;

use crate::docs::generated::rows;

/// Descriptions are indented by as many columns or more, and names by fewer.
const DESCRIPTION: usize = 8;

/// The help of a command, as a person reads it.
fn text(command: &str) -> String {
    let words = command.split_whitespace().filter(|word| *word != PROGRAM);
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-protector"))
        .args(words)
        .arg("--help")
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

const PROGRAM: &str = "mcp-protector";

/// The names in the list of subcommands.
fn subcommands(help: &str) -> Vec<String> {
    let list = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, list)| list);
    let list = list.split("\n\n").next().unwrap_or_default().lines();
    let listed = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The program and every command that its help lists.
pub(crate) fn commands() -> Vec<String> {
    let mut found = vec![PROGRAM.to_owned()];
    for command in subcommands(&text(PROGRAM)) {
        let below = subcommands(&text(&command));
        found.push(command.clone());
        found.extend(below.iter().map(|name| format!("{command} {name}")));
    }
    found
}

/// One command: purpose, usage and examples, arguments and options.
pub(crate) fn section(command: &str) -> String {
    let text = text(command);
    let (about, rest) = text.split_once("Usage: ").unwrap();
    let mut section = String::new();
    for paragraph in about.trim().split("\n\n") {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        let paragraph = words.join(" ");
        writeln!(section, "{}.\n", paragraph.trim_end_matches('.')).unwrap();
    }
    let (usage, rest) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let examples = rest.split_once("\nExample").map_or("", |(_, list)| list);
    let examples = examples.lines().skip(1);
    section += "```text\n";
    for line in usage.lines().chain([""]).chain(examples) {
        writeln!(section, "{}", line.trim()).unwrap();
    }
    section += "```\n";
    let entries = entries_of(command, &text);
    if !entries.is_empty() {
        section += "\n";
        section += &rows(&["argument", "meaning"], &entries);
    }
    section
}

/// The entries of a command. Those that all commands of a group have are in the section of the group alone.
fn entries_of(command: &str, help: &str) -> Vec<Vec<String>> {
    if let Some((group, _)) = command.split_once(' ') {
        let common = common(group, &text(group));
        let own = entries(help).into_iter();
        return own.filter(|entry| !common.contains(entry)).collect();
    }
    let common = common(command, help);
    entries(help).into_iter().chain(common).collect()
}

/// What all commands of a group have.
fn common(group: &str, help: &str) -> Vec<Vec<String>> {
    let names = subcommands(help).into_iter();
    let mut all = names.map(|name| entries(&text(&format!("{group} {name}"))));
    let first = all.next().unwrap_or_default();
    let others: Vec<_> = all.collect();
    let in_all = |entry: &Vec<String>| others.iter().all(|of| of.contains(entry));
    first.into_iter().filter(in_all).collect()
}

/// Arguments and options with their meanings.
fn entries(help: &str) -> Vec<Vec<String>> {
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in help.lines() {
        let words = line.trim();
        let indent = line.len() - line.trim_start().len();
        if indent == 0 && !words.is_empty() {
            inside = ["Arguments:", "Options:"].contains(&words);
        } else if inside && indent < DESCRIPTION && words.starts_with(['-', '<', '[']) {
            // A short help has the meaning on the same line.
            let (name, meaning) = words.split_once("  ").unwrap_or((words, ""));
            entries.push((name.to_owned(), String::new()));
            add(&mut entries.last_mut().unwrap().1, meaning.trim());
        } else if let (true, Some((_, meaning))) = (inside, entries.last_mut()) {
            add(meaning, words);
        }
    }
    entries.retain(|(name, _)| !name.contains("--help") && !name.contains("--version"));
    let cell = |(name, meaning): (String, String)| {
        let meaning = meaning.trim_end_matches([',', '.']).replace('|', "\\|");
        vec![format!("`{name}`"), meaning + "."]
    };
    entries.into_iter().map(cell).collect()
}

/// Adds a line to a meaning. Defaults and possible values, which clap puts into brackets or a list, become
/// sentences; of possible values only the names remain.
fn add(meaning: &mut String, words: &str) {
    let value = words
        .strip_prefix("- ")
        .and_then(|value| value.split_once(':'));
    let note = words
        .strip_prefix('[')
        .and_then(|note| note.strip_suffix(']'));
    let note = note.and_then(|note| note.split_once(": "));
    let words = match (value, note) {
        (Some((name, _)), _) => format!("`{name}`,"),
        (None, Some((what, names))) => {
            let names = names.trim_end_matches('=').split(", ");
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            format!("{}: {}", upper(what), names.join(", "))
        }
        (None, None) if words == "Possible values:" => "Values:".to_owned(),
        (None, None) => words.to_owned(),
    };
    if words.is_empty() {
        return;
    }
    if words.starts_with(|c: char| c.is_uppercase()) && words.contains(':') && !meaning.is_empty() {
        *meaning = meaning.trim_end_matches([',', '.']).to_owned() + ".";
    }
    if !meaning.is_empty() {
        meaning.push(' ');
    }
    *meaning += &words;
}

/// How clap calls a note, in a sentence.
fn upper(what: &str) -> &'static str {
    match what {
        "default" => "Default",
        "possible values" => "Values",
        "env" => "Variable",
        _ => panic!("a note of another kind: {what}"),
    }
}
