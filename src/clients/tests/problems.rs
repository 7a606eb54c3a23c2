use super::{client, entries, problems, read, told};

#[test]
fn each_problem_of_a_file_has_its_place_and_its_remedy() {
    let cases = [
        ("Cursor", "{\"mcpServers\": {\n  \"a\": }}"),
        ("Cursor", "[]"),
        ("Cursor", "{\"mcpServers\": []}"),
        ("Cursor", "{\"mcpServers\": {'a': {}}}"),
        (
            "Cursor",
            "{\"a\": 1,\n\"mcpServers\": {\"b\": {}, \"b\": {}}, \"a\": 1}",
        ),
        (
            "Claude Code",
            "{\"projects\": {\"/a\": {\"mcpServers\": 1}}}",
        ),
        ("Codex", "[mcp_servers.a]\ncommand = npx"),
        ("Codex", "[mcp_servers.a]\n[mcp_servers.a]"),
        ("Codex", "mcp_servers = 1"),
        ("Hermes", "mcp_servers:\n  a: *b\n"),
        ("Hermes", "x: &b 1\nmcp_servers:\n  a: *b\n"),
        ("Hermes", "mcp_servers:\n  a: {}\n  a: {}\n"),
        ("Hermes", "mcp_servers: [\n"),
        ("Hermes", "é: 1\n? [x]\n: 1\n"),
        ("Hermes", "- 1\n"),
    ];
    let case = |(name, text): &(&str, &str)| {
        let errors = read("f", text, client(name)).unwrap_err();
        format!("# {name}: {text:?}\n{}\n", problems(&errors))
    };
    let told: Vec<String> = cases.iter().map(case).collect();
    insta::assert_snapshot!(told.concat());
}

#[test]
fn files_nested_beyond_measure_are_rejected() {
    let check = |name: &str, text: &str| {
        assert!(read("f", text, client(name)).is_err(), "{name}");
    };
    for depth in [1_000, 100_000] {
        check("Cursor", &"[".repeat(depth));
        check("Codex", &format!("a = {}", "[".repeat(depth)));
        check("Hermes", &"[".repeat(depth));
        check("Hermes", &"- ".repeat(depth));
    }
}

#[test]
fn each_entry_that_the_gate_cannot_take_says_why() {
    let cases = [
        ("Cursor", "5"),
        ("Cursor", "{}"),
        ("Cursor", r#"{"command": "a", "url": "https://x"}"#),
        ("Cursor", r#"{"command": ["a"]}"#),
        ("Cursor", r#"{"command": "a", "args": "b"}"#),
        ("Cursor", r#"{"command": "a", "args": [1]}"#),
        ("Cursor", r#"{"command": "a", "env": {"PORT": 80}}"#),
        ("Cursor", r#"{"command": "a", "env": ["PORT=80"]}"#),
        ("Cursor", r#"{"command": "a", "cwd": true}"#),
        ("Cursor", r#"{"command": "a", "envFile": ".env"}"#),
        (
            "Cursor",
            r#"{"url": "https://x", "auth": {"CLIENT_ID": "a"}}"#,
        ),
        ("Cursor", r#"{"url": null}"#),
        ("Claude Code", r#"{"type": "sse", "url": "https://x"}"#),
        (
            "Claude Code",
            r#"{"type": "http", "url": "https://x", "headersHelper": "a"}"#,
        ),
        ("Zed", r#"{"command": {"args": []}}"#),
    ];
    let case = |(name, entry): &(&str, &str)| {
        let key = client(name).tables[0][0];
        let text = format!("{{\n  \"{key}\": {{\n    \"a\": {entry} }} }}");
        format!("# {name}: {entry}\n{}\n", told(&entries(name, &text)))
    };
    let told: Vec<String> = cases.iter().map(case).collect();
    insta::assert_snapshot!(told.concat());
}
