use super::{FILES, entries, told};

#[test]
fn the_servers_of_each_clients_file_are_read() {
    let all: Vec<String> = FILES
        .iter()
        .map(|(client, file, text)| {
            format!("# {client}, {file}\n{}\n", told(&entries(client, text)))
        })
        .collect();
    insta::assert_snapshot!(all.concat());
}

#[test]
fn a_file_without_servers_is_read() {
    let check = |client: &str, text: &str| assert_eq!(told(&entries(client, text)), "", "{text}");
    for text in [
        "",
        "// only a comment\n",
        "{}",
        "{\"mcpServers\": {}}",
        "{\"mcpServers\": null}",
    ] {
        check("Cursor", text);
    }
    check("Claude Code", "{\"projects\": {\"/a\": {}, \"/b\": null}}");
    for text in ["", "model = \"x\"", "[mcp_servers]"] {
        check("Codex", text);
    }
    for text in [
        "",
        "---\n",
        "model: x\n",
        "mcp_servers:\n",
        "mcp_servers: {}\n",
    ] {
        check("Hermes", text);
    }
}

#[test]
fn what_is_secret_is_not_in_what_developers_print() {
    let entries = entries("Claude Desktop", super::file_of("Claude Desktop"));
    assert!(!format!("{entries:?}").contains("not-a-real-key"));
}
