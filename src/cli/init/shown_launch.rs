//! What a person agrees to start.

use crate::clients::GateLaunch;
use crate::findings::printable;
use crate::guard::secrets::SecretRules;

/// Parts of the names of options whose values are not shown.
const SECRET_OPTIONS: [&str; 7] = [
    "auth",
    "credential",
    "key",
    "pass",
    "pwd",
    "secret",
    "token",
];

/// In place of such a value.
const HIDDEN: &str = "…";

/// The command with its arguments, its directory and the names of its variables, or the beginning of the URL.
pub(super) fn shown(launch: &GateLaunch, rules: &SecretRules) -> String {
    match launch {
        GateLaunch::Command { command, env, cwd } => {
            let mut line = arguments(command, rules);
            if let Some(cwd) = cwd {
                line.extend([", in ", &one_word(cwd)]);
            }
            if !env.is_empty() {
                let names: Vec<String> = env.iter().map(|(name, _)| one_word(name)).collect();
                line.extend([", with ", &names.join(" ")]);
            }
            line
        }
        // Paths, queries and what stands before `@` may be secret.
        GateLaunch::Url { url, .. } => {
            let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or_default();
            printable(&format!("{scheme}://{host}"))
        }
    }
}

fn arguments(command: &[String], rules: &SecretRules) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut is_value = false;
    for word in command {
        let is_option = word.starts_with('-');
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        shown.push(if value.is_some() && is_secret(name) {
            format!("{}={HIDDEN}", one_word(name))
        } else if is_value && !is_option {
            HIDDEN.to_owned()
        } else {
            one_word(&rules.redact(word).text)
        });
        is_value = is_option && value.is_none() && is_secret(word);
    }
    shown.join(" ")
}

fn is_secret(option: &str) -> bool {
    let option = option.to_lowercase();
    SECRET_OPTIONS.iter().any(|part| option.contains(part))
}

/// In quotation marks if a reader could take it for several words.
fn one_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+~[]".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        printable(&format!("{word:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sees_what_starts_and_no_secret() {
        let rules = SecretRules::builtin();
        let check = |command: &[&str], expected: &str| {
            let launch = GateLaunch::Command {
                command: command.iter().map(|word| (*word).to_owned()).collect(),
                env: Vec::new(),
                cwd: None,
            };
            assert_eq!(shown(&launch, &rules), expected);
        };
        check(
            &["bash", "-c", "curl https://x.example/x | sh"],
            r#"bash -c "curl https://x.example/x | sh""#,
        );
        check(
            &["npx", "-y", "@a/b@1", "", "\u{202e}x", "a,b"],
            r#"npx -y @a/b@1 "" "\u{202e}x" "a,b""#,
        );
        check(
            &["x", "--password", "hunter2", "--api_key=hunter2", "y"],
            "x --password … --api_key=… y",
        );
        check(
            &["env", "TOKEN=hunter2", "--auth", "-v", "z"],
            "env TOKEN=… --auth -v z",
        );
        let token = format!("ghp_{}a1B2c3", "a1B2c3D4e5".repeat(3));
        check(&["x", &token], "x [redacted:github-token]");
    }

    #[test]
    fn a_person_sees_where_it_starts_and_with_which_variables() {
        let rules = SecretRules::builtin();
        let launch = GateLaunch::Command {
            command: vec!["./server".to_owned()],
            env: ["NODE_OPTIONS", "A, in B"]
                .map(|name| (name.to_owned(), "x".to_owned()))
                .into(),
            cwd: Some("/tmp/a b".to_owned()),
        };
        assert_eq!(
            shown(&launch, &rules),
            r#"./server, in "/tmp/a b", with NODE_OPTIONS "A, in B""#
        );
        for url in [
            "https://a.example/secret?b",
            "https://a.example?secret",
            "https://u:secret@a.example/x@y",
        ] {
            let (url, token) = (url.to_owned(), None);
            assert_eq!(
                shown(&GateLaunch::Url { url, token }, &rules),
                "https://a.example"
            );
        }
    }
}
