//! One instance of the server: the environment it is started in, or the way to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use toml::de::DeValue;
use url::Url;

use crate::config::authentication::to_the_server;
use crate::config::errors::ConfigReason;
use crate::config::headers::{
    AUTHORIZATION_IS_WRITTEN, Authorization, headers, refused_for_servers, secrets,
};
use crate::config::network::{is_loopback, web_url};
use crate::config::restart::restart;
use crate::config::sandbox::{Confinement, NetworkDefault, sandbox};
use crate::config::section::{ConfigField, ConfigSection};
use crate::config::settings::{
    HttpUpstream, PlainHttp, Restart, ServerAuth, Upstream, UserIdentity,
};
use crate::config::token_exchange::exchange_of;
use crate::config::user_identity::{IdentityFields, Reached};
use crate::config::variables::Variables;
use crate::egress::sets;
use crate::upstream::sandbox::Network;

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

/// What is written of a server, before it is clear how it is reached.
pub(super) struct UpstreamFields {
    way: UpstreamTransport,
    command: Vec<String>,
    env: BTreeMap<String, SecretString>,
    cwd: Option<PathBuf>,
    confinement: Option<Confinement>,
    restart: Restart,
    auth: Option<ServerAuth>,
    headers: BTreeMap<String, SecretString>,
    ca_file: Option<PathBuf>,
    plain_http: PlainHttp,
    identity: IdentityFields,
}

impl UpstreamFields {
    pub(super) fn of(
        section: &mut ConfigSection<'_, '_>,
        base: &Path,
        unsaid: NetworkDefault,
    ) -> Self {
        let confinement = sandbox(section.section("sandbox"), base, unsaid);
        let network = confinement.as_ref().map(|it| &it.sandbox.network);
        Self {
            way: way(section),
            command: command(section, base),
            env: environment(section.section("env"), network),
            cwd: section.path("cwd", base),
            confinement,
            restart: restart(section.section("restart")),
            auth: to_the_server(section.section("auth"), base),
            headers: extra_headers(section),
            ca_file: section.path("ca_file", base),
            plain_http: section
                .switch("allow_http", PlainHttp::Allowed, PlainHttp::LoopbackOnly)
                .unwrap_or(PlainHttp::LoopbackOnly),
            identity: IdentityFields::of(section),
        }
    }
}

/// The settings of one server.
pub(super) fn server(
    section: &mut ConfigSection<'_, '_>,
    read: UpstreamFields,
    name: String,
) -> Upstream {
    let mut upstream = Upstream::named(name);
    match read.way {
        UpstreamTransport::Process => {
            started(section);
            let identity = read.identity;
            upstream.identity = identity.resolve(section, &upstream.name, Reached::Process);
            (upstream.command, upstream.env, upstream.cwd) = (read.command, read.env, read.cwd);
            (upstream.sandbox, upstream.restart) = (read.confinement, read.restart);
        }
        UpstreamTransport::Http(url) => {
            let http = HttpUpstream {
                url,
                auth: read.auth,
                header_secrets: secrets(&read.headers),
                headers: read.headers,
                ca_file: read.ca_file,
                plain_http: read.plain_http,
            };
            upstream.identity = match exchange_of(&http) {
                Some(_) => read.identity.exchanged(section),
                None => read
                    .identity
                    .resolve(section, &upstream.name, Reached::Http),
            };
            reached(section, &http, &upstream.identity);
            upstream.http = Some(http);
        }
        UpstreamTransport::Unclear => {}
    }
    upstream
}

/// How the server is reached, as far as the file can be understood.
enum UpstreamTransport {
    Process,
    Http(Url),
    Unclear,
}

fn way(section: &mut ConfigSection<'_, '_>) -> UpstreamTransport {
    #[derive(Clone, Copy)]
    enum UpstreamKind {
        Stdio,
        Http,
    }
    let kind = section.one_of(
        "type",
        &[("stdio", UpstreamKind::Stdio), ("http", UpstreamKind::Http)],
    );
    let way = way_by_url(section);
    match (kind, &way) {
        (None, _) if section.has("type") => UpstreamTransport::Unclear,
        (Some(UpstreamKind::Stdio), UpstreamTransport::Http(_)) => {
            let help = "remove it, or write `type = \"http\"`";
            let reason = ConfigReason::Invalid("only applies when type is 'http'");
            section.refuse("url", reason, Some(help));
            UpstreamTransport::Unclear
        }
        (Some(UpstreamKind::Http), UpstreamTransport::Process) => {
            let help = "its address, as in `url = \"https://mcp.example.com/mcp\"`";
            if section.has("url") {
                let reason = ConfigReason::Invalid("expected a URL when type is 'http'");
                section.refuse("url", reason, Some(help));
            } else {
                section.require("url", ConfigReason::RequiredWhen("type is 'http'"), help);
            }
            UpstreamTransport::Unclear
        }
        _ => way,
    }
}

fn way_by_url(section: &mut ConfigSection<'_, '_>) -> UpstreamTransport {
    let Some(text) = section.secret_url("url") else {
        return if section.has("url") {
            UpstreamTransport::Unclear
        } else {
            UpstreamTransport::Process
        };
    };
    if text == "stdio" {
        return UpstreamTransport::Process;
    }
    let help = "an `https` URL such as `https://mcp.example.com/mcp`, or `\"stdio\"` for a server \
                that is started with `command`";
    match web_url(&text) {
        Ok(url) => UpstreamTransport::Http(url),
        Err(_) if !text.contains("://") => {
            let reason = if text.contains([':', '.', '/']) {
                ConfigReason::Invalid("expected a URL that begins with `https://`, or `http://`")
            } else {
                ConfigReason::UnknownValue(None)
            };
            section.refuse("url", reason, Some(help));
            UpstreamTransport::Unclear
        }
        Err(reason) => {
            section.refuse("url", reason, Some(help));
            UpstreamTransport::Unclear
        }
    }
}

/// A server that the gate starts needs a command, and nothing of HTTP.
fn started(section: &mut ConfigSection<'_, '_>) {
    if !section.has("command") {
        let help = "name the server to start, as in `command = [\"npx\", \"-y\", \"some-server\"]`, \
                    or its address, as in `url = \"https://mcp.example.com/mcp\"`";
        section.require("command", ConfigReason::Required, help);
    }
    let reason = "only applies when url is an HTTP URL";
    let help = "a stdio server takes its credentials from `upstream.env`";
    section.only_when(&["auth"], reason, help);
    section.only_when(&["headers"], reason, help);
    section.only_when(&["ca_file", "allow_http"], reason, "remove it");
}

/// Headers that the gate sends with each request besides its own.
fn extra_headers(section: &mut ConfigSection<'_, '_>) -> BTreeMap<String, SecretString> {
    let used = if section.has("auth") {
        Authorization::Taken
    } else {
        Authorization::Free
    };
    let help = "as in `headers = { x-api-key = \"${API_KEY}\" }`";
    let refused = |name: &str| refused_for_servers(name, used);
    headers(section.section("headers"), help, refused)
}

/// A server over HTTP needs a confidential network path, and no settings of a process.
fn reached(section: &mut ConfigSection<'_, '_>, http: &HttpUpstream, identity: &UserIdentity) {
    let reason = "only applies when url is 'stdio'";
    let help = "remove it: the gate starts no server that it reaches over HTTP";
    section.only_when(
        &["command", "env", "cwd", "sandbox", "restart"],
        reason,
        help,
    );
    if matches!(identity, UserIdentity::Forward { .. })
        && http.headers.contains_key("authorization")
    {
        let reason = ConfigReason::Invalid(AUTHORIZATION_IS_WRITTEN);
        section.refuse("headers", reason, Some("remove `authorization`"));
    }
    let is_plain = http.url.scheme() == "http";
    if !is_plain && http.plain_http == PlainHttp::Allowed {
        let reason = ConfigReason::NoEffect("beside an `https` URL");
        section.refuse("allow_http", reason, Some("remove it"));
    }
    if is_plain && http.ca_file.is_some() {
        let reason = ConfigReason::NoEffect("without TLS");
        section.refuse(
            "ca_file",
            reason,
            Some("write `https` in `url`, or remove it"),
        );
    }
    if is_plain && !is_loopback(&http.url) {
        let is_allowed = http.plain_http == PlainHttp::Allowed;
        if !is_allowed {
            let reason = ConfigReason::Invalid("is not `https`");
            let help = "other machines on the network path could read and change messages: write `https`, or \
                        `allow_http = true` if you trust the path";
            section.refuse("url", reason, Some(help));
        } else if http.auth.is_some() || *identity != UserIdentity::None {
            let reason = ConfigReason::Suspicious(
                "there is no TLS: others on the network can use the token or assertion",
            );
            section.refuse("url", reason, Some("write `https`"));
        } else if !http.headers.is_empty() {
            let reason =
                ConfigReason::Suspicious("there is no TLS, and the headers cross the network");
            section.refuse("url", reason, Some("write `https`"));
        }
    }
}

fn command(section: &mut ConfigSection<'_, '_>, base: &Path) -> Vec<String> {
    let help = "write the program and each argument as a string of its own, as in `[\"npx\", \
                \"-y\", \"some-server\"]`; no shell reads them";
    if let Some(field) = section.take("command")
        && let DeValue::String(_) = field.value
    {
        return single_program(section, &field, base, help);
    }
    let Some(items) = section.secret_items("command", help) else {
        return Vec::new();
    };
    let Some((program, arguments)) = items.split_first() else {
        section.refuse(
            "command",
            ConfigReason::Invalid("expected at least a program"),
            Some(help),
        );
        return Vec::new();
    };
    let mut command = Vec::with_capacity(items.len());
    if let Some(text) = argument(section, program) {
        if text.is_empty() {
            section.tell(
                program,
                ConfigReason::Invalid("expected a program"),
                Some(help),
            );
        } else if arguments.is_empty() && text.contains(' ') {
            let reason = ConfigReason::Suspicious("holds a space, and is started as one program");
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

/// A command that is one string: a program without arguments. A string with white space may be
/// meant for a shell, and no shell reads it.
fn single_program<'t>(
    section: &mut ConfigSection<'_, 't>,
    field: &ConfigField<'t>,
    base: &Path,
    help: &str,
) -> Vec<String> {
    let Some(text) = argument(section, field) else {
        return Vec::new();
    };
    if text.is_empty() {
        section.tell(
            field,
            ConfigReason::Invalid("expected a program"),
            Some(help),
        );
        return Vec::new();
    }
    if text.contains(char::is_whitespace) {
        section.wrong_type(field, "an array of strings", Some(help));
        return Vec::new();
    }
    section.show(field);
    vec![beside_the_file(section, field, text, base)]
}

fn argument<'t>(section: &mut ConfigSection<'_, 't>, item: &ConfigField<'t>) -> Option<String> {
    let text = section.secret_text(item)?.value;
    if text.contains('\0') {
        section.tell(
            item,
            ConfigReason::Invalid("contains a NUL character"),
            None,
        );
    }
    Some(text)
}

/// `./server` and `bin/server` are files beside the configuration; `npx` is looked up in `PATH`.
fn beside_the_file<'t>(
    section: &mut ConfigSection<'_, 't>,
    item: &ConfigField<'t>,
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
            let reason = ConfigReason::Invalid("the directory of the file is not valid UTF-8");
            section.tell(item, reason, Some("write an absolute path"));
            program
        })
}

/// The whole environment of the child: [`INHERITED`], then what is named, which wins.
fn environment(
    mut section: ConfigSection<'_, '_>,
    network: Option<&Network>,
) -> BTreeMap<String, SecretString> {
    let mut env = inherited(section.reading.variables);
    for field in section.entries() {
        if network == Some(&Network::Proxied) && sets(field.key) {
            let reason =
                ConfigReason::Invalid("is set by the gate where the server's network is proxied");
            let help = "remove it, and list the hosts in `egress` of the sandbox";
            section.tell(&field, reason, Some(help));
        }
        if field.key.is_empty() || field.key.contains(['=', '\0']) {
            let reason = ConfigReason::Invalid("is not the name of an environment variable");
            section.tell(&field, reason, None);
        }
        if let Some(text) = argument(&mut section, &field) {
            env.insert(field.key.to_owned(), SecretString::from(text));
        }
    }
    env
}

/// The variables that the child gets without being named. One that is not UTF-8 is left out.
pub(in crate::config) fn inherited(variables: &Variables<'_>) -> BTreeMap<String, SecretString> {
    let value = |name: &str| variables(name).map(OsString::into_string)?.ok();
    let pair = |name: &&str| Some(((*name).to_owned(), SecretString::from(value(name)?)));
    INHERITED.iter().filter_map(pair).collect()
}
