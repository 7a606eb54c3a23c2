use super::{FILES, attachments, client, entries, file_of, problems, told};
use crate::clients::{Format, Launch, unwrap, wrap};

fn wrapped(name: &str, text: &str) -> String {
    wrap("f", text, client(name), &attachments(&entries(name, text))).unwrap()
}

#[test]
fn wrapped_files_start_the_gate_and_keep_all_else() {
    let files = FILES
        .iter()
        .filter(|(name, ..)| client(name).format != Format::Yaml);
    let all: Vec<String> = files
        .map(|(name, file, text)| format!("# {name}, {file}\n{}\n", wrapped(name, text)))
        .collect();
    insta::assert_snapshot!(all.concat());
}

#[test]
fn each_file_is_the_same_after_wrapping_and_unwrapping() {
    let check = |name: &str, text: &str| {
        let before = entries(name, text);
        let wrapped = wrapped(name, text);
        let after = entries(name, &wrapped);
        assert_eq!(unwrap("f", &wrapped, text, client(name)).unwrap(), text);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!((&before.path, before.enabled), (&after.path, after.enabled));
            let is_attached = matches!(after.launch, Ok(Launch::Attached { .. }));
            assert_eq!(
                is_attached,
                before.launch.is_ok(),
                "{name}, {:?}",
                after.path
            );
        }
        assert_eq!(before.len(), after.len());
    };
    for (name, _, text) in FILES.iter().filter(|(name, ..)| *name != "Hermes") {
        check(name, text);
        check(name, &text.replace('\n', "\r\n"));
        check(name, text.trim_end());
    }
    let on_one_line = "{\"mcpServers\":{\"a\":{\"url\":\"https://x\"},\"b\":{\"command\":\"b\"}}}";
    check("Cursor", on_one_line);
    check(
        "Codex",
        "mcp_servers = { a = { command = \"b\", cwd = \"/\" } } # all",
    );
    check(
        "Codex",
        "mcp_servers.a.command = \"b\"\nmcp_servers.a.env.X = \"y\"\nz = 1\n",
    );
    check(
        "Codex",
        "[mcp_servers]\na = { url = 'https://x' }\n[x]\n[mcp_servers.b]\ncommand = 'c'\n",
    );
}

#[test]
fn lines_outside_of_the_servers_stay() {
    let check = |name: &str, text: &str, outside: &[&str]| {
        let wrapped = wrapped(name, text);
        for line in outside {
            assert!(
                text.contains(line) && wrapped.contains(line),
                "{line:?}: {wrapped:?}"
            );
        }
    };
    let codex = file_of("Codex").replace('\n', "\r\n");
    let outside = [
        "# Codex\r\nmodel = \"gpt-5\"\r\n\r\n[mcp_servers.context]\r\n",
        "\r\n\r\n# Designs.\r\n",
        "enabled = false\r\n",
        "\r\n[projects.\"/home/ada/shop\"]\r\ntrust_level = \"trusted\"\r\n",
    ];
    check("Codex", &codex, &outside);
    let zed = file_of("Zed").replace('\n', "\r\n");
    check(
        "Zed",
        &zed,
        &["{\r\n  \"ui_font_size\": 16,\r\n", "  },\r\n  // Last.\r\n"],
    );
}

#[test]
fn a_server_that_is_not_there_is_not_wrapped() {
    let check = |name: &str, other: &str| {
        let attachments = attachments(&entries(other, file_of(other)));
        let errors = wrap("f", file_of(name), client(name), &attachments).unwrap_err();
        problems(&errors)
    };
    insta::assert_snapshot!(check("Cursor", "Windsurf") + &check("Codex", "Cursor"));
}

#[test]
fn what_was_edited_outside_of_wrapped_entries_stays() {
    let text = file_of("Claude Code");
    let wrapped = wrapped("Claude Code", text);
    let edit = |text: &str| text.replace("\"numStartups\": 12", "\"numStartups\": 13, \"x\": []");
    let unwrapped = unwrap("f", &edit(&wrapped), text, client("Claude Code")).unwrap();
    assert_eq!(unwrapped, edit(text));
    assert_ne!(edit(text), text);
}

#[test]
fn what_was_edited_in_wrapped_entries_is_not_lost() {
    let check = |name: &str, text: &str, from: &str, to: &str| {
        let edited = wrapped(name, text).replacen(from, to, 1);
        let backup = if from.is_empty() { "" } else { text };
        let errors = unwrap("f", &edited, backup, client(name)).unwrap_err();
        format!("# {name}: {from} {to}\n{}\n", problems(&errors))
    };
    let project = FILES[1].2;
    let told = [
        check("Claude Code", project, "600000", "700000"),
        check("Claude Code", project, "\"timeout\": 600000", "\"n\": null"),
        check("Claude Code", project, "database", "db"),
        check("Claude Code", project, "", ""),
        check("Codex", file_of("Codex"), "gpt-5", "gpt-6"),
    ];
    insta::assert_snapshot!(told.concat());
}

#[test]
fn a_file_without_wrapped_entries_is_unwrapped() {
    let check = |name: &str, text: &str| {
        assert_eq!(unwrap("f", text, "", client(name)).unwrap(), text);
    };
    check("Cursor", "");
    check("Cursor", file_of("Cursor"));
    check("Codex", file_of("Codex"));
}

#[test]
fn yaml_is_not_written() {
    let attachments = attachments(&entries("Hermes", file_of("Hermes")));
    let errors = wrap("f", file_of("Hermes"), client("Hermes"), &attachments).unwrap_err();
    insta::assert_snapshot!(problems(&errors));
}

#[test]
fn an_entry_that_leads_to_the_gate_is_known_wherever_the_program_is() {
    let check = |command: &str, args: &str, is_known: bool| {
        let text = format!(
            "{{\"mcpServers\": {{\"a\": {{\"command\": \"{command}\", \"args\": {args}}}}}}}"
        );
        let told = told(&entries("Cursor", &text));
        assert_eq!(
            told.starts_with("mcpServers/a: attached"),
            is_known,
            "{command} {args}: {told}"
        );
    };
    check("mcp-protector", "[\"attach\", \"a\"]", true);
    check("/opt/bin/mcp-protector", "[\"attach\", \"a\"]", true);
    check("C:\\\\mcp-protector.exe", "[\"attach\", \"a\"]", true);
    check("mcp-protector", "[\"proxy\"]", false);
    check("mcp-protector", "[]", false);
    check("other", "[\"attach\", \"a\"]", false);
}
