//! Drafts of whole logs.

use super::*;
use crate::policy::ServerKey;

fn line(kind: &str, method: &str, target: &str, more: &str) -> String {
    format!(
        r#"{{"version":1,"seq":1,"timestamp":"2026-11-21T20:14:03.512881Z","instance":"5f","kind":"{kind}","agent":{{"id":"stdio"}},"direction":"agent_to_upstream","method":"{method}","target":"{target}","decision":"ALLOW"{more}}}"#
    )
}

fn drafted(lines: &[String]) -> String {
    drafted_for(&[], lines)
}

/// The same for several servers.
fn drafted_for(servers: &[ServerKey], lines: &[String]) -> String {
    let mut seen = Observations::default();
    for (number, line) in lines.iter().enumerate() {
        // In pieces, as logs are read.
        let mut piece = Observations::default();
        piece.add(line.as_bytes(), servers);
        if number % 2 == 0 {
            seen.merge(piece);
        } else {
            seen.add(line.as_bytes(), servers);
        }
    }
    let files = Draft::of(&seen, servers).files;
    let files = files
        .iter()
        .map(|(name, text)| format!("==> {name}\n{text}"));
    files.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_draft_is_as_narrow_as_what_passed() {
    let call = |tool: &str, arguments: &str| {
        line(
            "tool_call",
            "tools/call",
            tool,
            &format!(r#","arguments":{arguments}"#),
        )
    };
    let mut lines = vec![
        call("read_file", r#"{"path":"/srv/a/x.txt"}"#),
        call("read_file", r#"{"path":"/srv/a/b/y.txt","head":3}"#),
        call("list_directory", r#"{"path":"/srv/a"}"#),
        call("list_directory", "{}"),
        call(
            "write_file",
            r#"{"path":"/srv/out/z.txt","content":"anything"}"#,
        ),
        call("fetch_page", r#"{"url":"https://docs.example/x"}"#),
        call(
            "read_note",
            r#"{"path":"/srv/a/z.txt","token":"[redacted:github-token]"}"#,
        ),
        line("tool_call", "tools/call", "listUsers", ""),
        line("request", "resources/read", "guide://intro", ""),
        line("request", "prompts/get", "review", ""),
        line("request", "logging/setLevel", "", ""),
        line("server_request", "sampling/createMessage", "", ""),
        // What did not pass is not permitted.
        call("drop_table", "{}").replace("ALLOW", "BLOCK"),
    ];
    lines.extend((0..8).map(|n| {
        call(
            "get_report",
            ["{\"format\":\"csv\"}", "{\"format\":\"pdf\"}"][n % 2],
        )
    }));
    insta::assert_snapshot!(drafted(&lines));
}

#[test]
fn names_of_peers_are_quoted() {
    let odd = r#"a\"b\\c\n]\u202e"#;
    let text = drafted(&[
        line(
            "tool_call",
            "tools/call",
            odd,
            r#","arguments":{"x\"]/~":"/srv/a"}"#,
        ),
        line("request", "prompts/get", odd, ""),
        line("request", "resources/read", odd, ""),
    ]);
    assert!(!text.contains('\u{202e}'), "{text}");
    let cedar = text
        .split("==> ")
        .find(|file| file.starts_with("draft.cedar"));
    let cedar = cedar.unwrap().split_once('\n').unwrap().1;
    let policies: cedar_policy::PolicySet = cedar.parse().unwrap();
    assert_eq!(policies.policies().count(), 3);
    let tools = text
        .split("==> ")
        .find(|file| file.starts_with("tools.toml"));
    let tools: toml::Table = tools.unwrap().split_once('\n').unwrap().1.parse().unwrap();
    assert!(
        tools["tools"]
            .as_table()
            .unwrap()
            .contains_key("a\"b\\c\n]\u{202e}")
    );
}

#[test]
fn a_draft_for_several_servers_names_each_at_its_own() {
    let servers = ["crm", "mail"].map(|key| ServerKey::of(key).unwrap());
    let at = |server: &str, line: String| {
        line.replacen(
            r#""method""#,
            &format!(r#""upstream":"{server}","method""#),
            1,
        )
    };
    let call = |tool: &str, path: &str| {
        let arguments = format!(r#","arguments":{{"path":"{path}"}}"#);
        line("tool_call", "tools/call", tool, &arguments)
    };
    let lines = [
        at("crm", call("read_file", "/srv/crm/x.txt")),
        at("mail (isolated)", call("read_file", "/srv/mail/y.txt")),
        at("mail", line("tool_call", "tools/call", "crm/read_file", "")),
        at(
            "crm",
            line("request", "resources/read", "guide://intro", ""),
        ),
        at("mail", line("request", "prompts/get", "review", "")),
        at("mail", line("request", "resources/list", "", "")),
        at("crm", line("request", "resources/templates/list", "", "")),
        at("crm", line("request", "logging/setLevel", "", "")),
        at(
            "mail",
            line("server_request", "sampling/createMessage", "", ""),
        ),
        // None of these is a server of the configuration.
        at("web", call("fetch", "/etc")),
        at("-", line("request", "prompts/get", "other", "")),
    ];
    insta::assert_snapshot!(drafted_for(&servers, &lines));
}
