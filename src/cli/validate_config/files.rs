//! Whether what a configuration names can be used: certificates, tokens, keys, logs, programs.

use crate::cli::proxy;
use crate::config::{Config, ConfigError, Policy};
use crate::inward::TlsFile;
use crate::policy::Roots;

const HELP: &str = "the gate reads it at its start, as the user that it runs as; make it, or change \
                    where it is looked for";

const KEPT: &str = "the gate opens it at its start, as the user that it runs as, and without it does \
                    not start";

const STARTED: &str = "the gate starts it, in this directory and with this `PATH`: install it, or name \
                       another";

/// Those that are not told yet.
pub(super) fn problems(config: &Config, roots: &Roots, told: &[ConfigError]) -> Vec<ConfigError> {
    let all = proxy::unusable_files(config, roots).into_iter();
    let all = all.map(|message| problem(&message));
    all.filter(|it| told.iter().all(|known| known.field() != it.field()))
        .collect()
}

/// What can be used and deserves a warning.
pub(super) fn warnings(config: &Config) -> Vec<ConfigError> {
    let why = "the certificate expires within 7 days";
    let help = "renew it: agents refuse it then; the gate reads the new one while it runs";
    let soon = ConfigError::of_a_doubtful_file(TlsFile::Certificate.key(), why, help);
    let soon = proxy::certificate_expires_soon(config).then_some(soon);
    soon.into_iter().collect()
}

/// Directories of policies that are not there.
pub(super) fn absent(policy: &Policy) -> Vec<ConfigError> {
    let named = policy.directories().into_iter();
    let absent = named.filter_map(|(field, directory)| {
        let why = match std::fs::metadata(directory) {
            Ok(found) if found.is_dir() => return None,
            Ok(_) => "it is no directory".to_owned(),
            Err(cause) => cause.to_string(),
        };
        let why = format!("`{}` cannot be read: {why}", directory.display());
        let help = "relative paths start at the directory of this file: make it, or name the \
                    directory that holds the policies";
        Some(ConfigError::of_a_file(&field, why, help))
    });
    absent.collect()
}

/// What the gate says of a file begins with the key that names it.
fn problem(message: &str) -> ConfigError {
    let parts = message
        .strip_prefix('`')
        .and_then(|rest| rest.split_once("`: "));
    let (field, why) = parts.unwrap_or(("", message));
    let help = match field {
        "audit.file" | "ratchet.file" => KEPT,
        // They say themselves what to do.
        _ if says_what_to_do(field) => {
            let (why, remedy) = why.split_once("; ").unwrap_or((why, ""));
            return ConfigError::of_a_file(field, why.to_owned(), remedy);
        }
        _ => match field.rsplit_once('.') {
            Some((_, "command" | "cwd")) => STARTED,
            Some(_) | None => HELP,
        },
    };
    ConfigError::of_a_file(field, why.to_owned(), help)
}

fn says_what_to_do(field: &str) -> bool {
    let sections = ["roots", "truncation.", "listen.tls."];
    sections.into_iter().any(|it| field.starts_with(it))
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
        let exit = run(&args, crate::cli::commands::policies, &mut out, &mut err);
        let outcome: serde_json::Value = String::from_utf8(out).unwrap().parse().unwrap();
        let problems = outcome["problems"].as_array().unwrap().iter();
        let problems: Vec<(String, String)> = problems
            // Those of policies have none.
            .filter(|it| it["severity"] == "error" && it["field"].is_string())
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

    /// A certificate that is valid for so many days and an hour, and its key.
    fn certificate(days: i64) -> (String, String) {
        use crate::clock::{Clock as _, SystemClock};
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(["a".to_owned()]).unwrap();
        let end = SystemClock::new().now().as_second() + days * 24 * 60 * 60 + 60 * 60;
        let first = rcgen::date_time_ymd(2020, 1, 1);
        let seconds = u64::try_from(end - first.unix_timestamp()).unwrap();
        params.not_before = first;
        params.not_after = first + std::time::Duration::from_secs(seconds);
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    #[test]
    fn a_certificate_that_soon_expires_is_a_warning_with_its_line() {
        for (days, warned) in [(6, true), (7, false)] {
            let dir = tempfile::tempdir().unwrap();
            let (certificate, key) = certificate(days);
            std::fs::write(dir.path().join("cert.pem"), certificate).unwrap();
            std::fs::write(dir.path().join("key.pem"), key).unwrap();
            let config = dir.path().join("gate.toml");
            let text = "policy.allow = ['a']\nupstream.command = ['sh']\n[listen]\ntransport = 'http'\n\
                        port = 1\n[listen.tls]\nkey_file = 'key.pem'\ncert_file = 'cert.pem'\n";
            std::fs::write(&config, text).unwrap();
            let format = Format::Json;
            let args = ValidateConfigArgs { config, format };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let exit = run(&args, crate::cli::commands::policies, &mut out, &mut err);
            assert_eq!(exit, Exit::Success);
            let outcome: serde_json::Value = String::from_utf8(out).unwrap().parse().unwrap();
            let problems = outcome["problems"].as_array().unwrap().iter();
            let mut about = problems.filter(|it| it["field"] == "listen.tls.cert_file");
            let found = about.next().map(|it| (&it["code"], &it["line"]));
            let expected = (&"config::suspicious".into(), &8.into());
            assert_eq!(found, warned.then_some(expected), "{days}: {outcome}");
        }
    }

    #[test]
    fn a_certificate_for_agents_that_could_not_be_used_makes_the_configuration_invalid() {
        let text = "upstream.command = ['sh']\nlisten.transport = 'http'\nlisten.port = 3000\n\
                    listen.tls = { cert_file = 'cert.pem', key_file = 'key.pem' }\n";
        let (good, key) = certificate(30);
        let (expired, of_expired) = certificate(-1);
        let (cert_file, key_file) = ("listen.tls.cert_file", "listen.tls.key_file");
        let check = |certificate: Option<&str>, key: Option<&str>, expected: &[(&str, &str)]| {
            let files = [("cert.pem", certificate), ("key.pem", key)].into_iter();
            let files: Vec<_> = files
                .filter_map(|(name, text)| Some((name, text?)))
                .collect();
            check(text, &files, expected);
        };
        check(None, None, &[(cert_file, "No such file")]);
        check(Some(&good), None, &[(key_file, "No such file")]);
        check(Some(&good), Some(&key), &[]);
        check(Some(""), Some(&key), &[(cert_file, "no certificate")]);
        let other = [(key_file, "is not the key of the certificate")];
        check(Some(&good), Some(&of_expired), &other);
        let late = [(cert_file, "has expired on")];
        check(Some(&expired), Some(&of_expired), &late);
    }

    #[test]
    fn what_is_wrong_with_an_isolated_server_is_told_with_its_number_in_the_list() {
        let check = |servers: &[&str], field: &str, says: &str| {
            let listed = ["internal", "confidential"].iter().zip(servers);
            let listed = listed.map(|(level, server)| {
                format!("[[upstream.isolated]]\nmin_sensitivity = '{level}'\n{server}\n")
            });
            let listed: String = listed.collect();
            let text = format!("[upstream]\ncommand = ['sh']\n{listed}");
            check(&text, &[], &[(field, says)]);
            if servers.len() == 1 {
                let text = text.replace("[[", "[").replace("]]", "]");
                check(&text, &[], &[(&field.replace("[0]", ""), says)]);
            }
        };
        let missing = "command = ['/no/such']";
        check(&[missing], "upstream.isolated[0].command", "was not found");
        let remote = |more: &str| format!("url = 'https://a.example/mcp'\n{more}");
        let token = remote("auth = { type = 'bearer', token_file = 'token' }");
        let field = "upstream.isolated[1].auth.token_file";
        check(
            &["command = ['sh', '-c', '']", &token],
            field,
            "No such file",
        );
        let authorities = remote("ca_file = 'ca.pem'");
        let other = "url = 'https://b.example/mcp'";
        let field = "upstream.isolated[1].ca_file";
        check(&[other, &authorities], field, "No such file");
    }

    #[test]
    fn a_log_among_the_policies_is_told_before_and_after_it_is_there() {
        let text = "policy.dir = '.'\nupstream.command = ['sh']\naudit.file = 'a.jsonl'\n";
        let told = [("audit.file", "lies in `policy.dir`")];
        check(text, &[], &told);
        check(text, &[("a.jsonl", "{}\n")], &told);
    }

    #[test]
    fn a_directory_of_policies_that_is_not_there_hides_nothing() {
        let text = "policy.dir = 'none'\nupstream.command = ['/no/such']\n";
        let config = "policy.shadow = 'file'\nupstream.command = ['sh']\n";
        let program = ("upstream.command", "was not found");
        check(text, &[], &[("policy.dir", "`"), program]);
        let file = [("file", "")];
        check(config, &file, &[("policy.shadow", "it is no directory")]);
    }

    #[cfg(unix)]
    #[test]
    fn what_the_gate_would_not_start_with_makes_the_configuration_invalid() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let server = "upstream.command = ['/bin/sh']\n";
        let with = |more: &str| format!("{server}{more}");
        let field = "audit.file";
        check(&with("audit.file = 'new.jsonl'"), &[], &[]);
        check(
            &with("audit.file = 'old.jsonl'"),
            &[("old.jsonl", "{}\n")],
            &[],
        );
        check(
            &with("audit.file = 'no/such/a.jsonl'"),
            &[],
            &[(field, "the directory")],
        );
        check(
            &with("audit.file = '/dev/null'"),
            &[],
            &[(field, "not a regular file")],
        );
        let beside = tempfile::tempdir().unwrap();
        let link = beside.path().join("link");
        symlink(beside.path().join("target"), &link).unwrap();
        let linked = with(&format!("audit.file = '{}'", link.display()));
        check(&linked, &[], &[(field, "not a regular file")]);
        assert!(!beside.path().join("target").exists());

        check(&with("ratchet.file = 'new'"), &[], &[]);
        check(
            &with("ratchet.file = 'journal'"),
            &[("journal", "no such thing\n")],
            &[("ratchet.file", "no journal of a ratchet")],
        );
        let open = beside.path().join("open");
        std::fs::write(&open, "").unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o666)).unwrap();
        check(
            &with(&format!("ratchet.file = '{}'", open.display())),
            &[],
            &[("ratchet.file", "users other than its owner may write")],
        );
        check(
            &with("upstream.cwd = 'no-such'"),
            &[],
            &[("upstream.cwd", "is not a directory")],
        );
        check(
            &with("upstream.cwd = 'file'"),
            &[("file", "")],
            &[("upstream.cwd", "is not a directory")],
        );
        let program = "upstream.command";
        for (command, says) in [
            ("no-such-program-anywhere", "was not found in PATH"),
            ("/no/such/program", "was not found"),
            ("/etc/passwd", "is not an executable file"),
            ("/etc", "is not an executable file"),
        ] {
            let text = format!("upstream.command = ['{command}']\n");
            check(&text, &[], &[(program, says)]);
        }
        check("upstream.command = ['sh', '-c', 'exit 1']\n", &[], &[]);
        let elsewhere = "upstream.command = ['sh']\nupstream.env.PATH = '/no/such'\n";
        check(elsewhere, &[], &[(program, "was not found in PATH")]);
    }
}
