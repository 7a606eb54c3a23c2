//! Files that the gate writes and that would lie among policies: the next start would refuse them there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::config::Config;

/// Each of them, told with both settings.
pub(super) fn files(config: &Config) -> Vec<String> {
    let directories = config.policy.directories();
    let told = written(config).into_iter().filter_map(|(field, file)| {
        let file = file?;
        let mut directories = directories.iter();
        let (directory, _) = directories.find(|(_, it)| lies_in(&file, it))?;
        Some(format!(
            "`{field}`: `{}` lies in `{directory}`, where the gate reads every file as a policy and refuses \
             others; move it out of there",
            file.display()
        ))
    });
    told.collect()
}

/// What the gate makes or writes; archives and temporary files lie beside these.
fn written(config: &Config) -> [(&'static str, Option<PathBuf>); 4] {
    let recorder = config.flight_recorder.as_ref();
    let (journal, key) = config.ratchet.journal().unzip();
    [
        ("audit.file", config.audit.file.clone()),
        ("flight_recorder.file", recorder.map(|it| it.file.clone())),
        ("ratchet.file", journal.map(Path::to_owned)),
        ("ratchet.key_file", key),
    ]
}

/// Whether it is an entry at any depth that is read with the policies, or a link to one: those that begin with a
/// dot are not.
fn lies_in(file: &Path, directory: &Path) -> bool {
    let Some(above) = directory.canonicalize().ok() else {
        return false;
    };
    let is_hidden = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
    let is_read = |real: PathBuf| {
        let inside = real.strip_prefix(&above);
        inside.is_ok_and(|inside| !inside.iter().any(is_hidden))
    };
    let (itself, target) = (real(file, 1), real(file, 0));
    [itself, target].into_iter().flatten().any(is_read)
}

/// Where the entry lies, which need not be there yet. That many of its last parts are not followed.
fn real(file: &Path, unfollowed: usize) -> Option<PathBuf> {
    let file = std::path::absolute(file).ok()?;
    let mut above = file.ancestors().skip(unfollowed);
    let (there, mut real) = above.find_map(|it| Some((it, it.canonicalize().ok()?)))?;
    for part in file.strip_prefix(there).ok()? {
        // No link is left.
        if part == ".." {
            real.pop();
        } else {
            real.push(part);
        }
    }
    Some(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{self, Command};
    use crate::cli::exit::Exit;
    use crate::config::CommandLine;

    /// The fields that are told of a configuration beside `policies/`, `policies/below/`, `shadow/`, `logs/`
    /// and a link `way` to `policies/`.
    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let dir = tempfile::tempdir().unwrap();
        for name in ["policies/below", "shadow", "logs"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        #[cfg(unix)]
        for (at, to) in [
            ("way", "policies"),
            ("logs/link.jsonl", "policies/there"),
            ("policies/link.jsonl", "logs/there"),
        ] {
            if to.ends_with("there") {
                std::fs::write(dir.path().join(to), "").unwrap();
            }
            std::os::unix::fs::symlink(dir.path().join(to), dir.path().join(at)).unwrap();
        }
        let path = dir.path().join("gate.toml");
        let text = format!("upstream.command = ['server']\npolicy.dir = 'policies'\n{text}");
        std::fs::write(&path, &text).unwrap();
        let told = files(&Config::load(&path).unwrap());
        let told = told.iter().map(|told| {
            let mut parts = told.split('`');
            (parts.nth(1).unwrap(), parts.nth(3).unwrap())
        });
        assert_eq!(told.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn a_file_that_the_gate_writes_into_a_directory_of_policies_is_told_with_both_settings() {
        let log = [("audit.file", "policy.dir")];
        check("audit.file = 'policies/a.jsonl'", &log);
        check("audit.file = 'policies/below/a.jsonl'", &log);
        check("audit.file = 'policies/none/a.jsonl'", &log);
        check("audit.file = 'logs/../policies/a.jsonl'", &log);
        check("audit.file = 'policies/none/../a.jsonl'", &log);
        let both = [
            ("audit.file", "policy.dir"),
            ("flight_recorder.file", "policy.dir"),
        ];
        check(
            "audit.file = 'policies/a'\nflight_recorder.file = 'policies/f'",
            &both,
        );
        let both = [
            ("ratchet.file", "policy.dir"),
            ("ratchet.key_file", "policy.dir"),
        ];
        check("ratchet.file = 'policies/r'", &both);
        check(
            "ratchet = { file = 'logs/r', key_file = 'policies/k' }",
            &[("ratchet.key_file", "policy.dir")],
        );
        check(
            "policy.shadow = 'shadow'\naudit.file = 'shadow/a.jsonl'",
            &[("audit.file", "policy.shadow")],
        );
    }

    #[test]
    fn a_file_elsewhere_or_one_that_is_not_read_with_the_policies_is_not_told() {
        check("audit.file = 'logs/a.jsonl'\nratchet.file = 'r'", &[]);
        check("audit.file = 'policies.jsonl'", &[]);
        check("audit.file = 'policies/../a.jsonl'", &[]);
        check("audit.file = 'policies/none/../../a.jsonl'", &[]);
        check("audit.file = 'policies/.logs/a.jsonl'", &[]);
        check("audit.file = 'policies/.a.jsonl'", &[]);
    }

    #[test]
    fn a_gate_whose_log_would_lie_among_its_policies_does_not_start_and_makes_no_log() {
        let dir = tempfile::tempdir().unwrap();
        let policies = dir.path().to_str().unwrap();
        let log = dir.path().join("a.jsonl");
        let line = ["mcp-protector", "proxy", "--policies", policies, "--audit"];
        let line = line
            .into_iter()
            .chain([log.to_str().unwrap(), "--", "/no/such"]);
        let Command::Proxy(args) = args::parse(line).unwrap().command else {
            panic!("another command")
        };
        assert_eq!(
            super::super::run(args, |_| Err(std::io::Error::other("none")), || 0),
            Exit::Invalid
        );
        assert!(!log.exists());
        // The next start says the same.
        std::fs::write(&log, "{}\n").unwrap();
        let config = Config::from_command_line(CommandLine {
            policies: Some(dir.path().to_owned()),
            audit: Some(log),
            command: vec!["server".to_owned()],
            ..CommandLine::default()
        });
        assert_eq!(files(&config.unwrap()).len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_directory_of_policies_is_followed() {
        check(
            "audit.file = 'way/a.jsonl'",
            &[("audit.file", "policy.dir")],
        );
        check(
            "audit.file = 'logs/link.jsonl'",
            &[("audit.file", "policy.dir")],
        );
        check(
            "audit.file = 'policies/link.jsonl'",
            &[("audit.file", "policy.dir")],
        );
    }
}
