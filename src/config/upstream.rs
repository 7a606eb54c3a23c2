//! `[upstream]`: the one protected server, and the environment it is started in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use secrecy::SecretString;

use super::errors::Reason;
use super::section::{Field, Section};
use super::settings::Upstream;
use super::variables::Variables;

/// What the child always gets from the gate's own environment, where it is set there: enough to
/// find programs, a home and a language. Everything else must be named in `upstream.env`.
pub const INHERITED: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &[
        "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER",
    ]
};

pub(super) fn upstream(mut section: Section<'_, '_>, base: &Path) -> Upstream {
    let name = section
        .string("name")
        .unwrap_or_else(|| "upstream".to_owned());
    let label = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(label) {
        let reason = Reason::Invalid("expected 1 to 64 letters, digits, `-`, `_` or `.`");
        section.refuse("name", reason, None);
    }
    let url = section.secret("url");
    if let Some(url) = url.filter(|url| url != "stdio") {
        let help = "this version speaks to stdio servers only: remove `url` and start the server \
                    with `command = [\"program\", \"argument\"]`";
        let over_http = url.starts_with("https://") || url.starts_with("http://");
        let reason = if over_http {
            Reason::NotAvailable("an upstream over HTTP")
        } else {
            Reason::UnknownValue(None)
        };
        section.refuse("url", reason, Some(help));
    } else if !section.has("command") {
        let help = "name the server to start, as in `command = [\"npx\", \"-y\", \"some-server\"]`";
        section.require("command", Reason::Required, help);
    }
    let command = command(&mut section, base);
    let env = environment(section.section("env"));
    let cwd = section.path("cwd", base);
    authentication(section.not_yet().section("auth"));
    section.later(&[
        ("ca_file", "an upstream over HTTP"),
        ("isolated", "an isolated upstream"),
    ]);
    section.finish();
    Upstream {
        name,
        command,
        env,
        cwd,
    }
}

/// The variables that the child gets without being named. One that is not UTF-8 is left out.
pub(super) fn inherited(variables: &Variables<'_>) -> BTreeMap<String, SecretString> {
    let value = |name: &str| variables(name).map(OsString::into_string)?.ok();
    let pair = |name: &&str| Some(((*name).to_owned(), SecretString::from(value(name)?)));
    INHERITED.iter().filter_map(pair).collect()
}

fn command(section: &mut Section<'_, '_>, base: &Path) -> Vec<String> {
    let help = "write the program and each argument as a string of its own, as in `[\"npx\", \
                \"-y\", \"some-server\"]`; no shell reads them";
    let Some(items) = section.items("command", help) else {
        return Vec::new();
    };
    let Some((program, arguments)) = items.split_first() else {
        section.refuse(
            "command",
            Reason::Invalid("expected at least a program"),
            Some(help),
        );
        return Vec::new();
    };
    let mut command = Vec::with_capacity(items.len());
    if let Some(text) = argument(section, program) {
        if text.is_empty() {
            section.tell(program, Reason::Invalid("expected a program"), Some(help));
        } else if arguments.is_empty() && text.contains(' ') {
            let reason = Reason::Suspicious("holds a space, and is started as one program");
            section.tell(program, reason, Some(help));
        } else {
            // Arguments stay hidden: they may hold what should have been in `env`.
            section.show(program);
        }
        command.push(beside_the_file(section, program, text, base));
    }
    command.extend(arguments.iter().filter_map(|item| argument(section, item)));
    command
}

fn argument<'t>(section: &mut Section<'_, 't>, item: &Field<'t>) -> Option<String> {
    let text = section.text(item)?.value;
    if text.contains('\0') {
        section.tell(item, Reason::Invalid("contains a NUL character"), None);
    }
    Some(text)
}

/// `./server` and `bin/server` are files beside the configuration; `npx` is looked up in `PATH`.
fn beside_the_file<'t>(
    section: &mut Section<'_, 't>,
    item: &Field<'t>,
    program: String,
    base: &Path,
) -> String {
    let path = Path::new(&program);
    if path.is_absolute() || path.components().count() < 2 {
        return program;
    }
    base.join(path)
        .into_os_string()
        .into_string()
        .unwrap_or_else(|_| {
            let reason = Reason::Invalid("the directory of the file is not valid UTF-8");
            section.tell(item, reason, Some("write an absolute path"));
            program
        })
}

/// The whole environment of the child: [`INHERITED`], then what is named, which wins.
fn environment(mut section: Section<'_, '_>) -> BTreeMap<String, SecretString> {
    let mut env = inherited(section.reading.variables);
    for field in section.entries() {
        if field.key.is_empty() || field.key.contains(['=', '\0']) {
            let reason = Reason::Invalid("is not the name of an environment variable");
            section.tell(&field, reason, None);
        }
        if let Some(text) = argument(&mut section, &field) {
            env.insert(field.key.to_owned(), SecretString::from(text));
        }
    }
    env
}

/// Checked already, although no upstream of this version needs it, so that a file can be written
/// ahead and its mistakes are known.
fn authentication(mut section: Section<'_, '_>) {
    section.one_of("type", &[("bearer", ())]);
    section.secret("token");
    if section.is_present() {
        for key in ["type", "token"] {
            if !section.has(key) {
                let help = "as in `{ type = \"bearer\", token = \"${TOKEN}\" }`";
                section.require(key, Reason::Required, help);
            }
        }
        let help = "a stdio server takes its credentials from `upstream.env`";
        section.refuse_section(Reason::NotAvailable("authentication to the upstream"), help);
    }
    section.finish();
}
