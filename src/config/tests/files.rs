//! Files as they lie on disk.

use std::path::Path;

use crate::config::{Config, ConfigChanges, ConfigError};
use crate::policy::ServerKey;

#[track_caller]
fn check(path: &Path, reason: &str) {
    let errors = Config::load(path).expect_err("refused");
    let [problem] = errors.problems() else {
        panic!("{errors:?}")
    };
    assert_eq!(problem.field(), path.display().to_string());
    assert!(
        problem.reason().to_string().starts_with(reason),
        "{problem}"
    );
    assert!(problem.advice().is_some(), "{problem}");
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    check(&dir.path().join("missing.toml"), "cannot be read: ");
    check(dir.path(), "cannot be read: ");
    let file = dir.path().join("gate.toml");
    std::fs::write(&file, "").expect("written");
    check(&file, "is empty");
    std::fs::write(&file, b"version = 1\n\xff").expect("written");
    check(&file, "is not UTF-8 at byte 12");
    std::fs::write(&file, " ".repeat((1 << 20) + 1)).expect("written");
    check(&file, "is larger than 1 MiB");
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_refused() {
    check(Path::new("/dev/zero"), "is larger than 1 MiB");
}

#[test]
fn paths_start_at_the_directory_of_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("gate.toml");
    std::fs::write(
        &file,
        "upstream.command = [\"a\"]\npolicy.dir = \"p\"\naudit.file = \"/x\"",
    )
    .expect("written");
    let config = Config::load(&file).expect("valid");
    assert_eq!(config.policy.dir, Some(dir.path().join("p")));
    assert_eq!(config.audit.file.as_deref(), Some(Path::new("/x")));
}

#[test]
fn what_is_read_again_is_a_file_and_another_text_only_if_it_says_another() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("gate.toml");
    std::fs::write(&path, "upstream.command = [\"a\"]\n").expect("written");
    let file = Config::load(&path).expect("valid").file.expect("a file");
    assert!(file.stays());
    assert_eq!(&file.read().expect("there"), file.text());
    std::fs::write(&path, "upstream.command = [\"b\"]\n").expect("written");
    let text = file.read().expect("there");
    assert_ne!(&text, file.text());
    assert_eq!(file.parse(&text).expect("valid").upstream.command, ["b"]);
    assert!(!format!("{file:?} {text:?}").contains("command"));
    std::fs::remove_file(&path).expect("removed");
    assert!(file.read().is_err());
    // A pipe would hold up its reader.
    std::fs::create_dir(&path).expect("made");
    assert!(!file.stays());
    let errors = file.read().expect_err("refused");
    let told = errors.problems()[0].reason().to_string();
    assert_eq!(told, "cannot be read: it is not a file any more");
}

/// The problems of a configuration of these files, each with the file and the line.
fn problems(files: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let Err(report) = Config::load(&dir.path().join("gate.toml")) else {
        return Vec::new();
    };
    let here = format!("{}/", dir.path().display());
    let problems = report.problems().iter();
    problems
        .map(|problem| {
            let at = super::render(problem);
            let place = at.lines().find_map(|line| line.split_once("╭─["));
            let line = place.and_then(|(_, place)| Some(place.rsplit_once(':')?.0));
            let place = line.unwrap_or_default();
            // Reports for programs have the same place.
            if let Some(span) = crate::findings::Finding::of(problem).place {
                assert_eq!(format!("{}:{}", span.file, span.line), place);
            }
            format!("{place} {problem}").replace(&here, "")
        })
        .collect()
}

const GATE: &str = "servers_dir = 'servers.d'\n\
    listen = { transport = 'http', port = 0 }\npolicy.allow = ['crm/a']\n[servers.crm]\ncommand = ['a']\n";

const WEB: &str = "# A comment.\n[servers.web]\nurl = 'https://web.example/mcp'\n";

#[test]
fn servers_have_files_of_their_own_and_each_problem_is_in_its_file() {
    let check = |name: &str, text: &str, expected: &[&str]| {
        let name = format!("servers.d/{name}");
        let files = [
            ("gate.toml", GATE),
            ("servers.d/web.toml", WEB),
            (&name, text),
        ];
        assert_eq!(problems(&files), expected, "{name}: {text}");
    };
    check("mail.toml", "[servers.mail]\ncommand = ['a']", &[]);
    check(
        "mail.toml",
        "[servers.mail]\ncommand = ['a']\n[servers.mail.env]\nA = 'b'\n",
        &[],
    );
    // What is not read.
    for name in [".mail.toml", "mail.toml.bak", "README.md"] {
        check(name, "[[", &[]);
    }
    check(
        "mail.toml",
        "[servers.mail]\n\ncomand = ['a']\n",
        &[
            "servers.d/mail.toml:1 servers.mail.command: required",
            "servers.d/mail.toml:3 servers.mail.comand: unknown key",
        ],
    );
    check(
        "mail.toml",
        "[servers.mail]\nurl = 'https://a.example'\nauth = { type = 'bearer', token = '${NOT_SET_HERE}' }",
        &[
            "servers.d/mail.toml:3 servers.mail.auth.token: environment variable `NOT_SET_HERE` is not set",
        ],
    );
    check(
        "mail.toml",
        "[servers.mail]\ncommand = ['a'",
        &["servers.d/mail.toml:2 servers.mail.command: unclosed array, expected `]`"],
    );
    check(
        "mail.toml",
        "version = 1\n[servers.mail]\ncommand = ['a']\n[servers.other]\ncommand = ['a']",
        &[
            "servers.d/mail.toml:1 version: configuring anything but its server is not done in this file",
            "servers.d/mail.toml:4 servers.other: configuring anything but its server is not done in this file",
            "servers.d/mail.toml:5 servers.other.command: configuring anything but its server is not done in this file",
        ],
    );
    for text in [
        "",
        "[servers.web]\ncommand = ['a']",
        "servers = 1",
        "servers.mail.command = ['a']",
    ] {
        check(
            "mail.toml",
            text,
            &[" servers.d/mail.toml: has no table `[servers.mail]`"],
        );
    }
    check(
        "crm.toml",
        "[servers.crm]\ncommand = ['a']",
        &[" servers.d/crm.toml: has the server `crm`, and so has `gate.toml`"],
    );
    for name in ["Mail.toml", "my_mail.toml", "1.toml"] {
        let text = format!(" servers.d/{name}: is not named by the key of a server");
        check(name, "", &[&text]);
    }
}

#[test]
fn a_problem_of_the_configuration_itself_is_in_it_and_its_directory_is_there() {
    let file = ("servers.d/web.toml", "[servers.web]\ncommand = ['a']\n");
    let gate = GATE.replace("port = 0", "prot = 0");
    let told = problems(&[("gate.toml", &gate), file]);
    assert!(
        told.contains(&"gate.toml:2 listen.prot: unknown key".to_owned()),
        "{told:?}"
    );
    // A piece that is cut changes the meaning of no other.
    let told = problems(&[("gate.toml", &format!("{GATE}args = '''")), file]);
    assert!(
        told.iter().all(|it| it.starts_with("gate.toml:6 ")),
        "{told:?}"
    );
    let told = problems(&[("gate.toml", GATE)]);
    assert!(
        told[0].starts_with(" servers.d: cannot be read: "),
        "{told:?}"
    );
}

#[test]
fn paths_in_the_file_of_a_server_start_at_the_directory_of_the_configuration() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(dir.path().join("servers.d")).expect("made");
    std::fs::write(dir.path().join("gate.toml"), GATE).expect("written");
    let mail = "[servers.mail]\ncommand = ['a']\npolicy = 'own'\n";
    std::fs::write(dir.path().join("servers.d/mail.toml"), mail).expect("written");
    let config = Config::load(&dir.path().join("gate.toml")).expect("valid");
    let own: Vec<_> = config.policy.own.values().collect();
    assert_eq!(own, [&dir.path().join("own")]);
    let keys: Vec<&str> = config.servers.keys().map(ServerKey::as_str).collect();
    assert_eq!(keys, ["crm", "mail"]);
}

#[test]
fn what_a_server_lacks_is_meant_where_its_file_says_that_it_is_whole_or_is_gone() {
    let dir = tempfile::tempdir().expect("a directory");
    let (gate, mail) = (
        dir.path().join("gate.toml"),
        dir.path().join("servers.d/mail.toml"),
    );
    std::fs::create_dir(dir.path().join("servers.d")).expect("made");
    let check = |texts: [&str; 2], now: [Option<&str>; 2], expected: &[&str]| {
        std::fs::write(&gate, texts[0]).expect("written");
        std::fs::write(&mail, texts[1]).expect("written");
        let before = Config::load(&gate).expect("valid").file.expect("a file");
        for (file, text) in [&gate, &mail].into_iter().zip(now) {
            match text {
                Some(text) => std::fs::write(file, text).expect("written"),
                None => std::fs::remove_file(file).expect("removed"),
            }
        }
        let text = before.read().expect("readable");
        let changes = ConfigChanges::between(before.text(), before.text(), &text);
        let missed: Vec<&str> = changes.missed.iter().map(ConfigError::field).collect();
        assert_eq!(missed, expected, "{now:?}");
    };
    let whole = "[servers.mail]\ncommand = ['a']\nuntrusted = true\n";
    let less = "[servers.mail]\ncommand = ['a']\n";
    let ended = format!("{less}# end\n");
    check(
        [GATE, whole],
        [Some(GATE), Some(less)],
        &["servers.mail.untrusted"],
    );
    check([GATE, whole], [Some(GATE), Some(&ended)], &[]);
    check([GATE, whole], [Some(GATE), None], &[]);
    let moved = format!("{GATE}{less}");
    check(
        [GATE, whole],
        [Some(&moved), None],
        &["servers.mail.untrusted"],
    );
    // A number at the end of any file may be cut.
    let limited = format!("{GATE}[limits]\nmax_in_flight = 100\n");
    let cut = format!("{GATE}[limits]\nmax_in_flight = 10");
    check(
        [&limited, whole],
        [Some(&cut), Some(whole)],
        &["limits.max_in_flight"],
    );
    check(
        [&limited, whole],
        [Some(&format!("{cut}\n")), Some(whole)],
        &[],
    );
}
