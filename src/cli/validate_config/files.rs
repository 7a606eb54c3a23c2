//! Whether the files that a configuration names can be used: certificates, tokens, keys.

use crate::cli::proxy;
use crate::config::{Config, ConfigError};
use crate::policy::Roots;

const HELP: &str = "the gate reads it at its start, as the user that it runs as; make it, or change \
                    where it is looked for";

/// Those that are not told yet.
pub(super) fn problems(config: &Config, roots: &Roots, told: &[ConfigError]) -> Vec<ConfigError> {
    let all = proxy::unusable_files(config, roots).into_iter();
    let all = all.map(|message| problem(&message));
    all.filter(|it| told.iter().all(|known| known.field() != it.field()))
        .collect()
}

/// What the gate says of a file begins with the key that names it.
fn problem(message: &str) -> ConfigError {
    let parts = message
        .strip_prefix('`')
        .and_then(|rest| rest.split_once("`: "));
    let (field, why) = parts.unwrap_or(("", message));
    ConfigError::of_a_file(field, why.to_owned(), HELP)
}

#[cfg(test)]
mod tests {
    use super::super::run;
    use crate::cli::args::{Format, ValidateConfigArgs};
    use crate::cli::exit::Exit;

    /// Fields and messages that are told of a configuration beside which these files lie.
    fn check(text: &str, files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let config = dir.path().join("gate.toml");
        std::fs::write(&config, format!("policy.allow = ['read']\n{text}")).unwrap();
        let args = ValidateConfigArgs {
            config,
            format: Format::Json,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = run(&args, crate::cli::policies, &mut out, &mut err);
        let outcome: serde_json::Value = String::from_utf8(out).unwrap().parse().unwrap();
        let problems = outcome["problems"].as_array().unwrap().iter();
        let problems: Vec<(String, String)> = problems
            .filter(|it| it["severity"] == "error")
            .map(|it| {
                assert_eq!(it["code"], "config::file", "{it}");
                let [field, message] =
                    [&it["field"], &it["message"]].map(|it| it.as_str().unwrap().to_owned());
                (field, message)
            })
            .collect();
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for ((field, message), (expected, says)) in problems.iter().zip(expected) {
            assert_eq!(field, expected, "{message}");
            assert!(message.contains(says), "{message}");
        }
        let success = expected.is_empty();
        assert_eq!(exit == Exit::Success, success, "{outcome}");
    }

    #[test]
    fn a_file_that_the_gate_could_not_use_makes_the_configuration_invalid() {
        let server = "upstream.url = 'https://tools.example.com/mcp'\n";
        let with = |more: &str| format!("{server}{more}");
        let authorities = with("upstream.ca_file = 'ca.pem'");
        check(&authorities, &[], &[("upstream.ca_file", "No such file")]);
        check(
            &authorities,
            &[("ca.pem", "nothing")],
            &[("upstream.ca_file", "no certificate")],
        );
        let token = with("upstream.auth = { type = 'bearer', token_file = 'token' }");
        check(&token, &[], &[("upstream.auth.token_file", "No such file")]);
        check(&token, &[("token", "long-enough")], &[]);
        let keys = with(
            "[listen]\ntransport = 'http'\nport = 3000\n[listen.auth]\ntype = 'jwt'\nissuer = 'https://id.example.com'\n\
             audience = 'https://gate.example.com'\njwks_file = 'keys.json'",
        );
        check(&keys, &[], &[("listen.auth.jwks_file", "No such file")]);
        check(
            &keys,
            &[("keys.json", "{}")],
            &[("listen.auth.jwks_file", "no key")],
        );
    }
}
