//! `[upstream]`: the one protected server, and the environment it is started in or the way to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use secrecy::SecretString;
use url::Url;

use super::authentication::to_the_server;
use super::errors::Reason;
use super::network::{is_loopback, web_url};
use super::sandbox::sandbox;
use super::section::{Field, Section};
use super::settings::{HttpUpstream, PlainHttp, Upstream};
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
    let way = way(&mut section);
    let command = command(&mut section, base);
    let env = environment(section.section("env"));
    let cwd = section.path("cwd", base);
    let confinement = sandbox(section.section("sandbox"), base);
    let auth = to_the_server(section.section("auth"), base);
    let ca_file = section.path("ca_file", base);
    let plain_http = section
        .switch("allow_http", PlainHttp::Allowed, PlainHttp::LoopbackOnly)
        .unwrap_or(PlainHttp::LoopbackOnly);
    section.later(&[("isolated", "an isolated upstream")]);
    let mut upstream = Upstream {
        name,
        command: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
        sandbox: None,
        http: None,
    };
    match way {
        Way::Process => {
            started(&mut section);
            (upstream.command, upstream.env, upstream.cwd) = (command, env, cwd);
            upstream.sandbox = confinement;
        }
        Way::Http(url) => {
            let http = HttpUpstream {
                url,
                auth,
                ca_file,
                plain_http,
            };
            reached(&mut section, &http);
            upstream.http = Some(http);
        }
        Way::Unclear => {}
    }
    section.finish();
    upstream
}

/// How the server is reached, as far as the file can be understood.
enum Way {
    Process,
    Http(Url),
    Unclear,
}

fn way(section: &mut Section<'_, '_>) -> Way {
    let Some(text) = section.secret("url") else {
        return if section.has("url") {
            Way::Unclear
        } else {
            Way::Process
        };
    };
    if text == "stdio" {
        return Way::Process;
    }
    let help = "an `https` URL such as `https://mcp.example.com/mcp`, or `\"stdio\"` for a server \
                that is started with `command`";
    match web_url(&text) {
        Ok(url) => Way::Http(url),
        Err(_) if !text.contains("://") => {
            section.refuse("url", Reason::UnknownValue(None), Some(help));
            Way::Unclear
        }
        Err(reason) => {
            section.refuse("url", reason, Some(help));
            Way::Unclear
        }
    }
}

/// A server that the gate starts needs a command, and nothing of HTTP.
fn started(section: &mut Section<'_, '_>) {
    if !section.has("command") {
        let help = "name the server to start, as in `command = [\"npx\", \"-y\", \"some-server\"]`, \
                    or its address, as in `url = \"https://mcp.example.com/mcp\"`";
        section.require("command", Reason::Required, help);
    }
    let reason = "only applies when url is an HTTP URL";
    let help = "a stdio server takes its credentials from `upstream.env`";
    section.only_when(&["auth"], reason, help);
    section.only_when(&["ca_file", "allow_http"], reason, "remove it");
}

/// A server over HTTP needs a way that nobody reads, and nothing of a process.
fn reached(section: &mut Section<'_, '_>, http: &HttpUpstream) {
    let reason = "only applies when url is \"stdio\"";
    let help = "remove it: the gate starts no server that it reaches over HTTP";
    section.only_when(&["command", "env", "cwd", "sandbox"], reason, help);
    let is_plain = http.url.scheme() == "http";
    if !is_plain && http.plain_http == PlainHttp::Allowed {
        let reason = Reason::NoEffect("beside an `https` URL");
        section.refuse("allow_http", reason, Some("remove it"));
    }
    if is_plain && http.ca_file.is_some() {
        let reason = Reason::NoEffect("without TLS");
        section.refuse(
            "ca_file",
            reason,
            Some("write `https` in `url`, or remove it"),
        );
    }
    if is_plain && !is_loopback(&http.url) {
        let is_allowed = http.plain_http == PlainHttp::Allowed;
        if !is_allowed {
            let reason = Reason::Invalid("is not `https`");
            let help = "everybody on the way could read and change what is said: write `https`, or \
                        `allow_http = true` if there is nobody";
            section.refuse("url", reason, Some(help));
        } else if http.auth.is_some() {
            let reason = Reason::Suspicious("there is no TLS, and the token crosses the network");
            section.refuse("url", reason, Some("write `https`"));
        }
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
