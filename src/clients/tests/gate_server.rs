use secrecy::ExposeSecret;

use super::{FILES, client, entries, problems};
use crate::clients::{ServerNames, ServerVariable, VariableNames, gate_server};

fn translated(name: &str, text: &str) -> String {
    let (mut keys, mut names) = (ServerNames::default(), VariableNames::default());
    let entries = entries(name, text);
    names.take_references(&entries);
    let one = |entry| {
        let key = keys.key(super::Entry::name(entry));
        match gate_server(entry, &key, &mut names) {
            Err(errors) => problems(&errors),
            Ok(server) => {
                let variables = server.variables.iter().map(|variable| match variable {
                    ServerVariable::Moved { name, value } => {
                        format!("  {name} = {:?}\n", value.expose_secret())
                    }
                    ServerVariable::Inherited { name } => format!("  {name} is inherited\n"),
                    ServerVariable::Asked { name, id } => format!("  {name} is asked for: {id}\n"),
                });
                let variables: Vec<String> = variables.collect();
                format!("{key}: {:?}\n{}", server.launch, variables.concat())
            }
        }
    };
    entries.iter().map(one).collect::<Vec<_>>().concat()
}

#[test]
fn each_clients_servers_become_servers_of_the_gate() {
    let all: Vec<String> = FILES
        .iter()
        .map(|(name, file, text)| format!("# {name}, {file}\n{}\n", translated(name, text)))
        .collect();
    insta::assert_snapshot!(all.concat());
}

#[test]
fn references_are_translated_or_rejected() {
    let cases = [
        (
            "Claude Code",
            r#""command": "a", "args": ["${A}", "x${A}y${B}", "$A", "${", "$${A}"]"#,
        ),
        (
            "Claude Code",
            r#""command": "a", "args": ["${A:-b}", "${}"], "env": {"X": "${9}"}"#,
        ),
        (
            "Claude Desktop",
            r#""command": "a", "args": ["${A}", "$${A}", "$$"]"#,
        ),
        (
            "Cursor",
            r#""command": "${userHome}/a", "cwd": "${workspaceFolder}""#,
        ),
        (
            "Cursor",
            r#""command": "a", "env": {"A": "", "B": "b", "C": "c${env:C}d", "D": "${env:}"}"#,
        ),
        (
            "Windsurf",
            r#""command": "a", "env": {"A": "${file:/tmp/a}", "B": "${env:B}"}"#,
        ),
        (
            "VS Code",
            r#""command": "a", "env": {"A": "${input:my-id}", "B": "${input:}"}"#,
        ),
        (
            "VS Code",
            r#""command": "a", "args": ["${command:x}", "$${input:a}"]"#,
        ),
        (
            "Cursor",
            r#""url": "https://x/${env:A}", "headers": {"authorization": "Bearer t"}"#,
        ),
        (
            "Cursor",
            r#""url": "https://x", "headers": {"Authorization": "Basic t", "X": "y"}"#,
        ),
        (
            "Cursor",
            r#""url": "https://x", "headers": {"Authorization": "${env:A}"}"#,
        ),
        (
            "Cursor",
            r#""command": "mcp-protector", "args": ["attach", "a"]"#,
        ),
        ("Cursor", r#""command": 1"#),
        (
            "Cursor",
            r#""command": "a", "env_vars": ["A", "A}B", "SSH-X"]"#,
        ),
    ];
    let case = |(name, entry): &(&str, &str)| {
        let key = client(name).tables[0][0];
        let text = format!("{{\"{key}\": {{\"a\": {{{entry}}}}}}}");
        format!("# {name}: {entry}\n{}\n", translated(name, &text))
    };
    let told: Vec<String> = cases.iter().map(case).collect();
    insta::assert_snapshot!(told.concat());
}

#[test]
fn variables_of_servers_are_kept_apart() {
    let text = r#"{"mcpServers": {
        "a": {"command": "a", "env": {"B_C": "1"}},
        "a-b": {"command": "a", "env": {"C": "2", "c": "3"}},
        "x": {"command": "${env:a_b_c_2}", "env": {"A": "${env:X_B}", "B": "4"}},
        "y": {"url": "https://y", "headers": {"Authorization": "Bearer ${env:X_B_2}"}}
    }}"#;
    insta::assert_snapshot!(translated("Cursor", text));
    let mut names = VariableNames::default();
    names.take("A_B_C");
    let server = gate_server(&entries("Cursor", text)[0], "a", &mut names).unwrap();
    assert!(
        matches!(&server.variables[..], [ServerVariable::Moved { name, .. }] if name == "A_B_C_2")
    );
}
