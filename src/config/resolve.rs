//! What it means: one function per section, in the order of `docs/configuration.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;

use super::errors::Reason;
use super::section::{Display, Reading, Section};
use super::settings::{
    Audit, Config, Denial, Durability, Limits, Listen, OnFault, OtherMethods, Policy, Upstream,
    Warnings,
};
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

/// Reads every section; problems and unknown keys end up in `reading`.
pub(super) fn resolve(reading: &mut Reading<'_>, base: &Path, variables: &Variables<'_>) -> Config {
    let mut root = reading.root();
    if let Some(version) = root.count("version", &(0..=u64::MAX))
        && version != 1
    {
        let reason = Reason::UnknownValue(Some(version.to_string()));
        root.refuse(
            "version",
            reason,
            Some("this version of the gate reads `version = 1`"),
        );
    }
    let config = Config {
        upstream: upstream(root.section("upstream"), base, variables),
        listen: listen(root.section("listen")),
        policy: policy(root.section("policy"), base),
        audit: audit(root.section("audit"), base),
        limits: limits(root.section("limits")),
        warnings: Vec::new(),
    };
    root.later(&[("tools", "labelling tools"), ("roots", "mapping roots")]);
    root.finish();
    config
}

fn upstream(mut section: Section<'_, '_>, base: &Path, variables: &Variables<'_>) -> Upstream {
    let name = section
        .string("name")
        .map_or_else(|| "upstream".to_owned(), |name| name.value);
    let label = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(label) {
        let reason = Reason::Invalid("expected 1 to 64 letters, digits, `-`, `_` or `.`");
        section.refuse("name", reason, None);
    }
    let url = section.secret("url").map(|url| url.value);
    if let Some(url) = url.as_deref().filter(|url| *url != "stdio") {
        let stdio_only = "this version speaks to stdio servers only: remove `url` and start the \
                          server with `command = [\"program\", \"argument\"]`";
        let over_http = url.starts_with("https://") || url.starts_with("http://");
        let reason = if over_http {
            Reason::NotAvailable("an upstream over HTTP")
        } else {
            Reason::UnknownValue(None)
        };
        section.refuse("url", reason, Some(stdio_only));
    } else if !section.has("command") {
        let help = "name the server to start, as in `command = [\"npx\", \"-y\", \"some-server\"]`";
        section.require("command", Reason::Required, help);
    }
    let command = command(&mut section, base);
    let env = environment(section.section("env"), variables);
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

fn command(section: &mut Section<'_, '_>, base: &Path) -> Vec<String> {
    let help = "write the program and each argument as a string of its own, as in `[\"npx\", \
                \"-y\", \"some-server\"]`; no shell reads them";
    let Some(items) = section.items("command", help) else {
        return Vec::new();
    };
    if items.is_empty() {
        section.refuse(
            "command",
            Reason::Invalid("expected at least a program"),
            Some(help),
        );
    }
    let mut command = Vec::with_capacity(items.len());
    for item in &items {
        // Arguments may hold what should have been in `env`.
        let display = if command.is_empty() {
            Display::Shown
        } else {
            Display::Hidden
        };
        let Some(mut value) = section.text(item, display).map(|text| text.value) else {
            continue;
        };
        if value.contains('\0') {
            section.tell(item, Reason::Invalid("contains a NUL character"), None);
        }
        if command.is_empty() && value.is_empty() {
            section.tell(item, Reason::Invalid("expected a program"), None);
        }
        if command.is_empty() && is_relative_path(&value) {
            match base.join(&value).into_os_string().into_string() {
                Ok(path) => value = path,
                Err(_) => section.tell(
                    item,
                    Reason::Invalid("the directory of the file is not valid UTF-8"),
                    Some("write an absolute path".to_owned()),
                ),
            }
        }
        command.push(value);
    }
    command
}

/// `./server` and `bin/server` are files beside the configuration; `npx` is looked up in `PATH`.
fn is_relative_path(program: &str) -> bool {
    let path = Path::new(program);
    path.is_relative() && path.components().count() > 1
}

/// The whole environment of the child: [`INHERITED`], then what is named, which wins.
fn environment(
    mut section: Section<'_, '_>,
    variables: &Variables<'_>,
) -> BTreeMap<String, SecretString> {
    let mut env = inherited(variables);
    for field in section.entries() {
        let name = field.key;
        if name.is_empty() || name.contains(['=', '\0']) {
            let reason = Reason::Invalid("is not the name of an environment variable");
            section.tell(&field, reason, None);
        }
        let Some(text) = section.text(&field, Display::Hidden) else {
            continue;
        };
        if text.value.contains('\0') {
            section.tell(&field, Reason::Invalid("contains a NUL character"), None);
        }
        env.insert(name.to_owned(), SecretString::from(text.value));
    }
    env
}

/// The variables that the child gets without being named. One that is not UTF-8 is left out.
pub(super) fn inherited(variables: &Variables<'_>) -> BTreeMap<String, SecretString> {
    INHERITED
        .iter()
        .filter_map(|name| {
            let value = variables(name).map(OsString::into_string)?.ok()?;
            Some(((*name).to_owned(), SecretString::from(value)))
        })
        .collect()
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

fn listen(mut section: Section<'_, '_>) -> Listen {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Transport {
        Stdio,
        Http,
    }
    let choices = [("stdio", Transport::Stdio), ("http", Transport::Http)];
    let written = section.has("transport");
    let transport = section.one_of("transport", &choices);
    section.not_yet();
    section.string("host");
    section.count("port", &(0..=65_535));
    section.later(&[
        ("allowed_hosts", "listening over HTTP"),
        ("allowed_origins", "listening over HTTP"),
        ("auth", "listening over HTTP"),
    ]);
    if transport == Some(Transport::Http) {
        let help = "write `transport = \"stdio\"` and let the agent start the gate";
        section.refuse(
            "transport",
            Reason::NotAvailable("listening over HTTP"),
            Some(help),
        );
        if !section.has("port") {
            section.require(
                "port",
                Reason::RequiredWhen("transport is \"http\""),
                "as in `port = 3000`",
            );
        }
    } else if transport == Some(Transport::Stdio) || !written {
        for key in ["host", "port"] {
            if section.has(key) {
                let reason = Reason::Invalid("only applies when transport is \"http\"");
                section.refuse(key, reason, Some("remove it"));
            }
        }
    }
    section.finish();
    Listen::Stdio
}

fn policy(mut section: Section<'_, '_>, base: &Path) -> Policy {
    let default = Policy::default();
    let help = "list exact tool names, as in `[\"read_file\", \"list_directory\"]`";
    let allow = section.items("allow", help).map(|items| {
        let mut seen = BTreeSet::new();
        let mut names = Vec::new();
        for item in &items {
            let Some(text) = section.text(item, Display::Shown) else {
                continue;
            };
            match tool_name(&text.value) {
                Some(reason) => section.tell(item, reason, None),
                None if !seen.insert(text.value.clone()) => {
                    section.tell(item, Reason::Suspicious("listed twice"), None);
                }
                None => names.push(text.value),
            }
        }
        names
    });
    let policy = Policy {
        dir: section.path("dir", base),
        other_methods: section
            .one_of(
                "other_methods",
                &[("base", OtherMethods::Base), ("deny", OtherMethods::Deny)],
            )
            .unwrap_or(default.other_methods),
        warnings: section
            .switch("allow_warnings", Warnings::Allow, Warnings::Error)
            .unwrap_or(default.warnings),
        denial: section
            .one_of(
                "denial",
                &[
                    ("error", Denial::Error),
                    ("tool_result", Denial::ToolResult),
                ],
            )
            .unwrap_or(default.denial),
        allow,
    };
    section.later(&[
        ("reload", "reloading policies while the gate runs"),
        ("on_removal", "reloading policies while the gate runs"),
    ]);
    section.finish();
    policy
}

fn audit(mut section: Section<'_, '_>, base: &Path) -> Audit {
    let default = Audit::default();
    let audit = Audit {
        file: section.path("file", base),
        durability: section
            .one_of(
                "durability",
                &[("async", Durability::Async), ("strict", Durability::Strict)],
            )
            .unwrap_or(default.durability),
        on_fault: section
            .one_of(
                "on_fault",
                &[("deny", OnFault::Deny), ("warn", OnFault::Warn)],
            )
            .unwrap_or(default.on_fault),
    };
    if audit.durability == Durability::Strict && !section.has("file") {
        let help = "only a file can be synced to disk, as in `file = \"audit.jsonl\"`";
        section.require(
            "file",
            Reason::RequiredWhen("durability is \"strict\""),
            help,
        );
    }
    section.finish();
    audit
}

fn limits(mut section: Section<'_, '_>) -> Limits {
    const MESSAGE: std::ops::RangeInclusive<u64> = 1 << 10..=256 << 20;
    const TIMEOUT: std::ops::RangeInclusive<Duration> =
        Duration::from_millis(1)..=Duration::from_hours(24);
    let default = Limits::default();
    let limits = Limits {
        max_message_bytes: section
            .size("max_message_bytes", &MESSAGE)
            .unwrap_or(default.max_message_bytes),
        max_message_bytes_to_agent: section
            .size("max_message_bytes_to_agent", &MESSAGE)
            .unwrap_or(default.max_message_bytes_to_agent),
        max_depth: section
            .count("max_depth", &(8..=64))
            .unwrap_or(default.max_depth),
        max_nodes: section
            .count("max_nodes", &(100..=1_000_000))
            .unwrap_or(default.max_nodes),
        max_in_flight: section
            .count("max_in_flight", &(1..=65_536))
            .unwrap_or(default.max_in_flight),
        request_timeout: section
            .duration("request_timeout", &TIMEOUT)
            .unwrap_or(default.request_timeout),
        drain_deadline: section
            .duration(
                "drain_deadline",
                &(Duration::ZERO..=Duration::from_mins(10)),
            )
            .unwrap_or(default.drain_deadline),
        tool_timeouts: tool_timeouts(section.section("tool_timeouts"), &TIMEOUT),
    };
    section.later(&[
        ("max_sessions", "listening over HTTP"),
        ("session_idle", "listening over HTTP"),
    ]);
    section.finish();
    limits
}

fn tool_timeouts(
    mut section: Section<'_, '_>,
    range: &std::ops::RangeInclusive<Duration>,
) -> BTreeMap<String, Duration> {
    let mut timeouts = BTreeMap::new();
    for field in section.entries() {
        if let Some(reason) = tool_name(field.key) {
            section.tell(&field, reason, None);
        }
        if let Some(timeout) = section.duration_in(&field, range) {
            timeouts.insert(field.key.to_owned(), timeout);
        }
    }
    timeouts
}

/// Why a text cannot be the name of a tool: the gate refuses calls with such names.
pub(super) fn tool_name(name: &str) -> Option<Reason> {
    if name.is_empty() {
        Some(Reason::Invalid("expected the name of a tool"))
    } else if name.chars().any(char::is_control) {
        Some(Reason::Invalid("contains a control character"))
    } else {
        None
    }
}
